//! Every message in every version: bytes as published peers send them, round trips, and what is refused.

use std::fmt::Debug;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use super::*;
use crate::lite::coding::MAX_VARINT;
use crate::{Datagram, Path, Route, Subscription, Timescale, Timestamp, TrackInfo};

const HOP: u64 = 0x1122_3344_5566_7788;

/// A trace: hexadecimal bytes, and text in quotes.
fn trace(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        if index % 2 == 1 {
            bytes.extend_from_slice(part.as_bytes());
        } else {
            let digits: String = part.chars().filter(char::is_ascii_hexdigit).collect();
            bytes.extend(hex(&digits));
        }
    }
    bytes
}

fn hex(digits: &str) -> impl Iterator<Item = u8> {
    (0..digits.len() / 2)
        .map(move |at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
}

fn path(text: &str) -> Path {
    Path::new(text).unwrap()
}

/// Splits length and body, and checks that the one counts the other.
fn body(framed: &[u8]) -> &[u8] {
    let mut reader = Reader::new(framed);
    let body = reader.bytes("a message", 1 << 20).unwrap();
    reader.finish().unwrap();
    body
}

/// The message comes back from its bytes, and neither any part of them nor more than them is a message.
fn comes_back<M: Message + PartialEq + Debug>(message: &M, version: Version) {
    let bytes = message.encode(version).unwrap();
    let body = body(&bytes);
    assert!(body.len() <= M::CAP);
    assert_eq!(M::decode(body, version).as_ref(), Ok(message), "{version}");
    for end in 0..body.len() {
        assert!(
            M::decode(&body[..end], version).is_err(),
            "{version} cut at {end}"
        );
    }
    let longer = [body, &[0]].concat();
    assert_eq!(M::decode(&longer, version), Err(DecodeError::Trailing));
}

fn typed_comes_back<M: Typed + PartialEq + Debug>(message: &M, version: Version) {
    let bytes = message.encode(version).unwrap();
    let mut reader = Reader::new(&bytes);
    let kind = reader.varint().unwrap();
    let body = reader.bytes(M::NAME, M::CAP).unwrap();
    assert_eq!(
        M::decode(kind, body, version).unwrap().as_ref(),
        Some(message),
        "{version}"
    );
    for end in 0..body.len() {
        assert!(
            M::decode(kind, &body[..end], version).is_err(),
            "{version} cut at {end}"
        );
    }
    assert_eq!(
        M::decode(kind, &[body, &[0]].concat(), version),
        Err(DecodeError::Trailing)
    );
}

#[test]
fn setup_as_published_peers_send_it() {
    let server = Setup {
        probe: ProbeLevel::Report,
        hop: Some(HOP),
        ..Setup::default()
    };
    let bytes = server.encode_first(uni::SETUP, Version::Lite06).unwrap();
    assert_eq!(
        bytes,
        trace("01 0e 02 01 01 01 05 08 d1 22 33 44 55 66 77 88")
    );
    let client = Setup::default()
        .encode_first(uni::SETUP, Version::Lite06)
        .unwrap();
    assert_eq!(client, trace("01 01 00"));
}

#[test]
fn announce_request_as_published_peers_send_it() {
    let request = AnnounceRequest {
        prefix: Path::root(),
        exclude_hop: HOP,
    };
    assert_eq!(
        request
            .encode_first(bidi::ANNOUNCE, Version::Lite06)
            .unwrap(),
        trace("01 01 00")
    );
    let bytes = request
        .encode_first(bidi::ANNOUNCE, Version::Lite05)
        .unwrap();
    assert_eq!(bytes, trace("01 09 00 d1 22 33 44 55 66 77 88"));
}

#[test]
fn announcements_as_published_peers_send_them() {
    let ok = AnnounceOk {
        hop: HOP,
        active: 1,
    }
    .encode(Version::Lite06)
    .unwrap();
    assert_eq!(ok, trace("09 d1 22 33 44 55 66 77 88 01"));
    let start = Announce::Start {
        suffix: path("room/cam1"),
        route: Route::default(),
    };
    assert_eq!(
        start.encode(Version::Lite06).unwrap(),
        trace("00 0d 09 \"room/cam1\" 00 00 00")
    );
    let mut active = AnnounceStatus {
        status: Status::Active,
        suffix: path("room/cam1"),
        hops: vec![],
    };
    assert_eq!(
        active.encode(Version::Lite05).unwrap(),
        trace("0c 01 09 \"room/cam1\" 00")
    );
    active.hops = vec![HOP];
    assert_eq!(
        active.encode(Version::Lite04).unwrap(),
        trace("14 01 09 \"room/cam1\" 01 d1 22 33 44 55 66 77 88")
    );
}

#[test]
fn subscribe_as_published_peers_send_it() {
    let subscribe = Subscribe {
        id: 0,
        broadcast: path("demo/b"),
        track: "v".into(),
        wish: Subscription::default(),
    };
    let bytes = subscribe
        .encode_first(bidi::SUBSCRIBE, Version::Lite06)
        .unwrap();
    assert_eq!(
        bytes,
        trace("02 10 00 06 \"demo/b\" 01 \"v\" 00 00 00 00 00 00")
    );
    let bytes = subscribe
        .encode_first(bidi::SUBSCRIBE, Version::Lite05)
        .unwrap();
    assert_eq!(
        bytes,
        trace("02 0f 00 06 \"demo/b\" 01 \"v\" 00 00 00 00 00")
    );
    let ok = Response::Ok(Subscription::default())
        .encode(Version::Lite04)
        .unwrap();
    assert_eq!(ok, trace("00 05 00 00 00 00 00"));
}

#[test]
fn track_info_as_published_peers_send_it() {
    let info = TrackInfo {
        timescale: Timescale::MICROS,
        ..TrackInfo::default()
    };
    assert_eq!(
        info.encode(Version::Lite06).unwrap(),
        trace("07 7f 53 88 80 0f 42 40")
    );
    assert_eq!(
        info.encode(Version::Lite05).unwrap(),
        trace("08 7f 00 53 88 80 0f 42 40")
    );
}

#[test]
fn ranges_are_inclusive_on_the_wire_and_starts_differ_by_version() {
    let wish = Subscription {
        start: Some(4),
        end: Some(8),
        ..Subscription::default()
    };
    assert_eq!(
        wish.encode(Version::Lite05).unwrap(),
        trace("05 00 00 00 05 08")
    );
    assert_eq!(
        wish.encode(Version::Lite06).unwrap(),
        trace("06 00 00 04 08 00 00")
    );
}

#[test]
fn setup_parameters_not_known_are_ignored_and_doubles_refused() {
    let decode = |text| Setup::decode(&trace(text), Version::Lite06);
    assert_eq!(
        decode("02 20 03 aabbcc 01 01 01").unwrap().probe,
        ProbeLevel::Report
    );
    assert_eq!(
        decode("02 01 01 00 01 01 01"),
        Err(DecodeError::Invalid("a SETUP parameter given twice"))
    );
    assert_eq!(
        decode("02 20 00 20 00"),
        Err(DecodeError::Invalid("a SETUP parameter given twice"))
    );
    assert_eq!(
        decode("01 03 01 03"),
        Err(DecodeError::Invalid("the SETUP role"))
    );
    assert_eq!(
        decode("01 01 02 01 01"),
        Err(DecodeError::Trailing),
        "a value longer than its number"
    );
    assert_eq!(
        decode("40 41"),
        Err(DecodeError::TooLong("the list of SETUP parameters"))
    );
    assert_eq!(
        decode("01 02 c0 00 00 ff 00 00 00 00"),
        Err(DecodeError::TooLong("a SETUP parameter"))
    );
}

#[test]
fn a_route_of_too_many_hops_is_decoded_to_be_discarded() {
    let mut start = Writer::new();
    start.text("a").varint(40);
    for hop in 1..=40 {
        start.varint(hop);
    }
    start.varint(0).varint(0);
    let bytes = start.finish().unwrap();
    let Ok(Some(Announce::Start { route, .. })) = Announce::decode(0, &bytes, Version::Lite06)
    else {
        panic!("not decoded");
    };
    assert_eq!(route.hops.len(), 33);
    let counted = trace("01 01 \"a\" c0 00 00 ff 00 00 00 00");
    assert_eq!(
        AnnounceStatus::decode(&counted, Version::Lite03)
            .unwrap()
            .hops
            .len(),
        33
    );
    assert_eq!(
        AnnounceStatus::decode(&counted, Version::Lite05),
        Err(DecodeError::Truncated)
    );
}

#[test]
fn types_not_known_are_skipped() {
    assert_eq!(Announce::decode(3, b"anything", Version::Lite06), Ok(None));
    assert_eq!(Response::decode(3, b"anything", Version::Lite06), Ok(None));
    assert_eq!(Response::decode(2, b"anything", Version::Lite04), Ok(None));
}

#[test]
fn ranges_that_are_none_are_refused() {
    let late = trace("00 00 00 00 00 05");
    let error = DecodeError::Invalid("a last frame without a last group");
    assert_eq!(Subscription::decode(&late, Version::Lite06), Err(error));
    let drop = trace("05 04 00");
    assert_eq!(
        Response::decode(2, &drop, Version::Lite06),
        Err(DecodeError::Invalid("a dropped range"))
    );
    let fetch = trace("01 \"b\" 01 \"t\" 00 00 05 05");
    assert_eq!(
        Fetch::decode(&fetch, Version::Lite06),
        Err(DecodeError::Invalid("a range of frames"))
    );
}

#[test]
fn oversized_lengths_are_typed_errors() {
    let long = trace("c0 00 00 ff 00 00 00 00");
    assert_eq!(
        Goaway::decode(&long, Version::Lite06),
        Err(DecodeError::TooLong("the GOAWAY URI"))
    );
    assert_eq!(
        TrackRequest::decode(&long, Version::Lite06),
        Err(DecodeError::TooLong("a path"))
    );
    let name = [b"\x01b", &long[..]].concat();
    assert_eq!(
        TrackRequest::decode(&name, Version::Lite06),
        Err(DecodeError::TooLong("a track name"))
    );
    assert_eq!(
        Fetch::decode(&name, Version::Lite06),
        Err(DecodeError::TooLong("a track name"))
    );
    let hops = [b"\x01a", &long[..]].concat();
    assert_eq!(
        Announce::decode(0, &hops, Version::Lite06),
        Err(DecodeError::Truncated)
    );
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..100u64, 0..MAX_VARINT - 1]
}

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9.é-]{0,20}"
}

