//! Real streams through the importer: every byte and every time of what ffprobe reads in them.

mod support;

use std::fs;

use moq_mux::codec::aac;
use moq_mux::import::scan;
use support::read::{Imported, import, importer};

/// A packet as `ffprobe -show_packets` lists it: times modulo 2^33, size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listed {
    pts: i64,
    dts: i64,
    size: usize,
}

fn clip(name: &str) -> Vec<u8> {
    fs::read(format!(
        "{}/tests/data/{name}.ts",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap()
}

/// What ffprobe lists for one stream of a clip.
fn listed(name: &str, stream: usize) -> Vec<Listed> {
    let path = format!("{}/tests/data/{name}.packets", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| {
        line.split(' ')
            .map(|n| n.parse().unwrap())
            .collect::<Vec<i64>>()
    });
    rows.filter(|row| row[0] == stream as i64)
        .map(|row| Listed {
            pts: wrapped(row[1]),
            dts: wrapped(row[2]),
            size: row[3] as usize,
        })
        .collect()
}

fn wrapped(ticks: i64) -> i64 {
    ticks.rem_euclid(1 << 33)
}

/// The elementary stream of a PID, taken out of a clean transport stream by hand.
fn elementary(bytes: &[u8], pid: u16) -> Vec<u8> {
    let mut stream = Vec::new();
    for packet in bytes.chunks_exact(188) {
        if u16::from_be_bytes([packet[1] & 0x1f, packet[2]]) != pid || packet[3] & 0x10 == 0 {
            continue;
        }
        let start = if packet[3] & 0x20 != 0 {
            5 + usize::from(packet[4])
        } else {
            4
        };
        let mut payload = &packet[start..];
        if packet[1] & 0x40 != 0 {
            payload = &payload[9 + usize::from(payload[8])..];
        }
        stream.extend_from_slice(payload);
    }
    stream
}

/// What a reader can rebuild of a track: each unit's times and size, and all bytes.
fn rebuilt(imported: &Imported, name: &str) -> (Vec<Listed>, Vec<u8>) {
    let track = &imported.catalog().mpegts.as_ref().unwrap().tracks[name];
    let frames = imported.frames(name);
    let mut sorted: Vec<i64> = frames.iter().map(|frame| frame.pts).collect();
    sorted.sort_unstable();
    let delay = i64::from(track.decode_delay.unwrap_or(0));
    let header = track
        .adts
        .as_ref()
        .map(|adts| <[u8; 7]>::try_from(hex::decode(&adts.header).unwrap()).unwrap());
    let mut bytes = Vec::new();
    let mut units = Vec::new();
    for (frame, nth) in frames.iter().zip(sorted) {
        let before = bytes.len();
        if let Some(header) = &header {
            bytes.extend_from_slice(&aac::with_length(header, 7 + frame.unit.len()));
        }
        bytes.extend_from_slice(&frame.unit);
        let size = bytes.len() - before;
        units.push(Listed {
            pts: wrapped(frame.pts),
            dts: wrapped(nth - delay),
            size,
        });
    }
    (units, bytes)
}

/// Imports a clip and compares streams `(track, PID)` with what ffprobe and the bytes themselves say.
fn compare(name: &str, streams: &[(&str, u16)]) -> Imported {
    let bytes = clip(name);
    let imported = import(&bytes);
    for (index, &(track, pid)) in streams.iter().enumerate() {
        let (units, rebuilt) = rebuilt(&imported, track);
        assert!(
            rebuilt == elementary(&bytes, pid),
            "{name} {track}: other bytes"
        );
        let mut listed = listed(name, index);
        if track.ends_with("hev1") {
            // ffprobe counts the first zero of a four-byte start code to the picture before.
            assert_eq!(listed[0].size, units[0].size + 1);
            listed[0].size -= 1;
            listed.last_mut().unwrap().size += 1;
        }
        assert_eq!(units, listed, "{name} {track}");
    }
    let stats = imported.stats();
    assert_eq!(
        (
            stats.demux.continuity,
            stats.demux.crc,
            stats.demux.malformed
        ),
        (0, 0, 0),
        "{name}"
    );
    assert!(
        stats
            .tracks
            .iter()
            .all(|track| track.dropped == 0 && track.skipped == 0),
        "{name}"
    );
    imported
}

#[test]
fn b_frames_and_mp2_at_a_variable_rate() {
    let imported = compare("vbr-h264-mp2", &[("0.avc3", 256), ("1.mp2", 257)]);
    let catalog = imported.catalog();
    let mpegts = catalog.mpegts.as_ref().unwrap();
    assert_eq!(catalog.video.renditions["0.avc3"].codec, "avc3.640015");
    assert_eq!(catalog.video.renditions["0.avc3"].coded_width, Some(480));
    assert_eq!(catalog.audio.renditions["1.mp2"].codec, "mp2");
    assert_eq!(mpegts.mux_rate, None, "the rate varies");
    assert!(mpegts.peak_rate.unwrap() > 700_000);
}

#[test]
fn audio_alone_carries_the_clock() {
    let imported = compare("audio-only-aac", &[("0.aac", 256)]);
    let catalog = imported.catalog();
    let rendition = &catalog.audio.renditions["0.aac"];
    assert_eq!(
        (rendition.codec.as_str(), rendition.description.as_deref()),
        ("mp4a.40.2", Some("1188"))
    );
    assert_eq!(catalog.mpegts.as_ref().unwrap().mux_rate, None);
    assert_eq!(
        imported
            .import
            .progress()
            .clock
            .map(|clock| clock / 27_000_000),
        Some(5)
    );
}

#[test]
fn a_clock_that_wraps_on_the_way() {
    let imported = compare("wrap-h264-aac", &[("0.avc3", 256), ("1.aac", 257)]);
    let mpegts = imported.catalog().mpegts.as_ref().unwrap();
    assert_eq!(mpegts.mux_rate, Some(1_200_000));
    assert_eq!(mpegts.generation, 0, "a wrap is no break");
    for track in ["0.avc3", "1.aac"] {
        let times: Vec<i64> = imported
            .frames(track)
            .iter()
            .map(|frame| frame.pts)
            .collect();
        assert!(times.iter().any(|&t| t < 1 << 33) && times.iter().any(|&t| t > 1 << 33));
    }
}

#[test]
fn hevc_and_ac3_with_their_descriptors() {
    let imported = compare("cbr-hevc-ac3", &[("0.hev1", 256), ("1.ac3", 257)]);
    let catalog = imported.catalog();
    let mpegts = catalog.mpegts.as_ref().unwrap();
    assert_eq!(catalog.video.renditions["0.hev1"].codec, "hev1.1.6.L63.90");
    assert_eq!(catalog.video.renditions["0.hev1"].coded_height, Some(360));
    assert_eq!(catalog.audio.renditions["1.ac3"].codec, "ac-3");
    assert_eq!(&mpegts.tracks["0.hev1"].descriptors[0].data[..], b"HEVC");
    assert_eq!(mpegts.tracks["1.ac3"].stream_type, Some(0x81));
    assert_eq!(mpegts.mux_rate, Some(1_500_000));
}

#[test]
fn any_chunking_publishes_the_same() {
    let bytes = clip("audio-only-aac");
    let whole = import(&bytes);
    for size in [1, 47, 188, 1000, 65_536] {
        let mut pieces = importer(None);
        for chunk in bytes.chunks(size) {
            pieces.import.push(chunk).unwrap();
        }
        pieces.import.finish().unwrap();
        assert_eq!(pieces.frames("0.aac"), whole.frames("0.aac"), "{size}");
    }
}

#[test]
fn a_dirty_start_loses_only_what_was_cut() {
    // From the middle of a packet in the middle of a picture: audio goes on with its next frame, video with the next
    // key picture, and both with the same times.
    let bytes = clip("vbr-h264-mp2");
    let whole = import(&bytes);
    let late = import(&bytes[100_000..]);
    assert_eq!(late.stats().demux.continuity, 0);
    for track in ["0.avc3", "1.mp2"] {
        let (all, tail) = (whole.frames(track), late.frames(track));
        let start = all.len() - tail.len();
        let same = all[start..]
            .iter()
            .zip(&tail)
            .all(|(a, b)| a.pts == b.pts && a.unit == b.unit);
        assert!(same && tail.len() > all.len() / 2, "{track}");
    }
}

#[test]
fn the_catalog_is_written_once_everything_is_known_and_tables_with_it() {
    let imported = import(&clip("wrap-h264-aac"));
    let documents = imported.payloads("catalog.json");
    let first = moq_mux::catalog::Catalog::parse(&documents[0].2).unwrap();
    assert!(
        first.video.renditions.contains_key("0.avc3")
            && first.audio.renditions.contains_key("1.aac")
    );
    let mpegts = first.mpegts.unwrap();
    assert_eq!(
        mpegts.mux_rate,
        Some(1_200_000),
        "in the first catalog already"
    );
    assert_eq!(mpegts.si[&17][&66].track, "0x0011-0x42.si");
    let table = imported.payloads("0x0011-0x42.si");
    assert_eq!(
        (table.len(), table[0].2[0]),
        (1, 0x42),
        "an unchanged table is published once"
    );
    assert!(
        documents.len() <= 4,
        "{} catalogs in six seconds",
        documents.len()
    );
}

#[test]
fn anchors_count_packets_from_group_to_group() {
    let imported = import(&clip("vbr-h264-mp2"));
    let frames = imported.frames("0.avc3");
    let anchors = imported.payloads("mpegts.anchors");
    assert!(anchors.len() > 10);
    for (_, from, payload) in &anchors {
        let anchors: moq_mux::catalog::Anchors = serde_json::from_slice(payload).unwrap();
        let anchor = anchors["0.avc3"];
        let before = frames.iter().filter(|frame| frame.group < anchor.group);
        let least: u64 = before
            .map(|frame| (frame.unit.len() as u64 + 14).div_ceil(184))
            .sum();
        assert!(
            (least..least + 100).contains(&anchor.packets),
            "{anchor:?} {least}"
        );
        assert!(anchors.contains_key("1.mp2"));
        assert!(*from > 0);
    }
}

#[test]
fn a_scan_tells_rates_before_anything_is_published() {
    let facts = scan(&clip("cbr-hevc-ac3")[..], None).unwrap();
    assert_eq!(facts.mux_rate, Some(1_500_000));
    assert_eq!(facts.tracks["1.ac3"].bitrate, Some(192_000));
    assert!((5 * 90_000..7 * 90_000).contains(&facts.duration));
    let variable = scan(&clip("vbr-h264-mp2")[..], None).unwrap();
    assert_eq!(variable.mux_rate, None);
    let peak = variable.peak_rate.unwrap();
    assert!((700_000..1_200_000).contains(&peak), "{peak}");
}

#[test]
fn a_loop_follows_on_its_end_without_overlap() {
    let bytes = clip("wrap-h264-aac");
    let mut imported = importer(None);
    for _ in 0..3 {
        imported.push(&bytes).unwrap();
        imported.import.restart().unwrap();
    }
    imported.import.finish().unwrap();
    for (track, period) in [("0.avc3", 3600), ("1.aac", 1920)] {
        let mut times: Vec<i64> = imported
            .frames(track)
            .iter()
            .map(|frame| frame.pts)
            .collect();
        assert_eq!(times.len() % 3, 0);
        let turn = times.len() / 3;
        times.sort_unstable();
        let gaps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            gaps.iter().all(|&gap| gap >= period),
            "{track}: nothing overlaps"
        );
        assert!(
            gaps.iter().all(|&gap| gap < 90_000 / 10),
            "{track}: no hole"
        );
        assert_eq!(
            times[turn] - times[0],
            times[2 * turn] - times[turn],
            "{track}: every turn is as long"
        );
    }
    let units: Vec<_> = imported
        .frames("1.aac")
        .into_iter()
        .map(|frame| frame.unit)
        .collect();
    assert_eq!(units[..units.len() / 3], units[units.len() / 3 * 2..]);
}
