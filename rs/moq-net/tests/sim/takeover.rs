//! Publishers that vanish, come back, or are two.

use std::time::Duration;

use bytes::Bytes;
use moq_net::model::Announce;
use moq_net::{Broadcast, Error, Origin, Subscription, Track, Version};
use tokio::sync::mpsc;

use crate::net::*;

fn publish(origin: &Origin, path: &str) -> (Broadcast, Track) {
    let broadcast = origin.create_broadcast(path).unwrap();
    let track = broadcast.create_track("video", keep_all()).unwrap();
    (broadcast, track)
}

/// Reads a track for as long as anybody publishes it, asking again whenever it ends early.
fn follow(origin: Origin) -> mpsc::UnboundedReceiver<(u64, Bytes)> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let consumer = origin.wait_broadcast("cam").await.unwrap();
            let Ok(mut subscriber) = consumer.subscribe("video", Subscription::default()) else {
                sleep(10).await;
                continue;
            };
            while let Ok(Some(mut group)) = subscriber.recv_group().await {
                while let Ok(Some(frame)) = group.read_frame().await {
                    if sender.send((group.sequence(), frame.payload)).is_err() {
                        return;
                    }
                }
            }
            sleep(10).await;
        }
    });
    receiver
}

async fn got(receiver: &mut mpsc::UnboundedReceiver<(u64, Bytes)>) -> (u64, Bytes) {
    within(receiver.recv()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_publisher_that_closes_ends_its_broadcasts() {
    let chain = Chain::new(Version::Lite06).await;
    let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
    let mut announced = chain.subscriber.origin.announced("");
    assert!(matches!(
        within(announced.next()).await,
        Some(Announce::Active { .. })
    ));
    let mut subscriber = consumer.subscribe("video", all()).unwrap();
    let group = track.append_group().unwrap();
    group.write_frame(moq_net::Timestamp::ZERO, "half").unwrap();
    let reader = within(subscriber.recv_group()).await.unwrap().unwrap();
    sleep(50).await;
    chain.up.close(0, "");
    assert!(matches!(
        within(announced.next()).await,
        Some(Announce::Ended { .. })
    ));
    assert!(
        read_all(reader).await.is_err(),
        "half a group passed for a whole one"
    );
    assert!(within(subscriber.recv_group()).await.is_err());
}

/// moq-dev/moq#2556: the newest route wins while the old one waits for its idle timeout.
#[tokio::test(start_paused = true)]
async fn a_publisher_that_was_cut_off_is_replaced_at_once() {
    let net = Net::new();
    let (old, new) = (net.node(1), net.node(11));
    let (relay, subscriber) = (net.node(2), net.node(3));
    let _old_session = old.publish_to(&relay, Version::Lite06).await;
    let _down = subscriber.read_from(&relay, Version::Lite06).await;
    let mut received = follow(subscriber.origin.clone());
    let (_b, track) = publish(&old.origin, "cam");
    subscriber.find("cam").await;
    sleep(100).await;
    write_group(&track, "old");
    assert_eq!(got(&mut received).await.1, "old");

    net.cut(&old, &relay);
    let _new_session = new.publish_to(&relay, Version::Lite06).await;
    let (_b, track) = publish(&new.origin, "cam");
    let began = tokio::time::Instant::now();
    sleep(400).await;
    write_group(&track, "new");
    // It numbers from 0 again, as the old one did (moq-dev/moq#2534).
    assert_eq!(got(&mut received).await, (0, "new".into()));
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
}

/// moq-dev/moq#2785: whoever reads the live edge isn't given what the new publisher wrote before.
#[tokio::test(start_paused = true)]
async fn a_takeover_replays_nothing_old() {
    let net = Net::new();
    let (old, new) = (net.node(1), net.node(11));
    let (relay, subscriber) = (net.node(2), net.node(3));
    let old_session = old.publish_to(&relay, Version::Lite06).await;
    let _down = subscriber.read_from(&relay, Version::Lite06).await;
    let mut received = follow(subscriber.origin.clone());
    let (_b, track) = publish(&old.origin, "cam");
    subscriber.find("cam").await;
    sleep(100).await;
    write_group(&track, "old");
    got(&mut received).await;

    let (_b, track) = publish(&new.origin, "cam");
    for n in 0..50 {
        write_group(&track, format!("new {n}"));
    }
    let _new_session = new.publish_to(&relay, Version::Lite06).await;
    sleep(500).await;
    old_session.close(0, "");
    assert_eq!(got(&mut received).await, (49, "new 49".into()));
}

/// moq-dev/moq#1148, #612.
#[tokio::test(start_paused = true)]
async fn of_two_publishers_of_a_path_the_other_stays_when_one_goes() {
    let net = Net::new();
    let (a, b) = (net.node(1), net.node(11));
    let (relay, subscriber) = (net.node(2), net.node(3));
    let _a_session = a.publish_to(&relay, Version::Lite06).await;
    let (_a, a_track) = publish(&a.origin, "cam");
    let _down = subscriber.read_from(&relay, Version::Lite06).await;
    subscriber.find("cam").await;
    let b_session = b.publish_to(&relay, Version::Lite06).await;
    let (_b, b_track) = publish(&b.origin, "cam");
    sleep(500).await;
    let mut received = follow(subscriber.origin.clone());
    sleep(100).await;
    write_group(&b_track, "b");
    assert_eq!(got(&mut received).await.1, "b", "the newest wins");
    b_session.close(0, "");
    sleep(500).await;
    write_group(&a_track, "a");
    assert_eq!(got(&mut received).await.1, "a", "the other is still there");
}

#[tokio::test(start_paused = true)]
async fn a_publisher_killed_and_restarted_is_found_again() {
    for version in [Version::Lite06, Version::Lite05] {
        let net = Net::new();
        let (publisher, relay, subscriber) = (net.node(1), net.node(2), net.node(3));
        let _down = subscriber.read_from(&relay, version).await;
        let mut received = follow(subscriber.origin.clone());
        for life in ["one", "two", "three"] {
            let session = publisher.publish_to(&relay, version).await;
            let (broadcast, track) = publish(&publisher.origin, "cam");
            sleep(500).await;
            write_group(&track, life);
            assert_eq!(got(&mut received).await, (0, life.into()), "{version}");
            broadcast.close(Error::Cancel);
            session.close(0, "");
            sleep(500).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn subscribers_reconnect_to_a_relay_that_was_away() {
    let net = Net::new();
    let (publisher, relay, subscriber) = (net.node(1), net.node(2), net.node(3));
    let (_b, track) = publish(&publisher.origin, "cam");
    let mut received = follow(subscriber.origin.clone());
    for life in 0..3u64 {
        let up = publisher.publish_to(&relay, Version::Lite06).await;
        let down = subscriber.read_from(&relay, Version::Lite06).await;
        sleep(500).await;
        write_group(&track, format!("{life}"));
        // The first thing the new subscription sees is the newest group, maybe one that was read before.
        while got(&mut received).await.1 != format!("{life}") {}
        for session in relay.accepted.lock().unwrap().drain(..) {
            session.close(0, "restarting");
        }
        within(up.closed()).await;
        within(down.closed()).await;
        sleep(100).await;
        assert!(
            subscriber.origin.broadcast("cam").is_none(),
            "a broadcast outlived its session"
        );
    }
}
