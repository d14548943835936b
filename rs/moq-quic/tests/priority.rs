//! Tiers as the two ends see them: bytes that arrive first, replies that don't wait.

mod support;

use std::time::Duration;

use bytes::Bytes;
use moq_quic::{Direction, Error, GroupConfig, TransportConfig, sim::Link};
use support::{Pair, pattern, read_all, slow};
use tokio::time::{Instant, sleep, timeout};

fn group(priority: u16) -> GroupConfig {
    GroupConfig {
        priority,
        ..GroupConfig::default()
    }
}

/// Reads and forgets everything the peer sends.
fn sink(connection: &moq_quic::Connection) {
    let connection = connection.clone();
    tokio::spawn(async move {
        while let Ok(mut recv) = connection.accept_uni().await {
            tokio::spawn(
                async move { while let Ok(Some(_)) = recv.read_chunk(usize::MAX).await {} },
            );
        }
    });
}

#[tokio::test(start_paused = true)]
async fn control_replies_do_not_wait_for_media() {
    let pair = Pair::new(slow()).await;
    sink(&pair.server);
    // The client saturates the link; the server echoes what comes on the control stream.
    let media = pair.client.open_group(group(u16::MAX));
    let mut stream = media.open_uni(0).await.unwrap();
    tokio::spawn(async move { while stream.write_all(&pattern(100_000)).await.is_ok() {} });
    let server = pair.server.clone();
    tokio::spawn(async move {
        while let Ok((mut send, mut recv)) = server.accept_bi().await {
            tokio::spawn(async move {
                let asked = read_all(&mut recv).await.unwrap();
                send.write_all(&asked).await.unwrap();
                send.finish().unwrap();
            });
        }
    });
    sleep(Duration::from_secs(2)).await;
    for _ in 0..20 {
        let rtt = pair.client.stats().rtt;
        let asked = Instant::now();
        let (mut send, mut recv) = pair.client.control().open_bi(0).await.unwrap();
        send.write_all(b"question").await.unwrap();
        send.finish().unwrap();
        assert_eq!(read_all(&mut recv).await.unwrap(), b"question");
        let waited = asked.elapsed();
        // One round trip, the residue (at most 3 packets at 2 MB/s: 2.2 ms), a wait for the pacer, and tokio's steps.
        assert!(
            waited <= rtt + Duration::from_millis(12),
            "{waited:?} at a round trip of {rtt:?}"
        );
        sleep(Duration::from_millis(50)).await;
    }
}

