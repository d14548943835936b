//! Everything written arrives, in order, whatever the link does.

mod support;

use std::time::Duration;

use moq_quic::sim::Link;
use support::{Pair, pattern, read_all, slow};

async fn both_ways(link: Link, len: usize) {
    let pair = Pair::new(link).await;
    let data = pattern(len);
    let send = |connection: moq_quic::Connection, data: Vec<u8>| async move {
        let mut stream = connection.open_uni().await.unwrap();
        stream.write_all(&data).await.unwrap();
        stream.finish().unwrap();
        assert_eq!(stream.stopped().await, None);
    };
    let recv = |connection: moq_quic::Connection| async move {
        let mut stream = connection.accept_uni().await.unwrap();
        read_all(&mut stream).await.unwrap()
    };
    let ((), (), up, down) = tokio::join!(
        send(pair.client.clone(), data.clone()),
        send(pair.server.clone(), data.clone()),
        recv(pair.server.clone()),
        recv(pair.client.clone()),
    );
    assert!(up == data);
    assert!(down == data);
}

#[tokio::test(start_paused = true)]
async fn a_perfect_link() {
    both_ways(Link::default(), 3_000_000).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_link() {
    both_ways(slow(), 1_000_000).await;
}

#[tokio::test(start_paused = true)]
async fn loss_delay_and_reordering() {
    let link = Link {
        delay: Duration::from_millis(50),
        jitter: Duration::from_millis(10),
        loss: 0.05,
        reorder: 0.02,
        duplicate: 0.02,
        corrupt: 0.01,
        ..slow()
    };
    both_ways(link, 300_000).await;
}
