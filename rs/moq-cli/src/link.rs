//! Owns the way to the other end: a session dialled and kept, or peers waited for. Called by
//! `publish`, `subscribe` and `announced`, which only see an origin; knows no media.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::time::Duration;

use moq_net::{Origin, OriginConfig, Pool, Session, SessionConfig, SessionStats};
use moq_quic::Endpoint;
use moq_relay::{Auth, Relay};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::args::{DialArgs, LinkArgs, alpn};
use crate::backoff::{Backoff, BackoffConfig};
use crate::dial::Dialler;
use crate::error::Error;
use crate::listen::listen;
use crate::say::say;
use crate::units;

/// How long the other end has to ask for what we publish. It does so at once, if it ever does.
const ASKED: Duration = Duration::from_secs(5);

/// How long the other end has to hear that we leave.
const FAREWELL: Duration = Duration::from_secs(1);

/// Which way media goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Direction {
    /// From our origin to the other end.
    Publish,
    /// From the other end into our origin.
    Subscribe,
}

/// The other end, and the origin that is shared with it.
#[derive(Debug)]
pub(crate) struct Link {
    origin: Origin,
    end: End,
}

#[derive(Debug)]
enum End {
    Dialled {
        dialler: Box<Dialler>,
        direction: Direction,
        live: watch::Sender<Option<Live>>,
    },
    Awaited {
        relay: Relay,
        endpoint: Endpoint,
        address: SocketAddr,
    },
}

/// A session and the endpoint it lives on.
#[derive(Clone, Debug)]
struct Live {
    session: Session,
    endpoint: Endpoint,
}

impl Link {
    /// A link as the command line says. Binds, but dials nobody yet.
    pub(crate) fn new(args: &LinkArgs, direction: Direction, pool: Pool) -> Result<Self, Error> {
        match args.listen {
            Some(address) => Self::awaiting(args, address, direction, pool),
            // The command line requires one of the two.
            None => {
                let url = args.connect.as_deref().unwrap_or_default();
                Self::dialling(url, &args.dial, direction, pool)
            }
        }
    }

    /// A link that dials `url`.
    pub(crate) fn dialling(
        url: &str,
        args: &DialArgs,
        direction: Direction,
        pool: Pool,
    ) -> Result<Self, Error> {
        let origin = new_origin(pool);
        let dialler = Box::new(Dialler::new(url, args)?);
        let live = watch::Sender::new(None);
        Ok(Self {
            origin,
            end: End::Dialled {
                dialler,
                direction,
                live,
            },
        })
    }

    fn awaiting(
        args: &LinkArgs,
        address: SocketAddr,
        direction: Direction,
        pool: Pool,
    ) -> Result<Self, Error> {
        let identity = args.identity.load()?;
        let (endpoint, address) = listen(address, &identity, alpn(&args.dial.protocol))?;
        let fingerprint = hex::encode(identity.fingerprint());
        say(format!(
            "listening on {address} (UDP), certificate SHA-256 {fingerprint}"
        ));
        let everything = Auth::everything();
        let auth = match direction {
            Direction::Publish => Auth {
                publish: Vec::new(),
                ..everything
            },
            Direction::Subscribe => Auth {
                read: Vec::new(),
                ..everything
            },
        };
        let relay = Relay::new(moq_relay::Config {
            auth,
            pool,
            ..moq_relay::Config::default()
        });
        let origin = relay.origin().clone();
        Ok(Self {
            origin,
            end: End::Awaited {
                relay,
                endpoint,
                address,
            },
        })
    }

    /// What is shared with the other end.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Keeps the link up for ever: a session that is lost is dialled again, with growing waits, and the
    /// person is told. Returns only when trying again would not help: the first attempt failed, or a
    /// later one was refused.
    pub(crate) async fn keep(&self) -> Error {
        match &self.end {
            End::Dialled {
                dialler,
                direction,
                live,
            } => self.redial(dialler, *direction, live).await,
            End::Awaited {
                relay,
                endpoint,
                address,
            } => {
                relay.serve(endpoint).await;
                Error::Ended { address: *address }
            }
        }
    }

    /// Waits until the other end is there, if it is one to be dialled.
    pub(crate) async fn up(&self) {
        if let End::Dialled { live, .. } = &self.end {
            // The sender lives as long as we do, so this can't fail.
            let _ = live.subscribe().wait_for(Option::is_some).await;
        }
    }

