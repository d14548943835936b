//! How old a group is, by media time.
//!
//! Owns the one rule: newest timestamp of the track − where the group's successor starts, against an age. Called by
//! cursors (what to skip), by retention (what to let go of) and by readers in the middle of a group. May not know the
//! time of day.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use super::cache::{Cache, Node, Place};
use super::state::TrackShared;
use super::wait::WaitList;

/// How far from a group a timestamp is looked for while its neighbours have no frame.
const NEIGHBOURS: usize = 4;

/// How a group stands to an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lateness {
    /// Newer media has passed it by the age, or it is gone.
    Late,
    /// Late once a frame with this timestamp or a later one exists.
    At(u64),
    /// Not known before its successor has a frame.
    Unknown,
}

impl Cache {
    /// Whether newer media has passed the group by `age`. O(1).
    pub(super) fn is_late(&self, node: &Node, age: u64) -> bool {
        self.lateness(node, age) == Lateness::Late
    }

    fn lateness(&self, node: &Node, age: u64) -> Lateness {
        let Some(reach) = self.reach(node) else {
            return Lateness::Unknown;
        };
        let at = reach.saturating_add(age);
        match self.newest_time() {
            Some(newest) if newest >= at => Lateness::Late,
            _ => Lateness::At(at),
        }
    }

    /// As [`Self::lateness`], of the group at `place`.
    fn lateness_of(&self, place: Place, age: u64) -> Lateness {
        self.find(place)
            .map_or(Lateness::Late, |node| self.lateness(node, age))
    }

    /// Where the group's successor starts: how far the group reaches.
    fn reach(&self, node: &Node) -> Option<u64> {
        let mut next = self.successor(node)?;
        for _ in 1..NEIGHBOURS {
            if next.start.is_some() {
                break;
            }
            next = self.successor(next)?;
        }
        next.start
    }

    /// The newest timestamp of the newest group that has a frame.
    fn newest_time(&self) -> Option<u64> {
        let mut node = self.newest()?;
        for _ in 1..NEIGHBOURS {
            if let Some(time) = node.group.newest() {
                return Some(time);
            }
            node = self.predecessor(node)?;
        }
        node.group.newest()
    }
}

/// Readers in the middle of a group who want to know when it becomes late.
#[derive(Debug)]
pub(super) struct LateWatch {
    waiters: WaitList,
    /// The earliest timestamp at which somebody may be late; read at every frame.
    at: AtomicU64,
}

impl LateWatch {
    pub(super) const fn new() -> Self {
        Self {
            waiters: WaitList::new(),
            at: AtomicU64::new(u64::MAX),
        }
    }

    /// A frame with this timestamp was written.
    pub(super) fn advanced(&self, time: u64) {
        if time >= self.at.load(Ordering::SeqCst) {
            self.at.store(u64::MAX, Ordering::SeqCst);
            self.waiters.wake();
        }
    }

    /// A group got its first frame, or went: what was unknown may be known.
    pub(super) fn changed(&self) {
        self.waiters.wake();
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }
}

impl TrackShared {
    /// Whether the group at `place` is late, or gone.
    pub(super) fn is_late(&self, place: Place, age: u64) -> bool {
        self.lock().cache.lateness_of(place, age) == Lateness::Late
    }

    /// Waits until the group at `place` is late, or gone.
    pub(super) async fn wait_late(&self, place: Place, age: u64) {
        let watch = &self.late;
        let mut waiter = watch.waiters.waiter();
        poll_fn(|cx| {
            let state = self.lock();
            match state.cache.lateness_of(place, age) {
                Lateness::Late => return Poll::Ready(()),
                Lateness::At(time) => {
                    waiter.register(cx);
                    watch.at.fetch_min(time, Ordering::SeqCst);
                }
                Lateness::Unknown => waiter.register(cx),
            }
            // A writer stores its timestamp and then reads `at`, without this lock: look once more.
            match state.cache.lateness_of(place, age) {
                Lateness::Late => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    }
}
