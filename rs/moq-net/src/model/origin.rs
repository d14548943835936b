//! The namespace of broadcasts.

use std::task::{Context, Poll};

use super::{Broadcast, BroadcastConsumer, Pool};
use crate::{Path, Result};

/// Most hops a route may have.
pub const MAX_HOPS: usize = 32;

/// How an origin is set up.
#[derive(Clone, Debug, Default)]
pub struct OriginConfig {
    /// This node's id in hop lists: 1 to 2^62−1, unique. `None`: it takes part in no loop detection.
    pub hop: Option<u64>,
    /// The byte budget of the broadcasts it creates.
    pub pool: Pool,
}

/// How a broadcast is reached. The default is a local one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Route {
    /// The nodes it passed, first the one that publishes it. 0 = unknown. Empty: local.
    pub hops: Vec<u64>,
    /// Cost while somebody subscribes already; the largest varint means the route is draining.
    pub warm: u64,
    /// Cost when it would have to be started.
    pub cold: u64,
}

/// A namespace of broadcasts, or a view of part of one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Origin {}

impl Origin {
    /// An empty namespace with default settings.
    #[must_use]
    pub fn new() -> Self {
        todo!()
    }

    /// An empty namespace.
    #[must_use]
    pub fn with_config(config: OriginConfig) -> Self {
        let _ = config;
        todo!()
    }

    /// This node's hop id.
    #[must_use]
    pub fn hop(&self) -> Option<u64> {
        todo!()
    }

    /// The byte budget.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        todo!()
    }

    /// Creates a broadcast and announces it until its last producer is dropped or closes it.
    ///
    /// # Errors
    /// [`crate::Error::Unauthorized`] outside this view's scope; [`crate::Error::PathTooLong`].
    pub fn create_broadcast(&self, path: impl AsRef<str>) -> Result<Broadcast> {
        let _ = path.as_ref();
        todo!()
    }

    /// Announces a broadcast reached by `route` until the returned guard is dropped. Of several routes to one path the
    /// best is announced; of equals, the newest.
    ///
    /// # Errors
    /// [`crate::Error::Unauthorized`] outside this view's scope; [`crate::Error::Unroutable`] if the hop list holds this
    /// node, repeats a known one or is longer than [`MAX_HOPS`]; [`crate::Error::PathTooLong`].
    pub fn publish(
        &self,
        path: impl AsRef<str>,
        broadcast: BroadcastConsumer,
        route: Route,
    ) -> Result<Publication> {
        let _ = (path.as_ref(), broadcast, route);
        todo!()
    }

    /// What is announced below `prefix`: first everything there is, then each change. Changes of one path that the
    /// reader hasn't seen yet are merged, so a slow reader holds at most one entry a path. Parts starting with `.`
    /// below the prefix are left out.
    #[must_use]
    pub fn announced(&self, prefix: impl AsRef<str>) -> Announced {
        let _ = prefix.as_ref();
        todo!()
    }

    /// The broadcast at `path`, by its best route.
    #[must_use]
    pub fn broadcast(&self, path: impl AsRef<str>) -> Option<BroadcastConsumer> {
        let _ = path.as_ref();
        todo!()
    }

    /// Waits for a broadcast at `path`.
    ///
    /// # Errors
    /// [`crate::Error::Unauthorized`] outside this view's scope; [`crate::Error::PathTooLong`].
    pub async fn wait_broadcast(&self, path: impl AsRef<str>) -> Result<BroadcastConsumer> {
        let _ = path.as_ref();
        todo!()
    }

    /// A view limited to paths below any of `prefixes` (relative to this view): for reading and for publishing.
    #[must_use]
    pub fn scope(&self, prefixes: &[Path]) -> Self {
        let _ = prefixes;
        todo!()
    }

    /// A view whose paths are relative to `prefix`.
    ///
    /// # Errors
    /// [`crate::Error::PathTooLong`].
    pub fn mount(&self, prefix: impl AsRef<str>) -> Result<Self> {
        let _ = prefix.as_ref();
        todo!()
    }

    /// A view that sees no route through the node `hop`: what may be offered to that node.
    #[must_use]
    pub fn without_hop(&self, hop: u64) -> Self {
        let _ = hop;
        todo!()
    }
}

impl Default for Origin {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps a route announced; drop it to retract.
#[derive(Debug)]
pub struct Publication {}

impl Publication {
    /// Replaces the route (hops, costs) in place: readers see one restart, not an end and a start.
    ///
    /// # Errors
    /// As [`Origin::publish`]; then the old route stays.
    pub fn update(&self, route: Route) -> Result<()> {
        let _ = route;
        todo!()
    }
}

/// One change of what an origin offers.
#[derive(Clone, Debug)]
pub enum Announce {
    /// A path became available.
    Active {
        /// Relative to the view.
        path: Path,
        /// The broadcast.
        consumer: BroadcastConsumer,
        /// How it is reached.
        route: Route,
    },
    /// An available path changed to another route or another publisher.
    Restart {
        /// Relative to the view.
        path: Path,
        /// The broadcast, perhaps another than before ([`BroadcastConsumer::is_same`]).
        consumer: BroadcastConsumer,
        /// How it is reached now.
        route: Route,
    },
    /// A path is no longer available.
    Ended {
        /// Relative to the view.
        path: Path,
    },
}

/// Reads what an origin offers and how it changes.
#[derive(Debug)]
pub struct Announced {}

impl Announced {
    /// Waits for the next change; `None` once the origin is gone.
    pub async fn next(&mut self) -> Option<Announce> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// See [`Self::next`].
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Announce>> {
        let _ = cx;
        todo!()
    }

    /// The next change that is already known.
    pub fn try_next(&mut self) -> Option<Announce> {
        todo!()
    }

    /// How many paths are available now (what ANNOUNCE_OK counts).
    #[must_use]
    pub fn active(&self) -> usize {
        todo!()
    }
}
