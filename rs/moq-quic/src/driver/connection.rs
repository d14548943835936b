//! One connection's handle and its task.

use std::net::SocketAddr;

use bytes::Bytes;

use crate::{Error, GroupConfig, Stats};

use super::{RecvStream, SendGroup, SendStream};

/// A connection. Cheap to clone; it is closed with code 0 when its last handle (streams and groups count) is dropped.
#[derive(Clone, Debug)]
pub struct Connection {}

impl Connection {
    /// Opens a unidirectional stream in the default group. Waits while the peer allows no more.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn open_uni(&self) -> Result<SendStream, Error> {
        todo!()
    }

    /// Opens a bidirectional stream in the default group. Waits while the peer allows no more.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), Error> {
        todo!()
    }

    /// The next unidirectional stream the peer opened.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn accept_uni(&self) -> Result<RecvStream, Error> {
        todo!()
    }

    /// The next bidirectional stream the peer opened; our half is in the default group.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), Error> {
        todo!()
    }

    /// The group above all others, for what must never wait behind media.
    #[must_use]
    pub fn control(&self) -> SendGroup {
        todo!()
    }

    /// Opens a send group.
    #[must_use]
    pub fn open_group(&self, config: GroupConfig) -> SendGroup {
        todo!("{config:?}")
    }

    /// Queues a datagram in the default group. Never waits.
    ///
    /// # Errors
    /// [`Error::DatagramTooLarge`], [`Error::DatagramsUnsupported`], [`Error::DatagramDropped`], or why the connection
    /// ended.
    pub fn send_datagram(&self, data: Bytes) -> Result<(), Error> {
        todo!("{data:?}")
    }

    /// The next datagram from the peer.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn read_datagram(&self) -> Result<Bytes, Error> {
        todo!()
    }

    /// The longest datagram the path takes now, in bytes. `None` if the peer takes none.
    #[must_use]
    pub fn max_datagram_size(&self) -> Option<usize> {
        todo!()
    }

    /// The connection in numbers.
    #[must_use]
    pub fn stats(&self) -> Stats {
        todo!()
    }

    /// Closes it now, whatever is unsent. The peer gets the code and the reason.
    pub fn close(&self, code: u64, reason: &str) {
        todo!("{code} {reason}")
    }

    /// Resolves when it has ended, with why.
    pub async fn closed(&self) -> Error {
        todo!()
    }

    /// The application protocol both sides agreed on.
    #[must_use]
    pub fn alpn(&self) -> Option<Vec<u8>> {
        todo!()
    }

    /// Where the peer is.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        todo!()
    }
}
