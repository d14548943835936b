//! Writers, readers and those who come and go, on threads of their own: no wake-up is lost, no lock waits for another
//! in a circle, and every group is accounted for. A lost wake-up shows as a test that never ends.

use std::thread;
use std::time::Duration;

use futures::executor::block_on;
use moq_net::{
    Broadcast, BroadcastConsumer, Counts, Error, Pool, Subscription, Timestamp, TrackInfo,
};

const GROUPS: u64 = 5_000;

fn info() -> TrackInfo {
    TrackInfo {
        max_age: Duration::from_secs(1 << 30),
        ..TrackInfo::default()
    }
}

fn subscribe(consumer: &BroadcastConsumer, name: &str) -> moq_net::Subscriber {
    consumer
        .subscribe(name, Subscription::everything())
        .unwrap()
}

/// Writes `GROUPS` groups of three frames, then finishes the track.
fn write(broadcast: &Broadcast, name: &str) {
    let track = broadcast.create_track(name, info()).unwrap();
    block_on(track.used());
    for sequence in 0..GROUPS {
        let group = track.append_group().unwrap();
        for frame in 0..3 {
            let time = Timestamp::from_millis(sequence * 30 + frame * 10);
            if group.write_frame(time, vec![0; 100]).is_err() {
                break;
            }
        }
        // A group may be evicted while it is written.
        let _ = group.finish();
    }
    track.finish().unwrap();
}

/// Reads to the end of the track; returns what became of the groups and how many frames were read.
fn read(mut subscriber: moq_net::Subscriber) -> (Counts, u64) {
    block_on(async {
        let mut frames = 0;
        while let Some(mut group) = subscriber.recv_group().await.unwrap() {
            while let Ok(Some(_)) = group.read_frame().await {
                frames += 1;
            }
        }
        (subscriber.counts(), frames)
    })
}

#[test]
fn every_reader_gets_every_frame() {
    let broadcast = Broadcast::new(Pool::new(u64::MAX));
    let consumer = broadcast.consume();
    thread::scope(|scope| {
        let writer = scope.spawn(|| write(&broadcast, "video"));
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let subscriber = loop {
                    match consumer.subscribe("video", Subscription::everything()) {
                        Ok(subscriber) => break subscriber,
                        Err(_) => thread::yield_now(),
                    }
                };
                scope.spawn(move || read(subscriber))
            })
            .collect();
        writer.join().unwrap();
        for reader in readers {
            let (counts, frames) = reader.join().unwrap();
            assert_eq!(
                counts.delivered + counts.outside + counts.late + counts.gone,
                GROUPS
            );
            assert_eq!((counts.delivered, frames), (GROUPS, GROUPS * 3));
        }
    });
}

#[test]
fn tracks_that_evict_each_other_lose_count_of_nothing() {
    let pool = Pool::new(100_000);
    let broadcast = Broadcast::new(pool.clone());
    broadcast.dynamic();
    let consumer = broadcast.consume();
    thread::scope(|scope| {
        let readers: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .flat_map(|name| [subscribe(&consumer, name), subscribe(&consumer, name)])
            .map(|subscriber| scope.spawn(move || read(subscriber)))
            .collect();
        for _ in 0..3 {
            let request = block_on(broadcast.next_request()).unwrap();
            scope.spawn(move || {
                let track = request.accept(info()).unwrap();
                for sequence in 0..GROUPS {
                    let group = track.append_group().unwrap();
                    let _ = group.write_frame(Timestamp::from_millis(sequence * 30), vec![0; 500]);
                    match sequence % 5 {
                        0 => group.abort(Error::Cancel),
                        _ => group.finish().unwrap_or_default(),
                    }
                }
                track.finish().unwrap();
            });
        }
        for reader in readers {
            let (counts, frames) = reader.join().unwrap();
            assert!(frames <= counts.delivered);
            let sum = counts.delivered + counts.late + counts.gone + counts.outside;
            // Groups that went after the last one a reader took have no place to be counted at.
            assert!(sum <= GROUPS && sum + 200 >= GROUPS, "{counts:?}");
        }
    });
    drop((consumer, broadcast));
    assert_eq!(pool.used(), 0);
}

#[test]
fn demand_settles_whoever_comes_and_goes() {
    let broadcast = Broadcast::new(Pool::default());
    broadcast.dynamic();
    let consumer = broadcast.consume();
    let served = thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let mut served = 0;
            while let Some(request) = block_on(broadcast.next_request()) {
                let Ok(track) = request.accept(info()) else {
                    continue;
                };
                served += 1;
                // The last reader is content with the group as it starts, and then the broadcast closes.
                let group = track.append_group().unwrap();
                let _ = group.write_frame(Timestamp::ZERO, "x");
                let _ = group.finish();
                // As a relay does: gone when the last has left, whoever comes at that moment.
                loop {
                    block_on(track.unused());
                    if track.close_unused() {
                        break;
                    }
                }
            }
            served
        });
        let coming: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let mut subscriber = subscribe(&consumer, "video");
                        let group = block_on(subscriber.recv_group()).unwrap();
                        assert_eq!(group.unwrap().sequence(), 0);
                    }
                })
            })
            .collect();
        coming.into_iter().for_each(|thread| thread.join().unwrap());
        broadcast.close(Error::Cancel);
        serving.join().unwrap()
    });
    assert!((1..=2_000).contains(&served));
}
