//! How entries come and go: the steps the operations in `mod` are made of.
//!
//! Keeps three things in step: an entry's flags, its group's order tree, and the group's place in its round.

use super::{
    DatagramId, EMPTY_FRAME, Grant, GroupId, Schedule, StreamKey,
    entry::{Entry, Flags, Kind, Rank},
    group::{CONTROL, Group},
    order,
    slab::NIL,
};

/// That something has left the part of `group` that may be sent (if `queued`) or its other part.
#[must_use]
pub(super) struct Left {
    pub(super) group: u32,
    pub(super) queued: bool,
}

/// What a frame of `bytes` is charged.
pub(super) const fn frame_cost(bytes: usize) -> usize {
    if bytes == 0 { EMPTY_FRAME } else { bytes }
}

/// Whether a stream is to be finished before any other of its group is served.
pub(super) fn finishing(stream: &Entry, group: &Group) -> bool {
    stream.flags.has(Flags::BEGUN.or(Flags::FIN))
        && group.finish.is_some_and(|most| stream.ready <= most)
}

impl Schedule {
    pub(super) fn group(&self, id: GroupId) -> Option<u32> {
        let GroupId { index, stamp } = id;
        self.rings.groups.holds(index, stamp).then_some(index)
    }

    /// A group that may still be joined.
    pub(super) fn open(&self, id: GroupId) -> Option<u32> {
        let group = self.group(id)?;
        (!self.rings.groups[group].closed).then_some(group)
    }

    pub(super) fn group_id(&self, index: u32) -> GroupId {
        let stamp = self.rings.groups.stamp(index);
        GroupId { index, stamp }
    }

    pub(super) fn stream(&self, key: StreamKey) -> Option<u32> {
        let StreamKey { index, stamp } = key;
        self.entries.holds(index, stamp).then_some(index)
    }

    pub(super) fn datagram(&self, id: DatagramId) -> Option<u32> {
        let DatagramId { index, stamp } = id;
        self.entries.holds(index, stamp).then_some(index)
    }

    pub(super) fn datagram_id(&self, index: u32) -> DatagramId {
        let stamp = self.entries.stamp(index);
        DatagramId { index, stamp }
    }

    pub(super) const fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// The rank a stream has in a group if it comes there now.
    pub(super) fn rank_in(&mut self, group: u32, stream: u32, order: u64) -> Rank {
        let sequence = self.next_sequence();
        let group = &self.rings.groups[group];
        Rank::stream(group.direction, order, sequence)
            .with_finishing(finishing(&self.entries[stream], group))
    }

    /// Gives a stream another rank, queued or not.
    pub(super) fn rerank(&mut self, stream: u32, rank: Rank) {
        let entry = &mut self.entries[stream];
        if entry.queued() {
            let best = &mut self.rings.groups[entry.group].best;
            *best = order::rerank(&mut self.entries, *best, stream, rank);
        } else {
            entry.rank = rank;
        }
    }

    /// Puts an entry that may be sent into its group's order, and the group into its round.
    pub(super) fn enqueue(&mut self, entry: u32) {
        let group = self.entries[entry].group;
        let best = &mut self.rings.groups[group].best;
        *best = order::insert(&mut self.entries, *best, entry);
        self.join(group);
    }

    pub(super) fn join(&mut self, group: u32) {
        if group != CONTROL && !self.rings.groups[group].in_round() {
            self.rings.join(group);
        }
    }

    pub(super) fn dequeue(&mut self, entry: u32) {
        let group = self.entries[entry].group;
        let best = &mut self.rings.groups[group].best;
        *best = order::remove(&mut self.entries, *best, entry);
    }

    /// Takes an entry out of its group.
    pub(super) fn detach(&mut self, entry: u32) -> Left {
        let Entry { group, .. } = self.entries[entry];
        let queued = self.entries[entry].queued();
        if queued {
            self.dequeue(entry);
        } else if self.entries[entry].held() {
            self.rings.groups[group].held -= 1;
        }
        self.rings.groups[group].members -= 1;
        Left { group, queued }
    }

