//! Peers that break the protocol. A stream's trouble stays that stream's; what breaks the session closes it, with the
//! protocol's code and a reason.

use std::time::Duration;

use bytes::Bytes;
use moq_net::{Error, Subscription, Timestamp, Version};
use moq_quic::{Connection, RecvStream, SendStream};

use crate::net::*;

const VERSIONS: [Version; 2] = [Version::Lite06, Version::Lite05];

/// A hand-written client of a node.
struct Raw {
    conn: Connection,
    _net: Net,
    node: Node,
    _client: Node,
    version: Version,
}

impl Raw {
    /// Connected, and nothing said.
    async fn silent(version: Version) -> Self {
        let net = Net::new();
        let (node, client) = (net.node(2), net.node(1));
        let conn = client.dial(&node, version).await;
        Self {
            conn,
            _net: net,
            node,
            _client: client,
            version,
        }
    }

    /// Connected, with an empty SETUP said.
    async fn new(version: Version) -> Self {
        let raw = Self::silent(version).await;
        raw.uni(&[1, 1, 0]).await;
        raw
    }

    /// Sends a whole unidirectional stream.
    async fn uni(&self, bytes: &[u8]) -> SendStream {
        let mut stream = self.conn.open_uni().await.unwrap();
        let _ = stream.write_all(bytes).await;
        let _ = stream.finish();
        stream
    }

    /// Opens a bidirectional stream with these bytes, and leaves it open.
    async fn bi(&self, bytes: &[u8]) -> (SendStream, RecvStream) {
        let (mut send, recv) = self.conn.open_bi().await.unwrap();
        let _ = send.write_all(bytes).await;
        (send, recv)
    }

    /// Whether the session still answers.
    async fn assert_alive(&self) {
        let request: &[u8] = match self.version {
            Version::Lite06 => &[1, 1, 0],
            _ => &[1, 2, 0, 0],
        };
        let (_send, mut recv) = self.bi(request).await;
        let mut answer = [0; 2];
        within(recv.read_exact(&mut answer))
            .await
            .expect("the session no longer answers");
    }

    /// That the session was closed, with this code, and the reason.
    async fn assert_closed(&self, code: u64) -> String {
        match within(self.conn.closed()).await {
            moq_quic::Error::Closed { code: got, reason } if got == code => {
                assert!(!reason.is_empty(), "closed without a reason");
                reason
            }
            other => panic!("{other:?}"),
        }
    }
}

/// How a stream that the other side gave up ended: the mapped code.
async fn reset_code(recv: &mut RecvStream) -> u64 {
    loop {
        match within(recv.read_chunk(1000)).await {
            Ok(Some(_)) => {}
            Err(moq_quic::Error::Reset(code)) => return moq_net::lite::code::from_wire(code),
            other => panic!("{other:?}"),
        }
    }
}

/// The bytes up to the end of the stream.
async fn read_to_end(recv: &mut RecvStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(chunk) = within(recv.read_chunk(1 << 16)).await.unwrap() {
        bytes.extend_from_slice(&chunk);
    }
    bytes
}

#[tokio::test(start_paused = true)]
async fn streams_of_unknown_types_are_refused_alone() {
    for version in VERSIONS {
        let raw = Raw::new(version).await;
        let mut uni = raw.conn.open_uni().await.unwrap();
        uni.write_all(&[0x40, 0x99, 1, 2, 3]).await.unwrap();
        let code = within(uni.stopped()).await.expect("not stopped");
        assert_eq!(moq_net::lite::code::from_wire(code), 1, "{version}");
        let (_send, mut recv) = raw.bi(&[0x3f, 1, 2, 3]).await;
        assert_eq!(reset_code(&mut recv).await, 1);
        let (_send, mut session) = raw.bi(&[0]).await;
        assert_eq!(
            reset_code(&mut session).await,
            1,
            "the stream type of versions 01 and 02"
        );
        raw.assert_alive().await;
    }
}

/// moq-dev/moq#2721.
#[tokio::test(start_paused = true)]
async fn a_stream_that_dies_before_its_first_byte_is_ignored() {
    let raw = Raw::new(Version::Lite06).await;
    for _ in 0..10 {
        raw.conn.open_uni().await.unwrap().reset(7).unwrap();
        raw.conn.open_uni().await.unwrap().finish().unwrap();
        let (mut send, _recv) = raw.conn.open_bi().await.unwrap();
        send.reset(7).unwrap();
        let (mut send, mut recv) = raw.conn.open_bi().await.unwrap();
        send.finish().unwrap();
        assert_eq!(read_to_end(&mut recv).await, b"");
    }
    raw.assert_alive().await;
}

