use super::*;
use crate::ts::psi::crc32;
use proptest::prelude::*;

const PID: u16 = 0x12;

/// A section of a table with the long header.
fn section(
    table_id: u8,
    extension: u16,
    version: u8,
    number: u8,
    last: u8,
    body: &[u8],
) -> Vec<u8> {
    let len = 9 + body.len();
    let mut bytes = vec![table_id, 0xb0 | (len >> 8) as u8, len as u8];
    bytes.extend_from_slice(&extension.to_be_bytes());
    bytes.extend_from_slice(&[0xc1 | version << 1, number, last]);
    bytes.extend_from_slice(body);
    let crc = crc32(&bytes);
    bytes.extend_from_slice(&crc.to_be_bytes());
    bytes
}

/// Feeds sections, one a second, and collects what is handed out.
fn feed(tables: &mut Tables, sections: &[Vec<u8>]) -> Vec<(Key, Vec<Bytes>)> {
    let mut out = Vec::new();
    for (n, bytes) in sections.iter().enumerate() {
        tables.section(PID, Section::new(bytes).unwrap());
        out.extend(tables.take(n as i64 * PAUSE, false));
    }
    out
}

#[test]
fn a_table_is_handed_out_when_it_is_whole_and_once() {
    let parts = [
        section(0x42, 1, 0, 0, 1, b"first"),
        section(0x42, 1, 0, 1, 1, b"second"),
    ];
    let mut tables = Tables::default();
    let sections = [&parts[..], &parts, &parts].concat();
    let out = feed(&mut tables, &sections);
    assert_eq!(out, [((PID, 0x42), vec![Bytes::from(parts.concat())])]);
    assert_eq!(tables.keys().collect::<Vec<_>>(), [(PID, 0x42)]);
}

#[test]
fn half_an_old_and_half_a_new_version_are_never_mixed() {
    let old = [
        section(0x42, 1, 0, 0, 1, b"a0"),
        section(0x42, 1, 0, 1, 1, b"a1"),
    ];
    let new = [
        section(0x42, 1, 1, 0, 1, b"b0"),
        section(0x42, 1, 1, 1, 1, b"b1"),
    ];
    let out = feed(
        &mut Tables::default(),
        &[&old[..], &[new[1].clone()], &[new[0].clone()]].concat(),
    );
    let payloads: Vec<_> = out
        .into_iter()
        .map(|(_, payloads)| payloads[0].to_vec())
        .collect();
    assert_eq!(payloads, [old.concat(), new.concat()]);
}

#[test]
fn a_sparse_table_is_whole_when_it_comes_round_again() {
    // An EIT schedule: sections 0, 8 and 16 of 248.
    let body = [0, 1, 0, 2, 248, 0x50, 0, 0];
    let parts: Vec<_> = [0, 8, 16]
        .map(|n| section(0x50, 7, 3, n, 248, &body))
        .to_vec();
    let mut tables = Tables::default();
    assert!(feed(&mut tables, &parts).is_empty());
    let out = feed(&mut tables, &parts);
    assert_eq!(out[0].1, [Bytes::from(parts.concat())]);
    assert_eq!(out.len(), 1);
}

#[test]
fn services_of_different_streams_are_different_sub_tables() {
    let of = |stream: u8| section(0x4e, 1, 0, 0, 0, &[0, stream, 0, 9, 0, 0x4e]);
    let out = feed(&mut Tables::default(), &[of(1), of(2)]);
    assert_eq!(out[1].1, [Bytes::from(of(1)), Bytes::from(of(2))]);
}

#[test]
fn a_clock_table_is_always_the_latest_and_never_repeated() {
    let tdt = |n: u8| vec![0x70, 0x70, 5, 0xe0, 0, 0, 0, n];
    let out = feed(&mut Tables::default(), &[tdt(1), tdt(1), tdt(2)]);
    let payloads: Vec<_> = out.into_iter().map(|(_, payloads)| payloads).collect();
    assert_eq!(
        payloads,
        [vec![Bytes::from(tdt(1))], vec![Bytes::from(tdt(2))]]
    );
    assert_eq!(interval(0x14, 0x70), None);
}

#[test]
fn what_changes_often_is_handed_out_once_a_second() {
    let mut tables = Tables::default();
    let mut out = Vec::new();
    for n in 0..100u8 {
        tables.section(
            PID,
            Section::new(&section(0x4e, u16::from(n), 0, 0, 0, &[0; 6])).unwrap(),
        );
        out.extend(tables.take(i64::from(n) * PAUSE / 50, false));
    }
    assert_eq!(out.len(), 2);
    assert_eq!(
        tables.take(0, true).next().unwrap().1.len(),
        100,
        "at the end, all of it"
    );
}

#[test]
fn sections_not_yet_in_force_are_left_out() {
    let mut next = section(0x42, 1, 0, 0, 0, b"next");
    next[5] &= !1;
    assert!(feed(&mut Tables::default(), &[next]).is_empty());
}

proptest! {
    #[test]
    fn any_sections_are_taken_in_bounded_memory(sections in prop::collection::vec((any::<u8>(), any::<u16>(), 0..32u8, any::<u8>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..300)) {
        let mut tables = Tables::default();
        for (table_id, extension, version, number, last, body) in sections {
            let bytes = section(table_id, extension, version, number, last, &body);
            tables.section(PID, Section::new(&bytes).unwrap());
            for (_, payloads) in tables.take(0, true) {
                prop_assert!(!payloads.is_empty());
            }
            prop_assert!(tables.tables.len() <= MAX_TABLES);
            for table in tables.tables.values() {
                let held: usize = table.subs.values().map(Sub::bytes).sum();
                prop_assert_eq!(table.bytes, held);
            }
        }
    }
}
