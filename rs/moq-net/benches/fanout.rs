//! What it costs to hand one written group to 1 … 512 subscribers that wait for it.
//!
//! `fanout/group`: one append, each subscriber woken, takes the group and waits again. `fanout/frame`: each also reads
//! the frame. `fanout/open`: a frame is appended to a group that every subscriber reads.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use moq_net::{
    Broadcast, Group, GroupConsumer, Pool, Subscriber, Subscription, Timestamp, Track, TrackInfo,
};

const SUBSCRIBERS: &[usize] = &[1, 8, 64, 512];
/// Groups that a track keeps by default, at 20 ms each.
const KEPT: u64 = 250;
/// Groups, or frames, in one iteration.
const ROUNDS: u64 = 16;

/// The smallest size only, unless this is a bench: tests run each case once.
fn sizes() -> &'static [usize] {
    if std::env::args().any(|arg| arg == "--bench") {
        SUBSCRIBERS
    } else {
        &SUBSCRIBERS[..1]
    }
}

/// Counts wakes, so that a subscriber's waker is one as a task's is.
#[derive(Default)]
struct Count(AtomicU64);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Fanout {
    _broadcast: Broadcast,
    track: Track,
    subscribers: Vec<(Subscriber, Waker)>,
    payload: Bytes,
    sequence: u64,
}

impl Fanout {
    /// Subscribers that all wait for a group.
    fn new(subscribers: usize) -> Self {
        let broadcast = Broadcast::new(Pool::default());
        let track = broadcast
            .create_track("bench", TrackInfo::default())
            .unwrap();
        let subscriber = |_| {
            let mut subscriber = track.subscribe(Subscription::default());
            let waker = Waker::from(Arc::<Count>::default());
            assert!(
                subscriber
                    .poll_recv_group(&mut Context::from_waker(&waker))
                    .is_pending()
            );
            (subscriber, waker)
        };
        let subscribers = (0..subscribers).map(subscriber).collect();
        let mut fanout = Self {
            _broadcast: broadcast,
            track,
            subscribers,
            payload: Bytes::from_static(&[0; 64]),
            sequence: 0,
        };
        // As many groups as are kept, so that each further one lets go of one.
        for _ in 0..=KEPT {
            fanout.write();
            fanout.receive(drop);
        }
        fanout
    }

    fn write(&mut self) {
        let group = self.track.append_group().unwrap();
        let time = Timestamp::from_millis(self.sequence * 20);
        self.sequence += 1;
        group.write_frame(time, self.payload.clone()).unwrap();
        group.finish().unwrap();
    }

    /// Every subscriber takes the group and waits for the next.
    fn receive(&mut self, mut each: impl FnMut(GroupConsumer)) {
        for (subscriber, waker) in &mut self.subscribers {
            let cx = &mut Context::from_waker(waker);
            let Poll::Ready(Ok(Some(group))) = subscriber.poll_recv_group(cx) else {
                panic!()
            };
            each(group);
            assert!(subscriber.poll_recv_group(cx).is_pending());
        }
    }
}

#[inline(never)]
fn measured_groups(fanout: &mut Fanout) {
    for _ in 0..ROUNDS {
        fanout.write();
        fanout.receive(|group| drop(black_box(group)));
    }
}

#[inline(never)]
fn measured_frames(fanout: &mut Fanout) {
    let cx = &mut Context::from_waker(Waker::noop());
    for _ in 0..ROUNDS {
        fanout.write();
        fanout.receive(|mut group| {
            let Poll::Ready(Ok(Some(frame))) = group.poll_read_frame(cx) else {
                panic!()
            };
            black_box(frame);
        });
    }
}

#[inline(never)]
fn measured_open(group: &Group, readers: &mut [(GroupConsumer, Waker)], payload: &Bytes) {
    for time in 0..ROUNDS {
        group
            .write_frame(Timestamp::from_millis(time), payload.clone())
            .unwrap();
        for (reader, waker) in &mut *readers {
            let cx = &mut Context::from_waker(waker);
            let Poll::Ready(Ok(Some(frame))) = reader.poll_read_frame(cx) else {
                panic!()
            };
            black_box(frame);
            assert!(reader.poll_read_frame(cx).is_pending());
        }
    }
}

fn fanout(c: &mut Criterion) {
    let mut bench = c.benchmark_group("fanout");
    for &subscribers in sizes() {
        bench.throughput(Throughput::Elements(ROUNDS * subscribers as u64));
        bench.bench_function(BenchmarkId::new("group", subscribers), |b| {
            let mut fanout = Fanout::new(subscribers);
            b.iter(|| measured_groups(&mut fanout));
        });
        bench.bench_function(BenchmarkId::new("frame", subscribers), |b| {
            let mut fanout = Fanout::new(subscribers);
            b.iter(|| measured_frames(&mut fanout));
        });
        bench.bench_function(BenchmarkId::new("open", subscribers), |b| {
            let fanout = Fanout::new(subscribers);
            let payload = fanout.payload.clone();
            b.iter_batched_ref(
                || {
                    let group = fanout.track.append_group().unwrap();
                    let reader = |_| (group.consume(), Waker::from(Arc::<Count>::default()));
                    let readers: Vec<_> = (0..subscribers).map(reader).collect();
                    (group, readers)
                },
                |(group, readers)| measured_open(group, readers, &payload),
                BatchSize::PerIteration,
            );
        });
    }
    bench.finish();
}

criterion_group!(benches, fanout);
criterion_main!(benches);
