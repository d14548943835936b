//! Which broadcasts there are, by which route, and how readers learn it.

use super::super::{Announce, Announced, Origin, OriginConfig, Route};
use super::*;
use crate::{Error, Path};

fn via(hops: &[u64]) -> Route {
    Route {
        hops: hops.to_vec(),
        ..Route::default()
    }
}

fn remote() -> Broadcast {
    Broadcast::new(Pool::default())
}

fn paths(paths: &[&str]) -> Vec<Path> {
    paths.iter().map(|path| Path::new(path).unwrap()).collect()
}

/// All changes known now: `+` active, `~` restart, `-` ended.
fn changes(announced: &mut Announced) -> Vec<String> {
    let describe = |change| match change {
        Announce::Active { path, .. } => format!("+{path}"),
        Announce::Restart { path, .. } => format!("~{path}"),
        Announce::Ended { path } => format!("-{path}"),
    };
    std::iter::from_fn(|| announced.try_next())
        .map(describe)
        .collect()
}

#[test]
fn current_ones_come_first_and_then_each_change() {
    let origin = Origin::new();
    let one = origin.create_broadcast("room/one").unwrap();
    let _other = origin.create_broadcast("roommate").unwrap();
    let mut announced = origin.announced("room");
    assert_eq!(announced.active(), 1);
    assert_eq!(changes(&mut announced), ["+room/one"]);
    let _two = origin.create_broadcast("/room//two/").unwrap();
    drop(one);
    assert_eq!(changes(&mut announced), ["+room/two", "-room/one"]);
    assert!(poll(announced.next()).is_none());
}

#[test]
fn a_broadcast_can_be_subscribed_in_the_tick_its_announcement_is_seen() {
    let origin = Origin::new();
    let mut announced = origin.announced("");
    let broadcast = origin.create_broadcast("a").unwrap();
    let _track = broadcast
        .create_track("video", TrackInfo::default())
        .unwrap();
    let Some(Announce::Active { path, consumer, .. }) = now(announced.next()) else {
        panic!()
    };
    assert!(consumer.subscribe("video", within(0)).is_ok());
    assert!(
        origin
            .broadcast(&path)
            .unwrap()
            .subscribe("video", within(0))
            .is_ok()
    );
}

#[test]
fn the_newest_of_equal_routes_wins_and_the_older_comes_back() {
    let origin = Origin::new();
    let (dead, live) = (remote(), remote());
    let mut announced = origin.announced("");
    let _old = origin.publish("cam", dead.consume(), via(&[1])).unwrap();
    assert_eq!(changes(&mut announced), ["+cam"]);
    let new = origin.publish("cam", live.consume(), via(&[2])).unwrap();
    assert!(origin.broadcast("cam").unwrap().is_same(&live.consume()));
    assert_eq!(changes(&mut announced), ["~cam"]);
    drop(new);
    assert!(origin.broadcast("cam").unwrap().is_same(&dead.consume()));
    assert_eq!(changes(&mut announced), ["~cam"]);
}

#[test]
fn a_remote_announcement_does_not_displace_the_local_publisher() {
    let origin = Origin::with_config(OriginConfig {
        hop: Some(7),
        ..OriginConfig::default()
    });
    let local = origin.create_broadcast("cam").unwrap();
    let reflected = origin.publish("cam", remote().consume(), via(&[7, 8]));
    assert_eq!(reflected.unwrap_err(), Error::Unroutable);
    let _other = origin
        .publish("cam", remote().consume(), via(&[8]))
        .unwrap();
    assert!(origin.broadcast("cam").unwrap().is_same(&local.consume()));
}

#[test]
fn a_worse_route_changes_nothing_for_readers() {
    let origin = Origin::new();
    let _short = origin
        .publish("cam", remote().consume(), via(&[1]))
        .unwrap();
    let mut announced = origin.announced("");
    assert_eq!(changes(&mut announced), ["+cam"]);
    let long = origin
        .publish("cam", remote().consume(), via(&[1, 2]))
        .unwrap();
    drop(long);
    assert_eq!(changes(&mut announced), [""; 0]);
}

