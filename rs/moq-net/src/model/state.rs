//! A track as its producers and all its subscribers share it.
//!
//! Owns the lock around the cache, the end of the track, its audience and datagrams, and the lists of who waits. Called
//! by producers (`track.rs`), cursors (`arrival.rs`, `ordered.rs`) and the pool. May not know about broadcasts.
//!
//! Lock order: track, then pool or group. Nobody is woken and no frame is freed while a lock is held.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::Poll;

use super::audience::Audience;
use super::cache::{Cache, Node, Place};
use super::datagram::Ring;
use super::fetch::Fetches;
use super::group::GroupShared;
use super::lateness::LateWatch;
use super::pool::Pool;
use super::track::TrackInfo;
use super::usage::Usage;
use super::wait::WaitList;
use super::{GroupConsumer, lock};
use crate::time::MAX;
use crate::{Error, Result};

/// Most groups one write lets go of because of their age.
const EXPIRED_PER_WRITE: usize = 4;

/// See the file's head.
#[derive(Debug)]
pub(super) struct TrackShared {
    pub(super) name: Box<str>,
    pub(super) pool: Pool,
    /// Set once, by whoever creates the track or accepts the request for it.
    pub(super) info: OnceLock<TrackInfo>,
    pub(super) usage: Arc<Usage>,
    state: Mutex<TrackState>,
    /// Cursors that wait for a group.
    pub(super) groups: WaitList,
    /// Cursors that wait for what eviction can decide.
    pub(super) parked: WaitList,
    pub(super) datagrams: WaitList,
    /// Who waits for the info or the end.
    pub(super) about: WaitList,
    /// Who watches what is asked for.
    pub(super) demand: WaitList,
    /// Readers that wait for a group they asked for, and the producer that waits for such requests.
    pub(super) fetches: WaitList,
    pub(super) fetch_requests: WaitList,
    pub(super) late: LateWatch,
}

/// What the lock guards.
#[derive(Debug)]
pub(super) struct TrackState {
    pub(super) cache: Cache,
    pub(super) ring: Ring,
    pub(super) audience: Audience,
    pub(super) fetches: Fetches,
    /// One above the highest sequence so far.
    pub(super) next: u64,
    /// The highest group sequence so far.
    pub(super) latest: Option<u64>,
    /// No group below will come, as the producer said.
    pub(super) started_at: Option<u64>,
    /// Whether a group was ever taken out.
    pub(super) lost: bool,
    /// The declared end: the first sequence that will not exist.
    pub(super) end: Option<u64>,
    /// Nothing more will be created.
    pub(super) sealed: bool,
    pub(super) error: Option<Error>,
}

impl TrackShared {
    pub(super) fn new(name: &str, pool: Pool, usage: Arc<Usage>) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            info: OnceLock::new(),
            usage,
            state: Mutex::new(TrackState::new(pool.clone())),
            groups: WaitList::new(),
            parked: WaitList::new(),
            datagrams: WaitList::new(),
            about: WaitList::new(),
            demand: WaitList::new(),
            fetches: WaitList::new(),
            fetch_requests: WaitList::new(),
            late: LateWatch::new(),
            pool,
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, TrackState> {
        lock(&self.state)
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.lock().sealed
    }

    /// Gives the track its info, once.
    pub(super) fn accept(&self, info: TrackInfo) {
        {
            let mut state = self.lock();
            state.audience.scale(&info);
            let _ = self.info.set(info);
        }
        self.about.wake();
    }

