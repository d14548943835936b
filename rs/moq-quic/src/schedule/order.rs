//! What a group may send, best first: a sorted list, and a heap for what fits at neither end of it.
//!
//! Nearly everything fits at an end. Newest first, a newer stream goes before all others; oldest first, behind all; and
//! of equals, whichever had its turn goes behind. So these cost O(1), and only what comes in no order goes to the heap,
//! a leftist one: O(log n) in the worst case, not only on average, since its right spines are never longer than
//! log₂(n + 1) and heights are repaired upwards no further than they change. The best is the first of the list or the
//! root of the heap.
//!
//! Both are threaded through the slab of entries: a group holds only the ends, and no operation allocates. Called by
//! `queue`. May not know what a rank is made of.

use super::{
    entry::Entry,
    slab::{NIL, Places, Slab},
};

/// Where a group's order begins and ends. While there is anything at all, there is something in the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    first: u32,
    last: u32,
    root: u32,
}

impl Order {
    pub(super) const EMPTY: Self = Self {
        first: NIL,
        last: NIL,
        root: NIL,
    };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first == NIL
    }

    /// Whether `entry` is all there is.
    #[inline]
    pub(super) fn is_only(&self, entry: u32) -> bool {
        self.first == entry && self.last == entry && self.root == NIL
    }

    /// The best, if there is something and finding it takes no comparison.
    #[inline]
    pub(super) fn clear_best(&self) -> Option<u32> {
        (self.root == NIL && self.first != NIL).then_some(self.first)
    }

    /// The best, `NIL` if there is nothing.
    pub(super) fn best(&self, entries: &Slab<Entry>) -> u32 {
        if self.root != NIL && entries[self.root].rank < entries[self.first].rank {
            self.root
        } else {
            self.first
        }
    }

    /// The order of `entry` alone.
    #[inline]
    pub(super) fn only(index: u32, entry: &mut Entry) -> Self {
        (entry.left, entry.right, entry.height) = (NIL, NIL, LISTED);
        Self {
            first: index,
            last: index,
            root: NIL,
        }
    }

    /// Puts `entry` in, by its rank. O(1) at the ends, else O(log n).
    pub(super) fn insert(&mut self, entries: &mut Slab<Entry>, entry: u32) {
        let mut entries = entries.places();
        let rank = entries[entry].rank;
        if self.first == NIL || rank < entries[self.first].rank {
            self.link(&mut entries, NIL, entry, self.first);
        } else if entries[self.last].rank < rank {
            self.link(&mut entries, self.last, entry, NIL);
        } else {
            let new = &mut entries[entry];
            (new.left, new.right, new.parent, new.height) = (NIL, NIL, NIL, 1);
            self.root = merge(&mut entries, self.root, entry);
        }
    }

    /// Takes `entry` out. O(1) from the list, O(log n) from the heap.
    pub(super) fn remove(&mut self, entries: &mut Slab<Entry>, entry: u32) {
        let mut entries = entries.places();
        if entries[entry].height != LISTED {
            self.root = cut(&mut entries, self.root, entry);
            return;
        }
        self.unlink(&mut entries, entry);
        if self.first == NIL && self.root != NIL {
            let best = self.root;
            self.root = cut(&mut entries, best, best);
            self.link(&mut entries, NIL, best, NIL);
        }
    }

    /// Puts `entry` into the list between two neighbours, of which one is `NIL`.
    fn link(&mut self, entries: &mut Places<'_, Entry>, before: u32, entry: u32, after: u32) {
        let new = &mut entries[entry];
        (new.left, new.right, new.height) = (before, after, LISTED);
        match before {
            NIL => self.first = entry,
            _ => entries[before].right = entry,
        }
        match after {
            NIL => self.last = entry,
            _ => entries[after].left = entry,
        }
    }

    fn unlink(&mut self, entries: &mut Places<'_, Entry>, entry: u32) {
        let Entry {
            left: before,
            right: after,
            ..
        } = entries[entry];
        match before {
            NIL => self.first = after,
            _ => entries[before].right = after,
        }
        match after {
            NIL => self.last = before,
            _ => entries[after].left = before,
        }
    }
}

/// The height of an entry that is in the list; those in the heap have 1 and more.
const LISTED: u8 = 0;

/// Takes `entry` out of the heap of `root`; gives the new root.
fn cut(entries: &mut Places<'_, Entry>, root: u32, entry: u32) -> u32 {
    let Entry {
        left,
        right,
        parent,
        ..
    } = entries[entry];
    let orphan = merge(entries, left, right);
    if orphan != NIL {
        entries[orphan].parent = parent;
    }
    if parent == NIL {
        return orphan;
    }
    let above = &mut entries[parent];
    if above.left == entry {
        above.left = orphan;
    } else {
        above.right = orphan;
    }
    repair(entries, parent, parent);
    root
}

/// Joins two heaps along their right spines.
fn merge(entries: &mut Places<'_, Entry>, a: u32, b: u32) -> u32 {
    if a == NIL {
        return b;
    }
    if b == NIL {
        return a;
    }
    let (root, mut other) = if entries[b].rank < entries[a].rank {
        (b, a)
    } else {
        (a, b)
    };
    let (mut at, mut highest) = (root, NIL);
    loop {
        let right = entries[at].right;
        if right != NIL && entries[right].rank < entries[other].rank {
            at = right;
            continue;
        }
        if highest == NIL {
            highest = at;
        }
        entries[at].right = other;
        entries[other].parent = at;
        if right == NIL {
            break;
        }
        (at, other) = (other, right);
    }
    entries[root].parent = NIL;
    repair(entries, at, highest);
    root
}

/// Restores "no left child lower than its right sibling" from `at` up to `highest`, the last that has another child, and
/// on upwards as far as heights change.
fn repair(entries: &mut Places<'_, Entry>, mut at: u32, highest: u32) {
    let mut may_stop = false;
    while at != NIL {
        let (left, right) = (entries[at].left, entries[at].right);
        let left_height = height(entries, left);
        let right_height = height(entries, right);
        let node = &mut entries[at];
        if left_height < right_height {
            (node.left, node.right) = (right, left);
        }
        let now = left_height.min(right_height) + 1;
        may_stop |= at == highest;
        if may_stop && node.height == now {
            return;
        }
        node.height = now;
        at = node.parent;
    }
}

fn height(entries: &Places<'_, Entry>, at: u32) -> u8 {
    if at == NIL { 0 } else { entries[at].height }
}
