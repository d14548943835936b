//! How entries come and go: the steps the operations in `mod` are made of.
//!
//! Keeps three things in step: an entry's flags, its group's order tree, and the group's place in its round.

use super::{
    DatagramId, Direction, EMPTY_FRAME, Grant, GroupId, Schedule, StreamKey,
    entry::{Entry, Flags, Rank},
    group::{CONTROL, Group},
    order::Order,
    slab::NIL,
};

/// The most one grant or charge is good for, in bytes, so that no sum overflows.
pub(super) const MOST_BYTES: usize = 1 << 30;

/// What a frame of `bytes` is charged.
const fn frame_cost(bytes: usize) -> usize {
    if bytes == 0 { EMPTY_FRAME } else { bytes }
}

/// Whether a stream is to be finished before any other of its group is served.
pub(super) fn finishing(stream: &Entry, group: &Group) -> bool {
    stream.flags.has(Flags::BEGUN.or(Flags::FIN)) && stream.ready < group.finish_below as usize
}

impl Schedule {
    #[inline]
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

    #[inline]
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

    /// `open_stream` when no place is vacant: apart, like others here, so that the usual case calls nothing and saves no
    /// registers.
    #[cold]
    #[inline(never)]
    pub(super) fn open_stream_in_new_place(
        &mut self,
        group: GroupId,
        order: u64,
    ) -> Option<StreamKey> {
        self.make_room();
        self.open_stream(group, order)
    }

