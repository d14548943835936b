//! Draining and limits.

use std::time::Duration;

use moq_net::Error;
use moq_relay::{Config, Drained};
use tokio::time::Instant;

use crate::net::*;

#[tokio::test(start_paused = true)]
async fn a_drain_asks_everybody_to_leave() {
    let net = Net::new();
    let station = net.open_relay(1);
    let client = net.client(2, &station, "").await.unwrap();
    let relay = station.relay.clone();
    let draining = tokio::spawn(async move { relay.drain().await });
    assert_eq!(within(client.session.goaway_received()).await, "");
    client.session.close(0, "as asked");
    let drained = within(draining).await.unwrap();
    assert_eq!(
        drained,
        Drained {
            sessions: 1,
            closed: 0
        }
    );
}

#[tokio::test(start_paused = true)]
async fn who_does_not_leave_is_closed_when_time_is_up() {
    let net = Net::new();
    let config = Config {
        drain_timeout: Duration::from_secs(3),
        ..open()
    };
    let station = net.relay(1, config);
    let publisher = net.client(2, &station, "").await.unwrap();
    let subscriber = net.client(3, &station, "").await.unwrap();
    let broadcast = publisher.origin.create_broadcast("cam").unwrap();
    let track = broadcast.create_track("video", info()).unwrap();
    let mut cursor = subscriber
        .find("cam")
        .await
        .subscribe("video", all())
        .unwrap();
    let began = Instant::now();
    let relay = station.relay.clone();
    let draining = tokio::spawn(async move { relay.drain().await });

    // What runs goes on meanwhile.
    sleep(1000).await;
    write(&track, 0, "during");
    assert_eq!(read(&mut cursor).await.unwrap(), Some("during".into()));

    let drained = within(draining).await.unwrap();
    assert_eq!(
        drained,
        Drained {
            sessions: 2,
            closed: 2
        }
    );
    assert!(began.elapsed() >= Duration::from_secs(3) && began.elapsed() < Duration::from_secs(4));
    let reason = "the relay has shut down".to_owned();
    let expected = Error::Session { code: 0x10, reason };
    assert_eq!(within(publisher.session.closed()).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_draining_relay_takes_nobody_in() {
    let net = Net::new();
    let station = net.open_relay(1);
    let _client = net.client(2, &station, "").await.unwrap();
    let relay = station.relay.clone();
    tokio::spawn(async move { relay.drain().await });
    sleep(100).await;
    assert!(net.client(3, &station, "").await.is_err());
    assert_eq!(station.relay.metrics().full, 1);
}

#[tokio::test(start_paused = true)]
async fn an_empty_relay_drains_at_once() {
    let net = Net::new();
    let station = net.open_relay(1);
    assert_eq!(
        within(station.relay.drain()).await,
        Drained {
            sessions: 0,
            closed: 0
        }
    );
}

#[tokio::test(start_paused = true)]
async fn beyond_the_most_sessions_the_next_is_refused_until_one_leaves() {
    let net = Net::new();
    let station = net.relay(
        1,
        Config {
            max_sessions: 2,
            ..open()
        },
    );
    let first = net.client(2, &station, "").await.unwrap();
    let _second = net.client(3, &station, "").await.unwrap();
    assert!(net.client(4, &station, "").await.is_err());
    assert_eq!(station.relay.metrics().full, 1);
    first.session.close(0, "");
    sleep(1000).await;
    assert!(net.client(5, &station, "").await.is_ok());
    let metrics = station.relay.metrics();
    assert_eq!((metrics.sessions, metrics.admitted), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ended_leaves_its_numbers_and_nothing_else() {
    let net = Net::new();
    let station = net.open_relay(1);
    let client = net.client(2, &station, "").await.unwrap();
    let sent = station.relay.metrics().sent_bytes;
    assert!(sent > 0);
    client.session.close(0, "");
    sleep(1000).await;
    let metrics = station.relay.metrics();
    assert_eq!((metrics.sessions, station.relay.sessions().len()), (0, 0));
    assert!(metrics.sent_bytes >= sent);
}
