//! The common face of audio headers: how long is the frame that starts here, and how long does it sound?
//!
//! Called by the importer, which cuts PES payloads into frames with it.

use super::{aac, ac3, mpeg_audio};

/// An audio format that is cut into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// AAC in ADTS.
    Aac,
    /// MPEG audio, layers I to III.
    MpegAudio,
    /// AC-3 and E-AC-3: a sync word serves both.
    Ac3,
}

/// What the bytes at hand are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A frame starts here; it may be longer than the bytes at hand.
    Frame(Frame),
    /// Too few bytes to tell.
    Short,
    /// No frame starts here.
    Invalid,
}

/// A frame as its header describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Length in bytes, header included.
    pub len: usize,
    /// Bytes in front that are rebuilt on export instead of carried.
    pub strip: usize,
    /// Samples per channel.
    pub samples: u32,
    /// What stays the same from frame to frame.
    pub config: Config,
}

/// What stays the same from frame to frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which codec exactly.
    pub codec: Codec,
    /// Samples per second.
    pub sample_rate: u32,
    /// Number of channels, low-frequency ones included.
    pub channels: u32,
}

/// Which codec exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// AAC; the two bytes of AudioSpecificConfig.
    Aac([u8; 2]),
    /// MPEG audio of this layer, 1 to 3.
    MpegAudio(u8),
    /// AC-3.
    Ac3,
    /// E-AC-3.
    Eac3,
}

impl Codec {
    /// The codec string of a catalog.
    pub fn name(self) -> String {
        match self {
            Self::Aac([first, _]) => format!("mp4a.40.{}", first >> 3),
            Self::MpegAudio(layer) => format!("mp{layer}"),
            Self::Ac3 => "ac-3".into(),
            Self::Eac3 => "ec-3".into(),
        }
    }

    /// The end of a track's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Aac(_) => "aac",
            Self::MpegAudio(1) => "mp1",
            Self::MpegAudio(2) => "mp2",
            Self::MpegAudio(_) => "mp3",
            Self::Ac3 => "ac3",
            Self::Eac3 => "eac3",
        }
    }
}

impl Format {
    /// The most bytes one frame can have.
    pub const LONGEST: usize = 8192;

    /// Looks at the bytes at hand.
    pub fn head(self, bytes: &[u8]) -> Head {
        match self {
            Self::Aac => aac::head(bytes),
            Self::MpegAudio => mpeg_audio::head(bytes),
            Self::Ac3 => ac3::head(bytes),
        }
    }

    /// Where the next frame may start: the first byte of a sync word.
    pub fn seek(self, bytes: &[u8]) -> Option<usize> {
        let first = if self == Self::Ac3 { 0x0b } else { 0xff };
        memchr::memchr(first, bytes)
    }
}
