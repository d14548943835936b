//! Which stream's bytes go next: the send schedule of one connection.
//!
//! Owns the order in which groups, streams and datagrams get the wire. Called by `connection`, once per packet it is
//! about to build. May not know QUIC, sockets, clocks or what the bytes are: streams are keys and bytes are numbers.
//!
//! # The contract
//!
//! First difference decides:
//!
//! | tier | rule |
//! |---|---|
//! | 1 control | [`Schedule::CONTROL`] is above every other group |
//! | 2 priority | of the group, `u16`: higher first, strict, preempts at the next grant |
//! | 3 fair share | groups of equal priority: deficit round robin by bytes; quantum = one packet's payload × weight |
//! | 4 order | inside a group: nearly finished (if it says so), then `u64` order in its direction, then datagram before stream, then turns of a packet (first come, if it is unfair) |
//!
//! | when | what holds |
//! |---|---|
//! | bytes are sent, again, or in datagrams | all spend the same deficit; a turn may overdraw by a grant, which the next one makes up for |
//! | a group runs dry | it loses its credit, not its debt. In its turn it leaves the round; elsewhere it keeps its place until the round reaches it |
//! | flow control blocks a stream | it costs no turn; a group with nothing else to send keeps its credit |
//! | a group gets another priority | at the next grant, at the tail, with its deficit; no stream is looked at |
//! | a grant does not fit | let go, it keeps its turn |
//! | a group is closed | it is freed when its last stream or datagram has left |
//! | datagrams exceed their budget | the oldest of the group of lowest priority goes (of those, that with most bytes queued), or the new one, if it is that |
//! | there is nothing to send | `pop` gives back what memory bursts have left |
//!
//! Of two groups of equal priority and weight, one never gets ahead by more than a quantum and a grant while both have
//! something to send.
//!
//! # What it costs
//!
//! Counted by callgrind (`bench/schedule`), the same for 16 groups and for 65,536: to move a queued group to another
//! priority 72 instructions, to retire one with its stream 130, to grant and account for a packet 200. A group takes 72
//! bytes, a stream 64, and memory grows by an eighth at a time. Streams that come in order, or take turns, cost O(1);
//! others O(log n).
//!
//! # The files
//!
//! | file | what it owns |
//! |---|---|
//! | `config`, `key`, `grant` | what callers see beside [`Schedule`] |
//! | `slab` | the places of groups and entries |
//! | `group`, `entry` | what one group, one stream or datagram is |
//! | `level` | which priorities have groups, and who is at the front of each |
//! | `ring` | the round of each priority, threaded through the groups |
//! | `order` | what a group may send, best first, threaded through the entries |
//! | `datagram` | the datagram budget and its next victim |
//! | `queue` | the steps that keep all these in step |
//! | `model`, `op`, `trace`, `tests` | the slow truth, operations as data, and the proofs |

mod config;
mod datagram;
mod entry;
mod grant;
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
mod tests;
#[cfg(test)]
mod trace;

pub use config::{Config, Direction, GroupConfig};
pub use grant::{EMPTY_FRAME, Evicted, Grant};
pub use key::{DatagramId, GroupId, StreamKey};

use datagram::Budget;
use entry::{Entry, Flags, Rank};
use group::CONTROL;
use order::Order;
use queue::{MOST_BYTES, finishing};
use ring::Rings;
use slab::{NIL, Slab};

