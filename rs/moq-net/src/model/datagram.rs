//! One-frame groups sent unreliably.

use bytes::Bytes;

use crate::Timestamp;

/// Largest datagram payload, in bytes.
pub const MAX_DATAGRAM_BYTES: usize = 1200;

/// A datagram of a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its place in the sequence space it shares with groups.
    pub sequence: u64,
    /// Presentation time, in the track's timescale.
    pub timestamp: Timestamp,
    /// The payload, at most [`MAX_DATAGRAM_BYTES`].
    pub payload: Bytes,
}
