//! A session: one connection to one peer, over which broadcasts are announced and tracks flow, both ways at once.
//!
//! Owns the handle, its configuration, and the two ways to begin: [`Session::connect`] and [`Session::accept`]. Called by
//! whoever has a connection. May not know any message: that is [`crate::lite`].

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::lite::message::{ProbeLevel, Role, Setup};
use crate::lite::peer::{Peer, Views};
use crate::lite::{self, Version};
use crate::stats::SessionStats;
use crate::{Error, Origin, Path, Result};

/// How long a peer may take to send its SETUP.
pub const SETUP_TIMEOUT: Duration = Duration::from_secs(10);

/// What a session works with. The default serves nothing and takes nothing.
#[derive(Clone, Debug, Default)]
pub struct SessionConfig {
    /// What the peer may read: an origin, or a view of one. `None`: nothing.
    pub publish: Option<Origin>,
    /// Where what the peer announces is published, and so where its tracks are read. `None`: nothing is taken from it.
    pub subscribe: Option<Origin>,
    /// Where the client wants to go, `path` or `path?query`, as the server sees it in [`SessionRequest::path`]. Only a
    /// client's counts; needs version 05 or later.
    pub path: Option<String>,
    /// What the link costs: added to the routes the peer announces. Default `None`, which counts as 1.
    pub cost: Option<u64>,
}

/// A running session. Cheap to clone; the connection is closed when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Session {
    owner: Arc<Owner>,
}

/// Closes the connection when no handle is left.
#[derive(Debug)]
struct Owner {
    peer: Arc<Peer>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.peer.conn.close(0, "");
    }
}

impl Session {
    /// Starts a session on a connection this side dialled. Resolves when the server has answered with its SETUP (before
    /// version 05: at once).
    ///
    /// # Errors
    /// [`Error::Version`] if the connection's ALPN is none of [`crate::alpns`]; [`Error::Timeout`] after
    /// [`SETUP_TIMEOUT`]; why the server closed, [`Error::Session`] with code 2 if it does not allow the path.
    pub async fn connect(conn: moq_quic::Connection, config: SessionConfig) -> Result<Self> {
        let session = Self::start(conn, true)?;
        let peer = session.peer();
        let role = match (&config.publish, &config.subscribe) {
            (Some(_), None) => Some(Role::Publisher),
            (None, Some(_)) => Some(Role::Subscriber),
            _ => None,
        };
        let path = config.path.clone().filter(|path| !path.is_empty());
        session.serve(
            config,
            Setup {
                path,
                role,
                ..Setup::default()
            },
        );
        tokio::select! {
            setup = timeout(SETUP_TIMEOUT, peer.setup()) => match setup {
                Ok(_) => Ok(session),
                Err(_) => {
                    peer.fail(&Error::Timeout);
                    Err(Error::Timeout)
                }
            },
            error = peer.closed() => Err(error),
        }
    }

    /// Waits for a client to say where it wants to go. Nothing is served until [`SessionRequest::serve`].
    ///
    /// # Errors
    /// [`Error::Version`] if the connection's ALPN is none of [`crate::alpns`]; [`Error::Timeout`] after
    /// [`SETUP_TIMEOUT`]; why the client closed.
    pub async fn accept(conn: moq_quic::Connection) -> Result<SessionRequest> {
        let session = Self::start(conn, false)?;
        let peer = session.peer();
        tokio::select! {
            setup = timeout(SETUP_TIMEOUT, peer.setup()) => match setup {
                Ok(setup) => Ok(SessionRequest { session, setup }),
                Err(_) => {
                    peer.fail(&Error::Timeout);
                    Err(Error::Timeout)
                }
            },
            error = peer.closed() => Err(error),
        }
    }

    fn start(conn: moq_quic::Connection, dialled: bool) -> Result<Self> {
        let Some(version) = conn.alpn().as_deref().and_then(Version::from_alpn) else {
            conn.close(Error::Version.session_code(), "no such version");
            return Err(Error::Version);
        };
        let peer = Peer::new(conn, version, dialled);
        tokio::spawn(peer.clone().run());
        lite::session::listen(&peer);
        Ok(Self {
            owner: Arc::new(Owner { peer }),
        })
    }

