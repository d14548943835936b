//! The namespace of broadcasts.
//!
//! Owns which routes lead to which path and which is best. Called by sessions and by in-process publishers and
//! subscribers, each through a view. May not know how a route's broadcast gets its tracks.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, Weak};
use std::task::Poll;

use slab::Slab;

use super::announced::Reader;
use super::route::Route;
use super::wait::{WaitKey, WaitList, wake};
use super::{Announce, Announced, Broadcast, BroadcastConsumer, Pool, lock};
use crate::{Error, Path, Result};

/// How an origin is set up.
#[derive(Clone, Debug, Default)]
pub struct OriginConfig {
    /// This node's id in hop lists: 1 to 2^62−1, unique. `None`: it takes part in no loop detection.
    pub hop: Option<u64>,
    /// The byte budget of the broadcasts it creates.
    pub pool: Pool,
}

/// A namespace as all its views share it.
#[derive(Debug)]
pub(super) struct OriginShared {
    config: OriginConfig,
    pub(super) state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    paths: BTreeMap<Path, Vec<Offer>>,
    pub(super) readers: Slab<Reader>,
    /// Who waits for another broadcast under a path, and how many they are.
    rivals: BTreeMap<Path, (usize, Arc<WaitList>)>,
    /// Given to each route as it comes or changes: the larger, the newer.
    version: u64,
    /// Given to each publication.
    id: u64,
}

/// One route to a path.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    id: u64,
    pub(super) version: u64,
    pub(super) consumer: BroadcastConsumer,
    pub(super) route: Route,
}

impl State {
    /// The best route to `path` that doesn't lead through `exclude`. O(routes to the path).
    pub(super) fn best(&self, path: &Path, exclude: Option<u64>) -> Option<&Offer> {
        let routes = self.paths.get(path)?.iter();
        routes
            .filter(|offer| !exclude.is_some_and(|hop| offer.route.passes(hop)))
            .max_by_key(|offer| (offer.route.rank(), offer.version))
    }

    /// All paths below `prefix`, in order.
    pub(super) fn below<'a>(&'a self, prefix: &'a Path) -> impl Iterator<Item = &'a Path> {
        self.paths
            .range(prefix.clone()..)
            .map(|(path, _)| path)
            .take_while(|path| path.as_str().starts_with(prefix.as_str()))
            .filter(|path| path.has_prefix(prefix))
    }

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }
}

impl OriginShared {
    /// Changes the routes to `path` and tells those it concerns. O(readers).
    fn change<T>(&self, path: &Path, change: impl FnOnce(&mut State) -> T) -> T {
        let (result, waiting, rivals) = {
            let mut state = lock(&self.state);
            let result = change(&mut state);
            let readers = state.readers.iter_mut();
            let waiting: Vec<_> = readers
                .filter_map(|(_, reader)| reader.note(path))
                .collect();
            (
                result,
                waiting,
                state.rivals.get(path).map(|(_, list)| list.clone()),
            )
        };
        waiting.into_iter().for_each(wake);
        if let Some(rivals) = rivals {
            rivals.wake();
        }
        result
    }
}

impl Drop for OriginShared {
    fn drop(&mut self) {
        if let Ok(state) = self.state.get_mut() {
            for (_, reader) in &mut state.readers {
                wake(reader.waiters.take());
            }
        }
    }
}

/// Where a consumer was found: at which path, in which view of which origin.
#[derive(Clone, Debug)]
pub(super) struct Found {
    origin: Weak<OriginShared>,
    /// Absolute.
    path: Path,
    exclude: Option<u64>,
}

impl Found {
    pub(super) fn new(origin: &Arc<OriginShared>, path: &Path, exclude: Option<u64>) -> Self {
        Self {
            origin: Arc::downgrade(origin),
            path: path.clone(),
            exclude,
        }
    }

    /// Waits until the path leads to another broadcast than `consumer`.
    pub(super) async fn wait_other(&self, consumer: &BroadcastConsumer) {
        let Some(mut rival) = Rival::new(self) else {
            return std::future::pending().await;
        };
        poll_fn(|cx| {
            let Some(origin) = self.origin.upgrade() else {
                return Poll::Pending;
            };
            let state = lock(&origin.state);
            match state.best(&self.path, self.exclude) {
                Some(best) if !best.consumer.is_same(consumer) => Poll::Ready(()),
                _ => {
                    rival.list.register(&mut rival.key, cx);
                    Poll::Pending
                }
            }
        })
        .await;
    }
}

/// A waiter on `State::rivals`; leaves when dropped.
struct Rival<'a> {
    found: &'a Found,
    list: Arc<WaitList>,
    key: WaitKey,
}

impl<'a> Rival<'a> {
    /// `None` if the origin is gone.
    fn new(found: &'a Found) -> Option<Self> {
        let origin = found.origin.upgrade()?;
        let mut state = lock(&origin.state);
        let (users, list) = state.rivals.entry(found.path.clone()).or_default();
        *users += 1;
        Some(Self {
            found,
            list: list.clone(),
            key: WaitKey::default(),
        })
    }
}