/// Twice what the link takes, in groups of a second's 8th; says how many of the first 100 arrive whole, and the age of
/// those that do.
async fn overload(config: GroupConfig) -> (usize, usize) {
    const STREAM: usize = 100_000;
    let pair = Pair::new(Link {
        rate: Some(1_000_000),
        ..slow()
    })
    .await;
    let send_group = pair.client.open_group(config);
    let server = pair.server.clone();
    let reader = tokio::spawn(async move {
        let mut whole = 0;
        let mut tasks = Vec::new();
        while let Ok(Ok(mut recv)) = timeout(Duration::from_secs(2), server.accept_uni()).await {
            tasks.push(tokio::spawn(async move { read_all(&mut recv).await }));
        }
        for task in tasks {
            match task.await.unwrap() {
                Ok(data) => whole += usize::from(data.len() == STREAM),
                Err(Error::Reset(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        whole
    });
    let mut live = std::collections::VecDeque::new();
    for order in 0..100 {
        let mut stream = send_group.open_uni(order).await.unwrap();
        stream
            .write_chunk(Bytes::from(pattern(STREAM)))
            .await
            .unwrap();
        stream.finish().unwrap();
        live.push_back(stream);
        // Old groups are worth nothing after half a second.
        if live.len() > 10
            && let Some(mut old) = live.pop_front()
        {
            let _ = old.reset(1);
        }
        sleep(Duration::from_millis(50)).await;
    }
    for mut old in live {
        let _ = old.reset(1);
    }
    let whole = reader.await.unwrap();
    (whole, 100)
}

#[tokio::test(start_paused = true)]
async fn strict_newest_first_completes_nothing_at_twice_the_rate() {
    let (whole, of) = overload(group(0)).await;
    assert!(whole <= of / 20, "{whole} of {of}");
}

#[tokio::test(start_paused = true)]
async fn finishing_what_is_nearly_done_completes_half_at_twice_the_rate() {
    let config = GroupConfig {
        finish: Some(60_000),
        ..group(0)
    };
    let (whole, of) = overload(config).await;
    assert!(whole >= of * 2 / 5, "{whole} of {of}");
}

#[tokio::test(start_paused = true)]
async fn datagrams_of_a_full_budget_go_oldest_of_the_lowest_first() {
    let config = TransportConfig {
        datagram_budget: 10_000,
        ..TransportConfig::default()
    };
    let pair = Pair::with(1, slow(), config).await;
    // Nothing gets through for a while, and the congestion window is full.
    pair.link(Link {
        loss: 1.0,
        ..slow()
    });
    let low = pair.client.open_group(GroupConfig {
        direction: Direction::OldestFirst,
        ..group(1)
    });
    let high = pair.client.open_group(group(2));
    let mut stream = pair.client.control().open_uni(0).await.unwrap();
    stream.write_all(&pattern(200_000)).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    for number in 0..10_u8 {
        low.send_datagram(u64::from(number), Bytes::from(vec![number; 1_000]))
            .unwrap();
    }
    for _ in 0..4 {
        high.send_datagram(0, Bytes::from(vec![99; 1_000])).unwrap();
    }
    assert_eq!(low.stats().evicted, 4_000);
    assert_eq!(low.stats().queued, 6_000);
    assert_eq!(high.stats().evicted, 0);
    // The lowest group's new one would be the victim only if it were the oldest there: it is the older that goes.
    low.send_datagram(10, Bytes::from(vec![10; 1_000])).unwrap();
    assert_eq!(low.stats().evicted, 5_000);
    // A group below has nothing to give but the new one.
    let lowest = pair.client.open_group(group(0));
    let refused = lowest.send_datagram(0, Bytes::from(vec![0; 1_000]));
    assert_eq!(refused, Err(Error::DatagramDropped));
    assert_eq!(pair.client.stats().evicted_datagrams, 6);
    pair.link(slow());
    stream.reset(0).unwrap();
    let mut got = Vec::new();
    while let Ok(Ok(datagram)) = timeout(Duration::from_secs(30), pair.server.read_datagram()).await
    {
        got.push(datagram[0]);
    }
    assert_eq!(got, [99, 99, 99, 99, 5, 6, 7, 8, 9, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_datagram_too_large_is_refused_with_the_limit() {
    let pair = Pair::new(slow()).await;
    let max = pair.client.max_datagram_size().unwrap();
    let refused = pair.client.send_datagram(Bytes::from(vec![0; max + 1]));
    assert_eq!(refused, Err(Error::DatagramTooLarge { len: max + 1, max }));
    pair.client
        .send_datagram(Bytes::from(vec![7; max]))
        .unwrap();
    assert_eq!(pair.server.read_datagram().await.unwrap().len(), max);
}

#[tokio::test(start_paused = true)]
async fn a_stream_moved_to_control_overtakes() {
    let pair = Pair::new(slow()).await;
    sink(&pair.client);
    let mut bulk = pair.server.open_uni().await.unwrap();
    bulk.write_chunk(Bytes::from(pattern(2_000_000)))
        .await
        .unwrap();
    let (mut ask, mut answer) = pair.client.open_bi().await.unwrap();
    ask.write_all(b"?").await.unwrap();
    let (mut send, _recv) = pair.server.accept_bi().await.unwrap();
    send.write_all(b"!").await.unwrap();
    send.set_group(&pair.server.control(), 0).unwrap();
    send.finish().unwrap();
    let read = timeout(Duration::from_millis(100), read_all(&mut answer)).await;
    assert_eq!(read.unwrap().unwrap(), b"!");
    let foreign = pair.client.open_group(group(0));
    assert_eq!(send.set_group(&foreign, 0), Err(Error::GroupClosed));
}

#[tokio::test(start_paused = true)]
async fn the_delivery_rate_is_the_links() {
    let pair = Pair::new(slow()).await;
    sink(&pair.server);
    let mut stream = pair.client.open_uni().await.unwrap();
    let written = timeout(Duration::from_secs(8), async {
        loop {
            stream.write_all(&pattern(100_000)).await.unwrap();
        }
    });
    let _: Result<(), _> = written.await;
    let rate = pair.client.stats().delivery_rate as f64;
    assert!((1_800_000.0..2_200_000.0).contains(&rate), "{rate}");
}
