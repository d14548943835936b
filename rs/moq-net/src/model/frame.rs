//! One frame: a presentation time and bytes nobody copies.
//!
//! Owns the frame as readers get it and as groups keep it. May not know the group around it.

use bytes::Bytes;

use crate::Timestamp;

/// Largest frame, in bytes.
pub const MAX_FRAME_BYTES: usize = 32 << 20;

/// What a frame is charged beside its payload: its place in the group and the payload's own bookkeeping, rounded up.
pub(super) const FRAME_OVERHEAD: u64 = 96;

/// One frame of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Presentation time, in the track's timescale.
    pub timestamp: Timestamp,
    /// The payload, shared with the cache and every other reader.
    pub payload: Bytes,
}

/// A frame in the cache: its track knows the scale.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) time: u64,
    pub(super) payload: Bytes,
}

/// The frames of a group. Many groups are one frame, which needs no allocation of its own.
#[derive(Debug, Default)]
pub(super) struct Frames {
    first: Option<Stored>,
    rest: Vec<Stored>,
}

impl Frames {
    pub(super) fn len(&self) -> usize {
        self.rest.len() + usize::from(self.first.is_some())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn push(&mut self, frame: Stored) {
        match self.first {
            None => self.first = Some(frame),
            Some(_) => self.rest.push(frame),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&Stored> {
        match index.checked_sub(1) {
            None => self.first.as_ref(),
            Some(index) => self.rest.get(index),
        }
    }
}
