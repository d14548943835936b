//! The facts of a file before it is published: rates need to be seen whole to be known.
//!
//! Runs the importer's pure part over a reader and publishes nothing. The only file of the importer that does I/O.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};

use super::item::Item;
use super::source::Source;
use crate::Result;
use crate::container::HEADROOM;
use crate::ts::demux::Demux;
use crate::ts::peak::Peak;
use crate::ts::rate::Rate;

/// What a scan found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFacts {
    /// Rate of the multiplex in bit/s, when it is constant to the end.
    pub mux_rate: Option<u64>,
    /// The smallest constant rate that carries everything in time, in bit/s.
    pub peak_rate: Option<u64>,
    /// How long the material is, in ticks of 90 kHz: the longest stream.
    pub duration: i64,
    /// Bytes read.
    pub bytes: u64,
    /// By track name.
    pub tracks: BTreeMap<String, TrackFacts>,
}

/// What a scan found of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackFacts {
    /// Mean rate in bit/s.
    pub bitrate: Option<u64>,
    /// How far presentation runs ahead of decoding, or how much sounds in one packet, in ms.
    pub jitter: Option<u32>,
}

/// Reads all of `input` and tells what is in the programme with this number, or in the only one. Memory is bounded
/// whatever the length; the time is that of an import.
///
/// # Errors
/// [`crate::Error::Io`] when reading fails; otherwise as [`super::Import::push`] and [`super::Import::finish`].
pub fn scan(mut input: impl Read, program: Option<u16>) -> Result<SourceFacts> {
    let mut demux = Demux::new(program, HEADROOM);
    let mut source = Source::default();
    let mut peak = Peak::default();
    let mut facts = SourceFacts::default();
    let mut rate = None;
    let mut chunk = vec![0; 256 << 10];
    loop {
        let len = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        facts.bytes += len as u64;
        demux.push(&chunk[..len], &mut source)?;
        weigh(&mut source, &mut peak);
        if let Rate::Constant(now) = demux.rate() {
            rate = Some(now);
        }
    }
    demux.finish(&mut source)?;
    weigh(&mut source, &mut peak);
    peak.flush();
    facts.mux_rate = rate.filter(|_| !demux.has_varied());
    facts.peak_rate = peak.rate();
    facts.duration = source.length();
    for es in source.streams().values() {
        if let Some(name) = es.name() {
            facts.tracks.insert(
                name,
                TrackFacts {
                    bitrate: es.span.bitrate(),
                    jitter: es.jitter(),
                },
            );
        }
    }
    Ok(facts)
}

/// Counts what an exporter will have to send, and forgets the rest.
fn weigh(source: &mut Source, peak: &mut Peak) {
    for item in source.take() {
        if let Item::Frame(frame) = item {
            peak.unit(frame.times.dts, frame.packets(frame.starts_group()));
        }
    }
}