#[test]
fn a_route_is_updated_in_place() {
    let origin = Origin::with_config(OriginConfig {
        hop: Some(7),
        ..OriginConfig::default()
    });
    let publication = origin
        .publish("cam", remote().consume(), via(&[1]))
        .unwrap();
    let mut announced = origin.announced("");
    changes(&mut announced);
    assert_eq!(publication.update(via(&[7])), Err(Error::Unroutable));
    publication.update(via(&[1, 2])).unwrap();
    let Some(Announce::Restart { route, .. }) = now(announced.next()) else {
        panic!()
    };
    assert_eq!(route.hops, [1, 2]);
}

#[test]
fn a_path_that_flaps_is_one_change_to_a_slow_reader() {
    let origin = Origin::new();
    let mut announced = origin.announced("");
    for _ in 0..1_000 {
        drop(origin.create_broadcast("cam").unwrap());
    }
    assert_eq!(changes(&mut announced), [""; 0]);
    let _last = origin.create_broadcast("cam").unwrap();
    assert_eq!(changes(&mut announced), ["+cam"]);
}

#[test]
fn hidden_paths_are_listed_only_to_who_asks() {
    let origin = Origin::new();
    let _broadcast = origin.create_broadcast("a/.b/c").unwrap();
    assert_eq!(changes(&mut origin.announced("a")), [""; 0]);
    assert_eq!(changes(&mut origin.announced("a/.b")), ["+a/.b/c"]);
    assert_eq!(changes(&mut origin.announced_with_hidden("")), ["+a/.b/c"]);
    assert!(origin.broadcast("a/.b/c").is_some());
}

#[test]
fn a_view_is_limited_to_its_scope() {
    let origin = Origin::new();
    let view = origin.scope(&paths(&["a", "b/c"]));
    let _seen = view.create_broadcast("a/1").unwrap();
    assert_eq!(
        view.create_broadcast("b/1").unwrap_err(),
        Error::Unauthorized
    );
    let _unseen = origin.create_broadcast("b/1").unwrap();
    assert!(view.broadcast("b/1").is_none());
    assert_eq!(
        now(view.wait_broadcast("b/1")).unwrap_err(),
        Error::Unauthorized
    );
    assert_eq!(changes(&mut view.announced("")), ["+a/1"]);
    // A scope can only shrink.
    let wider = view.scope(&paths(&["b", "a/1"]));
    assert_eq!(
        wider.create_broadcast("b/1").unwrap_err(),
        Error::Unauthorized
    );
    assert!(wider.create_broadcast("b/c/1").is_ok());
    assert_eq!(
        wider.create_broadcast("a/2").unwrap_err(),
        Error::Unauthorized
    );
    assert!(view.scope(&[]).create_broadcast("a/1").is_err());
}

#[test]
fn a_mounted_view_has_relative_paths() {
    let origin = Origin::new();
    let view = origin.scope(&paths(&["live"])).mount("live/eu").unwrap();
    let mut announced = view.announced("");
    let _cam = view.create_broadcast("cam").unwrap();
    let _outside = origin.create_broadcast("live/us/cam").unwrap();
    assert!(origin.broadcast("live/eu/cam").is_some());
    assert_eq!(changes(&mut announced), ["+cam"]);
    assert_eq!(
        origin.mount("x/".repeat(33)).unwrap_err(),
        Error::PathTooLong
    );
}

#[test]
fn a_node_is_not_offered_what_came_through_it() {
    let origin = Origin::new();
    let view = origin.without_hop(2);
    let mut announced = view.announced("");
    let direct = remote();
    let _best = origin
        .publish("cam", remote().consume(), via(&[2]))
        .unwrap();
    assert!(view.broadcast("cam").is_none());
    assert_eq!(changes(&mut announced), [""; 0]);
    let worse = origin
        .publish("cam", direct.consume(), via(&[3, 4]))
        .unwrap();
    assert!(view.broadcast("cam").unwrap().is_same(&direct.consume()));
    assert_eq!(
        (announced.active(), changes(&mut announced)),
        (1, vec!["+cam".into()])
    );
    drop(worse);
    assert_eq!(changes(&mut announced), ["-cam"]);
}

