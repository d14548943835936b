//! What the catalog says of a source.

use super::SourceFacts;
use super::si;
use super::source::Source;
use super::stream::{Body, Es};
use crate::catalog::{
    AudioRendition, Catalog, Clock, Framing, Mpegts, Program, SiTable, TsTrack, Verbatim,
    VideoRendition,
};

/// All that goes into a catalog.
pub(super) struct Described<'a> {
    pub(super) source: &'a Source,
    pub(super) clock: Option<Clock>,
    pub(super) facts: Option<&'a SourceFacts>,
    pub(super) mux_rate: Option<u64>,
    pub(super) peak_rate: Option<u64>,
    pub(super) generation: u32,
}

/// Name of the track with the decode times of another.
pub(super) fn decode_times_of(name: &str) -> String {
    format!("{name}.dts")
}

/// Name of the track with the ADTS headers of another.
pub(super) fn headers_of(name: &str) -> String {
    format!("{name}.adts")
}

/// Name of the track of a table.
pub(super) fn table_name((pid, table_id): si::Key) -> String {
    format!("{pid:#06x}-{table_id:#04x}.si")
}

impl Described<'_> {
    /// The catalog now. Measured numbers that `before` says already are kept unless they moved enough to matter, so that
    /// readers are not told news every second.
    pub(super) fn catalog(&self, before: &Catalog) -> Catalog {
        let mut catalog = Catalog {
            clock: self.clock,
            ..Catalog::default()
        };
        let mut mpegts = Mpegts {
            mux_rate: self.mux_rate,
            peak_rate: self.peak_rate(before),
            generation: self.generation,
            ..Mpegts::default()
        };
        for es in self.source.streams().values() {
            let Some(name) = es.name() else { continue };
            match &es.body {
                Body::Video(video) => {
                    let Some(rendition) = video.rendition() else {
                        continue;
                    };
                    let known = before.video.renditions.get(&name);
                    let bitrate = self.bitrate(es, &name, known.and_then(|known| known.bitrate));
                    let jitter = self.jitter(
                        rendition.jitter,
                        &name,
                        known.and_then(|known| known.jitter),
                    );
                    let rendition = VideoRendition {
                        bitrate,
                        jitter,
                        ..rendition
                    };
                    catalog.video.renditions.insert(name.clone(), rendition);
                }
                Body::Audio(audio) => {
                    let Some(rendition) = audio.rendition() else {
                        continue;
                    };
                    let known = before.audio.renditions.get(&name);
                    let bitrate = self.bitrate(es, &name, known.and_then(|known| known.bitrate));
                    let jitter = self.jitter(
                        rendition.jitter,
                        &name,
                        known.and_then(|known| known.jitter),
                    );
                    let rendition = AudioRendition {
                        bitrate,
                        jitter,
                        ..rendition
                    };
                    catalog.audio.renditions.insert(name.clone(), rendition);
                }
                Body::Units { .. } | Body::Sections => {}
            }
            mpegts.tracks.insert(name.clone(), track(es, &name));
        }
        if let Some(map) = self.source.map() {
            mpegts.program = Some(Program {
                transport_stream_id: map.transport_stream_id,
                program_number: map.pmt.program_number,
                pmt_pid: map.pmt_pid,
                pcr_pid: Some(map.pmt.pcr_pid),
                pmt_version: Some(map.pmt.version),
            });
            mpegts.program_descriptors = map.pmt.descriptors.clone();
        }
        for key @ (pid, table_id) in self.source.tables() {
            let table = SiTable {
                track: table_name(key),
                interval: si::interval(pid, table_id),
                ..SiTable::default()
            };
            mpegts.si.entry(pid).or_default().insert(table_id, table);
        }
        catalog.mpegts = Some(mpegts);
        catalog
    }

    /// What a scan found, or the most needed so far; raised in steps of a twentieth.
    fn peak_rate(&self, before: &Catalog) -> Option<u64> {
        let scanned = self.facts.and_then(|facts| facts.peak_rate);
        let known = before.mpegts.as_ref().and_then(|mpegts| mpegts.peak_rate);
        match (scanned.max(known), self.peak_rate) {
            (Some(known), Some(now)) if now > known => Some(now + now / 20),
            (known, now) => known.or(now),
        }
    }

    /// A rate is news when it moved by a fifth.
    fn bitrate(&self, es: &Es, name: &str, known: Option<u64>) -> Option<u64> {
        let scanned = self
            .facts
            .and_then(|facts| facts.tracks.get(name))
            .and_then(|facts| facts.bitrate);
        let known = known.or(scanned);
        match (known, es.span.bitrate()) {
            (Some(known), Some(now)) if known.abs_diff(now) * 5 <= known => Some(known),
            (known, now) => now.or(known),
        }
    }

    /// Never shrinks.
    fn jitter(&self, now: Option<u32>, name: &str, known: Option<u32>) -> Option<u32> {
        let scanned = self
            .facts
            .and_then(|facts| facts.tracks.get(name))
            .and_then(|facts| facts.jitter);
        now.max(known).max(scanned)
    }
}

/// What the transport stream said of a stream.
fn track(es: &Es, name: &str) -> TsTrack {
    let stream_type = es.listed.stream_type;
    let mut track = TsTrack {
        pid: es.listed.pid,
        descriptors: es.listed.descriptors.clone(),
        index: Some(es.index),
        stream_type: Some(stream_type),
        stream_id: es.stream_id,
        ..TsTrack::default()
    };
    match &es.body {
        Body::Video(video) => {
            track.decode_delay = video.rule.delay();
            track.decode_times = es.has_odd_decode_times().then(|| decode_times_of(name));
        }
        Body::Audio(audio) => track.adts = audio.adts(|| headers_of(name)),
        Body::Units { .. } => {
            track.verbatim = Some(Verbatim {
                stream_type,
                stream_id: es.stream_id,
                ..Verbatim::default()
            });
            track.decode_times = es.has_odd_decode_times().then(|| decode_times_of(name));
        }
        Body::Sections => {
            track.verbatim = Some(Verbatim {
                stream_type,
                framing: Framing::Section,
                ..Verbatim::default()
            });
        }
    }
    track
}