    /// Creates a group; `None`: after the highest so far.
    pub(super) fn create(
        self: &Arc<Self>,
        info: &TrackInfo,
        sequence: Option<u64>,
    ) -> Result<Arc<GroupShared>> {
        let mut gone = Vec::new();
        let group = {
            let mut state = self.lock();
            let sequence = sequence.unwrap_or(state.next);
            state.may_create(sequence)?;
            if let Some(old) = state.cache.get(sequence) {
                if !old.group.is_aborted() {
                    return Err(Error::Duplicate);
                }
                let place = old.group.place();
                gone.extend(self.unlink(&mut state, place));
            }
            let place = state.cache.next_place();
            let group = Arc::new(GroupShared::new(
                Arc::downgrade(self),
                self.pool.clone(),
                info.timescale,
                sequence,
                place,
            ));
            let newest = state
                .cache
                .newest()
                .map(|node| (node.sequence, node.group.place()));
            state.cache.insert(group.clone());
            match newest {
                Some((newest, _)) if newest > sequence => self.list(&mut state, place),
                Some((_, newest)) => self.list(&mut state, newest),
                None => {}
            }
            state.next = state.next.max(sequence + 1);
            state.latest = state.latest.max(Some(sequence));
            self.expire(&mut state, info, &mut gone);
            group
        };
        self.let_go(gone, &Error::Old);
        self.groups.wake();
        self.pool.settle();
        Ok(group)
    }

    /// A group's first frame was written.
    pub(super) fn started(&self, place: Place, time: u64) {
        let mut gone = Vec::new();
        {
            let mut state = self.lock();
            if let Some(node) = state.cache.find_mut(place) {
                node.start = Some(time);
            }
            if let Some(info) = self.info.get() {
                self.expire(&mut state, info, &mut gone);
            }
        }
        self.let_go(gone, &Error::Old);
        self.late.changed();
    }

    /// Takes an aborted group that has no frame out of the cache, so that no cursor meets it.
    pub(super) fn forget(&self, place: Place) {
        let node = {
            let mut state = self.lock();
            let node = self.unlink(&mut state, place);
            state.lost |= node.is_some();
            node
        };
        drop(node);
        self.parked.wake();
        self.late.changed();
    }

    /// Lets go of the group at `place`, unless it is the newest.
    pub(super) fn evict(&self, place: Place, error: &Error) {
        let node = {
            let mut state = self.lock();
            let Some(node) = state.cache.find_mut(place) else {
                return;
            };
            node.listed = None;
            if state
                .cache
                .newest()
                .is_some_and(|newest| newest.group.place() == place)
            {
                return;
            }
            state.lost = true;
            self.unlink(&mut state, place)
        };
        self.let_go(node.into_iter().collect(), error);
    }

    /// Nothing more will be created; without a declared end, readers get `error` once they have had everything. The
    /// first call counts. Groups being written go on.
    pub(super) fn seal(&self, error: Error) {
        {
            let mut state = self.lock();
            if state.sealed {
                return;
            }
            state.sealed = true;
            if state.end.is_none() {
                state.error = Some(error);
            }
        }
        self.ended();
    }

    /// As [`Self::seal`], and aborts the groups being written. O(cached groups).
    pub(super) fn abort(&self, error: &Error) {
        self.seal(error.clone());
        let open: Vec<_> = {
            let state = self.lock();
            let open = state.cache.iter().filter(|node| node.group.is_open());
            open.map(|node| node.group.clone()).collect()
        };
        for group in open {
            if group.abort(error.clone()) {
                self.forget(group.place());
            }
        }
    }

    /// Wakes everybody whom an end concerns.
    pub(super) fn ended(&self) {
        self.groups.wake();
        self.parked.wake();
        self.datagrams.wake();
        self.about.wake();
        self.fetches.wake();
        self.fetch_requests.wake();
        self.demand.wake();
    }

    /// The cached group `sequence`.
    pub(super) fn group(&self, sequence: u64) -> Option<GroupConsumer> {
        let state = self.lock();
        let node = state.cache.get(sequence)?;
        Some(GroupConsumer::new(node.group.clone(), 0, u64::MAX))
    }

    /// Waits for the track's info.
    pub(super) async fn wait_info(&self) -> Result<TrackInfo> {
        self.wait_about(|state| match self.info.get() {
            Some(info) => Some(Ok(info.clone())),
            None if state.sealed => Some(state.outcome().and(Err(Error::Dropped))),
            None => None,
        })
        .await
    }

    /// Waits for the declared end.
    pub(super) async fn wait_end(&self) -> Result<u64> {
        self.wait_about(|state| match state.end {
            Some(end) => Some(Ok(end)),
            None => state.error.clone().map(Err),
        })
        .await
    }

