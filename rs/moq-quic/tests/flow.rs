//! Flow control: what the peer does not take yet holds nobody else up.

mod support;

use std::time::Duration;

use bytes::Bytes;
use moq_quic::{GroupConfig, TransportConfig, sim::Link};
use support::{Pair, pattern, read_all, slow};
use tokio::time::timeout;

fn small_windows() -> TransportConfig {
    TransportConfig {
        stream_receive_window: 20_000,
        receive_window: 1_000_000,
        ..TransportConfig::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_blocked_stream_does_not_hold_up_its_group() {
    let pair = Pair::with(1, slow(), small_windows()).await;
    let group = pair.client.open_group(GroupConfig::default());
    // The newest, so the schedule's best: and nobody reads it.
    let mut stuck = group.open_uni(100).await.unwrap();
    stuck.write_chunk(pattern(200_000).into()).await.unwrap();
    let _unread = pair.server.accept_uni().await.unwrap();
    for order in 0..10 {
        let mut stream = group.open_uni(order).await.unwrap();
        stream.write_all(&pattern(15_000)).await.unwrap();
        stream.finish().unwrap();
        let mut recv = pair.server.accept_uni().await.unwrap();
        let read = timeout(Duration::from_secs(1), read_all(&mut recv)).await;
        assert_eq!(read.unwrap().unwrap(), pattern(15_000));
    }
}

#[tokio::test(start_paused = true)]
async fn a_blocked_stream_goes_on_when_the_reader_does() {
    let pair = Pair::with(1, slow(), small_windows()).await;
    let mut stream = pair.client.open_uni().await.unwrap();
    stream.write_chunk(pattern(200_000).into()).await.unwrap();
    stream.finish().unwrap();
    let mut recv = pair.server.accept_uni().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(read_all(&mut recv).await.unwrap() == pattern(200_000));
    assert_eq!(stream.stopped().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_connection_window_is_shared_in_the_order_of_the_schedule() {
    let config = TransportConfig {
        receive_window: 30_000,
        ..TransportConfig::default()
    };
    let pair = Pair::with(1, slow(), config).await;
    let groups: Vec<_> = (0..5)
        .map(|priority| {
            pair.client.open_group(GroupConfig {
                priority,
                ..GroupConfig::default()
            })
        })
        .collect();
    let mut streams = Vec::new();
    for group in &groups {
        let mut stream = group.open_uni(0).await.unwrap();
        stream.write_chunk(pattern(60_000).into()).await.unwrap();
        stream.finish().unwrap();
        streams.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    // The window is full. Now it opens a little at a time; the highest priority has to get it.
    let mut finished = Vec::new();
    let mut open: Vec<(u64, moq_quic::RecvStream)> = Vec::new();
    while finished.len() < 5 {
        if let Ok(recv) = timeout(Duration::from_millis(1), pair.server.accept_uni()).await {
            let recv = recv.unwrap();
            open.push((recv.id().index(), recv));
        }
        let mut index = 0;
        while index < open.len() {
            let (id, recv) = &mut open[index];
            match timeout(Duration::from_millis(1), recv.read_chunk(1_000)).await {
                Ok(Ok(None)) => {
                    finished.push(*id);
                    open.remove(index);
                }
                Ok(Err(error)) => panic!("{error}"),
                _ => index += 1,
            }
        }
    }
    // Streams were opened lowest priority first.
    assert_eq!(finished, [4, 3, 2, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn opening_waits_for_the_peer_and_is_counted() {
    let config = TransportConfig {
        max_uni_streams: 4,
        ..TransportConfig::default()
    };
    let pair = Pair::with(1, slow(), config).await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(pair.client.open_uni().await.unwrap());
    }
    let wait = timeout(Duration::from_millis(500), pair.client.open_uni()).await;
    assert!(wait.is_err());
    assert!(pair.client.stats().stream_waits > 0);
    // One ends, and a place is free.
    let mut last = streams.pop().unwrap();
    last.write_all(b"x").await.unwrap();
    last.finish().unwrap();
    let reader = async {
        loop {
            let mut recv = pair.server.accept_uni().await.unwrap();
            if recv.id() == last.id() {
                return read_all(&mut recv).await.unwrap();
            }
            std::mem::forget(recv);
        }
    };
    let (opened, read) = tokio::join!(
        timeout(Duration::from_secs(1), pair.client.open_uni()),
        reader
    );
    opened.unwrap().unwrap();
    assert_eq!(read, b"x");
}

#[tokio::test(start_paused = true)]
async fn an_empty_stream_opens_and_ends() {
    let pair = Pair::new(slow()).await;
    let mut stream = pair.client.open_uni().await.unwrap();
    stream.finish().unwrap();
    let mut recv = pair.server.accept_uni().await.unwrap();
    assert_eq!(read_all(&mut recv).await.unwrap(), b"");
    assert_eq!(stream.stopped().await, None);
}

#[tokio::test(start_paused = true)]
async fn writers_wait_at_the_mark_of_their_own_stream_only() {
    let config = TransportConfig {
        send_high_water: 10_000,
        ..TransportConfig::default()
    };
    let link = Link {
        rate: Some(20_000),
        ..slow()
    };
    let pair = Pair::with(1, link, config).await;
    let mut full = pair.client.open_uni().await.unwrap();
    let written = timeout(Duration::from_millis(50), full.write_all(&pattern(500_000))).await;
    assert!(written.is_err(), "the mark must hold the writer up");
    let group = pair.client.open_group(GroupConfig::default());
    assert!(pair.client.stats().queued <= 10_000);
    // Another stream takes as much at once.
    let mut other = group.open_uni(0).await.unwrap();
    let written = timeout(
        Duration::ZERO,
        other.write_chunk(Bytes::from(pattern(10_000))),
    )
    .await;
    written.unwrap().unwrap();
}