    /// What follows for a group something has left. Dry: credit is lost, debt is not, and if it has the turn, that passes
    /// on; away from the front it keeps its place until the round reaches it. With a stream held by flow control it is
    /// not dry: it keeps its credit. Closed and empty: freed.
    pub(super) fn after(&mut self, left: Left) {
        let Left {
            group: index,
            queued,
        } = left;
        let group = &mut self.rings.groups[index];
        if group.best != NIL {
            return;
        }
        if group.held == 0 {
            group.deficit = group.deficit.min(0);
        }
        let done = group.closed && group.members == 0;
        if group.in_round() && (done || queued && self.rings.is_front(index)) {
            self.rings.leave(index);
        }
        if done {
            self.rings.groups.remove(index);
            self.rings.groups.shrink(1);
        }
    }

    pub(super) fn drop_datagram(&mut self, datagram: u32) {
        let left = self.detach(datagram);
        self.budget
            .remove(&mut self.rings.groups, &mut self.entries, datagram);
        self.entries.remove(datagram);
        self.entries.shrink(0);
        self.after(left);
    }

    pub(super) fn grant(&self, best: u32, most: usize) -> Grant {
        let Entry {
            group, ready, kind, ..
        } = self.entries[best];
        let group = self.group_id(group);
        let stamp = self.entries.stamp(best);
        match kind {
            Kind::Stream { .. } => Grant::Stream {
                key: StreamKey { index: best, stamp },
                group,
                max_bytes: ready.min(most),
            },
            Kind::Datagram { .. } => Grant::Datagram {
                id: DatagramId { index: best, stamp },
                group,
                len: ready,
            },
        }
    }

    /// Takes `bytes` from what a stream has ready.
    pub(super) fn take(&mut self, stream: u32, bytes: usize) {
        let entry = &mut self.entries[stream];
        entry.ready = entry.ready.saturating_sub(bytes);
        entry.flags.set(Flags::BEGUN);
        if entry.ready == 0 {
            self.run_dry(stream);
            return;
        }
        let group = &self.rings.groups[entry.group];
        let mut rank = entry.rank.with_finishing(finishing(entry, group));
        if !group.unfair
            && let Kind::Stream { turn } = &mut entry.kind
        {
            *turn = turn.saturating_add(bytes.min(u32::MAX as usize) as u32);
            if *turn >= self.quantum as u32 {
                *turn = 0;
                self.sequence += 1;
                rank = rank.with_sequence(self.sequence);
            }
        }
        if rank != entry.rank {
            self.rerank(stream, rank);
        }
    }

    /// A stream has sent all it had.
    fn run_dry(&mut self, stream: u32) {
        let entry = &mut self.entries[stream];
        let (group, queued, held) = (entry.group, entry.queued(), entry.held());
        entry.flags.clear(Flags::BACKLOG);
        if queued {
            self.dequeue(stream);
        } else if held {
            self.rings.groups[group].held -= 1;
        }
        self.after(Left { group, queued });
    }

    /// Charges a group; tells whether that used its credit up.
    pub(super) fn charge(&mut self, payer: GroupId, bytes: usize) -> bool {
        let Some(payer) = self.group(payer) else {
            return false;
        };
        let deficit = &mut self.rings.groups[payer].deficit;
        let before = *deficit;
        *deficit = before.saturating_sub(i32::try_from(bytes).unwrap_or(i32::MAX));
        before > 0 && *deficit <= 0
    }

    /// Passes the turn on, if it was that of a group whose credit is spent.
    pub(super) fn end_turn(&mut self, payer: GroupId, spent: bool) {
        if spent
            && let Some(payer) = self.group(payer)
            && self.rings.groups[payer].in_round()
            && self.rings.is_front(payer)
        {
            self.rings.pass(payer);
        }
    }
}
