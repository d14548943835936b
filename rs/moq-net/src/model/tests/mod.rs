//! One test a rule of the model, by area, and the traces against the slow model in `oracle.rs`.

mod broadcast;
mod cache;
mod conservation;
mod cost;
mod cursors;
mod demand;
mod fetch;
mod groups;
mod origin;
mod trace;
mod wakes;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::{
    Broadcast, Group, GroupConsumer, Ordered, Pool, Subscriber, Subscription, Track, TrackInfo,
};
use crate::{Result, Timestamp};

/// Counts wake-ups.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    fn new() -> (Arc<Self>, Waker) {
        let count = Arc::<Self>::default();
        (count.clone(), count.into())
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Polls once; `None` if pending.
fn poll<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// What must be ready at once.
#[track_caller]
fn now<T>(future: impl Future<Output = T>) -> T {
    poll(future).expect("ready at once")
}

fn track() -> (Broadcast, Track) {
    track_with(TrackInfo::default())
}

fn track_with(info: TrackInfo) -> (Broadcast, Track) {
    let broadcast = Broadcast::new(Pool::default());
    let track = broadcast.create_track("video", info).unwrap();
    (broadcast, track)
}

/// A track that keeps groups for `millis` of media.
fn track_keeping(millis: u64) -> (Broadcast, Track) {
    track_with(TrackInfo {
        max_age: Duration::from_millis(millis),
        ..TrackInfo::default()
    })
}

/// Writes a finished group of one frame, which starts at `sequence` × 100 ms.
fn write(track: &Track, sequence: u64) {
    let group = track.create_group(sequence).unwrap();
    frame(&group, sequence * 100);
    group.finish().unwrap();
}

fn write_all<const N: usize>(track: &Track, sequences: [u64; N]) {
    sequences
        .into_iter()
        .for_each(|sequence| write(track, sequence));
}

fn frame(group: &Group, millis: u64) {
    group
        .write_frame(Timestamp::from_millis(millis), vec![0; 10])
        .unwrap();
}

fn everything() -> Subscription {
    Subscription::everything()
}

fn within(millis: u64) -> Subscription {
    Subscription::within(Duration::from_millis(millis))
}

/// Sequences that `subscriber` has ready now.
fn arrived(subscriber: &mut Subscriber) -> Vec<u64> {
    let next = || poll(subscriber.recv_group());
    ready(next)
}

/// Sequences that `ordered` has ready now.
fn ordered(ordered: &mut Ordered) -> Vec<u64> {
    let next = || poll(ordered.next_group());
    ready(next)
}

fn ready(mut next: impl FnMut() -> Option<Result<Option<GroupConsumer>>>) -> Vec<u64> {
    std::iter::from_fn(|| next()?.ok()?)
        .map(|group| group.sequence())
        .collect()
}
