//! The books of the send groups, by the schedule's key.
//!
//! Owned by `connection`. Late keys (their group was closed) find nothing: what is booked on them is nobody's.

use crate::schedule::GroupId;

use super::GroupStats;

#[derive(Debug, Default)]
pub(super) struct Groups {
    books: Vec<Option<(GroupId, GroupStats)>>,
}

impl Groups {
    pub(super) fn open(&mut self, group: GroupId) {
        let index = group.index();
        if self.books.len() <= index {
            self.books.resize(index + 1, None);
        }
        self.books[index] = Some((group, GroupStats::default()));
    }

    pub(super) fn close(&mut self, group: GroupId) {
        if self.get(group).is_some() {
            self.books[group.index()] = None;
        }
        while let Some(None) = self.books.last() {
            self.books.pop();
        }
        if self.books.capacity() > 64 && self.books.len() < self.books.capacity() / 8 {
            self.books.shrink_to(self.books.len() * 2);
        }
    }

    pub(super) fn get(&self, group: GroupId) -> Option<&GroupStats> {
        match self.books.get(group.index()) {
            Some(Some((owner, stats))) if *owner == group => Some(stats),
            _ => None,
        }
    }

    /// Books something on a group.
    pub(super) fn book(&mut self, group: GroupId, entry: impl FnOnce(&mut GroupStats)) {
        if let Some(Some((owner, stats))) = self.books.get_mut(group.index())
            && *owner == group
        {
            entry(stats);
        }
    }
}
