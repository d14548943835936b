//! The datagram budget: who holds how much, and which datagram goes when it is too much.
//!
//! A binary heap of the groups that have datagrams queued, the next victim's on top, each group knowing its place; inside
//! a group a list in order of arrival threaded through the entries. So no enqueue looks at more than O(log groups) of
//! them. Called by the operations in `mod`. May not know rounds or streams.

use std::cmp::Reverse;

use super::{
    Evicted,
    entry::Entry,
    group::{CONTROL, Datagrams, Group},
    slab::{NIL, Slab},
};

/// Groups with datagrams that an idle schedule keeps room for.
const KEEP: usize = 16;

/// Where the control group stands among priorities.
const ABOVE_ALL: u32 = 1 << 16;

#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    bytes: usize,
    heap: Vec<u32>,
    evicted: Evicted,
}

impl Budget {
    /// A group counts its datagram bytes in a `u32`, so a larger limit is lowered to that.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit: limit.min(u32::MAX as usize / 2),
            bytes: 0,
            heap: Vec::new(),
            evicted: Evicted::default(),
        }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) const fn evicted(&self) -> Evicted {
        self.evicted
    }

    pub(super) const fn count_evicted(&mut self, bytes: usize) {
        self.evicted.datagrams += 1;
        self.evicted.bytes += bytes as u64;
    }

    /// The datagram that has to go, if too much is queued.
    pub(super) fn victim(&self, groups: &Slab<Group>) -> Option<u32> {
        if self.bytes <= self.limit {
            return None;
        }
        let &group = self.heap.first()?;
        Some(groups[group].datagrams.oldest)
    }

    /// Counts a datagram that has just arrived in its group.
    pub(super) fn add(&mut self, groups: &mut Slab<Group>, entries: &mut Slab<Entry>, new: u32) {
        let Entry { group, ready, .. } = entries[new];
        let queue = &mut groups[group].datagrams;
        let older = queue.newest;
        entries[new].older = older;
        queue.newest = new;
        queue.bytes += ready as u32;
        match older {
            NIL => queue.oldest = new,
            _ => entries[older].newer = new,
        }
        self.bytes += ready;
        self.place(groups, entries, group);
    }

    /// Forgets a datagram that leaves its group.
    pub(super) fn remove(&mut self, groups: &mut Slab<Group>, entries: &mut Slab<Entry>, old: u32) {
        let Entry {
            group,
            ready,
            older,
            newer,
            ..
        } = entries[old];
        let queue = &mut groups[group].datagrams;
        queue.bytes -= ready as u32;
        match older {
            NIL => queue.oldest = newer,
            _ => entries[older].newer = newer,
        }
        match newer {
            NIL => queue.newest = older,
            _ => entries[newer].older = older,
        }
        self.bytes -= ready;
        self.place(groups, entries, group);
    }

    /// Puts a group whose datagrams or priority have changed where it belongs.
    pub(super) fn place(&mut self, groups: &mut Slab<Group>, entries: &Slab<Entry>, group: u32) {
        let Datagrams { place, oldest, .. } = groups[group].datagrams;
        if oldest == NIL {
            if place != NIL {
                self.take_out(groups, entries, place as usize);
                groups[group].datagrams.place = NIL;
            }
            return;
        }
        let place = match place {
            NIL => {
                self.heap.push(group);
                self.heap.len() - 1
            }
            place => place as usize,
        };
        self.sift(groups, entries, place);
    }

    /// Gives memory back.
    pub(super) fn trim(&mut self) {
        if self.heap.is_empty() {
            self.heap.shrink_to(KEEP);
        }
    }

    /// Bytes of memory held beyond itself.
    pub(super) fn allocated(&self) -> usize {
        self.heap.capacity() * size_of::<u32>()
    }

    fn take_out(&mut self, groups: &mut Slab<Group>, entries: &Slab<Entry>, place: usize) {
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.sift(groups, entries, place);
        }
    }

    /// Moves the group at `place` up or down until no victim is below a later one.
    fn sift(&mut self, groups: &mut Slab<Group>, entries: &Slab<Entry>, mut place: usize) {
        let group = self.heap[place];
        let key = victim_key(groups, entries, group);
        while place > 0 {
            let above = self.heap[(place - 1) / 2];
            if victim_key(groups, entries, above) <= key {
                break;
            }
            self.put(groups, place, above);
            place = (place - 1) / 2;
        }
        while let Some(&left) = self.heap.get(2 * place + 1) {
            let mut below = (victim_key(groups, entries, left), 2 * place + 1);
            if let Some(&right) = self.heap.get(2 * place + 2) {
                below = below.min((victim_key(groups, entries, right), 2 * place + 2));
            }
            if key <= below.0 {
                break;
            }
            self.put(groups, place, self.heap[below.1]);
            place = below.1;
        }
        self.put(groups, place, group);
    }

    fn put(&mut self, groups: &mut Slab<Group>, place: usize, group: u32) {
        self.heap[place] = group;
        groups[group].datagrams.place = place as u32;
    }
}

/// Lowest priority first, then most bytes, then oldest datagram.
fn victim_key(groups: &Slab<Group>, entries: &Slab<Entry>, group: u32) -> (u32, Reverse<u32>, u64) {
    let of = &groups[group];
    let tier = match group {
        CONTROL => ABOVE_ALL,
        _ => u32::from(of.priority),
    };
    let oldest = entries[of.datagrams.oldest].rank.sequence();
    (tier, Reverse(of.datagrams.bytes), oldest)
}
