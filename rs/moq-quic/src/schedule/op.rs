//! The schedule's operations as data: what property tests shrink, differential traces replay and benches time.
//!
//! An operation names its targets by position among what is live, so any sequence makes sense for any implementation of
//! [`Operations`]. For tests and benches only; the schedule itself knows nothing of this file.

use std::collections::BTreeMap;

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

/// How much there is of what.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Groups not closed.
    pub groups: usize,
    /// Streams not closed.
    pub streams: usize,
}

/// A schedule, real or model, and the handles it has given out: turns each [`Op`] into a call, and each grant, eviction and
/// refusal into a number that depends on nothing but the sequence of operations.
#[derive(Debug)]
pub struct World<S> {
    /// The schedule under test.
    pub schedule: S,
    groups: Handles<GroupId>,
    streams: Handles<StreamKey>,
    datagrams: Handles<DatagramId>,
    late: Option<(Grant, usize)>,
    hash: u64,
}

impl<S: Operations> World<S> {
    /// With nothing open but the control group.
    pub fn new(schedule: S) -> Self {
        let mut groups = Handles::default();
        groups.add(Schedule::CONTROL);
        Self {
            schedule,
            groups,
            streams: Handles::default(),
            datagrams: Handles::default(),
            late: None,
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// A digest of every grant, eviction and refusal so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// What is open now.
    pub fn live(&self) -> Live {
        Live {
            groups: self.groups.live.len(),
            streams: self.streams.live.len(),
        }
    }

    /// Does one operation.
    pub fn apply(&mut self, op: Op) {
        let late = self.late.take();
        self.call(op);
        if let Some((grant, bytes)) = late {
            self.sent(grant, bytes);
        }
    }

    fn call(&mut self, op: Op) {
        match op {
            Op::SetQuantum { bytes } => self.schedule.set_quantum(bytes.into()),
            Op::OpenGroup { config } => self.groups.add(self.schedule.open_group(config)),
            Op::CloseGroup { group } => {
                let group = self.groups.pick(group);
                self.schedule.close_group(group);
                if group != Schedule::CONTROL {
                    self.groups.remove(group);
                }
            }
            Op::SetGroupPriority { group, priority } => {
                let group = self.groups.pick(group);
                self.schedule.set_group_priority(group, priority);
            }
            Op::OpenStream { group, order } => {
                let opened = self.schedule.open_stream(self.groups.pick(group), order);
                self.note(&[1, u64::from(opened.is_some())]);
                opened
                    .into_iter()
                    .for_each(|stream| self.streams.add(stream));
            }
            Op::PushDatagram { group, order, len } => self.push_datagram(group, order, len.into()),
            Op::RemoveDatagram { datagram } => {
                if let Some(datagram) = self.datagrams.try_pick(datagram) {
                    self.schedule.remove_datagram(datagram);
                    self.datagrams.remove(datagram);
                }
            }
            Op::Serve { budget, of_256 } => self.serve(budget, of_256, false),
            Op::ServeLate { budget } => self.serve(budget, 256, true),
            Op::Retransmit { group, bytes } => {
                let group = self.groups.pick(group);
                self.schedule.charge_retransmit(group, bytes.into());
            }
            Op::CloseStream { stream }
            | Op::SetStreamOrder { stream, .. }
            | Op::MoveStream { stream, .. }
            | Op::Push { stream, .. }
            | Op::Block { stream }
            | Op::Unblock { stream } => {
                if let Some(stream) = self.streams.try_pick(stream) {
                    self.call_on_stream(op, stream);
                }
            }
        }
    }

    fn call_on_stream(&mut self, op: Op, stream: StreamKey) {
        match op {
            Op::CloseStream { .. } => {
                self.schedule.close_stream(stream);
                self.streams.remove(stream);
            }
            Op::SetStreamOrder { order, .. } => self.schedule.set_stream_order(stream, order),
            Op::MoveStream { group, order, .. } => {
                let group = self.groups.pick(group);
                let moved = self.schedule.move_stream(stream, group, order);
                self.note(&[2, u64::from(moved)]);
            }
            Op::Push { bytes, fin, .. } => self.schedule.push(stream, bytes as usize, fin),
            Op::Block { .. } => self.schedule.block(stream),
            Op::Unblock { .. } => self.schedule.unblock(stream),
            _ => {}
        }
    }

    fn push_datagram(&mut self, group: u32, order: u64, len: usize) {
        let mut gone = Vec::new();
        let group = self.groups.pick(group);
        let queued = self
            .schedule
            .push_datagram(group, order, len, |id| gone.push(id));
        for id in gone {
            let ordinal = self.datagrams.remove(id);
            self.note(&[3, ordinal]);
        }
        self.note(&[4, u64::from(queued.is_some())]);
        queued.into_iter().for_each(|id| self.datagrams.add(id));
    }

    fn serve(&mut self, budget: u16, of_256: u16, late: bool) {
        let Some(grant) = self.schedule.pop(budget.into()) else {
            self.note(&[5]);
            return;
        };
        let bytes = match grant {
            Grant::Stream {
                key,
                group,
                max_bytes,
            } => {
                let stream = self.streams.ordinal(key);
                let group = self.groups.ordinal(group);
                self.note(&[6, stream, group, max_bytes as u64]);
                max_bytes * usize::from(of_256) / 256
            }
            Grant::Datagram { id, group, len } => {
                let datagram = self.datagrams.ordinal(id);
                let group = self.groups.ordinal(group);
                self.note(&[7, datagram, group, len as u64]);
                len
            }
        };
        if late {
            self.late = Some((grant, bytes));
        } else if of_256 > 0 {
            self.sent(grant, bytes);
        }
    }

    fn sent(&mut self, grant: Grant, bytes: usize) {
        self.schedule.sent(grant, bytes);
        if let Grant::Datagram { id, .. } = grant {
            self.datagrams.remove(id);
        }
    }

    fn note(&mut self, facts: &[u64]) {
        for fact in facts {
            self.hash = (self.hash ^ fact)
                .wrapping_mul(0x0000_0100_0000_01b3)
                .rotate_left(23);
        }
    }
}

/// Handles that are live or have lately left, and the number each was given when it came.
#[derive(Debug)]
struct Handles<K> {
    live: Vec<K>,
    gone: Vec<K>,
    ordinals: BTreeMap<K, u64>,
    next: u64,
}

impl<K> Default for Handles<K> {
    fn default() -> Self {
        Self {
            live: Vec::new(),
            gone: Vec::new(),
            ordinals: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<K: Copy + Ord> Handles<K> {
    fn add(&mut self, key: K) {
        self.live.push(key);
        self.ordinals.insert(key, self.next);
        self.next += 1;
    }

    fn remove(&mut self, key: K) -> u64 {
        if let Some(at) = self.live.iter().position(|&live| live == key) {
            self.live.swap_remove(at);
            self.gone.insert(0, key);
            self.gone.truncate(2);
        }
        self.ordinal(key)
    }

    fn ordinal(&self, key: K) -> u64 {
        self.ordinals.get(&key).copied().unwrap_or(u64::MAX)
    }

    fn try_pick(&self, at: u32) -> Option<K> {
        let count = self.live.len() + self.gone.len();
        let at = (at as usize).checked_rem(count)?;
        self.live.iter().chain(&self.gone).nth(at).copied()
    }
}

impl Handles<GroupId> {
    /// The control group never leaves, so there is always one.
    fn pick(&self, at: u32) -> GroupId {
        self.try_pick(at).unwrap_or(Schedule::CONTROL)
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
