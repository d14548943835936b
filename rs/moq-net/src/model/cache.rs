//! A track's cached groups, threaded in two orders.
//!
//! Owns the nodes and both orders: by arrival (a stamp that is never reused) and by sequence. Called by the track with
//! its lock held. May not know who reads, what is late, or what memory costs.
//!
//! Each order is a linked list for walking (next group: O(1)) plus an ordered map for seeking (O(log n)). A reader
//! holds no reference here: it remembers a [`Place`], and if that node has gone meanwhile it seeks instead. So adding,
//! removing and reading are O(1) or O(log n) whatever is cached, and a run of removed groups costs a reader nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use slab::Slab;

use super::group::GroupShared;
use super::pool::PoolKey;

/// No node.
const NONE: u32 = u32::MAX;

/// Below this many nodes the slab is not worth compacting.
const COMPACT_ABOVE: usize = 64;

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

/// Where a reader is: the node it last passed, which may have gone since.
#[derive(Clone, Copy, Debug)]
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

    /// Just before the group `stamp`.
    pub(super) const fn before(stamp: u64) -> Self {
        Self {
            index: NONE,
            stamp: stamp - 1,
        }
    }

    /// The stamp of the node it is at.
    pub(super) const fn stamp(self) -> u64 {
        self.stamp
    }
}