    /// Waits until nothing more will be created.
    pub(super) async fn wait_sealed(&self) -> Result<()> {
        self.wait_about(|state| state.sealed.then(|| state.outcome()))
            .await
    }

    async fn wait_about<T>(&self, ready: impl Fn(&TrackState) -> Option<T>) -> T {
        let mut waiter = self.about.waiter();
        poll_fn(|cx| {
            let state = self.lock();
            if let Some(answer) = ready(&state) {
                return Poll::Ready(answer);
            }
            waiter.register(cx);
            Poll::Pending
        })
        .await
    }

    /// Takes out what newer media has passed by the track's own age. Bounded work.
    fn expire(&self, state: &mut TrackState, info: &TrackInfo, gone: &mut Vec<Node>) {
        let age = info.timescale.units(info.max_age);
        for _ in 0..EXPIRED_PER_WRITE {
            let Some(oldest) = state.cache.oldest() else {
                return;
            };
            if !state.cache.is_late(oldest, age) {
                return;
            }
            let place = oldest.group.place();
            state.lost = true;
            gone.extend(self.unlink(state, place));
        }
    }

    fn unlink(&self, state: &mut TrackState, place: Place) -> Option<Node> {
        let node = state.cache.remove(place)?;
        if let Some(key) = node.listed {
            self.pool.unlist(key);
        }
        Some(node)
    }

    /// Offers a superseded group to the pool.
    fn list(self: &Arc<Self>, state: &mut TrackState, place: Place) {
        if let Some(node) = state.cache.find_mut(place)
            && node.listed.is_none()
        {
            node.listed = Some(self.pool.list(&Arc::downgrade(self), place));
        }
    }

    /// Frees groups that were taken out, with no lock held.
    fn let_go(&self, gone: Vec<Node>, error: &Error) {
        if gone.is_empty() {
            return;
        }
        for node in gone {
            node.group.evict(error.clone());
        }
        self.parked.wake();
        self.late.changed();
    }
}

impl Drop for TrackShared {
    fn drop(&mut self) {
        let Ok(state) = self.state.get_mut() else {
            return;
        };
        for node in state.cache.iter() {
            if let Some(key) = node.listed {
                self.pool.unlist(key);
            }
        }
    }
}

impl TrackState {
    fn new(pool: Pool) -> Self {
        Self {
            cache: Cache::new(),
            ring: Ring::new(pool),
            audience: Audience::default(),
            fetches: Fetches::default(),
            next: 0,
            latest: None,
            started_at: None,
            lost: false,
            end: None,
            sealed: false,
            error: None,
        }
    }

    /// Whether `sequence` may still be created.
    pub(super) fn may_create(&self, sequence: u64) -> Result<()> {
        if self.sealed {
            return Err(self.closed());
        }
        if self.end.is_some_and(|end| sequence >= end) {
            return Err(Error::Closed);
        }
        if sequence > MAX {
            return Err(Error::ProtocolViolation(
                "a group's sequence is above 2^62-1",
            ));
        }
        Ok(())
    }

    /// Whether nobody subscribes, fetches or waits for the info.
    pub(super) fn is_unused(&self) -> bool {
        self.audience.is_empty() && self.audience.queries == 0 && self.fetches.is_empty()
    }

    /// Why nothing can be added any more.
    pub(super) fn closed(&self) -> Error {
        self.error.clone().unwrap_or(Error::Closed)
    }

    /// How the track ends for a reader who has had everything there is.
    pub(super) fn outcome(&self) -> Result<()> {
        match (self.end, &self.error) {
            (None, Some(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
impl TrackShared {
    /// That no waiter was left behind.
    pub(super) fn assert_nobody_waits(&self) {
        let lists = [
            &self.groups,
            &self.parked,
            &self.datagrams,
            &self.about,
            &self.demand,
            &self.fetches,
            &self.fetch_requests,
        ];
        assert!(lists.iter().all(|list| list.is_empty()) && self.late.is_empty());
    }
}