    /// Waits until the other end, if it is one that was dialled, wants to hear of `path`; after a while, says that it
    /// does not.
    pub(crate) async fn wanted(&self, path: &str) -> Result<(), Error> {
        let End::Dialled { live, dialler, .. } = &self.end else {
            return Ok(());
        };
        let asked = async {
            let mut sessions = live.subscribe();
            loop {
                let Some(session) = sessions
                    .borrow_and_update()
                    .as_ref()
                    .map(|live| live.session.clone())
                else {
                    if sessions.changed().await.is_err() {
                        return;
                    }
                    continue;
                };
                tokio::select! {
                    _ = session.asked_for(path) => return,
                    _ = sessions.changed() => {}
                }
            }
        };
        let unwanted = |_| Error::Unwanted {
            address: dialler.address().to_string(),
            name: path.into(),
        };
        timeout(ASKED, asked).await.map_err(unwanted)
    }

    /// Every session there is now, in numbers.
    pub(crate) fn stats(&self) -> Vec<SessionStats> {
        match &self.end {
            End::Dialled { live, .. } => live
                .borrow()
                .iter()
                .map(|live| live.session.stats())
                .collect(),
            End::Awaited { relay, .. } => relay.sessions(),
        }
    }

    /// Says goodbye, and waits a moment for the other end to hear it.
    pub(crate) async fn close(&self) {
        let endpoint = match &self.end {
            End::Dialled { live, .. } => live.send_replace(None).map(|live| {
                live.session.close(0, "done");
                live.endpoint
            }),
            End::Awaited {
                relay, endpoint, ..
            } => {
                relay.close();
                Some(endpoint.clone())
            }
        };
        if let Some(endpoint) = endpoint {
            // Whoever doesn't hear it will notice by itself.
            let _ = timeout(FAREWELL, endpoint.wait_idle()).await;
        }
    }

    async fn redial(
        &self,
        dialler: &Dialler,
        direction: Direction,
        live: &watch::Sender<Option<Live>>,
    ) -> Error {
        let mut backoff = Backoff::new(BackoffConfig::default());
        let mut before = false;
        loop {
            let (lived, error) = match self.dial(dialler, direction).await {
                Ok(up) => {
                    let since = Instant::now();
                    let again = if before { "again " } else { "" };
                    let version = up.session.version();
                    say(format!(
                        "connected {again}to {} ({version})",
                        dialler.address()
                    ));
                    before = true;
                    live.send_replace(Some(up.clone()));
                    let error = ended(dialler, &up.session).await;
                    live.send_replace(None);
                    (since.elapsed(), error)
                }
                Err(error) if before => (Duration::ZERO, error),
                Err(error) => return error,
            };
            if !error.may_pass() {
                return error;
            }
            let wait = backoff.ended(lived, random());
            say(format!(
                "{error}; trying again in {}",
                units::duration(wait)
            ));
            sleep(wait).await;
        }
    }

    async fn dial(&self, dialler: &Dialler, direction: Direction) -> Result<Live, Error> {
        let dialled = dialler.dial().await?;
        let shared = |wanted| (direction == wanted).then(|| self.origin.clone());
        let config = SessionConfig {
            publish: shared(Direction::Publish),
            subscribe: shared(Direction::Subscribe),
            path: dialler.address().path(),
            ..SessionConfig::default()
        };
        let session = Session::connect(dialled.connection, config).await;
        let session = session.map_err(|error| failure(dialler, error))?;
        Ok(Live {
            session,
            endpoint: dialled.endpoint,
        })
    }
}

/// Waits for a session to end, or for the other end to say that it will.
async fn ended(dialler: &Dialler, session: &Session) -> Error {
    tokio::select! {
        error = session.closed() => failure(dialler, error),
        _ = session.goaway_received() => {
            session.close(0, "going where told");
            Error::GoingAway { address: dialler.address().to_string() }
        }
    }
}

fn failure(dialler: &Dialler, error: moq_net::Error) -> Error {
    let address = dialler.address().to_string();
    match error {
        // Code 2: not authorised.
        moq_net::Error::Session { code: 2, reason } => Error::Unauthorized { address, reason },
        other => Error::Lost {
            address,
            cause: other.to_string(),
        },
    }
}

/// An origin with an id of its own, so that what we publish is known again if it comes back to us.
pub(crate) fn new_origin(pool: Pool) -> Origin {
    // 1 to 2^62−1: what a QUIC varint carries, and not "unknown".
    let hop = Some((random() >> 2).max(1));
    Origin::with_config(OriginConfig { hop, pool })
}

pub(crate) fn random() -> u64 {
    // The standard library's hasher is seeded by the system; that is all the randomness this needs.
    RandomState::new().build_hasher().finish()
}
