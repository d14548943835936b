//! A client that breaks the protocol, and the exact bytes of one that doesn't.

use bytes::Bytes;
use moq_net::{Error, Timestamp, Version};

use super::*;

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
