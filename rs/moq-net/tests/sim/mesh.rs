//! Several relays, loops, storms.

use std::time::Duration;

use moq_net::model::Announce;
use moq_net::{Origin, Route, Version};

use crate::net::*;

/// Counts what an origin says about its paths, from now on.
fn count(origin: &Origin) -> std::sync::Arc<std::sync::atomic::AtomicUsize> {
    let counter = std::sync::Arc::<std::sync::atomic::AtomicUsize>::default();
    let (mut announced, seen) = (origin.announced(""), counter.clone());
    tokio::spawn(async move {
        while announced.next().await.is_some() {
            seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    });
    counter
}

/// moq-dev/moq#3694, #2684: what comes round a loop displaces nothing.
#[tokio::test(start_paused = true)]
async fn three_relays_in_a_loop_settle() {
    for version in [Version::Lite06, Version::Lite05] {
        let net = Net::new();
        let relays = [net.node(1), net.node(2), net.node(3)];
        let [a, b, c] = &relays;
        let _sessions = [
            a.connect_with(b, version, both(&a.origin)).await,
            b.connect_with(c, version, both(&b.origin)).await,
            c.connect_with(a, version, both(&c.origin)).await,
        ];
        let counters = relays.each_ref().map(|relay| count(&relay.origin));
        let (publisher, subscriber) = (net.node(10), net.node(11));
        let _up = publisher.publish_to(a, version).await;
        let _down = subscriber.read_from(c, version).await;
        let broadcast = publisher.origin.create_broadcast("cam").unwrap();
        let track = broadcast.create_track("video", keep_all()).unwrap();
        let mut got = subscriber
            .find("cam")
            .await
            .subscribe("video", all())
            .unwrap();
        write_group(&track, "once");
        assert_eq!(next_group(&mut got).await.unwrap().1, ["once"], "{version}");

        sleep(5_000).await;
        let after_five = counters
            .each_ref()
            .map(|c| c.load(std::sync::atomic::Ordering::Relaxed));
        sleep(60_000).await;
        let later = counters
            .each_ref()
            .map(|c| c.load(std::sync::atomic::Ordering::Relaxed));
        assert_eq!(after_five, later, "{version}: still changing");
        assert!(
            later.iter().all(|&changes| changes <= 3),
            "{version}: {later:?} changes"
        );

        drop(broadcast);
        sleep(5_000).await;
        for relay in &relays {
            assert!(
                relay.origin.broadcast("cam").is_none(),
                "{version}: a ghost goes round"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn two_relays_that_share_all_announce_once() {
    let net = Net::new();
    let (a, b) = (net.node(1), net.node(2));
    let _session = a.connect(&b).await;
    let _back = b.connect(&a).await;
    let changes = count(&b.origin);
    let broadcast = a.origin.create_broadcast("cam").unwrap();
    b.find("cam").await;
    sleep(5_000).await;
    assert!(changes.load(std::sync::atomic::Ordering::Relaxed) <= 2);
    let route = {
        let mut announced = a.origin.announced("");
        match within(announced.next()).await {
            Some(Announce::Active { route, .. }) => route,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(route, Route::default(), "the local publisher was displaced");
    drop(broadcast);
    sleep(1_000).await;
    assert!(b.origin.broadcast("cam").is_none());
}

/// A peer without a hop id isn't told of what it announced itself.
#[tokio::test(start_paused = true)]
async fn nothing_is_reflected_to_an_anonymous_peer() {
    for version in [Version::Lite06, Version::Lite05] {
        let net = Net::new();
        let (relay, client) = (net.node(2), net.node(1));
        let anonymous = Origin::new();
        let conn = client.dial(&relay, version).await;
        let heard = Origin::new();
        let config = moq_net::SessionConfig {
            publish: Some(anonymous.clone()),
            subscribe: Some(heard.clone()),
            ..Default::default()
        };
        let _session = moq_net::Session::connect(conn, config).await.unwrap();
        let _mine = anonymous.create_broadcast("mine").unwrap();
        let _theirs = relay.origin.create_broadcast("theirs").unwrap();
        within(heard.wait_broadcast("theirs")).await.unwrap();
        within(relay.origin.wait_broadcast("mine")).await.unwrap();
        sleep(2_000).await;
        assert!(
            heard.broadcast("mine").is_none(),
            "{version}: its own came back"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_route_of_32_hops_goes_no_further() {
    let net = Net::new();
    let (a, b, c) = (net.node(101), net.node(102), net.node(103));
    let _ab = a.connect(&b).await;
    let _bc = b.connect(&c).await;
    let far = moq_net::Broadcast::new(a.origin.pool().clone());
    let hops = |count| Route {
        hops: (1..=count).collect(),
        ..Route::default()
    };
    let _far = a.origin.publish("far", far.consume(), hops(31)).unwrap();
    let _near = a.origin.publish("near", far.consume(), hops(30)).unwrap();
    c.find("near").await;
    b.find("far").await;
    sleep(2_000).await;
    assert!(c.origin.broadcast("far").is_none(), "33 hops were accepted");
}

/// moq-dev/moq#4642.
#[tokio::test(start_paused = true)]
async fn a_path_announced_and_retracted_a_thousand_times_a_second_floods_nobody() {
    let chain = Chain::new(Version::Lite06).await;
    sleep(100).await;
    let before = chain.down.stats().connection.received_bytes;
    let mut last = None;
    for turn in 0..3_000 {
        last = (turn % 2 == 0).then(|| chain.publisher.origin.create_broadcast("flap").unwrap());
        sleep(1).await;
    }
    drop(last);
    let heard = chain.down.stats().connection.received_bytes - before;
    assert!(heard < 10_000, "{heard} bytes in three seconds");
    sleep(1_000).await;
    assert!(chain.subscriber.origin.broadcast("flap").is_none());
    let _kept = chain.publisher.origin.create_broadcast("flap").unwrap();
    chain.subscriber.find("flap").await;
}

#[tokio::test(start_paused = true)]
async fn a_shorter_way_is_taken_and_left_without_a_gap_in_what_is_announced() {
    let net = Net::new();
    let (a, b, c) = (net.node(1), net.node(2), net.node(3));
    let _ab = a.connect(&b).await;
    let _bc = b.connect(&c).await;
    let _cam = a.origin.create_broadcast("cam").unwrap();
    c.find("cam").await;
    let mut announced = c.origin.announced("");
    let Some(Announce::Active { route, .. }) = within(announced.next()).await else {
        panic!("not there");
    };
    assert_eq!(route.hops, [1, 2]);
    let short = c.connect(&a).await;
    let Some(Announce::Restart { route, .. }) = within(announced.next()).await else {
        panic!("not rerouted");
    };
    assert_eq!(route.hops, [1]);
    short.close(0, "");
    let Some(Announce::Restart { route, .. }) = within(announced.next()).await else {
        panic!("not rerouted back");
    };
    assert_eq!(route.hops, [1, 2]);
    tokio::time::timeout(Duration::from_secs(5), announced.next())
        .await
        .unwrap_err();
}