/// The send schedule of one connection.
///
/// Keys of what has left are ignored (no operation panics on one): a caller may be late, never wrong.
#[derive(Debug)]
pub struct Schedule {
    rings: Rings,
    entries: Slab<Entry>,
    budget: Budget,
    quantum: i64,
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
        rings.open(GroupConfig::default());
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
        self.quantum = bytes.clamp(1, usize::from(u16::MAX)) as i64;
    }

    /// Opens a group. O(1).
    pub fn open_group(&mut self, config: GroupConfig) -> GroupId {
        self.rings.open(config)
    }

    /// Says that no stream or datagram will join the group any more; it is freed when the last one has left. O(1).
    pub fn close_group(&mut self, group: GroupId) {
        if group != Self::CONTROL
            && let Some(group) = self.group(group)
        {
            let closing = &mut self.rings.groups[group];
            closing.closed = true;
            if closing.members == 0 {
                self.rings.free(group);
            }
        }
    }

    /// Moves a group to the tail of another priority, with its deficit. Takes effect at the next grant; its streams are
    /// not touched. The same priority again changes nothing; to [`Schedule::CONTROL`] it means nothing.
    /// O(1), and O(log groups with datagrams) if it has datagrams queued.
    pub fn set_group_priority(&mut self, group: GroupId, priority: u16) {
        let Some(group) = self.group(group) else {
            return;
        };
        let before = &self.rings.groups[group];
        if before.priority == priority {
            return;
        }
        if before.datagrams.oldest == NIL {
            self.rings.set_priority(group, priority);
        } else {
            self.move_victim(group, priority);
        }
    }

    /// The priority of a group; [`Schedule::CONTROL`]'s means nothing.
    #[must_use]
    pub fn priority(&self, group: GroupId) -> Option<u16> {
        let group = self.group(group)?;
        Some(self.rings.groups[group].priority)
    }

    /// Opens an idle stream. `None` if the group is closed. O(1).
    pub fn open_stream(&mut self, group: GroupId, order: u64) -> Option<StreamKey> {
        let Some(index) = self.entries.room() else {
            return self.open_stream_in_new_place(group, order);
        };
        let group = self.open(group)?;
        self.sequence += 1;
        let open = &mut self.rings.groups[group];
        open.members += 1;
        let rank = Rank::stream(open.direction, order, self.sequence);
        let stream = Entry::stream(group, rank);
        let stamp = self.entries.insert(index, stream);
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
        let Some(stream) = self.stream(stream) else {
            return;
        };
        if !self.is_alone(stream) {
            return self.close_other(stream);
        }
        let Entry { group, .. } = self.entries[stream];
        self.rings.groups[group].order = Order::EMPTY;
        self.entries.remove(stream);
        if self.quit(group) {
            self.rings.free(group);
        } else {
            self.dry(group);
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
        self.entries[stream].turn = 0;
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
        self.withdraw(index);
        let rank = self.rank_in(to, index, order);
        let entry = &mut self.entries[index];
        let from = entry.group;
        entry.group = to;
        entry.rank = rank;
        entry.turn = 0;
        let (queued, held) = (entry.queued(), entry.held());
        self.rings.groups[to].members += 1;
        self.rings.groups[to].held += u32::from(held);
        if queued {
            self.enqueue(index);
        }
        if self.quit(from) {
            self.rings.free(from);
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
        entry.ready = entry.ready.saturating_add(bytes);
        if fin {
            entry.flags.set(Flags::FIN);
        }
        if entry.flags.has(Flags::BACKLOG) {
            if entry.flags.has(Flags::FIN) {
                self.rerank_finishing(stream);
            }
            return;
        }
        entry.flags.set(Flags::BACKLOG);
        entry.turn = 0;
        let group = &mut self.rings.groups[entry.group];
        if !group.unfair {
            self.sequence += 1;
            entry.rank = entry.rank.with_sequence(self.sequence);
        }
        if entry.flags.has(Flags::FIN) {
            entry.rank = entry.rank.with_finishing(finishing(entry, group));
        }
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
        let index = self.make_room();
        let datagram = Entry::datagram(group, rank, len);
        let stamp = self.entries.insert(index, datagram);
        let groups = &mut self.rings.groups;
        groups[group].members += 1;
        groups[group].order.insert(&mut self.entries, index);
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
    /// turn. When there is nothing, memory a burst has left behind is given back. O(1) amortised.
    pub fn pop(&mut self, budget: usize) -> Option<Grant> {
        if budget == 0 {
            return None;
        }
        let control = &self.rings.groups[CONTROL].order;
        let front = self.rings.likely_front();
        if !control.is_empty() || front == NIL {
            return self.next_turn(budget);
        }
        let Some(best) = self.rings.groups[front].order.clear_best() else {
            return self.next_turn(budget);
        };
        if !self.credit(front) {
            self.rings.pass(front);
            return self.next_turn(budget);
        }
        Some(self.turn(front, best, budget))
    }

    /// Says that `bytes` of a grant were taken (of an empty frame and of a datagram: all of it). Charges its group. More
    /// than was granted is charged all the same. A stream with bytes left stays queued, behind its equals once it has had a
    /// packet's worth; one without leaves the queue, and its FIN, if there is one, with it. O(log streams ready).
    pub fn sent(&mut self, grant: Grant, bytes: usize) {
        match grant {
            Grant::Stream {
                key,
                group,
                max_bytes,
            } => {
                let bytes = bytes.min(MOST_BYTES);
                match self.stream(key) {
                    Some(stream) if bytes > 0 && bytes < self.entries[stream].ready => {
                        let over = self.take(stream, bytes);
                        self.charge(group, bytes);
                        if over {
                            self.after_turn(stream);
                        }
                    }
                    stream if bytes > 0 || max_bytes == 0 => self.take_all(stream, group, bytes),
                    _ => {}
                }
            }
            Grant::Datagram { id, group, len } => {
                self.take_datagram(self.datagram(id), group, len);
            }
        }
    }

    /// Charges bytes that were sent again to the group. O(1).
    pub fn charge_retransmit(&mut self, group: GroupId, bytes: usize) {
        self.charge(group, bytes.min(MOST_BYTES));
    }

    /// Keeps a stream from being granted (flow control). Its group spends no turn on it and keeps its credit.
    /// O(log streams ready).
    pub fn block(&mut self, stream: StreamKey) {
        let Some(stream) = self.stream(stream) else {
            return;
        };
        let entry = &mut self.entries[stream];
        let queued = entry.queued();
        entry.flags.set(Flags::BLOCKED);
        if queued {
            self.rings.groups[entry.group].held += 1;
            self.dequeue(stream);
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

    /// Bytes of memory held for groups, streams and datagrams, beyond the schedule's own size.
    #[must_use]
    pub fn allocated(&self) -> usize {
        self.rings.allocated() + self.entries.allocated() + self.budget.allocated()
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