fn paths() -> impl Strategy<Value = Path> {
    "[a-z./]{0,30}".prop_map(|text| Path::new(text).unwrap())
}

fn versions() -> impl Strategy<Value = Version> {
    proptest::sample::select(&Version::ALL[..])
}

fn routes() -> impl Strategy<Value = Route> {
    (
        proptest::collection::vec(number(), 0..=32),
        number(),
        number(),
    )
        .prop_map(|(hops, warm, cold)| Route { hops, warm, cold })
}

fn wishes() -> impl Strategy<Value = Subscription> {
    let optional = || proptest::option::of(number().prop_map(|value| value + 1));
    (
        any::<u8>(),
        number(),
        optional(),
        optional(),
        number(),
        optional(),
    )
        .prop_map(
            |(priority, age, start, end, frame_start, frame_end)| Subscription {
                priority,
                max_age: Duration::from_millis(age),
                start: start.map(|start| start.min(MAX_VARINT - 1)),
                end,
                frame_start,
                frame_end: frame_end.filter(|_| end.is_some()),
            },
        )
}

/// What `version` can say of a wish.
fn sayable(wish: Subscription, version: Version) -> Subscription {
    match version {
        Version::Lite06 => wish,
        _ => Subscription {
            frame_start: 0,
            frame_end: None,
            ..wish
        },
    }
}

