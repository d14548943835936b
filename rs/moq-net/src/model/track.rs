//! A track's producer.

use std::time::Duration;

use bytes::Bytes;

use super::{Datagram, Demand, Group, GroupConsumer, Subscriber, Subscription};
use crate::{Error, Result, Timescale, Timestamp};

/// What a track says of itself; fixed when it is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackInfo {
    /// Breaks ties between subscriptions of equal priority. 0 to 255 (most urgent), default 127.
    pub priority: u8,
    /// How far behind the newest media a group is kept, by presentation time. Default 5 s.
    pub max_age: Duration,
    /// What its timestamps count in. Default 1,000 a second.
    pub timescale: Timescale,
}

impl Default for TrackInfo {
    fn default() -> Self {
        Self {
            priority: 127,
            max_age: Duration::from_secs(5),
            timescale: Timescale::MILLIS,
        }
    }
}

/// Writes a track. Clones write the same track; when the last is dropped unfinished, readers get [`Error::Dropped`]
/// after what is cached.
#[derive(Clone, Debug)]
pub struct Track {}

impl Track {
    /// The track's name in its broadcast.
    #[must_use]
    pub fn name(&self) -> &str {
        todo!()
    }

    /// What the track said of itself.
    #[must_use]
    pub fn info(&self) -> &TrackInfo {
        todo!()
    }

    /// Starts the group after the highest sequence so far.
    ///
    /// # Errors
    /// [`Error::Closed`] once the end is declared or the track aborted.
    pub fn append_group(&self) -> Result<Group> {
        todo!()
    }

    /// Starts the group `sequence`, in any order. An aborted or evicted sequence may be created again.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if that group is cached; [`Error::Closed`] at or above the declared end.
    pub fn create_group(&self, sequence: u64) -> Result<Group> {
        let _ = sequence;
        todo!()
    }

    /// Sends a datagram as the sequence after the highest so far, which is returned.
    ///
    /// # Errors
    /// [`Error::DatagramTooLarge`], [`Error::Closed`].
    pub fn append_datagram(&self, timestamp: Timestamp, payload: impl Into<Bytes>) -> Result<u64> {
        let _ = (timestamp, payload.into());
        todo!()
    }

    /// Sends a datagram whose sequence is known, as a relay does.
    ///
    /// # Errors
    /// As [`Self::append_datagram`].
    pub fn create_datagram(&self, datagram: Datagram) -> Result<()> {
        let _ = datagram;
        todo!()
    }

    /// Declares that no group below `sequence` will come. Lets a subscriber without a start of its own wait for groups
    /// that the network reorders.
    ///
    /// # Errors
    /// [`Error::Closed`] once ended.
    pub fn start_at(&self, sequence: u64) -> Result<()> {
        let _ = sequence;
        todo!()
    }

    /// Declares the end after the highest sequence so far: nothing more will be created.
    ///
    /// # Errors
    /// [`Error::Closed`] if ended already.
    pub fn finish(&self) -> Result<()> {
        todo!()
    }

    /// Declares that the track ends before `sequence`; groups below may still arrive while a producer lives.
    ///
    /// # Errors
    /// [`Error::ProtocolViolation`] if that sequence or a later one exists; [`Error::Closed`] if ended already.
    pub fn finish_at(&self, sequence: u64) -> Result<()> {
        let _ = sequence;
        todo!()
    }

    /// Ends the track with an error. Unfinished groups are aborted with it; finished ones stay readable.
    pub fn abort(&self, error: Error) {
        let _ = error;
        todo!()
    }

    /// The highest group sequence so far.
    #[must_use]
    pub fn latest(&self) -> Option<u64> {
        todo!()
    }

    /// The cached group `sequence`, from its first frame.
    #[must_use]
    pub fn group(&self, sequence: u64) -> Option<GroupConsumer> {
        let _ = sequence;
        todo!()
    }

    /// Subscribes in process.
    #[must_use]
    pub fn subscribe(&self, subscription: Subscription) -> Subscriber {
        let _ = subscription;
        todo!()
    }

    /// Watches what all subscribers together ask for.
    #[must_use]
    pub fn demand(&self) -> Demand {
        todo!()
    }

    /// Whether anybody subscribes.
    #[must_use]
    pub fn is_used(&self) -> bool {
        todo!()
    }

    /// Waits until somebody subscribes.
    pub async fn used(&self) {
        todo!()
    }

    /// Waits until nobody subscribes.
    pub async fn unused(&self) {
        todo!()
    }

    /// Ends the track with [`Error::Cancel`] if nobody subscribes, atomically: a subscriber that comes at the same time
    /// either keeps the track or makes a new request. Returns whether it ended.
    #[must_use]
    pub fn close_unused(&self) -> bool {
        todo!()
    }

    /// Waits until the track ends from elsewhere (its broadcast was closed, another clone aborted it); `Ok` if finished.
    ///
    /// # Errors
    /// What the track was aborted with.
    pub async fn closed(&self) -> Result<()> {
        todo!()
    }
}
