//! Names of tracks: shared, requested, refused, served after the end.

use super::*;
use crate::Error;

#[test]
fn an_unknown_name_is_refused_at_once() {
    let broadcast = Broadcast::new(Pool::default());
    let consumer = broadcast.consume();
    assert_eq!(
        consumer.subscribe("nonsense", within(0)).unwrap_err(),
        Error::NotFound
    );
    assert_eq!(now(consumer.info("nonsense")), Err(Error::NotFound));
}

#[test]
fn ten_subscribers_make_one_request() {
    let broadcast = Broadcast::new(Pool::default());
    broadcast.dynamic();
    let consumer = broadcast.consume();
    let mut subscribers: Vec<_> = (0..10)
        .map(|_| consumer.subscribe("video", within(100)).unwrap())
        .collect();
    let request = now(broadcast.next_request()).unwrap();
    assert_eq!(request.name(), "video");
    assert!(poll(broadcast.next_request()).is_none());
    let track = request.accept(TrackInfo::default()).unwrap();
    write(&track, 0);
    subscribers
        .iter_mut()
        .for_each(|subscriber| assert_eq!(arrived(subscriber), [0]));
    let mut late = consumer.subscribe("video", within(100)).unwrap();
    assert_eq!(arrived(&mut late), [0]);
    assert!(poll(broadcast.next_request()).is_none());
}

#[test]
fn the_last_to_leave_makes_a_requested_track_unused_and_the_next_asks_again() {
    let broadcast = Broadcast::new(Pool::default());
    broadcast.dynamic();
    let consumer = broadcast.consume();
    let subscriber = consumer.subscribe("video", within(100)).unwrap();
    let track = now(broadcast.next_request())
        .unwrap()
        .accept(TrackInfo::default())
        .unwrap();
    assert!(!track.close_unused());
    drop(subscriber);
    now(track.unused());
    assert!(track.close_unused());
    let _next = consumer.subscribe("video", within(100)).unwrap();
    drop(track);
    assert_eq!(now(broadcast.next_request()).unwrap().name(), "video");
}