proptest! {
    #[test]
    fn setup_comes_back(
        level in 0..3, path in proptest::option::of(name()), role in proptest::option::of(any::<bool>()),
        cost in proptest::option::of(number()), hop in proptest::option::of(number()),
    ) {
        let mut setup = Setup {
            probe: [ProbeLevel::None, ProbeLevel::Report, ProbeLevel::Increase][level as usize],
            path,
            role: role.map(|role| if role { Role::Publisher } else { Role::Subscriber }),
            cost,
            hop,
        };
        comes_back(&setup, Version::Lite06);
        (setup.cost, setup.hop) = (None, None);
        comes_back(&setup, Version::Lite05);
    }

    #[test]
    fn announcements_come_back(suffix in paths(), route in routes(), id in number(), version in versions(), status in 0..3) {
        typed_comes_back(&Announce::Start { suffix: suffix.clone(), route: route.clone() }, Version::Lite06);
        typed_comes_back(&Announce::End { id }, Version::Lite06);
        typed_comes_back(&Announce::Restart { id, route: route.clone() }, Version::Lite06);
        comes_back(&AnnounceOk { hop: id, active: route.warm }, version);
        let exclude_hop = if matches!(version, Version::Lite04 | Version::Lite05) { id } else { 0 };
        comes_back(&AnnounceRequest { prefix: suffix.clone(), exclude_hop }, version);
        let hops = if version == Version::Lite03 { vec![0; route.hops.len()] } else { route.hops };
        let status = [Status::Ended, Status::Active, Status::Restart][status as usize];
        if status != Status::Restart || version >= Version::Lite05 {
            comes_back(&AnnounceStatus { status, suffix, hops }, version);
        }
    }

    #[test]
    fn subscriptions_come_back(id in number(), broadcast in paths(), track in name(), wish in wishes(), version in versions()) {
        let wish = sayable(wish, version);
        comes_back(&wish, version);
        comes_back(&Subscribe { id, broadcast, track, wish: wish.clone() }, version);
        if version < Version::Lite05 {
            typed_comes_back(&Response::Ok(wish), version);
        } else {
            typed_comes_back(&Response::Start { group: id }, version);
            typed_comes_back(&Response::End { group: id }, version);
        }
        typed_comes_back(&Response::Drop { start: id, end: id + 1, error: 0x34 }, version);
    }

    #[test]
    fn track_and_fetch_come_back(
        broadcast in paths(), track in name(), priority: u8, age in number(), scale in 1..MAX_VARINT, group in number(),
        frames in number(), version in versions(),
    ) {
        comes_back(&TrackRequest { broadcast: broadcast.clone(), track: track.clone() }, version);
        let timescale = Timescale::new(scale).unwrap();
        comes_back(&TrackInfo { priority, max_age: Duration::from_millis(age), timescale }, version);
        let bounds = version >= Version::Lite06;
        let (frame_start, frame_end) = if bounds { (frames, Some(frames + 1)) } else { (0, None) };
        comes_back(&Fetch { broadcast, track, priority, group, frame_start, frame_end }, version);
    }

    #[test]
    fn group_and_frame_headers_come_back(
        subscribe in number(), sequence in number(), delta in -(1i64 << 61)..1i64 << 61, size in number(), version in versions(),
    ) {
        let frame_start = if version >= Version::Lite06 { size } else { 0 };
        comes_back(&GroupHeader { subscribe, sequence, frame_start }, version);
        let header = FrameHeader { delta: if version.has_setup() { delta } else { 0 }, size };
        let mut bytes = BytesMut::new();
        header.encode(&mut bytes, version).unwrap();
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(FrameHeader::decode(&mut reader, version), Ok(header));
        prop_assert_eq!(reader.finish(), Ok(()));
        for end in 0..bytes.len() {
            let cut = FrameHeader::decode(&mut Reader::new(&bytes[..end]), version);
            prop_assert_eq!(cut, Err(DecodeError::Truncated));
        }
    }

    #[test]
    fn datagrams_come_back(subscribe in number(), sequence in number(), time in number(), payload: Vec<u8>) {
        let timestamp = Timestamp::from_millis(time);
        let datagram = Datagram { sequence, timestamp, payload: Bytes::from(payload.clone()) };
        let bytes = DatagramHeader::encode(subscribe, &datagram).unwrap();
        let mut reader = Reader::new(&bytes);
        let header = DatagramHeader { subscribe, sequence, timestamp: time };
        prop_assert_eq!(DatagramHeader::decode(&mut reader), Ok(header));
        prop_assert_eq!(reader.take(reader.remaining()), Ok(&payload[..]));
    }

    #[test]
    fn probe_and_goaway_come_back(bitrate in number(), rtt in number(), uri in "[a-z:/.]{0,40}", version in versions()) {
        let rtt = Duration::from_millis(if version >= Version::Lite04 { rtt } else { 0 });
        comes_back(&Probe { bitrate, rtt }, version);
        comes_back(&Goaway { uri }, version);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), kind in 0..4u64, version in versions()) {
        let _ = Setup::decode(&bytes, version);
        let _ = AnnounceRequest::decode(&bytes, version);
        let _ = AnnounceOk::decode(&bytes, version);
        let _ = AnnounceStatus::decode(&bytes, version);
        let _ = Announce::decode(kind, &bytes, version);
        let _ = Subscribe::decode(&bytes, version);
        let _ = Response::decode(kind, &bytes, version);
        let _ = TrackRequest::decode(&bytes, version);
        let _ = TrackInfo::decode(&bytes, version);
        let _ = GroupHeader::decode(&bytes, version);
        let _ = Fetch::decode(&bytes, version);
        let _ = Probe::decode(&bytes, version);
        let _ = Goaway::decode(&bytes, version);
        let _ = DatagramHeader::decode(&mut Reader::new(&bytes));
        let _ = FrameHeader::decode(&mut Reader::new(&bytes), version);
    }
}