/// moq-dev/moq#4686.
#[tokio::test(start_paused = true)]
async fn groups_that_come_before_setup_are_stopped_and_requests_wait() {
    for version in VERSIONS {
        let raw = Raw::silent(version).await;
        raw.uni(&[0, 3, 0, 0, 0]).await;
        let (_send, mut early) = raw
            .bi(if version == Version::Lite06 {
                &[1, 1, 0]
            } else {
                &[1, 2, 0, 0]
            })
            .await;
        sleep(500).await;
        raw.uni(&[1, 1, 0]).await;
        let mut answer = [0; 2];
        within(early.read_exact(&mut answer)).await.unwrap();
        raw.assert_alive().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_says_setup_is_closed() {
    let raw = Raw::silent(Version::Lite06).await;
    assert_eq!(raw.assert_closed(0x11).await, Error::Timeout.to_string());
}

#[tokio::test(start_paused = true)]
async fn a_second_setup_is_a_violation() {
    let raw = Raw::new(Version::Lite06).await;
    raw.assert_alive().await;
    raw.uni(&[1, 1, 0]).await;
    assert!(raw.assert_closed(3).await.contains("second SETUP"));
}

/// 0.3.15: invalid SETUP rejected; failures of every length field.
#[tokio::test(start_paused = true)]
async fn a_malformed_setup_is_a_violation() {
    for bytes in [
        &[1, 2, 0, 0][..],                     // bytes left over
        &[1, 1, 1],                            // a parameter that isn't there
        &[1, 5, 2, 1, 0, 1, 0],                // a parameter cut short
        &[1, 7, 2, 1, 1, 1, 1, 1, 1],          // a parameter given twice
        &[1, 4, 1, 3, 1, 9],                   // no such role
        &[1, 4, 1, 2, 1, 0xff],                // a path that isn't text
        &[1, 0xc0, 0, 1, 0, 0, 0, 0, 0],       // a terabyte of SETUP
        &[1, 9, 1, 2, 0xc0, 0, 1, 0, 0, 0, 0], // a terabyte of path
        &[1, 8, 0xc0, 0, 1, 0, 0, 0, 0, 0],    // a trillion parameters
        &[1, 9, 1],                            // the stream ends inside
        &[1],                                  // the stream ends before
    ] {
        let raw = Raw::silent(Version::Lite06).await;
        raw.uni(bytes).await;
        raw.assert_closed(3).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_goaway_is_a_violation() {
    let raw = Raw::new(Version::Lite06).await;
    let (_a, mut first) = raw.bi(&[5, 1, 0]).await;
    assert_eq!(read_to_end(&mut first).await, b"");
    raw.assert_alive().await;
    let _second = raw.bi(&[5, 1, 0]).await;
    assert!(raw.assert_closed(3).await.contains("second GOAWAY"));
}

/// moq-dev/moq#3220, #3222; qumo-dev/gomoqt#199, #136, #373, #215.
#[tokio::test(start_paused = true)]
async fn a_length_beyond_reason_costs_its_stream_only() {
    let huge = [0xc0, 0, 1, 0, 0, 0, 0, 0];
    for version in VERSIONS {
        let raw = Raw::new(version).await;
        for kind in [1, 2, 3, 5, 6] {
            let (_send, mut recv) = raw.bi(&[&[kind], &huge[..]].concat()).await;
            assert_eq!(reset_code(&mut recv).await, 0x12, "{version} type {kind}");
        }
        let mut group = raw.uni(&[&[0], &huge[..]].concat()).await;
        let _ = group.reset(0);
        // A name of a terabyte inside a message of nine bytes.
        let (_send, mut recv) = raw.bi(&[&[6, 9], &huge[..], &[0]].concat()).await;
        assert_eq!(reset_code(&mut recv).await, 0x12);
        raw.assert_alive().await;
    }
}

/// A SUBSCRIBE to a track there is; `demo/b` and `v` as in the published traces.
const SUBSCRIBE_06: &[u8] = b"\x02\x10\x00\x06demo/b\x01v\x00\x00\x00\x00\x00\x00";
const SUBSCRIBE_05: &[u8] = b"\x02\x0f\x00\x06demo/b\x01v\x00\x00\x00\x00\x00";

#[tokio::test(start_paused = true)]
async fn a_message_cut_at_any_byte_costs_its_stream_only() {
    for (version, whole) in [
        (Version::Lite06, SUBSCRIBE_06),
        (Version::Lite05, SUBSCRIBE_05),
    ] {
        let raw = Raw::new(version).await;
        for end in 1..whole.len() {
            let (mut send, mut recv) = raw.bi(&whole[..end]).await;
            send.finish().unwrap();
            assert_eq!(reset_code(&mut recv).await, 0x12, "{version} cut at {end}");
        }
        let track = b"\x06\x09\x06demo/b\x01v";
        for end in 1..track.len() {
            let (mut send, mut recv) = raw.bi(&track[..end]).await;
            send.finish().unwrap();
            assert_eq!(
                reset_code(&mut recv).await,
                0x12,
                "{version} TRACK cut at {end}"
            );
        }
        raw.assert_alive().await;
    }
}

/// The bytes a published subscriber sends, and the bytes it expects.
#[tokio::test(start_paused = true)]
async fn a_subscription_byte_for_byte() {
    for (version, subscribe) in [
        (Version::Lite06, SUBSCRIBE_06),
        (Version::Lite05, SUBSCRIBE_05),
    ] {
        let raw = Raw::new(version).await;
        let broadcast = raw.node.origin.create_broadcast("demo/b").unwrap();
        let track = broadcast
            .create_track("v", moq_net::TrackInfo::default())
            .unwrap();
        write_group(&track, "hello");

        let (_send, mut recv) = raw.bi(b"\x06\x09\x06demo/b\x01v").await;
        let info: &[u8] = match version {
            Version::Lite06 => &[5, 127, 0x53, 0x88, 0x43, 0xe8],
            _ => &[6, 127, 0, 0x53, 0x88, 0x43, 0xe8],
        };
        assert_eq!(read_to_end(&mut recv).await, info, "{version}");

        let (mut send, mut recv) = raw.bi(subscribe).await;
        let mut start = [0; 3];
        within(recv.read_exact(&mut start)).await.unwrap();
        assert_eq!(start, [0, 1, 0], "START of group 0");
        let mut group = loop {
            let mut stream = within(raw.conn.accept_uni()).await.unwrap();
            let mut kind = [0];
            within(stream.read_exact(&mut kind)).await.unwrap();
            if kind == [0] {
                break stream;
            }
        };
        let header: &[u8] = if version == Version::Lite06 {
            &[3, 0, 0, 0]
        } else {
            &[2, 0, 0]
        };
        assert_eq!(
            read_to_end(&mut group).await,
            [header, b"\x00\x05hello"].concat()
        );

        // Leaving in order is answered in order: END of what was begun, and the end of the stream.
        send.finish().unwrap();
        assert_eq!(read_to_end(&mut recv).await, [1, 1, 1]);
        raw.assert_alive().await;
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_carry_their_code_mapped() {
    let raw = Raw::new(Version::Lite06).await;
    let _broadcast = raw.node.origin.create_broadcast("demo/b").unwrap();
    for (request, code) in [
        (
            &b"\x02\x0f\x00\x05no/pe\x01v\x00\x00\x00\x00\x00\x00"[..],
            0x36,
        ),
        (SUBSCRIBE_06, 0x33),
        (b"\x06\x09\x06demo/b\x01v", 0x33),
        (b"\x03\x0d\x06demo/b\x01v\x00\x07\x00\x00", 0x33),
        (b"\x04", 1),
    ] {
        let (_send, mut recv) = raw.bi(request).await;
        match within(recv.read_chunk(100)).await {
            Err(moq_quic::Error::Reset(wire)) => {
                assert_eq!(wire, moq_net::lite::code::to_wire(code), "{request:?}");
                assert!(wire > 0x52e4_a40f_a8da);
            }
            other => panic!("{request:?}: {other:?}"),
        }
    }
    raw.assert_alive().await;
}

#[tokio::test(start_paused = true)]
async fn a_cached_group_is_fetched_from_any_frame() {
    let raw = Raw::new(Version::Lite06).await;
    let broadcast = raw.node.origin.create_broadcast("demo/b").unwrap();
    let track = broadcast
        .create_track("v", moq_net::TrackInfo::default())
        .unwrap();
    let group = track.create_group(7).unwrap();
    for (ms, text) in [(100, "a"), (120, "b"), (140, "c")] {
        group.write_frame(Timestamp::from_millis(ms), text).unwrap();
    }
    group.finish().unwrap();
    let (_send, mut recv) = raw.bi(b"\x03\x0d\x06demo/b\x01v\x00\x07\x00\x00").await;
    assert_eq!(
        read_to_end(&mut recv).await,
        b"\x40\xc8\x01a\x28\x01b\x28\x01c"
    );
    // Frame 1 alone: its time counts from 0 again.
    let (_send, mut recv) = raw.bi(b"\x03\x0d\x06demo/b\x01v\x00\x07\x01\x02").await;
    assert_eq!(read_to_end(&mut recv).await, b"\x40\xf0\x01b");
}

/// A hand-written publisher for a node that subscribes.
struct RawPublisher {
    raw: Raw,
    announce: SendStream,
}

impl RawPublisher {
    /// Answers the announce request with these bytes after ANNOUNCE_OK.
    async fn new(bytes: &[u8]) -> Self {
        let raw = Raw::new(Version::Lite06).await;
        let (mut announce, mut recv) = within(raw.conn.accept_bi()).await.unwrap();
        let mut request = [0; 3];
        within(recv.read_exact(&mut request)).await.unwrap();
        assert_eq!(request, [1, 1, 0]);
        announce.write_all(&[2, 9, 1]).await.unwrap();
        announce.write_all(bytes).await.unwrap();
        tokio::spawn(async move {
            let _recv = recv;
            std::future::pending::<()>().await;
        });
        Self { raw, announce }
    }

    /// Answers TRACK (microseconds), and gives back the SUBSCRIBE stream with its id.
    async fn subscribed(&self) -> (SendStream, RecvStream, u8) {
        let mut subscribe = None;
        let mut answered = false;
        while subscribe.is_none() || !answered {
            let (mut send, mut recv) = within(self.raw.conn.accept_bi()).await.unwrap();
            let mut kind = [0; 3];
            within(recv.read_exact(&mut kind)).await.unwrap();
            match kind[0] {
                6 => {
                    send.write_all(&[7, 127, 0x53, 0x88, 0x80, 0x0f, 0x42, 0x40])
                        .await
                        .unwrap();
                    send.finish().unwrap();
                    answered = true;
                }
                2 => subscribe = Some((send, recv, kind[2])),
                other => panic!("stream type {other}"),
            }
        }
        subscribe.unwrap()
    }
}

const START_CAM: &[u8] = b"\x00\x07\x03cam\x00\x00\x00";

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

#[tokio::test(start_paused = true)]
async fn groups_and_datagrams_of_no_subscription_are_dropped() {
    let raw = Raw::new(Version::Lite06).await;
    let mut stream = raw.conn.open_uni().await.unwrap();
    stream
        .write_all(&[0, 3, 5, 0, 0, 0, 1, b'a'])
        .await
        .unwrap();
    assert!(within(stream.stopped()).await.is_some());
    for datagram in [&[][..], &[5], &[5, 0, 0, 1], &[0xff]] {
        raw.conn
            .send_datagram(Bytes::copy_from_slice(datagram))
            .unwrap();
    }
    raw.assert_alive().await;
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

/// Any bytes on any stream: the session answers, or was closed in order; nothing panics.
#[tokio::test(start_paused = true)]
async fn random_bytes_do_no_harm() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for version in VERSIONS {
        let raw = Raw::new(version).await;
        for _ in 0..500 {
            let length = random() % 40;
            let mut bytes: Vec<u8> = (0..length).map(|_| random() as u8).collect();
            // Lengths that fit are rare: make most of them so.
            if bytes.len() > 2 && random() % 4 > 0 {
                bytes[1] = bytes.len() as u8 - 2;
            }
            if random() % 2 == 0 {
                bytes.insert(0, 0);
                raw.uni(&bytes).await;
            } else {
                // Anything but GOAWAY, of which the second closes.
                bytes.insert(0, [1, 2, 3, 4, 6, 7][random() as usize % 6]);
                let (mut send, _recv) = raw.bi(&bytes).await;
                let _ = send.finish();
            }
        }
        raw.assert_alive().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_of_no_known_version_is_refused() {
    let net = Net::new();
    let (client, server) = (
        net.node(1),
        net.node_with(2, Default::default(), &[Version::Lite05]),
    );
    let session = client.read_from(&server, Version::Lite05).await;
    assert_eq!(session.version(), Version::Lite05);
    let trust = moq_quic::tls::Trust::Insecure;
    let config = moq_quic::ClientConfig::new(trust, vec![b"moq-lite-06".to_vec()]);
    let error = client
        .endpoint
        .connect(server.addr, "localhost", config)
        .await
        .unwrap_err();
    assert_eq!(Error::from(error), Error::Version);
}
