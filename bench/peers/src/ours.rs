//! The work, done with this workspace's moq-net.

use std::hint::black_box;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use ours::{Broadcast, Demand, Pool, Subscriber, Subscription, Timestamp, Track, TrackInfo};

use crate::work::{self, Order};

pub(crate) struct Ours;

pub(crate) struct Feed {
    _broadcast: Broadcast,
    track: Track,
    payload: Bytes,
    sequence: u64,
}

pub(crate) struct Audience {
    feed: Feed,
    subscribers: Vec<(Subscriber, Waker)>,
}

pub(crate) struct Churn {
    feed: Feed,
    _others: Vec<Subscriber>,
    demand: Demand,
}

impl work::Peer for Ours {
    type Feed = Feed;
    type Audience = Audience;
    type Churn = Churn;

    fn feed(keep: Duration, budget: u64) -> Feed {
        let broadcast = Broadcast::new(Pool::new(budget));
        let info = TrackInfo {
            max_age: keep,
            ..TrackInfo::default()
        };
        let track = broadcast.create_track("bench", info).unwrap();
        Feed {
            _broadcast: broadcast,
            track,
            payload: work::payload(),
            sequence: 0,
        }
    }

    fn write(feed: &mut Feed, frames: u64) {
        let group = feed.track.append_group().unwrap();
        for _ in 0..frames {
            let time = Timestamp::from_millis(feed.sequence * work::GROUP_MILLIS);
            group.write_frame(time, feed.payload.clone()).unwrap();
        }
        group.finish().unwrap();
        feed.sequence += 1;
    }

    fn drain(feed: &Feed, order: Order, groups: u64) -> Duration {
        let cx = &mut Context::from_waker(Waker::noop());
        let mut subscriber = feed.track.subscribe(Subscription::everything());
        match order {
            Order::Arrival => work::timed(|| {
                for _ in 0..groups {
                    let Poll::Ready(Ok(Some(group))) = subscriber.poll_recv_group(cx) else {
                        panic!()
                    };
                    black_box(group);
                }
            }),
            Order::Sequence => {
                let mut cursor = subscriber.ordered();
                work::timed(|| {
                    for _ in 0..groups {
                        let Poll::Ready(Ok(Some(group))) = cursor.poll_next_group(cx) else {
                            panic!()
                        };
                        black_box(group);
                    }
                })
            }
        }
    }

    fn read(feed: &Feed, frames: u64) {
        let cx = &mut Context::from_waker(Waker::noop());
        let mut group = feed.track.group(feed.sequence - 1).unwrap();
        for _ in 0..frames {
            let Poll::Ready(Ok(Some(frame))) = group.poll_read_frame(cx) else {
                panic!()
            };
            black_box(frame);
        }
    }

    fn audience(feed: Feed, subscribers: usize) -> Audience {
        let subscriber = |_| {
            let mut subscriber = feed.track.subscribe(Subscription::default());
            let waker = work::waker();
            let cx = &mut Context::from_waker(&waker);
            while subscriber.poll_recv_group(cx).is_ready() {}
            (subscriber, waker)
        };
        let subscribers = (0..subscribers).map(subscriber).collect();
        Audience { feed, subscribers }
    }

    fn deliver(audience: &mut Audience, read: bool) {
        Self::write(&mut audience.feed, 1);
        for (subscriber, waker) in &mut audience.subscribers {
            let cx = &mut Context::from_waker(waker);
            let Poll::Ready(Ok(Some(mut group))) = subscriber.poll_recv_group(cx) else {
                panic!()
            };
            if read {
                let Poll::Ready(Ok(Some(frame))) = group.poll_read_frame(cx) else {
                    panic!()
                };
                black_box(frame);
            }
            black_box(group);
            assert!(subscriber.poll_recv_group(cx).is_pending());
        }
    }

    fn churn(feed: Feed, others: usize) -> Churn {
        let others = (0..others)
            .map(|_| feed.track.subscribe(Subscription::default()))
            .collect();
        let mut demand = feed.track.demand();
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(demand.poll_changed(cx).is_ready());
        Churn {
            feed,
            _others: others,
            demand,
        }
    }

    fn join_and_leave(churn: &mut Churn) {
        let cx = &mut Context::from_waker(Waker::noop());
        drop(churn.feed.track.subscribe(Subscription::default()));
        assert!(churn.demand.poll_changed(cx).is_pending());
    }
}
