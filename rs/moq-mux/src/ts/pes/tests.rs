use super::*;
use crate::ts::writer::{self, PesHead};
use proptest::prelude::*;

/// The five bytes of a time, marker bits set (§2.4.3.7).
fn time(prefix: u8, ticks: i64) -> [u8; 5] {
    [
        prefix << 4 | (ticks >> 29) as u8 & 0x0e | 1,
        (ticks >> 22) as u8,
        (ticks >> 14) as u8 | 1,
        (ticks >> 7) as u8,
        (ticks << 1) as u8 | 1,
    ]
}

fn pes(
    stream_id: u8,
    pts: Option<i64>,
    dts: Option<i64>,
    payload: &[u8],
    bounded: bool,
) -> Vec<u8> {
    let mut fields = Vec::new();
    if let Some(pts) = pts {
        fields.extend(time(if dts.is_some() { 3 } else { 2 }, pts));
    }
    fields.extend(dts.map(|dts| time(1, dts)).into_iter().flatten());
    let flags = u8::from(pts.is_some()) << 7 | u8::from(dts.is_some()) << 6;
    let len = if bounded {
        3 + fields.len() + payload.len()
    } else {
        0
    };
    let mut bytes = vec![
        0,
        0,
        1,
        stream_id,
        (len >> 8) as u8,
        len as u8,
        0x84,
        flags,
        fields.len() as u8,
    ];
    bytes.extend(fields);
    bytes.extend_from_slice(payload);
    bytes
}

/// Feeds a PES packet in pieces of `step` bytes.
fn feed(assembler: &mut Assembler<()>, bytes: &[u8], step: usize) -> Vec<Unit<()>> {
    let mut units: Vec<_> = assembler.flush(false).into_iter().collect();
    for (n, piece) in bytes.chunks(step).enumerate() {
        let pushed = if n == 0 {
            assembler.start(piece, |_| ())
        } else {
            assembler.extend(piece, |_| ())
        };
        units.extend(pushed.unit);
    }
    units
}

proptest! {
    #[test]
    fn headers_are_read_whole(pts in prop::option::of(0..1i64 << 33), dts in 0..1i64 << 33, payload: Vec<u8>, bounded: bool) {
        let dts = pts.map(|_| dts);
        let bytes = pes(0xe0, pts, dts, &payload, bounded);
        let expected = PesHeader { stream_id: 0xe0, pts, dts, payload: bounded.then_some(payload.len()), aligned: true };
        prop_assert_eq!(PesHeader::parse(&bytes), Parsed::Whole(expected, bytes.len() - payload.len()));
        for cut in 0..bytes.len() - payload.len() {
            prop_assert_eq!(PesHeader::parse(&bytes[..cut]), Parsed::Partial);
        }
    }

    #[test]
    fn units_come_out_as_they_went_in(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3000), 1..12),
        step in 1..184usize,
        headroom in 0..9usize,
        bounded: bool,
    ) {
        let mut assembler = Assembler::new(headroom, false);
        let mut units = Vec::new();
        for (n, payload) in payloads.iter().enumerate() {
            units.extend(feed(&mut assembler, &pes(0xc0, Some(n as i64), None, payload, bounded), step));
            if bounded {
                // The announced length ends a unit: nothing waits for the next start.
                prop_assert_eq!(units.len(), n + 1);
            }
        }
        units.extend(assembler.flush(false));
        prop_assert_eq!(units.len(), payloads.len());
        for (unit, payload) in units.iter().zip(&payloads) {
            prop_assert_eq!(&unit.data[..headroom], &vec![0; headroom][..]);
            prop_assert_eq!(&unit.data[headroom..], &payload[..]);
        }
    }

    #[test]
    fn the_writer_needs_as_many_packets_as_are_counted(len in 0..2000usize, delay in 0..2i64, random_access: bool) {
        let head = PesHead { stream_id: 0xe0, pts: delay, dts: 0, prefix: &[], random_access };
        let unit = writer::Unit::pes(head, vec![0; len].into());
        prop_assert_eq!(u64::from(unit.packets()), packets(len, delay != 0, random_access));
        let section = writer::Unit::section(vec![0; len].into());
        prop_assert_eq!(u64::from(section.packets()), section_packets(len));
    }

    #[test]
    fn hostile_payloads_never_panic_or_grow(pieces in prop::collection::vec((any::<bool>(), prop::collection::vec(prop_oneof![Just(0), Just(1), any::<u8>()], 0..184)), 0..80)) {
        let mut assembler = Assembler::new(8, true);
        assembler.set_limit(1000);
        for (start, piece) in pieces {
            let pushed = if start { assembler.start(&piece, |_| ()) } else { assembler.extend(&piece, |_| ()) };
            prop_assert!(pushed.unit.is_none());
            prop_assert!(assembler.block.len() <= 1008 && assembler.head.len() <= MAX_HEADER + 184);
        }
    }
}

#[test]
fn a_picture_may_go_on_in_a_packet_without_a_time() {
    let mut assembler = Assembler::new(0, true);
    feed(
        &mut assembler,
        &pes(0xe0, Some(1), None, b"front ", true),
        184,
    );
    let more = pes(0xe0, None, None, b"back", true);
    let Parsed::Whole(header, len) = PesHeader::parse(&more) else {
        panic!("a header")
    };
    assert!(assembler.is_resumed_by(&header));
    assembler.resume(&header, len, &more);
    assert_eq!(&assembler.flush(false).unwrap().data[..], b"front back");
    assert!(!assembler.is_resumed_by(&header), "nothing is open");
}

#[test]
fn bytes_past_the_announced_length_are_left_out() {
    let mut assembler = Assembler::new(0, false);
    let bytes = [&pes(0xc0, None, None, b"unit", true)[..], b"stuffing"].concat();
    let units = feed(&mut assembler, &bytes, 184);
    assert_eq!(&units[0].data[..], b"unit");
    assert!(assembler.extend(b"more", |_| ()).unit.is_none() && assembler.flush(false).is_none());
}

#[test]
fn padding_streams_and_what_is_no_packet_are_dropped() {
    let mut assembler = Assembler::<()>::new(0, false);
    assert!(
        !assembler
            .start(&pes(PADDING_STREAM, None, None, b"xxxx", true), |_| ())
            .dropped
    );
    assert!(assembler.start(b"not a packet", |_| ()).dropped);
    assert!(assembler.flush(false).is_none());
}

#[test]
fn a_unit_over_the_limit_is_dropped_and_the_next_one_taken() {
    let mut assembler = Assembler::new(0, false);
    assembler.set_limit(300);
    let long = pes(0xe0, None, None, &[1; 400], false);
    assembler.start(&long[..184], |_| ());
    assert!(!assembler.extend(&long[184..300], |_| ()).dropped);
    assert!(assembler.extend(&long[300..], |_| ()).dropped);
    assert_eq!(
        feed(&mut assembler, &pes(0xe0, None, None, &[2; 300], true), 184)[0]
            .data
            .len(),
        300
    );
}

#[test]
fn packets_counts_header_fields_and_the_random_access_flag() {
    // 184 bytes a packet: 14 of header, 5 more for DTS, 2 for the flag.
    let cases = [
        (170, false, false, 1),
        (171, false, false, 2),
        (165, true, false, 1),
        (166, true, false, 2),
    ];
    for (len, dts, flag, count) in cases {
        assert_eq!(packets(len, dts, flag), count, "{len} {dts} {flag}");
    }
    assert_eq!((packets(163, true, true), packets(164, true, true)), (1, 2));
}
