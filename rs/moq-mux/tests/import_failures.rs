//! What went wrong for others when they took transport streams in: one test a symptom, named after it.

mod support;

use moq_mux::Error;
use support::mux::{Field, Mux, mp2, picture};
use support::read::{Frame, import, importer};

const VIDEO: u16 = 0x100;
const AUDIO: u16 = 0x101;

/// H.264 at 25 frames a second with a key picture every 12, MP2 beside it, a clock on every picture. Times from `start`
/// on, in ticks of 90 kHz; decoding half a second behind the clock.
fn programme(mux: &mut Mux, start: i64, pictures: i64) {
    let mut audio = 0;
    for n in 0..pictures {
        if n % 3 == 0 {
            mux.tables(&[(0x1b, VIDEO), (0x03, AUDIO)]);
        }
        let time = start + n * 3_600;
        let clock = ((time - 45_000) * 300).rem_euclid((1 << 33) * 300);
        let unit = picture(n % 12 == 0, 700 + (n as usize * 97) % 900, 16 + n as u8);
        mux.pes(VIDEO, 0xe0, Some(time), None, &unit, Field::pcr(clock));
        while audio * 2_160 <= (n + 1) * 3_600 {
            let frame = mp2(audio as u8);
            mux.pes(
                AUDIO,
                0xc0,
                Some(start + audio * 2_160),
                None,
                &frame,
                Field::default(),
            );
            audio += 1;
        }
    }
}

fn times(frames: &[Frame]) -> Vec<i64> {
    frames.iter().map(|frame| frame.pts).collect()
}

fn steps(frames: &[Frame]) -> Vec<i64> {
    times(frames)
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect()
}

#[test]
fn a_rewind_of_600_seconds_does_not_stop_the_output() {
    let mut mux = Mux::default();
    programme(&mut mux, 90_000_000, 50);
    programme(&mut mux, 90_000_000 - 600 * 90_000, 50);
    let imported = import(&mux.bytes());
    let video = imported.frames("0.avc3");
    assert_eq!(video.len(), 100);
    assert!(
        steps(&video)
            .iter()
            .all(|step| (3_000..4_500).contains(step)),
        "{:?}",
        steps(&video)
    );
    let audio = imported.frames("1.mp2");
    assert!(
        steps(&audio).iter().all(|step| (1..4_500).contains(step)),
        "{:?}",
        steps(&audio)
    );
    assert_eq!(imported.catalog().mpegts.as_ref().unwrap().generation, 1);
}

#[test]
fn a_jump_of_a_day_ahead_leaves_no_hole() {
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 50);
    programme(&mut mux, 900_000 + 86_400 * 90_000, 50);
    let video = import(&mux.bytes()).frames("0.avc3");
    assert_eq!(video.len(), 100);
    assert!(
        steps(&video)
            .iter()
            .all(|step| (3_000..4_500).contains(step))
    );
}

#[test]
fn a_content_cut_on_a_continuous_timeline_stalls_nothing() {
    // Ten seconds of signal are missing: time passed, and both streams go on at once on the far side.
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 50);
    programme(&mut mux, 900_000 + 50 * 3_600 + 900_000, 50);
    let imported = import(&mux.bytes());
    for track in ["0.avc3", "1.mp2"] {
        let steps = steps(&imported.frames(track));
        assert_eq!(
            steps.iter().filter(|&&step| step > 4_500).count(),
            1,
            "{track}"
        );
        assert!(steps.iter().all(|&step| step < 920_000), "{track}");
    }
    assert_eq!(imported.stats().demux.breaks, 0);
}

#[test]
fn a_signalled_break_is_not_lost_and_its_duplicate_breaks_nothing_twice() {
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 25);
    // Ten seconds ahead: without the flag that would be a gap.
    let field = Field {
        pcr: Some((990_000 + 900_000 - 45_000) * 300),
        discontinuity: true,
        random_access: false,
    };
    mux.pes(
        VIDEO,
        0xe0,
        Some(990_000 + 900_000),
        None,
        &picture(true, 300, 9),
        field,
    );
    let flagged = mux
        .packets
        .iter()
        .rposition(|p| p[3] & 0x20 != 0 && p[5] & 0x80 != 0)
        .unwrap();
    mux.packets.insert(flagged + 1, mux.packets[flagged]);
    programme(&mut mux, 990_000 + 900_000 + 3_600, 25);
    let imported = import(&mux.bytes());
    assert_eq!(
        (
            imported.stats().demux.breaks,
            imported.stats().demux.duplicates
        ),
        (1, 1)
    );
    let video = imported.frames("0.avc3");
    assert_eq!(video.len(), 51);
    assert!(
        steps(&video)
            .iter()
            .all(|step| (3_000..4_500).contains(step)),
        "{:?}",
        steps(&video)
    );
}

