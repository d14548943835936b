//! How connections and streams end.

mod support;

use std::time::Duration;

use moq_quic::{Error, TransportConfig, sim::Link};
use support::{Pair, pattern, read_all, slow};
use tokio::time::{Instant, timeout};

#[tokio::test(start_paused = true)]
async fn a_peer_that_vanishes_is_given_up_after_the_idle_timeout() {
    let config = TransportConfig {
        idle_timeout: Duration::from_secs(5),
        ..TransportConfig::default()
    };
    let pair = Pair::with(1, slow(), config).await;
    let mut stream = pair.client.open_uni().await.unwrap();
    stream.write_all(b"still here").await.unwrap();
    pair.link(Link {
        loss: 1.0,
        ..slow()
    });
    let cut = Instant::now();
    assert_eq!(pair.client.closed().await, Error::TimedOut);
    assert_eq!(pair.server.closed().await, Error::TimedOut);
    let after = cut.elapsed();
    assert!((4.0..12.0).contains(&after.as_secs_f64()), "{after:?}");
    assert_eq!(stream.write(b"x").await, Err(Error::TimedOut));
    assert_eq!(stream.stopped().await, None);
    assert!(matches!(pair.client.open_uni().await, Err(Error::TimedOut)));
    pair.client_endpoint.wait_idle().await;
}

#[tokio::test(start_paused = true)]
async fn keep_alive_keeps_an_idle_connection() {
    let config = TransportConfig {
        idle_timeout: Duration::from_secs(5),
        keep_alive: Some(Duration::from_secs(2)),
        ..TransportConfig::default()
    };
    let pair = Pair::with(1, slow(), config).await;
    let closed = timeout(Duration::from_secs(60), pair.client.closed()).await;
    assert!(closed.is_err(), "{closed:?}");
    let silent = Pair::with(
        1,
        slow(),
        TransportConfig {
            idle_timeout: Duration::from_secs(5),
            ..TransportConfig::default()
        },
    );
    let silent = silent.await;
    let closed = timeout(Duration::from_secs(60), silent.client.closed()).await;
    assert_eq!(closed, Ok(Error::TimedOut));
}

#[tokio::test(start_paused = true)]
async fn a_close_reaches_every_waiter_with_its_code() {
    let pair = Pair::new(slow()).await;
    let (client, server) = (pair.client.clone(), pair.server.clone());
    let (mut send, mut recv) = client.open_bi().await.unwrap();
    send.write_all(b"x").await.unwrap();
    let closed = Error::Closed {
        code: 42,
        reason: "over".to_owned(),
    };
    let close = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        server.close(42, "over");
    };
    let (closed_, read, accept, datagram, stopped, ()) = tokio::join!(
        client.closed(),
        recv.read_chunk(10),
        client.accept_uni(),
        client.read_datagram(),
        send.stopped(),
        close
    );
    assert_eq!(closed_, closed);
    assert_eq!(read, Err(closed.clone()));
    assert_eq!(accept.map(|_| ()), Err(closed.clone()));
    assert_eq!(datagram.map(|_| ()), Err(closed));
    assert_eq!(stopped, None);
}

#[tokio::test(start_paused = true)]
async fn the_last_handle_closes_the_connection() {
    let pair = Pair::new(slow()).await;
    let group = pair.client.open_group(moq_quic::GroupConfig::default());
    let stream = group.open_uni(0).await.unwrap();
    drop(pair.client);
    drop(group);
    let closed = timeout(Duration::from_secs(1), pair.server.closed()).await;
    assert!(closed.is_err(), "a stream is still a handle");
    drop(stream);
    let closed = Error::Closed {
        code: 0,
        reason: String::new(),
    };
    assert_eq!(pair.server.closed().await, closed);
    pair.client_endpoint.wait_idle().await;
    pair.server_endpoint.wait_idle().await;
}

