//! One peer: its connection, what it may read, where what it announces goes, and the tasks that run for it.
//!
//! Owns what all of a session's tasks share. Made by `crate::session`, used by every task. May not know any message
//! but SETUP.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::message::Setup;
use super::subscriber::Routes;
use super::transport::{Connection, SendGroup};
use super::version::Version;
use crate::stats::Ledger;
use crate::{BroadcastConsumer, Error, Origin, Path, Result};

/// What the tasks of one session share.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) conn: Connection,
    pub(crate) control: SendGroup,
    pub(crate) version: Version,
    pub(crate) dialled: bool,
    pub(crate) served: Arc<Ledger>,
    pub(crate) received: Arc<Ledger>,
    /// Where what comes for our subscriptions goes.
    pub(crate) routes: Routes,
    /// The peer's hop id; 0: not known.
    hop: AtomicU64,
    said_goaway: AtomicBool,
    views: OnceLock<Views>,
    ready: watch::Sender<bool>,
    setup: watch::Sender<Option<Arc<Setup>>>,
    goaway: watch::Sender<Option<String>>,
    error: watch::Sender<Option<Error>>,
    /// Prefixes the peer wants to hear announcements of.
    asked: watch::Sender<Vec<Path>>,
    tasks: Mutex<Option<JoinSet<()>>>,
}

/// What a session was given to work with.
#[derive(Debug)]
pub(crate) struct Views {
    /// What the peer may read.
    pub(crate) publish: Option<Origin>,
    /// Where what the peer announces goes.
    pub(crate) subscribe: Option<Origin>,
    /// Our hop id; 0: none.
    pub(crate) hop: u64,
    /// What the link costs.
    pub(crate) cost: u64,
}

impl Peer {
    pub(crate) fn new(conn: Connection, version: Version, dialled: bool) -> Arc<Self> {
        Arc::new(Self {
            control: conn.control(),
            conn,
            version,
            dialled,
            served: Arc::default(),
            received: Arc::default(),
            routes: Routes::default(),
            hop: AtomicU64::new(0),
            said_goaway: AtomicBool::new(false),
            views: OnceLock::new(),
            ready: watch::Sender::new(false),
            setup: watch::Sender::new(None),
            goaway: watch::Sender::new(None),
            error: watch::Sender::new(None),
            asked: watch::Sender::new(Vec::new()),
            tasks: Mutex::new(Some(JoinSet::new())),
        })
    }

    /// Lets the tasks that wait for it begin to serve.
    pub(crate) fn serve(&self, views: Views) {
        if self.views.set(views).is_ok() {
            self.ready.send_replace(true);
        }
    }

    /// Notes what the peer wants to hear announcements of. The first hundred prefixes count.
    pub(crate) fn set_asked(&self, prefix: &Path) {
        self.asked.send_if_modified(|asked| {
            let news = asked.len() < 100 && !asked.contains(prefix);
            if news {
                asked.push(prefix.clone());
            }
            news
        });
    }

    /// Waits until the peer has asked for announcements that would tell of `path`.
    pub(crate) async fn asked_for(&self, path: &Path) {
        let covers = |asked: &Vec<Path>| asked.iter().any(|prefix| path.has_prefix(prefix));
        // The sender is ours: it cannot be gone.
        let _ = self.asked.subscribe().wait_for(covers).await;
    }

    /// Waits until it is known what the peer may do.
    pub(crate) async fn views(&self) -> &Views {
        // The sender is ours: it cannot be gone.
        let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
        self.views.get_or_init(|| Views {
            publish: None,
            subscribe: None,
            hop: 0,
            cost: 0,
        })
    }

