//! A track as its producers and all its subscribers share it.
//!
//! Owns the lock around the cache, the end of the track, its subscriptions and datagrams, and the lists of who waits.
//! Called by producers (`track.rs`), cursors (`arrival.rs`, `ordered.rs`) and the pool. May not know about broadcasts.
//!
//! Lock order: track, then pool or group. Nobody is woken and no frame is freed while a lock is held.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::Poll;

use slab::Slab;

use super::cache::{Cache, Node, Place};
use super::datagram::Ring;
use super::demand::Sum;
use super::group::GroupShared;
use super::pool::Pool;
use super::track::TrackInfo;
use super::usage::Usage;
use super::wait::{WaitList, Waiters, wake};
use super::{GroupConsumer, Subscription, lock};
use crate::time::MAX;
use crate::{Error, Result};

/// Most groups one write lets go of because of their age.
const EXPIRED_PER_WRITE: usize = 4;
/// How far from a group a timestamp is looked for when its neighbours have no frame yet.
const NEIGHBOURS: usize = 4;

/// See the file's head.
#[derive(Debug)]
pub(super) struct TrackShared {
    pub(super) name: Box<str>,
    pub(super) pool: Pool,
    /// Set once, by whoever creates the track or accepts the request for it.
    pub(super) info: OnceLock<TrackInfo>,
    usage: Arc<Usage>,
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
    late: WaitList,
    /// The earliest timestamp at which somebody on `late` may be late; read at every frame.
    late_at: AtomicU64,
}

/// What the lock guards.
#[derive(Debug)]
pub(super) struct TrackState {
    pub(super) cache: Cache,
    pub(super) ring: Ring,
    /// One above the highest sequence so far.
    pub(super) next: u64,
    /// The highest group sequence so far.
    pub(super) latest: Option<u64>,
    /// No group below will come, as the producer said.
    pub(super) started_at: Option<u64>,
    /// Whether a group was ever let go of.
    evicted: bool,
    /// The declared end: the first sequence that will not exist.
    pub(super) end: Option<u64>,
    /// Nothing more will be created.
    pub(super) sealed: bool,
    pub(super) error: Option<Error>,
    subscriptions: Slab<Subscribed>,
    sum: Sum,
    /// How many wait for the info without subscribing.
    pub(super) queries: usize,
}

/// One subscription.
#[derive(Debug)]
struct Subscribed {
    wanted: Subscription,
    /// `wanted.max_age` in the track's timescale, clamped by the track's own.
    age: u64,
    /// Groups below are not delivered.
    floor: u64,
    /// Groups up to here were asked for by number, so they are not skipped for their age.
    asked: Option<u64>,
    /// Tasks of this subscription's cursors, woken when the preferences change.
    waiters: Waiters,
}

/// What a cursor must know of its subscription.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) floor: u64,
    pub(super) end: u64,
    pub(super) age: u64,
    pub(super) asked: Option<u64>,
    pub(super) frames: Frames,
}

/// Limits of frames in the first and last group of a subscription.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    pub(super) first: Option<u64>,
    pub(super) start: u64,
    pub(super) end: u64,
}

impl View {
    /// Whether the group is to be skipped for its age.
    pub(super) fn skips(&self, state: &TrackState, node: &Node) -> bool {
        self.asked.is_none_or(|asked| node.sequence > asked)
            && state.lateness(node, self.age) == Lateness::Late
    }

    /// A reader of the group, within the frames wanted of it.
    pub(super) fn reader(&self, node: &Node) -> GroupConsumer {
        let start = if self.frames.first == Some(node.sequence) {
            self.frames.start
        } else {
            0
        };
        let last = node.sequence.checked_add(1) == Some(self.end);
        let end = if last { self.frames.end } else { u64::MAX };
        GroupConsumer::new(node.group.clone()).limited(start, end)
    }
}

/// How a group stands to its reader's age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lateness {
    /// Newer media has passed it by the age, or it is gone.
    Late,
    /// Late once a frame with this timestamp or a later one exists.
    At(u64),
    /// Not known before its successor has a frame.
    Unknown,
}

