//! A group: frames in order, independently decodable.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;

use super::Frame;
use crate::{Error, Result, Timestamp};

/// Most frames in a group.
pub const MAX_GROUP_FRAMES: usize = 8192;
/// Most payload bytes in a group.
pub const MAX_GROUP_BYTES: usize = 32 << 20;

/// Writes a group. Dropping it unfinished aborts the group with [`Error::Dropped`].
#[derive(Debug)]
pub struct Group {}

impl Group {
    /// The group's sequence in its track.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        todo!()
    }

    /// Frames written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        todo!()
    }

    /// True before the first frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        todo!()
    }

    /// Appends a frame; readers see it at once. `timestamp` is converted to the track's timescale (to the nearest
    /// unit if the scales differ). The payload is kept, not copied.
    ///
    /// # Errors
    /// [`Error::FrameTooLarge`], [`Error::GroupTooLarge`] (which aborts the group), [`Error::Closed`] after `finish`,
    /// or what the group was aborted or evicted with.
    pub fn write_frame(&self, timestamp: Timestamp, payload: impl Into<Bytes>) -> Result<()> {
        let _ = (timestamp, payload.into());
        todo!()
    }

    /// Says that the first frame to be written has index `frame`, not 0 (a tail of a group).
    ///
    /// # Errors
    /// [`Error::ProtocolViolation`] after the first frame.
    pub fn start_at(&self, frame: u64) -> Result<()> {
        let _ = frame;
        todo!()
    }

    /// Declares the group complete.
    ///
    /// # Errors
    /// What the group was aborted or evicted with.
    pub fn finish(self) -> Result<()> {
        todo!()
    }

    /// Ends the group early; readers get the frames already written, then `error`.
    pub fn abort(self, error: Error) {
        let _ = error;
        todo!()
    }

    /// Waits until the group is gone from the cache or aborted from elsewhere; nothing more need be written.
    pub async fn closed(&self) -> Error {
        todo!()
    }

    /// A reader from the first frame.
    #[must_use]
    pub fn consume(&self) -> GroupConsumer {
        todo!()
    }
}

/// Reads a group. Each clone has a place of its own; all share the frames.
#[derive(Clone, Debug)]
pub struct GroupConsumer {}

impl GroupConsumer {
    /// The group's sequence in its track.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        todo!()
    }

    /// Index of the frame the next read returns.
    #[must_use]
    pub fn frame_index(&self) -> u64 {
        todo!()
    }

    /// Moves the next read to frame `index`, forward or back.
    pub fn skip_to(&mut self, index: u64) {
        let _ = index;
        todo!()
    }

    /// Reads the next frame; `None` when the group is complete.
    ///
    /// # Errors
    /// What the group was aborted with, after the frames written before; [`Error::Evicted`] or [`Error::Old`] as soon
    /// as the cache let go of it.
    pub async fn read_frame(&mut self) -> Result<Option<Frame>> {
        std::future::poll_fn(|cx| self.poll_read_frame(cx)).await
    }

    /// See [`Self::read_frame`].
    pub fn poll_read_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Frame>>> {
        let _ = cx;
        todo!()
    }

    /// Whether the group is complete.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        todo!()
    }

    /// Whether newer media has passed the group by at least `max_age`: newest timestamp of the track − where the
    /// group's successor starts. The track's newest group never is.
    #[must_use]
    pub fn is_late(&self, max_age: Duration) -> bool {
        let _ = max_age;
        todo!()
    }

    /// Waits until [`Self::is_late`], or until the cache lets go of the group.
    pub async fn late(&mut self, max_age: Duration) {
        std::future::poll_fn(|cx| self.poll_late(cx, max_age)).await;
    }

    /// See [`Self::late`].
    pub fn poll_late(&mut self, cx: &mut Context<'_>, max_age: Duration) -> Poll<()> {
        let _ = (cx, max_age);
        todo!()
    }
}
