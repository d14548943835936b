//! A broadcast: a set of tracks, some of them made when asked for.
//!
//! Owns the names. Called by publishers, by relays (which make tracks on demand) and by subscribers. May not know how
//! a broadcast is found, nor what its tracks hold.
//!
//! All subscribers of a name share one track. A track that its publisher created stays under its name once finished,
//! so that content written once is served to whoever comes later. One made on request leaves its name when it ends:
//! the next subscriber makes a new request, since what is cached here need not be all there is upstream.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};

use super::origin::{Found, Publication};
use super::state::{TrackShared, TrackState};
use super::usage::Usage;
use super::wait::{WaitKey, WaitList};
use super::{Demand, GroupConsumer, Pool, Subscriber, Subscription, Track, TrackInfo, lock};
use crate::{Error, Result};

/// A broadcast as all its handles share it.
#[derive(Debug)]
pub(super) struct BroadcastShared {
    pool: Pool,
    usage: Arc<Usage>,
    state: Mutex<State>,
    requests: WaitList,
    closed: WaitList,
}

#[derive(Debug, Default)]
struct State {
    tracks: BTreeMap<Box<str>, Entry>,
    /// Whether unknown names are offered to the producer.
    dynamic: bool,
    requests: VecDeque<Arc<TrackShared>>,
    closed: Option<Error>,
    /// Keeps the broadcast announced.
    publication: Option<Publication>,
}

#[derive(Debug)]
struct Entry {
    track: Arc<TrackShared>,
    /// Made because somebody asked.
    requested: bool,
}

struct Joinable {
    track: Arc<TrackShared>,
    requested: bool,
    /// Requested just now.
    fresh: bool,
}

impl BroadcastShared {
    /// The producer of `track` went away.
    pub(super) fn ended(&self, track: &Arc<TrackShared>) {
        let finished = track.lock().end.is_some();
        self.forget(track, |entry| entry.requested || !finished);
    }

    fn forget(&self, track: &Arc<TrackShared>, due: impl Fn(&Entry) -> bool) {
        let entry = {
            let mut state = lock(&self.state);
            match state.tracks.get(&track.name) {
                Some(entry) if Arc::ptr_eq(&entry.track, track) && due(entry) => {
                    state.tracks.remove(&track.name)
                }
                _ => None,
            }
        };
        drop(entry);
    }

    /// Joins the track `name`, which is requested if need be.
    fn join<T>(&self, name: &str, join: impl Fn(&Arc<TrackShared>) -> T) -> Result<T> {
        loop {
            let found = self.find(name)?;
            let joined = join(&found.track);
            if found.fresh {
                // Only now that it is used: a request nobody uses may be refused at once.
                self.request(found.track);
                return Ok(joined);
            }
            // It may have ended for want of use just before: then it was not worth joining.
            if !found.requested || !found.track.is_sealed() {
                return Ok(joined);
            }
        }
    }

    fn find(&self, name: &str) -> Result<Joinable> {
        let (found, replaced) = {
            let mut state = lock(&self.state);
            if let Some(Entry { track, requested }) = state.tracks.get(name)
                && !(*requested && track.is_sealed())
            {
                return Ok(Joinable {
                    track: track.clone(),
                    requested: *requested,
                    fresh: false,
                });
            }
            if let Some(error) = &state.closed {
                return Err(error.clone());
            }
            if !state.dynamic {
                return Err(Error::NotFound);
            }
            let track = TrackShared::new(name, self.pool.clone(), self.usage.clone());
            let entry = Entry {
                track: track.clone(),
                requested: true,
            };
            let found = Joinable {
                track,
                requested: true,
                fresh: true,
            };
            (found, state.tracks.insert(name.into(), entry))
        };
        drop(replaced);
        Ok(found)
    }

    fn request(&self, track: Arc<TrackShared>) {
        let closed = {
            let mut state = lock(&self.state);
            if state.closed.is_none() {
                state.requests.push_back(track.clone());
            }
            state.closed.clone()
        };
        match closed {
            Some(error) => self.refuse(&track, error),
            None => self.requests.wake(),
        }
    }

    fn refuse(&self, track: &Arc<TrackShared>, error: Error) {
        // The name first: whoever finds the track refused may ask again at once.
        self.forget(track, |_| true);
        track.seal(error);
    }

    fn close(&self, error: &Error, abort: bool) {
        let (tracks, requests, publication) = {
            let mut state = lock(&self.state);
            state.closed.get_or_insert_with(|| error.clone());
            let tracks: Vec<_> = match abort {
                true => state
                    .tracks
                    .values()
                    .map(|entry| entry.track.clone())
                    .collect(),
                false => Vec::new(),
            };
            (
                tracks,
                std::mem::take(&mut state.requests),
                state.publication.take(),
            )
        };
        drop(publication);
        for track in tracks {
            track.abort(error);
        }
        for track in requests {
            self.refuse(&track, error.clone());
        }
        self.requests.wake();
        self.closed.wake();
    }
}

