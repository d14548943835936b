//! Relays that join relays.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use moq_quic::Endpoint;
use tokio::task::JoinHandle;

use crate::net::*;

/// Makes one relay join another, from host `number`.
async fn join(
    net: &Net,
    number: u8,
    from: &Station,
    to: &Station,
) -> (Endpoint, JoinHandle<moq_net::Error>) {
    let endpoint = Endpoint::with_socket(net.network.socket(host(number)), None).unwrap();
    let connection = dial(&endpoint, to.address).await.unwrap();
    let relay = from.relay.clone();
    (
        endpoint,
        tokio::spawn(async move { relay.join(connection).await }),
    )
}

/// Counts the changes of what a relay offers, from now on.
fn changes(station: &Station) -> Arc<AtomicUsize> {
    let counter = Arc::<AtomicUsize>::default();
    let (mut announced, seen) = (station.relay.origin().announced(""), counter.clone());
    tokio::spawn(async move {
        while announced.next().await.is_some() {
            seen.fetch_add(1, Ordering::Relaxed);
        }
    });
    counter
}

#[tokio::test(start_paused = true)]
async fn two_relays_share_what_is_live() {
    let net = Net::new();
    let (a, b) = (net.open_relay(1), net.open_relay(2));
    let _joined = join(&net, 11, &a, &b).await;
    let at_a = net.client(21, &a, "").await.unwrap();
    let at_b = net.client(22, &b, "").await.unwrap();
    for (publisher, subscriber, path) in [(&at_a, &at_b, "to-b"), (&at_b, &at_a, "to-a")] {
        let broadcast = publisher.origin.create_broadcast(path).unwrap();
        let track = broadcast.create_track("video", info()).unwrap();
        let mut cursor = subscriber
            .find(path)
            .await
            .subscribe("video", all())
            .unwrap();
        write(&track, 0, path);
        assert_eq!(read(&mut cursor).await.unwrap(), Some(path.into()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_loop_of_three_relays_settles_without_duplicates_or_storm() {
    let net = Net::new();
    let stations = [net.open_relay(1), net.open_relay(2), net.open_relay(3)];
    let [a, b, c] = &stations;
    let _joined = [
        join(&net, 11, a, b).await,
        join(&net, 12, b, c).await,
        join(&net, 13, c, a).await,
    ];
    let counters = stations.each_ref().map(changes);
    let count = || {
        counters
            .each_ref()
            .map(|counter| counter.load(Ordering::Relaxed))
    };
    let publisher = net.client(21, a, "").await.unwrap();
    let subscriber = net.client(22, c, "").await.unwrap();
    let broadcast = publisher.origin.create_broadcast("cam").unwrap();
    let track = broadcast.create_track("video", info()).unwrap();
    let mut cursor = subscriber
        .find("cam")
        .await
        .subscribe("video", all())
        .unwrap();
    for number in 0..5 {
        write(&track, number, &number.to_string());
        assert_eq!(
            read(&mut cursor).await.unwrap(),
            Some(number.to_string()),
            "once each"
        );
    }
    assert_eq!(
        publisher.session.stats().sent_total.groups_started,
        5,
        "sent once each"
    );

    sleep(5_000).await;
    let settled = count();
    assert!(
        settled.iter().all(|changes| (1..=3).contains(changes)),
        "{settled:?}"
    );
    sleep(60_000).await;
    assert_eq!(count(), settled, "still changing after a minute");

    drop((track, broadcast));
    sleep(5_000).await;
    for station in &stations {
        assert!(
            station.relay.origin().broadcast("cam").is_none(),
            "a ghost goes round"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_drains_tells_those_that_joined_it() {
    let net = Net::new();
    let (a, b) = (net.open_relay(1), net.open_relay(2));
    let (_endpoint, joined) = join(&net, 11, &a, &b).await;
    let at_b = net.client(22, &b, "").await.unwrap();
    let _broadcast = at_b.origin.create_broadcast("cam").unwrap();
    within(a.relay.origin().wait_broadcast("cam"))
        .await
        .unwrap();
    tokio::spawn(async move { b.relay.drain().await });
    assert_eq!(within(joined).await.unwrap(), moq_net::Error::GoingAway);
    sleep(1000).await;
    assert!(
        a.relay.origin().broadcast("cam").is_none(),
        "what came from it is gone with it"
    );
}
