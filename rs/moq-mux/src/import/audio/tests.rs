use super::*;
use proptest::prelude::*;

/// Layer II, 128 kb/s, 44.1 kHz: 417 bytes and 2,351.02 ticks of 90 kHz.
fn mp2(fill: u8) -> Vec<u8> {
    let mut frame = vec![fill; 417];
    frame[..4].copy_from_slice(&[0xff, 0xfd, 0x80, 0x04]);
    frame
}

/// AAC at 44.1 kHz: 2,089.796 ticks.
fn aac(len: usize) -> Vec<u8> {
    let mut frame = vec![0x21; len];
    frame[..7].copy_from_slice(&aac::with_length(
        &[0xff, 0xf1, 0x50, 0x80, 0, 0x1f, 0xfc],
        len,
    ));
    frame
}

fn cut(audio: &mut Audio, payload: &[u8], pts: Option<i64>, damaged: bool) -> Vec<(i64, usize)> {
    let mut cuts = Vec::new();
    audio.packet(payload, pts, damaged, |cut| cuts.push((cut.pts, cut.len)));
    cuts
}

proptest! {
    #[test]
    fn frames_come_out_whole_wherever_packets_end(sizes in prop::collection::vec(10..900usize, 1..40), cuts in prop::collection::vec(1..2_000usize, 1..40)) {
        let stream: Vec<u8> = sizes.iter().flat_map(|&len| aac(len)).collect();
        let mut audio = Audio::new(Format::Aac);
        let mut found = Vec::new();
        let mut rest = &stream[..];
        let mut first = Some(1_000);
        for size in cuts.iter().cycle() {
            let (packet, after) = rest.split_at(rest.len().min(*size));
            found.extend(cut(&mut audio, packet, first.take(), false).into_iter().map(|(_, len)| len));
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(found, sizes);
        prop_assert_eq!(audio.skipped(), 0);
    }

    #[test]
    fn rounding_does_not_add_up(start in 0..1i64 << 40, count in 1..2_000usize) {
        let Head::Frame(frame) = Format::Aac.head(&aac(100)) else { panic!("a frame") };
        let end = (0..count).fold(start, |pts, _| follow(pts, frame));
        let exact = count as f64 * 1024.0 * 90_000.0 / 44_100.0;
        prop_assert!(((end - start) as f64 - exact).abs() <= 2.0);
    }

    #[test]
    fn any_bytes_are_taken_in_bounded_memory(packets in prop::collection::vec((prop::collection::vec(prop_oneof![Just(0xff), Just(0xf1), Just(0x0b), Just(0x77), any::<u8>()], 0..600), any::<bool>()), 0..16)) {
        for format in [Format::Aac, Format::MpegAudio, Format::Ac3] {
            let mut audio = Audio::new(format);
            for (packet, damaged) in &packets {
                cut(&mut audio, packet, Some(5), *damaged);
                prop_assert!(audio.carry.len() <= 2 * Format::LONGEST + 600);
            }
        }
    }
}

#[test]
fn whole_ticks_as_the_usual_tools_count_them() {
    let mut audio = Audio::new(Format::MpegAudio);
    let packet: Vec<u8> = (0..7).flat_map(mp2).collect();
    let times: Vec<i64> = cut(&mut audio, &packet, Some(158_915), false)
        .iter()
        .map(|c| c.0)
        .collect();
    // What ffprobe prints for such a packet.
    assert_eq!(
        times,
        [
            158_915, 161_266, 163_617, 165_968, 168_319, 170_670, 173_021
        ]
    );
}

#[test]
fn whole_frames_before_a_gap_are_kept_and_the_rest_goes() {
    let mut audio = Audio::new(Format::MpegAudio);
    let packet = [mp2(1), mp2(2), mp2(3)].concat();
    assert_eq!(cut(&mut audio, &packet[..1_000], Some(0), true).len(), 2);
    assert_eq!(audio.skipped(), 1_000 - 2 * 417);
    assert_eq!(
        cut(&mut audio, &packet, Some(90_000), false),
        [(90_000, 417), (92_351, 417), (94_702, 417)]
    );
}

#[test]
fn a_frame_without_any_time_is_left_out() {
    let mut audio = Audio::new(Format::MpegAudio);
    assert!(cut(&mut audio, &mp2(1), None, false).is_empty());
    assert_eq!(audio.skipped(), 417);
}

#[test]
fn a_template_gives_the_headers_until_one_differs() {
    let mut audio = Audio::new(Format::Aac);
    let mut headers = Vec::new();
    let mut odd = aac(300);
    odd[6] = 0;
    for frame in [aac(200), aac(250), odd, aac(220)] {
        audio.packet(&frame, Some(0), false, |cut| {
            headers.push(cut.header.map(|h| h.to_vec()))
        });
    }
    assert_eq!(headers[..2], [None, None]);
    assert_eq!(headers[2].as_ref().unwrap()[6], 0);
    // From then on every header goes along: a reader need not guess which way it is.
    assert_eq!(headers[3].as_deref(), Some(&aac(220)[..7]));
    assert_eq!(
        audio.adts(|| "beside".into()).unwrap().track.as_deref(),
        Some("beside")
    );
}