    /// A place for an entry.
    pub(super) fn make_room(&mut self) -> u32 {
        loop {
            if let Some(index) = self.entries.room() {
                return index;
            }
            let rank = Rank::stream(Direction::default(), 0, 0);
            self.entries.make_room(Entry::stream(CONTROL, rank));
        }
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
    #[inline(never)]
    pub(super) fn rerank(&mut self, stream: u32, rank: Rank) {
        let entry = &mut self.entries[stream];
        if entry.queued() {
            let order = &mut self.rings.groups[entry.group].order;
            order.remove(&mut self.entries, stream);
            self.entries[stream].rank = rank;
            order.insert(&mut self.entries, stream);
        } else {
            entry.rank = rank;
        }
    }

    /// Gives a stream whose end is queued, and which has now more or less to send, the rank that goes with that.
    #[inline(never)]
    pub(super) fn rerank_finishing(&mut self, stream: u32) {
        let entry = &self.entries[stream];
        let finishing = finishing(entry, &self.rings.groups[entry.group]);
        let rank = entry.rank.with_finishing(finishing);
        if rank != entry.rank {
            self.rerank(stream, rank);
        }
    }

    /// Puts an entry that may be sent into its group's order, and the group into its round.
    #[inline]
    pub(super) fn enqueue(&mut self, entry: u32) {
        let group = self.entries[entry].group;
        let order = &mut self.rings.groups[group].order;
        if order.is_empty() {
            *order = Order::only(entry, &mut self.entries[entry]);
            self.join(group);
        } else {
            self.enqueue_among(entry);
        }
    }

    /// Where the group has others queued, and so is in its round.
    #[inline(never)]
    fn enqueue_among(&mut self, entry: u32) {
        let group = self.entries[entry].group;
        let order = &mut self.rings.groups[group].order;
        order.insert(&mut self.entries, entry);
    }

    #[inline]
    pub(super) fn join(&mut self, group: u32) {
        if group != CONTROL && !self.rings.groups[group].in_round() {
            self.rings.join(group);
        }
    }

    /// Whether an entry is the only one of its group that is queued.
    #[inline]
    pub(super) fn is_alone(&self, entry: u32) -> bool {
        let group = self.entries[entry].group;
        self.rings.groups[group].order.is_only(entry)
    }

    /// Takes an entry out of its group's order.
    pub(super) fn dequeue(&mut self, entry: u32) {
        let group = self.entries[entry].group;
        let order = &mut self.rings.groups[group].order;
        order.remove(&mut self.entries, entry);
        if order.is_empty() {
            self.dry(group);
        }
    }

    /// The group has nothing queued any more: its debt stays, its credit does not (unless flow control holds a stream of
    /// it), and if it has the turn, that passes on. Away from the front it keeps its place until the round reaches it.
    #[inline]
    pub(super) fn dry(&mut self, index: u32) {
        let group = &mut self.rings.groups[index];
        if group.held == 0 {
            group.deficit = group.deficit.min(0);
        }
        if self.rings.is_front(index) {
            self.rings.leave(index);
        }
    }

    /// A stream that flow control held is not to be sent any more.
    pub(super) fn release(&mut self, group: u32) {
        let group = &mut self.rings.groups[group];
        group.held -= 1;
        if group.held == 0 && group.order.is_empty() {
            group.deficit = group.deficit.min(0);
        }
    }

    /// Takes an entry out of its group's order, or from what flow control holds.
    #[inline(never)]
    pub(super) fn withdraw(&mut self, entry: u32) {
        let Entry { group, .. } = self.entries[entry];
        if self.entries[entry].queued() {
            self.dequeue(entry);
        } else if self.entries[entry].held() {
            self.release(group);
        }
    }

    /// `close_stream` where the group has others queued, or the stream is not queued.
    #[inline(never)]
    pub(super) fn close_other(&mut self, stream: u32) {
        let Entry { group, .. } = self.entries[stream];
        self.withdraw(stream);
        self.entries.remove(stream);
        if self.quit(group) {
            self.rings.free(group);
        }
    }

    /// Counts one stream or datagram less in a group; tells whether the group, being closed, is to be freed.
    #[inline]
    #[must_use]
    pub(super) fn quit(&mut self, index: u32) -> bool {
        let group = &mut self.rings.groups[index];
        group.members -= 1;
        group.members == 0 && group.closed
    }

    /// Moves a group that has datagrams queued to another priority. Apart, so that others need no call.
    #[inline(never)]
    pub(super) fn move_victim(&mut self, group: u32, priority: u16) {
        self.rings.set_priority(group, priority);
        self.budget
            .place(&mut self.rings.groups, &self.entries, group);
    }

    pub(super) fn drop_datagram(&mut self, datagram: u32) {
        let group = self.entries[datagram].group;
        self.withdraw(datagram);
        self.budget
            .remove(&mut self.rings.groups, &mut self.entries, datagram);
        self.entries.remove(datagram);
        if self.quit(group) {
            self.rings.free(group);
        }
    }

    /// Gives memory back while there is nothing to send.
    pub(super) fn trim(&mut self) {
        self.rings.trim();
        self.entries.trim();
        self.budget.trim();
    }

    /// `pop` in all cases but the usual one: that it is still the turn of the group that had it, and that it is clear which
    /// of its entries is the best.
    #[inline(never)]
    pub(super) fn next_turn(&mut self, budget: usize) -> Option<Grant> {
        let control = &self.rings.groups[CONTROL].order;
        if !control.is_empty() {
            let best = control.best(&self.entries);
            return Some(self.grant(CONTROL, best, budget.min(MOST_BYTES)));
        }
        loop {
            let front = self.rings.front();
            if front == NIL {
                self.trim();
                return None;
            }
            if self.rings.groups[front].order.is_empty() {
                self.rings.leave(front);
            } else if self.credit(front) {
                let best = self.rings.groups[front].order.best(&self.entries);
                return Some(self.turn(front, best, budget));
            } else {
                self.rings.pass(front);
            }
        }
    }

    /// Gives the group at the front its share if it has no credit; tells whether it has some now.
    #[inline]
    pub(super) fn credit(&mut self, front: u32) -> bool {
        let share = self.quantum * i64::from(self.rings.groups[front].weight);
        let group = &mut self.rings.groups[front];
        if group.deficit <= -share && group.next == front {
            // Alone, every round is its own: as many at once as end its debt.
            group.deficit %= share;
        }
        if group.deficit <= 0 {
            group.deficit += share;
        }
        group.deficit > 0
    }

    /// What the best of the group at the front may send.
    #[inline(always)]
    pub(super) fn turn(&self, front: u32, best: u32, budget: usize) -> Grant {
        let most = self.rings.groups[front].deficit.max(self.quantum) as usize;
        self.grant(front, best, budget.min(most))
    }

    #[inline(always)]
    pub(super) fn grant(&self, group: u32, best: u32, most: usize) -> Grant {
        let Entry { ready, flags, .. } = self.entries[best];
        let stamp = self.entries.stamp(best);
        let group = self.group_id(group);
        if flags.has(Flags::DATAGRAM) {
            return Grant::Datagram {
                id: DatagramId { index: best, stamp },
                group,
                len: ready,
            };
        }
        Grant::Stream {
            key: StreamKey { index: best, stamp },
            group,
            max_bytes: ready.min(most),
        }
    }

    /// Takes `bytes` of what a stream has ready, and leaves some; tells whether that calls for `after_turn`.
    #[inline]
    pub(super) fn take(&mut self, stream: u32, bytes: usize) -> bool {
        let entry = &mut self.entries[stream];
        entry.ready -= bytes;
        entry.flags.set(Flags::BEGUN);
        entry.turn += bytes as u32;
        i64::from(entry.turn) >= self.quantum || entry.flags.has(Flags::FIN)
    }

    /// Gives a stream that has been sent from the rank it has now.
    #[inline(never)]
    pub(super) fn after_turn(&mut self, stream: u32) {
        let entry = &mut self.entries[stream];
        let group = &mut self.rings.groups[entry.group];
        let mut rank = entry.rank;
        if i64::from(entry.turn) >= self.quantum {
            entry.turn = 0;
            if !group.unfair {
                self.sequence += 1;
                rank = rank.with_sequence(self.sequence);
            }
        }
        if entry.flags.has(Flags::FIN) {
            rank = rank.with_finishing(finishing(entry, group));
        }
        if group.order.is_only(stream) {
            entry.rank = rank;
        } else if rank != entry.rank {
            self.rerank(stream, rank);
        }
    }

    /// Takes all that a stream has ready, or an empty frame. The stream may have left by now.
    #[inline(never)]
    pub(super) fn take_all(&mut self, stream: Option<u32>, payer: GroupId, bytes: usize) {
        let spent = self.spend(payer, frame_cost(bytes));
        if let Some(stream) = stream {
            self.entries[stream].flags.set(Flags::BEGUN);
            if bytes == 0 && self.entries[stream].ready > 0 {
                // Filled since it was granted as empty.
                self.after_turn(stream);
            } else {
                self.withdraw(stream);
                let entry = &mut self.entries[stream];
                entry.ready = 0;
                entry.flags.clear(Flags::BACKLOG);
            }
        }
        self.end_turn(payer, spent);
    }

    /// Takes a datagram, which may have left by now.
    #[inline(never)]
    pub(super) fn take_datagram(&mut self, datagram: Option<u32>, payer: GroupId, len: usize) {
        let spent = self.spend(payer, frame_cost(len));
        if let Some(datagram) = datagram {
            self.drop_datagram(datagram);
        }
        self.end_turn(payer, spent);
    }

    /// Charges a group, and passes its turn on if it has it and its credit is spent.
    #[inline(always)]
    pub(super) fn charge(&mut self, payer: GroupId, bytes: usize) {
        let Some(payer) = self.group(payer) else {
            return;
        };
        let deficit = &mut self.rings.groups[payer].deficit;
        let before = *deficit;
        *deficit -= bytes as i64;
        if before > 0 && *deficit <= 0 {
            self.rings.pass(payer);
        }
    }

    /// Charges a group; tells whether that used its credit up. For when something has to be seen to before the turn ends:
    /// a group that runs dry in its turn leaves the round, it does not go to its tail.
    fn spend(&mut self, payer: GroupId, bytes: usize) -> bool {
        let Some(payer) = self.group(payer) else {
            return false;
        };
        let deficit = &mut self.rings.groups[payer].deficit;
        let before = *deficit;
        *deficit -= bytes as i64;
        before > 0 && *deficit <= 0
    }

    fn end_turn(&mut self, payer: GroupId, spent: bool) {
        if spent && let Some(payer) = self.group(payer) {
            self.rings.pass(payer);
        }
    }
}