#[test]
fn one_damaged_audio_header_does_not_end_the_stream() {
    let mut mux = Mux::default();
    mux.tables(&[(0x03, AUDIO)]);
    for n in 0..10 {
        let mut frames = [mp2(n), mp2(n), mp2(n)].concat();
        if n == 4 {
            frames[576] ^= 1;
        }
        mux.pes(
            AUDIO,
            0xc0,
            Some(90_000 + i64::from(n) * 6_480),
            None,
            &frames,
            Field::pcr(i64::from(n) * 6_480 * 300),
        );
    }
    let imported = import(&mux.bytes());
    let frames = imported.frames("0.mp2");
    assert_eq!(frames.len(), 29);
    // The frame behind the damage follows the one before it; the next packet's own time puts it right again.
    assert_eq!(frames[13].pts, 90_000 + 4 * 6_480 + 2_160);
    assert_eq!(frames[14].pts, 90_000 + 5 * 6_480);
    assert_eq!(imported.stats().tracks[0].skipped, 576);
}

#[test]
fn false_sync_words_in_audio_are_not_frames() {
    // The payload of every frame is full of what looks like headers, in other places each time.
    let mut mux = Mux::default();
    mux.tables(&[(0x03, AUDIO)]);
    let frame = |n: usize| {
        let mut frame = mp2(0x11);
        for at in (40 + 3 * n..560).step_by(20) {
            frame[at..at + 4].copy_from_slice(&[0xff, 0xfd, 0xa4, 0x04]);
        }
        frame
    };
    let start = [&frame(0)[100..], &frame(1), &frame(2)].concat();
    mux.pes(AUDIO, 0xc0, Some(90_000), None, &start, Field::pcr(0));
    mux.pes(
        AUDIO,
        0xc0,
        Some(94_320),
        None,
        &frame(3),
        Field::pcr(4_320 * 300),
    );
    let units: Vec<_> = import(&mux.bytes())
        .frames("0.mp2")
        .into_iter()
        .map(|frame| frame.unit)
        .collect();
    assert_eq!(units, [frame(1), frame(2), frame(3)]);
}

#[test]
fn a_unit_completed_across_a_gap_does_not_splice_two_programmes() {
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 24);
    let clean = import(&mux.bytes()).frames("0.avc3");
    // One packet from the middle of the fifth picture.
    let packet = mux.nth(
        VIDEO,
        (0..5)
            .map(|n| (n, clean[n].unit.len()))
            .map(|(_, len)| (len + 14 + 8).div_ceil(184))
            .sum::<usize>()
            + 2,
    );
    mux.packets.remove(packet);
    let imported = import(&mux.bytes());
    let video = imported.frames("0.avc3");
    assert_eq!(
        (
            video.len(),
            imported.stats().demux.continuity,
            imported.stats().demux.damaged_units
        ),
        (23, 1, 1)
    );
    assert!(
        video.iter().all(|frame| clean.contains(frame)),
        "no unit was changed"
    );
}

#[test]
fn a_file_that_ends_in_a_unit_and_starts_over_splices_nothing() {
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 24);
    let clean = import(&mux.bytes()).frames("0.avc3");
    let cut = mux.nth(
        VIDEO,
        mux.packets
            .iter()
            .filter(|p| p[2] == 0 && p[1] & 0x1f == 1)
            .count()
            - 3,
    );
    let bytes = mux.packets[..cut].concat();
    let video = import(&[&bytes[..], &bytes].concat()).frames("0.avc3");
    // The very last unit is cut by the end of the input, and is handed out as far as it goes.
    let whole = &video[..video.len() - 1];
    assert!(
        whole
            .iter()
            .all(|frame| clean.iter().any(|known| known.unit == frame.unit))
    );
    // Complete pictures are kept on both sides, the last one of the first turn is not.
    assert!((44..=47).contains(&video.len()), "{}", video.len());
}

