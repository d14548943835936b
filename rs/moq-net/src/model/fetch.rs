//! Groups asked for by number that aren't cached.
//!
//! Owns the requests of one track: whoever asks for the same group waits for one request. Called by readers through
//! [`super::BroadcastConsumer::fetch`] and by producers that can get old groups from elsewhere. May not know the cursors:
//! a fetched group never enters the cache, where its age would have it evicted at once and an arrival cursor might meet
//! it. It lives, and is charged to the pool, as long as somebody reads it.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::cache::Place;
use super::group::GroupShared;
use super::state::TrackShared;
use super::wait::WaitKey;
use super::{Group, GroupConsumer};
use crate::{Error, Result};

/// A track's open requests.
#[derive(Debug, Default)]
pub(super) struct Fetches {
    /// Whether the producer answers requests.
    served: bool,
    /// Requests the producer hasn't taken.
    queue: VecDeque<u64>,
    wanted: BTreeMap<u64, Wanted>,
    /// Given to each request, so that an answer to an old one isn't taken for a newer.
    serial: u64,
}

#[derive(Debug)]
struct Wanted {
    serial: u64,
    readers: usize,
    answer: Option<Result<Arc<GroupShared>>>,
}

impl Fetches {
    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The request `serial`, while somebody waits for it.
    fn open(&mut self, sequence: u64, serial: u64) -> Option<&mut Wanted> {
        let wanted = self.wanted.get_mut(&sequence)?;
        (wanted.serial == serial && wanted.answer.is_none()).then_some(wanted)
    }
}

impl TrackShared {
    /// From now on groups that aren't cached can be asked for.
    pub(super) fn serve_fetches(&self) {
        self.lock().fetches.served = true;
    }

    /// The group `sequence`: cached, or asked for.
    pub(super) async fn fetch(self: &Arc<Self>, sequence: u64) -> Result<GroupConsumer> {
        let mut fetch = {
            let mut state = self.lock();
            if let Some(node) = state.cache.get(sequence) {
                return Ok(GroupConsumer::new(node.group.clone(), 0, u64::MAX));
            }
            if state.sealed || !state.fetches.served {
                return Err(Error::NotFound);
            }
            let Fetches {
                wanted,
                queue,
                serial,
                ..
            } = &mut state.fetches;
            let entry = wanted.entry(sequence).or_insert_with(|| {
                *serial += 1;
                queue.push_back(sequence);
                Wanted {
                    serial: *serial,
                    readers: 0,
                    answer: None,
                }
            });
            entry.readers += 1;
            Fetch {
                track: self.clone(),
                sequence,
                key: WaitKey::default(),
            }
        };
        self.fetch_requests.wake();
        poll_fn(|cx| fetch.poll(cx)).await
    }

    /// The next request nobody has taken; `None` once the track is sealed.
    pub(super) async fn next_fetch(self: &Arc<Self>) -> Option<FetchRequest> {
        let mut waiter = self.fetch_requests.waiter();
        poll_fn(|cx| {
            let mut state = self.lock();
            state.fetches.served = true;
            while let Some(sequence) = state.fetches.queue.pop_front() {
                if let Some(wanted) = state.fetches.wanted.get(&sequence) {
                    let (track, serial) = (self.clone(), wanted.serial);
                    return Poll::Ready(Some(FetchRequest {
                        track,
                        sequence,
                        serial,
                    }));
                }
            }
            if state.sealed {
                return Poll::Ready(None);
            }
            waiter.register(cx);
            Poll::Pending
        })
        .await
    }
}

/// One reader's wait.
#[derive(Debug)]
struct Fetch {
    track: Arc<TrackShared>,
    sequence: u64,
    key: WaitKey,
}

impl Fetch {
    fn poll(&mut self, cx: &Context<'_>) -> Poll<Result<GroupConsumer>> {
        let state = self.track.lock();
        let wanted = state.fetches.wanted.get(&self.sequence);
        match wanted.and_then(|wanted| wanted.answer.clone()) {
            Some(answer) => Poll::Ready(answer.map(|group| GroupConsumer::new(group, 0, u64::MAX))),
            None if state.sealed => Poll::Ready(Err(state.closed())),
            None => {
                self.track.fetches.register(&mut self.key, cx);
                Poll::Pending
            }
        }
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.track.fetches.remove(&mut self.key);
        let gone = {
            let mut state = self.track.lock();
            let fetches = &mut state.fetches;
            let Some(wanted) = fetches.wanted.get_mut(&self.sequence) else {
                return;
            };
            wanted.readers -= 1;
            if wanted.readers > 0 {
                return;
            }
            fetches.queue.retain(|&sequence| sequence != self.sequence);
            fetches.wanted.remove(&self.sequence)
        };
        drop(gone);
        // The request, and perhaps the track, is unused now.
        self.track.demand.wake();
    }
}

/// A group somebody asked for that isn't cached. Dropping it refuses with [`Error::NotFound`].
#[derive(Debug)]
pub struct FetchRequest {
    track: Arc<TrackShared>,
    sequence: u64,
    serial: u64,
}

impl FetchRequest {
    /// The group asked for.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Answers with a group to be written.
    ///
    /// # Errors
    /// [`Error::Cancel`] if nobody waits for it any more.
    pub fn accept(self) -> Result<Group> {
        let scale = self.track.info.get().cloned().unwrap_or_default().timescale;
        let weak = Arc::downgrade(&self.track);
        let pool = self.track.pool.clone();
        let group = GroupShared::new(weak, pool, scale, self.sequence, Place::START);
        let group = Arc::new(group);
        match self.answer(Ok(group.clone())) {
            true => Ok(Group::new(group, self.track.clone())),
            false => Err(Error::Cancel),
        }
    }

    /// Refuses it: everybody who waits for it gets `error`.
    pub fn reject(self, error: Error) {
        self.answer(Err(error));
    }

    /// Waits until nobody wants the group any more, or the track ends.
    pub async fn unused(&self) {
        let mut waiter = self.track.demand.waiter();
        poll_fn(|cx| {
            let mut state = self.track.lock();
            if state.sealed || state.fetches.open(self.sequence, self.serial).is_none() {
                return Poll::Ready(());
            }
            waiter.register(cx);
            Poll::Pending
        })
        .await;
    }

    /// Returns whether anybody waited for it.
    fn answer(&self, answer: Result<Arc<GroupShared>>) -> bool {
        {
            let mut state = self.track.lock();
            let Some(wanted) = state.fetches.open(self.sequence, self.serial) else {
                return false;
            };
            wanted.answer = Some(answer);
        }
        self.track.fetches.wake();
        true
    }
}

impl Drop for FetchRequest {
    fn drop(&mut self) {
        self.answer(Err(Error::NotFound));
    }
}