#[tokio::test(start_paused = true)]
async fn connections_outlive_the_endpoint_handle() {
    let pair = Pair::new(slow()).await;
    drop(pair.client_endpoint);
    drop(pair.server_endpoint);
    let mut stream = pair.client.open_uni().await.unwrap();
    stream.write_all(&pattern(50_000)).await.unwrap();
    stream.finish().unwrap();
    let mut recv = pair.server.accept_uni().await.unwrap();
    assert_eq!(read_all(&mut recv).await.unwrap(), pattern(50_000));
}

#[tokio::test(start_paused = true)]
async fn a_closed_endpoint_closes_all_and_takes_no_more() {
    let pair = Pair::new(slow()).await;
    pair.server_endpoint.close(3, "maintenance");
    let closed = Error::Closed {
        code: 3,
        reason: "maintenance".to_owned(),
    };
    assert_eq!(pair.client.closed().await, closed);
    assert!(pair.server_endpoint.accept().await.is_none());
    pair.server_endpoint.wait_idle().await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_is_reset() {
    let pair = Pair::new(slow()).await;
    let mut stream = pair.client.open_uni().await.unwrap();
    stream.write_all(&pattern(300_000)).await.unwrap();
    let mut recv = pair.server.accept_uni().await.unwrap();
    drop(stream);
    assert_eq!(read_all(&mut recv).await, Err(Error::Reset(0)));
    // And once more: the end of a stream is told as often as one asks.
    assert_eq!(recv.read_chunk(1).await, Err(Error::Reset(0)));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_finished_stream_still_arrives() {
    let pair = Pair::new(slow()).await;
    let mut stream = pair.client.open_uni().await.unwrap();
    stream.write_all(&pattern(200_000)).await.unwrap();
    stream.finish().unwrap();
    drop(stream);
    let mut recv = pair.server.accept_uni().await.unwrap();
    assert_eq!(read_all(&mut recv).await.unwrap(), pattern(200_000));
    assert_eq!(recv.read_chunk(1).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_stream_tells_its_writer() {
    let pair = Pair::new(slow()).await;
    let mut stream = pair.client.open_uni().await.unwrap();
    stream.write_all(&pattern(100_000)).await.unwrap();
    let mut recv = pair.server.accept_uni().await.unwrap();
    recv.read_chunk(10).await.unwrap();
    recv.stop(77).unwrap();
    assert_eq!(recv.stop(78), Err(Error::StreamClosed));
    assert_eq!(stream.stopped().await, Some(77));
    assert_eq!(stream.write(b"x").await, Err(Error::Stopped(77)));
    assert_eq!(stream.finish(), Err(Error::Stopped(77)));
}

#[tokio::test(start_paused = true)]
async fn a_writer_waiting_at_its_mark_hears_of_the_stop() {
    let pair = Pair::new(Link {
        rate: Some(10_000),
        ..slow()
    })
    .await;
    let mut stream = pair.client.open_uni().await.unwrap();
    let write = async { stream.write_all(&pattern(2_000_000)).await };
    let stop = async {
        let mut recv = pair.server.accept_uni().await.unwrap();
        recv.stop(5).unwrap();
    };
    let (write, ()) = tokio::join!(write, stop);
    assert_eq!(write, Err(Error::Stopped(5)));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_receiver_stops_the_sender() {
    let pair = Pair::new(slow()).await;
    let mut stream = pair.client.open_uni().await.unwrap();
    stream.write_all(b"x").await.unwrap();
    drop(pair.server.accept_uni().await.unwrap());
    assert_eq!(stream.stopped().await, Some(0));
}

#[tokio::test(start_paused = true)]
async fn nobody_answering_times_out() {
    let network = moq_quic::sim::Network::new(1);
    let endpoint =
        moq_quic::Endpoint::with_socket(network.socket(support::client_addr()), None).unwrap();
    let mut config = moq_quic::ClientConfig::new(moq_quic::tls::Trust::Insecure, vec![]);
    config.transport.idle_timeout = Duration::from_secs(3);
    let connect = endpoint.connect(support::server_addr(), "localhost", config);
    assert_eq!(connect.await.unwrap_err(), Error::TimedOut);
}
