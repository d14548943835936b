//! The schedule's operations as data: what property tests shrink, differential traces replay and benches time.
//!
//! An operation names its targets by position among what is live, so any sequence makes sense for any implementation of
//! [`Operations`]. For tests and benches only; the schedule itself knows nothing of this file.

mod world;

pub use world::{Live, World};

use super::{DatagramId, Direction, Grant, GroupConfig, GroupId, Schedule, StreamKey};

/// What can be asked of a schedule, the real one or a model of it.
#[allow(
    missing_docs,
    reason = "the methods are Schedule's own, and documented there"
)]
pub trait Operations {
    fn set_quantum(&mut self, bytes: usize);
    fn open_group(&mut self, config: GroupConfig) -> GroupId;
    fn close_group(&mut self, group: GroupId);
    fn set_group_priority(&mut self, group: GroupId, priority: u16);
    fn open_stream(&mut self, group: GroupId, order: u64) -> Option<StreamKey>;
    fn close_stream(&mut self, stream: StreamKey);
    fn set_stream_order(&mut self, stream: StreamKey, order: u64);
    fn move_stream(&mut self, stream: StreamKey, group: GroupId, order: u64) -> bool;
    fn push(&mut self, stream: StreamKey, bytes: usize, fin: bool);
    fn push_datagram(
        &mut self,
        group: GroupId,
        order: u64,
        len: usize,
        evict: impl FnMut(DatagramId),
    ) -> Option<DatagramId>;
    fn remove_datagram(&mut self, datagram: DatagramId);
    fn pop(&mut self, budget: usize) -> Option<Grant>;
    fn sent(&mut self, grant: Grant, bytes: usize);
    fn charge_retransmit(&mut self, group: GroupId, bytes: usize);
    fn block(&mut self, stream: StreamKey);
    fn unblock(&mut self, stream: StreamKey);
}

impl Operations for Schedule {
    fn set_quantum(&mut self, bytes: usize) {
        Self::set_quantum(self, bytes)
    }

    fn open_group(&mut self, config: GroupConfig) -> GroupId {
        Self::open_group(self, config)
    }

    fn close_group(&mut self, group: GroupId) {
        Self::close_group(self, group)
    }

    fn set_group_priority(&mut self, group: GroupId, priority: u16) {
        Self::set_group_priority(self, group, priority)
    }

    fn open_stream(&mut self, group: GroupId, order: u64) -> Option<StreamKey> {
        Self::open_stream(self, group, order)
    }

    fn close_stream(&mut self, stream: StreamKey) {
        Self::close_stream(self, stream)
    }

    fn set_stream_order(&mut self, stream: StreamKey, order: u64) {
        Self::set_stream_order(self, stream, order)
    }

    fn move_stream(&mut self, stream: StreamKey, group: GroupId, order: u64) -> bool {
        Self::move_stream(self, stream, group, order)
    }

    fn push(&mut self, stream: StreamKey, bytes: usize, fin: bool) {
        Self::push(self, stream, bytes, fin)
    }

    fn push_datagram(
        &mut self,
        group: GroupId,
        order: u64,
        len: usize,
        evict: impl FnMut(DatagramId),
    ) -> Option<DatagramId> {
        Self::push_datagram(self, group, order, len, evict)
    }

    fn remove_datagram(&mut self, datagram: DatagramId) {
        Self::remove_datagram(self, datagram)
    }

    fn pop(&mut self, budget: usize) -> Option<Grant> {
        Self::pop(self, budget)
    }

    fn sent(&mut self, grant: Grant, bytes: usize) {
        Self::sent(self, grant, bytes)
    }

    fn charge_retransmit(&mut self, group: GroupId, bytes: usize) {
        Self::charge_retransmit(self, group, bytes)
    }

    fn block(&mut self, stream: StreamKey) {
        Self::block(self, stream)
    }

    fn unblock(&mut self, stream: StreamKey) {
        Self::unblock(self, stream)
    }
}

