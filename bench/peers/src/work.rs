//! What both sides do: the same steps, the same sizes, the same payload.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;

/// Media between two groups.
pub(crate) const GROUP_MILLIS: u64 = 20;

/// A day: longer than anything written here.
pub(crate) const ALWAYS: Duration = Duration::from_secs(86_400);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Arrival,
    Sequence,
}

/// One implementation of the model.
pub(crate) trait Peer {
    type Feed;
    type Audience;
    type Churn;

    /// A track that keeps `keep` of media within a budget of bytes.
    fn feed(keep: Duration, budget: u64) -> Self::Feed;
    /// Writes one finished group.
    fn write(feed: &mut Self::Feed, frames: u64);
    /// Takes that many cached groups, subscribing outside the time.
    fn drain(feed: &Self::Feed, order: Order, groups: u64) -> Duration;
    /// Reads all frames of the newest group.
    fn read(feed: &Self::Feed, frames: u64);
    /// Subscribers that wait for the next group.
    fn audience(feed: Self::Feed, subscribers: usize) -> Self::Audience;
    /// Writes a group; each takes it, perhaps reads it, and waits again.
    fn deliver(audience: &mut Self::Audience, read: bool);
    /// A track with that many subscribers and somebody who watches what they ask for.
    fn churn(feed: Self::Feed, others: usize) -> Self::Churn;
    fn join_and_leave(churn: &mut Self::Churn);
}

pub(crate) fn payload() -> Bytes {
    Bytes::from_static(&[0; 64])
}

pub(crate) fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

#[derive(Default)]
struct Count(AtomicU64);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A waker that costs what a task's costs: one count up to clone, one to wake.
pub(crate) fn waker() -> Waker {
    Waker::from(Arc::<Count>::default())
}
