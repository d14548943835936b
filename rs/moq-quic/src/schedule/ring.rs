//! The round robin of every priority: a circular doubly linked list a level, threaded through the slab of groups.
//!
//! Joining, leaving from anywhere and passing the turn are O(1) and allocate nothing (but for a page of levels, once).
//! Called by the operations in `mod`. May not know streams.

use super::{
    config::GroupConfig,
    group::Group,
    key::GroupId,
    level::Levels,
    slab::{NIL, Slab},
};

#[derive(Debug)]
pub(super) struct Rings {
    pub(super) groups: Slab<Group>,
    levels: Levels,
}

impl Rings {
    pub(super) const fn new() -> Self {
        Self {
            groups: Slab::new(),
            levels: Levels::new(),
        }
    }

    #[inline]
    pub(super) fn open(&mut self, config: GroupConfig) -> GroupId {
        let Some(index) = self.groups.room() else {
            return self.open_in_new_place(config);
        };
        let stamp = self.groups.insert(index, Group::new(config));
        GroupId { index, stamp }
    }

    #[cold]
    #[inline(never)]
    fn open_in_new_place(&mut self, config: GroupConfig) -> GroupId {
        self.groups.make_room(Group::new(config));
        self.open(config)
    }

    /// The front of the highest priority if that has not changed, else `NIL`, as if there were none.
    #[inline]
    pub(super) fn likely_front(&self) -> u32 {
        self.levels.likely_highest()
    }

    /// The front of the highest priority, `NIL` if there is none.
    pub(super) fn front(&mut self) -> u32 {
        self.levels.highest()
    }

    /// Gives memory back. To be called when there is no front.
    pub(super) fn trim(&mut self) {
        self.groups.trim();
        self.levels.trim();
    }

    /// Bytes of memory held beyond itself.
    pub(super) fn allocated(&self) -> usize {
        self.groups.allocated() + self.levels.allocated()
    }

    /// Whether it is this group's turn at its priority.
    #[inline]
    pub(super) fn is_front(&self, group: u32) -> bool {
        self.levels.front(self.groups[group].priority) == group
    }

    /// Gives a group another priority; one in a round goes behind all others of the new one.
    #[inline(always)]
    pub(super) fn set_priority(&mut self, group: u32, priority: u16) {
        let before = &mut self.groups[group];
        let in_round = before.in_round();
        let old = std::mem::replace(&mut before.priority, priority);
        if in_round {
            self.unlink(group, old);
            self.link(group, priority);
        }
    }

    /// Puts a group that is in no round behind all others of its priority.
    #[inline]
    pub(super) fn join(&mut self, group: u32) {
        self.link(group, self.groups[group].priority);
    }

    /// Takes a group out of its round, wherever it is; its successor has the turn if it had it.
    #[inline(never)]
    pub(super) fn leave(&mut self, group: u32) {
        self.unlink(group, self.groups[group].priority);
        self.groups[group].next = NIL;
    }

    /// Takes a group out of its round, if it is in one, and away.
    #[inline]
    pub(super) fn free(&mut self, group: u32) {
        if self.groups[group].in_round() {
            self.unlink(group, self.groups[group].priority);
        }
        self.groups.remove(group);
    }

    /// Ends the turn of a group, if it has it: it is the last of its round then.
    #[inline]
    pub(super) fn pass(&mut self, group: u32) {
        let Group { next, priority, .. } = self.groups[group];
        self.levels.replace(priority, group, next);
    }

    #[inline(always)]
    fn link(&mut self, group: u32, priority: u16) {
        let front = self.levels.front(priority);
        if front == NIL {
            return self.link_alone(group, priority);
        }
        let mut groups = self.groups.places();
        let tail = std::mem::replace(&mut groups[front].prev, group);
        groups[tail].next = group;
        let new = &mut groups[group];
        (new.prev, new.next) = (tail, front);
    }

    /// The rarer cases are apart, so that the usual one calls nothing and saves no registers.
    #[inline(never)]
    fn link_alone(&mut self, group: u32, priority: u16) {
        if !self.levels.fill(priority, group) {
            return self.link_on_new_page(group, priority);
        }
        let new = &mut self.groups[group];
        (new.prev, new.next) = (group, group);
    }

    #[cold]
    #[inline(never)]
    fn link_on_new_page(&mut self, group: u32, priority: u16) {
        self.levels.add_page(priority);
        self.link_alone(group, priority);
    }

    #[inline(always)]
    fn unlink(&mut self, group: u32, priority: u16) {
        let mut groups = self.groups.places();
        let Group { next, prev, .. } = groups[group];
        if next == group {
            return self.levels.clear(priority);
        }
        groups[prev].next = next;
        groups[next].prev = prev;
        self.levels.replace(priority, group, next);
    }
}
