//! The catalog: one JSON document that says what tracks a broadcast has and how to read them.
//!
//! The layout is the one published players and tools read; unknown keys are kept. Everything an exact rebuild of a
//! transport stream needs beyond that lies under `mpegts`, where others ignore it. Written by the importer, read by
//! the exporter; knows nothing of packets.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, Result};

/// Name of the track that carries the catalog: newest group wins, one frame is the whole document.
pub const TRACK: &str = "catalog.json";

/// The most renditions (video and audio together) a catalog may list.
pub const MAX_RENDITIONS: usize = 64;

/// The document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Catalog {
    /// Video tracks.
    #[serde(default, skip_serializing_if = "Video::is_empty")]
    pub video: Video,
    /// Audio tracks.
    #[serde(default, skip_serializing_if = "Audio::is_empty")]
    pub audio: Audio,
    /// Where media time zero lies on the wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// What a transport stream had that codecs don't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpegts: Option<Mpegts>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Catalog {
    /// Reads a document.
    ///
    /// # Errors
    /// [`Error::Catalog`] when it is not JSON of this shape, [`Error::TooManyRenditions`] above [`MAX_RENDITIONS`].
    pub fn parse(json: &[u8]) -> Result<Self> {
        let catalog: Self = serde_json::from_slice(json)?;
        let renditions = catalog.video.renditions.len() + catalog.audio.renditions.len();
        if renditions > MAX_RENDITIONS {
            return Err(Error::TooManyRenditions(renditions));
        }
        Ok(catalog)
    }

    /// The document as one frame.
    ///
    /// # Errors
    /// [`Error::Catalog`] when a key kept in `other` cannot be written.
    pub fn to_json(&self) -> Result<Bytes> {
        Ok(serde_json::to_vec(self)?.into())
    }
}

/// Video tracks by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Video {
    /// The key is the name of the track.
    #[serde(default)]
    pub renditions: BTreeMap<String, VideoRendition>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Video {
    /// Whether the section says nothing.
    pub fn is_empty(&self) -> bool {
        self.renditions.is_empty() && self.other.is_empty()
    }
}

/// Audio tracks by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Audio {
    /// The key is the name of the track.
    #[serde(default)]
    pub renditions: BTreeMap<String, AudioRendition>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Audio {
    /// Whether the section says nothing.
    pub fn is_empty(&self) -> bool {
        self.renditions.is_empty() && self.other.is_empty()
    }
}

/// How one video track is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VideoRendition {
    /// Codec string (RFC 6381), such as `avc3.64001f` or `hev1.1.6.L63.90`.
    pub codec: String,
    /// Out-of-band configuration in hex; absent when parameter sets are in band.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Width in pixels, after cropping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coded_width: Option<u32>,
    /// Height in pixels, after cropping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coded_height: Option<u32>,
    /// Pictures per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framerate: Option<f64>,
    /// Mean rate in bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitrate: Option<u64>,
    /// How frames are wrapped.
    #[serde(default)]
    pub container: Container,
    /// How far presentation runs ahead of decoding, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<u32>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How one audio track is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioRendition {
    /// Codec string (RFC 6381), such as `mp4a.40.2`, `mp2`, `ac-3`, `ec-3` or `opus`.
    pub codec: String,
    /// Samples per second.
    pub sample_rate: u32,
    /// Number of channels.
    pub number_of_channels: u32,
    /// Mean rate in bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitrate: Option<u64>,
    /// Out-of-band configuration in hex: the AudioSpecificConfig of AAC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How frames are wrapped.
    #[serde(default)]
    pub container: Container,
    /// How unevenly frames arrive, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<u32>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How frames are wrapped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Container {
    /// `legacy` (see [`crate::container`]); others exist and are not written here.
    pub kind: String,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Default for Container {
    fn default() -> Self {
        Self {
            kind: "legacy".into(),
            other: Map::new(),
        }
    }
}

impl Container {
    /// Whether frames are wrapped as [`crate::container`] reads them.
    pub fn is_legacy(&self) -> bool {
        self.kind == "legacy"
    }
}

/// Where media time zero lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Wall-clock µs since 2020-01-01 UTC of media time zero; negative when zero lies before that.
    pub wall: i64,
    /// Units per second of `wall`.
    pub timescale: u64,
}