impl TrackShared {
    pub(super) fn new(name: &str, pool: Pool, usage: Arc<Usage>) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            pool,
            info: OnceLock::new(),
            usage,
            state: Mutex::new(TrackState::new()),
            groups: WaitList::new(),
            parked: WaitList::new(),
            datagrams: WaitList::new(),
            about: WaitList::new(),
            demand: WaitList::new(),
            late: WaitList::new(),
            late_at: AtomicU64::new(u64::MAX),
        })
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.lock().sealed
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, TrackState> {
        lock(&self.state)
    }

    /// Gives the track its info, once.
    pub(super) fn accept(&self, info: TrackInfo) {
        {
            let mut state = self.lock();
            for (_, subscribed) in &mut state.subscriptions {
                subscribed.age = age(&subscribed.wanted, Some(&info));
            }
            let _ = self.info.set(info);
        }
        self.about.wake();
    }

    /// Creates a group; `None`: after the highest so far.
    pub(super) fn create(self: &Arc<Self>, sequence: Option<u64>) -> Result<Arc<GroupShared>> {
        let mut gone = Vec::new();
        let group = {
            let mut state = self.lock();
            let sequence = sequence.unwrap_or(state.next);
            state.may_create(sequence)?;
            if let Some(old) = state.cache.get(sequence) {
                if !old.group.is_aborted() {
                    return Err(Error::Duplicate);
                }
                let stamp = old.stamp;
                gone.extend(self.unlink(&mut state, stamp));
            }
            let info = self.info.get().cloned().unwrap_or_default();
            let group = Arc::new(GroupShared::new(
                Arc::downgrade(self),
                self.pool.clone(),
                info.timescale,
                sequence,
                state.cache.next_stamp(),
            ));
            let superseded = state.cache.newest().map(|node| (node.sequence, node.stamp));
            let stamp = state.cache.insert(group.clone());
            match superseded {
                Some((newest, _)) if newest > sequence => self.list(&mut state, stamp),
                Some((_, newest)) => self.list(&mut state, newest),
                None => {}
            }
            state.next = state.next.max(sequence + 1);
            state.latest = state.latest.max(Some(sequence));
            self.expire(&mut state, &info, &mut gone);
            group
        };
        self.let_go(gone, &Error::Old);
        self.groups.wake();
        self.pool.settle();
        Ok(group)
    }

    /// A group's first frame was written.
    pub(super) fn started(self: &Arc<Self>, stamp: u64, time: u64) {
        let mut gone = Vec::new();
        {
            let mut state = self.lock();
            if let Some(node) = state.cache.stamped_mut(stamp) {
                node.start = Some(time);
            }
            if let Some(info) = self.info.get() {
                self.expire(&mut state, info, &mut gone);
            }
        }
        self.let_go(gone, &Error::Old);
        self.late.wake();
    }

    /// A frame with this timestamp was written.
    pub(super) fn advanced(&self, time: u64) {
        if time >= self.late_at.load(Ordering::SeqCst) {
            self.late_at.store(u64::MAX, Ordering::SeqCst);
            self.late.wake();
        }
    }

    /// Takes an aborted group that has no frame out of the cache, so that no cursor meets it.
    pub(super) fn forget(&self, stamp: u64) {
        let node = {
            let mut state = self.lock();
            state.evicted = true;
            self.unlink(&mut state, stamp)
        };
        drop(node);
        self.parked.wake();
        self.late.wake();
    }

    /// Lets go of the group `stamp`, unless it is the newest.
    pub(super) fn evict(&self, stamp: u64, error: Error) {
        let node = {
            let mut state = self.lock();
            let Some(node) = state.cache.stamped_mut(stamp) else {
                return;
            };
            node.listed = None;
            if state
                .cache
                .newest()
                .is_some_and(|newest| newest.stamp == stamp)
            {
                return;
            }
            state.evicted = true;
            self.unlink(&mut state, stamp)
        };
        self.let_go(node.into_iter().collect(), &error);
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
                self.forget(group.stamp());
            }
        }
    }

    /// Wakes everybody whom an end concerns.
    pub(super) fn ended(&self) {
        self.groups.wake();
        self.parked.wake();
        self.datagrams.wake();
        self.about.wake();
    }

    /// Adds a subscription; returns its id and where its arrival cursor starts.
    pub(super) fn subscribe(&self, wanted: Subscription) -> (usize, Place) {
        let (id, place, first, changed) = {
            let mut state = self.lock();
            let age = age(&wanted, self.info.get());
            let (floor, place) = state.start(&wanted, age);
            let asked = wanted.start.and(state.latest);
            let before = state.demand();
            state.sum.add(&wanted);
            let changed = before != state.demand();
            let first = state.subscriptions.is_empty();
            let entry = Subscribed {
                wanted,
                age,
                floor,
                asked,
                waiters: Waiters::default(),
            };
            (state.subscriptions.insert(entry), place, first, changed)
        };
        if first {
            self.usage.gained();
        }
        if changed {
            self.demand.wake();
        }
        (id, place)
    }

    pub(super) fn unsubscribe(&self, id: usize) {
        let (changed, last) = {
            let mut state = self.lock();
            let before = state.demand();
            let gone = state.subscriptions.remove(id);
            state.sum.remove(&gone.wanted);
            let last = state.subscriptions.is_empty();
            if last {
                state.subscriptions.shrink_to_fit();
            }
            (before != state.demand(), last)
        };
        if last {
            self.usage.lost();
        }
        if changed {
            self.demand.wake();
        }
    }

    pub(super) fn update(&self, id: usize, wanted: Subscription) {
        let (changed, waiters) = {
            let mut state = self.lock();
            let before = state.demand();
            let latest = state.latest;
            let age = age(&wanted, self.info.get());
            let entry = &mut state.subscriptions[id];
            if let Some(start) = wanted.start {
                entry.floor = start;
                entry.asked = latest;
            }
            entry.age = age;
            let old = std::mem::replace(&mut entry.wanted, wanted.clone());
            let waiters = entry.waiters.take();
            state.sum.remove(&old);
            state.sum.add(&wanted);
            (before != state.demand(), waiters)
        };
        wake(waiters);
        if changed {
            self.demand.wake();
        }
    }

    /// The cached group `sequence`.
    pub(super) fn group(&self, sequence: u64) -> Option<GroupConsumer> {
        self.lock()
            .cache
            .get(sequence)
            .map(|node| GroupConsumer::new(node.group.clone()))
    }

    /// Waits until `ready`, which depends on who asks for the track.
    pub(super) async fn wait_demand(&self, ready: impl Fn(&TrackState) -> bool) {
        let mut waiter = self.demand.waiter();
        poll_fn(|cx| {
            let state = self.lock();
            if ready(&state) {
                return Poll::Ready(());
            }
            waiter.register(cx);
            Poll::Pending
        })
        .await;
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

    /// Waits until the group `stamp` is late.
    pub(super) async fn wait_late(&self, stamp: u64, age: u64) {
        let mut waiter = self.late.waiter();
        poll_fn(|cx| {
            let state = self.lock();
            let at = match state.lateness_of(stamp, age) {
                Lateness::Late => return Poll::Ready(()),
                Lateness::At(time) => time,
                Lateness::Unknown => u64::MAX,
            };
            waiter.register(cx);
            self.late_at.fetch_min(at, Ordering::SeqCst);
            // A writer stores its timestamp and then reads `late_at`, without this lock: look once more.
            match state.lateness_of(stamp, age) {
                Lateness::Late => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    }

    /// Takes out what newer media has passed by the track's own age. Bounded work.
    fn expire(&self, state: &mut TrackState, info: &TrackInfo, gone: &mut Vec<Node>) {
        let age = info.timescale.units(info.max_age);
        for _ in 0..EXPIRED_PER_WRITE {
            let Some(oldest) = state.cache.oldest() else {
                return;
            };
            if state.lateness(oldest, age) != Lateness::Late {
                return;
            }
            let stamp = oldest.stamp;
            state.evicted = true;
            gone.extend(self.unlink(state, stamp));
        }
    }

    fn unlink(&self, state: &mut TrackState, stamp: u64) -> Option<Node> {
        let node = state.cache.remove(stamp)?;
        if let Some(key) = node.listed {
            self.pool.unlist(key);
        }
        Some(node)
    }

    /// Offers a superseded group to the pool.
    fn list(self: &Arc<Self>, state: &mut TrackState, stamp: u64) {
        if let Some(node) = state.cache.stamped_mut(stamp)
            && node.listed.is_none()
        {
            node.listed = Some(self.pool.list(&Arc::downgrade(self), stamp));
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
        self.late.wake();
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
        if !state.subscriptions.is_empty() {
            self.usage.lost();
        }
    }
}

impl TrackState {
    fn new() -> Self {
        Self {
            cache: Cache::new(),
            ring: Ring::default(),
            next: 0,
            latest: None,
            started_at: None,
            evicted: false,
            end: None,
            sealed: false,
            error: None,
            subscriptions: Slab::new(),
            sum: Sum::default(),
            queries: 0,
        }
    }

    /// Whether `sequence` may still be created.
    pub(super) fn may_create(&self, sequence: u64) -> Result<()> {
        if self.sealed {
            return Err(self.error.clone().unwrap_or(Error::Closed));
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

    /// How the track ends for a reader who has had everything there is.
    pub(super) fn outcome(&self) -> Result<()> {
        match (self.end, &self.error) {
            (None, Some(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    pub(super) fn is_used(&self) -> bool {
        !self.subscriptions.is_empty()
    }

    /// What all subscriptions together ask for. A start beyond the newest group is kept from those who have none.
    pub(super) fn demand(&self) -> Option<Subscription> {
        self.sum.total()
    }

    pub(super) fn subscription(&self, id: usize) -> Subscription {
        self.subscriptions[id].wanted.clone()
    }

    /// Registers a task of the subscription's cursors for a change of its preferences.
    pub(super) fn waiters(&mut self, id: usize) -> &mut Waiters {
        &mut self.subscriptions[id].waiters
    }

    /// Fixes the floor of a subscription that starts with `sequence`.
    pub(super) fn set_floor(&mut self, id: usize, sequence: u64) {
        self.subscriptions[id].floor = sequence;
    }

    pub(super) fn view(&mut self, id: usize) -> View {
        let latest = self.latest;
        let entry = &mut self.subscriptions[id];
        if entry.wanted.start.is_some() && entry.asked.is_none() {
            // It subscribed before the first group: what exists now is what it asked for by number.
            entry.asked = latest;
        }
        View {
            floor: entry.floor,
            end: entry.wanted.end.unwrap_or(u64::MAX),
            age: entry.age,
            asked: entry.asked,
            frames: Frames {
                first: entry.wanted.start,
                start: entry.wanted.frame_start,
                end: entry.wanted.frame_end.unwrap_or(u64::MAX),
            },
        }
    }

    /// Where a new subscription starts: its floor, and the arrival place before all it may deliver.
    fn start(&self, wanted: &Subscription, age: u64) -> (u64, Place) {
        if let Some(start) = wanted.start {
            return (start, Place::START);
        }
        let (Some(newest), Some(oldest)) = (self.cache.newest(), self.cache.oldest()) else {
            // Nothing has passed yet, so nothing is to be left out.
            return (0, Place::START);
        };
        if age == 0 {
            return (newest.sequence, Place::before(newest.stamp));
        }
        if self.lateness(oldest, age) != Lateness::Late {
            let floor = match self.started_at {
                Some(start) if !self.evicted => start.min(oldest.sequence),
                _ => oldest.sequence,
            };
            return (floor, Place::START);
        }
        let (mut first, mut stamp) = (newest, newest.stamp);
        while let Some(node) = self.cache.predecessor(first) {
            if self.lateness(node, age) == Lateness::Late {
                break;
            }
            first = node;
            stamp = stamp.min(node.stamp);
        }
        (first.sequence, Place::before(stamp))
    }

    /// How a cached group stands: newest timestamp of the track − where its successor starts, against `age`.
    pub(super) fn lateness(&self, node: &Node, age: u64) -> Lateness {
        let mut reach = None;
        let mut next = self.cache.successor(node);
        for _ in 0..NEIGHBOURS {
            let Some(node) = next else { break };
            reach = node.start;
            if reach.is_some() {
                break;
            }
            next = self.cache.successor(node);
        }
        let Some(reach) = reach else {
            return Lateness::Unknown;
        };
        let at = reach.saturating_add(age);
        match self.newest_time() {
            Some(newest) if newest >= at => Lateness::Late,
            _ => Lateness::At(at),
        }
    }

    /// As [`Self::lateness`], of the group `stamp`.
    pub(super) fn lateness_of(&self, stamp: u64, age: u64) -> Lateness {
        self.cache
            .stamped(stamp)
            .map_or(Lateness::Late, |node| self.lateness(node, age))
    }

    /// The newest timestamp of the newest group that has a frame.
    fn newest_time(&self) -> Option<u64> {
        let mut node = self.cache.newest();
        for _ in 0..NEIGHBOURS {
            if let Some(time) = node?.group.newest() {
                return Some(time);
            }
            node = self.cache.predecessor(node?);
        }
        None
    }
}

/// A subscription's age in units of the track.
fn age(wanted: &Subscription, info: Option<&TrackInfo>) -> u64 {
    match info {
        Some(info) => info.timescale.units(wanted.max_age.min(info.max_age)),
        // Recomputed when the info comes; until then there is no group.
        None => u64::MAX,
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
            &self.late,
        ];
        assert!(lists.iter().all(|list| list.is_empty()));
    }
}
