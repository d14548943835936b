//! What a publisher writes, a subscriber reads: through a relay, in each version.

use std::time::Duration;

use moq_net::model::Announce;
use moq_net::{
    Error, Session, SessionConfig, Subscription, Timescale, Timestamp, TrackInfo, Version,
};

use crate::net::*;

const VERSIONS: [Version; 2] = [Version::Lite06, Version::Lite05];

#[tokio::test(start_paused = true)]
async fn groups_pass_through_a_relay() {
    for version in VERSIONS {
        let chain = Chain::new(version).await;
        let timescale = Timescale::new(90_000).unwrap();
        let info = TrackInfo {
            priority: 9,
            max_age: Duration::from_secs(20),
            timescale,
        };
        let (_broadcast, track, consumer) = chain.track("video", info.clone()).await;
        let mut subscriber = consumer.subscribe("video", all()).unwrap();
        assert_eq!(within(subscriber.info()).await.unwrap(), info, "{version}");

        let group = track.append_group().unwrap();
        group
            .write_frame(Timestamp::new(7, timescale), "first")
            .unwrap();
        let mut reader = within(subscriber.recv_group()).await.unwrap().unwrap();
        let frame = within(reader.read_frame()).await.unwrap().unwrap();
        assert_eq!(
            (frame.timestamp.value(), &frame.payload[..]),
            (7, &b"first"[..])
        );
        // A timestamp may go back, and a frame may be empty or large.
        group.write_frame(Timestamp::new(3, timescale), "").unwrap();
        group
            .write_frame(Timestamp::new(1 << 40, timescale), vec![5; 300_000])
            .unwrap();
        group.finish().unwrap();
        assert_eq!(
            within(reader.read_frame())
                .await
                .unwrap()
                .unwrap()
                .timestamp
                .value(),
            3
        );
        let last = within(reader.read_frame()).await.unwrap().unwrap();
        assert_eq!(
            (last.timestamp.value(), last.payload.len()),
            (1 << 40, 300_000)
        );
        assert!(within(reader.read_frame()).await.unwrap().is_none());
        assert_eq!(chain.down.version(), version);
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_track_arrives() {
    for version in VERSIONS {
        let chain = Chain::new(version).await;
        let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
        let mut subscriber = consumer.subscribe("video", all()).unwrap();
        for text in ["a", "b", "c"] {
            write_group(&track, text);
        }
        track.finish().unwrap();
        let mut got = Vec::new();
        while let Some((sequence, frames)) = next_group(&mut subscriber).await {
            assert_eq!(frames.len(), 1);
            got.push(sequence);
        }
        got.sort_unstable();
        assert_eq!(got, [0, 1, 2], "{version}");
    }
}

/// Versions without SETUP, track info, timestamps and a declared end.
#[tokio::test(start_paused = true)]
async fn older_versions_carry_announcements_groups_and_the_end() {
    for version in [Version::Lite04, Version::Lite03] {
        let chain = Chain::new(version).await;
        let (broadcast, track, consumer) = chain.track("video", keep_all()).await;
        let mut subscriber = consumer.subscribe("video", all()).unwrap();
        write_group(&track, "a");
        assert_eq!(
            next_group(&mut subscriber).await.unwrap().1,
            ["a"],
            "{version}"
        );
        sleep(1_000).await;
        write_group(&track, "b");
        let mut group = within(subscriber.recv_group()).await.unwrap().unwrap();
        let frame = within(group.read_frame()).await.unwrap().unwrap();
        // The time of its arrival, as nothing better is known.
        assert!(
            frame.timestamp.as_millis() >= 1_000,
            "{:?}",
            frame.timestamp
        );
        track.finish().unwrap();
        assert!(next_group(&mut subscriber).await.is_none(), "{version}");
        let mut refused = consumer.subscribe("nonsense", all()).unwrap();
        assert!(within(refused.recv_group()).await.is_err());
        drop(broadcast);
        sleep(1_000).await;
        assert!(chain.subscriber.origin.broadcast("room/cam").is_none());
    }
}

/// moq-dev/moq#2832, #3532: what was written once and closed is served to late joiners.
#[tokio::test(start_paused = true)]
async fn one_shot_content_is_served_to_late_joiners() {
    for version in VERSIONS {
        let chain = Chain::new(version).await;
        let (_broadcast, track, consumer) = chain.track("catalog", keep_all()).await;
        write_group(&track, "once");
        track.finish().unwrap();
        drop(track);
        sleep(5_000).await;
        for _ in 0..2 {
            let mut subscriber = consumer
                .subscribe("catalog", Subscription::default())
                .unwrap();
            let (sequence, frames) = next_group(&mut subscriber).await.unwrap();
            assert_eq!((sequence, &frames[0][..]), (0, &b"once"[..]));
            assert!(next_group(&mut subscriber).await.is_none());
            sleep(2_000).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_joiner_gets_the_newest_group_at_once() {
    let chain = Chain::new(Version::Lite06).await;
    let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
    for n in 0..10 {
        write_group(&track, vec![n]);
    }
    let mut subscriber = consumer
        .subscribe("video", Subscription::default())
        .unwrap();
    assert_eq!(next_group(&mut subscriber).await.unwrap().0, 9);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_may_reach_into_the_past_and_end() {
    for version in VERSIONS {
        let chain = Chain::new(version).await;
        let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
        for n in 0..10 {
            write_group(&track, vec![n]);
        }
        let wish = Subscription {
            start: Some(3),
            end: Some(6),
            ..all()
        };
        let mut subscriber = consumer.subscribe("video", wish).unwrap();
        let mut got = Vec::new();
        while let Some((sequence, _)) = next_group(&mut subscriber).await {
            got.push(sequence);
        }
        got.sort_unstable();
        assert_eq!(got, [3, 4, 5], "{version}");
    }
}

/// moq-dev/moq#3366, #2637.
#[tokio::test(start_paused = true)]
async fn an_unknown_track_is_refused_at_once() {
    for version in VERSIONS {
        let chain = Chain::new(version).await;
        let (_broadcast, _track, consumer) = chain.track("video", keep_all()).await;
        let began = tokio::time::Instant::now();
        let mut subscriber = consumer.subscribe("nonsense", all()).unwrap();
        let error = within(subscriber.recv_group()).await.unwrap_err();
        assert_eq!(error, Error::NotFound, "{version}");
        assert!(began.elapsed() < Duration::from_millis(100));
    }
}

/// facebookexperimental/moxygen#43.
#[tokio::test(start_paused = true)]
async fn a_broadcast_can_be_subscribed_to_in_the_tick_it_is_announced() {
    let chain = Chain::new(Version::Lite06).await;
    let mut announced = chain.subscriber.origin.announced("");
    let broadcast = chain.publisher.origin.create_broadcast("now").unwrap();
    let track = broadcast.create_track("video", keep_all()).unwrap();
    write_group(&track, "x");
    let Some(Announce::Active { consumer, .. }) = within(announced.next()).await else {
        panic!("not announced");
    };
    let mut subscriber = consumer.subscribe("video", all()).unwrap();
    assert_eq!(next_group(&mut subscriber).await.unwrap().0, 0);
}

#[tokio::test(start_paused = true)]
async fn announcements_come_and_go_with_their_route() {
    for version in VERSIONS {
        let chain = Chain::new(version).await;
        let mut announced = chain.subscriber.origin.announced("");
        let broadcast = chain.publisher.origin.create_broadcast("a/b").unwrap();
        let Some(Announce::Active { path, route, .. }) = within(announced.next()).await else {
            panic!("not announced");
        };
        assert_eq!(path.as_str(), "a/b");
        assert_eq!(route.hops, [1, 2], "{version}");
        if version >= Version::Lite06 {
            assert_eq!((route.warm, route.cold), (2, 2), "one for each link");
        }
        drop(broadcast);
        let ended = within(announced.next()).await;
        assert!(matches!(ended, Some(Announce::Ended { path }) if path.as_str() == "a/b"));
        let _again = chain.publisher.origin.create_broadcast("a/b").unwrap();
        assert!(matches!(
            within(announced.next()).await,
            Some(Announce::Active { .. })
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_announced_before_is_told_to_who_comes_later() {
    let net = Net::new();
    let (publisher, relay, subscriber) = (net.node(1), net.node(2), net.node(3));
    let kept: Vec<_> = (0..200)
        .map(|n| {
            publisher
                .origin
                .create_broadcast(format!("room/{n}"))
                .unwrap()
        })
        .collect();
    let _up = publisher.publish_to(&relay, Version::Lite06).await;
    let _down = subscriber.read_from(&relay, Version::Lite06).await;
    let mut announced = subscriber.origin.announced("room");
    for _ in &kept {
        assert!(matches!(
            within(announced.next()).await,
            Some(Announce::Active { .. })
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn both_ends_publish_and_subscribe_over_one_session() {
    let net = Net::new();
    let (a, b) = (net.node(1), net.node(2));
    let _session = a.connect(&b).await;
    let from_a = a.origin.create_broadcast("a").unwrap();
    let from_b = b.origin.create_broadcast("b").unwrap();
    for (writer, reader, path) in [(&from_a, &b, "a"), (&from_b, &a, "b")] {
        let track = writer.create_track("t", keep_all()).unwrap();
        let mut subscriber = reader.find(path).await.subscribe("t", all()).unwrap();
        write_group(&track, path);
        assert_eq!(next_group(&mut subscriber).await.unwrap().1, [path]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_aborted_group_leaves_the_next_one_alone() {
    for version in VERSIONS {
        let chain = Chain::new(version).await;
        let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
        let mut subscriber = consumer.subscribe("video", all()).unwrap();
        let group = track.append_group().unwrap();
        group.write_frame(Timestamp::ZERO, "kept").unwrap();
        let mut reader = within(subscriber.recv_group()).await.unwrap().unwrap();
        assert_eq!(
            within(reader.read_frame()).await.unwrap().unwrap().payload,
            "kept"
        );
        group.abort(Error::App(5));
        assert_eq!(
            within(reader.read_frame()).await.unwrap_err(),
            Error::App(5),
            "{version}"
        );
        write_group(&track, "next");
        assert_eq!(next_group(&mut subscriber).await.unwrap().1, ["next"]);
    }
}

#[tokio::test(start_paused = true)]
async fn datagrams_pass_through_a_relay() {
    for version in VERSIONS {
        let chain = Chain::new(version).await;
        let (_broadcast, track, consumer) = chain.track("data", keep_all()).await;
        let mut subscriber = consumer.subscribe("data", all()).unwrap();
        within(subscriber.info()).await.unwrap();
        sleep(100).await;
        let sequence = track
            .append_datagram(Timestamp::from_millis(77), "ping")
            .unwrap();
        let datagram = within(subscriber.recv_datagram()).await.unwrap().unwrap();
        assert_eq!(datagram.sequence, sequence);
        assert_eq!(datagram.timestamp, Timestamp::from_millis(77));
        assert_eq!(datagram.payload, "ping");
    }
}

#[tokio::test(start_paused = true)]
async fn the_numbers_of_a_session_add_up() {
    let chain = Chain::new(Version::Lite06).await;
    let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
    let mut subscriber = consumer.subscribe("video", all()).unwrap();
    for _ in 0..5 {
        write_group(&track, vec![0; 1000]);
        next_group(&mut subscriber).await.unwrap();
    }
    sleep(200).await;
    let sent = chain.up.stats();
    assert_eq!(sent.served.len(), 1);
    assert_eq!(sent.served[0].broadcast.as_str(), "room/cam");
    let totals = sent.served[0].totals;
    assert_eq!(
        (totals.groups_started, totals.groups_finished, totals.frames),
        (5, 5, 5)
    );
    assert_eq!((totals.bytes, totals.bytes_acknowledged), (5000, 5000));
    let received = chain.down.stats();
    assert_eq!(received.received_total.bytes, 5000);
    assert_eq!(received.received_total.groups_finished, 5);
}

#[tokio::test(start_paused = true)]
async fn a_path_that_is_not_allowed_closes_with_its_reason() {
    for version in VERSIONS {
        let net = Net::new();
        let (client, server) = (net.node(1), net.node(2));
        let config = SessionConfig {
            path: Some("secret?jwt=x".into()),
            ..both(&client.origin)
        };
        let conn = client.dial(&server, version).await;
        let error = within(Session::connect(conn, config)).await.unwrap_err();
        let reason = "no token for /secret".into();
        assert_eq!(error, Error::Session { code: 2, reason }, "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn goaway_arrives_and_the_session_goes_on() {
    for version in VERSIONS {
        let chain = Chain::new(version).await;
        let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
        let mut subscriber = consumer.subscribe("video", all()).unwrap();
        write_group(&track, "before");
        next_group(&mut subscriber).await.unwrap();
        let relay_side = chain.relay.accepted.lock().unwrap()[1].clone();
        relay_side.goaway("https://elsewhere/").await.unwrap();
        assert_eq!(
            within(chain.down.goaway_received()).await,
            "https://elsewhere/"
        );
        write_group(&track, "after");
        assert_eq!(
            next_group(&mut subscriber).await.unwrap().1,
            ["after"],
            "{version}"
        );
        let mut new = consumer.subscribe("other", all()).unwrap();
        assert_eq!(
            within(new.recv_group()).await.unwrap_err(),
            Error::GoingAway
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_handle_closes_the_session() {
    let net = Net::new();
    let (a, b) = (net.node(1), net.node(2));
    let session = a.connect(&b).await;
    sleep(50).await;
    let other = b.accepted.lock().unwrap()[0].clone();
    drop(session);
    let closed = Error::Session {
        code: 0,
        reason: String::new(),
    };
    assert_eq!(within(other.closed()).await, closed);
}
