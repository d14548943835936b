//! One byte budget for every track that shares it.
//!
//! Owns the count of cached bytes and the order in which groups are given up: first the one that was superseded first,
//! whichever track it is of. Called by tracks and groups as they grow, and by whoever has a clock ([`Pool::expire`]).
//! May not know what a group holds, nor the time of day.
//!
//! A track's newest group is never in the list, so it is never given up. Each write evicts at most
//! [`EVICTIONS_PER_WRITE`] groups: the budget may be passed for a few writes by what one large frame brought.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use super::cache::Place;
use super::lock;
use super::runs::Runs;
use super::state::TrackShared;
use crate::Error;

/// Most groups one write gives up.
const EVICTIONS_PER_WRITE: usize = 8;

/// The byte budget of a process's cache. Cheap to clone; all clones are one budget.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<PoolShared>,
}

struct PoolShared {
    capacity: u64,
    used: AtomicU64,
    /// The latest time [`Pool::expire`] was told, in milliseconds.
    now: AtomicU64,
    list: Mutex<List>,
}

/// Groups that may be given up, by the order in which they were superseded.
struct List {
    next: u64,
    entries: Runs<Entry>,
}

struct Entry {
    track: Weak<TrackShared>,
    /// Where the track has the group.
    place: Place,
    since: u64,
}

/// A group's place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PoolKey(u64);

impl Pool {
    /// The default capacity: 256 MiB.
    pub const DEFAULT_CAPACITY: u64 = 256 << 20;

    /// A budget of `capacity` bytes.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self {
            shared: Arc::new(PoolShared {
                capacity,
                used: AtomicU64::new(0),
                now: AtomicU64::new(0),
                list: Mutex::new(List {
                    next: 0,
                    entries: Runs::new(),
                }),
            }),
        }
    }

    /// Bytes charged now: payloads plus a fixed overhead a frame and a group.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.shared.used.load(Ordering::Relaxed)
    }

    /// The budget in bytes.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.shared.capacity
    }

    /// Gives up groups that were superseded at least `idle` ago. `now` is any monotonic time; call about once a second.
    /// The newest group of each track stays. O(evicted).
    pub fn expire(&self, now: Duration, idle: Duration) {
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let now = millis(now);
        self.shared.now.fetch_max(now, Ordering::Relaxed);
        let idle = millis(idle);
        while let Some(entry) = self.pop(|entry| entry.since.saturating_add(idle) <= now) {
            entry.evict(Error::Old);
        }
    }

    pub(super) fn charge(&self, bytes: u64) {
        self.shared.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn release(&self, bytes: u64) {
        self.shared.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Lists a superseded group. O(log groups).
    pub(super) fn list(&self, track: &Weak<TrackShared>, place: Place) -> PoolKey {
        let since = self.shared.now.load(Ordering::Relaxed);
        let mut list = lock(&self.shared.list);
        let key = list.next;
        list.next += 1;
        list.entries.insert(
            key,
            Entry {
                track: track.clone(),
                place,
                since,
            },
        );
        PoolKey(key)
    }

    /// Takes a group off the list. O(log groups).
    pub(super) fn unlist(&self, key: PoolKey) {
        let entry = lock(&self.shared.list).entries.remove(key.0);
        drop(entry);
    }

    /// Brings the pool back towards its budget. Call after growing, holding no lock of the model. Costs one load when
    /// there is nothing to do.
    pub(super) fn settle(&self) {
        for _ in 0..EVICTIONS_PER_WRITE {
            if self.used() <= self.shared.capacity {
                return;
            }
            match self.pop(|_| true) {
                Some(entry) => entry.evict(Error::Evicted),
                None => return,
            }
        }
    }

    fn pop(&self, due: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let mut list = lock(&self.shared.list);
        let (key, _) = list.entries.first().filter(|(_, entry)| due(entry))?;
        list.entries.remove(key)
    }

    #[cfg(test)]
    pub(super) fn listed(&self) -> usize {
        lock(&self.shared.list).entries.len()
    }
}

impl Entry {
    fn evict(self, error: Error) {
        if let Some(track) = self.track.upgrade() {
            track.evict(self.place, &error);
        }
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::new(Self::DEFAULT_CAPACITY)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("used", &self.used())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}
