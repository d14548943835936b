//! Who is let in, to do what, and what a refused one is told.

use moq_net::Error;
use moq_relay::{Auth, Config};

use crate::net::*;

fn public(read: &[&str], publish: &[&str]) -> Config {
    let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let auth = Auth {
        read: patterns(read),
        publish: patterns(publish),
    };
    Config {
        auth,
        ..Config::default()
    }
}

/// Why a client at `path` is refused.
async fn refusal(config: Config, path: &str) -> (Error, u64) {
    let net = Net::new();
    let station = net.relay(1, config);
    let error = match net.client(2, &station, path).await {
        // The refusal may cross the answer to the hand-shake.
        Ok(client) => within(client.session.closed()).await,
        Err(error) => error,
    };
    (error, station.relay.metrics().unauthorized)
}

#[tokio::test(start_paused = true)]
async fn nothing_is_public_unless_said() {
    let (error, counted) = refusal(Config::default(), "").await;
    let reason = "nothing at '/' is public".to_owned();
    assert_eq!((error, counted), (Error::Session { code: 2, reason }, 1));
}

#[tokio::test(start_paused = true)]
async fn a_refused_path_is_named() {
    let (error, _) = refusal(public(&["lobby"], &["lobby"]), "vault/one?token=x").await;
    let reason = "nothing at '/vault/one' is public".to_owned();
    assert_eq!(error, Error::Session { code: 2, reason });
}

#[tokio::test(start_paused = true)]
async fn a_path_too_deep_to_exist_is_refused() {
    let (error, _) = refusal(public(&["**"], &["**"]), &"a/".repeat(40)).await;
    assert!(matches!(error, Error::Session { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn names_are_relative_to_the_path_of_the_session() {
    let net = Net::new();
    let station = net.open_relay(1);
    let publisher = net.client(2, &station, "room").await.unwrap();
    let subscriber = net.client(3, &station, "").await.unwrap();
    let neighbour = net.client(4, &station, "room").await.unwrap();
    let elsewhere = net.client(5, &station, "roommate").await.unwrap();
    let _broadcast = publisher.origin.create_broadcast("cam").unwrap();
    subscriber.find("room/cam").await;
    neighbour.find("cam").await;
    sleep(1000).await;
    assert!(elsewhere.origin.broadcast("cam").is_none());
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_published_is_not_taken() {
    let net = Net::new();
    let station = net.relay(1, public(&["**"], &["studio"]));
    let client = net.client(2, &station, "").await.unwrap();
    let _in = client.origin.create_broadcast("studio/a").unwrap();
    let _out = client.origin.create_broadcast("street/a").unwrap();
    within(station.relay.origin().wait_broadcast("studio/a"))
        .await
        .unwrap();
    sleep(1000).await;
    assert!(station.relay.origin().broadcast("street/a").is_none());
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_read_is_not_told() {
    let net = Net::new();
    let station = net.relay(1, public(&["lobby"], &["**"]));
    let publisher = net.client(2, &station, "").await.unwrap();
    let reader = net.client(3, &station, "").await.unwrap();
    let _lobby = publisher.origin.create_broadcast("lobby/a").unwrap();
    let vault = publisher.origin.create_broadcast("vault/a").unwrap();
    let track = vault.create_track("video", info()).unwrap();
    reader.find("lobby/a").await;
    sleep(1000).await;
    assert!(reader.origin.broadcast("vault/a").is_none());
    assert!(!track.is_used());
}
