//! What subscribers ask for, and the sum of it that goes upstream.
//!
//! Owns the preferences, their sum, and the handles that keep a subscription alive, change it and watch the sum. Called
//! by cursors (which hold a handle) and by whoever feeds a track (which watches). May not know the cache.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::state::TrackShared;
use super::wait::WaitKey;

/// What one subscriber prefers. Groups are numbered; `start` and `end` make a half-open range.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Subscription {
    /// 0 (least, default) to 255 (most urgent).
    pub priority: u8,
    /// How far behind the newest media a group may be, by presentation time, before it is skipped. Zero (the default)
    /// means only the newest group; it is clamped by the track's own [`crate::TrackInfo::max_age`].
    pub max_age: Duration,
    /// First group wanted. `None`: the oldest group within `max_age`. Groups asked for by number that exist when the
    /// subscription starts are not skipped for their age.
    pub start: Option<u64>,
    /// First group **not** wanted. `None`: to the end of the track.
    pub end: Option<u64>,
    /// First frame wanted of the group `start`.
    pub frame_start: u64,
    /// First frame **not** wanted of the last group before `end`. `None`: all of it.
    pub frame_end: Option<u64>,
}

impl Subscription {
    /// The newest group and every later one that is at most `max_age` behind.
    #[must_use]
    pub fn within(max_age: Duration) -> Self {
        Self {
            max_age,
            ..Self::default()
        }
    }

    /// Everything the track keeps, from its oldest cached group.
    #[must_use]
    pub fn everything() -> Self {
        Self {
            max_age: Duration::MAX,
            start: Some(0),
            ..Self::default()
        }
    }
}

/// How often each value of one preference is held.
#[derive(Debug)]
struct Tally<T>(BTreeMap<T, usize>);

impl<T: Ord + Copy> Tally<T> {
    fn add(&mut self, value: T) {
        *self.0.entry(value).or_default() += 1;
    }

    fn remove(&mut self, value: T) {
        if let Some(count) = self.0.get_mut(&value) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&value);
            }
        }
    }

    fn min(&self) -> Option<T> {
        self.0.first_key_value().map(|(&value, _)| value)
    }

    fn max(&self) -> Option<T> {
        self.0.last_key_value().map(|(&value, _)| value)
    }
}

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// The most demanding of each preference over all subscriptions. Adding, removing, reading: O(log distinct values).
#[derive(Debug, Default)]
pub(super) struct Sum {
    priority: Tally<u8>,
    max_age: Tally<Duration>,
    /// Explicit starts, with the first frame.
    start: Tally<(u64, u64)>,
    /// How many have no start of their own.
    anywhere: usize,
    /// Ends, with the first frame not wanted; no end is the largest.
    end: Tally<(u64, u64)>,
}

impl Sum {
    pub(super) fn add(&mut self, one: &Subscription) {
        self.priority.add(one.priority);
        self.max_age.add(one.max_age);
        match one.start {
            Some(start) => self.start.add((start, one.frame_start)),
            None => self.anywhere += 1,
        }
        self.end.add(Self::end_key(one));
    }

    pub(super) fn remove(&mut self, one: &Subscription) {
        self.priority.remove(one.priority);
        self.max_age.remove(one.max_age);
        match one.start {
            Some(start) => self.start.remove((start, one.frame_start)),
            None => self.anywhere -= 1,
        }
        self.end.remove(Self::end_key(one));
    }

    /// The sum; `None` when nobody subscribes. A start is a floor, so one subscriber without a start lifts it for all.
    pub(super) fn total(&self) -> Option<Subscription> {
        let (end, frame_end) = self.end.max()?;
        let start = self.start.min().filter(|_| self.anywhere == 0);
        Some(Subscription {
            priority: self.priority.max().unwrap_or_default(),
            max_age: self.max_age.max().unwrap_or_default(),
            start: start.map(|(group, _)| group),
            end: (end != u64::MAX).then_some(end),
            frame_start: start.map_or(0, |(_, frame)| frame),
            frame_end: (frame_end != u64::MAX).then_some(frame_end),
        })
    }

