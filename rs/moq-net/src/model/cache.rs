//! A track's cached groups, threaded in two orders.
//!
//! Owns the nodes and both orders: by arrival (a stamp that is never reused) and by sequence. Called by the track with
//! its lock held. May not know who reads, what is late, or what memory costs.
//!
//! Each order is a linked list for walking (next group: O(1)) plus an ordered map for seeking (O(log n)). A reader
//! holds no reference here: it remembers a [`Place`], and if that group has gone meanwhile it seeks instead. So adding,
//! removing and reading are O(1) or O(log n) whatever is cached, and a run of removed groups costs a reader nothing.

use std::sync::Arc;

use super::group::GroupShared;
use super::pool::PoolKey;
use super::runs::Runs;
use super::slots::Slots;

/// No node.
const NONE: u32 = u32::MAX;

/// One cached group.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) group: Arc<GroupShared>,
    /// Place in the arrival order; starts at 1.
    pub(super) stamp: u64,
    pub(super) sequence: u64,
    /// Timestamp of the first frame, once there is one.
    pub(super) start: Option<u64>,
    /// Where the pool lists it; `None` while it is the newest.
    pub(super) listed: Option<PoolKey>,
    arrival: Links,
    order: Links,
}

#[derive(Clone, Copy, Debug)]
struct Links {
    prev: u32,
    next: u32,
}

/// A group's place: stays its own after it has gone, since no stamp is used twice. A reader remembers the place of the
/// group it last passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    index: u32,
    stamp: u64,
}

impl Place {
    /// Before every group.
    pub(super) const START: Self = Self {
        index: NONE,
        stamp: 0,
    };

    /// Before the group `stamp` and after all that arrived earlier.
    pub(super) const fn before(stamp: u64) -> Self {
        Self {
            index: NONE,
            stamp: stamp - 1,
        }
    }

    /// The stamp of the group there.
    pub(super) const fn stamp(self) -> u64 {
        self.stamp
    }
}

/// See the file's head.
#[derive(Debug)]
pub(super) struct Cache {
    nodes: Slots<Node>,
    by_arrival: Runs<u32>,
    by_sequence: Runs<u32>,
    /// `next` is the first node, `prev` the last.
    arrival: Links,
    order: Links,
    next_stamp: u64,
}

impl Cache {
    pub(super) const fn new() -> Self {
        let ends = Links {
            prev: NONE,
            next: NONE,
        };
        Self {
            nodes: Slots::new(),
            by_arrival: Runs::new(),
            by_sequence: Runs::new(),
            arrival: ends,
            order: ends,
            next_stamp: 1,
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.nodes.capacity()
    }

    /// The place the next group will get.
    pub(super) fn next_place(&self) -> Place {
        Place {
            index: self.nodes.next(),
            stamp: self.next_stamp,
        }
    }

    /// Adds a group whose sequence is not cached, made for [`Self::next_place`]. O(log n).
    pub(super) fn insert(&mut self, group: Arc<GroupShared>) {
        let (stamp, sequence) = (self.next_stamp, group.sequence());
        self.next_stamp += 1;
        let is_newest = self.newest().is_none_or(|node| node.sequence < sequence);
        let before = match is_newest {
            true => self.order.prev,
            false => self
                .by_sequence
                .below(sequence)
                .map_or(NONE, |(_, &index)| index),
        };
        let after = self
            .at(before)
            .map_or(self.order.next, |node| node.order.next);
        let index = self.nodes.insert(Node {
            group,
            stamp,
            sequence,
            start: None,
            listed: None,
            arrival: Links {
                prev: self.arrival.prev,
                next: NONE,
            },
            order: Links {
                prev: before,
                next: after,
            },
        });
        *self.arrival_next(self.arrival.prev) = index;
        self.arrival.prev = index;
        *self.order_next(before) = index;
        *self.order_prev(after) = index;
        self.by_arrival.insert(stamp, index);
        self.by_sequence.insert(sequence, index);
    }

    /// Removes the group at `place`. O(log n).
    pub(super) fn remove(&mut self, place: Place) -> Option<Node> {
        self.find(place)?;
        let node = self.nodes.remove(place.index)?;
        self.by_arrival.remove(node.stamp);
        self.by_sequence.remove(node.sequence);
        *self.arrival_next(node.arrival.prev) = node.arrival.next;
        *self.arrival_prev(node.arrival.next) = node.arrival.prev;
        *self.order_next(node.order.prev) = node.order.next;
        *self.order_prev(node.order.next) = node.order.prev;
        Some(node)
    }

    /// The group with the highest sequence.
    pub(super) fn newest(&self) -> Option<&Node> {
        self.at(self.order.prev)
    }

    /// The group with the lowest sequence.
    pub(super) fn oldest(&self) -> Option<&Node> {
        self.at(self.order.next)
    }

    /// The group after `node` by sequence.
    pub(super) fn successor(&self, node: &Node) -> Option<&Node> {
        self.at(node.order.next)
    }

    /// The group before `node` by sequence.
    pub(super) fn predecessor(&self, node: &Node) -> Option<&Node> {
        self.at(node.order.prev)
    }

    /// The group `sequence`. O(log n), O(1) above the newest.
    pub(super) fn get(&self, sequence: u64) -> Option<&Node> {
        if self.newest()?.sequence < sequence {
            return None;
        }
        self.at(*self.by_sequence.get(sequence)?)
    }

    /// The group at `place`. O(1).
    pub(super) fn find(&self, place: Place) -> Option<&Node> {
        self.at(place.index)
            .filter(|node| node.stamp == place.stamp)
    }

    /// As [`Self::find`], to change what the cache only keeps for others.
    pub(super) fn find_mut(&mut self, place: Place) -> Option<&mut Node> {
        self.nodes
            .get_mut(place.index)
            .filter(|node| node.stamp == place.stamp)
    }

    /// All groups by arrival.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Node> {
        let first = self.at(self.arrival.next);
        std::iter::successors(first, |node| self.at(node.arrival.next))
    }

