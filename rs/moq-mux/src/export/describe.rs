//! What a catalog makes of a track: its place in the PMT, what its decoder takes, how its frames become units.

use crate::catalog::{AudioRendition, Catalog, Framing, Program, TsTrack, VideoRendition};
use crate::ts::packet::PID_NULL;
use crate::ts::psi::{Descriptor, Pat, Pmt, PmtStream};
use crate::ts::tstd::Limits;

/// PIDs for broadcasts that name none, in the order of their tracks.
const FIRST_PID: u16 = 0x0100;
const PMT_PID: u16 = 0x1000;

/// One track of the multiplex.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) index: u32,
    pub(super) stream: PmtStream,
    pub(super) limits: Limits,
    pub(super) kind: Kind,
    /// A side track with decode times.
    pub(super) decode_times: Option<String>,
}

/// How frames become units.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Video {
        stream_id: u8,
        decode_delay: Option<u32>,
        is_h264: bool,
    },
    Audio {
        stream_id: u8,
        adts: Option<Adts>,
    },
    Pes {
        stream_id: u8,
    },
    Section,
}

/// How the header AAC has lost is put back.
#[derive(Clone, Debug)]
pub(super) struct Adts {
    pub(super) template: [u8; 7],
    /// A side track with the header of every frame.
    pub(super) track: Option<String>,
}

/// Every track that can be put in, in the order of the PMT.
pub(super) fn tracks(catalog: &Catalog) -> Vec<Described> {
    let none = Default::default();
    let known = catalog
        .mpegts
        .as_ref()
        .map_or(&none, |mpegts| &mpegts.tracks);
    let mut tracks = Vec::new();
    let video = catalog
        .video
        .renditions
        .iter()
        .filter(|(_, video)| video.container.is_legacy());
    for (name, rendition) in video {
        tracks.push(describe_video(name, rendition, known.get(name)));
    }
    let audio = catalog
        .audio
        .renditions
        .iter()
        .filter(|(_, audio)| audio.container.is_legacy());
    for (name, rendition) in audio {
        tracks.push(describe_audio(name, rendition, known.get(name)));
    }
    for (name, track) in known {
        if let Some(verbatim) = &track.verbatim {
            let kind = match verbatim.framing {
                Framing::Pes => Kind::Pes {
                    stream_id: verbatim.stream_id.unwrap_or(0xbd),
                },
                Framing::Section => Kind::Section,
            };
            let limits = match kind {
                Kind::Section => Limits::SYSTEMS,
                _ => verbatim_limits(track),
            };
            tracks.push(described(
                name,
                Some(track),
                verbatim.stream_type,
                limits,
                kind,
                Vec::new(),
            ));
        }
    }
    tracks.sort_by_key(|track| track.index);
    let mut free = FIRST_PID;
    for at in 0..tracks.len() {
        while tracks[at].stream.pid == 0 {
            if tracks.iter().all(|other| other.stream.pid != free) {
                tracks[at].stream.pid = free;
            }
            free += 1;
        }
    }
    tracks
}

/// The tables for these tracks; `version` counts the changes seen where the catalog does not.
pub(super) fn tables(catalog: &Catalog, tracks: &[Described], version: u8) -> (Pat, Pmt) {
    let mpegts = catalog.mpegts.clone().unwrap_or_default();
    let default = Program {
        transport_stream_id: 1,
        program_number: 1,
        pmt_pid: PMT_PID,
        ..Program::default()
    };
    let program = mpegts.program.unwrap_or(default);
    let carries_clock = |pid: &u16| tracks.iter().any(|track| track.stream.pid == *pid);
    // The clock rides with the first video, else with the first stream there is.
    let first_video = tracks
        .iter()
        .find(|track| matches!(track.kind, Kind::Video { .. }));
    let pcr_pid = program
        .pcr_pid
        .filter(|pid| carries_clock(pid) || *pid != PID_NULL);
    let pcr_pid = pcr_pid.or_else(|| Some(first_video.or(tracks.first())?.stream.pid));
    let pmt = Pmt {
        program_number: program.program_number,
        version: program.pmt_version.unwrap_or(version) & 0x1f,
        pcr_pid: pcr_pid.unwrap_or(PID_NULL),
        descriptors: mpegts.program_descriptors,
        streams: tracks.iter().map(|track| track.stream.clone()).collect(),
    };
    let pat = Pat {
        transport_stream_id: program.transport_stream_id,
        version: 0,
        programs: vec![(program.program_number, program.pmt_pid)],
    };
    (pat, pmt)
}

fn describe_video(name: &str, rendition: &VideoRendition, known: Option<&TsTrack>) -> Described {
    let codec = rendition.codec.as_str();
    let is_h264 = codec.starts_with("avc");
    let (stream_type, limits) = if is_h264 {
        // avc3.PPCCLL
        let byte = |at| {
            codec
                .get(at..at + 2)
                .and_then(|hex| u8::from_str_radix(hex, 16).ok())
                .unwrap_or(0)
        };
        (0x1b, Limits::h264(byte(5), byte(9), None))
    } else {
        (0x24, h265_limits(codec))
    };
    let kind = Kind::Video {
        stream_id: known.and_then(|track| track.stream_id).unwrap_or(0xe0),
        decode_delay: known.and_then(|track| track.decode_delay),
        is_h264,
    };
    described(name, known, stream_type, limits, kind, Vec::new())
}

/// From `hev1.1.6.L63.90`: tier and level are the part that starts with L or H.
fn h265_limits(codec: &str) -> Limits {
    let part = codec
        .split('.')
        .skip(1)
        .find(|part| part.starts_with(['L', 'H']))
        .unwrap_or_default();
    let level = part
        .get(1..)
        .and_then(|level| level.parse().ok())
        .unwrap_or(0);
    Limits::h265(part.starts_with('H'), level)
}