#[test]
fn a_refused_request_gives_its_error_to_all_who_wait() {
    let broadcast = Broadcast::new(Pool::default());
    broadcast.dynamic();
    let consumer = broadcast.consume();
    let mut subscriber = consumer.subscribe("video", within(100)).unwrap();
    let mut info = pin!(consumer.info("video"));
    assert!(
        info.as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    now(broadcast.next_request()).unwrap().reject(Error::App(4));
    assert_eq!(now(subscriber.recv_group()).unwrap_err(), Error::App(4));
    assert_eq!(now(subscriber.info()), Err(Error::App(4)));
    assert_eq!(now(info), Err(Error::App(4)));
    // The name can be asked for again.
    let _again = consumer.subscribe("video", within(100)).unwrap();
    drop(now(broadcast.next_request()).unwrap());
}

#[test]
fn a_request_that_is_dropped_or_never_answered_is_refused() {
    let broadcast = Broadcast::new(Pool::default());
    broadcast.dynamic();
    let consumer = broadcast.consume();
    let mut one = consumer.subscribe("one", within(100)).unwrap();
    drop(now(broadcast.next_request()));
    assert_eq!(now(one.recv_group()).unwrap_err(), Error::Dropped);
    let mut two = consumer.subscribe("two", within(100)).unwrap();
    drop(broadcast);
    assert_eq!(now(two.recv_group()).unwrap_err(), Error::Dropped);
    assert_eq!(
        consumer.subscribe("three", within(100)).unwrap_err(),
        Error::Dropped
    );
}

#[test]
fn a_request_nobody_waits_for_is_unused() {
    let broadcast = Broadcast::new(Pool::default());
    broadcast.dynamic();
    let consumer = broadcast.consume();
    let subscriber = consumer.subscribe("video", within(100)).unwrap();
    let request = now(broadcast.next_request()).unwrap();
    assert!(poll(request.unused()).is_none());
    assert_eq!(request.demand().current(), Some(within(100)));
    drop(subscriber);
    now(request.unused());
}

#[test]
fn asking_for_the_info_is_no_subscription() {
    let broadcast = Broadcast::new(Pool::default());
    broadcast.dynamic();
    let consumer = broadcast.consume();
    let mut info = Box::pin(consumer.info("video"));
    assert!(
        info.as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    let request = now(broadcast.next_request()).unwrap();
    assert_eq!(request.demand().current(), None);
    assert!(poll(request.unused()).is_none());
    let track = request
        .accept(TrackInfo {
            priority: 9,
            ..TrackInfo::default()
        })
        .unwrap();
    assert_eq!(now(info).unwrap().priority, 9);
    assert!(!track.is_used());
}

#[test]
fn content_written_once_and_closed_is_served_to_late_joiners() {
    let broadcast = Broadcast::new(Pool::default());
    let consumer = broadcast.consume();
    let track = broadcast
        .create_track("poster", TrackInfo::default())
        .unwrap();
    write(&track, 0);
    track.finish().unwrap();
    drop(track);
    let late = |consumer: &super::super::BroadcastConsumer| {
        let mut subscriber = consumer
            .subscribe("poster", Subscription::default())
            .unwrap();
        assert_eq!(arrived(&mut subscriber), [0]);
        assert!(now(subscriber.recv_group()).unwrap().is_none());
        assert_eq!(now(consumer.info("poster")), Ok(TrackInfo::default()));
    };
    late(&consumer);
    // Also when the publisher has gone, for whoever still knows the broadcast.
    drop(broadcast);
    late(&consumer);
}

#[test]
fn a_track_dropped_unfinished_leaves_its_name() {
    let broadcast = Broadcast::new(Pool::default());
    let consumer = broadcast.consume();
    let track = broadcast
        .create_track("video", TrackInfo::default())
        .unwrap();
    let again = broadcast.create_track("video", TrackInfo::default());
    assert_eq!(again.unwrap_err(), Error::Duplicate);
    drop(track);
    assert_eq!(
        consumer.subscribe("video", within(0)).unwrap_err(),
        Error::NotFound
    );
    broadcast
        .create_track("video", TrackInfo::default())
        .unwrap();
}

#[test]
fn a_finished_track_may_be_created_anew_and_old_readers_keep_theirs() {
    let broadcast = Broadcast::new(Pool::default());
    let consumer = broadcast.consume();
    let old = broadcast
        .create_track("video", TrackInfo::default())
        .unwrap();
    write(&old, 5);
    let mut reader = consumer.subscribe("video", within(0)).unwrap();
    old.finish().unwrap();
    let new = broadcast
        .create_track("video", TrackInfo::default())
        .unwrap();
    drop(old);
    write(&new, 0);
    assert_eq!(arrived(&mut reader), [5]);
    assert_eq!(
        arrived(&mut consumer.subscribe("video", within(0)).unwrap()),
        [0]
    );
}

#[test]
fn closing_aborts_what_is_unfinished() {
    let broadcast = Broadcast::new(Pool::default());
    broadcast.dynamic();
    let consumer = broadcast.consume();
    let (live, done) = ("live", "done");
    let [live, done] =
        [live, done].map(|name| broadcast.create_track(name, TrackInfo::default()).unwrap());
    let mut readers =
        ["live", "done", "asked"].map(|name| consumer.subscribe(name, within(100)).unwrap());
    let open = live.append_group().unwrap();
    frame(&open, 0);
    write(&done, 0);
    done.finish().unwrap();
    broadcast.close(Error::App(1));
    assert_eq!(now(consumer.closed()), Error::App(1));
    assert_eq!(open.write_frame(Timestamp::ZERO, ""), Err(Error::App(1)));
    assert_eq!(now(live.closed()), Err(Error::App(1)));
    assert_eq!(now(done.closed()), Ok(()));
    let [live, done, asked] = readers.each_mut();
    assert_eq!(arrived(live), [0]);
    assert_eq!(now(live.recv_group()).unwrap_err(), Error::App(1));
    assert_eq!(arrived(done), [0]);
    assert!(now(done.recv_group()).unwrap().is_none());
    assert_eq!(now(asked.recv_group()).unwrap_err(), Error::App(1));
    assert!(now(broadcast.next_request()).is_none());
    assert_eq!(
        broadcast
            .create_track("x", TrackInfo::default())
            .unwrap_err(),
        Error::Closed
    );
}
