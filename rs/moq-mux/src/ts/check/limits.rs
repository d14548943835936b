//! What the decoder of each kind of stream takes: rates and sizes of the T-STD, for judging.
//!
//! Written apart from the exporter's figures (those of the writer are not used), from ISO/IEC 13818-1 §2.4.2, §2.14.3 and
//! §2.17.2, A/53 and TS 101 154.

use crate::codec::{h264, h265, nal};

/// Kinds of elementary streams that have buffers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Mpeg2Video,
    H264,
    H265,
    MpegAudio,
    Adts,
    Latm,
    Ac3,
    /// AC-3 as private data under a DVB descriptor.
    DvbAc3,
    Eac3,
    Opus,
    Teletext,
    Subtitles,
    PrivatePes,
    Sections,
    Other,
}

impl Kind {
    /// From what the PMT says: `stream_type` and descriptors as (tag, body).
    pub(super) fn of(stream_type: u8, descriptors: &[(u8, &[u8])]) -> Self {
        let has = |tag: u8| descriptors.iter().any(|&(t, _)| t == tag);
        let registered = |id: &[u8; 4]| {
            descriptors
                .iter()
                .any(|&(t, body)| t == 5 && body.starts_with(id))
        };
        match stream_type {
            0x01 | 0x02 => Self::Mpeg2Video,
            0x03 | 0x04 => Self::MpegAudio,
            0x05 => Self::Sections,
            0x86 => Self::Sections,
            0x0f => Self::Adts,
            0x11 => Self::Latm,
            0x1b => Self::H264,
            0x24 => Self::H265,
            0x81 => Self::Ac3,
            0x87 => Self::Eac3,
            0x06 if has(0x6a) || registered(b"AC-3") => Self::DvbAc3,
            0x06 if has(0x7a) || registered(b"EAC3") => Self::Eac3,
            0x06 if registered(b"Opus") => Self::Opus,
            0x06 if registered(b"HEVC") => Self::H265,
            0x06 if has(0x56) => Self::Teletext,
            0x06 if has(0x59) => Self::Subtitles,
            0x06 => Self::PrivatePes,
            _ => Self::Other,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mpeg2Video => "MPEG-2 video",
            Self::H264 => "H.264",
            Self::H265 => "H.265",
            Self::MpegAudio => "MPEG audio",
            Self::Adts => "AAC (ADTS)",
            Self::Latm => "AAC (LATM)",
            Self::Ac3 => "AC-3",
            Self::DvbAc3 => "AC-3 (DVB)",
            Self::Eac3 => "E-AC-3",
            Self::Opus => "Opus",
            Self::Teletext => "teletext",
            Self::Subtitles => "DVB subtitles",
            Self::PrivatePes => "private data",
            Self::Sections => "sections",
            Self::Other => "other",
        }
    }

    pub(super) fn is_video(self) -> bool {
        matches!(self, Self::Mpeg2Video | Self::H264 | Self::H265)
    }

    /// Whether presentation times must come every 700 ms.
    pub(super) fn is_continuous(self) -> bool {
        self.is_video()
            || matches!(
                self,
                Self::MpegAudio
                    | Self::Adts
                    | Self::Latm
                    | Self::Ac3
                    | Self::DvbAc3
                    | Self::Eac3
                    | Self::Opus
            )
    }
}

/// What one PID's decoder takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limits {
    /// What they were taken for.
    pub(super) name: String,
    /// Rate at which the transport buffer empties, bit/s.
    pub(super) leak: u64,
    /// Multiplexing buffer of video: bytes, and the rate at which it empties, bit/s.
    pub(super) multiplexing: Option<(u64, u64)>,
    /// Main buffer, or elementary buffer of video, in bytes.
    pub(super) main: Option<u64>,
    /// The longest data may wait, in seconds.
    pub(super) delay: f64,
}

impl Limits {
    /// The tables of a programme; the rate of the multiplex decides how fast they are read (§2.4.2.4).
    pub(super) fn system(rate: u64) -> Self {
        let drain = (rate / 500).max(80_000);
        Self {
            name: format!("tables, read at {} kb/s", drain / 1000),
            leak: 1_000_000,
            multiplexing: None,
            main: Some(1_536),
            delay: 1.0,
        }
    }

    /// Of a stream without codec parameters in front; `channels` where they matter.
    pub(super) fn plain(kind: Kind, channels: u32) -> Option<Self> {
        let (leak, main) = match kind {
            Kind::MpegAudio => (2_000_000, Some(3_584)),
            Kind::Adts | Kind::Latm | Kind::Opus => match channels {
                0..=2 => (2_000_000, Some(3_584)),
                3..=8 => (5_529_600, Some(8_976)),
                9..=12 => (8_294_400, Some(12_804)),
                _ => (33_177_600, Some(51_216)),
            },
            Kind::Ac3 => (2_000_000, Some(2_592)),
            Kind::DvbAc3 => (2_000_000, Some(5_696)),
            Kind::Eac3 => (2_000_000, Some(12_896)),
            Kind::Teletext => (6_750_000, None),
            Kind::Subtitles => (192_000, Some(24 << 10)),
            Kind::Sections => (1_000_000, None),
            Kind::PrivatePes => (2_000_000, None),
            Kind::Mpeg2Video | Kind::H264 | Kind::H265 | Kind::Other => return None,
        };
        Some(Self {
            name: kind.name().into(),
            leak,
            multiplexing: None,
            main,
            delay: 1.0,
        })
    }