/// Writes a broadcast. Clones write the same one. When the last is dropped it is no longer announced and its requests
/// are refused; its tracks live as long as their own producers.
#[derive(Clone, Debug)]
pub struct Broadcast {
    producer: Arc<Producer>,
}

#[derive(Debug)]
struct Producer {
    shared: Arc<BroadcastShared>,
    /// Place of the last caller of [`Broadcast::poll_next_request`].
    key: Mutex<WaitKey>,
}

impl Broadcast {
    /// A broadcast that no origin announces, charging `pool`. [`crate::Origin::create_broadcast`] is the usual way.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        let shared = Arc::new(BroadcastShared {
            pool,
            usage: Arc::new(Usage::new()),
            state: Mutex::default(),
            requests: WaitList::new(),
            closed: WaitList::new(),
        });
        Self {
            producer: Arc::new(Producer {
                shared,
                key: Mutex::default(),
            }),
        }
    }

    /// Ties an announcement to the life of this broadcast's producers.
    pub(super) fn announce(&self, publication: Publication) {
        lock(&self.shared().state).publication = Some(publication);
    }

    /// Creates a track. O(log tracks).
    ///
    /// # Errors
    /// [`Error::Duplicate`] while a track of that name has a producer; [`Error::Closed`] once closed.
    pub fn create_track(&self, name: impl AsRef<str>, info: TrackInfo) -> Result<Track> {
        let name = name.as_ref();
        let shared = self.shared();
        let (track, replaced) = {
            let mut state = lock(&shared.state);
            if state.closed.is_some() {
                return Err(Error::Closed);
            }
            match state.tracks.get(name) {
                Some(entry) if !entry.track.is_sealed() => return Err(Error::Duplicate),
                _ => {}
            }
            let track = TrackShared::new(name, shared.pool.clone(), shared.usage.clone());
            track.accept(info.clone());
            let entry = Entry {
                track: track.clone(),
                requested: false,
            };
            let replaced = state.tracks.insert(name.into(), entry);
            (track, replaced)
        };
        drop(replaced);
        Ok(Track::new(track, info, Arc::downgrade(shared)))
    }

    /// Takes a finished track from its name: later subscribers don't find it. Running ones go on.
    pub fn remove_track(&self, name: &str) {
        let entry = lock(&self.shared().state).tracks.remove(name);
        drop(entry);
    }

    /// Serves unknown names from now on: without this they are refused at once, with it they wait for
    /// [`Self::next_request`].
    pub fn dynamic(&self) {
        lock(&self.shared().state).dynamic = true;
    }

    /// Waits for somebody to ask for a track that doesn't exist; implies [`Self::dynamic`]. `None` once closed.
    pub async fn next_request(&self) -> Option<TrackRequest> {
        poll_fn(|cx| self.poll_next_request(cx)).await
    }

    /// See [`Self::next_request`]; only the most recent caller is woken.
    pub fn poll_next_request(&self, cx: &mut Context<'_>) -> Poll<Option<TrackRequest>> {
        let shared = self.shared();
        let mut state = lock(&shared.state);
        state.dynamic = true;
        if let Some(track) = state.requests.pop_front() {
            let broadcast = Arc::downgrade(shared);
            return Poll::Ready(Some(TrackRequest {
                track,
                broadcast,
                answered: false,
            }));
        }
        if state.closed.is_some() {
            return Poll::Ready(None);
        }
        shared.requests.register(&mut lock(&self.producer.key), cx);
        Poll::Pending
    }

    /// A reader.
    #[must_use]
    pub fn consume(&self) -> BroadcastConsumer {
        BroadcastConsumer {
            shared: self.shared().clone(),
            found: None,
        }
    }

    /// Ends the broadcast: it is no longer announced, unfinished tracks are aborted with `error`, requests refused.
    pub fn close(&self, error: Error) {
        self.shared().close(&error, true);
    }

    /// Waits until any track is subscribed to.
    pub async fn used(&self) {
        self.shared().usage.wait(true).await;
    }

    /// Waits until no track is subscribed to.
    pub async fn unused(&self) {
        self.shared().usage.wait(false).await;
    }

    fn shared(&self) -> &Arc<BroadcastShared> {
        &self.producer.shared
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.shared.close(&Error::Dropped, false);
    }
}