    fn serve(&self, config: SessionConfig, setup: Setup) {
        let SessionConfig {
            publish,
            subscribe,
            cost,
            ..
        } = config;
        let hop = publish
            .as_ref()
            .or(subscribe.as_ref())
            .and_then(Origin::hop);
        let setup = Setup {
            probe: ProbeLevel::None,
            cost: cost.filter(|_| self.peer().dialled),
            hop,
            ..setup
        };
        let (hop, cost) = (hop.unwrap_or(0), cost.unwrap_or(1));
        self.peer().serve(Views {
            publish,
            subscribe,
            hop,
            cost,
        });
        lite::session::begin(&self.owner.peer, setup);
    }

    /// Closes the session now: the peer gets the code and the reason, and what is unsent is dropped. Codes below 64
    /// belong to the protocol: 0 for no error, 2 for what is not authorised.
    pub fn close(&self, code: u64, reason: &str) {
        self.peer().conn.close(code, reason);
    }

    /// Resolves with why the session ended: [`Error::Session`] if the peer closed it, [`Error::LocallyClosed`],
    /// [`Error::Timeout`], or what became of the connection.
    pub async fn closed(&self) -> Error {
        self.peer().closed().await
    }

    /// Waits until the peer has asked to hear of broadcasts at `path`. One that takes none there never does: it is not
    /// interested, or does not allow it.
    ///
    /// # Errors
    /// [`Error::PathTooLong`].
    pub async fn asked_for(&self, path: impl AsRef<str>) -> Result<()> {
        let path = Path::new(path)?;
        self.peer().asked_for(&path).await;
        Ok(())
    }

    /// Tells the peer that this side will close soon and that it should connect to `uri` instead (empty: here again).
    /// What runs goes on; closing is up to the caller. Before version 04, and the second time, nothing is sent.
    ///
    /// # Errors
    /// [`Error::ProtocolViolation`] if the URI is longer than 8,192 bytes; why the session ended.
    pub async fn goaway(&self, uri: &str) -> Result<()> {
        lite::session::send_goaway(self.peer(), uri).await
    }

    /// Waits for the peer to say that it will close soon, and returns where to connect instead (empty: there again).
    /// The session goes on until either side closes it; nothing new is asked of the peer.
    pub async fn goaway_received(&self) -> String {
        self.peer().goaway().await
    }

    /// The protocol version in use.
    #[must_use]
    pub fn version(&self) -> Version {
        self.peer().version
    }

    /// The peer's hop id, if it has said so (version 06).
    #[must_use]
    pub fn peer_hop(&self) -> Option<u64> {
        self.peer().current_setup()?.hop.filter(|&hop| hop != 0)
    }

    /// Where the peer is.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.peer().conn.remote_address()
    }

    /// The session in numbers. O(subscriptions).
    #[must_use]
    pub fn stats(&self) -> SessionStats {
        let peer = self.peer();
        let (served, sent_total) = peer.served.snapshot();
        let (received, received_total) = peer.received.snapshot();
        let connection = peer.conn.stats();
        SessionStats {
            connection,
            served,
            received,
            sent_total,
            received_total,
        }
    }

    fn peer(&self) -> &Peer {
        &self.owner.peer
    }
}

/// A client that wants in. Nothing is served until [`Self::serve`]; dropped, the session is closed.
#[derive(Debug)]
pub struct SessionRequest {
    session: Session,
    setup: Arc<Setup>,
}

impl SessionRequest {
    /// Where the client wants to go: `path` or `path?query`, empty for the root (and always before version 05).
    #[must_use]
    pub fn path(&self) -> &str {
        self.setup.path.as_deref().unwrap_or("")
    }

    /// The protocol version in use.
    #[must_use]
    pub fn version(&self) -> Version {
        self.session.version()
    }

    /// Where the client is.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.session.remote_address()
    }

    /// Lets the client in, to read and to publish what `config` says.
    #[must_use]
    pub fn serve(self, config: SessionConfig) -> Session {
        self.session.serve(config, Setup::default());
        self.session
    }

    /// Closes the session with the error's code (2 for [`Error::Unauthorized`]) and a reason for a person to read.
    pub fn refuse(self, error: &Error, reason: &str) {
        self.session.close(error.session_code(), reason);
    }
}
