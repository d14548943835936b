//! A broadcast: a set of tracks, some of them made when asked for.

use std::task::{Context, Poll};

use super::{Demand, GroupConsumer, Pool, Subscriber, Subscription, Track, TrackInfo};
use crate::{Error, Result};

/// Writes a broadcast. Clones write the same one. When the last is dropped its requests are refused; its tracks live
/// as long as their own producers.
#[derive(Clone, Debug)]
pub struct Broadcast {}

impl Broadcast {
    /// A broadcast that no origin announces, charging `pool`. [`crate::Origin::create_broadcast`] is the usual way.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        let _ = pool;
        todo!()
    }

    /// Creates a track.
    ///
    /// # Errors
    /// [`Error::Duplicate`] while a track of that name has a producer; [`Error::Closed`].
    pub fn create_track(&self, name: impl Into<String>, info: TrackInfo) -> Result<Track> {
        let _ = (name.into(), info);
        todo!()
    }

    /// Serves unknown names from now on: without this they are refused at once, with it they wait for
    /// [`Self::next_request`].
    pub fn dynamic(&self) {
        todo!()
    }

    /// Waits for a subscriber to ask for a track that doesn't exist; implies [`Self::dynamic`]. `None` once closed.
    pub async fn next_request(&self) -> Option<TrackRequest> {
        todo!()
    }

    /// See [`Self::next_request`]; only the most recent caller is woken.
    pub fn poll_next_request(&self, cx: &mut Context<'_>) -> Poll<Option<TrackRequest>> {
        let _ = cx;
        todo!()
    }

    /// A reader.
    #[must_use]
    pub fn consume(&self) -> BroadcastConsumer {
        todo!()
    }

    /// Ends the broadcast: unfinished tracks are aborted with `error`, waiting requests refused with it.
    pub fn close(&self, error: Error) {
        let _ = error;
        todo!()
    }

    /// Waits until any track is subscribed to.
    pub async fn used(&self) {
        todo!()
    }

    /// Waits until no track is subscribed to.
    pub async fn unused(&self) {
        todo!()
    }
}

/// A track somebody asked for and nobody has made yet. Dropping it refuses with [`Error::Dropped`].
#[derive(Debug)]
pub struct TrackRequest {}

impl TrackRequest {
    /// The name asked for.
    #[must_use]
    pub fn name(&self) -> &str {
        todo!()
    }

    /// Watches what those who wait ask for. `None` inside means only the track's info was asked for.
    #[must_use]
    pub fn demand(&self) -> Demand {
        todo!()
    }

    /// Makes the track.
    ///
    /// # Errors
    /// [`Error::Closed`] if the broadcast closed meanwhile.
    pub fn accept(self, info: TrackInfo) -> Result<Track> {
        let _ = info;
        todo!()
    }

    /// Refuses it: everybody who waits gets `error`.
    pub fn reject(self, error: Error) {
        let _ = error;
        todo!()
    }

    /// Waits until nobody wants the track any more.
    pub async fn unused(&self) {
        todo!()
    }
}

/// Reads a broadcast. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BroadcastConsumer {}

impl BroadcastConsumer {
    /// Subscribes to a track. Subscribers of one name share one track and so one upstream subscription.
    ///
    /// # Errors
    /// [`Error::NotFound`] at once for a name that doesn't exist in a broadcast that makes none on demand; the error
    /// of the broadcast once closed.
    pub fn subscribe(&self, name: &str, subscription: Subscription) -> Result<Subscriber> {
        let _ = (name, subscription);
        todo!()
    }

    /// What a track says of itself, without subscribing.
    ///
    /// # Errors
    /// As [`Self::subscribe`], or what the request was refused with.
    pub async fn info(&self, name: &str) -> Result<TrackInfo> {
        let _ = name;
        todo!()
    }

    /// A cached group, without subscribing.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the track or the group isn't there.
    pub fn fetch(&self, name: &str, sequence: u64) -> Result<GroupConsumer> {
        let _ = (name, sequence);
        todo!()
    }

    /// Whether the broadcast has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        todo!()
    }

    /// Waits for the end: [`Error::Dropped`] if the producer went away, else what it was closed with.
    pub async fn closed(&self) -> Error {
        todo!()
    }

    /// Whether both read the same broadcast.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let _ = other;
        todo!()
    }
}
