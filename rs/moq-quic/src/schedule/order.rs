//! The entries of one group that may be sent, best first: a leftist heap threaded through the slab of entries.
//!
//! A group holds only the root, so a group of one stream costs nothing more, and no operation allocates. Inserting,
//! taking out (from anywhere) and re-ranking are O(log n) in the worst case, not only on average: a leftist heap's right
//! spines are never longer than log₂(n + 1), and heights are repaired upwards only as far as they change.
//!
//! Called by the operations in `mod`. May not know what a rank is made of.

use super::{
    entry::{Entry, Rank},
    slab::{NIL, Places, Slab},
};

/// Makes an entry a heap of its own.
#[inline]
pub(super) fn reset(entry: &mut Entry) {
    (entry.left, entry.right, entry.parent) = (NIL, NIL, NIL);
    entry.height = 1;
}

/// Whether an entry is all there is in its heap: only that root has no left child.
#[inline]
pub(super) fn is_alone(entry: &Entry, is_root: bool) -> bool {
    is_root && entry.left == NIL
}

/// Puts `entry` into the heap of `root`; gives the new root.
pub(super) fn insert(entries: &mut Slab<Entry>, root: u32, entry: u32) -> u32 {
    reset(&mut entries[entry]);
    merge(&mut entries.places(), root, entry)
}

/// Takes `entry` out of the heap of `root`; gives the new root.
pub(super) fn remove(entries: &mut Slab<Entry>, root: u32, entry: u32) -> u32 {
    let mut entries = entries.places();
    let Entry {
        left,
        right,
        parent,
        ..
    } = entries[entry];
    let orphan = merge(&mut entries, left, right);
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
    repair(&mut entries, parent, true);
    root
}

/// Gives `entry`, in the heap of `root`, another rank; gives the new root.
pub(super) fn rerank(entries: &mut Slab<Entry>, root: u32, entry: u32, rank: Rank) -> u32 {
    let root = remove(entries, root, entry);
    entries[entry].rank = rank;
    insert(entries, root, entry)
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
    let mut at = root;
    loop {
        let right = entries[at].right;
        if right != NIL && entries[right].rank < entries[other].rank {
            at = right;
            continue;
        }
        entries[at].right = other;
        entries[other].parent = at;
        if right == NIL {
            break;
        }
        (at, other) = (other, right);
    }
    entries[root].parent = NIL;
    repair(entries, at, false);
    root
}

/// Restores "no left child lower than its right sibling" from `at` up to the root, or, if nothing above changed but
/// heights, up to where a height stays as it was.
fn repair(entries: &mut Places<'_, Entry>, mut at: u32, only_heights: bool) {
    while at != NIL {
        let (left, right) = (entries[at].left, entries[at].right);
        let left_height = height(entries, left);
        let right_height = height(entries, right);
        let node = &mut entries[at];
        if left_height < right_height {
            (node.left, node.right) = (right, left);
        }
        let now = left_height.min(right_height) + 1;
        if only_heights && node.height == now {
            return;
        }
        node.height = now;
        at = node.parent;
    }
}

fn height(entries: &Places<'_, Entry>, at: u32) -> u8 {
    if at == NIL { 0 } else { entries[at].height }
}