    /// The first group that arrived after `place`, and the place at it. O(1) if that node is still there or everything
    /// up to it has gone; else O(log n).
    pub(super) fn arrived_after(&self, place: Place) -> Option<(&Node, Place)> {
        let index = match self.find(place) {
            Some(node) => node.arrival.next,
            None => {
                let first = self.at(self.arrival.next)?;
                let last = self.at(self.arrival.prev)?;
                if place.stamp < first.stamp {
                    self.arrival.next
                } else if place.stamp >= last.stamp {
                    NONE
                } else {
                    *self.by_arrival.at_or_above(place.stamp + 1)?.1
                }
            }
        };
        self.placed(index)
    }

    /// The smallest sequence at or above `sequence`, and the place at it. `hint` is where the group just below was
    /// seen. O(1) if it is still there or everything below `sequence` has gone; else O(log n).
    pub(super) fn at_or_above(&self, sequence: u64, hint: Place) -> Option<(&Node, Place)> {
        let index = match self.find(hint) {
            Some(node) if node.sequence + 1 == sequence => node.order.next,
            _ => {
                let (oldest, newest) = (self.oldest()?, self.newest()?);
                if sequence <= oldest.sequence {
                    self.order.next
                } else if sequence > newest.sequence {
                    NONE
                } else {
                    *self.by_sequence.at_or_above(sequence)?.1
                }
            }
        };
        self.placed(index)
    }

    fn placed(&self, index: u32) -> Option<(&Node, Place)> {
        self.at(index).map(|node| {
            (
                node,
                Place {
                    index,
                    stamp: node.stamp,
                },
            )
        })
    }

    fn at(&self, index: u32) -> Option<&Node> {
        #[cfg(test)]
        touched::count();
        self.nodes.get(index)
    }

    fn arrival_next(&mut self, index: u32) -> &mut u32 {
        match self.nodes.get_mut(index) {
            Some(node) => &mut node.arrival.next,
            None => &mut self.arrival.next,
        }
    }

    fn arrival_prev(&mut self, index: u32) -> &mut u32 {
        match self.nodes.get_mut(index) {
            Some(node) => &mut node.arrival.prev,
            None => &mut self.arrival.prev,
        }
    }

    fn order_next(&mut self, index: u32) -> &mut u32 {
        match self.nodes.get_mut(index) {
            Some(node) => &mut node.order.next,
            None => &mut self.order.next,
        }
    }

    fn order_prev(&mut self, index: u32) -> &mut u32 {
        match self.nodes.get_mut(index) {
            Some(node) => &mut node.order.prev,
            None => &mut self.order.prev,
        }
    }
}

/// Counts nodes looked at, so that tests can tell a seek from a scan.
#[cfg(test)]
pub(super) mod touched {
    use std::cell::Cell;

    thread_local! {
        static NODES: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        NODES.set(NODES.get() + 1);
    }

    /// How many nodes this thread looks at during `act`.
    pub(in super::super) fn during(act: impl FnOnce()) -> u64 {
        let before = NODES.get();
        act();
        NODES.get() - before
    }
}
