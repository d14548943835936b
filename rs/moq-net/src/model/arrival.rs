//! The cursor in arrival order.
//!
//! Owns a reader's place in the order of arrival. Called by its one reader. May not know other cursors: everything it
//! remembers is a place, a window and counts.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;
use std::task::{Context, Poll};

use super::cache::{Node, Place};
use super::demand::Interest;
use super::state::{Lateness, TrackShared, TrackState, View};
use super::wait::WaitKey;
use super::{Control, Counts, Datagram, GroupConsumer, Ordered, Subscription, TrackInfo};
use crate::{Error, Result};

/// Groups passed over before the lock is let go for a moment.
const STEPS: usize = 256;

/// Reads a track in arrival order: each live group exactly once. O(1) amortised a delivery.
///
/// Groups that grow older than the subscription's `max_age` before they are delivered are skipped.
#[derive(Debug)]
pub struct Subscriber {
    interest: Arc<Interest>,
    place: Place,
    /// This cursor's own limits.
    window: Range<u64>,
    /// Limits in force at the last poll, the subscription's included.
    applied: Option<Range<u64>>,
    /// Ranges that came into the limits after their groups were passed: delivered by sequence first.
    replay: VecDeque<Range<u64>>,
    /// Sequences within the limits that were delivered or skipped.
    seen: u64,
    counts: Counts,
    /// Next datagram to receive.
    datagram: u64,
    waiting: Waiting,
}

/// The lists a cursor may be on.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    groups: WaitKey,
    parked: WaitKey,
    update: WaitKey,
    datagrams: WaitKey,
}

impl Waiting {
    /// Registers for everything that can move a cursor: a group, an eviction, new preferences, the end.
    pub(super) fn register(
        &mut self,
        track: &TrackShared,
        state: &mut TrackState,
        id: usize,
        cx: &Context<'_>,
        parked: bool,
    ) {
        track.groups.register(&mut self.groups, cx);
        if parked {
            track.parked.register(&mut self.parked, cx);
        }
        state.waiters(id).register(&mut self.update, cx.waker());
    }

    pub(super) fn leave(&mut self, interest: &Interest) {
        let track = &interest.track;
        track.groups.remove(&mut self.groups);
        track.parked.remove(&mut self.parked);
        track.datagrams.remove(&mut self.datagrams);
        if self.update.is_registered() {
            track.lock().waiters(interest.id).remove(&mut self.update);
        }
    }
}

/// What became of one group a cursor looked at.
enum Step {
    Deliver(GroupConsumer),
    Pass,
    Nothing,
}

impl Subscriber {
    pub(super) fn new(track: &Arc<TrackShared>, subscription: Subscription) -> Self {
        let datagram = track.lock().ring.end();
        let (id, place) = track.subscribe(subscription);
        Self {
            interest: Arc::new(Interest {
                track: track.clone(),
                id,
            }),
            place,
            window: 0..u64::MAX,
            applied: None,
            replay: VecDeque::new(),
            seen: 0,
            counts: Counts::default(),
            datagram,
            waiting: Waiting::default(),
        }
    }

