//! A publisher that breaks the protocol: announcements, tracks, groups.

use std::time::Duration;

use bytes::Bytes;
use moq_net::{Error, Subscription};

use super::*;

#[tokio::test(start_paused = true)]
async fn announcements_that_break_the_rules_are_violations() {
    for (bytes, what) in [
        (&b"\x01\x01\x00"[..], "END of nothing"),
        (b"\x02\x04\x00\x00\x00\x00", "RESTART of nothing"),
        (
            b"\x00\x05\x01a\x00\x00\x00\x00\x05\x01a\x00\x00\x00",
            "START twice",
        ),
        (
            b"\x00\x05\x01a\x00\x00\x00\x01\x01\x00\x01\x01\x00",
            "END twice",
        ),
    ] {
        let publisher = RawPublisher::new(bytes).await;
        let reason = publisher.raw.assert_closed(3).await;
        assert!(reason.contains("announce"), "{what}: {reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn announcements_of_unknown_types_are_skipped() {
    let bytes = [b"\x09\x03abc", START_CAM].concat();
    let publisher = RawPublisher::new(&bytes).await;
    publisher.raw.node.find("cam").await;
}

/// moq-dev/moq#3050, #3065: what is discarded here still counts there.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_looped_announcement_retires_nothing_else() {
    // START of a loop through the node (hop 2), START of cam, END of the first.
    let bytes = [
        b"\x00\x08\x03bad\x01\x02\x00\x00",
        START_CAM,
        b"\x01\x01\x00",
    ]
    .concat();
    let publisher = RawPublisher::new(&bytes).await;
    publisher.raw.node.find("cam").await;
    sleep(500).await;
    assert!(publisher.raw.node.origin.broadcast("cam").is_some());
    assert!(publisher.raw.node.origin.broadcast("bad").is_none());
    publisher.raw.assert_alive().await;
}

#[tokio::test(start_paused = true)]
async fn a_malformed_announcement_ends_what_that_stream_announced() {
    let mut publisher = RawPublisher::new(START_CAM).await;
    publisher.raw.node.find("cam").await;
    publisher.announce.write_all(&[0, 1, 0xff]).await.unwrap();
    sleep(500).await;
    assert!(publisher.raw.node.origin.broadcast("cam").is_none());
    publisher.raw.assert_alive().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_announce_stream_ends_its_broadcasts() {
    let mut publisher = RawPublisher::new(START_CAM).await;
    publisher.raw.node.find("cam").await;
    publisher.announce.finish().unwrap();
    sleep(500).await;
    assert!(publisher.raw.node.origin.broadcast("cam").is_none());
    publisher.raw.assert_alive().await;
}

/// moq-dev/moq#4494, #4231.
#[tokio::test(start_paused = true)]
async fn a_track_finished_without_its_end_is_an_error() {
    let publisher = RawPublisher::new(START_CAM).await;
    let consumer = publisher.raw.node.find("cam").await;
    let mut subscriber = consumer.subscribe("v", all()).unwrap();
    let (mut send, _recv, _) = publisher.subscribed().await;
    send.write_all(&[0, 1, 0]).await.unwrap();
    send.finish().unwrap();
    let error = within(subscriber.recv_group()).await.unwrap_err();
    assert!(matches!(error, Error::ProtocolViolation(_)), "{error:?}");
    publisher.raw.assert_alive().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_beyond_the_declared_end_is_a_violation_of_that_track() {
    let publisher = RawPublisher::new(START_CAM).await;
    let consumer = publisher.raw.node.find("cam").await;
    let mut subscriber = consumer.subscribe("v", all()).unwrap();
    let (mut send, mut recv, id) = publisher.subscribed().await;
    send.write_all(&[0, 1, 0, 1, 1, 2]).await.unwrap();
    sleep(100).await;
    let mut beyond = publisher.raw.conn.open_uni().await.unwrap();
    beyond.write_all(&[0, 3, id, 2, 0]).await.unwrap();
    let code = within(beyond.stopped()).await.expect("not stopped");
    assert_eq!(moq_net::lite::code::from_wire(code), 0x12);
    assert_eq!(reset_code(&mut recv).await, 0x12);
    // What was declared stands: the track ends there, without the groups that never came.
    assert!(next_group(&mut subscriber).await.is_none());
    publisher.raw.assert_alive().await;
}

/// The first stays, the second is refused, the subscription lives. 0.3.11.
#[tokio::test(start_paused = true)]
async fn a_second_stream_of_a_group_is_refused_alone() {
    let publisher = RawPublisher::new(START_CAM).await;
    let consumer = publisher.raw.node.find("cam").await;
    let mut subscriber = consumer.subscribe("v", all()).unwrap();
    let (mut send, _recv, id) = publisher.subscribed().await;
    send.write_all(&[0, 1, 0]).await.unwrap();
    publisher.raw.uni(&[0, 3, id, 0, 0, 0, 1, b'a']).await;
    sleep(50).await;
    let mut second = publisher.raw.conn.open_uni().await.unwrap();
    second
        .write_all(&[0, 3, id, 0, 0, 0, 1, b'b'])
        .await
        .unwrap();
    assert!(within(second.stopped()).await.is_some());
    publisher.raw.uni(&[0, 3, id, 1, 0, 0, 1, b'c']).await;
    let mut got = vec![next_group(&mut subscriber).await.unwrap()];
    got.push(next_group(&mut subscriber).await.unwrap());
    assert_eq!(
        got,
        [(0, vec![Bytes::from("a")]), (1, vec![Bytes::from("c")])]
    );
    send.write_all(&[1, 1, 2]).await.unwrap();
    send.finish().unwrap();
    assert!(next_group(&mut subscriber).await.is_none());
}

/// moq-dev/moq#2771, #2772: streams 0, 2, 1.
#[tokio::test(start_paused = true)]
async fn groups_that_the_network_reordered_all_arrive() {
    let publisher = RawPublisher::new(START_CAM).await;
    let consumer = publisher.raw.node.find("cam").await;
    let mut subscriber = consumer.subscribe("v", all()).unwrap();
    let (mut send, _recv, id) = publisher.subscribed().await;
    send.write_all(&[0, 1, 0]).await.unwrap();
    let mut got = Vec::new();
    for sequence in [0, 2, 1] {
        publisher
            .raw
            .uni(&[0, 3, id, sequence, 0, 0, 1, b'x'])
            .await;
        got.push(next_group(&mut subscriber).await.unwrap().0);
    }
    assert_eq!(got, [0, 2, 1]);
}

/// The newest group goes first under load: which one comes first says nothing about where to begin.
#[tokio::test(start_paused = true)]
async fn groups_that_overtake_the_start_of_their_subscription_are_all_delivered() {
    let publisher = RawPublisher::new(START_CAM).await;
    let consumer = publisher.raw.node.find("cam").await;
    let mut subscriber = consumer.subscribe("v", all()).unwrap();
    let (mut send, _recv, id) = publisher.subscribed().await;
    for sequence in [19, 0, 5, 7] {
        publisher
            .raw
            .uni(&[0, 3, id, sequence, 0, 0, 1, b'x'])
            .await;
        sleep(50).await;
    }
    send.write_all(&[0, 1, 0]).await.unwrap();
    let mut got = Vec::new();
    for _ in 0..4 {
        got.push(next_group(&mut subscriber).await.unwrap().0);
    }
    got.sort_unstable();
    assert_eq!(got, [0, 5, 7, 19]);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_cannot_be_kept_is_stopped_and_the_next_one_is_not() {
    let huge = [0xc0, 0, 0, 0, 2, 0, 0, 1];
    let cases: [(&[u8], Error); 4] = [
        (&[0, 1, b'a', 0, 9], Error::Decode("")), // cut inside a frame
        (&[&[0][..], &huge].concat(), Error::FrameTooLarge), // 32 MiB and a byte, promised
        (&[1, 1, b'a'], Error::TimestampMismatch), // before the beginning of time
        (&[0x80], Error::Decode("")),             // cut inside a number
    ];
    for (body, expected) in cases {
        let publisher = RawPublisher::new(START_CAM).await;
        let consumer = publisher.raw.node.find("cam").await;
        let mut subscriber = consumer.subscribe("v", all()).unwrap();
        let (mut send, _recv, id) = publisher.subscribed().await;
        send.write_all(&[0, 1, 0]).await.unwrap();
        let mut stream = publisher.raw.conn.open_uni().await.unwrap();
        stream.write_all(&[0, 3, id, 0, 0]).await.unwrap();
        let group = within(subscriber.recv_group()).await.unwrap().unwrap();
        stream.write_all(body).await.unwrap();
        stream.finish().unwrap();
        let error = read_all(group).await.unwrap_err();
        assert_eq!(
            error.stream_code(),
            expected.stream_code(),
            "{body:?}: {error:?}"
        );
        publisher.raw.uni(&[0, 3, id, 1, 0, 0, 1, b'x']).await;
        assert_eq!(next_group(&mut subscriber).await.unwrap().1, ["x"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_of_more_than_8192_frames_is_stopped() {
    let publisher = RawPublisher::new(START_CAM).await;
    let consumer = publisher.raw.node.find("cam").await;
    let mut subscriber = consumer.subscribe("v", all()).unwrap();
    let (mut send, _recv, id) = publisher.subscribed().await;
    send.write_all(&[0, 1, 0]).await.unwrap();
    let mut stream = publisher.raw.conn.open_uni().await.unwrap();
    stream.write_all(&[0, 3, id, 0, 0]).await.unwrap();
    stream.write_all(&[0; 2 * 8193]).await.unwrap();
    let code = within(stream.stopped()).await.expect("not stopped");
    assert_eq!(moq_net::lite::code::from_wire(code), 0x32);
    let group = within(subscriber.recv_group()).await.unwrap().unwrap();
    assert_eq!(read_all(group).await.unwrap_err(), Error::GroupTooLarge);
}

/// Codes may come mapped or plain.
#[tokio::test(start_paused = true)]
async fn a_plain_code_is_understood() {
    for wire in [0x33, moq_net::lite::code::to_wire(0x33)] {
        let publisher = RawPublisher::new(START_CAM).await;
        let consumer = publisher.raw.node.find("cam").await;
        let mut subscriber = consumer.subscribe("v", all()).unwrap();
        let (mut send, _recv, _) = publisher.subscribed().await;
        send.reset(wire).unwrap();
        assert_eq!(
            within(subscriber.recv_group()).await.unwrap_err(),
            Error::NotFound
        );
    }
}

/// The published server takes the end of a TRACK request for its cancellation.
#[tokio::test(start_paused = true)]
async fn the_request_half_of_track_stays_open_until_the_answer() {
    let publisher = RawPublisher::new(START_CAM).await;
    let consumer = publisher.raw.node.find("cam").await;
    let _subscriber = consumer.subscribe("v", Subscription::default()).unwrap();
    let mut streams = Vec::new();
    for _ in 0..2 {
        streams.push(within(publisher.raw.conn.accept_bi()).await.unwrap());
    }
    for (_, recv) in &mut streams {
        let quiet = Duration::from_secs(2);
        while let Ok(next) = tokio::time::timeout(quiet, recv.read_chunk(99)).await {
            assert!(next.unwrap().is_some(), "finished before the answer");
        }
    }
}

/// A track whose peer never answers TRACK delivers nothing, and its reader may leave.
#[tokio::test(start_paused = true)]
async fn nothing_is_delivered_before_track_info_and_nothing_is_left_behind() {
    let publisher = RawPublisher::new(START_CAM).await;
    let consumer = publisher.raw.node.find("cam").await;
    let mut subscriber = consumer.subscribe("v", all()).unwrap();
    publisher.raw.uni(&[0, 3, 0, 0, 0, 0, 1, b'x']).await;
    tokio::time::timeout(Duration::from_secs(5), subscriber.recv_group())
        .await
        .unwrap_err();
    drop(subscriber);
    let mut resets = 0;
    for _ in 0..2 {
        let (_send, mut recv) = within(publisher.raw.conn.accept_bi()).await.unwrap();
        loop {
            match within(recv.read_chunk(100)).await {
                Ok(Some(_)) => {}
                Err(moq_quic::Error::Reset(_)) => break resets += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(resets, 2);
}
