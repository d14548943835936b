//! Owns what the relay counts about itself. Called by `server` and `session`, which report events
//! and sessions; decides nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use moq_net::{Session, SessionStats};

/// What has happened since the relay started, and what is going on.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Metrics {
    /// Sessions being served now.
    pub sessions: u64,
    /// Sessions that were let in.
    pub admitted: u64,
    /// Connections refused because all seats were taken, or because the relay was draining.
    pub full: u64,
    /// Sessions refused because nothing they could do is public.
    pub unauthorized: u64,
    /// Connections that broke off or stalled before there was a session.
    pub failed: u64,
    /// UDP packets sent over all sessions.
    pub sent_packets: u64,
    /// UDP payload bytes sent over all sessions.
    pub sent_bytes: u64,
    /// UDP payload bytes received over all sessions.
    pub received_bytes: u64,
    /// Packets deemed lost on the way out.
    pub lost_packets: u64,
    /// Stream bytes sent again.
    pub retransmitted_bytes: u64,
}

impl Metrics {
    fn add(&mut self, session: &Session) {
        let connection = session.stats().connection;
        self.sent_packets += connection.sent_packets;
        self.sent_bytes += connection.sent_bytes;
        self.received_bytes += connection.received_bytes;
        self.lost_packets += connection.lost_packets;
        self.retransmitted_bytes += connection.retransmitted;
    }
}

/// What did not become a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    Full,
    Unauthorized,
    Failed,
}

/// The books behind [`Metrics`]. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Of events, and of sessions that have ended.
    past: Metrics,
    live: BTreeMap<u64, Session>,
}

/// A session in the books; dropped, its numbers are kept and the session is not.
#[derive(Debug)]
pub(crate) struct Entry {
    books: Books,
    key: u64,
}

impl Books {
    /// Counts one that was not let in.
    pub(crate) fn refused(&self, refusal: Refusal) {
        let past = &mut self.lock().past;
        *match refusal {
            Refusal::Full => &mut past.full,
            Refusal::Unauthorized => &mut past.unauthorized,
            Refusal::Failed => &mut past.failed,
        } += 1;
    }

    /// Counts one that was let in. O(log sessions).
    pub(crate) fn admitted(&self, session: Session) -> Entry {
        let mut inner = self.lock();
        let key = inner.past.admitted;
        inner.past.admitted += 1;
        inner.live.insert(key, session);
        Entry {
            books: self.clone(),
            key,
        }
    }

    /// Everything so far. O(sessions).
    pub(crate) fn read(&self) -> Metrics {
        let inner = self.lock();
        let mut metrics = Metrics {
            sessions: inner.live.len() as u64,
            ..inner.past
        };
        inner.live.values().for_each(|session| metrics.add(session));
        metrics
    }

    /// Every live session, oldest first.
    pub(crate) fn sessions(&self) -> Vec<SessionStats> {
        self.lock().live.values().map(Session::stats).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Numbers stay usable whatever happened to whoever was counting.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut inner = self.books.lock();
        if let Some(session) = inner.live.remove(&self.key) {
            inner.past.add(&session);
        }
    }
}