    /// Notes the peer's SETUP. False if there was one already.
    pub(crate) fn set_setup(&self, setup: Setup) -> bool {
        self.set_hop(setup.hop.unwrap_or(0));
        let mut setup = Some(Arc::new(setup));
        self.setup.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = setup.take();
            }
            first
        })
    }

    /// Waits for the peer's SETUP; before 05 there is none, and an empty one stands for it.
    pub(crate) async fn setup(&self) -> Arc<Setup> {
        if self.version.has_setup() {
            let mut setup = self.setup.subscribe();
            if let Ok(setup) = setup.wait_for(Option::is_some).await {
                return setup.clone().unwrap_or_default();
            }
        }
        Arc::default()
    }

    /// The peer's SETUP, if it has come.
    pub(crate) fn current_setup(&self) -> Option<Arc<Setup>> {
        self.setup.borrow().clone()
    }

    /// Notes the peer's GOAWAY. False if there was one already.
    pub(crate) fn set_goaway(&self, uri: String) -> bool {
        self.goaway.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(uri);
            }
            first
        })
    }

    /// Waits for the peer's GOAWAY, and returns its URI.
    pub(crate) async fn goaway(&self) -> String {
        let mut goaway = self.goaway.subscribe();
        let uri = goaway
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|uri| uri.clone());
        match uri {
            Some(uri) => uri,
            None => std::future::pending().await,
        }
    }

    /// Whether the peer said that it is going away: nothing more is asked of it.
    pub(crate) fn is_going_away(&self) -> bool {
        self.goaway.borrow().is_some()
    }

    /// Notes the peer's hop id; 0 says nothing.
    pub(crate) fn set_hop(&self, hop: u64) {
        if hop != 0 {
            self.hop.store(hop, Relaxed);
        }
    }

    /// What the peer may read, without what it is a hop of.
    pub(crate) async fn readable(&self) -> Option<Origin> {
        let publish = self.views().await.publish.clone()?;
        match self.hop.load(Relaxed) {
            0 => Some(publish),
            hop => Some(publish.without_hop(hop)),
        }
    }

    /// The broadcast the peer asks for.
    ///
    /// # Errors
    /// [`Error::Unroutable`] if there is none it may read.
    pub(crate) async fn broadcast(&self, path: &Path) -> Result<BroadcastConsumer> {
        let broadcast = self
            .readable()
            .await
            .and_then(|origin| origin.broadcast(path));
        broadcast
            .filter(|broadcast| !self.is_reflection(broadcast))
            .ok_or(Error::Unroutable)
    }

    /// Whether the broadcast is one the peer announced. One that has a hop id is told from its routes; of the others,
    /// what they announce is remembered.
    pub(crate) fn is_reflection(&self, broadcast: &BroadcastConsumer) -> bool {
        self.hop.load(Relaxed) == 0 && self.routes.announces(broadcast)
    }

    /// True the first time: GOAWAY is said once.
    pub(crate) fn first_goaway(&self) -> bool {
        !self.said_goaway.swap(true, Relaxed)
    }

    /// Closes the session because of what the peer did.
    pub(crate) fn fail(&self, error: &Error) {
        tracing::debug!(%error, peer = %self.conn.remote_address(), "closing the session");
        self.conn.close(error.session_code(), &error.to_string());
    }

    /// Runs a task until it is done or the session ends.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = &mut *self.tasks() {
            while tasks.try_join_next().is_some() {}
            tasks.spawn(task);
        }
    }

    /// Waits for the connection to end, then ends what runs for it.
    pub(crate) async fn run(self: Arc<Self>) {
        let error = Error::from(self.conn.closed().await);
        self.error.send_replace(Some(error.clone()));
        self.routes.close(&error);
        self.tasks().take();
    }

    /// Waits for the session to end.
    pub(crate) async fn closed(&self) -> Error {
        let mut error = self.error.subscribe();
        match error.wait_for(Option::is_some).await {
            Ok(error) => error.clone().unwrap_or(Error::LocallyClosed),
            Err(_) => Error::LocallyClosed,
        }
    }

    /// Why the session ended, if it has.
    pub(crate) fn check(&self) -> Result<()> {
        match &*self.error.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn tasks(&self) -> MutexGuard<'_, Option<JoinSet<()>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
