//! Media through the relay: late, lossy, taken over.

use std::time::Duration;

use moq_net::{Announce, Subscription};
use moq_quic::sim::Link;

use crate::net::*;

/// 5 % of packets lost, 50 ms each way.
fn bad() -> Link {
    Link {
        delay: Duration::from_millis(50),
        loss: 0.05,
        ..Link::default()
    }
}

#[tokio::test(start_paused = true)]
async fn with_loss_and_delay_everything_arrives_in_order() {
    let net = Net::new();
    let station = net.open_relay(1);
    net.network.link(host(1), host(2), bad());
    net.network.link(host(1), host(3), bad());
    let publisher = net.client(2, &station, "").await.unwrap();
    let subscriber = net.client(3, &station, "").await.unwrap();
    let broadcast = publisher.origin.create_broadcast("cam").unwrap();
    let track = broadcast.create_track("video", info()).unwrap();
    let consumer = subscriber.find("cam").await;
    let cursor = consumer.subscribe("video", all()).unwrap();
    let mut ordered = cursor.ordered();
    let writing = tokio::spawn(async move {
        for number in 0..300 {
            write(&track, number * 20, &format!("{number}{}", "x".repeat(300)));
            sleep(20).await;
        }
        track.finish().unwrap();
        sleep(60_000).await;
        drop(broadcast);
    });
    // Waiting for holes is the reader's own choice: here it lags by what the loss takes to heal.
    sleep(8_000).await;
    for number in 0..300 {
        let (_, frame) = within(ordered.read_frame())
            .await
            .unwrap()
            .expect("not the end yet");
        assert!(
            frame.payload.starts_with(format!("{number}x").as_bytes()),
            "at {number}"
        );
    }
    assert!(within(ordered.read_frame()).await.unwrap().is_none());
    writing.abort();
}

#[tokio::test(start_paused = true)]
async fn a_late_joiner_gets_the_newest_group_at_once() {
    let net = Net::new();
    let station = net.open_relay(1);
    let publisher = net.client(2, &station, "").await.unwrap();
    let early = net.client(3, &station, "").await.unwrap();
    let broadcast = publisher.origin.create_broadcast("cam").unwrap();
    let track = broadcast.create_track("video", info()).unwrap();
    let mut watching = early.find("cam").await.subscribe("video", all()).unwrap();
    for number in 0..10 {
        write(&track, number * 1000, &number.to_string());
        assert_eq!(read(&mut watching).await.unwrap(), Some(number.to_string()));
    }
    let late = net.client(4, &station, "").await.unwrap();
    let mut joined = late
        .find("cam")
        .await
        .subscribe("video", Subscription::default())
        .unwrap();
    let first = tokio::time::timeout(Duration::from_secs(1), read(&mut joined)).await;
    assert_eq!(first.expect("nothing at once").unwrap(), Some("9".into()));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_subscribers_are_one_upstream() {
    let net = Net::new();
    let station = net.open_relay(1);
    let publisher = net.client(2, &station, "").await.unwrap();
    let broadcast = publisher.origin.create_broadcast("cam").unwrap();
    let track = broadcast.create_track("video", info()).unwrap();
    let mut clients = Vec::new();
    for number in 100..200 {
        let client = net.client(number, &station, "").await.unwrap();
        let cursor = client.find("cam").await.subscribe("video", all()).unwrap();
        clients.push((client, cursor));
    }
    sleep(100).await;
    write(&track, 0, "once");
    for (_, cursor) in &mut clients {
        assert_eq!(read(cursor).await.unwrap(), Some("once".into()));
    }
    assert_eq!(publisher.session.stats().sent_total.groups_started, 1);
    assert_eq!(station.relay.metrics().sessions, 101);
    drop(clients);
    sleep(1000).await;
    assert!(!track.is_used(), "the last has left a second ago");
    assert_eq!(station.relay.metrics().sessions, 1);
}

#[tokio::test(start_paused = true)]
async fn a_publisher_that_returns_takes_over_from_its_dead_self() {
    let net = Net::new();
    let station = net.open_relay(1);
    let subscriber = net.client(9, &station, "").await.unwrap();
    let mut announced = subscriber.origin.announced("");
    let dead = net.client(2, &station, "").await.unwrap();
    let broadcast = dead.origin.create_broadcast("cam").unwrap();
    let track = broadcast.create_track("video", info()).unwrap();
    write(&track, 0, "before");
    let Some(Announce::Active { consumer, .. }) = within(announced.next()).await else {
        panic!("it is new");
    };
    let mut cursor = consumer.subscribe("video", all()).unwrap();
    assert_eq!(read(&mut cursor).await.unwrap(), Some("before".into()));

    // Killed: it says nothing, and the relay believes in it until its timeout.
    net.cut(&dead, &station);
    sleep(500).await;
    let returned = net.client(3, &station, "").await.unwrap();
    let broadcast = returned.origin.create_broadcast("cam").unwrap();
    let track = broadcast.create_track("video", info()).unwrap();
    write(&track, 0, "after");

    // Long before that timeout the subscriber is told, and goes on with the new one.
    let next = tokio::time::timeout(Duration::from_secs(2), announced.next()).await;
    let consumer = match next.expect("told at once") {
        Some(Announce::Restart { consumer, .. } | Announce::Active { consumer, .. }) => consumer,
        other => panic!("{other:?}"),
    };
    let mut cursor = consumer.subscribe("video", all()).unwrap();
    assert_eq!(read(&mut cursor).await.unwrap(), Some("after".into()));

    // When the dead one times out, that changes nothing any more.
    sleep(30_000).await;
    assert!(subscriber.origin.broadcast("cam").is_some());
    write(&track, 30_000, "still");
    assert_eq!(read(&mut cursor).await.unwrap(), Some("still".into()));
}

#[tokio::test(start_paused = true)]
async fn a_slow_subscriber_slows_nobody_else() {
    let net = Net::new();
    let station = net.open_relay(1);
    let publisher = net.client(2, &station, "").await.unwrap();
    let broadcast = publisher.origin.create_broadcast("cam").unwrap();
    let track = broadcast.create_track("video", info()).unwrap();
    let modem = Link {
        rate: Some(5_000),
        queue: 20_000,
        ..Link::default()
    };
    net.network.link(host(1), host(3), modem);
    let slow = net.client(3, &station, "").await.unwrap();
    let fast = net.client(4, &station, "").await.unwrap();
    let _stuck = slow.find("cam").await.subscribe("video", all()).unwrap();
    let mut cursor = fast.find("cam").await.subscribe("video", all()).unwrap();
    sleep(200).await;
    for number in 0..100 {
        write(&track, number * 100, &format!("{number:0>20000}"));
        let got = tokio::time::timeout(Duration::from_millis(50), read(&mut cursor)).await;
        assert_eq!(
            got.expect("held up").unwrap(),
            Some(format!("{number:0>20000}"))
        );
        sleep(50).await;
    }
}
