//! The socket's owner.

use std::{net::SocketAddr, sync::Arc};

use crate::{ClientConfig, Error, ServerConfig};

use super::{Connection, Socket};

/// A socket and the connections on it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Endpoint {}

impl Endpoint {
    /// Binds a UDP socket that accepts connections, and can connect too.
    ///
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Bind`] naming the address.
    pub fn server(addr: SocketAddr, config: ServerConfig) -> Result<Self, Error> {
        todo!("{addr} {config:?}")
    }

    /// Binds a UDP socket to connect from: port 0 and an unspecified address will do.
    ///
    /// # Errors
    /// [`Error::Bind`] naming the address.
    pub fn client(addr: SocketAddr) -> Result<Self, Error> {
        todo!("{addr}")
    }

    /// An endpoint on any socket, that accepts connections if it has a server configuration.
    ///
    /// # Errors
    /// [`Error::Identity`] if the configuration cannot be used.
    pub fn with_socket(
        socket: Arc<dyn Socket>,
        server: Option<ServerConfig>,
    ) -> Result<Self, Error> {
        todo!("{socket:?} {server:?}")
    }

    /// Connects. Resolves when the handshake is complete and the server is known to be who it should.
    ///
    /// # Errors
    /// Why not: a certificate, no common protocol, refused, timed out.
    pub async fn connect(
        &self,
        addr: SocketAddr,
        server_name: &str,
        config: ClientConfig,
    ) -> Result<Connection, Error> {
        todo!("{addr} {server_name} {config:?}")
    }

    /// The next connection somebody wants. `None` once the endpoint is closed.
    pub async fn accept(&self) -> Option<Incoming> {
        todo!()
    }

    /// The address it is bound to.
    ///
    /// # Errors
    /// [`Error::Socket`] if the system does not say.
    pub fn local_addr(&self) -> Result<SocketAddr, Error> {
        todo!()
    }

    /// Closes every connection and takes no more.
    pub fn close(&self, code: u64, reason: &str) {
        todo!("{code} {reason}")
    }

    /// Resolves when no connection is left, so that every peer was told (or is beyond telling).
    pub async fn wait_idle(&self) {
        todo!()
    }
}

/// A connection somebody wants. Dropped, it is refused.
#[derive(Debug)]
pub struct Incoming {}

impl Incoming {
    /// Where it comes from.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        todo!()
    }

    /// Takes it. Resolves when the handshake is complete.
    ///
    /// # Errors
    /// Why the handshake failed.
    pub async fn accept(self) -> Result<Connection, Error> {
        todo!()
    }

    /// Tells the peer no.
    pub fn refuse(self) {
        todo!()
    }
}