#[test]
fn a_duplicate_with_a_fresh_clock_is_no_loss_and_a_loss_of_fifteen_no_duplicate() {
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 24);
    let clean = import(&mux.bytes()).frames("0.avc3");
    let clocked = mux
        .packets
        .iter()
        .rposition(|p| p[3] & 0x20 != 0 && p[5] & 0x10 != 0)
        .unwrap();
    let mut again = mux.packets[clocked];
    again[10] ^= 0x80;
    let mut doubled = Mux::default();
    doubled.packets = mux.packets.clone();
    doubled.packets.insert(clocked + 1, again);
    let imported = import(&doubled.bytes());
    assert_eq!(
        (
            imported.stats().demux.duplicates,
            imported.stats().demux.continuity
        ),
        (1, 0)
    );
    assert_eq!(imported.frames("0.avc3"), clean);

    // Fifteen packets gone: the counter repeats, the bytes do not.
    let first = mux.nth(VIDEO, 20);
    let mut gone = 0;
    let kept: Vec<_> = (0..mux.packets.len())
        .filter(|&at| {
            let video = mux.packets[at][1] & 0x1f == 1 && mux.packets[at][2] == 0;
            let drop = at >= first && video && gone < 15;
            gone += usize::from(drop);
            !drop
        })
        .map(|at| mux.packets[at])
        .collect();
    let imported = import(&kept.concat());
    assert_eq!(
        (
            imported.stats().demux.duplicates,
            imported.stats().demux.continuity
        ),
        (0, 1)
    );
}

#[test]
fn the_catalog_waits_until_the_video_is_known() {
    // Two seconds of audio before the first key picture.
    let mut mux = Mux::default();
    mux.tables(&[(0x1b, VIDEO), (0x03, AUDIO)]);
    mux.clock(VIDEO, 0, false);
    for n in 0..80i64 {
        mux.pes(
            AUDIO,
            0xc0,
            Some(90_000 + n * 2_160),
            None,
            &mp2(n as u8),
            Field::default(),
        );
        if n % 10 == 0 {
            mux.clock(VIDEO, n * 2_160 * 300, false);
        }
    }
    let mut imported = importer(None);
    imported.push(&mux.bytes()).unwrap();
    assert!(!imported.import.progress().ready);
    let mut rest = mux;
    rest.packets.clear();
    for n in 0..30i64 {
        let field = Field::pcr((80 * 2_160 + n * 3_600) * 300);
        rest.pes(
            VIDEO,
            0xe0,
            Some(270_000 + n * 3_600),
            None,
            &picture(n % 12 == 0, 500, 1),
            field,
        );
    }
    imported.push(&rest.bytes()).unwrap();
    assert!(imported.import.progress().ready);
    imported.import.finish().unwrap();
    let first = moq_mux::catalog::Catalog::parse(&imported.payloads("catalog.json")[0].2).unwrap();
    assert!(
        first.video.renditions.contains_key("0.avc3")
            && first.audio.renditions.contains_key("1.mp2")
    );
    assert_eq!(
        imported.frames("1.mp2").len(),
        80,
        "what came before the picture is there too"
    );
}

#[test]
fn a_stream_that_never_says_what_it_is_does_not_hold_the_catalog_for_ever() {
    let mut mux = Mux::default();
    mux.tables(&[(0x03, AUDIO), (0x1b, VIDEO)]);
    for n in 0..200i64 {
        mux.pes(
            AUDIO,
            0xc0,
            Some(90_000 + n * 2_160),
            None,
            &mp2(n as u8),
            Field::pcr(n * 2_160 * 300),
        );
    }
    let mut imported = importer(None);
    imported.push(&mux.bytes()).unwrap();
    assert!(imported.import.progress().ready);
    assert!(imported.catalog().audio.renditions.contains_key("0.mp2"));
}

#[test]
fn a_long_service_name_is_not_taken_for_a_unit() {
    // An SDT over two packets whose second looks like nothing.
    let mut sdt = vec![0x42, 0xf1, 0x18, 0, 7, 0xc1, 0, 0, 0xff, 0x01, 0xff];
    sdt.resize(3 + 0x118 - 4, b'n');
    let crc = moq_mux::ts::psi::crc32(&sdt);
    sdt.extend_from_slice(&crc.to_be_bytes());
    let mut mux = Mux::default();
    mux.section(0x11, &sdt);
    programme(&mut mux, 900_000, 24);
    mux.section(0x11, &sdt);
    let imported = import(&mux.bytes());
    assert_eq!(imported.stats().demux.malformed, 0);
    assert_eq!(imported.payloads("0x0011-0x42.si")[0].2, sdt);
}

#[test]
fn presentation_times_across_the_wrap_do_not_turn_negative() {
    let mut mux = Mux::default();
    programme(&mut mux, (1 << 33) - 90_000, 50);
    let imported = import(&mux.bytes());
    let video = imported.frames("0.avc3");
    assert_eq!(video.len(), 50);
    assert!(steps(&video).iter().all(|&step| step == 3_600));
    assert!(
        steps(&imported.frames("1.mp2"))
            .iter()
            .all(|&step| step == 2_160)
    );
}

