//! A track's producer.
//!
//! Owns the right to create groups and to end the track: when the last clone goes, the track is sealed. Called by
//! whoever publishes, or feeds a track from upstream. May not know who reads; it sees only what they ask for together.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;

use super::broadcast::BroadcastShared;
use super::state::{TrackShared, TrackState};
use super::{
    Datagram, Demand, FetchRequest, Group, GroupConsumer, MAX_DATAGRAM_BYTES, Subscriber,
    Subscription,
};
use crate::time::MAX;
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
pub struct Track {
    producer: Arc<Producer>,
}

/// Seals the track when the last producer goes.
#[derive(Debug)]
struct Producer {
    shared: Arc<TrackShared>,
    info: TrackInfo,
    broadcast: Weak<BroadcastShared>,
}

impl Track {
    /// The producer of `shared`, which has its info.
    pub(super) fn new(
        shared: Arc<TrackShared>,
        info: TrackInfo,
        broadcast: Weak<BroadcastShared>,
    ) -> Self {
        Self {
            producer: Arc::new(Producer {
                shared,
                info,
                broadcast,
            }),
        }
    }

    /// The track's name in its broadcast.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared().name
    }

    /// What the track said of itself.
    #[must_use]
    pub fn info(&self) -> &TrackInfo {
        &self.producer.info
    }

    /// Starts the group after the highest sequence so far. O(log cached groups), plus a bounded number of evictions.
    ///
    /// # Errors
    /// [`Error::Closed`] once the end is declared, or what the track was aborted with.
    pub fn append_group(&self) -> Result<Group> {
        self.create(None)
    }

    /// Starts the group `sequence`, in any order. An aborted or evicted sequence may be created again. Cost as
    /// [`Self::append_group`].
    ///
    /// # Errors
    /// [`Error::Duplicate`] if that group is cached; [`Error::Closed`] at or above the declared end, or what the track
    /// was aborted with.
    pub fn create_group(&self, sequence: u64) -> Result<Group> {
        self.create(Some(sequence))
    }

    /// Sends a datagram as the sequence after the highest so far, which is returned.
    ///
    /// # Errors
    /// [`Error::DatagramTooLarge`]; [`Error::Closed`] once ended.
    pub fn append_datagram(&self, timestamp: Timestamp, payload: impl Into<Bytes>) -> Result<u64> {
        self.send(None, timestamp, payload.into())
    }

    /// Sends a datagram whose sequence is known, as a relay does.
    ///
    /// # Errors
    /// As [`Self::append_datagram`].
    pub fn create_datagram(&self, datagram: Datagram) -> Result<()> {
        self.send(
            Some(datagram.sequence),
            datagram.timestamp,
            datagram.payload,
        )?;
        Ok(())
    }

    /// Declares that no group below `sequence` will come. Lets a subscriber without a start of its own take groups that
    /// the network put behind a later one.
    ///
    /// # Errors
    /// [`Error::Closed`] once ended.
    pub fn start_at(&self, sequence: u64) -> Result<()> {
        let mut state = self.shared().lock();
        if state.sealed {
            return Err(state.closed());
        }
        state.started_at = Some(sequence);
        Ok(())
    }

    /// Declares the end after the highest sequence so far: nothing more will be created. Groups being written go on.
    ///
    /// # Errors
    /// [`Error::Closed`] if finished already, or what the track was aborted with.
    pub fn finish(&self) -> Result<()> {
        {
            let mut state = self.shared().lock();
            if state.sealed {
                return Err(state.closed());
            }
            state.end = state.end.or(Some(state.next));
            state.sealed = true;
        }
        self.shared().ended();
        Ok(())
    }

    /// Declares that the track ends before `sequence`. Groups below may still arrive, until [`Self::finish`] or until
    /// the last producer is dropped.
    ///
    /// # Errors
    /// [`Error::ProtocolViolation`] if that sequence or a later one exists; [`Error::Closed`] if an end was declared
    /// already, or what the track was aborted with.
    pub fn finish_at(&self, sequence: u64) -> Result<()> {
        {
            let mut state = self.shared().lock();
            if state.sealed || state.end.is_some() {
                return Err(state.closed());
            }
            if sequence < state.next {
                return Err(Error::ProtocolViolation(
                    "a track's declared end is below a group it has",
                ));
            }
            state.end = Some(sequence);
        }
        self.shared().ended();
        Ok(())
    }

    /// Ends the track with an error. Groups being written are aborted with it; finished ones stay readable. A declared
    /// end wins over the error.
    pub fn abort(&self, error: Error) {
        self.shared().abort(&error);
    }

    /// The highest group sequence so far.
    #[must_use]
    pub fn latest(&self) -> Option<u64> {
        self.shared().lock().latest
    }

    /// The cached group `sequence`, from its first frame.
    #[must_use]
    pub fn group(&self, sequence: u64) -> Option<GroupConsumer> {
        self.shared().group(sequence)
    }

    /// Subscribes in process.
    #[must_use]
    pub fn subscribe(&self, subscription: Subscription) -> Subscriber {
        Subscriber::new(self.shared(), subscription)
    }

    /// Watches what all subscribers together ask for.
    #[must_use]
    pub fn demand(&self) -> Demand {
        Demand::new(self.shared().clone())
    }

    /// Whether anybody subscribes.
    #[must_use]
    pub fn is_used(&self) -> bool {
        !self.shared().lock().audience.is_empty()
    }

    /// Waits until somebody subscribes.
    pub async fn used(&self) {
        self.shared()
            .wait_demand(|state| !state.audience.is_empty())
            .await;
    }

    /// Waits until nobody subscribes, fetches a group or waits for the info.
    pub async fn unused(&self) {
        self.shared().wait_demand(TrackState::is_unused).await;
    }

    /// Ends the track with [`Error::Cancel`] if it is [unused](Self::unused), atomically: a subscriber that comes at the same time
    /// either keeps the track or makes a new request. Returns whether it ended.
    #[must_use]
    pub fn close_unused(&self) -> bool {
        {
            let mut state = self.shared().lock();
            if !state.is_unused() {
                return false;
            }
            if !state.sealed {
                state.sealed = true;
                state.error = state.end.is_none().then_some(Error::Cancel);
            }
        }
        self.shared().ended();
        true
    }

    /// From now on readers may ask for groups that aren't cached; without this they are refused at once. Implied by
    /// [`Self::next_fetch`].
    pub fn serve_fetches(&self) {
        self.shared().serve_fetches();
    }

    /// Waits for a reader to ask for a group that isn't cached. `None` once the track has ended.
    pub async fn next_fetch(&self) -> Option<FetchRequest> {
        self.shared().next_fetch().await
    }

    /// Waits until the track ends from elsewhere (its broadcast was closed, another clone aborted it); `Ok` if it has
    /// a declared end and nothing more will be created.
    ///
    /// # Errors
    /// What the track was aborted with.
    pub async fn closed(&self) -> Result<()> {
        self.shared().wait_sealed().await
    }

    fn shared(&self) -> &Arc<TrackShared> {
        &self.producer.shared
    }

    fn create(&self, sequence: Option<u64>) -> Result<Group> {
        let group = self.shared().create(self.info(), sequence)?;
        Ok(Group::new(group, self.shared().clone()))
    }

    fn send(&self, sequence: Option<u64>, timestamp: Timestamp, payload: Bytes) -> Result<u64> {
        if payload.len() > MAX_DATAGRAM_BYTES {
            return Err(Error::DatagramTooLarge);
        }
        let timestamp = timestamp.convert(self.info().timescale);
        if timestamp.value() > MAX {
            return Err(Error::TimestampMismatch);
        }
        let sequence = {
            let mut state = self.shared().lock();
            let sequence = sequence.unwrap_or(state.next);
            state.may_create(sequence)?;
            state.next = state.next.max(sequence + 1);
            state.ring.push(Datagram {
                sequence,
                timestamp,
                payload,
            });
            sequence
        };
        self.shared().datagrams.wake();
        self.shared().pool.settle();
        Ok(sequence)
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.shared.seal(Error::Dropped);
        if let Some(broadcast) = self.broadcast.upgrade() {
            broadcast.ended(&self.shared);
        }
    }
}

#[cfg(test)]
impl Track {
    /// That no waiter was left behind.
    pub(super) fn assert_nobody_waits(&self) {
        self.shared().assert_nobody_waits();
    }

    /// Places in the index of cached groups.
    pub(super) fn index_capacity(&self) -> usize {
        self.shared().lock().cache.capacity()
    }
}