/// One operation. `group`, `stream` and `datagram` count among what is live and what has lately left, modulo their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the fields are the parameters of Schedule's methods"
)]
pub enum Op {
    SetQuantum {
        bytes: u16,
    },
    OpenGroup {
        config: GroupConfig,
    },
    CloseGroup {
        group: u32,
    },
    SetGroupPriority {
        group: u32,
        priority: u16,
    },
    OpenStream {
        group: u32,
        order: u64,
    },
    CloseStream {
        stream: u32,
    },
    SetStreamOrder {
        stream: u32,
        order: u64,
    },
    MoveStream {
        stream: u32,
        group: u32,
        order: u64,
    },
    Push {
        stream: u32,
        bytes: u32,
        fin: bool,
    },
    PushDatagram {
        group: u32,
        order: u64,
        len: u16,
    },
    RemoveDatagram {
        datagram: u32,
    },
    /// Pops and sends `of_256`/256 of the grant, which may be more than it gave; 0 lets the grant go.
    Serve {
        budget: u16,
        of_256: u16,
    },
    /// Pops, and sends the grant only after the next operation.
    ServeLate {
        budget: u16,
    },
    Retransmit {
        group: u32,
        bytes: u16,
    },
    Block {
        stream: u32,
    },
    Unblock {
        stream: u32,
    },
}

impl Op {
    /// An operation as traces want them: few priorities and orders, so that rounds are long and ties common.
    pub fn random(rng: &mut Rng, live: Live) -> Self {
        let group = rng.next() as u32;
        let stream = rng.next() as u32;
        match rng.below(100) {
            0..6 if live.groups < 48 => Self::OpenGroup {
                config: random_group(rng),
            },
            0..6 => Self::CloseGroup { group },
            6..20 => Self::SetGroupPriority {
                group,
                priority: random_priority(rng),
            },
            20..26 if live.streams < 160 => Self::OpenStream {
                group,
                order: random_order(rng),
            },
            20..26 => Self::CloseStream { stream },
            26..30 => Self::CloseStream { stream },
            30..33 => Self::SetStreamOrder {
                stream,
                order: random_order(rng),
            },
            33..36 => Self::MoveStream {
                stream,
                group,
                order: random_order(rng),
            },
            36..52 => Self::Push {
                stream,
                bytes: random_bytes(rng),
                fin: rng.below(8) == 0,
            },
            52..57 => Self::PushDatagram {
                group,
                order: random_order(rng),
                len: rng.below(1_300) as u16,
            },
            57 => Self::RemoveDatagram { datagram: stream },
            58..83 => Self::Serve {
                budget: rng.below(3_000) as u16,
                of_256: if rng.below(4) == 0 {
                    rng.below(300) as u16
                } else {
                    256
                },
            },
            83..86 => Self::ServeLate {
                budget: rng.below(3_000) as u16,
            },
            86..89 => Self::Retransmit {
                group,
                bytes: rng.below(6_000) as u16,
            },
            89..93 => Self::Block { stream },
            93..99 => Self::Unblock { stream },
            _ if rng.below(16) == 0 => Self::SetQuantum {
                bytes: 1 + rng.below(3_000) as u16,
            },
            _ => Self::CloseGroup { group },
        }
    }
}

fn random_group(rng: &mut Rng) -> GroupConfig {
    GroupConfig {
        priority: random_priority(rng),
        weight: [0, 1, 1, 1, 2, 7][rng.below(6) as usize],
        direction: if rng.below(3) == 0 {
            Direction::OldestFirst
        } else {
            Direction::NewestFirst
        },
        unfair: rng.below(3) == 0,
        finish: (rng.below(3) == 0).then(|| rng.below(6_000) as usize),
    }
}

fn random_priority(rng: &mut Rng) -> u16 {
    match rng.below(16) {
        0 => rng.next() as u16,
        few => [0, 127, 127, 300][few as usize % 4],
    }
}

fn random_order(rng: &mut Rng) -> u64 {
    match rng.below(16) {
        0 => rng.next(),
        1 => u64::MAX - rng.below(3),
        _ => rng.below(12),
    }
}

fn random_bytes(rng: &mut Rng) -> u32 {
    match rng.below(8) {
        0 => 0,
        1 => rng.below(70_000) as u32,
        _ => rng.below(3_000) as u32,
    }
}

/// SplitMix64: the same numbers on every machine for the same seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Starts at a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    #[allow(
        clippy::should_implement_trait,
        reason = "it never ends, so it is no iterator"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// A number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
