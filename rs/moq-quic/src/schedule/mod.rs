//! Which stream's bytes go next: the send schedule of one connection.
//!
//! Owns the order in which groups, streams and datagrams get the wire. Called by `connection`, once per packet it is
//! about to build. May not know QUIC, sockets, clocks or what the bytes are: streams are keys and bytes are numbers.
//!
//! First difference decides:
//!
//! | tier | rule |
//! |---|---|
//! | 1 control | [`Schedule::CONTROL`] is above every other group |
//! | 2 priority | of the group, `u16`, higher first, strict: preempts at the next grant |
//! | 3 fair share | groups of equal priority: deficit round robin by bytes, quantum = one packet payload × weight |
//! | 4 order | inside a group: nearly finished (if the group says so), then `u64` order in the group's direction, then datagram before stream, then turns (or first come, if the group is unfair) |

mod config;
mod datagram;
mod entry;
mod group;
mod key;
mod level;
#[cfg(test)]
mod model;
#[cfg(any(test, feature = "sim"))]
pub mod op;
mod order;
mod queue;
mod ring;
mod slab;
#[cfg(test)]
mod trace;

pub use config::{Config, Direction, GroupConfig};
pub use key::{DatagramId, GroupId, StreamKey};

use datagram::Budget;
use entry::{Entry, Flags, Kind, Rank};
use group::{CONTROL, Group};
use queue::{Left, finishing, frame_cost};
use ring::Rings;
use slab::{NIL, Slab};

/// What an empty frame is charged, in bytes: its header. Free of charge, a flood of them would never end its turn.
pub const EMPTY_FRAME: usize = 8;

/// The turn [`Schedule::pop`] gives; [`Schedule::sent`] takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Up to `max_bytes` of a stream. Zero means an empty frame: one that only opens or finishes the stream.
    Stream {
        /// Whose bytes.
        key: StreamKey,
        /// The group that pays.
        group: GroupId,
        /// How many bytes, at most.
        max_bytes: usize,
    },
    /// A whole datagram. It may be longer than the budget that was asked for: the caller sends it, waits for a packet
    /// with more room, or drops it with [`Schedule::remove_datagram`].
    Datagram {
        /// Which one.
        id: DatagramId,
        /// The group that pays.
        group: GroupId,
        /// Its length in bytes.
        len: usize,
    },
}

/// What the datagram budget has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Datagrams taken back or refused.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The send schedule of one connection.
///
/// Keys of what has left are ignored (no operation panics on one): a caller may be late, never wrong.
#[derive(Debug)]
pub struct Schedule {
    rings: Rings,
    entries: Slab<Entry>,
    budget: Budget,
    quantum: i32,
    /// Counts everything that was ever put behind its equals.
    sequence: u64,
}

impl Schedule {
    /// The group above all others. Always open, never closed, in no round robin.
    pub const CONTROL: GroupId = GroupId::CONTROL;

