//! The cursor in arrival order.
//!
//! Owns a reader's place in the order of arrival. Called by its one reader. May not know other cursors: everything it
//! remembers is a place, a window and counts.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;
use std::task::{Context, Poll};

use super::audience::Subscribed;
use super::cache::{Cache, Node, Place};
use super::demand::Interest;
use super::state::{TrackShared, TrackState};
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
    cursor: Cursor,
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
    /// Registers for what can move a cursor: a group, the end, new preferences, and with `parked` an eviction.
    pub(super) fn register(
        &mut self,
        track: &TrackShared,
        subscribed: &mut Subscribed,
        cx: &Context<'_>,
        parked: bool,
    ) {
        track.groups.register(&mut self.groups, cx);
        if parked {
            track.parked.register(&mut self.parked, cx);
        }
        subscribed.waiters.register(&mut self.update, cx.waker());
    }

    pub(super) fn leave(&mut self, interest: &Interest) {
        let track = &interest.track;
        track.groups.remove(&mut self.groups);
        track.parked.remove(&mut self.parked);
        track.datagrams.remove(&mut self.datagrams);
        if self.update.is_registered() {
            track
                .lock()
                .audience
                .get_mut(interest.id)
                .waiters
                .remove(&mut self.update);
        }
    }
}

/// What became of one group a cursor looked at.
pub(super) enum Step {
    /// It is the reader's.
    Deliver(GroupConsumer),
    /// It is not for this reader; there may be another.
    Pass,
    /// There is none.
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
            cursor: Cursor::new(place),
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
            self.cursor.apply(subscribed);
            for _ in 0..STEPS {
                match self.cursor.step(cache, subscribed) {
                    Step::Deliver(group) => return Poll::Ready(Ok(Some(group))),
                    Step::Pass => {}
                    Step::Nothing => {
                        if let Some(end) = self.cursor.end(&state, *id) {
                            return Poll::Ready(end.map(|()| None));
                        }
                        let sealed = state.sealed;
                        let subscribed = state.audience.get_mut(*id);
                        let parked = sealed || subscribed.end != u64::MAX;
                        self.waiting.register(track, subscribed, cx, parked);
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
        self.cursor.window = half_open(&range);
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
        let Interest { track, id } = &*self.interest;
        let mut state = track.lock();
        let TrackState {
            cache,
            audience,
            started_at,
            ..
        } = &mut *state;
        let subscribed = audience.get_mut(*id);
        if let Some((first, _)) = cache.at_or_above(subscribed.floor, Place::START) {
            let start = match *started_at {
                Some(declared) if declared >= subscribed.floor => declared.min(first.sequence),
                _ => first.sequence,
            };
            subscribed.floor = start;
            return Poll::Ready(Ok(Some(start)));
        }
        if state.sealed {
            return Poll::Ready(state.outcome().map(|()| None));
        }
        self.waiting
            .register(track, state.audience.get_mut(*id), cx, true);
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
        self.cursor.counts
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.waiting.leave(&self.interest);
    }
}

/// A place in the order of arrival, within limits.
#[derive(Debug)]
struct Cursor {
    place: Place,
    /// This cursor's own limits.
    window: Range<u64>,
    /// Limits in force at the last poll, the subscription's included.
    limits: Option<Range<u64>>,
    /// Ranges that came into the limits after their groups were passed: delivered by sequence, first.
    replay: VecDeque<Range<u64>>,
    /// How many groups within the limits were delivered or skipped.
    seen: u64,
    counts: Counts,
}

impl Cursor {
    fn new(place: Place) -> Self {
        Self {
            place,
            window: 0..u64::MAX,
            limits: None,
            replay: VecDeque::new(),
            seen: 0,
            counts: Counts::default(),
        }
    }

    /// Takes note of limits that moved since the last poll.
    fn apply(&mut self, subscribed: &Subscribed) {
        let start = self.window.start.max(subscribed.floor);
        let now = start..self.window.end.min(subscribed.end).max(start);
        // Before the first poll nothing was passed, so there is nothing to come back to.
        if let Some(before) = self.limits.take_if(|before| *before != now) {
            for range in &mut self.replay {
                *range = range.start.max(now.start)..range.end.min(now.end);
            }
            self.replay.push_front(now.start..now.end.min(before.start));
            self.replay.push_back(now.start.max(before.end)..now.end);
            self.replay.retain(|range| !range.is_empty());
            // A later end only adds to the count; otherwise some of what was counted may be outside now.
            if now.start != before.start || now.end < before.end {
                self.seen = 0;
            }
        }
        self.limits = Some(now);
    }

    fn step(&mut self, cache: &Cache, subscribed: &Subscribed) -> Step {
        while let Some(range) = self.replay.front_mut() {
            match cache.at_or_above(range.start, Place::START) {
                Some((node, _)) if node.sequence < range.end => {
                    range.start = node.sequence + 1;
                    // What arrived after the cursor's place is met in its turn.
                    return match node.stamp > self.place.stamp() {
                        true => Step::Pass,
                        false => self.offer(cache, subscribed, node),
                    };
                }
                _ => self.replay.pop_front(),
            };
        }
        let Some((node, place)) = cache.arrived_after(self.place) else {
            return Step::Nothing;
        };
        self.counts.gone += place.stamp() - self.place.stamp() - 1;
        self.place = place;
        if self
            .limits
            .as_ref()
            .is_some_and(|limits| limits.contains(&node.sequence))
        {
            return self.offer(cache, subscribed, node);
        }
        self.counts.outside += 1;
        Step::Pass
    }

    fn offer(&mut self, cache: &Cache, subscribed: &Subscribed, node: &Node) -> Step {
        self.seen += 1;
        if subscribed.skips(cache, node) {
            self.counts.late += 1;
            return Step::Pass;
        }
        self.counts.delivered += 1;
        Step::Deliver(subscribed.reader(node))
    }

    /// Whether nothing more can come, everything cached being delivered.
    fn end(&self, state: &TrackState, id: usize) -> Option<Result<()>> {
        let subscribed = state.audience.get(id);
        if state.sealed {
            let held = state.cache.at_or_above(self.window.end, Place::START);
            let parked = held.is_some_and(|(node, _)| node.sequence < subscribed.end);
            return (!parked).then(|| state.outcome());
        }
        let end = subscribed.end.min(state.end.unwrap_or(u64::MAX));
        if end == u64::MAX || self.window.end < end {
            return None;
        }
        self.is_complete(&state.cache, subscribed, end)
            .then_some(Ok(()))
    }

    /// Whether no group below `end` can still be delivered.
    fn is_complete(&self, cache: &Cache, subscribed: &Subscribed, end: u64) -> bool {
        if self.seen >= end.saturating_sub(self.window.start.max(subscribed.floor)) {
            return true;
        }
        // A group below `end` that comes now would be late if the first one above is, or is past keeping.
        cache
            .at_or_above(end, Place::START)
            .is_some_and(|(above, _)| {
                cache.predecessor(above).is_none() || cache.is_late(above, subscribed.age)
            })
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
