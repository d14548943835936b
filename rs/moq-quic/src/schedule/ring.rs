//! The round robin of every priority: a circular doubly linked list a level, threaded through the slab of groups.
//!
//! Joining, leaving from anywhere and passing the turn are O(1) and allocate nothing (but for a page of levels, once).
//! Called by the operations in `mod`. May not know streams.

use super::{
    group::Group,
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

    /// The front of the highest priority.
    pub(super) fn front(&self) -> Option<u32> {
        self.levels.highest()
    }

    /// Whether it is this group's turn at its priority.
    pub(super) fn is_front(&self, group: u32) -> bool {
        self.levels.front(self.groups[group].priority) == group
    }

    /// Puts a group that is in no round behind all others of its priority.
    pub(super) fn join(&mut self, group: u32) {
        let priority = self.groups[group].priority;
        let front = self.levels.front(priority);
        if front == NIL {
            self.levels.set_front(priority, group);
            self.link(group, group);
            return;
        }
        let tail = self.groups[front].prev;
        self.link(tail, group);
        self.link(group, front);
    }

    /// Takes a group out of its round, wherever it is; its successor takes the turn if it had it.
    pub(super) fn leave(&mut self, group: u32) {
        let Group {
            next,
            prev,
            priority,
            ..
        } = self.groups[group];
        if next == group {
            self.levels.clear(priority);
        } else {
            self.link(prev, next);
            if self.levels.front(priority) == group {
                self.levels.set_front(priority, next);
            }
        }
        self.groups[group].next = NIL;
        self.groups[group].prev = NIL;
    }

    /// Ends the turn of the group at the front of its priority: it is the last now.
    pub(super) fn pass(&mut self, group: u32) {
        let Group { next, priority, .. } = self.groups[group];
        self.levels.set_front(priority, next);
    }

    fn link(&mut self, before: u32, after: u32) {
        self.groups[before].next = after;
        self.groups[after].prev = before;
    }
}
