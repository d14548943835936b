//! Kinds of streams and framings through the importer, and anything a file may hold.

mod support;

use bytes::Bytes;
use moq_mux::catalog::{Descriptor, Framing};
use moq_mux::container;
use moq_mux::import::scan;
use moq_mux::ts::psi::{Pmt, crc32};
use proptest::prelude::*;
use support::mux::{Field, Mux, aac, mp2, picture, stream};
use support::read::{import, importer};

const VIDEO: u16 = 0x100;

/// The side track's number for each frame.
fn numbers(payloads: &[(u64, u64, Bytes)]) -> Vec<u64> {
    payloads
        .iter()
        .map(|(_, _, payload)| container::split(payload.clone()).unwrap().0)
        .collect()
}

fn clock(ticks: i64) -> Field {
    Field::pcr(ticks * 300)
}

#[test]
fn cues_and_private_data_go_through_verbatim() {
    let mut cue = vec![
        0xfc, 0x30, 0x11, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xf0, 0, 0, 0, 0,
    ];
    let crc = crc32(&cue);
    cue.extend_from_slice(&crc.to_be_bytes());
    cue[2] = (cue.len() - 3) as u8;
    let at = cue.len() - 4;
    let crc = crc32(&cue[..at]);
    cue[at..].copy_from_slice(&crc.to_be_bytes());
    let cuei = Descriptor {
        tag: 5,
        data: Bytes::from_static(b"CUEI"),
    };
    let pmt = Pmt {
        program_number: 1,
        pcr_pid: VIDEO,
        descriptors: vec![cuei.clone()],
        streams: vec![
            stream(0x1b, VIDEO, &[]),
            stream(0x86, 0x200, &[(0x8a, &[1])]),
            stream(0x06, 0x201, &[(0x56, b"deu\x09\x00"), (0x52, &[7])]),
        ],
        ..Pmt::default()
    };
    let mut mux = Mux::default();
    mux.pat(&[(1, 0x1000)]);
    mux.section(0x1000, &pmt.section());
    for n in 0..40i64 {
        mux.pes(
            VIDEO,
            0xe0,
            Some(90_000 + n * 3_600),
            None,
            &picture(n % 12 == 0, 900, 7),
            clock(45_000 + n * 3_600),
        );
        if n == 20 {
            mux.section(0x200, &cue);
        }
        if n % 10 == 0 {
            mux.bounded_pes(
                0x201,
                0xbd,
                Some(90_000 + n * 3_600),
                &[0x10, n as u8, 0xff, 0],
            );
        }
    }
    let imported = import(&mux.bytes());
    let mpegts = imported.catalog().mpegts.as_ref().unwrap();
    assert_eq!(mpegts.program_descriptors, [cuei]);
    let cues = &mpegts.tracks["1.section"];
    assert_eq!(cues.verbatim.as_ref().unwrap().framing, Framing::Section);
    assert_eq!(cues.descriptors[0].tag, 0x8a);
    let frames = imported.frames("1.section");
    assert_eq!((frames.len(), &frames[0].unit[..]), (1, &cue[..]));
    assert_eq!(
        frames[0].pts,
        45_000 + 20 * 3_600,
        "stamped with the clock it came at"
    );
    let teletext = &mpegts.tracks["2.pes"];
    let verbatim = teletext.verbatim.as_ref().unwrap();
    assert_eq!(
        (verbatim.stream_type, verbatim.stream_id, verbatim.framing),
        (6, Some(0xbd), Framing::Pes)
    );
    assert_eq!(teletext.descriptors, pmt.streams[2].descriptors);
    let frames = imported.frames("2.pes");
    assert_eq!(
        frames
            .iter()
            .map(|f| (f.pts, f.unit[1]))
            .collect::<Vec<_>>(),
        [0, 10, 20, 30].map(|n| (90_000 + n * 3_600, n as u8))
    );
}

