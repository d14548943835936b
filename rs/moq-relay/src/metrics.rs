//! Owns what the relay counts about itself. Called by `server` and `session`; only ever adds.

use std::sync::atomic::{AtomicU64, Ordering};

/// What has happened since the relay started.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Metrics {
    /// Sessions that were served.
    pub served: u64,
    /// Connections refused because all seats were taken.
    pub full: u64,
    /// Sessions refused because nothing they could do is public.
    pub unauthorized: u64,
    /// Connections that broke off or stalled before there was a session.
    pub failed: u64,
}

/// The counters behind [`Metrics`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) served: AtomicU64,
    pub(crate) full: AtomicU64,
    pub(crate) unauthorized: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self) -> Metrics {
        // Each is exact; together they are of about the same moment, which is all a reader needs.
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Metrics {
            served: read(&self.served),
            full: read(&self.full),
            unauthorized: read(&self.unauthorized),
            failed: read(&self.failed),
        }
    }
}

/// Counts one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