#[test]
fn a_waiting_subscriber_finds_the_broadcast_when_it_comes() {
    let origin = Origin::new();
    let mut waiting = Box::pin(origin.wait_broadcast("room/cam"));
    let (count, waker) = Count::new();
    let cx = &mut Context::from_waker(&waker);
    assert!(waiting.as_mut().poll(cx).is_pending());
    let _below = origin.create_broadcast("room/cam/2").unwrap();
    assert!(waiting.as_mut().poll(cx).is_pending());
    let before = count.get();
    let _cam = origin.create_broadcast("room/cam").unwrap();
    assert_eq!(count.get(), before + 1);
    assert!(waiting.as_mut().poll(cx).is_ready());
}

#[test]
fn closing_a_broadcast_retracts_it() {
    let origin = Origin::new();
    let broadcast = origin.create_broadcast("cam").unwrap();
    broadcast.clone().close(Error::Cancel);
    assert!(origin.broadcast("cam").is_none());
}

#[test]
fn a_subscriber_learns_that_its_broadcast_was_replaced() {
    let origin = Origin::new();
    let first = origin.create_broadcast("cam").unwrap();
    let consumer = origin.broadcast("cam").unwrap();
    assert!(poll(first.consume().replaced()).is_none());
    let (count, waker) = Count::new();
    let mut replaced = Box::pin(consumer.replaced());
    let cx = &mut Context::from_waker(&waker);
    assert!(replaced.as_mut().poll(cx).is_pending());
    drop(first);
    assert!(
        replaced.as_mut().poll(cx).is_pending(),
        "gone is not replaced"
    );
    let _second = origin.create_broadcast("cam").unwrap();
    assert_eq!(count.get(), 2);
    assert!(replaced.as_mut().poll(cx).is_ready());
}

#[test]
fn replaced_goes_by_the_readers_own_view() {
    let origin = Origin::new();
    let _seen = origin
        .publish("cam", remote().consume(), via(&[1, 3]))
        .unwrap();
    let consumer = origin.without_hop(2).broadcast("cam").unwrap();
    let _unseen = origin
        .publish("cam", remote().consume(), via(&[2]))
        .unwrap();
    assert!(poll(consumer.replaced()).is_none());
    let _better = origin
        .publish("cam", remote().consume(), via(&[4]))
        .unwrap();
    now(consumer.replaced());
}

#[test]
fn a_publisher_that_restarts_its_numbering_is_found_anew() {
    let origin = Origin::new();
    let publish = |sequences: std::ops::Range<u64>| {
        let broadcast = origin.create_broadcast("cam").unwrap();
        let track = broadcast
            .create_track("video", TrackInfo::default())
            .unwrap();
        sequences.for_each(|sequence| write(&track, sequence));
        (broadcast, track)
    };
    let subscribe = || {
        let consumer = origin.broadcast("cam").unwrap();
        let subscriber = consumer
            .subscribe("video", Subscription::default())
            .unwrap();
        (consumer, subscriber)
    };
    let old = publish(100..103);
    let (consumer, mut subscriber) = subscribe();
    assert_eq!(arrived(&mut subscriber), [102]);
    let _new = publish(0..3);
    drop(old);
    assert_eq!(now(subscriber.recv_group()).unwrap_err(), Error::Dropped);
    now(consumer.replaced());
    // At the live edge: no replay of what went before.
    assert_eq!(arrived(&mut subscribe().1), [2]);
}

#[test]
fn an_origin_that_is_gone_ends_its_readers() {
    let origin = Origin::new();
    let mut announced = origin.announced("");
    let (count, waker) = Count::new();
    let cx = &mut Context::from_waker(&waker);
    assert!(announced.poll_next(cx).is_pending());
    drop(origin);
    assert_eq!(count.get(), 1);
    assert!(now(announced.next()).is_none());
}

#[test]
fn readers_that_leave_leave_nothing() {
    let origin = Origin::new();
    let cam = origin.create_broadcast("cam").unwrap();
    for _ in 0..1_000 {
        let mut announced = origin.announced("");
        assert_eq!(changes(&mut announced), ["+cam"]);
        assert!(poll(announced.next()).is_none());
        assert!(poll(origin.broadcast("cam").unwrap().replaced()).is_none());
    }
    drop(cam);
    origin.assert_empty();
}