    fn end_key(one: &Subscription) -> (u64, u64) {
        match one.end {
            Some(end) => (end, one.frame_end.unwrap_or(u64::MAX)),
            None => (u64::MAX, u64::MAX),
        }
    }
}

/// Keeps one subscription in its track's sum.
#[derive(Debug)]
pub(super) struct Interest {
    pub(super) track: Arc<TrackShared>,
    pub(super) id: usize,
}

impl Interest {
    pub(super) fn update(&self, subscription: Subscription) {
        self.track.update(self.id, subscription);
    }

    pub(super) fn subscription(&self) -> Subscription {
        self.track.lock().audience.wanted(self.id)
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        self.track.unsubscribe(self.id);
    }
}

/// Changes a running subscription from elsewhere than its cursor's own task. Keeps the subscription alive.
#[derive(Clone, Debug)]
pub struct Control(pub(super) Arc<Interest>);

impl Control {
    /// Replaces the preferences; cursors that wait are woken and go by them.
    pub fn update(&self, subscription: Subscription) {
        self.0.update(subscription);
    }

    /// The preferences now.
    #[must_use]
    pub fn subscription(&self) -> Subscription {
        self.0.subscription()
    }
}

/// Watches what all of a track's subscribers together ask for: the most demanding of each preference.
#[derive(Debug)]
pub struct Demand {
    track: Arc<TrackShared>,
    /// What was last returned.
    last: Option<Option<Subscription>>,
    key: WaitKey,
}

impl Demand {
    pub(super) fn new(track: Arc<TrackShared>) -> Self {
        Self {
            track,
            last: None,
            key: WaitKey::default(),
        }
    }

    /// The sum now; `None` when nobody subscribes.
    #[must_use]
    pub fn current(&self) -> Option<Subscription> {
        self.track.lock().audience.demand()
    }

    /// Waits until the sum differs from what was last returned here; the first call returns at once.
    pub async fn changed(&mut self) -> Option<Subscription> {
        std::future::poll_fn(|cx| self.poll_changed(cx)).await
    }

    /// See [`Self::changed`].
    pub fn poll_changed(&mut self, cx: &mut Context<'_>) -> Poll<Option<Subscription>> {
        let state = self.track.lock();
        let now = state.audience.demand();
        if self.last.as_ref() == Some(&now) {
            self.track.demand.register(&mut self.key, cx);
            return Poll::Pending;
        }
        self.last = Some(now.clone());
        Poll::Ready(now)
    }
}

impl Drop for Demand {
    fn drop(&mut self) {
        self.track.demand.remove(&mut self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_most_demanding_of_each() {
        let mut sum = Sum::default();
        assert_eq!(sum.total(), None);
        let a = Subscription {
            priority: 9,
            end: Some(7),
            ..Subscription::default()
        };
        let b = Subscription {
            max_age: Duration::from_secs(2),
            start: Some(3),
            end: Some(5),
            frame_start: 4,
            frame_end: Some(6),
            ..Subscription::default()
        };
        let c = Subscription {
            start: Some(4),
            ..Subscription::default()
        };
        sum.add(&b);
        sum.add(&c);
        let total = Subscription {
            end: None,
            frame_end: None,
            ..b.clone()
        };
        assert_eq!(sum.total(), Some(total));
        sum.remove(&c);
        assert_eq!(sum.total(), Some(b.clone()));
        // One that has no start is not to be kept waiting for another's.
        sum.add(&a);
        let total = Subscription {
            priority: 9,
            max_age: Duration::from_secs(2),
            start: None,
            end: Some(7),
            frame_start: 0,
            frame_end: None,
        };
        assert_eq!(sum.total(), Some(total));
        sum.remove(&a);
        sum.remove(&b);
        assert_eq!(sum.total(), None);
    }

    #[test]
    fn no_end_is_the_widest_end() {
        let mut sum = Sum::default();
        sum.add(&Subscription {
            end: Some(5),
            frame_end: Some(1),
            ..Subscription::default()
        });
        sum.add(&Subscription::default());
        assert_eq!(sum.total().unwrap().end, None);
    }
}
