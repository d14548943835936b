//! The cursor in sequence order.

use std::ops::RangeBounds;
use std::task::{Context, Poll};

use super::{Control, Frame, GroupConsumer};
use crate::Result;

/// Reads a track in sequence order: strictly increasing sequences, waiting for no hole.
#[derive(Debug)]
pub struct Ordered {}

impl Ordered {
    /// The smallest cached group at or above the cursor; `None` at the declared end of the track or range.
    ///
    /// # Errors
    /// What the track was aborted with, after everything cached.
    pub async fn next_group(&mut self) -> Result<Option<GroupConsumer>> {
        std::future::poll_fn(|cx| self.poll_next_group(cx)).await
    }

    /// See [`Self::next_group`].
    pub fn poll_next_group(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<GroupConsumer>>> {
        let _ = cx;
        todo!()
    }

    /// The next frame across groups, with the sequence of its group. A group that fails is left for the next one.
    ///
    /// # Errors
    /// What the track was aborted with, after everything cached.
    pub async fn read_frame(&mut self) -> Result<Option<(u64, Frame)>> {
        std::future::poll_fn(|cx| self.poll_read_frame(cx)).await
    }

    /// See [`Self::read_frame`].
    pub fn poll_read_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<(u64, Frame)>>> {
        let _ = cx;
        todo!()
    }

    /// Limits this cursor to a window of sequences and moves it to the window's start. At the upper bound it parks
    /// until the window is moved or nothing more can come.
    pub fn set_groups(&mut self, range: impl RangeBounds<u64>) {
        let _ = (range.start_bound(), range.end_bound());
        todo!()
    }

    /// A handle that changes the subscription's preferences.
    #[must_use]
    pub fn control(&self) -> Control {
        todo!()
    }
}
