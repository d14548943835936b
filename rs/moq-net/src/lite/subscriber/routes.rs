//! Where what comes from the peer belongs.
//!
//! Owns the subscriptions by id and the broadcasts the peer has announced. Filled by `track` and `announced`, asked by
//! `group`. May not know streams.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

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
    /// Groups that have come or won't.
    settled: AtomicU64,
    pub(super) entry: Entry,
}

#[derive(Clone, Debug)]
enum State {
    /// TRACK_INFO hasn't come: nothing can be read yet.
    Waiting,
    Ready(Track),
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
            settled: AtomicU64::new(0),
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
            if let State::Ready(track) = incoming.state.send_replace(State::Over) {
                track.abort(error.clone());
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
    /// Says where the groups go.
    pub(super) fn ready(&self, track: Track) {
        self.state.send_replace(State::Ready(track));
    }

    /// Waits until it is known where groups go. `None`: nowhere, any more.
    pub(super) async fn track(&self) -> Option<Track> {
        let mut state = self.state.subscribe();
        match &*state
            .wait_for(|state| !matches!(state, State::Waiting))
            .await
            .ok()?
        {
            State::Ready(track) => Some(track.clone()),
            _ => None,
        }
    }

    /// Where groups go, if that is known.
    pub(super) fn current_track(&self) -> Option<Track> {
        match &*self.state.borrow() {
            State::Ready(track) => Some(track.clone()),
            _ => None,
        }
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
