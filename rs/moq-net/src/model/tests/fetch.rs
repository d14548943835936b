//! Groups asked for by number.

use super::super::{BroadcastConsumer, FetchRequest};
use super::*;
use crate::Error;

type Fetching = std::pin::Pin<Box<dyn Future<Output = Result<GroupConsumer>>>>;

fn fetching(consumer: &BroadcastConsumer, sequence: u64) -> Fetching {
    let consumer = consumer.clone();
    let mut fetching: Fetching = Box::pin(async move { consumer.fetch("video", sequence).await });
    assert!(
        fetching
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    fetching
}

/// A track at group 10 whose producer serves fetches.
fn served() -> (Broadcast, Track) {
    let (broadcast, track) = track();
    write(&track, 10);
    track.serve_fetches();
    (broadcast, track)
}

fn request(track: &Track) -> FetchRequest {
    now(track.next_fetch()).unwrap()
}

#[test]
fn a_cached_group_is_fetched_without_a_subscription() {
    let (broadcast, track) = track();
    (0..3).for_each(|sequence| write(&track, sequence));
    let consumer = broadcast.consume();
    let mut group = now(consumer.fetch("video", 1)).unwrap();
    assert!(now(group.read_frame()).unwrap().is_some());
    assert!(!track.is_used());
    assert_eq!(
        now(consumer.fetch("video", 9)).unwrap_err(),
        Error::NotFound
    );
    assert_eq!(
        now(consumer.fetch("audio", 0)).unwrap_err(),
        Error::NotFound
    );
}

#[test]
fn readers_of_one_group_wait_for_one_request() {
    let (broadcast, track) = served();
    let consumer = broadcast.consume();
    let waiting = [fetching(&consumer, 3), fetching(&consumer, 3)];
    let request = request(&track);
    assert_eq!(request.sequence(), 3);
    assert!(poll(track.next_fetch()).is_none());
    let group = request.accept().unwrap();
    frame(&group, 300);
    group.finish().unwrap();
    for fetching in waiting {
        let mut group = now(fetching).unwrap();
        assert!(now(group.read_frame()).unwrap().is_some());
        assert_eq!(now(group.read_frame()), Ok(None));
    }
    now(track.unused());
}

#[test]
fn a_fetched_group_is_invisible_to_cursors_and_is_not_kept() {
    let (broadcast, track) = served();
    let mut subscriber = track.subscribe(everything());
    let fetching = fetching(&broadcast.consume(), 3);
    let group = request(&track).accept().unwrap();
    frame(&group, 300);
    drop(group);
    assert_eq!(arrived(&mut subscriber), [10]);
    assert_eq!(ordered(&mut subscriber.ordered()), [10]);
    let mut group = now(fetching).unwrap();
    assert!(now(group.read_frame()).unwrap().is_some());
    assert_eq!(now(group.read_frame()), Err(Error::Dropped));
    assert!(track.group(3).is_none());
}

#[test]
fn a_refused_fetch_gives_its_error() {
    let (broadcast, track) = served();
    let consumer = broadcast.consume();
    let refused = fetching(&consumer, 3);
    request(&track).reject(Error::Old);
    assert_eq!(now(refused).unwrap_err(), Error::Old);
    let dropped = fetching(&consumer, 3);
    drop(request(&track));
    assert_eq!(now(dropped).unwrap_err(), Error::NotFound);
}

#[test]
fn a_fetch_nobody_waits_for_is_cancelled() {
    let (broadcast, track) = served();
    let consumer = broadcast.consume();
    let early = fetching(&consumer, 2);
    drop(early);
    assert!(poll(track.next_fetch()).is_none());
    let waiting = fetching(&consumer, 3);
    let taken = request(&track);
    assert!(poll(taken.unused()).is_none());
    assert!(!track.close_unused());
    drop(waiting);
    now(taken.unused());
    // One that asks again makes a new request; an answer to the old one isn't for it.
    let again = fetching(&consumer, 3);
    assert_eq!(taken.accept().unwrap_err(), Error::Cancel);
    request(&track).reject(Error::Evicted);
    assert_eq!(now(again).unwrap_err(), Error::Evicted);
}

#[test]
fn the_end_of_the_track_ends_its_fetches() {
    let (broadcast, track) = served();
    let consumer = broadcast.consume();
    let waiting = fetching(&consumer, 3);
    let taken = request(&track);
    track.abort(Error::App(1));
    assert_eq!(now(waiting).unwrap_err(), Error::App(1));
    now(taken.unused());
    assert!(now(track.next_fetch()).is_none());
    assert_eq!(
        now(consumer.fetch("video", 3)).unwrap_err(),
        Error::NotFound
    );
}

#[test]
fn a_track_can_be_requested_for_a_fetch_alone() {
    let broadcast = Broadcast::new(Pool::default());
    broadcast.dynamic();
    let waiting = fetching(&broadcast.consume(), 3);
    let asked = now(broadcast.next_request()).unwrap();
    assert_eq!(asked.demand().current(), None);
    asked.serve_fetches();
    let track = asked.accept(TrackInfo::default()).unwrap();
    let mut waiting = waiting;
    assert!(
        waiting
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    assert!(!track.close_unused());
    drop(request(&track).accept().unwrap());
    assert!(now(waiting).is_ok());
    assert!(track.close_unused());
}

#[test]
fn fetched_groups_are_charged_while_they_are_read() {
    let pool = Pool::default();
    let broadcast = Broadcast::new(pool.clone());
    let track = broadcast
        .create_track("video", TrackInfo::default())
        .unwrap();
    track.serve_fetches();
    let waiting = fetching(&broadcast.consume(), 3);
    let group = request(&track).accept().unwrap();
    group.write_frame(Timestamp::ZERO, vec![0; 1_000]).unwrap();
    let reader = now(waiting).unwrap();
    drop(group);
    assert!(pool.used() > 1_000);
    drop(reader);
    assert_eq!(pool.used(), 0);
    track.assert_nobody_waits();
}