/// A track somebody asked for and nobody has made yet. Dropping it refuses with [`Error::Dropped`].
#[derive(Debug)]
pub struct TrackRequest {
    track: Arc<TrackShared>,
    broadcast: Weak<BroadcastShared>,
    answered: bool,
}

impl TrackRequest {
    /// The name asked for.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.track.name
    }

    /// Watches what those who wait ask for; `None` inside while only the track's info was asked for.
    #[must_use]
    pub fn demand(&self) -> Demand {
        Demand::new(self.track.clone())
    }

    /// Lets readers ask the track for groups that aren't cached, see [`Track::serve_fetches`].
    pub fn serve_fetches(&self) {
        self.track.serve_fetches();
    }

    /// Makes the track.
    ///
    /// # Errors
    /// What the broadcast was closed with meanwhile.
    pub fn accept(mut self, info: TrackInfo) -> Result<Track> {
        {
            let state = self.track.lock();
            if state.sealed {
                return Err(state.closed());
            }
        }
        self.answered = true;
        self.track.accept(info.clone());
        Ok(Track::new(self.track.clone(), info, self.broadcast.clone()))
    }

    /// Refuses it: everybody who waits gets `error`, and the name can be asked for again.
    pub fn reject(mut self, error: Error) {
        self.refuse(error);
    }

    /// Waits until nobody wants the track any more.
    pub async fn unused(&self) {
        self.track.wait_demand(TrackState::is_unused).await;
    }

    fn refuse(&mut self, error: Error) {
        if std::mem::replace(&mut self.answered, true) {
            return;
        }
        match self.broadcast.upgrade() {
            Some(broadcast) => broadcast.refuse(&self.track, error),
            None => self.track.seal(error),
        }
    }
}

impl Drop for TrackRequest {
    fn drop(&mut self) {
        self.refuse(Error::Dropped);
    }
}

/// Reads a broadcast. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BroadcastConsumer {
    shared: Arc<BroadcastShared>,
    /// How it was found, if by an origin.
    found: Option<Found>,
}

impl BroadcastConsumer {
    /// The same broadcast, as found by an origin.
    pub(super) fn found(&self, found: Found) -> Self {
        Self {
            shared: self.shared.clone(),
            found: Some(found),
        }
    }

    /// Subscribes to a track. Subscribers of one name share one track and so one upstream subscription. O(log tracks +
    /// log distinct preferences).
    ///
    /// # Errors
    /// [`Error::NotFound`] at once for a name that doesn't exist in a broadcast that makes none on demand; the error
    /// of the broadcast once closed, unless the track was finished before.
    pub fn subscribe(&self, name: &str, subscription: Subscription) -> Result<Subscriber> {
        self.shared
            .join(name, |track| Subscriber::new(track, subscription.clone()))
    }

    /// What a track says of itself, without subscribing.
    ///
    /// # Errors
    /// As [`Self::subscribe`], or what the request was refused with.
    pub async fn info(&self, name: &str) -> Result<TrackInfo> {
        let query = self.shared.join(name, Query::new)?;
        query.0.wait_info().await
    }

    /// A group, without subscribing: cached, or got from upstream by a producer that serves this. Whoever asks for the
    /// same group waits for one request.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the track or the group can't be had; what the request was refused with.
    pub async fn fetch(&self, name: &str, sequence: u64) -> Result<GroupConsumer> {
        let query = self.shared.join(name, Query::new)?;
        if let Some(group) = query.0.group(sequence) {
            return Ok(group);
        }
        query.0.wait_info().await?;
        query.0.fetch(sequence).await
    }

    /// Whether the broadcast has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        lock(&self.shared.state).closed.is_some()
    }

    /// Waits for the end: [`Error::Dropped`] if the producer went away, else what it was closed with.
    pub async fn closed(&self) -> Error {
        let mut waiter = self.shared.closed.waiter();
        poll_fn(|cx| {
            let state = lock(&self.shared.state);
            if let Some(error) = &state.closed {
                return Poll::Ready(error.clone());
            }
            waiter.register(cx);
            Poll::Pending
        })
        .await
    }

    /// Waits until the origin that this consumer came from offers another broadcast under the same path: who follows
    /// the path asks again. Doesn't resolve when the path just ends, nor for a consumer that came from no origin.
    pub async fn replaced(&self) {
        match &self.found {
            Some(found) => found.wait_other(self).await,
            None => std::future::pending().await,
        }
    }

    /// Whether both read the same broadcast.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

/// Counts as interest in a track's info while it lives.
struct Query(Arc<TrackShared>);

impl Query {
    fn new(track: &Arc<TrackShared>) -> Self {
        track.lock().audience.queries += 1;
        Self(track.clone())
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        self.0.lock().audience.queries -= 1;
        self.0.demand.wake();
    }
}