    /// Of video whose parameters lie in `unit`, the front of an access unit; `None` when they don't.
    pub(super) fn video(kind: Kind, unit: &[u8]) -> Option<Self> {
        match kind {
            Kind::H264 => {
                let sps =
                    nal::units(unit).find(|nal| nal.first().is_some_and(|b| b & 0x1f == 7))?;
                Some(Self::h264(&h264::Sps::parse(sps)?))
            }
            Kind::H265 => {
                let sps = nal::units(unit)
                    .find(|nal| nal.first().is_some_and(|b| b >> 1 & 0x3f == 33))?;
                Some(Self::h265(&h265::Sps::parse(sps)?))
            }
            Kind::Mpeg2Video => Self::mpeg2(unit),
            _ => None,
        }
    }

    fn h264(sps: &h264::Sps) -> Self {
        let level_1b = sps.level == 9 || sps.level == 11 && sps.constraints & 0x10 != 0;
        let (max_rate, max_cpb): (u64, u64) = match sps.level {
            _ if level_1b => (128, 350),
            10 => (64, 175),
            11 => (192, 500),
            12 => (384, 1_000),
            13 => (768, 2_000),
            20 => (2_000, 2_000),
            21 | 22 => (4_000, 4_000),
            30 => (10_000, 10_000),
            31 => (14_000, 14_000),
            32 => (20_000, 20_000),
            40 => (20_000, 25_000),
            41 | 42 => (50_000, 62_500),
            50 => (135_000, 135_000),
            51 | 52 => (240_000, 240_000),
            60 => (240_000, 240_000),
            61 => (480_000, 480_000),
            _ => (800_000, 800_000),
        };
        let factor = match sps.profile {
            100 => 1_500,
            110 => 3_600,
            122 | 244 | 44 => 4_800,
            _ => 1_200,
        };
        let rate = sps.hrd.map_or(factor * max_rate, |hrd| hrd.bit_rate);
        let level_cpb = 1_200 * max_cpb;
        let cpb = sps.hrd.map_or(level_cpb, |hrd| hrd.cpb_size);
        let spare = level_cpb.saturating_sub(cpb);
        let name = format!(
            "H.264 level {}.{}{}",
            sps.level / 10,
            sps.level % 10,
            if sps.hrd.is_some() { ", HRD" } else { "" }
        );
        Self::buffers(name, rate * 6 / 5, 1_200 * max_rate, spare, cpb)
    }

    fn h265(sps: &h265::Sps) -> Self {
        let (main, high): (u64, u64) = match sps.profile.level {
            0..=30 => (128, 128),
            31..=60 => (1_500, 1_500),
            61..=63 => (3_000, 3_000),
            64..=90 => (6_000, 6_000),
            91..=93 => (10_000, 10_000),
            94..=120 => (12_000, 30_000),
            121..=123 => (20_000, 50_000),
            124..=150 => (25_000, 100_000),
            151..=153 => (40_000, 160_000),
            154..=180 => (60_000, 240_000),
            181..=183 => (120_000, 480_000),
            _ => (240_000, 800_000),
        };
        let kilobits = if sps.profile.high_tier { high } else { main };
        let level = sps.profile.level;
        let name = format!("H.265 level {}.{}", level / 30, level % 30 / 3);
        Self::buffers(
            name,
            1_100 * kilobits,
            1_100 * kilobits,
            0,
            1_100 * kilobits,
        )
    }

    /// From the sequence header and the extension behind it (13818-2 §6.2.2).
    fn mpeg2(unit: &[u8]) -> Option<Self> {
        let at = memchr::memmem::find(unit, &[0, 0, 1, 0xb3])?;
        let header = unit.get(at + 4..at + 12)?;
        let low = u64::from(header[6] & 0x1f) << 5 | u64::from(header[7] >> 3);
        // Extension: start code, identifier 1, profile and level; a stream without one is MPEG-1.
        let extension = memchr::memmem::find(unit, &[0, 0, 1, 0xb5])
            .and_then(|at| unit.get(at + 4..at + 10))
            .filter(|extension| extension[0] >> 4 == 1);
        let level = extension.map_or(8, |e| e[1] >> 4);
        let vbv = low | extension.map_or(0, |e| u64::from(e[4]) << 10);
        let (max_rate, max_vbv, name) = match level {
            4 => (80_000_000, 9_781_248, "high"),
            6 => (60_000_000, 7_340_032, "high 1440"),
            10 => (4_000_000, 475_136, "low"),
            _ => (15_000_000, 1_835_008, "main"),
        };
        let size = vbv * 16 * 1024;
        let spare = (max_vbv as u64).saturating_sub(size);
        let mut limits = Self::buffers(
            format!("MPEG-2 {name} level"),
            max_rate * 6 / 5,
            max_rate,
            spare,
            size,
        );
        limits.delay = 1.0;
        Some(limits)
    }

    /// Rates in bit/s, sizes in bits. 4 ms and 1/750 s of the drain, at least 2 Mb/s, are room for multiplexing.
    fn buffers(name: String, leak: u64, drain: u64, spare: u64, elementary: u64) -> Self {
        let base = drain.max(2_000_000);
        let multiplexing = base / 250 + base / 750 + spare;
        Self {
            name,
            leak,
            multiplexing: Some((multiplexing / 8, drain)),
            main: Some(elementary / 8),
            delay: 10.0,
        }
    }
}