fn describe_audio(name: &str, rendition: &AudioRendition, known: Option<&TsTrack>) -> Described {
    let registration = |format: &'static [u8]| {
        vec![Descriptor {
            tag: 5,
            data: bytes::Bytes::from_static(format),
        }]
    };
    let known_type = known.and_then(|track| track.stream_type);
    let (stream_type, stream_id, limits, descriptors) = match rendition.codec.as_str() {
        "ac-3" => (
            0x81,
            0xbd,
            if known_type == Some(0x06) {
                Limits::AC3_DVB
            } else {
                Limits::AC3
            },
            registration(b"AC-3"),
        ),
        "ec-3" => (0x87, 0xbd, Limits::EAC3, registration(b"EAC3")),
        "mp1" | "mp2" | "mp3" => (0x03, 0xc0, Limits::MPEG_AUDIO, Vec::new()),
        "opus" => (
            0x06,
            0xbd,
            Limits::adts(rendition.number_of_channels),
            registration(b"Opus"),
        ),
        _ => (
            0x0f,
            0xc0,
            Limits::adts(rendition.number_of_channels),
            Vec::new(),
        ),
    };
    let adts = (stream_type == 0x0f)
        .then(|| adts(rendition, known))
        .flatten();
    let kind = Kind::Audio {
        stream_id: known.and_then(|track| track.stream_id).unwrap_or(stream_id),
        adts,
    };
    described(name, known, stream_type, limits, kind, descriptors)
}

/// The header the source had, or one made of the AudioSpecificConfig (14496-3 §1.6.2.1).
fn adts(rendition: &AudioRendition, known: Option<&TsTrack>) -> Option<Adts> {
    if let Some(adts) = known.and_then(|track| track.adts.as_ref()) {
        let template = hex::decode(&adts.header).ok()?.try_into().ok()?;
        return Some(Adts {
            template,
            track: adts.track.clone(),
        });
    }
    let config = hex::decode(rendition.description.as_deref()?).ok()?;
    let &[first, second, ..] = &config[..] else {
        return None;
    };
    let object_type = first >> 3;
    let rate = (first & 7) << 1 | second >> 7;
    let channels = second >> 3 & 0x0f;
    // Two bits hold the object type less one; buffer fullness 0x7ff says variable rate.
    let profile = object_type.clamp(1, 4) - 1;
    let template = [
        0xff,
        0xf1,
        profile << 6 | rate << 2 | channels >> 2 & 1,
        channels << 6,
        0,
        0x1f,
        0xfc,
    ];
    Some(Adts {
        template,
        track: None,
    })
}

fn verbatim_limits(track: &TsTrack) -> Limits {
    let has = |tag| {
        track
            .descriptors
            .iter()
            .any(|descriptor| descriptor.tag == tag)
    };
    // Teletext and VBI teletext descriptors of EN 300 468.
    if has(0x56) || has(0x46) {
        Limits::TELETEXT
    } else {
        Limits::DATA
    }
}

fn described(
    name: &str,
    known: Option<&TsTrack>,
    stream_type: u8,
    limits: Limits,
    kind: Kind,
    descriptors: Vec<Descriptor>,
) -> Described {
    let stream = PmtStream {
        stream_type: known
            .and_then(|track| track.stream_type)
            .unwrap_or(stream_type),
        pid: known.map_or(0, |track| track.pid & 0x1fff),
        descriptors: known.map_or(descriptors, |track| track.descriptors.clone()),
    };
    Described {
        name: name.into(),
        index: known.and_then(|track| track.index).unwrap_or(u32::MAX),
        stream,
        limits,
        kind,
        decode_times: known.and_then(|track| track.decode_times.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(json: &str) -> Catalog {
        Catalog::parse(json.as_bytes()).unwrap()
    }

    #[test]
    fn a_broadcast_without_transport_facts_gets_pids_and_tables() {
        let catalog = catalog(
            r#"{"video":{"renditions":{"v":{"codec":"avc3.64001f","container":{"kind":"legacy"}}}},
                "audio":{"renditions":{"a":{"codec":"mp4a.40.2","sampleRate":48000,"numberOfChannels":2,
                "description":"1190","container":{"kind":"legacy"}}}}}"#,
        );
        let tracks = tracks(&catalog);
        let pids: Vec<_> = tracks
            .iter()
            .map(|track| (track.stream.pid, track.stream.stream_type))
            .collect();
        assert_eq!(pids, [(0x100, 0x1b), (0x101, 0x0f)]);
        assert_eq!(tracks[0].limits, Limits::h264(100, 31, None));
        let Kind::Audio {
            adts: Some(adts), ..
        } = &tracks[1].kind
        else {
            panic!("a header")
        };
        // AAC-LC, 48 kHz, stereo: what ffmpeg writes, without a length.
        assert_eq!(adts.template, [0xff, 0xf1, 0x4c, 0x80, 0, 0x1f, 0xfc]);
        let (pat, pmt) = tables(&catalog, &tracks, 0);
        assert_eq!((pat.programs, pmt.pcr_pid), (vec![(1, 0x1000)], 0x100));
    }

    #[test]
    fn containers_nobody_can_read_are_left_out() {
        let catalog = catalog(
            r#"{"video":{"renditions":{"v":{"codec":"avc1.64001f","container":{"kind":"cmaf"}}}}}"#,
        );
        assert!(tracks(&catalog).is_empty());
    }

    #[test]
    fn tier_and_level_are_read_from_the_codec_string() {
        assert_eq!(h265_limits("hev1.1.6.L63.90"), Limits::h265(false, 63));
        assert_eq!(h265_limits("hev1.2.4.H120.b0"), Limits::h265(true, 120));
    }
}