#[test]
fn a_map_that_adds_audio_later_adds_a_track() {
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 24);
    mux.tables(&[(0x1b, VIDEO), (0x03, AUDIO), (0x03, 0x102)]);
    for n in 0..30i64 {
        let time = 900_000 + (24 + n) * 3_600;
        mux.pes(
            VIDEO,
            0xe0,
            Some(time),
            None,
            &picture(n % 12 == 0, 500, 1),
            Field::pcr((time - 45_000) * 300),
        );
        mux.pes(
            0x102,
            0xc1,
            Some(time),
            None,
            &mp2(n as u8),
            Field::default(),
        );
    }
    let imported = import(&mux.bytes());
    let catalog = imported.catalog();
    assert_eq!(
        catalog.audio.renditions.keys().collect::<Vec<_>>(),
        ["1.mp2", "2.mp2"]
    );
    assert_eq!(imported.frames("0.avc3").len(), 54);
    assert_eq!(imported.frames("2.mp2").len(), 30);
}

#[test]
fn a_map_that_drops_a_stream_ends_its_track() {
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 48);
    mux.tables(&[(0x1b, VIDEO)]);
    for n in 0..13i64 {
        let time = 900_000 + (48 + n) * 3_600;
        mux.pes(
            VIDEO,
            0xe0,
            Some(time),
            None,
            &picture(n % 12 == 0, 500, 1),
            Field::pcr((time - 45_000) * 300),
        );
    }
    let imported = import(&mux.bytes());
    assert!(imported.catalog().audio.renditions.is_empty());
    assert!(!imported.frames("1.mp2").is_empty());
}

#[test]
fn units_before_their_map_are_left_alone() {
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 36);
    let start = mux.nth(0x1000, 4);
    let imported = import(&mux.packets[start..].concat());
    // The PAT before that map is gone: nothing is routed until the next pair, then from the next key picture on.
    assert_eq!(imported.frames("0.avc3").len(), 12);
    assert_eq!(imported.stats().demux.continuity, 0);
}

#[test]
fn a_damaged_map_keeps_the_last_good_one() {
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 24);
    for n in [3, 4, 5] {
        let packet = mux.nth(0x1000, n);
        mux.packets[packet][20] ^= 0x10;
    }
    let imported = import(&mux.bytes());
    assert_eq!(imported.stats().demux.crc, 3);
    assert_eq!(imported.frames("0.avc3").len(), 24);
}

#[test]
fn a_packet_marked_damaged_costs_its_unit_and_is_no_continuity_error() {
    let mut mux = Mux::default();
    programme(&mut mux, 900_000, 24);
    let packet = mux.nth(VIDEO, 20);
    mux.packets[packet][1] |= 0x80;
    let imported = import(&mux.bytes());
    let stats = imported.stats().demux;
    assert_eq!(
        (
            stats.transport_errors,
            stats.continuity,
            stats.damaged_units
        ),
        (1, 0, 1)
    );
    assert_eq!(imported.frames("0.avc3").len(), 23);
}

#[test]
fn several_programmes_ask_for_a_choice() {
    let mut mux = Mux::default();
    mux.pat(&[(0, 0x10), (1, 0x1000), (2, 0x1001)]);
    for n in 0..5 {
        mux.pes(VIDEO, 0xe0, Some(n), None, &[0; 500], Field::default());
    }
    let error = importer(None).push(&mux.bytes()).unwrap_err();
    assert!(
        matches!(&error, Error::SeveralPrograms(programs) if programs[..] == [1, 2]),
        "{error}"
    );
    let error = importer(Some(9)).push(&mux.bytes()).unwrap_err();
    assert!(
        matches!(error, Error::ProgramMissing { wanted: 9, .. }),
        "{error}"
    );
    assert!(importer(Some(2)).push(&mux.bytes()).is_ok());
}

#[test]
fn what_is_no_transport_stream_is_said_early() {
    let text = b"Nothing here is a transport stream, whatever its name says. ".repeat(20_000);
    assert!(matches!(
        importer(None).push(&text),
        Err(Error::NotTransportStream(_))
    ));
    let mut short = importer(None);
    short.push(&text[..300]).unwrap();
    assert!(matches!(
        short.import.finish(),
        Err(Error::NotTransportStream(300))
    ));
    assert!(matches!(importer(None).import.finish(), Err(Error::Empty)));
    let mut tables = importer(None);
    tables.push(&[0x47; 188 * 20]).unwrap();
    assert!(matches!(tables.import.finish(), Err(Error::NoProgram)));
}
