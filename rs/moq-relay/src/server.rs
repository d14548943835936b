//! Owns the relay: the origin its sessions share, its accept loop, and how it goes away. Called by
//! the command line and by tests; leaves each session to `session`.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use moq_net::{Error, Origin, OriginConfig, Pool, Session, SessionConfig, SessionStats};
use moq_quic::{Connection, Endpoint};
use tokio::sync::watch;
use tokio::time::{Instant, interval};

use crate::auth::Auth;
use crate::limits::Seats;
use crate::metrics::{Books, Metrics, Refusal};
use crate::session;

/// Groups that newer ones replaced this long ago go, even while memory is left.
const IDLE: Duration = Duration::from_secs(30);

/// How a relay is set up. The default makes nothing public.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who may do what.
    pub auth: Auth,
    /// Most sessions at a time, those still shaking hands included. Default 10,000.
    pub max_sessions: usize,
    /// Memory for cached groups, over all broadcasts. Default 512 MiB.
    pub pool: Pool,
    /// How long sessions have to leave when the relay drains. Default 10 s.
    pub drain_timeout: Duration,
    /// This relay's id in hop lists, 1 to 2^62−1, unique. Default: drawn at random.
    pub hop: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            auth: Auth::default(),
            max_sessions: 10_000,
            pool: Pool::new(512 << 20),
            drain_timeout: Duration::from_secs(10),
            hop: None,
        }
    }
}

/// A relay. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Relay {
    pub(crate) shared: Arc<Shared>,
}

/// What the accept loops and all sessions share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) auth: Auth,
    pub(crate) origin: Origin,
    pub(crate) books: Books,
    pub(crate) phase: watch::Sender<Phase>,
    seats: Seats,
    drain_timeout: Duration,
    started: Instant,
}

/// What a relay is doing. It only ever moves on.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Phase {
    /// Everybody is welcome.
    Open,
    /// Nobody new is, and those here are asked to leave.
    Draining,
    /// Those still here are thrown out.
    Closed,
}

/// How a drain went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Drained {
    /// Sessions when it began.
    pub sessions: usize,
    /// Of those, how many had to be closed because they did not leave in time.
    pub closed: usize,
}

impl Relay {
    /// A relay without a socket: see [`serve`](Self::serve).
    pub fn new(config: Config) -> Self {
        let hop = config.hop.unwrap_or_else(random_hop);
        let origin = Origin::with_config(OriginConfig {
            hop: Some(hop),
            pool: config.pool,
        });
        let shared = Shared {
            auth: config.auth,
            origin,
            books: Books::default(),
            phase: watch::Sender::new(Phase::Open),
            seats: Seats::new(config.max_sessions),
            drain_timeout: config.drain_timeout,
            started: Instant::now(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// What all sessions share: publish here to be read by them, read here what they publish.
    pub fn origin(&self) -> &Origin {
        &self.shared.origin
    }

    /// What the relay has counted. O(sessions).
    pub fn metrics(&self) -> Metrics {
        self.shared.books.read()
    }

    /// Every session being served, in numbers. O(sessions × subscriptions).
    pub fn sessions(&self) -> Vec<SessionStats> {
        self.shared.books.sessions()
    }

    /// Accepts sessions on `endpoint` until the relay has drained or the endpoint is closed. May run
    /// for several endpoints at once.
    pub async fn serve(&self, endpoint: &Endpoint) {
        let mut phase = self.shared.phase.subscribe();
        let mut second = interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                incoming = endpoint.accept() => {
                    let Some(incoming) = incoming else { return };
                    let open = *self.shared.phase.borrow() == Phase::Open;
                    match self.shared.seats.take().filter(|_| open) {
                        Some(seat) => {
                            let shared = self.shared.clone();
                            tokio::spawn(async move {
                                session::admit(&shared, incoming).await;
                                drop(seat);
                            });
                        }
                        None => {
                            self.shared.books.refused(Refusal::Full);
                            incoming.refuse();
                        }
                    }
                }
                _ = second.tick() => {
                    self.shared.origin.pool().expire(self.shared.started.elapsed(), IDLE);
                }
                _ = phase.wait_for(|phase| *phase == Phase::Closed) => return,
            }
        }
    }

    /// Runs a session with another relay over a connection dialled to it: what is live on either side
    /// becomes live on the other. Returns why it ended, or that the other relay is going away.
    pub async fn join(&self, connection: Connection) -> Error {
        let config = SessionConfig {
            publish: Some(self.shared.origin.clone()),
            subscribe: Some(self.shared.origin.clone()),
            ..SessionConfig::default()
        };
        let session = match Session::connect(connection, config).await {
            Ok(session) => session,
            Err(error) => return error,
        };
        tokio::select! {
            error = session::run(&self.shared, session.clone()) => error,
            // Where to is not ours to decide: the caller dials what it was told to dial.
            _ = session.goaway_received() => Error::GoingAway,
        }
    }

    /// Takes no more sessions, asks those there are to go elsewhere, and closes those still here after
    /// the drain timeout. Returns when nobody is left.
    pub async fn drain(&self) -> Drained {
        let sessions = self.shared.seats.taken();
        self.move_on(Phase::Draining);
        let left = tokio::time::timeout(self.shared.drain_timeout, self.shared.seats.empty()).await;
        let closed = if left.is_ok() {
            0
        } else {
            self.shared.seats.taken()
        };
        self.move_on(Phase::Closed);
        self.shared.seats.empty().await;
        Drained { sessions, closed }
    }

    /// Closes every session now.
    pub fn close(&self) {
        self.move_on(Phase::Closed);
    }

    fn move_on(&self, to: Phase) {
        self.shared
            .phase
            .send_modify(|phase| *phase = to.max(*phase));
    }
}

/// An id no other relay is likely to have: 1 to 2^62−1, what a QUIC varint carries and not "unknown".
fn random_hop() -> u64 {
    // The standard library's hasher is seeded by the system; that is all the randomness this needs.
    (RandomState::new().build_hasher().finish() >> 2).max(1)
}