#[test]
fn fields_at_59_94_carry_their_decode_times() {
    // One picture of delay is 1,501.5 ticks: rounded on both sides, no constant gives them back.
    let round = |n: i64| (n * 3_003 + 1) / 2;
    let mut mux = Mux::default();
    mux.tables(&[(0x1b, VIDEO)]);
    for n in 1..60i64 {
        let (pts, dts) = (90_000 + round(n), 90_000 + round(n - 1));
        mux.pes(
            VIDEO,
            0xe0,
            Some(pts),
            Some(dts),
            &picture(n % 24 == 1, 400, 7),
            clock(dts - 30_000),
        );
    }
    let imported = import(&mux.bytes());
    let track = &imported.catalog().mpegts.as_ref().unwrap().tracks["0.avc3"];
    assert_eq!(track.decode_times.as_deref(), Some("0.avc3.dts"));
    let frames = imported.frames("0.avc3");
    let side = imported.payloads("0.avc3.dts");
    let groups: Vec<u64> = side.iter().map(|&(group, ..)| group).collect();
    assert_eq!(
        groups,
        frames.iter().map(|frame| frame.group).collect::<Vec<_>>()
    );
    let authored = frames
        .iter()
        .zip(numbers(&side))
        .map(|(frame, delay)| frame.pts - delay as i64);
    assert!(authored.eq((1..60).map(|n| 90_000 + round(n - 1))));
}