/// See the file's head.
#[derive(Debug)]
pub(super) struct Cache {
    nodes: Slab<Node>,
    by_arrival: BTreeMap<u64, u32>,
    by_sequence: BTreeMap<u64, u32>,
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
            nodes: Slab::new(),
            by_arrival: BTreeMap::new(),
            by_sequence: BTreeMap::new(),
            arrival: ends,
            order: ends,
            next_stamp: 1,
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.nodes.capacity()
    }

    /// The stamp the next group will get.
    pub(super) const fn next_stamp(&self) -> u64 {
        self.next_stamp
    }

    /// Adds a group whose sequence is not cached. O(log n).
    pub(super) fn insert(&mut self, group: Arc<GroupShared>) -> u64 {
        let (stamp, sequence) = (self.next_stamp, group.sequence());
        self.next_stamp += 1;
        let newest = self.newest().is_none_or(|node| node.sequence < sequence);
        let before = if newest {
            self.order.prev
        } else {
            self.by_sequence
                .range(..sequence)
                .next_back()
                .map_or(NONE, |(_, &index)| index)
        };
        let after = if before == NONE {
            self.order.next
        } else {
            self.node(before).order.next
        };
        let node = Node {
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
        };
        // More than 2^32 − 1 groups would need terabytes of charged overhead.
        let index = self.nodes.insert(node) as u32;
        *self.arrival_next(self.arrival.prev) = index;
        self.arrival.prev = index;
        *self.order_next(before) = index;
        *self.order_prev(after) = index;
        self.by_arrival.insert(stamp, index);
        self.by_sequence.insert(sequence, index);
        stamp
    }

    /// Removes the group `stamp`. O(log n) amortised.
    pub(super) fn remove(&mut self, stamp: u64) -> Option<Node> {
        let index = self.by_arrival.remove(&stamp)?;
        let node = self.nodes.remove(index as usize);
        self.by_sequence.remove(&node.sequence);
        *self.arrival_next(node.arrival.prev) = node.arrival.next;
        *self.arrival_prev(node.arrival.next) = node.arrival.prev;
        *self.order_next(node.order.prev) = node.order.next;
        *self.order_prev(node.order.next) = node.order.prev;
        if self.nodes.capacity() > COMPACT_ABOVE && self.nodes.len() < self.nodes.capacity() / 4 {
            self.compact();
        }
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

    /// The group `sequence`. O(log n).
    pub(super) fn get(&self, sequence: u64) -> Option<&Node> {
        self.by_sequence
            .get(&sequence)
            .and_then(|&index| self.at(index))
    }

    /// The group `stamp`. O(log n).
    pub(super) fn stamped(&self, stamp: u64) -> Option<&Node> {
        self.by_arrival
            .get(&stamp)
            .and_then(|&index| self.at(index))
    }

    /// As [`Self::stamped`], to change what the cache only keeps for others.
    pub(super) fn stamped_mut(&mut self, stamp: u64) -> Option<&mut Node> {
        let index = *self.by_arrival.get(&stamp)?;
        self.nodes.get_mut(index as usize)
    }

    /// All groups by arrival.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Node> {
        self.by_arrival.values().filter_map(|&index| self.at(index))
    }

    /// The first group that arrived after `place`, and the place at it. O(1) if that node is still there or everything
    /// up to it has gone; else O(log n).
    pub(super) fn arrived_after(&self, place: Place) -> Option<(&Node, Place)> {
        let index = match self.at(place.index) {
            Some(node) if node.stamp == place.stamp => node.arrival.next,
            _ => {
                let first = self.at(self.arrival.next)?;
                let last = self.at(self.arrival.prev)?;
                if place.stamp < first.stamp {
                    self.arrival.next
                } else if place.stamp >= last.stamp {
                    NONE
                } else {
                    *self.by_arrival.range(place.stamp + 1..).next()?.1
                }
            }
        };
        self.placed(index)
    }

    /// The smallest sequence at or above `sequence`, and the place at it. `hint` is where the group just below was
    /// seen. O(1) if it is still there or everything below `sequence` has gone; else O(log n).
    pub(super) fn at_or_above(&self, sequence: u64, hint: Place) -> Option<(&Node, Place)> {
        let index = match self.at(hint.index) {
            Some(node) if node.stamp == hint.stamp && node.sequence.wrapping_add(1) == sequence => {
                node.order.next
            }
            _ => {
                let (oldest, newest) = (self.oldest()?, self.newest()?);
                if sequence <= oldest.sequence {
                    self.order.next
                } else if sequence > newest.sequence {
                    NONE
                } else {
                    *self.by_sequence.range(sequence..).next()?.1
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
        self.nodes.get(index as usize)
    }

    fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    fn arrival_next(&mut self, index: u32) -> &mut u32 {
        match self.nodes.get_mut(index as usize) {
            Some(node) => &mut node.arrival.next,
            None => &mut self.arrival.next,
        }
    }

    fn arrival_prev(&mut self, index: u32) -> &mut u32 {
        match self.nodes.get_mut(index as usize) {
            Some(node) => &mut node.arrival.prev,
            None => &mut self.arrival.prev,
        }
    }

    fn order_next(&mut self, index: u32) -> &mut u32 {
        match self.nodes.get_mut(index as usize) {
            Some(node) => &mut node.order.next,
            None => &mut self.order.next,
        }
    }

    fn order_prev(&mut self, index: u32) -> &mut u32 {
        match self.nodes.get_mut(index as usize) {
            Some(node) => &mut node.order.prev,
            None => &mut self.order.prev,
        }
    }

    /// Gives memory back after a burst: moves the nodes together, in arrival order. Readers' places go stale, so they
    /// seek once. O(n), after at least 3n removals.
    fn compact(&mut self) {
        let mut old = std::mem::take(&mut self.nodes);
        let mut moved = BTreeMap::new();
        self.nodes.reserve_exact(old.len());
        let mut prev = NONE;
        for index in self.by_arrival.values_mut() {
            let mut node = old.remove(*index as usize);
            node.arrival = Links { prev, next: NONE };
            let new = self.nodes.insert(node) as u32;
            moved.insert(*index, new);
            match self.nodes.get_mut(prev as usize) {
                Some(node) => node.arrival.next = new,
                None => self.arrival.next = new,
            }
            *index = new;
            prev = new;
        }
        self.arrival.prev = prev;
        prev = NONE;
        for index in self.by_sequence.values_mut() {
            *index = moved[index];
            match self.nodes.get_mut(prev as usize) {
                Some(node) => node.order.next = *index,
                None => self.order.next = *index,
            }
            self.nodes[*index as usize].order = Links { prev, next: NONE };
            prev = *index;
        }
        self.order.prev = prev;
    }
}
