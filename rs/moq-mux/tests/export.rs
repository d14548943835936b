//! Broadcasts into transport streams: exact, constant, in time, and never stalled.

mod support;

use std::fs;

use bytes::Bytes;
use moq_mux::Error;
use moq_mux::container;
use moq_mux::export::{Export, ExportConfig};
use moq_mux::ts::check::{Check, Report, Rule};
use moq_net::{Broadcast, Origin, Timescale, Timestamp, Track, TrackInfo};
use support::read::import;

const CLIPS: [&str; 4] = [
    "audio-only-aac",
    "cbr-hevc-ac3",
    "vbr-h264-mp2",
    "wrap-h264-aac",
];

fn clip(name: &str) -> Vec<u8> {
    fs::read(format!(
        "{}/tests/data/{name}.ts",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap()
}

/// Everything an exporter writes, and how it ended.
async fn export(export: &mut Export) -> (Vec<u8>, moq_mux::Result<()>) {
    let mut out = Vec::new();
    loop {
        match export.next_slot(&mut out).await {
            Ok(Some(_)) => {}
            Ok(None) => return (out, Ok(())),
            Err(error) => return (out, Err(error)),
        }
    }
}

fn check(bytes: &[u8]) -> Report {
    let mut check = Check::new();
    check.push(bytes);
    check.finish()
}

/// A clip through the importer and the exporter.
async fn through(name: &str) -> Vec<u8> {
    let imported = import(&clip(name));
    let mut exporter = Export::new(imported.broadcast.consume(), ExportConfig::default());
    let (out, ended) = export(&mut exporter).await;
    ended.unwrap();
    assert_eq!(exporter.stats(), Default::default(), "{name}");
    out
}

/// A broadcast of MPEG audio tracks as another publisher would make it: nothing of ours in the catalog.
fn plain(tracks: &[&str]) -> (Broadcast, Vec<Track>) {
    let broadcast = Origin::new().create_broadcast("plain").unwrap();
    let info = TrackInfo {
        timescale: Timescale::MICROS,
        ..TrackInfo::default()
    };
    let catalog = broadcast
        .create_track("catalog.json", info.clone())
        .unwrap();
    let renditions: Vec<String> = tracks
        .iter()
        .map(|name| {
            format!(r#""{name}":{{"codec":"mp2","sampleRate":48000,"numberOfChannels":2,"container":{{"kind":"legacy"}}}}"#)
        })
        .collect();
    let json = format!(
        r#"{{"audio":{{"renditions":{{{}}}}}}}"#,
        renditions.join(",")
    );
    let group = catalog.append_group().unwrap();
    group.write_frame(Timestamp::from_micros(0), json).unwrap();
    group.finish().unwrap();
    catalog.finish().unwrap();
    let tracks = tracks
        .iter()
        .map(|name| broadcast.create_track(name, info.clone()).unwrap())
        .collect();
    (broadcast, tracks)
}

/// Frame `n` of a track at 24 ms a frame, into the group of that number.
fn write(track: &Track, n: u64) {
    let micros = 2_000_000 + n * 24_000;
    let group = track.create_group(n).unwrap();
    let unit = [&[0xff, 0xfd, 0x84, n as u8][..], &[n as u8; 380]].concat();
    group
        .write_frame(
            Timestamp::from_micros(micros),
            container::join(micros, &unit),
        )
        .unwrap();
    group.finish().unwrap();
}

/// The first bytes behind the header of each frame on a PID, in order.
fn frame_numbers(out: &[u8], pid: u16) -> Vec<u8> {
    let mut numbers = Vec::new();
    for packet in out.chunks(188) {
        let starts = packet[1] & 0x40 != 0
            && (u16::from(packet[1] & 0x1f) << 8 | u16::from(packet[2])) == pid;
        if starts {
            let payload = if packet[3] & 0x20 != 0 {
                5 + usize::from(packet[4])
            } else {
                4
            };
            let header = 9 + usize::from(packet[payload + 8]);
            numbers.push(packet[payload + header + 3]);
        }
    }
    numbers
}

#[tokio::test]
async fn every_clip_comes_back_exactly() {
    for name in CLIPS {
        let before = import(&clip(name));
        let after = import(&through(name).await);
        let (source, result) = (before.catalog(), after.catalog());
        let tracks = |catalog: &moq_mux::catalog::Catalog| {
            let mpegts = catalog.mpegts.clone().unwrap();
            // What was measured of the multiplex belongs to the multiplex.
            (
                mpegts.tracks,
                mpegts.program,
                mpegts.program_descriptors,
                mpegts.si,
            )
        };
        assert_eq!(tracks(source), tracks(result), "{name}");
        for track in source.mpegts.as_ref().unwrap().tracks.keys() {
            assert!(!before.frames(track).is_empty(), "{name} {track}");
            assert!(
                before.frames(track) == after.frames(track),
                "{name} {track}"
            );
        }
    }
}

#[tokio::test]
async fn what_we_write_is_constant_in_time_and_breaks_no_buffer() {
    for name in CLIPS {
        let report = check(&through(name).await);
        assert_eq!(report.findings, [], "{name}");
        assert!(report.constant_rate, "{name}");
        let clock = &report.clocks[0];
        assert!(clock.accuracy_ns.unwrap() <= 37.1, "{name}: {clock:?}");
        let packet = 1504e3 / report.rate.unwrap() as f64;
        assert!(
            clock.interval_ms[0] >= 25.0 - packet - 0.001,
            "{name}: {clock:?}"
        );
        assert!(
            clock.interval_ms[2] <= 25.0 + packet + 0.001,
            "{name}: {clock:?}"
        );
        for table in report
            .tables
            .iter()
            .filter(|table| table.pid == 0 || table.table_id == 2)
        {
            assert!(table.interval_ms[1] <= 100.0, "{name}: {table:?}");
        }
    }
}

/// The same packets with clocks that run at `numerator / denominator` of their speed.
fn rescaled(bytes: &[u8], numerator: i64, denominator: i64) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut first = None;
    for packet in out.chunks_mut(188) {
        if packet[3] & 0x20 != 0 && packet[4] >= 7 && packet[5] & 0x10 != 0 {
            let base = i64::from(u32::from_be_bytes(packet[6..10].try_into().unwrap())) << 1
                | i64::from(packet[10] >> 7);
            let clock = base * 300 + (i64::from(packet[10] & 1) << 8 | i64::from(packet[11]));
            let first = *first.get_or_insert(clock);
            let scaled = first + (clock - first) * numerator / denominator;
            let (base, extension) = (scaled / 300, scaled % 300);
            packet[6..10].copy_from_slice(&((base >> 1) as u32).to_be_bytes());
            packet[10] = (base as u8 & 1) << 7 | 0x7e | (extension >> 8) as u8;
            packet[11] = extension as u8;
        }
    }
    out
}

#[tokio::test]
async fn a_stream_with_the_wrong_clock_breaks_the_buffers() {
    let out = through("vbr-h264-mp2").await;
    let broken = |report: &Report, rule| report.findings.iter().any(|finding| finding.rule == rule);
    let same = check(&rescaled(&out, 1, 1));
    assert!(!broken(&same, Rule::Buffer) && !broken(&same, Rule::Late));
    // A clock that runs slow delivers everything before its time …
    let slow = check(&rescaled(&out, 7, 10));
    assert!(broken(&slow, Rule::Buffer), "{:?}", slow.findings);
    // … one that runs fast, after it.
    for speed in [4, 15] {
        let fast = check(&rescaled(&out, speed, 1));
        assert!(broken(&fast, Rule::Late), "{:?}", fast.findings);
    }
}

#[tokio::test]
async fn groups_that_arrive_newest_first_go_out_in_sequence() {
    let (broadcast, tracks) = plain(&["a"]);
    let mut exporter = Export::new(broadcast.consume(), ExportConfig::default());
    let reader = tokio::spawn(async move { export(&mut exporter).await });
    tokio::task::yield_now().await;
    tracks[0].start_at(0).unwrap();
    for n in (0..100).rev() {
        write(&tracks[0], n);
        tokio::task::yield_now().await;
    }
    tracks[0].finish().unwrap();
    let (out, ended) = reader.await.unwrap();
    ended.unwrap();
    assert_eq!(frame_numbers(&out, 0x100), (0..100).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_track_that_stops_does_not_stall_the_others() {
    let (broadcast, tracks) = plain(&["a", "b"]);
    for n in 0..200 {
        write(&tracks[0], n);
        if n < 20 {
            write(&tracks[1], n);
        }
    }
    let mut exporter = Export::new(broadcast.consume(), ExportConfig::default());
    // The second track is never finished; the first goes on for three more seconds than it.
    tracks[0].finish().unwrap();
    let mut out = Vec::new();
    while frame_numbers(&out, 0x100).len() < 150 {
        assert!(exporter.next_slot(&mut out).await.unwrap().is_some());
    }
    assert_eq!(exporter.stats().stalls, 1);
    assert_eq!(frame_numbers(&out, 0x101).len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_never_comes_is_stepped_over_and_counted() {
    let (broadcast, tracks) = plain(&["a"]);
    let mut exporter = Export::new(broadcast.consume(), ExportConfig::default());
    let reader = tokio::spawn(async move {
        let mut out = Vec::new();
        while frame_numbers(&out, 0x100).len() < 90 {
            exporter.next_slot(&mut out).await.unwrap();
        }
        (frame_numbers(&out, 0x100), exporter.stats())
    });
    for n in (0..150).filter(|&n| n != 50) {
        write(&tracks[0], n);
    }
    let (numbers, stats) = reader.await.unwrap();
    assert_eq!(numbers[48..52], [48, 49, 51, 52]);
    assert_eq!(stats.missing, 1);
}

#[tokio::test]
async fn a_publisher_that_dies_is_told_from_one_that_ends() {
    let (broadcast, tracks) = plain(&["a"]);
    for n in 0..50 {
        write(&tracks[0], n);
    }
    let mut exporter = Export::new(broadcast.consume(), ExportConfig::default());
    let reader = tokio::spawn(async move { export(&mut exporter).await });
    tokio::task::yield_now().await;
    drop((tracks, broadcast));
    let (out, ended) = reader.await.unwrap();
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
    // What came is out all the same.
    assert_eq!(frame_numbers(&out, 0x100).len(), 50);
}

#[tokio::test]
async fn a_returning_publisher_is_a_flagged_break_and_counters_run_on() {
    let imported = import(&clip("vbr-h264-mp2"));
    let mut exporter = Export::new(imported.broadcast.consume(), ExportConfig::default());
    let (mut out, ended) = export(&mut exporter).await;
    ended.unwrap();
    let again = import(&clip("vbr-h264-mp2"));
    exporter.resume(again.broadcast.consume());
    let (rest, ended) = export(&mut exporter).await;
    ended.unwrap();
    out.extend(rest);
    let report = check(&out);
    assert_eq!(report.clocks[0].discontinuities, 1);
    let broken: Vec<_> = report
        .findings
        .iter()
        // Video is sent a second ahead, so its last unit before the break comes that much before the first after it.
        .filter(|finding| finding.rule.priority() < 3 && finding.rule != Rule::Pts)
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[tokio::test]
async fn a_rate_below_the_payload_is_late_and_loses_nothing() {
    let imported = import(&clip("vbr-h264-mp2"));
    let config = ExportConfig {
        rate: Some(500_000),
        ..ExportConfig::default()
    };
    let mut exporter = Export::new(imported.broadcast.consume(), config);
    let (out, ended) = export(&mut exporter).await;
    ended.unwrap();
    assert!(exporter.stats().late > 0);
    let after = import(&out);
    for track in imported.catalog().mpegts.as_ref().unwrap().tracks.keys() {
        assert!(imported.frames(track) == after.frames(track), "{track}");
    }
    assert!(check(&out).constant_rate);
}

#[tokio::test]
async fn a_broadcast_without_media_says_so() {
    let broadcast = Origin::new().create_broadcast("empty").unwrap();
    let catalog = broadcast
        .create_track("catalog.json", TrackInfo::default())
        .unwrap();
    let group = catalog.append_group().unwrap();
    group
        .write_frame(Timestamp::from_micros(0), Bytes::from_static(b"{}"))
        .unwrap();
    group.finish().unwrap();
    let mut exporter = Export::new(broadcast.consume(), ExportConfig::default());
    assert!(matches!(
        exporter.next_slot(&mut Vec::new()).await,
        Err(Error::NoTracks)
    ));
}