#[test]
fn open_groups_keep_their_decode_times_by_rule() {
    // Two B-frames before every reference, also before the intra picture a group starts at: recovery point, no IDR.
    let recovery = [
        &[0, 0, 0, 1][..],
        support::mux::SPS,
        &[0, 0, 0, 1, 6, 6, 1, 0xc4, 0x80],
    ]
    .concat();
    let mut mux = Mux::default();
    mux.tables(&[(0x1b, VIDEO)]);
    let mut sent = Vec::new();
    for n in 0..46i64 {
        let shown = if n == 0 {
            0
        } else {
            [n + 2, n - 1, n - 1][((n - 1) % 3) as usize]
        };
        let mut unit = picture(n == 0, 500, n as u8);
        if n % 12 == 4 {
            unit = [&unit[..6], &recovery, &unit[6..]].concat();
        }
        let (pts, dts) = (90_000 + shown * 3_600, 90_000 + (n - 1) * 3_600);
        mux.pes(
            VIDEO,
            0xe0,
            Some(pts),
            Some(dts),
            &unit,
            clock(dts - 30_000),
        );
        sent.push((pts, dts));
    }
    let imported = import(&mux.bytes());
    let track = &imported.catalog().mpegts.as_ref().unwrap().tracks["0.avc3"];
    assert_eq!(
        (track.decode_delay, &track.decode_times),
        (Some(3_600), &None)
    );
    let frames = imported.frames("0.avc3");
    let groups: Vec<u64> = frames.iter().map(|frame| frame.group).collect();
    assert_eq!((groups[3], groups[4], groups[15], groups[16]), (0, 1, 1, 2));
    // From the start of any group on, the rule gives what was sent.
    for start in [0, 4, 16, 28] {
        let mut sorted: Vec<i64> = frames[start..].iter().map(|frame| frame.pts).collect();
        sorted.sort_unstable();
        let rule: Vec<i64> = sorted.iter().map(|pts| pts - 3_600).collect();
        assert_eq!(
            rule,
            sent[start..]
                .iter()
                .map(|&(_, dts)| dts)
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn video_nobody_reads_is_carried_with_both_times() {
    let mut mux = Mux::default();
    mux.tables(&[(0x02, VIDEO)]);
    for n in 0..30i64 {
        let pts = if n % 3 == 0 { n + 2 } else { n - 1 };
        mux.pes(
            VIDEO,
            0xe0,
            Some(90_000 + pts * 3_600),
            Some(90_000 + (n - 1) * 3_600),
            &[n as u8; 300],
            clock(n * 3_600),
        );
    }
    let imported = import(&mux.bytes());
    let track = &imported.catalog().mpegts.as_ref().unwrap().tracks["0.pes"];
    assert_eq!(
        (track.stream_type, track.decode_times.as_deref()),
        (Some(2), Some("0.pes.dts"))
    );
    let frames = imported.frames("0.pes");
    let delays = numbers(&imported.payloads("0.pes.dts"));
    let authored: Vec<i64> = frames
        .iter()
        .zip(delays)
        .map(|(frame, delay)| frame.pts - delay as i64)
        .collect();
    assert_eq!(
        authored,
        (0..30)
            .map(|n| 90_000 + (n - 1) * 3_600)
            .collect::<Vec<_>>()
    );
}

#[test]
fn headers_no_template_gives_go_beside_the_frames() {
    let mut mux = Mux::default();
    mux.tables(&[(0x0f, VIDEO)]);
    let frames: Vec<Vec<u8>> = (0..40)
        .map(|n| aac(200 + n, n as u8, 300 + n as u16 * 7))
        .collect();
    for (n, frame) in frames.iter().enumerate() {
        let time = n as i64 * 1_920;
        mux.pes(VIDEO, 0xc0, Some(90_000 + time), None, frame, clock(time));
    }
    let imported = import(&mux.bytes());
    let adts = imported.catalog().mpegts.as_ref().unwrap().tracks["0.aac"]
        .adts
        .clone()
        .unwrap();
    let headers = imported.payloads(&adts.track.unwrap());
    // The first frame is what the template was made of.
    let units = imported.frames("0.aac");
    let rebuilt: Vec<Vec<u8>> = units
        .iter()
        .map(|unit| {
            let beside = headers.iter().find(|&&(group, ..)| group == unit.group);
            let template: [u8; 7] = hex::decode(&adts.header).unwrap().try_into().unwrap();
            let header = match beside {
                Some((_, _, header)) => header.to_vec(),
                None => moq_mux::codec::aac::with_length(&template, unit.unit.len() + 7).to_vec(),
            };
            [header, unit.unit.to_vec()].concat()
        })
        .collect();
    assert_eq!(rebuilt, frames);
}

#[test]
fn a_picture_over_several_packets_is_one_frame() {
    let mut mux = Mux::default();
    mux.tables(&[(0x1b, VIDEO)]);
    let unit = picture(true, 3_000, 9);
    for n in 0..12i64 {
        mux.pes(
            VIDEO,
            0xe0,
            Some(90_000 + n * 3_600),
            None,
            &unit[..1_000],
            clock(n * 3_600),
        );
        mux.bounded_pes(VIDEO, 0xe0, None, &unit[1_000..2_000]);
        mux.bounded_pes(VIDEO, 0xe0, None, &unit[2_000..]);
    }
    let frames = import(&mux.bytes()).frames("0.avc3");
    assert_eq!(frames.len(), 12);
    assert!(frames.iter().all(|frame| frame.unit == unit));
}

#[test]
fn frames_across_packets_take_the_time_of_the_packet_they_start_in() {
    // Packets of 700 bytes over frames of 576: each has the time of the first frame that starts in it.
    let frames: Vec<u8> = (0..28u8).flat_map(mp2).collect();
    let mut mux = Mux::default();
    mux.tables(&[(0x03, VIDEO)]);
    for (n, piece) in frames.chunks(700).enumerate() {
        let first = (n * 700).div_ceil(576) as i64;
        // Off the grid on purpose, so that a time given to the wrong frame shows.
        mux.pes(
            VIDEO,
            0xc0,
            Some(90_000 + first * 2_160 + first % 7),
            None,
            piece,
            clock(first * 2_160),
        );
    }
    let found = import(&mux.bytes()).frames("0.mp2");
    assert_eq!(found.len(), 28);
    for (n, frame) in found.iter().enumerate() {
        assert_eq!(frame.unit, mp2(n as u8));
        let base = 90_000 + n as i64 * 2_160;
        assert!(
            (base..base + 7).contains(&frame.pts),
            "{n}: {}",
            frame.pts - base
        );
    }
    assert!(
        (0..28)
            .filter(|n| n % 7 == 2)
            .all(|n| found[n].pts == 90_000 + n as i64 * 2_160 + 2 || n * 576 % 700 > 576)
    );
}

#[test]
fn packets_of_192_and_204_bytes() {
    let mut mux = Mux::default();
    mux.tables(&[(0x03, VIDEO)]);
    for n in 0..40i64 {
        mux.pes(
            VIDEO,
            0xc0,
            Some(90_000 + n * 2_160),
            None,
            &mp2(n as u8),
            clock(n * 2_160),
        );
    }
    let plain = import(&mux.bytes()).frames("0.mp2");
    let stamped: Vec<u8> = mux
        .packets
        .iter()
        .flat_map(|packet| [&[0x12, 1, 2, 3][..], packet].concat())
        .collect();
    let parity: Vec<u8> = mux
        .packets
        .iter()
        .flat_map(|packet| [&packet[..], &[0x55; 16]].concat())
        .collect();
    assert_eq!(import(&stamped).frames("0.mp2"), plain);
    assert_eq!(import(&parity).frames("0.mp2"), plain);
}

#[test]
fn a_stream_that_is_not_what_the_map_calls_it_is_carried_as_it_is() {
    let mut mux = Mux::default();
    mux.tables(&[(0x03, VIDEO)]);
    for n in 0..400i64 {
        mux.pes(
            VIDEO,
            0xc0,
            Some(90_000 + n * 2_160),
            None,
            &[0x33; 500],
            clock(n * 2_160),
        );
    }
    let imported = import(&mux.bytes());
    assert!(imported.catalog().audio.renditions.is_empty());
    let frames = imported.frames("0.pes");
    assert!(frames.len() > 200 && frames.iter().all(|frame| frame.unit[..] == [0x33; 500]));
}

#[test]
fn a_group_that_grows_too_long_is_split() {
    let mut mux = Mux::default();
    mux.tables(&[(0x1b, VIDEO)]);
    for n in 0..9_000i64 {
        mux.pes(
            VIDEO,
            0xe0,
            Some(90_000 + n * 3_600),
            None,
            &picture(n == 0, 20, 5),
            clock(n * 3_600),
        );
    }
    let frames = import(&mux.bytes()).frames("0.avc3");
    assert_eq!(
        (frames.len(), frames[0].group, frames[8_999].group),
        (9_000, 0, 1)
    );
}

/// A small clip with everything in it, to be damaged.
fn clip() -> Vec<u8> {
    let mut mux = Mux::default();
    for n in 0..60i64 {
        if n % 5 == 0 {
            mux.tables(&[(0x1b, VIDEO), (0x0f, 0x101), (0x06, 0x102), (0x05, 0x103)]);
            mux.section(0x11, &[0x42, 0x70, 4, 1, 2, 3, n as u8]);
        }
        mux.pes(
            VIDEO,
            0xe0,
            Some(90_000 + n * 3_600),
            None,
            &picture(n % 12 == 0, 600, 7),
            clock(45_000 + n * 3_600),
        );
        mux.pes(
            0x101,
            0xc0,
            Some(90_000 + n * 3_840),
            None,
            &[aac(300, 1, 9), aac(300, 2, n as u16)].concat(),
            Field::default(),
        );
        mux.bounded_pes(0x102, 0xbd, Some(90_000 + n * 3_600), &[n as u8; 100]);
        mux.section(0x103, &[0xc0, 0x30, 3, 1, 2, 3]);
        mux.null();
    }
    mux.bytes()
}

#[derive(Clone, Debug)]
enum Damage {
    Set(usize, u8),
    Cut(usize, usize),
    Repeat(usize, usize),
    Insert(usize, Vec<u8>),
}

fn damage(len: usize) -> impl Strategy<Value = Damage> {
    let at = 0..len;
    prop_oneof![
        8 => (at.clone(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        // A bit of a header: PID, flags, counter.
        8 => (0..len / 188, 0..12usize, any::<u8>()).prop_map(|(n, at, byte)| Damage::Set(n * 188 + at, byte)),
        2 => (at.clone(), 1..2_000usize).prop_map(|(at, len)| Damage::Cut(at, len)),
        2 => (0..len / 188, 1..20usize).prop_map(|(at, len)| Damage::Repeat(at * 188, len * 188)),
        1 => (at, prop::collection::vec(any::<u8>(), 1..600)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
    ]
}

fn run(bytes: &[u8], step: usize) {
    let mut imported = importer(None);
    for chunk in bytes.chunks(step) {
        if imported.import.push(chunk).is_err() {
            return;
        }
    }
    if imported.import.restart().is_ok()
        && imported.push(bytes).is_ok()
        && imported.import.finish().is_ok()
    {
        let stats = imported.stats();
        let published: u64 = stats.tracks.iter().map(|track| track.bytes).sum();
        assert!(published <= 2 * bytes.len() as u64, "nothing is made up");
    }
    let _ = scan(bytes, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damage_of_any_kind_is_survived(damages in prop::collection::vec(damage(110_000), 0..40), step in 1..5_000usize) {
        let mut bytes = clip();
        for damage in damages {
            let len = bytes.len();
            match damage {
                Damage::Set(at, byte) => bytes[at % len] = byte,
                Damage::Cut(at, count) => drop(bytes.drain(at % len..(at % len + count).min(len))),
                Damage::Repeat(at, count) => {
                    let again = bytes[at % len..(at % len + count).min(len)].to_vec();
                    bytes.splice(at % len..at % len, again);
                }
                Damage::Insert(at, more) => drop(bytes.splice(at % len..at % len, more)),
            }
            if bytes.len() < 1_000 {
                break;
            }
        }
        run(&bytes, step);
    }

    #[test]
    fn random_packets_are_survived(packets in prop::collection::vec((0..0x300u16, any::<u8>(), prop::collection::vec(any::<u8>(), 184)), 0..300), step in 1..2_000usize) {
        let mut bytes = clip()[..20 * 188].to_vec();
        for (pid, flags, payload) in packets {
            bytes.extend_from_slice(&[0x47, (pid >> 8) as u8 | flags & 0x40, pid as u8, flags]);
            bytes.extend_from_slice(&payload);
        }
        run(&bytes, step);
    }

    #[test]
    fn units_and_times_come_out_as_they_went_in(
        start in 0..1i64 << 33,
        pictures in prop::collection::vec((1..4_000usize, any::<u8>()), 13..40),
        reorder in 0..4i64,
    ) {
        let mut mux = Mux::default();
        mux.tables(&[(0x1b, VIDEO), (0x03, 0x101)]);
        let mut sent = Vec::new();
        let group = reorder + 1;
        for (n, &(len, fill)) in pictures.iter().enumerate() {
            let n = n as i64;
            // References first, then the pictures shown before them.
            let shown = if n == 0 { 0 } else if (n - 1) % group == 0 { n + reorder } else { n - 1 };
            let (pts, dts) = (start + shown * 3_600, start + (n - i64::from(reorder > 0)) * 3_600);
            let unit = picture(n == 0, len, fill);
            let clock = ((dts - 40_000) * 300).rem_euclid((1 << 33) * 300);
            mux.pes(VIDEO, 0xe0, Some(pts), (pts != dts).then_some(dts), &unit, Field::pcr(clock));
            mux.pes(0x101, 0xc0, Some(start + n * 2_160), None, &mp2(fill), Field::default());
            sent.push((pts.rem_euclid(1 << 33), unit));
        }
        let imported = import(&mux.bytes());
        let frames = imported.frames("0.avc3");
        let found: Vec<_> = frames.iter().map(|f| (f.pts.rem_euclid(1 << 33), f.unit.to_vec())).collect();
        prop_assert_eq!(found, sent);
        let mpegts = imported.catalog().mpegts.as_ref().unwrap();
        let expected = if reorder > 0 { 3_600 } else { 0 };
        prop_assert_eq!(mpegts.tracks["0.avc3"].decode_delay, Some(expected));
        let audio = imported.frames("1.mp2");
        prop_assert!(audio.iter().enumerate().all(|(n, f)| f.pts - audio[0].pts == n as i64 * 2_160));
        prop_assert_eq!(audio.len(), pictures.len());
    }
}
