//! One byte budget for every track that shares it.

use std::time::Duration;

/// The byte budget of a process's cache. Cheap to clone; all clones are one budget.
#[derive(Clone, Debug)]
pub struct Pool {}

impl Pool {
    /// The default capacity: 256 MiB.
    pub const DEFAULT_CAPACITY: u64 = 256 << 20;

    /// A budget of `capacity` bytes.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        let _ = capacity;
        todo!()
    }

    /// Bytes charged now: payloads plus a fixed overhead per frame and group.
    #[must_use]
    pub fn used(&self) -> u64 {
        todo!()
    }

    /// The budget in bytes.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        todo!()
    }

    /// Evicts groups that were replaced by newer ones more than `idle` ago. `now` is any monotonic time; call about
    /// once a second. The newest group of each track stays. O(evicted).
    pub fn expire(&self, now: Duration, idle: Duration) {
        let _ = (now, idle);
        todo!()
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::new(Self::DEFAULT_CAPACITY)
    }
}
