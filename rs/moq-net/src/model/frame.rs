//! One frame: a presentation time and bytes nobody copies.

use bytes::Bytes;

use crate::Timestamp;

/// Largest frame, in bytes.
pub const MAX_FRAME_BYTES: usize = 32 << 20;

/// One frame of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Presentation time, in the track's timescale.
    pub timestamp: Timestamp,
    /// The payload, shared with the cache and every other reader.
    pub payload: Bytes,
}
