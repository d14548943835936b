//! Handles on send groups.

use bytes::Bytes;

use crate::{Error, GroupStats};

use super::{RecvStream, SendStream};

/// A send group. Cheap to clone; it is closed when its last handle is dropped, and freed when its last stream has left.
#[derive(Clone, Debug)]
pub struct SendGroup {}

impl SendGroup {
    /// Opens a unidirectional stream in this group. Waits while the peer allows no more.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn open_uni(&self, order: u64) -> Result<SendStream, Error> {
        todo!("{order}")
    }

    /// Opens a bidirectional stream in this group. Waits while the peer allows no more.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn open_bi(&self, order: u64) -> Result<(SendStream, RecvStream), Error> {
        todo!("{order}")
    }

    /// Queues a datagram. Never waits.
    ///
    /// # Errors
    /// [`Error::DatagramTooLarge`], [`Error::DatagramsUnsupported`], [`Error::DatagramDropped`], or why the connection
    /// ended.
    pub fn send_datagram(&self, order: u64, data: Bytes) -> Result<(), Error> {
        todo!("{order} {data:?}")
    }

    /// Moves the group to the tail of another priority: higher first. Takes effect at the next packet.
    pub fn set_priority(&self, priority: u16) {
        todo!("{priority}")
    }

    /// The group in numbers.
    #[must_use]
    pub fn stats(&self) -> GroupStats {
        todo!()
    }
}