impl Drop for Rival<'_> {
    fn drop(&mut self) {
        self.list.remove(&mut self.key);
        let Some(origin) = self.found.origin.upgrade() else {
            return;
        };
        let mut state = lock(&origin.state);
        if let Some((users, _)) = state.rivals.get_mut(&self.found.path) {
            *users -= 1;
            if *users == 0 {
                state.rivals.remove(&self.found.path);
            }
        }
    }
}

/// A namespace of broadcasts, or a view of part of one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Origin {
    shared: Arc<OriginShared>,
    view: View,
}

/// What part of a namespace is seen.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// Paths are relative to this.
    pub(super) root: Path,
    /// Absolute prefixes; `None`: everything below the root.
    scope: Option<Arc<[Path]>>,
    /// Routes through this node aren't seen.
    pub(super) exclude: Option<u64>,
}

impl View {
    /// Whether the absolute `path` is in the view.
    pub(super) fn covers(&self, path: &Path) -> bool {
        path.has_prefix(&self.root)
            && self
                .scope
                .as_ref()
                .is_none_or(|scope| scope.iter().any(|prefix| path.has_prefix(prefix)))
    }

    fn absolute(&self, path: impl AsRef<str>) -> Result<Path> {
        let path = self.root.join(&Path::new(path)?)?;
        if self.covers(&path) {
            Ok(path)
        } else {
            Err(Error::Unauthorized)
        }
    }
}

impl Origin {
    /// An empty namespace with default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::with_config(OriginConfig::default())
    }

    /// An empty namespace.
    #[must_use]
    pub fn with_config(config: OriginConfig) -> Self {
        let shared = OriginShared {
            config,
            state: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            view: View::default(),
        }
    }

    /// This node's hop id.
    #[must_use]
    pub fn hop(&self) -> Option<u64> {
        self.shared.config.hop
    }

    /// The byte budget.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.shared.config.pool
    }

    /// Creates a broadcast and announces it until its last producer is dropped or closes it.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] outside this view's scope; [`Error::PathTooLong`].
    pub fn create_broadcast(&self, path: impl AsRef<str>) -> Result<Broadcast> {
        let broadcast = Broadcast::new(self.pool().clone());
        broadcast.announce(self.publish(path, broadcast.consume(), Route::default())?);
        Ok(broadcast)
    }

    /// Announces a broadcast reached by `route` until the returned guard is dropped. Of several routes to one path the
    /// best is announced: hops that all say who they are, then the lowest cost, then the fewest hops; of equals, the
    /// newest. O(log paths + readers).
    ///
    /// # Errors
    /// [`Error::Unauthorized`] outside this view's scope; [`Error::Unroutable`] if the hop list holds this node, repeats
    /// a known one or is longer than [`super::MAX_HOPS`]; [`Error::PathTooLong`].
    pub fn publish(
        &self,
        path: impl AsRef<str>,
        broadcast: BroadcastConsumer,
        route: Route,
    ) -> Result<Publication> {
        let path = self.view.absolute(path)?;
        route.check(self.hop())?;
        let id = self.shared.change(&path, |state| {
            state.id += 1;
            let (id, version) = (state.id, state.next_version());
            let offer = Offer {
                id,
                version,
                consumer: broadcast,
                route,
            };
            state.paths.entry(path.clone()).or_default().push(offer);
            id
        });
        Ok(Publication {
            origin: self.shared.clone(),
            path,
            id,
        })
    }

    /// What is announced below `prefix`: first everything there is, then each change. Changes of one path that the
    /// reader hasn't seen yet are merged, so a slow reader holds at most one entry a path. Paths with a part that
    /// starts with `.` below the prefix are left out.
    #[must_use]
    pub fn announced(&self, prefix: impl AsRef<str>) -> Announced {
        self.read(prefix.as_ref(), false)
    }

    /// As [`Self::announced`], hidden paths included.
    #[must_use]
    pub fn announced_with_hidden(&self, prefix: impl AsRef<str>) -> Announced {
        self.read(prefix.as_ref(), true)
    }

    fn read(&self, prefix: &str, hidden: bool) -> Announced {
        // Nothing can be published below a prefix that is too long, so such a reader waits for ever.
        let prefix = Path::new(prefix)
            .and_then(|prefix| self.view.root.join(&prefix))
            .ok();
        let mut state = lock(&self.shared.state);
        let mut reader = Reader::new(self.view.clone(), prefix.clone(), hidden);
        for path in prefix.iter().flat_map(|prefix| state.below(prefix)) {
            reader.note(path);
        }
        let id = state.readers.insert(reader);
        Announced::new(Arc::downgrade(&self.shared), id)
    }

    /// The broadcast at `path`, by its best route.
    #[must_use]
    pub fn broadcast(&self, path: impl AsRef<str>) -> Option<BroadcastConsumer> {
        let path = self.view.absolute(path).ok()?;
        let state = lock(&self.shared.state);
        let offer = state.best(&path, self.view.exclude)?;
        Some(
            offer
                .consumer
                .found(Found::new(&self.shared, &path, self.view.exclude)),
        )
    }

    /// Waits for a broadcast at `path`.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] outside this view's scope; [`Error::PathTooLong`].
    pub async fn wait_broadcast(&self, path: impl AsRef<str>) -> Result<BroadcastConsumer> {
        let path = path.as_ref();
        let wanted = self.view.absolute(path)?;
        let mut announced = self.announced_with_hidden(path);
        loop {
            match announced.next().await {
                Some(
                    Announce::Active { path, consumer, .. }
                    | Announce::Restart { path, consumer, .. },
                ) if self.view.root.join(&path)? == wanted => {
                    return Ok(consumer);
                }
                Some(_) => {}
                None => return Err(Error::Closed),
            }
        }
    }

    /// A view limited to paths below any of `prefixes` (relative to this view), for reading and for publishing. A
    /// prefix outside this view adds nothing; no prefix leaves nothing.
    #[must_use]
    pub fn scope(&self, prefixes: &[Path]) -> Self {
        let mut scope = Vec::new();
        for prefix in prefixes
            .iter()
            .filter_map(|prefix| self.view.root.join(prefix).ok())
        {
            match &self.view.scope {
                None => scope.push(prefix),
                Some(_) if self.view.covers(&prefix) => scope.push(prefix),
                // The prefix is wider than what is seen: only the part within stays.
                Some(outer) => {
                    scope.extend(
                        outer
                            .iter()
                            .filter(|outer| outer.has_prefix(&prefix))
                            .cloned(),
                    );
                }
            }
        }
        Self {
            shared: self.shared.clone(),
            view: View {
                scope: Some(scope.into()),
                ..self.view.clone()
            },
        }
    }

    /// What the view reaches: prefixes of its paths, none below another's. The root alone where nothing is left out.
    #[must_use]
    pub fn prefixes(&self) -> Vec<Path> {
        let Some(scope) = &self.view.scope else {
            return vec![Path::root()];
        };
        let root = &self.view.root;
        if scope.iter().any(|prefix| root.has_prefix(prefix)) {
            return vec![Path::root()];
        }
        let below = |prefix: &Path| {
            let wider = |other: &&Path| *other != prefix && prefix.has_prefix(other);
            !scope.iter().any(|other| wider(&other))
        };
        let mut prefixes: Vec<Path> = scope
            .iter()
            .filter(|prefix| below(prefix))
            .filter_map(|prefix| prefix.strip_prefix(root))
            .collect();
        prefixes.sort();
        prefixes.dedup();
        prefixes
    }

    /// A view whose paths are relative to `prefix`.
    ///
    /// # Errors
    /// [`Error::PathTooLong`].
    pub fn mount(&self, prefix: impl AsRef<str>) -> Result<Self> {
        let root = self.view.root.join(&Path::new(prefix)?)?;
        Ok(Self {
            shared: self.shared.clone(),
            view: View {
                root,
                ..self.view.clone()
            },
        })
    }

    /// A view that sees no route through the node `hop`: what may be offered to that node.
    #[must_use]
    pub fn without_hop(&self, hop: u64) -> Self {
        Self {
            shared: self.shared.clone(),
            view: View {
                exclude: Some(hop),
                ..self.view.clone()
            },
        }
    }
}

