//! The books of the send groups, by the schedule's key.
//!
//! Owned by `connection`. A book is kept until the group is closed and its last stream has left; later keys find nothing.

use quinn_proto::StreamId;

use crate::{GroupConfig, schedule::GroupId};

use super::GroupStats;

#[derive(Debug, Default)]
pub(super) struct Groups {
    books: Vec<Option<Book>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Book {
    group: GroupId,
    pub(super) stats: GroupStats,
    /// Streams of equal order run to completion.
    pub(super) unfair: bool,
    closed: bool,
    /// Its streams.
    members: usize,
    /// The stream that was handed over last, and its place.
    pub(super) last: Option<(StreamId, usize)>,
}

impl Groups {
    pub(super) fn open(&mut self, group: GroupId, config: GroupConfig) {
        let index = group.index();
        if self.books.len() <= index {
            self.books.resize(index + 1, None);
        }
        self.books[index] = Some(Book {
            group,
            stats: GroupStats::default(),
            unfair: config.unfair,
            closed: false,
            members: 0,
            last: None,
        });
    }

    pub(super) fn close(&mut self, group: GroupId) {
        if let Some(book) = self.get_mut(group) {
            book.closed = true;
            self.forget_if_over(group);
        }
    }

    /// A stream has joined the group.
    pub(super) fn join(&mut self, group: GroupId) {
        if let Some(book) = self.get_mut(group) {
            book.members += 1;
        }
    }

    /// A stream has left the group.
    pub(super) fn leave(&mut self, group: GroupId) {
        if let Some(book) = self.get_mut(group) {
            book.members -= 1;
            self.forget_if_over(group);
        }
    }

    fn forget_if_over(&mut self, group: GroupId) {
        if self
            .get(group)
            .is_some_and(|book| book.closed && book.members == 0)
        {
            self.books[group.index()] = None;
            while let Some(None) = self.books.last() {
                self.books.pop();
            }
            if self.books.capacity() > 64 && self.books.len() < self.books.capacity() / 8 {
                self.books.shrink_to(self.books.len() * 2);
            }
        }
    }

    pub(super) fn get(&self, group: GroupId) -> Option<&Book> {
        let book = self.books.get(group.index())?.as_ref()?;
        (book.group == group).then_some(book)
    }

    pub(super) fn get_mut(&mut self, group: GroupId) -> Option<&mut Book> {
        let book = self.books.get_mut(group.index())?.as_mut()?;
        (book.group == group).then_some(book)
    }

    /// Books something on a group.
    pub(super) fn book(&mut self, group: GroupId, entry: impl FnOnce(&mut GroupStats)) {
        if let Some(book) = self.get_mut(group) {
            entry(&mut book.stats);
        }
    }
}
