//! What is asked of the publisher, and when it stops.

use std::time::Duration;

use moq_net::{Error, Subscription, TrackInfo, Version};

use crate::net::*;

/// moq-dev/moq#2500, #2513.
#[tokio::test(start_paused = true)]
async fn ten_subscribers_cost_one_upstream_subscription() {
    for version in [Version::Lite06, Version::Lite05] {
        let chain = Chain::new(version).await;
        let (_broadcast, track, _) = chain.track("video", keep_all()).await;
        let mut nodes = Vec::new();
        for hop in 10..20 {
            let node = chain.net.node(hop);
            let session = node.read_from(&chain.relay, version).await;
            let subscriber = node
                .find("room/cam")
                .await
                .subscribe("video", all())
                .unwrap();
            nodes.push((node, session, subscriber));
        }
        sleep(100).await;
        write_group(&track, "once");
        for (_, _, subscriber) in &mut nodes {
            assert_eq!(next_group(subscriber).await.unwrap().1, ["once"]);
        }
        let up = chain.up.stats();
        assert_eq!(up.served.len(), 1, "{version}");
        assert_eq!(up.sent_total.groups_started, 1);
    }
}

/// cloudflare/moq-rs#191, #180, #198; moqtail/moqtail#332.
#[tokio::test(start_paused = true)]
async fn the_last_to_leave_cancels_upstream_within_a_second() {
    for version in [Version::Lite06, Version::Lite05] {
        let chain = Chain::new(version).await;
        let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
        let mut first = consumer.subscribe("video", all()).unwrap();
        let second = consumer.subscribe("video", all()).unwrap();
        write_group(&track, "x");
        next_group(&mut first).await.unwrap();
        assert!(track.is_used());
        drop(second);
        sleep(1_000).await;
        assert!(track.is_used(), "{version}: one is left");
        drop(first);
        sleep(1_000).await;
        assert!(!track.is_used(), "{version}: still subscribed upstream");
        assert_eq!(chain.up.stats().served, []);
        // And it can be had again.
        let mut again = consumer.subscribe("video", all()).unwrap();
        assert!(next_group(&mut again).await.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_vanishes_is_unsubscribed_upstream() {
    let chain = Chain::new(Version::Lite06).await;
    let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
    let mut subscriber = consumer.subscribe("video", all()).unwrap();
    write_group(&track, "x");
    next_group(&mut subscriber).await.unwrap();
    chain.down.close(0, "");
    sleep(1_000).await;
    assert!(!track.is_used());
    let error = within(subscriber.recv_group()).await.unwrap_err();
    assert_eq!(error, Error::LocallyClosed);
}

#[tokio::test(start_paused = true)]
async fn updates_flow_upstream() {
    for version in [Version::Lite06, Version::Lite05] {
        let chain = Chain::new(version).await;
        let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
        let mut demand = track.demand();
        let subscriber = consumer.subscribe("video", all()).unwrap();
        sleep(100).await;
        let update = Subscription {
            priority: 200,
            max_age: Duration::from_secs(2),
            ..all()
        };
        subscriber.update(update);
        sleep(100).await;
        let asked = demand.changed().await.unwrap();
        assert_eq!(
            (asked.priority, asked.max_age),
            (200, Duration::from_secs(2)),
            "{version}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn info_alone_subscribes_to_nothing() {
    let chain = Chain::new(Version::Lite06).await;
    let info = TrackInfo {
        priority: 3,
        ..keep_all()
    };
    let (_broadcast, track, consumer) = chain.track("video", info.clone()).await;
    assert_eq!(within(consumer.info("video")).await.unwrap(), info);
    assert!(!track.is_used());
    assert_eq!(
        within(consumer.info("nonsense")).await.unwrap_err(),
        Error::NotFound
    );
}

#[tokio::test(start_paused = true)]
async fn two_hundred_tracks_of_one_broadcast() {
    let chain = Chain::new(Version::Lite06).await;
    let broadcast = chain.publisher.origin.create_broadcast("many").unwrap();
    let tracks: Vec<_> = (0..200)
        .map(|n| broadcast.create_track(format!("{n}"), keep_all()).unwrap())
        .collect();
    let consumer = chain.subscriber.find("many").await;
    let mut subscribers: Vec<_> = (0..200)
        .map(|n| consumer.subscribe(&format!("{n}"), all()).unwrap())
        .collect();
    for (n, track) in tracks.iter().enumerate() {
        write_group(track, n.to_string());
    }
    for (n, subscriber) in subscribers.iter_mut().enumerate() {
        assert_eq!(next_group(subscriber).await.unwrap().1, [n.to_string()]);
    }
}
