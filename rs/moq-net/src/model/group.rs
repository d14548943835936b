//! A group: frames in order, independently decodable.
//!
//! Owns a group's frames, its end and who waits for either. Called by its one producer and by any number of readers,
//! which share the frames and keep only an index each. May not know its neighbours: what depends on other groups
//! (lateness, eviction) is asked of the track.

use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;

use super::cache::Place;
use super::frame::{FRAME_OVERHEAD, Frames, Stored};
use super::pool::Pool;
use super::state::TrackShared;
use super::wait::{WaitKey, WaitList};
use super::{Frame, MAX_FRAME_BYTES, lock};
use crate::time::MAX;
use crate::{Error, Result, Timescale, Timestamp};

/// Most frames in a group.
pub const MAX_GROUP_FRAMES: usize = 8192;
/// Most payload bytes in a group.
pub const MAX_GROUP_BYTES: usize = 32 << 20;

/// What a group is charged beside its frames: its nodes, index entries and allocations, rounded up. Empty groups cost
/// this too, so they can't fill memory for free.
pub(super) const GROUP_OVERHEAD: u64 = 640;

/// No timestamp yet; no valid one is this large.
const NO_TIME: u64 = u64::MAX;

/// A group as the cache and all its handles share it.
pub(super) struct GroupShared {
    sequence: u64,
    /// Where it is in the cache, or was.
    place: Place,
    scale: Timescale,
    track: Weak<TrackShared>,
    pool: Pool,
    /// Largest timestamp so far, or [`NO_TIME`]; read by cursors without the group's lock.
    newest: AtomicU64,
    status: AtomicU8,
    state: Mutex<GroupState>,
    waiters: WaitList,
}

#[derive(Default)]
struct GroupState {
    /// Index of the first frame here.
    start: u64,
    frames: Frames,
    bytes: usize,
    charged: u64,
    end: Option<Result<()>>,
    /// The cache let go: the frames are gone too.
    evicted: bool,
}

const OPEN: u8 = 0;
const FINISHED: u8 = 1;
const ABORTED: u8 = 2;

impl GroupShared {
    pub(super) fn new(
        track: Weak<TrackShared>,
        pool: Pool,
        scale: Timescale,
        sequence: u64,
        place: Place,
    ) -> Self {
        pool.charge(GROUP_OVERHEAD);
        Self {
            sequence,
            place,
            scale,
            track,
            pool,
            newest: AtomicU64::new(NO_TIME),
            status: AtomicU8::new(OPEN),
            state: Mutex::new(GroupState {
                charged: GROUP_OVERHEAD,
                ..GroupState::default()
            }),
            waiters: WaitList::new(),
        }
    }

    pub(super) const fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) const fn place(&self) -> Place {
        self.place
    }

    /// Largest timestamp so far.
    pub(super) fn newest(&self) -> Option<u64> {
        match self.newest.load(Ordering::SeqCst) {
            NO_TIME => None,
            time => Some(time),
        }
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.status.load(Ordering::Relaxed) == ABORTED
    }

    pub(super) fn is_open(&self) -> bool {
        self.status.load(Ordering::Relaxed) == OPEN
    }

    /// Ends the group with `error` unless it has ended. Returns whether it was left without a frame to read.
    pub(super) fn abort(&self, error: Error) -> bool {
        let empty = {
            let mut state = lock(&self.state);
            if state.end.is_some() {
                return false;
            }
            state.end = Some(Err(error));
            self.status.store(ABORTED, Ordering::Relaxed);
            state.frames.is_empty()
        };
        self.waiters.wake_last();
        empty
    }

    /// Lets go of the frames: readers get `error` now, even those of a finished group. Call with no lock held.
    pub(super) fn evict(&self, error: Error) {
        let frames = {
            let mut state = lock(&self.state);
            state.end = Some(Err(error));
            state.evicted = true;
            self.status.store(ABORTED, Ordering::Relaxed);
            self.pool.release(std::mem::take(&mut state.charged));
            std::mem::take(&mut state.frames)
        };
        drop(frames);
        self.waiters.wake_last();
    }
}

