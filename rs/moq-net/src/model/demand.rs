//! What subscribers ask for, and the sum of it that goes upstream.

use std::task::{Context, Poll};
use std::time::Duration;

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
    /// First frame **not** wanted of the last group of the range. `None`: all of it.
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

/// Watches what all of a track's subscribers together ask for: the most demanding of each preference.
#[derive(Debug)]
pub struct Demand {}

impl Demand {
    /// The sum now; `None` when nobody subscribes.
    #[must_use]
    pub fn current(&self) -> Option<Subscription> {
        todo!()
    }

    /// Waits until the sum differs from what was last returned here; the first call returns at once.
    pub async fn changed(&mut self) -> Option<Subscription> {
        std::future::poll_fn(|cx| self.poll_changed(cx)).await
    }

    /// See [`Self::changed`].
    pub fn poll_changed(&mut self, cx: &mut Context<'_>) -> Poll<Option<Subscription>> {
        let _ = cx;
        todo!()
    }
}

/// Changes a running subscription from elsewhere than the cursor's own task. Keeps the subscription alive.
#[derive(Clone, Debug)]
pub struct Control {}

impl Control {
    /// Replaces the preferences; cursors see them at their next poll and parked ones wake.
    pub fn update(&self, subscription: Subscription) {
        let _ = subscription;
        todo!()
    }

    /// The preferences now.
    #[must_use]
    pub fn subscription(&self) -> Subscription {
        todo!()
    }
}
