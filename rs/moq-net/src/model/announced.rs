//! What an origin offers, as a stream of changes.
//!
//! Owns what each reader has been told and which paths may have changed since. Called by the origin on every change,
//! and by readers. May not know routes beyond which one is best.
//!
//! Nothing is queued but paths, each once: the change is worked out when it is read. So however often a path flaps, a
//! slow reader holds one entry for it and sees where it ended up.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::origin::{Found, OriginShared, State, View, WeakOrigin};
use super::route::Route;
use super::wait::{WaitKey, Waiters};
use super::{BroadcastConsumer, lock};
use crate::Path;

/// One change of what an origin offers. Paths are relative to the view.
#[derive(Clone, Debug)]
pub enum Announce {
    /// A path became available.
    Active {
        /// Where.
        path: Path,
        /// The broadcast.
        consumer: BroadcastConsumer,
        /// How it is reached.
        route: Route,
    },
    /// An available path changed to another route or another publisher.
    Restart {
        /// Where.
        path: Path,
        /// The broadcast, perhaps another than before ([`BroadcastConsumer::is_same`]).
        consumer: BroadcastConsumer,
        /// How it is reached now.
        route: Route,
    },
    /// A path is no longer available.
    Ended {
        /// Where.
        path: Path,
    },
}

/// The origin's side of an [`Announced`].
#[derive(Debug)]
pub(super) struct Reader {
    view: View,
    /// Absolute; `None` matches nothing.
    prefix: Option<Path>,
    hidden: bool,
    /// The version last told of each path that is active for the reader.
    told: BTreeMap<Path, u64>,
    /// Paths to look at, each once.
    pending: VecDeque<Path>,
    queued: BTreeSet<Path>,
    pub(super) waiters: Waiters,
}

impl Reader {
    pub(super) fn new(view: View, prefix: Option<Path>, hidden: bool) -> Self {
        Self {
            view,
            prefix,
            hidden,
            told: BTreeMap::new(),
            pending: VecDeque::new(),
            queued: BTreeSet::new(),
            waiters: Waiters::default(),
        }
    }

    /// Takes note that `path` may have changed; returns whom to wake.
    pub(super) fn note(&mut self, path: &Path) -> Option<Vec<Option<Waker>>> {
        let concerns = self.prefix.as_ref().is_some_and(|prefix| {
            path.has_prefix(prefix)
                && self.view.covers(path)
                && (self.hidden || !path.is_hidden_below(prefix))
        });
        if !concerns || !self.queued.insert(path.clone()) {
            return None;
        }
        self.pending.push_back(path.clone());
        Some(self.waiters.take())
    }
}

/// Reads what an origin offers and how it changes.
#[derive(Debug)]
pub struct Announced {
    origin: WeakOrigin,
    id: usize,
    key: WaitKey,
}

impl Announced {
    pub(super) fn new(origin: WeakOrigin, id: usize) -> Self {
        Self {
            origin,
            id,
            key: WaitKey::default(),
        }
    }

    /// Waits for the next change; `None` once nobody can publish any more.
    pub async fn next(&mut self) -> Option<Announce> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// See [`Self::next`]. O(log paths).
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Announce>> {
        let Some(origin) = self.origin.upgrade() else {
            return Poll::Ready(None);
        };
        let mut state = lock(&origin.state);
        match take(&origin, &mut state, self.id) {
            Some(change) => Poll::Ready(Some(change)),
            None => {
                state.readers[self.id]
                    .waiters
                    .register(&mut self.key, cx.waker());
                drop(state);
                Poll::Pending
            }
        }
    }

    /// The next change that is already known.
    pub fn try_next(&mut self) -> Option<Announce> {
        let origin = self.origin.upgrade()?;
        let mut state = lock(&origin.state);
        take(&origin, &mut state, self.id)
    }

    /// How many paths are available now. O(paths below the prefix).
    #[must_use]
    pub fn active(&self) -> usize {
        let Some(origin) = self.origin.upgrade() else {
            return 0;
        };
        let state = lock(&origin.state);
        let reader = &state.readers[self.id];
        let Some(prefix) = &reader.prefix else {
            return 0;
        };
        let visible = |path: &&Path| {
            reader.view.covers(path)
                && (reader.hidden || !path.is_hidden_below(prefix))
                && state.best(path, reader.view.exclude).is_some()
        };
        state.below(prefix).filter(visible).count()
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        if let Some(origin) = self.origin.upgrade() {
            let reader = {
                let mut state = lock(&origin.state);
                state.readers.try_remove(self.id)
            };
            drop(reader);
        }
    }
}

/// Works out the next change for the reader `id`.
fn take(origin: &Arc<OriginShared>, state: &mut State, id: usize) -> Option<Announce> {
    loop {
        let reader = &mut state.readers[id];
        let absolute = reader.pending.pop_front()?;
        reader.queued.remove(&absolute);
        let (root, exclude) = (reader.view.root.clone(), reader.view.exclude);
        let told = reader.told.get(&absolute).copied();
        let best = state.best(&absolute, exclude).cloned();
        let told_now = &mut state.readers[id].told;
        match &best {
            Some(offer) => told_now.insert(absolute.clone(), offer.version),
            None => told_now.remove(&absolute),
        };
        let found = Found::new(origin, &absolute, exclude);
        let path = absolute.strip_prefix(&root).unwrap_or(absolute);
        match (told, best) {
            (None, Some(offer)) => {
                return Some(Announce::Active {
                    path,
                    consumer: offer.consumer.found(found),
                    route: offer.route,
                });
            }
            (Some(version), Some(offer)) if version != offer.version => {
                return Some(Announce::Restart {
                    path,
                    consumer: offer.consumer.found(found),
                    route: offer.route,
                });
            }
            (Some(_), None) => return Some(Announce::Ended { path }),
            _ => {}
        }
    }
}
