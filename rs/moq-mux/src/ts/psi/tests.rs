use super::*;
use proptest::prelude::*;

fn descriptors() -> impl Strategy<Value = Vec<Descriptor>> {
    let one = (any::<u8>(), prop::collection::vec(any::<u8>(), 0..12));
    prop::collection::vec(
        one.prop_map(|(tag, data)| Descriptor {
            tag,
            data: data.into(),
        }),
        0..4,
    )
}

fn pmt() -> impl Strategy<Value = Pmt> {
    let stream =
        (any::<u8>(), 0..0x2000u16, descriptors()).prop_map(|(stream_type, pid, descriptors)| {
            PmtStream {
                stream_type,
                pid,
                descriptors,
            }
        });
    (
        any::<u16>(),
        0..32u8,
        0..0x2000u16,
        descriptors(),
        prop::collection::vec(stream, 0..10),
    )
        .prop_map(
            |(program_number, version, pcr_pid, descriptors, streams)| Pmt {
                program_number,
                version,
                pcr_pid,
                descriptors,
                streams,
            },
        )
}

/// Cuts sections into packet payloads, each section starting right behind the one before, as a multiplexer may.
fn packetise(sections: &[Vec<u8>], payload: usize) -> Vec<(bool, Vec<u8>)> {
    let stream: Vec<u8> = sections.concat();
    let starts: Vec<usize> = sections
        .iter()
        .scan(0, |at, s| Some(std::mem::replace(at, *at + s.len())))
        .collect();
    let mut packets = Vec::new();
    let mut at = 0;
    while at < stream.len() {
        let start = starts
            .iter()
            .copied()
            .find(|&s| s >= at && s < at + payload - 1);
        let room = if start.is_some() {
            payload - 1
        } else {
            payload
        };
        let mut bytes: Vec<u8> = start.map(|s| (s - at) as u8).into_iter().collect();
        let end = (at + room).min(stream.len());
        bytes.extend_from_slice(&stream[at..end]);
        bytes.resize(payload, 0xff);
        packets.push((start.is_some(), bytes));
        at = end;
    }
    packets
}

fn collect(packets: &[(bool, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut assembler = Assembler::default();
    let mut seen = Vec::new();
    for (start, payload) in packets {
        assembler.push(*start, payload, |section| {
            seen.push(section.bytes().to_vec())
        });
    }
    seen
}

proptest! {
    #[test]
    fn tables_read_back_as_written(pmt in pmt(), tsid: u16, programs in prop::collection::vec((any::<u16>(), 0..0x2000u16), 0..20)) {
        let bytes = pmt.section();
        let section = Section::new(&bytes).unwrap();
        prop_assert!(section.is_intact());
        prop_assert_eq!(Pmt::parse(section).unwrap(), pmt);
        let pat = Pat { transport_stream_id: tsid, version: 3, programs };
        let bytes = pat.section();
        prop_assert_eq!(Pat::parse(Section::new(&bytes).unwrap()).unwrap(), pat);
    }

    #[test]
    fn sections_over_several_packets_come_out_whole(
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..900), 1..6),
        payload in 20..184usize,
    ) {
        let sections: Vec<Vec<u8>> = bodies.iter().map(|body| long_section(0x42, 7, 1, body)).collect();
        prop_assert_eq!(collect(&packetise(&sections, payload)), sections);
    }

    #[test]
    fn hostile_payloads_never_panic_or_grow(payloads in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..184)), 0..60)) {
        let mut assembler = Assembler::default();
        for (start, payload) in payloads {
            assembler.push(start, &payload, |section| {
                let _ = (Pat::parse(section), Pmt::parse(section), section.is_intact(), section.number());
            });
            prop_assert!(assembler.partial.len() <= MAX_SECTION);
        }
    }
}

#[test]
fn the_crc_of_a_known_pat_holds() {
    // A PAT as ffmpeg writes it: stream 1, programme 1, PMT on 0x1000.
    let pat = [
        0, 0xb0, 0x0d, 0, 1, 0xc1, 0, 0, 0, 1, 0xf0, 0, 0x2a, 0xb1, 0x04, 0xb2,
    ];
    let section = Section::new(&pat).unwrap();
    assert!(section.is_intact());
    assert_eq!(Pat::parse(section).unwrap().section(), pat);
    let mut damaged = pat;
    damaged[9] ^= 1;
    assert!(!Section::new(&damaged).unwrap().is_intact());
}

#[test]
fn a_continuation_before_the_first_pointer_is_ignored() {
    let section = long_section(0x42, 7, 1, &[0x55; 300]);
    let packets = packetise(&[section.clone(), section.clone()], 184);
    assert_eq!(collect(&packets[1..]), [section]);
}

#[test]
fn a_section_cut_short_by_the_next_pointer_is_counted_and_dropped() {
    let section = long_section(0x42, 7, 1, &[0x55; 300]);
    let packets = packetise(std::slice::from_ref(&section), 184);
    let mut assembler = Assembler::default();
    let mut seen = 0;
    let mut dropped = 0;
    for (start, payload) in [&packets[0], &packets[0], &packets[1]] {
        dropped += assembler.push(*start, payload, |_| seen += 1);
    }
    assert_eq!((seen, dropped), (1, 1));
}

#[test]
fn a_pointer_past_the_packet_resynchronises_at_the_next() {
    let section = long_section(0x42, 7, 1, &[1, 2, 3]);
    let good = &packetise(std::slice::from_ref(&section), 100)[0];
    let mut assembler = Assembler::default();
    let mut seen = 0;
    assert_eq!(assembler.push(true, &[200, 1, 2], |_| seen += 1), 1);
    assembler.push(good.0, &good.1, |_| seen += 1);
    assert_eq!(seen, 1);
}
