use super::*;
use proptest::prelude::*;

/// A packet whose payload has sync bytes all over, one in eight.
fn packet(number: usize) -> [u8; PACKET] {
    let mut bytes = [SYNC; PACKET];
    bytes[1..4].copy_from_slice(&[1, 0, 0x10]);
    bytes[4..8].copy_from_slice(&(number as u32).to_be_bytes());
    let mut state = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in &mut bytes[8..] {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = if state >> 61 == 0 {
            SYNC
        } else {
            (state >> 8) as u8
        };
    }
    bytes
}

fn stream(count: usize, stride: usize) -> Vec<u8> {
    let extra = [0xee; 16];
    (0..count)
        .flat_map(|n| [&packet(n)[..], &extra[..stride - PACKET]].concat())
        .collect()
}

fn numbers(chunks: &[&[u8]]) -> (Vec<usize>, ResyncStats) {
    let mut resync = Resync::default();
    let mut seen = Vec::new();
    let mut each = |packet: &[u8; PACKET]| {
        seen.push(u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]) as usize)
    };
    for chunk in chunks {
        resync.push(chunk, &mut each);
        assert!(resync.carry.len() <= WINDOW + PACKET);
    }
    resync.finish(&mut each);
    (seen, resync.stats())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_packets(
        stride in prop::sample::select(&STRIDES[..]),
        dirt in 0..188usize,
        cuts in prop::collection::vec(1..700usize, 1..60),
    ) {
        let bytes = [vec![0x12; dirt], stream(40, stride)].concat();
        let mut chunks = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            let (chunk, after) = rest.split_at(rest.len().min(*cut));
            chunks.push(chunk);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        let (seen, stats) = numbers(&chunks);
        prop_assert_eq!(&seen, &(0..40).collect::<Vec<_>>());
        prop_assert_eq!(stats.losses, 0);
        prop_assert_eq!((seen, stats), numbers(&[&bytes]));
    }

    #[test]
    fn hostile_bytes_are_accounted_for_one_by_one(chunks in prop::collection::vec(prop::collection::vec(prop_oneof![Just(SYNC), any::<u8>()], 0..600), 0..20)) {
        let chunks: Vec<&[u8]> = chunks.iter().map(|c| &c[..]).collect();
        let (_, stats) = numbers(&chunks);
        let total: usize = chunks.iter().map(|c| c.len()).sum();
        prop_assert!(stats.packets * PACKET as u64 + stats.skipped <= total as u64);
    }
}

#[test]
fn a_lone_sync_byte_in_a_payload_does_not_lock() {
    // One byte of dirt that looks like a packet's first, 188 bytes before nothing of the kind.
    let bytes = [&[SYNC][..], &[0; 50], &stream(5, 188)].concat();
    let (seen, stats) = numbers(&[&bytes]);
    assert_eq!((seen, stats.skipped), ((0..5).collect(), 51));
}

#[test]
fn one_damaged_sync_byte_costs_one_packet() {
    let mut bytes = stream(10, 188);
    bytes[6 * PACKET] = 0;
    let (seen, stats) = numbers(&[&bytes]);
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 7, 8, 9]);
    assert_eq!((stats.bad_sync, stats.losses), (1, 0));
}

#[test]
fn bytes_missing_inside_cost_the_lock_and_the_packets_around() {
    let mut bytes = stream(10, 188);
    bytes.drain(4 * PACKET + 10..4 * PACKET + 60);
    let (seen, stats) = numbers(&[&bytes]);
    // The cut packet itself is still handed out: only its successor shows that something is missing.
    assert_eq!(seen, [0, 1, 2, 3, 4, 6, 7, 8, 9]);
    assert_eq!(stats.losses, 1);
}

#[test]
fn the_last_packet_needs_no_successor() {
    assert_eq!(numbers(&[&stream(2, 188)]).0, [0, 1]);
    assert_eq!(numbers(&[&stream(3, 192)[..3 * 192 - 4]]).0, [0, 1, 2]);
    assert!(
        numbers(&[&stream(1, 188)]).0.is_empty(),
        "nothing confirms a single one"
    );
    assert_eq!(
        numbers(&[&stream(9, 188)[50..]]).0,
        (1..9).collect::<Vec<_>>()
    );
}

#[test]
fn what_is_no_transport_stream_gives_nothing() {
    let text = b"G is the sync byte, and this text has a few: GGG ".repeat(400);
    let (seen, stats) = numbers(&[&text]);
    assert!(seen.is_empty());
    assert_eq!(stats.skipped, text.len() as u64);
}
