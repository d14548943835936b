//! The same work, done with moq-net 0.3.18 from crates.io.

use std::hint::black_box;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use theirs::kio::Waiter;
use theirs::{Timescale, Timestamp, broadcast, cache, track};

use crate::work::{self, Order};

pub(crate) struct Theirs;

pub(crate) struct Feed {
    _broadcast: broadcast::Producer,
    track: track::Producer,
    payload: Bytes,
    sequence: u64,
}

pub(crate) struct Audience {
    feed: Feed,
    subscribers: Vec<(track::Subscriber, Waiter)>,
}

pub(crate) struct Churn {
    feed: Feed,
    _others: Vec<track::Subscriber>,
    waiter: Waiter,
}

fn time(sequence: u64) -> Timestamp {
    Timestamp::from_millis(sequence * work::GROUP_MILLIS).unwrap()
}

fn everything() -> track::Subscription {
    track::Subscription::default()
        .with_max_age(Duration::MAX)
        .with_groups(0..)
}

impl work::Peer for Theirs {
    type Feed = Feed;
    type Audience = Audience;
    type Churn = Churn;

    fn feed(keep: Duration, budget: u64) -> Feed {
        let mut info = broadcast::Info::default();
        let config = cache::Config::default()
            .with_capacity(budget)
            .with_expiry(cache::DEFAULT_EXPIRY);
        info.pool = cache::Pool::new(config);
        let broadcast = broadcast::Producer::new(info);
        let info = track::Info::default()
            .with_timescale(Timescale::MILLI)
            .with_max_age(keep);
        let track = broadcast.create_track("bench", info).unwrap();
        Feed {
            _broadcast: broadcast,
            track,
            payload: work::payload(),
            sequence: 0,
        }
    }

    fn write(feed: &mut Feed, frames: u64) {
        let mut group = feed.track.append_group().unwrap();
        for _ in 0..frames {
            group
                .write_frame(time(feed.sequence), feed.payload.clone())
                .unwrap();
        }
        group.finish().unwrap();
        feed.sequence += 1;
    }

    fn drain(feed: &Feed, order: Order, groups: u64) -> Duration {
        let waiter = Waiter::noop();
        let mut subscriber = feed.track.subscribe(everything());
        match order {
            Order::Arrival => work::timed(|| {
                for _ in 0..groups {
                    let Poll::Ready(Ok(Some(group))) = subscriber.poll_recv_group(&waiter) else {
                        panic!()
                    };
                    black_box(group);
                }
            }),
            Order::Sequence => {
                let mut cursor = subscriber.ordered();
                work::timed(|| {
                    for _ in 0..groups {
                        let Poll::Ready(Ok(Some(group))) = cursor.poll_next_group(&waiter) else {
                            panic!()
                        };
                        black_box(group);
                    }
                })
            }
        }
    }

    fn read(feed: &Feed, frames: u64) {
        let waiter = Waiter::noop();
        let mut subscriber = feed.track.subscribe(None);
        let Poll::Ready(Ok(Some(mut group))) = subscriber.poll_recv_group(&waiter) else {
            panic!()
        };
        for _ in 0..frames {
            let Poll::Ready(Ok(Some(frame))) = group.poll_read_frame(&waiter) else {
                panic!()
            };
            black_box(frame);
        }
    }

    fn audience(feed: Feed, subscribers: usize) -> Audience {
        let subscriber = |_| {
            let mut subscriber = feed.track.subscribe(None);
            let waiter = Waiter::new(work::waker());
            while subscriber.poll_recv_group(&waiter).is_ready() {}
            (subscriber, waiter)
        };
        let subscribers = (0..subscribers).map(subscriber).collect();
        Audience { feed, subscribers }
    }

    fn deliver(audience: &mut Audience, read: bool) {
        Self::write(&mut audience.feed, 1);
        for (subscriber, waiter) in &mut audience.subscribers {
            let Poll::Ready(Ok(Some(mut group))) = subscriber.poll_recv_group(waiter) else {
                panic!()
            };
            if read {
                let Poll::Ready(Ok(Some(frame))) = group.poll_read_frame(waiter) else {
                    panic!()
                };
                black_box(frame);
            }
            black_box(group);
            assert!(subscriber.poll_recv_group(waiter).is_pending());
        }
    }

    fn churn(mut feed: Feed, others: usize) -> Churn {
        let others = (0..others).map(|_| feed.track.subscribe(None)).collect();
        let waiter = Waiter::noop();
        assert!(feed.track.poll_subscription_changed(&waiter).is_ready());
        Churn {
            feed,
            _others: others,
            waiter,
        }
    }

    fn join_and_leave(churn: &mut Churn) {
        drop(churn.feed.track.subscribe(None));
        assert!(
            churn
                .feed
                .track
                .poll_subscription_changed(&churn.waiter)
                .is_pending()
        );
    }
}
