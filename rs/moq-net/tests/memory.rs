//! Memory as the allocator sees it: flat while a track goes on, and back where it was after any churn.
//!
//! The pool counts what it charges; here every byte is counted, so that a leak beside the pool shows too.

use std::alloc::System;
use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use moq_net::{
    Broadcast, Error, Origin, Pool, Subscriber, Subscription, Timestamp, Track, TrackInfo,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocator is one for all tests of this process: they take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes allocated and not yet given back.
fn allocated() -> i64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// That what was taken since is within `slack` bytes: the runner's own output and what a burst leaves in a buffer.
#[track_caller]
fn assert_flat(before: i64, after: i64, slack: i64) {
    assert!((after - before).abs() < slack, "{before} → {after}");
}

fn poll<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn track(pool: &Pool) -> (Broadcast, Track) {
    let broadcast = Broadcast::new(pool.clone());
    let track = broadcast
        .create_track("video", TrackInfo::default())
        .unwrap();
    (broadcast, track)
}

/// One group of one frame, 10 ms of media: 100 groups a second.
fn write(track: &Track, bytes: usize) {
    let group = track.append_group().unwrap();
    let time = Timestamp::from_millis(group.sequence() * 10);
    group.write_frame(time, vec![0; bytes]).unwrap();
    group.finish().unwrap();
}

/// Takes and reads all there is.
fn read(subscriber: &mut Subscriber) -> usize {
    let mut frames = 0;
    while let Some(Ok(Some(mut group))) = poll(subscriber.recv_group()) {
        while let Some(Ok(Some(_))) = poll(group.read_frame()) {
            frames += 1;
        }
    }
    frames
}

#[test]
fn a_hundred_thousand_one_frame_groups_leave_memory_flat() {
    let _turn = turn();
    let pool = Pool::default();
    let (_broadcast, track) = track(&pool);
    let mut subscriber = track.subscribe(Subscription::within(Duration::from_secs(1)));
    let mut run = |groups| {
        for _ in 0..groups {
            write(&track, 1_000);
            assert_eq!(read(&mut subscriber), 1);
        }
        allocated()
    };
    let before = run(1_000);
    let after = run(100_000);
    assert_flat(before, after, 16_000);
}

#[test]
fn ten_minutes_at_a_hundred_groups_a_second_leave_memory_flat() {
    let _turn = turn();
    let pool = Pool::default();
    let (_broadcast, track) = track(&pool);
    // One reads at once, one falls seconds behind, one never reads.
    let subscribe = || track.subscribe(Subscription::within(Duration::from_secs(5)));
    let (mut fast, mut slow, _stuck) = (subscribe(), subscribe(), subscribe());
    let mut run = |seconds| {
        for second in 0..seconds {
            for _ in 0..100 {
                write(&track, 500);
                read(&mut fast);
            }
            if second % 7 == 0 {
                read(&mut slow);
            }
            pool.expire(Duration::from_secs(second), Duration::from_secs(30));
        }
        allocated()
    };
    let before = run(20);
    let after = run(600);
    assert_flat(before, after, 64_000);
}

#[test]
fn a_publisher_that_outruns_its_readers_stays_within_the_budget() {
    let _turn = turn();
    let before = allocated();
    let pool = Pool::new(4 << 20);
    let broadcast = Broadcast::new(pool.clone());
    let info = TrackInfo {
        max_age: Duration::from_secs(1 << 30),
        ..TrackInfo::default()
    };
    let track = broadcast.create_track("video", info).unwrap();
    let mut stuck = track.subscribe(Subscription::everything());
    let mut held = Vec::new();
    for round in 0..20_000 {
        write(&track, 10_000);
        if round % 100 == 0 {
            held.extend(poll(stuck.recv_group()).unwrap().unwrap());
        }
        assert!(pool.used() <= pool.capacity());
    }
    // What is charged is at least what is taken, but for the handles the reader itself holds.
    let taken = allocated() - before;
    assert!(taken <= 4 << 20, "{taken}");
}

#[test]
fn empty_groups_stay_within_the_budget() {
    let _turn = turn();
    let before = allocated();
    let pool = Pool::new(1 << 20);
    let (_broadcast, track) = track(&pool);
    for _ in 0..100_000 {
        track.append_group().unwrap().finish().unwrap();
    }
    let taken = allocated() - before;
    assert!(taken <= 1 << 20, "{taken}");
}

#[test]
fn ten_thousand_subscribers_that_come_and_go_leave_nothing() {
    let _turn = turn();
    let pool = Pool::default();
    let (broadcast, track) = track(&pool);
    let consumer = broadcast.consume();
    write(&track, 100);
    let churn = |count| {
        let wanted = Subscription::within(Duration::from_secs(1));
        for _ in 0..count {
            let mut subscriber = consumer.subscribe("video", wanted.clone()).unwrap();
            assert_eq!(read(&mut subscriber), 1);
            let mut cursor = subscriber.ordered();
            drop(subscriber);
            assert!(poll(cursor.next_group()).is_some());
            assert!(poll(cursor.next_group()).is_none());
        }
        allocated()
    };
    let before = churn(10);
    assert_flat(before, churn(10_000), 1_000);
}

#[test]
fn tracks_broadcasts_and_announcements_that_come_and_go_leave_nothing() {
    let _turn = turn();
    let origin = Origin::new();
    let churn = |count: u64| {
        for round in 0..count {
            let mut announced = origin.announced("");
            let broadcast = origin.create_broadcast(format!("room/{round}")).unwrap();
            broadcast.dynamic();
            drop(poll(announced.next()));
            let consumer = origin.broadcast(format!("room/{round}")).unwrap();
            let mut asked = consumer
                .subscribe("asked", Subscription::default())
                .unwrap();
            let track = poll(broadcast.next_request()).unwrap().unwrap();
            let track = track.accept(TrackInfo::default()).unwrap();
            write(&track, 100);
            assert_eq!(read(&mut asked), 1);
            assert!(poll(consumer.replaced()).is_none());
            match round % 3 {
                0 => track.abort(Error::Cancel),
                1 => track.finish().unwrap(),
                _ => {}
            }
            drop(
                consumer
                    .subscribe("never", Subscription::default())
                    .unwrap(),
            );
            assert!(poll(consumer.fetch("video", 0)).is_none());
        }
        allocated()
    };
    let before = churn(10);
    assert_flat(before, churn(1_000), 1_000);
}
