//! What a session has done so far, in numbers.
//!
//! Owns the counters and their snapshots. Filled by the wire's tasks, read by whoever watches a session. May not know
//! what the numbers are for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Path;

/// A session in numbers.
#[derive(Clone, Debug, Default)]
pub struct SessionStats {
    /// The connection below: round trip, window, loss.
    pub connection: moq_quic::Stats,
    /// Each subscription the peer has with us now.
    pub served: Vec<SubscriptionStats>,
    /// Each subscription we have with the peer now.
    pub received: Vec<SubscriptionStats>,
    /// Everything sent to the peer since the start, ended subscriptions included.
    pub sent_total: Totals,
    /// Everything received from the peer since the start.
    pub received_total: Totals,
}

/// One subscription in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionStats {
    /// Whose track.
    pub broadcast: Path,
    /// Which track.
    pub track: String,
    /// What has passed.
    pub totals: Totals,
}

/// What has passed in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Groups whose stream was opened.
    pub groups_started: u64,
    /// Groups that passed whole: acknowledged by the peer, or read to their end.
    pub groups_finished: u64,
    /// Groups given up: too old, aborted, or not wanted by the other side.
    pub groups_reset: u64,
    /// Frames.
    pub frames: u64,
    /// Payload bytes written or read.
    pub bytes: u64,
    /// Payload bytes of groups that the peer has acknowledged whole. Zero when receiving.
    pub bytes_acknowledged: u64,
    /// Datagrams.
    pub datagrams: u64,
}

/// Counters that several tasks add to.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) groups_started: AtomicU64,
    pub(crate) groups_finished: AtomicU64,
    pub(crate) groups_reset: AtomicU64,
    pub(crate) frames: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) bytes_acknowledged: AtomicU64,
    pub(crate) datagrams: AtomicU64,
}

impl Counters {
    pub(crate) fn totals(&self) -> Totals {
        Totals {
            groups_started: self.groups_started.load(Relaxed),
            groups_finished: self.groups_finished.load(Relaxed),
            groups_reset: self.groups_reset.load(Relaxed),
            frames: self.frames.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            bytes_acknowledged: self.bytes_acknowledged.load(Relaxed),
            datagrams: self.datagrams.load(Relaxed),
        }
    }
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.groups_started += other.groups_started;
        self.groups_finished += other.groups_finished;
        self.groups_reset += other.groups_reset;
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.bytes_acknowledged += other.bytes_acknowledged;
        self.datagrams += other.datagrams;
    }
}

/// The subscriptions of one direction: those that run, and the sum of those that have ended.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    running: BTreeMap<u64, Running>,
    ended: Totals,
}

#[derive(Debug)]
struct Running {
    broadcast: Path,
    track: String,
    counters: Arc<Counters>,
}

/// A running subscription in a ledger; dropped, it is added to those that have ended.
#[derive(Debug)]
pub(crate) struct Entry {
    ledger: Arc<Ledger>,
    key: u64,
    counters: Arc<Counters>,
}

impl Ledger {
    pub(crate) fn open(self: &Arc<Self>, broadcast: Path, track: String) -> Entry {
        let counters = Arc::<Counters>::default();
        let mut inner = self.lock();
        let key = inner.next;
        inner.next += 1;
        inner.running.insert(
            key,
            Running {
                broadcast,
                track,
                counters: counters.clone(),
            },
        );
        drop(inner);
        Entry {
            ledger: self.clone(),
            key,
            counters,
        }
    }

    /// The running subscriptions, oldest first, and the sum of all there ever were.
    pub(crate) fn snapshot(&self) -> (Vec<SubscriptionStats>, Totals) {
        let inner = self.lock();
        let mut total = inner.ended;
        let running = inner.running.values().map(|running| {
            let totals = running.counters.totals();
            total.add(&totals);
            SubscriptionStats {
                broadcast: running.broadcast.clone(),
                track: running.track.clone(),
                totals,
            }
        });
        (running.collect(), total)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut inner = self.ledger.lock();
        inner.running.remove(&self.key);
        inner.ended.add(&self.counters.totals());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_subscriptions_stay_in_the_total() {
        let ledger = Arc::<Ledger>::default();
        let a = ledger.open(Path::root(), "a".into());
        let b = ledger.open(Path::root(), "b".into());
        a.counters().frames.fetch_add(2, Relaxed);
        b.counters().frames.fetch_add(3, Relaxed);
        drop(a);
        let (running, total) = ledger.snapshot();
        assert_eq!(running.len(), 1);
        assert_eq!(running[0].totals.frames, 3);
        assert_eq!(total.frames, 5);
    }
}
