//! The cursor in arrival order.

use std::ops::RangeBounds;
use std::task::{Context, Poll};

use super::{Control, Datagram, GroupConsumer, Ordered, Subscription, TrackInfo};
use crate::{Error, Result};

/// Reads a track in arrival order: each live group exactly once. O(1) a delivery.
///
/// Groups that grow older than the subscription's `max_age` before they are delivered are skipped.
#[derive(Debug)]
pub struct Subscriber {}

impl Subscriber {
    /// The track's name in its broadcast.
    #[must_use]
    pub fn name(&self) -> &str {
        todo!()
    }

    /// Waits for what the track says of itself.
    ///
    /// # Errors
    /// What the request was rejected or the track aborted with.
    pub async fn info(&self) -> Result<TrackInfo> {
        todo!()
    }

    /// The next group in arrival order; `None` at the declared end of the track or of the subscription's range.
    ///
    /// # Errors
    /// What the track was aborted with, after everything cached; a group's own trouble is met when reading that group.
    pub async fn recv_group(&mut self) -> Result<Option<GroupConsumer>> {
        std::future::poll_fn(|cx| self.poll_recv_group(cx)).await
    }

    /// See [`Self::recv_group`].
    pub fn poll_recv_group(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<GroupConsumer>>> {
        let _ = cx;
        todo!()
    }

    /// The next datagram; `None` at the end of the track. At most 64 wait, the oldest goes.
    ///
    /// # Errors
    /// What the track was aborted with.
    pub async fn recv_datagram(&mut self) -> Result<Option<Datagram>> {
        std::future::poll_fn(|cx| self.poll_recv_datagram(cx)).await
    }

    /// See [`Self::recv_datagram`].
    pub fn poll_recv_datagram(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Datagram>>> {
        let _ = cx;
        todo!()
    }

    /// A second cursor on the same subscription, in sequence order, from the subscription's start. Neither moves the
    /// other; the subscription lives until both are gone.
    #[must_use]
    pub fn ordered(&self) -> Ordered {
        todo!()
    }

    /// Replaces the preferences.
    pub fn update(&self, subscription: Subscription) {
        let _ = subscription;
        todo!()
    }

    /// The preferences now.
    #[must_use]
    pub fn subscription(&self) -> Subscription {
        todo!()
    }

    /// A handle that changes the preferences from elsewhere.
    #[must_use]
    pub fn control(&self) -> Control {
        todo!()
    }

    /// Limits this cursor (not the subscription) to a window of sequences. At the upper bound it parks until the
    /// window is moved; a lower one makes what is cached there deliverable again.
    pub fn set_groups(&mut self, range: impl RangeBounds<u64>) {
        let _ = (range.start_bound(), range.end_bound());
        todo!()
    }

    /// Waits until it is known which group the subscription starts with. Groups below it won't be delivered.
    /// `None` if the track ended without one.
    ///
    /// # Errors
    /// What the track was aborted with before any group.
    pub async fn start(&mut self) -> Result<Option<u64>> {
        std::future::poll_fn(|cx| self.poll_start(cx)).await
    }

    /// See [`Self::start`].
    pub fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<u64>>> {
        let _ = cx;
        todo!()
    }

    /// Waits until the track's end is declared: the first sequence that will not exist. May be before all its groups
    /// have arrived.
    ///
    /// # Errors
    /// What the track was aborted with, if no end was declared.
    pub async fn finished(&self) -> Result<u64> {
        todo!()
    }

    /// The highest group sequence so far.
    #[must_use]
    pub fn latest(&self) -> Option<u64> {
        todo!()
    }

    /// The track's error, if it was aborted.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        todo!()
    }
}
