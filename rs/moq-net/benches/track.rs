//! What one delivery from a track costs, whatever is cached.
//!
//! `track_recv_groups` drains N cached groups by arrival and by sequence, dense and sparse, and by a reader at the live
//! edge; `track_aborted` drains groups with runs of N aborted ones in between; `track_write` appends to a track that
//! holds N groups; `subscriber_churn` joins and leaves beside N others. All promise a cost that doesn't grow with N.

use std::hint::black_box;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use moq_net::{
    Broadcast, Demand, Error, Ordered, Pool, Subscriber, Subscription, Timestamp, Track, TrackInfo,
};

/// Cached groups. One group a frame of audio with 5 s kept is some 250.
const DEPTHS: &[usize] = &[64, 512, 4_096, 65_536];
/// Aborted groups between two live ones.
const RUNS: &[usize] = &[1, 64, 512, 4_096];
/// Subscribers beside the one that comes and goes.
const OTHERS: &[usize] = &[1, 64, 512, 4_096];
/// Groups written and read in one iteration at the live edge.
const LIVE: u64 = 128;
/// Live groups between aborted runs.
const BETWEEN: u64 = 32;

/// The smallest size only, unless this is a bench: tests run each case once.
fn sizes(all: &'static [usize]) -> &'static [usize] {
    if std::env::args().any(|arg| arg == "--bench") {
        all
    } else {
        &all[..1]
    }
}

fn payload() -> Bytes {
    Bytes::from_static(&[0; 64])
}

/// A track that keeps everything.
fn track() -> (Broadcast, Track) {
    let broadcast = Broadcast::new(Pool::new(u64::MAX));
    let info = TrackInfo {
        max_age: Duration::from_secs(1 << 40),
        ..TrackInfo::default()
    };
    let track = broadcast.create_track("bench", info).unwrap();
    (broadcast, track)
}

/// Writes a group of one 64-byte frame; 20 ms of media each.
fn write(track: &Track, sequence: u64, payload: &Bytes) {
    let group = track.create_group(sequence).unwrap();
    group
        .write_frame(Timestamp::from_millis(sequence * 20), payload.clone())
        .unwrap();
    group.finish().unwrap();
}

fn filled(depth: usize, apart: u64) -> (Broadcast, Track) {
    let (broadcast, track) = track();
    let payload = payload();
    (0..depth as u64).for_each(|at| write(&track, at * apart, &payload));
    (broadcast, track)
}

#[inline(never)]
fn measured_arrival(subscriber: &mut Subscriber, count: u64) {
    let cx = &mut Context::from_waker(Waker::noop());
    for _ in 0..count {
        let Poll::Ready(Ok(Some(group))) = subscriber.poll_recv_group(cx) else {
            panic!()
        };
        black_box(group);
    }
}

#[inline(never)]
fn measured_sequence(cursor: &mut Ordered, count: u64) {
    let cx = &mut Context::from_waker(Waker::noop());
    for _ in 0..count {
        let Poll::Ready(Ok(Some(group))) = cursor.poll_next_group(cx) else {
            panic!()
        };
        black_box(group);
    }
}

#[inline(never)]
fn measured_caught_up(track: &Track, subscriber: &mut Subscriber, first: u64, payload: &Bytes) {
    let cx = &mut Context::from_waker(Waker::noop());
    for sequence in first..first + LIVE {
        write(track, sequence, payload);
        let Poll::Ready(Ok(Some(group))) = subscriber.poll_recv_group(cx) else {
            panic!()
        };
        black_box(group);
    }
}

#[inline(never)]
fn measured_write(track: &Track, first: u64, payload: &Bytes) {
    (first..first + LIVE).for_each(|sequence| write(track, sequence, payload));
}

#[inline(never)]
fn measured_churn(track: &Track, demand: &mut Demand) {
    let cx = &mut Context::from_waker(Waker::noop());
    for _ in 0..LIVE {
        let mut subscriber = track.subscribe(Subscription::default());
        black_box(subscriber.poll_recv_group(cx).is_ready());
        assert!(subscriber.poll_recv_group(cx).is_pending());
        drop(subscriber);
        black_box(demand.poll_changed(cx).is_ready());
    }
}

fn recv_groups(c: &mut Criterion) {
    let mut group = c.benchmark_group("track_recv_groups");
    for &depth in sizes(DEPTHS) {
        let count = depth as u64;
        group.throughput(Throughput::Elements(count));
        for (name, apart) in [("arrival", 1), ("arrival_sparse", 1_000)] {
            let (_broadcast, track) = filled(depth, apart);
            group.bench_function(BenchmarkId::new(name, depth), |b| {
                let setup = || track.subscribe(Subscription::everything());
                b.iter_batched_ref(
                    setup,
                    |it| measured_arrival(it, count),
                    BatchSize::SmallInput,
                );
            });
        }
        for (name, apart) in [("sequence", 1), ("sequence_sparse", 1_000)] {
            let (_broadcast, track) = filled(depth, apart);
            group.bench_function(BenchmarkId::new(name, depth), |b| {
                let setup = || track.subscribe(Subscription::everything()).ordered();
                b.iter_batched_ref(
                    setup,
                    |it| measured_sequence(it, count),
                    BatchSize::SmallInput,
                );
            });
        }
        group.throughput(Throughput::Elements(LIVE));
        group.bench_function(BenchmarkId::new("caught_up", depth), |b| {
            let setup = || {
                let (broadcast, track) = filled(depth, 1);
                let mut subscriber = track.subscribe(Subscription::default());
                let cx = &mut Context::from_waker(Waker::noop());
                assert!(subscriber.poll_recv_group(cx).is_ready());
                (broadcast, track, subscriber)
            };
            let payload = payload();
            b.iter_batched_ref(
                setup,
                |(_, track, subscriber)| measured_caught_up(track, subscriber, count, &payload),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn aborted(c: &mut Criterion) {
    let mut group = c.benchmark_group("track_aborted");
    group.throughput(Throughput::Elements(BETWEEN));
    for &run in sizes(RUNS) {
        let (_broadcast, track) = track();
        let payload = payload();
        for _ in 0..BETWEEN {
            let live = track.append_group().unwrap();
            let time = Timestamp::from_millis(live.sequence() * 20);
            live.write_frame(time, payload.clone()).unwrap();
            live.finish().unwrap();
            for _ in 0..run {
                track.append_group().unwrap().abort(Error::Cancel);
            }
        }
        group.bench_function(BenchmarkId::new("arrival", run), |b| {
            let setup = || track.subscribe(Subscription::everything());
            b.iter_batched_ref(
                setup,
                |it| measured_arrival(it, BETWEEN),
                BatchSize::SmallInput,
            );
        });
        group.bench_function(BenchmarkId::new("sequence", run), |b| {
            let setup = || track.subscribe(Subscription::everything()).ordered();
            b.iter_batched_ref(
                setup,
                |it| measured_sequence(it, BETWEEN),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn writing(c: &mut Criterion) {
    let mut group = c.benchmark_group("track_write");
    group.throughput(Throughput::Elements(LIVE));
    for &depth in sizes(DEPTHS) {
        group.bench_function(BenchmarkId::new("append", depth), |b| {
            let payload = payload();
            b.iter_batched_ref(
                || filled(depth, 1),
                |(_, track)| measured_write(track, depth as u64, &payload),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn churn(c: &mut Criterion) {
    let mut group = c.benchmark_group("subscriber_churn");
    group.throughput(Throughput::Elements(LIVE));
    for &others in sizes(OTHERS) {
        let (_broadcast, track) = filled(64, 1);
        let _others: Vec<_> = (0..others)
            .map(|_| track.subscribe(Subscription::default()))
            .collect();
        // Room for one more: what is measured is not the growth of a table.
        drop(track.subscribe(Subscription::default()));
        let mut demand = track.demand();
        group.bench_function(BenchmarkId::new("join_leave", others), |b| {
            b.iter(|| measured_churn(&track, &mut demand));
        });
    }
    group.finish();
}

criterion_group!(benches, recv_groups, aborted, writing, churn);
criterion_main!(benches);