    /// An empty schedule.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut rings = Rings::new();
        rings.groups.insert(Group::new(GroupConfig::default()));
        let mut schedule = Self {
            rings,
            entries: Slab::new(),
            budget: Budget::new(config.datagram_budget),
            quantum: 0,
            sequence: 0,
        };
        schedule.set_quantum(config.quantum);
        schedule
    }

    /// Sets the quantum, in bytes: what one packet carries. Call it when the path's MTU changes. O(1).
    pub fn set_quantum(&mut self, bytes: usize) {
        self.quantum = bytes.clamp(1, usize::from(u16::MAX)) as i32;
    }

    /// Opens a group. O(1).
    pub fn open_group(&mut self, config: GroupConfig) -> GroupId {
        let (index, stamp) = self.rings.groups.insert(Group::new(config));
        GroupId { index, stamp }
    }

    /// Says that no stream or datagram will join the group any more; it is freed when the last one has left. O(1).
    pub fn close_group(&mut self, group: GroupId) {
        if group != Self::CONTROL
            && let Some(group) = self.group(group)
        {
            self.rings.groups[group].closed = true;
            self.after(Left {
                group,
                queued: false,
            });
        }
    }

    /// Moves a group to the tail of another priority, with its deficit. Takes effect at the next grant; its streams are
    /// not touched. The same priority again changes nothing, and neither does moving [`Schedule::CONTROL`].
    /// O(1), and O(log groups with datagrams) if it has datagrams queued.
    pub fn set_group_priority(&mut self, group: GroupId, priority: u16) {
        let Some(group) = self.group(group) else {
            return;
        };
        let entry = &mut self.rings.groups[group];
        if entry.priority == priority || group == CONTROL {
            return;
        }
        if entry.in_round() {
            self.rings.leave(group);
            self.rings.groups[group].priority = priority;
            self.rings.join(group);
        } else {
            entry.priority = priority;
        }
        self.budget
            .place(&mut self.rings.groups, &self.entries, group);
    }

    /// The priority of a group; [`Schedule::CONTROL`]'s means nothing.
    #[must_use]
    pub fn priority(&self, group: GroupId) -> Option<u16> {
        let group = self.group(group)?;
        Some(self.rings.groups[group].priority)
    }

    /// Opens an idle stream. `None` if the group is closed. O(1).
    pub fn open_stream(&mut self, group: GroupId, order: u64) -> Option<StreamKey> {
        let group = self.open(group)?;
        let rank = Rank::stream(
            self.rings.groups[group].direction,
            order,
            self.next_sequence(),
        );
        self.rings.groups[group].members += 1;
        let kind = Kind::Stream { turn: 0 };
        let (index, stamp) = self.entries.insert(Entry::new(group, rank, kind));
        Some(StreamKey { index, stamp })
    }

    /// The group a stream is in.
    #[must_use]
    pub fn group_of(&self, stream: StreamKey) -> Option<GroupId> {
        let group = self.entries[self.stream(stream)?].group;
        Some(self.group_id(group))
    }

    /// Takes a stream out, whatever it has queued: it was reset, or all of it was handed over. O(log streams ready).
    pub fn close_stream(&mut self, stream: StreamKey) {
        if let Some(stream) = self.stream(stream) {
            let left = self.detach(stream);
            self.entries.remove(stream);
            self.entries.shrink(0);
            self.after(left);
        }
    }

    /// Changes a stream's order; it goes behind those that already have it. O(log streams ready).
    pub fn set_stream_order(&mut self, stream: StreamKey, order: u64) {
        let Some(stream) = self.stream(stream) else {
            return;
        };
        let group = self.entries[stream].group;
        let rank = self.rank_in(group, stream, order);
        if rank.same_order(self.entries[stream].rank) {
            return;
        }
        self.entries[stream].kind = Kind::Stream { turn: 0 };
        self.rerank(stream, rank);
    }

    /// Moves a stream with what it has queued to another group. False, and nothing happens, if that group is closed.
    /// O(log streams ready).
    pub fn move_stream(&mut self, stream: StreamKey, group: GroupId, order: u64) -> bool {
        let (Some(index), Some(to)) = (self.stream(stream), self.open(group)) else {
            return false;
        };
        if self.entries[index].group == to {
            self.set_stream_order(stream, order);
            return true;
        }
        let left = self.detach(index);
        self.after(left);
        let rank = self.rank_in(to, index, order);
        let entry = &mut self.entries[index];
        entry.group = to;
        entry.rank = rank;
        entry.kind = Kind::Stream { turn: 0 };
        let (queued, held) = (entry.queued(), entry.held());
        self.rings.groups[to].members += 1;
        self.rings.groups[to].held += u32::from(held);
        if queued {
            self.enqueue(index);
        }
        true
    }

    /// Adds `bytes` to what the stream has ready; `fin` says that nothing will follow. Neither is needed: an empty push
    /// asks for an empty frame. O(log streams ready).
    pub fn push(&mut self, stream: StreamKey, bytes: usize, fin: bool) {
        let Some(stream) = self.stream(stream) else {
            return;
        };
        let entry = &mut self.entries[stream];
        let idle = !entry.flags.has(Flags::BACKLOG);
        entry.ready = entry.ready.saturating_add(bytes);
        entry.flags.set(Flags::BACKLOG);
        if fin {
            entry.flags.set(Flags::FIN);
        }
        let group = &mut self.rings.groups[entry.group];
        let mut rank = entry.rank.with_finishing(finishing(entry, group));
        if !idle {
            if rank != entry.rank {
                self.rerank(stream, rank);
            }
            return;
        }
        if !group.unfair {
            self.sequence += 1;
            rank = rank.with_sequence(self.sequence);
        }
        entry.rank = rank;
        entry.kind = Kind::Stream { turn: 0 };
        if entry.flags.has(Flags::BLOCKED) {
            group.held += 1;
        } else {
            self.enqueue(stream);
        }
    }

    /// Queues a datagram of `len` bytes. Over the budget, the oldest datagram of the group of lowest priority (of those,
    /// the one with most datagram bytes queued; of those, the one whose oldest is oldest) goes: each is given to `evict`.
    /// `None` if the new one is that victim, is longer than the whole budget, or the group is closed.
    /// O(log streams ready + log groups with datagrams) each.
    pub fn push_datagram(
        &mut self,
        group: GroupId,
        order: u64,
        len: usize,
        mut evict: impl FnMut(DatagramId),
    ) -> Option<DatagramId> {
        let group = self.open(group)?;
        if len > self.budget.limit() {
            self.budget.count_evicted(len);
            return None;
        }
        let rank = Rank::datagram(
            self.rings.groups[group].direction,
            order,
            self.next_sequence(),
        );
        let mut entry = Entry::new(
            group,
            rank,
            Kind::Datagram {
                older: NIL,
                newer: NIL,
            },
        );
        entry.ready = len;
        entry.flags.set(Flags::BACKLOG);
        let (index, stamp) = self.entries.insert(entry);
        let groups = &mut self.rings.groups;
        groups[group].members += 1;
        groups[group].best = order::insert(&mut self.entries, groups[group].best, index);
        self.budget.add(groups, &mut self.entries, index);
        while let Some(victim) = self.budget.victim(&self.rings.groups) {
            let id = self.datagram_id(victim);
            let bytes = self.entries[victim].ready;
            self.budget.count_evicted(bytes);
            self.drop_datagram(victim);
            if victim == index {
                return None;
            }
            evict(id);
        }
        self.join(group);
        Some(DatagramId { index, stamp })
    }

    /// Takes a datagram out unsent. O(log streams ready + log groups with datagrams).
    pub fn remove_datagram(&mut self, datagram: DatagramId) {
        if let Some(datagram) = self.datagram(datagram) {
            self.drop_datagram(datagram);
        }
    }

    /// What goes next into a packet with `budget` bytes left; `None` if there is nothing, or no budget.
    ///
    /// Nothing leaves the schedule before [`Schedule::sent`]: a grant that does not fit is simply let go, and keeps its
    /// turn. O(1) amortised.
    pub fn pop(&mut self, budget: usize) -> Option<Grant> {
        if budget == 0 {
            return None;
        }
        let control = self.rings.groups[CONTROL].best;
        if control != NIL {
            return Some(self.grant(control, budget));
        }
        loop {
            let front = self.rings.front()?;
            let group = &mut self.rings.groups[front];
            if group.best == NIL {
                self.rings.leave(front);
                continue;
            }
            if group.deficit <= 0 {
                let share = self.quantum * i32::from(group.weight);
                if group.next == front {
                    // Alone, every round is its own: as many at once as end its debt.
                    group.deficit %= share;
                }
                group.deficit += share;
                if group.deficit <= 0 {
                    self.rings.pass(front);
                    continue;
                }
            }
            let best = group.best;
            let turn = group.deficit.max(self.quantum) as usize;
            return Some(self.grant(best, budget.min(turn)));
        }
    }

    /// Says that `bytes` of a grant were taken (an empty frame, a datagram: all of it). Charges its group. A stream with
    /// bytes left stays queued, behind its equals once it has had a packet's worth; one without, leaves the queue (its
    /// FIN, if there is one, went with them). O(log streams ready).
    pub fn sent(&mut self, grant: Grant, bytes: usize) {
        match grant {
            Grant::Stream {
                key,
                group,
                max_bytes,
            } => {
                if bytes == 0 && max_bytes > 0 {
                    return;
                }
                let spent = self.charge(group, frame_cost(bytes));
                if let Some(stream) = self.stream(key) {
                    self.take(stream, bytes);
                }
                self.end_turn(group, spent);
            }
            Grant::Datagram { id, group, len } => {
                let spent = self.charge(group, frame_cost(len));
                if let Some(datagram) = self.datagram(id) {
                    self.drop_datagram(datagram);
                }
                self.end_turn(group, spent);
            }
        }
    }

    /// Charges bytes that were sent again to the group. O(1).
    pub fn charge_retransmit(&mut self, group: GroupId, bytes: usize) {
        let spent = self.charge(group, bytes);
        self.end_turn(group, spent);
    }

    /// Keeps a stream from being granted (flow control). Its group spends no turn on it and keeps its credit.
    /// O(log streams ready).
    pub fn block(&mut self, stream: StreamKey) {
        let Some(stream) = self.stream(stream) else {
            return;
        };
        let queued = self.entries[stream].queued();
        if queued {
            self.dequeue(stream);
        }
        let entry = &mut self.entries[stream];
        entry.flags.set(Flags::BLOCKED);
        if queued {
            let group = entry.group;
            self.rings.groups[group].held += 1;
            self.after(Left {
                group,
                queued: true,
            });
        }
    }

    /// Lets a blocked stream be granted again, at its old place among its equals. O(log streams ready).
    pub fn unblock(&mut self, stream: StreamKey) {
        let Some(stream) = self.stream(stream) else {
            return;
        };
        let entry = &mut self.entries[stream];
        let held = entry.held();
        entry.flags.clear(Flags::BLOCKED);
        if held {
            self.rings.groups[entry.group].held -= 1;
            self.enqueue(stream);
        }
    }

    /// Bytes of datagrams queued now.
    #[must_use]
    pub fn datagram_bytes(&self) -> usize {
        self.budget.bytes()
    }

    /// Datagrams the budget has taken back or refused since the start.
    #[must_use]
    pub fn evicted(&self) -> Evicted {
        self.budget.evicted()
    }
}

#[cfg(any(test, feature = "sim"))]
impl op::Operations for Schedule {
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