impl Drop for GroupShared {
    fn drop(&mut self) {
        if let Ok(state) = self.state.get_mut() {
            self.pool.release(state.charged);
        }
    }
}

impl fmt::Debug for GroupShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}

/// Writes a group. Dropping it unfinished aborts the group with [`Error::Dropped`].
#[derive(Debug)]
pub struct Group {
    shared: Arc<GroupShared>,
    track: Arc<TrackShared>,
}

impl Group {
    pub(super) const fn new(shared: Arc<GroupShared>, track: Arc<TrackShared>) -> Self {
        Self { shared, track }
    }

    /// The group's sequence in its track.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.shared.sequence
    }

    /// Frames written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.shared.state).frames.len()
    }

    /// True before the first frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a frame; readers see it at once. `timestamp` is converted to the track's timescale (to the nearest
    /// unit if the scales differ). The payload is kept, not copied. O(1) amortised.
    ///
    /// # Errors
    /// [`Error::FrameTooLarge`]; [`Error::GroupTooLarge`], which aborts the group; [`Error::TimestampMismatch`] above
    /// 2^62−1; or what the group was aborted or evicted with.
    pub fn write_frame(&self, timestamp: Timestamp, payload: impl Into<Bytes>) -> Result<()> {
        let payload = payload.into();
        let time = timestamp.convert(self.shared.scale).value();
        if time > MAX {
            return Err(Error::TimestampMismatch);
        }
        if payload.len() > MAX_FRAME_BYTES {
            return Err(Error::FrameTooLarge);
        }
        match self.push(time, payload)? {
            0 => self.track.started(self.shared.place, time),
            _ => self.track.late.advanced(time),
        }
        self.shared.waiters.wake();
        self.shared.pool.settle();
        Ok(())
    }

    /// Returns the number of frames before this one.
    fn push(&self, time: u64, payload: Bytes) -> Result<usize> {
        let mut state = lock(&self.shared.state);
        if let Some(end) = &state.end {
            return Err(end.clone().err().unwrap_or(Error::Closed));
        }
        let index = state.frames.len();
        if index >= MAX_GROUP_FRAMES || state.bytes + payload.len() > MAX_GROUP_BYTES {
            drop(state);
            self.end(Error::GroupTooLarge);
            return Err(Error::GroupTooLarge);
        }
        let charge = payload.len() as u64 + FRAME_OVERHEAD;
        state.bytes += payload.len();
        state.charged += charge;
        state.frames.push(Stored { time, payload });
        let newest = &self.shared.newest;
        if self.shared.newest().is_none_or(|newest| newest < time) {
            newest.store(time, Ordering::SeqCst);
        }
        self.shared.pool.charge(charge);
        Ok(index)
    }

    /// Says that the first frame to be written has index `frame`, not 0: the group is the tail of one.
    ///
    /// # Errors
    /// [`Error::ProtocolViolation`] after the first frame.
    pub fn start_at(&self, frame: u64) -> Result<()> {
        let mut state = lock(&self.shared.state);
        if !state.frames.is_empty() {
            return Err(Error::ProtocolViolation(
                "a group's first frame was numbered after it was written",
            ));
        }
        state.start = frame;
        Ok(())
    }

    /// Declares the group complete.
    ///
    /// # Errors
    /// What the group was aborted or evicted with.
    pub fn finish(self) -> Result<()> {
        {
            let mut state = lock(&self.shared.state);
            if let Some(end) = &state.end {
                return end.clone();
            }
            state.end = Some(Ok(()));
            self.shared.status.store(FINISHED, Ordering::Relaxed);
        }
        self.shared.waiters.wake_last();
        Ok(())
    }

    /// Ends the group early: readers get the frames already written, then `error`.
    pub fn abort(self, error: Error) {
        self.end(error);
    }

    /// Waits until the group is evicted or aborted from elsewhere: what else is written goes nowhere.
    pub async fn closed(&self) -> Error {
        let mut waiter = self.shared.waiters.waiter();
        poll_fn(|cx| {
            let state = lock(&self.shared.state);
            match &state.end {
                Some(end) => Poll::Ready(end.clone().err().unwrap_or(Error::Closed)),
                None => {
                    waiter.register(cx);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// A reader from the first frame.
    #[must_use]
    pub fn consume(&self) -> GroupConsumer {
        GroupConsumer::new(self.shared.clone(), 0, u64::MAX)
    }

    fn end(&self, error: Error) {
        if self.shared.abort(error) {
            self.track.forget(self.shared.place);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.shared.is_open() {
            self.end(Error::Dropped);
        }
    }
}

/// Reads a group. Each clone has a place of its own; all share the frames.
#[derive(Debug)]
pub struct GroupConsumer {
    shared: Arc<GroupShared>,
    index: u64,
    /// First frame not to be read.
    limit: u64,
    key: WaitKey,
}

impl GroupConsumer {
    /// Reads the frames `index..limit`.
    pub(super) fn new(shared: Arc<GroupShared>, index: u64, limit: u64) -> Self {
        Self {
            shared,
            index,
            limit,
            key: WaitKey::default(),
        }
    }

    /// The group's sequence in its track.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.shared.sequence
    }

    /// Index of the frame the next read returns, or of the first there is if that is later.
    #[must_use]
    pub fn frame_index(&self) -> u64 {
        self.index.max(lock(&self.shared.state).start)
    }

    /// Moves the next read to frame `index`, forward or back.
    pub fn skip_to(&mut self, index: u64) {
        self.index = index;
    }

    /// Reads the next frame; `None` when the group is complete. O(1), nothing is copied.
    ///
    /// # Errors
    /// What the group was aborted with, after the frames written before; [`Error::Evicted`] or [`Error::Old`] as soon
    /// as the cache let go of it.
    pub async fn read_frame(&mut self) -> Result<Option<Frame>> {
        poll_fn(|cx| self.poll_read_frame(cx)).await
    }

    /// See [`Self::read_frame`].
    pub fn poll_read_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Frame>>> {
        let shared = &*self.shared;
        let state = lock(&shared.state);
        self.index = self.index.max(state.start);
        if self.index >= self.limit && !state.evicted {
            return Poll::Ready(Ok(None));
        }
        let place = usize::try_from(self.index - state.start).unwrap_or(usize::MAX);
        if let Some(stored) = state.frames.get(place) {
            self.index += 1;
            let timestamp = Timestamp::new(stored.time, shared.scale);
            return Poll::Ready(Ok(Some(Frame {
                timestamp,
                payload: stored.payload.clone(),
            })));
        }
        match &state.end {
            Some(end) => Poll::Ready(end.clone().map(|()| None)),
            None => {
                shared.waiters.register(&mut self.key, cx);
                Poll::Pending
            }
        }
    }

    /// Whether the group is complete.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.shared.status.load(Ordering::Relaxed) == FINISHED
    }

    /// Whether newer media has passed the group by at least `max_age`: newest timestamp of the track − where the
    /// group's successor starts. The track's newest group never is late; one the cache let go of is.
    #[must_use]
    pub fn is_late(&self, max_age: Duration) -> bool {
        let age = self.shared.scale.units(max_age);
        let track = self.shared.track.upgrade();
        track.is_none_or(|track| track.is_late(self.shared.place, age))
    }

    /// Waits until the group [is late](Self::is_late).
    pub async fn late(&self, max_age: Duration) {
        let age = self.shared.scale.units(max_age);
        let Some(track) = self.shared.track.upgrade() else {
            return;
        };
        track.wait_late(self.shared.place, age).await;
    }
}

impl Clone for GroupConsumer {
    fn clone(&self) -> Self {
        Self::new(self.shared.clone(), self.index, self.limit)
    }
}

impl Drop for GroupConsumer {
    fn drop(&mut self) {
        self.shared.waiters.remove(&mut self.key);
    }
}