impl Default for Origin {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps a route announced; drop it to retract.
#[derive(Debug)]
pub struct Publication {
    origin: Arc<OriginShared>,
    path: Path,
    id: u64,
}

impl Publication {
    /// Replaces the route (hops, costs) in place: readers see one restart, not an end and a start. It counts as new.
    ///
    /// # Errors
    /// [`Error::Unroutable`] as [`Origin::publish`]; then the old route stays.
    pub fn update(&self, route: Route) -> Result<()> {
        route.check(self.origin.config.hop)?;
        self.origin.change(&self.path, |state| {
            let version = state.next_version();
            let routes = state.paths.get_mut(&self.path).into_iter().flatten();
            if let Some(offer) = routes.into_iter().find(|offer| offer.id == self.id) {
                offer.route = route;
                offer.version = version;
            }
        });
        Ok(())
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        let gone = self.origin.change(&self.path, |state| {
            let routes = state.paths.get_mut(&self.path)?;
            let index = routes.iter().position(|offer| offer.id == self.id)?;
            let gone = routes.remove(index);
            if routes.is_empty() {
                state.paths.remove(&self.path);
            }
            Some(gone)
        });
        drop(gone);
    }
}

/// Where announcements are read from; gone once nobody can publish any more.
pub(super) type WeakOrigin = Weak<OriginShared>;

#[cfg(test)]
impl Origin {
    /// That nothing was left behind.
    pub(super) fn assert_empty(&self) {
        let state = lock(&self.shared.state);
        assert!(state.paths.is_empty() && state.readers.is_empty() && state.rivals.is_empty());
    }
}