/// What a transport stream had that codecs don't say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mpegts {
    /// Elementary streams by track name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tracks: BTreeMap<String, TsTrack>,
    /// Identity of the programme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// Descriptors of the programme (`program_info` of the PMT).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program_descriptors: Vec<Descriptor>,
    /// Service-information tables by PID, then by table id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub si: BTreeMap<u16, BTreeMap<u8, SiTable>>,
    /// Rate of the multiplex in bit/s, when it was measured constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mux_rate: Option<u64>,
    /// Ours: the smallest constant multiplex rate, in bit/s, that carries what was seen in time; raised when more is
    /// needed, never lowered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<u64>,
    /// Ours: how often the source's time base broke. Times on the tracks run on through a break.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub generation: u32,
    /// Ours: name of the track that says how many packets were needed up to which group (see [`Anchor`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchors: Option<String>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// One frame of the anchor track: an entry per track. A group of it is cut every half second of media time.
pub type Anchors = BTreeMap<String, Anchor>;

/// From which continuity counter a group starts, whoever exports it and whenever they joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Sequence of a group of the track.
    pub group: u64,
    /// Transport packets with payload that all units in earlier groups take; modulo 16 the counter of the group's
    /// first packet.
    pub packets: u64,
}

/// The identity of a programme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Program {
    /// `transport_stream_id` of the PAT.
    pub transport_stream_id: u16,
    /// `program_number`.
    pub program_number: u16,
    /// PID of the PMT.
    pub pmt_pid: u16,
    /// Ours: PID that carried the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcr_pid: Option<u16>,
    /// Ours: `version_number` of the PMT, 0 to 31, stepped when the source's PMT changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pmt_version: Option<u8>,
}

/// One elementary stream as the multiplex described it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TsTrack {
    /// PID of the stream.
    pub pid: u16,
    /// Descriptors of the stream in the PMT.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub descriptors: Vec<Descriptor>,
    /// Present when the stream is carried as it is, without an entry among the renditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbatim: Option<Verbatim>,
    /// Ours: position in the PMT, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Ours: `stream_type` of the PMT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_type: Option<u8>,
    /// Ours: `stream_id` of the PES packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_id: Option<u8>,
    /// Ours: the n-th unit in decode order, counted from the start of any group, is decoded at the n-th smallest
    /// presentation time from there minus this, in ticks of 90 kHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_delay: Option<u32>,
    /// Ours: a track with the decode times, when the rule of `decode_delay` does not give them: same group sequences,
    /// one frame a unit, each a QUIC integer of PTS − DTS in ticks of 90 kHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_times: Option<String>,
    /// Ours: how the ADTS headers of AAC are rebuilt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adts: Option<Adts>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How the ADTS headers of a track are rebuilt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adts {
    /// Seven bytes in hex: a header whose frame length is zero.
    pub header: String,
    /// A track with the header of every frame, when they vary: same group sequences, one frame each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track: Option<String>,
}

/// How a stream nobody decodes is put back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verbatim {
    /// `stream_type` of the PMT.
    pub stream_type: u8,
    /// What one frame of the track is.
    #[serde(default)]
    pub framing: Framing,
    /// `stream_id` of the PES packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_id: Option<u8>,
    /// How frames are wrapped.
    #[serde(default)]
    pub container: Container,
}

/// What one frame of a verbatim track is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Framing {
    /// The payload of one PES packet.
    #[default]
    Pes,
    /// One whole section, CRC included.
    Section,
}

/// One descriptor of a PMT.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// `descriptor_tag`.
    pub tag: u8,
    /// The body, without tag and length: at most 255 bytes, base64 in JSON.
    #[serde(with = "base64_bytes")]
    pub data: Bytes,
}

/// A service-information table that is repeated beside the media.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiTable {
    /// Track whose newest group holds the table: one frame a sub-table, its sections one after the other.
    pub track: String,
    /// Repetition interval in ms; absent for clock tables, which are sent once as they come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u32>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

mod base64_bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        bytes: &Bytes,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD
            .decode(text)
            .map(Bytes::from)
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
