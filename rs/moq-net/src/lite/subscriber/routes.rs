//! Where what comes from the peer belongs.
//!
//! Owns the subscriptions by id and the broadcasts the peer has announced. Filled by `track` and `announced`, asked by
//! `group`. May not know streams.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::stats::Entry;
use crate::{Broadcast, BroadcastConsumer, Error, Path, Publication, Track};

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    next_id: u64,
    incoming: BTreeMap<u64, Arc<Incoming>>,
    remotes: BTreeMap<Path, Remote>,
}

/// One subscription, as its group streams see it.
#[derive(Debug)]
pub(super) struct Incoming {
    state: watch::Sender<State>,
    /// What the peer did that ends the track.
    violation: OnceLock<Error>,
    /// Groups that have come or won't.
    settled: AtomicU64,
    /// When the subscription was made.
    pub(super) began: Instant,
    pub(super) entry: Entry,
}

#[derive(Clone, Debug)]
enum State {
    /// TRACK_INFO hasn't come: nothing can be read yet.
    Waiting,
    /// The first group hasn't been named: only datagrams can be read. Groups come in any order, newest first under load,
    /// so the first to come says nothing about where to begin.
    Known(Track),
    /// Groups can be read.
    Started(Track),
    /// Nothing is wanted any more.
    Over,
}

/// A broadcast the peer has announced.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) broadcast: Broadcast,
    pub(super) consumer: BroadcastConsumer,
    pub(super) publication: Publication,
    /// Dropped with this, it tells the broadcast's task that the announcement has ended.
    pub(super) _live: watch::Sender<()>,
}

impl Routes {
    /// Takes the next subscription id.
    pub(super) fn open(&self, entry: Entry) -> (u64, Arc<Incoming>) {
        let incoming = Arc::new(Incoming {
            state: watch::Sender::new(State::Waiting),
            violation: OnceLock::new(),
            settled: AtomicU64::new(0),
            began: Instant::now(),
            entry,
        });
        let mut tables = self.tables();
        let id = tables.next_id;
        tables.next_id += 1;
        tables.incoming.insert(id, incoming.clone());
        (id, incoming)
    }

    /// Forgets a subscription: what still comes for it is stopped.
    pub(super) fn close_subscription(&self, id: u64) {
        if let Some(incoming) = self.tables().incoming.remove(&id) {
            incoming.state.send_replace(State::Over);
        }
    }

    pub(super) fn incoming(&self, id: u64) -> Option<Arc<Incoming>> {
        self.tables().incoming.get(&id).cloned()
    }

    pub(super) fn insert(&self, path: Path, remote: Remote) {
        self.tables().remotes.insert(path, remote);
    }

    pub(super) fn remove(&self, path: &Path) -> Option<Remote> {
        self.tables().remotes.remove(path)
    }

    /// Gives a broadcast another route. False if it isn't there or the route is refused.
    pub(super) fn update(&self, path: &Path, route: crate::Route) -> bool {
        let tables = self.tables();
        let remote = tables.remotes.get(path);
        remote.is_some_and(|remote| remote.publication.update(route).is_ok())
    }

    /// Whether the peer announces this very broadcast. O(broadcasts it announces).
    pub(crate) fn announces(&self, broadcast: &BroadcastConsumer) -> bool {
        self.tables()
            .remotes
            .values()
            .any(|remote| remote.consumer.is_same(broadcast))
    }

    /// Ends everything with the error the session ended with.
    pub(crate) fn close(&self, error: &Error) {
        let mut tables = self.tables();
        let remotes = std::mem::take(&mut tables.remotes);
        let incoming = std::mem::take(&mut tables.incoming);
        drop(tables);
        for incoming in incoming.into_values() {
            match incoming.state.send_replace(State::Over) {
                State::Known(track) | State::Started(track) => track.abort(error.clone()),
                State::Waiting | State::Over => {}
            }
        }
        for remote in remotes.into_values() {
            remote.broadcast.close(error.clone());
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Incoming {
    /// Says where datagrams go, and groups once they start.
    pub(super) fn known(&self, track: Track) {
        self.state.send_replace(State::Known(track));
    }

    /// Lets groups be read.
    pub(super) fn started(&self) {
        self.state.send_if_modified(|state| match state {
            State::Known(track) => {
                *state = State::Started(track.clone());
                true
            }
            _ => false,
        });
    }

    /// Waits until groups can be read, and says where they go. `None`: nowhere, any more.
    pub(super) async fn groups(&self) -> Option<Track> {
        let mut state = self.state.subscribe();
        let settled = |state: &State| matches!(state, State::Started(_) | State::Over);
        match &*state.wait_for(settled).await.ok()? {
            State::Started(track) => Some(track.clone()),
            _ => None,
        }
    }

    /// Where datagrams go, if that is known.
    pub(super) fn datagrams(&self) -> Option<Track> {
        match &*self.state.borrow() {
            State::Known(track) | State::Started(track) => Some(track.clone()),
            State::Waiting | State::Over => None,
        }
    }

    /// Ends the track for what the peer did.
    pub(super) fn violate(&self, track: &Track, error: &Error) {
        let _ = self.violation.set(error.clone());
        track.abort(error.clone());
    }

    /// What the peer did to end the track, if it did.
    pub(super) fn violation(&self) -> Option<Error> {
        self.violation.get().cloned()
    }

    /// Waits until nothing is wanted any more.
    pub(super) async fn over(&self) {
        let _ = self
            .state
            .subscribe()
            .wait_for(|state| matches!(state, State::Over))
            .await;
    }

    /// Counts groups that have come whole or in part, or that the peer said won't come.
    pub(super) fn settle(&self, groups: u64) {
        self.settled.fetch_add(groups, Relaxed);
    }

    pub(super) fn settled(&self) -> u64 {
        self.settled.load(Relaxed)
    }
}
