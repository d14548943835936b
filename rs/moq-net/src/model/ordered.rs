//! The cursor in sequence order.
//!
//! Owns a reader's next sequence. Called by its one reader. May not know other cursors, nor the order of arrival.
//!
//! The next group is found by a seek: one link if the group just delivered is still cached or everything below the
//! cursor has gone, else a lookup in the cache's map.

use std::future::poll_fn;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;
use std::task::{Context, Poll};

use super::arrival::{Step, Waiting, half_open};
use super::audience::Subscribed;
use super::cache::{Cache, Place};
use super::demand::Interest;
use super::state::TrackState;
use super::{Control, Counts, Frame, GroupConsumer};
use crate::Result;

/// Groups passed over before the lock is let go for a moment.
const STEPS: usize = 256;

/// Reads a track in sequence order: strictly increasing sequences, waiting for no hole. O(1) amortised a delivery,
/// O(log cached groups) at worst.
#[derive(Debug)]
pub struct Ordered {
    interest: Arc<Interest>,
    cursor: Cursor,
    /// The group [`Self::read_frame`] is in.
    group: Option<GroupConsumer>,
    waiting: Waiting,
}

impl Ordered {
    pub(super) fn new(interest: Arc<Interest>) -> Self {
        Self {
            interest,
            cursor: Cursor::new(),
            group: None,
            waiting: Waiting::default(),
        }
    }

    /// The smallest cached group at or above the cursor; `None` at the declared end of the track or of the
    /// subscription's range.
    ///
    /// # Errors
    /// What the track was aborted with, after everything cached; a group's own trouble is met when reading that group.
    pub async fn next_group(&mut self) -> Result<Option<GroupConsumer>> {
        poll_fn(|cx| self.poll_next_group(cx)).await
    }

    /// See [`Self::next_group`].
    pub fn poll_next_group(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<GroupConsumer>>> {
        let Interest { track, id } = &*self.interest;
        loop {
            let mut state = track.lock();
            let TrackState {
                cache,
                audience,
                latest,
                ..
            } = &mut *state;
            let subscribed = audience.get_mut(*id);
            subscribed.note_asked(*latest);
            self.cursor.raise(subscribed.floor);
            for _ in 0..STEPS {
                match self.cursor.step(cache, subscribed) {
                    Step::Deliver(group) => return Poll::Ready(Ok(Some(group))),
                    Step::Pass => {}
                    Step::Nothing => {
                        if let Some(end) = self.cursor.end(&state, *id) {
                            return Poll::Ready(end.map(|()| None));
                        }
                        let parked = state.sealed || self.cursor.is_parked();
                        let subscribed = state.audience.get_mut(*id);
                        self.waiting.register(track, subscribed, cx, parked);
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    /// The next frame across groups, with the sequence of its group. A group that fails is left for the next one.
    ///
    /// # Errors
    /// What the track was aborted with, after everything cached.
    pub async fn read_frame(&mut self) -> Result<Option<(u64, Frame)>> {
        poll_fn(|cx| self.poll_read_frame(cx)).await
    }

    /// See [`Self::read_frame`].
    pub fn poll_read_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<(u64, Frame)>>> {
        loop {
            if let Some(group) = &mut self.group {
                match group.poll_read_frame(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(Some(frame))) => {
                        return Poll::Ready(Ok(Some((group.sequence(), frame))));
                    }
                    Poll::Ready(Ok(None) | Err(_)) => self.group = None,
                }
            }
            match std::task::ready!(self.poll_next_group(cx))? {
                Some(group) => self.group = Some(group),
                None => return Poll::Ready(Ok(None)),
            }
        }
    }

    /// Limits this cursor, not the subscription, to a window of sequences and moves it to the window's start. At the
    /// upper bound it parks until the window is moved or nothing more can come.
    pub fn set_groups(&mut self, range: impl RangeBounds<u64>) {
        self.cursor.set_window(half_open(&range));
    }

    /// A handle that changes the subscription's preferences.
    #[must_use]
    pub fn control(&self) -> Control {
        Control(self.interest.clone())
    }

    /// What became of the groups so far. Groups that went before the cursor came to them aren't known to it.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.cursor.counts
    }
}

impl Drop for Ordered {
    fn drop(&mut self) {
        self.waiting.leave(&self.interest);
    }
}

/// A place in the order of sequence, within a window.
#[derive(Debug)]
struct Cursor {
    /// Smallest sequence still wanted.
    next: u64,
    /// Where the group before `next` was seen.
    hint: Place,
    window: Range<u64>,
    counts: Counts,
}

impl Cursor {
    fn new() -> Self {
        Self {
            next: 0,
            hint: Place::START,
            window: 0..u64::MAX,
            counts: Counts::default(),
        }
    }

    fn set_window(&mut self, window: Range<u64>) {
        if window.start != self.window.start {
            self.next = window.start;
        }
        self.window = window;
    }

    fn raise(&mut self, floor: u64) {
        self.next = self.next.max(floor).max(self.window.start);
    }

    const fn is_parked(&self) -> bool {
        self.next >= self.window.end
    }

    fn step(&mut self, cache: &Cache, subscribed: &Subscribed) -> Step {
        let limit = subscribed.end.min(self.window.end);
        match cache.at_or_above(self.next, self.hint) {
            Some((node, place)) if node.sequence < limit => {
                self.next = node.sequence + 1;
                self.hint = place;
                if subscribed.skips(cache, node) {
                    self.counts.late += 1;
                    return Step::Pass;
                }
                self.counts.delivered += 1;
                Step::Deliver(subscribed.reader(node))
            }
            _ => Step::Nothing,
        }
    }

    /// Whether nothing more can come, nothing being deliverable now.
    fn end(&self, state: &TrackState, id: usize) -> Option<Result<()>> {
        let end = state.audience.get(id).end;
        if self.next >= end.min(state.end.unwrap_or(u64::MAX)) {
            return Some(Ok(()));
        }
        match state.cache.at_or_above(self.next, self.hint) {
            // Beyond the range: what is missing below it is not waited for.
            Some((above, _)) if above.sequence >= end => Some(Ok(())),
            // Held back by the window.
            Some(_) => None,
            None => state.sealed.then(|| state.outcome()),
        }
    }
}