    /// The track's name in its broadcast.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.interest.track.name
    }

    /// Waits for what the track says of itself.
    ///
    /// # Errors
    /// What the request was refused or the track aborted with.
    pub async fn info(&self) -> Result<TrackInfo> {
        self.interest.track.wait_info().await
    }

    /// The next group in arrival order; `None` at the declared end of the track or of the subscription's range.
    ///
    /// # Errors
    /// What the track was aborted with, after everything cached; a group's own trouble is met when reading that group.
    pub async fn recv_group(&mut self) -> Result<Option<GroupConsumer>> {
        poll_fn(|cx| self.poll_recv_group(cx)).await
    }

    /// See [`Self::recv_group`].
    pub fn poll_recv_group(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<GroupConsumer>>> {
        let interest = self.interest.clone();
        loop {
            let mut state = interest.track.lock();
            let view = state.view(interest.id);
            self.apply(&view);
            for _ in 0..STEPS {
                match self.step(&state, &view) {
                    Step::Deliver(group) => return Poll::Ready(Ok(Some(group))),
                    Step::Pass => {}
                    Step::Nothing => {
                        if let Some(end) = self.end(&state, &view) {
                            return Poll::Ready(end.map(|()| None));
                        }
                        let parked = view.end != u64::MAX || state.sealed;
                        self.waiting
                            .register(&interest.track, &mut state, interest.id, cx, parked);
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    /// The next datagram sent since this subscriber came; `None` at the end of the track. At most 64 wait: the oldest
    /// goes.
    ///
    /// # Errors
    /// What the track was aborted with.
    pub async fn recv_datagram(&mut self) -> Result<Option<Datagram>> {
        poll_fn(|cx| self.poll_recv_datagram(cx)).await
    }

    /// See [`Self::recv_datagram`].
    pub fn poll_recv_datagram(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Datagram>>> {
        let track = &self.interest.track;
        let state = track.lock();
        if let Some((position, datagram)) = state.ring.at_or_after(self.datagram) {
            self.datagram = position + 1;
            return Poll::Ready(Ok(Some(datagram.clone())));
        }
        if state.sealed {
            return Poll::Ready(state.outcome().map(|()| None));
        }
        track.datagrams.register(&mut self.waiting.datagrams, cx);
        Poll::Pending
    }

    /// A second cursor on the same subscription, in sequence order, from the subscription's start. Neither moves the
    /// other; the subscription lives until both are gone.
    #[must_use]
    pub fn ordered(&self) -> Ordered {
        Ordered::new(self.interest.clone())
    }

    /// Replaces the preferences.
    pub fn update(&self, subscription: Subscription) {
        self.interest.update(subscription);
    }

    /// The preferences now.
    #[must_use]
    pub fn subscription(&self) -> Subscription {
        self.interest.subscription()
    }

    /// A handle that changes the preferences from elsewhere.
    #[must_use]
    pub fn control(&self) -> Control {
        Control(self.interest.clone())
    }

    /// Limits this cursor, not the subscription, to a window of sequences. While everything in it was delivered the
    /// cursor parks. Cached groups that a wider window takes in become deliverable, those that arrived already by
    /// sequence and before others.
    pub fn set_groups(&mut self, range: impl RangeBounds<u64>) {
        self.window = half_open(&range);
    }

    /// Waits until it is known which group the subscription starts with. Groups below it won't be delivered. `None` if
    /// the track ended without one.
    ///
    /// # Errors
    /// What the track was aborted with before any group.
    pub async fn start(&mut self) -> Result<Option<u64>> {
        poll_fn(|cx| self.poll_start(cx)).await
    }

    /// See [`Self::start`].
    pub fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<u64>>> {
        let interest = self.interest.clone();
        let mut state = interest.track.lock();
        let view = state.view(interest.id);
        if let Some((first, _)) = state.cache.at_or_above(view.floor, Place::START) {
            let start = match state.started_at {
                Some(declared) if declared >= view.floor => declared.min(first.sequence),
                _ => first.sequence,
            };
            state.set_floor(interest.id, start);
            return Poll::Ready(Ok(Some(start)));
        }
        if state.sealed {
            return Poll::Ready(state.outcome().map(|()| None));
        }
        self.waiting
            .register(&interest.track, &mut state, interest.id, cx, true);
        Poll::Pending
    }

    /// Waits until the track's end is declared: the first sequence that will not exist. May be before all its groups
    /// have arrived.
    ///
    /// # Errors
    /// What the track was aborted with, if no end was declared.
    pub async fn finished(&self) -> Result<u64> {
        self.interest.track.wait_end().await
    }

    /// The highest group sequence so far.
    #[must_use]
    pub fn latest(&self) -> Option<u64> {
        self.interest.track.lock().latest
    }

    /// The track's error, if it was aborted.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.interest.track.lock().error.clone()
    }

    /// What became of the groups so far: their sum is how many arrived between the subscription's start and this
    /// cursor's place.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes note of limits that moved since the last poll.
    fn apply(&mut self, view: &View) {
        let now = self.window.start.max(view.floor)..self.window.end.min(view.end);
        let now = now.start..now.end.max(now.start);
        match &self.applied {
            Some(before) if *before != now => {
                // Before the first poll nothing was passed, so there is nothing to come back to.
                let before = before.clone();
                for range in &mut self.replay {
                    *range = range.start.max(now.start)..range.end.min(now.end);
                }
                self.replay.push_front(now.start..now.end.min(before.start));
                self.replay.push_back(now.start.max(before.end)..now.end);
                self.replay.retain(|range| !range.is_empty());
                self.seen = 0;
            }
            _ => {}
        }
        self.applied = Some(now);
    }

    fn step(&mut self, state: &TrackState, view: &View) -> Step {
        while let Some(range) = self.replay.front_mut() {
            match state.cache.at_or_above(range.start, Place::START) {
                Some((node, _)) if node.sequence < range.end => {
                    range.start = node.sequence + 1;
                    // What arrives later is met in its turn.
                    if node.stamp > self.place.stamp() {
                        return Step::Pass;
                    }
                    return self.offer(state, view, node);
                }
                _ => self.replay.pop_front(),
            };
        }
        let Some((node, place)) = state.cache.arrived_after(self.place) else {
            return Step::Nothing;
        };
        self.counts.gone += place.stamp() - self.place.stamp() - 1;
        self.place = place;
        if self
            .applied
            .as_ref()
            .is_some_and(|limits| limits.contains(&node.sequence))
        {
            return self.offer(state, view, node);
        }
        self.counts.outside += 1;
        Step::Pass
    }

    fn offer(&mut self, state: &TrackState, view: &View, node: &Node) -> Step {
        self.seen += 1;
        if view.skips(state, node) {
            self.counts.late += 1;
            return Step::Pass;
        }
        self.counts.delivered += 1;
        Step::Deliver(view.reader(node))
    }

    /// Whether nothing more can come, with everything cached delivered.
    fn end(&self, state: &TrackState, view: &View) -> Option<Result<()>> {
        if state.sealed {
            let held = state.cache.at_or_above(self.window.end, Place::START);
            let parked = held.is_some_and(|(node, _)| node.sequence < view.end);
            return (!parked).then(|| state.outcome());
        }
        let end = view.end.min(state.end.unwrap_or(u64::MAX));
        if end == u64::MAX || self.window.end < end {
            return None;
        }
        self.is_complete(state, view, end).then_some(Ok(()))
    }

    /// Whether no group below `end` can still be delivered.
    fn is_complete(&self, state: &TrackState, view: &View, end: u64) -> bool {
        if self.seen >= end.saturating_sub(self.window.start.max(view.floor)) {
            return true;
        }
        // A group below `end` that comes now would be late at once if one above it is, or evicted at once.
        state
            .cache
            .at_or_above(end, Place::START)
            .is_some_and(|(above, _)| {
                state.cache.predecessor(above).is_none()
                    || state.lateness(above, view.age) == Lateness::Late
            })
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.waiting.leave(&self.interest);
    }
}

/// The bounds as `start..end`, `end` being `u64::MAX` without an upper bound.
pub(super) fn half_open(range: &impl RangeBounds<u64>) -> Range<u64> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let start = match range.start_bound() {
        Included(&start) => start,
        Excluded(&start) => start.saturating_add(1),
        Unbounded => 0,
    };
    let end = match range.end_bound() {
        Included(&end) => end.saturating_add(1),
        Excluded(&end) => end,
        Unbounded => u64::MAX,
    };
    start..end
}
