//! Transport-stream bytes into a broadcast.
//!
//! | file | what it owns |
//! |---|---|
//! | `mod.rs` | [`Import`]: bytes in, progress out, and when the catalog is ready |
//! | `source.rs` | the pure middle: units of a multiplex to frames of tracks |
//! | `stream.rs` | one elementary stream: which kind, which frames |
//! | `video.rs`, `audio.rs` | description, joining points, frames and their times |
//! | `item.rs` | what is queued for publishing |
//! | `decode.rs` | whether decode times can be left out of the wire |
//! | `si.rs` | service-information tables |
//! | `describe.rs` | the catalog of all that |
//! | `publish.rs`, `output.rs` | tracks, groups and side tracks of the broadcast |
//! | `scan.rs` | the facts of a file before it is published |
//!
//! Called by whoever has bytes; knows tracks and media, and nothing of files, sockets or time of day.

mod audio;
mod decode;
mod describe;
mod item;
mod output;
mod publish;
mod scan;
mod si;
mod source;
mod stream;
mod video;

use std::time::Duration;

use crate::container::HEADROOM;
use crate::ts::demux::{Demux, DemuxStats};
use crate::ts::peak::Peak;
use crate::ts::rate::Rate;
use crate::{Result, catalog};

use describe::Described;
pub use output::TrackStats;
use publish::Publisher;
pub use scan::{SourceFacts, TrackFacts, scan};
use source::Source;

/// How long the catalog waits for a verdict on the rate of the multiplex, in ticks of 90 kHz: a second.
const RATE_PATIENCE: i64 = 90_000;

/// How long it waits for streams that say nothing of themselves, in ticks of 90 kHz: three seconds.
const PATIENCE: i64 = 270_000;

/// How often measured numbers are looked at again, in ticks of 90 kHz: after half a second, then each time twice as much
/// was seen, at last every ten seconds.
const REVIEW: (i64, i64) = (45_000, 900_000);

/// What an importer is told.
#[derive(Clone, Debug)]
pub struct ImportConfig {
    /// Programme number to take; needed only when there are several.
    pub program: Option<u16>,
    /// How far behind the newest media groups are kept. Make it long when nothing paces the input.
    pub max_age: Duration,
    /// Wall clock at the first byte, in µs since 2020-01-01 UTC; without it the catalog has no `clock`.
    pub wall: Option<i64>,
    /// What a scan of the same bytes found, for the first catalog.
    pub facts: Option<SourceFacts>,
}

impl Default for ImportConfig {
    fn default() -> Self {
        Self {
            program: None,
            max_age: Duration::from_secs(5),
            wall: None,
            facts: None,
        }
    }
}

/// How far an input has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Programme clock at the last PCR among the bytes so far: ticks of 27 MHz, unwrapped, never stepping back. `None`
    /// before the first PCR. Where it starts is arbitrary.
    pub clock: Option<i64>,
    /// Whether the catalog is published. Frames are held until then.
    pub ready: bool,
}

/// What was met and what was published.
#[derive(Clone, Debug, Default)]
pub struct ImportStats {
    /// Packets, counters, tables.
    pub demux: DemuxStats,
    /// What is known of the multiplex's rate in bit/s, if it is constant.
    pub mux_rate: Option<u64>,
    /// Sections of service information refused because their tables were over the bounds.
    pub refused_sections: u64,
    /// The tracks, media first, in the order of the PMT.
    pub tracks: Vec<TrackStats>,
}

/// Publishes one programme of a transport stream.
pub struct Import {
    demux: Demux,
    source: Source,
    publisher: Publisher,
    peak: Peak,
    facts: Option<SourceFacts>,
    wall: Option<i64>,
    clock: Option<catalog::Clock>,
    ready: bool,
    /// Time of the first frame, of the last review, and the revision that was published.
    began: Option<i64>,
    reviewed: i64,
    revision: u32,
}

impl Import {
    /// An importer into `broadcast`, whose catalog track it creates at once.
    ///
    /// # Errors
    /// [`crate::Error::Net`] when the broadcast has a catalog already, or is closed.
    pub fn new(broadcast: moq_net::Broadcast, config: ImportConfig) -> Result<Self> {
        Ok(Self {
            demux: Demux::new(config.program, HEADROOM),
            source: Source::default(),
            publisher: Publisher::new(broadcast, config.max_age)?,
            peak: Peak::default(),
            facts: config.facts,
            wall: config.wall,
            clock: None,
            ready: false,
            began: None,
            reviewed: 0,
            revision: 0,
        })
    }

    /// Takes the next bytes, cut anywhere, and publishes what they complete. O(bytes).
    ///
    /// # Errors
    /// [`crate::Error::NotTransportStream`] after half a megabyte without packets; [`crate::Error::SeveralPrograms`] and
    /// [`crate::Error::ProgramMissing`] when the programme must be chosen; [`crate::Error::Net`] when the broadcast takes
    /// nothing more. Damage in the stream is counted, not an error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Progress> {
        self.demux.push(bytes, &mut self.source)?;
        self.advance(false)?;
        Ok(self.progress())
    }

    /// How far the input has come.
    pub fn progress(&self) -> Progress {
        Progress {
            clock: self.demux.clock(),
            ready: self.ready,
        }
    }

    /// The same material will be pushed again from its start: what was begun is published, and times go on so that no
    /// stream overlaps its end.
    ///
    /// # Errors
    /// [`crate::Error::Net`] when the broadcast takes nothing more.
    pub fn restart(&mut self) -> Result<()> {
        let later = self.source.length();
        self.demux.restart(later, &mut self.source);
        self.source.restart();
        self.advance(false)
    }

    /// The input has ended: publishes what was begun and finishes every track.
    ///
    /// # Errors
    /// As [`Import::push`]; [`crate::Error::Empty`], [`crate::Error::NotTransportStream`] or [`crate::Error::NoProgram`]
    /// when there was nothing to publish.
    pub fn finish(&mut self) -> Result<()> {
        self.demux.finish(&mut self.source)?;
        self.source.finish();
        self.peak.flush();
        self.advance(true)?;
        self.publisher.finish()
    }

    /// What was met and published so far.
    pub fn stats(&self) -> ImportStats {
        ImportStats {
            demux: self.demux.stats(),
            mux_rate: self.mux_rate(),
            refused_sections: self.source.refused_sections(),
            tracks: self.publisher.stats(&self.source),
        }
    }

    /// The catalog as last published.
    pub fn catalog(&self) -> &catalog::Catalog {
        self.publisher.catalog()
    }

    /// Publishes what is queued, and the catalog when it is due.
    fn advance(&mut self, end: bool) -> Result<()> {
        let now = self.source.now().unwrap_or(0);
        if !self.ready {
            let began = *self.began.get_or_insert(now);
            if self.source.map().is_none() || !(end || self.is_described(now - began)) {
                self.publisher.hold(&mut self.source);
                if !self.publisher.is_full() {
                    return Ok(());
                }
            }
        }
        let structural = !self.ready || self.revision != self.source.revision();
        let pause = (self.reviewed - self.began.unwrap_or(now)).clamp(REVIEW.0, REVIEW.1);
        if structural || end || (now - self.reviewed).abs() >= pause {
            self.review(now, structural || end)?;
        }
        self.publisher.publish(&mut self.source, &mut self.peak)?;
        if end || self.publisher.is_anchor_due(now) {
            let begun = self
                .demux
                .earliest_begun()
                .into_iter()
                .chain(self.source.earliest_begun());
            self.publisher.anchor(begun.fold(now, i64::min))?;
        }
        Ok(())
    }

    /// Whether the first catalog can say all there is to say, or nothing more is to be expected.
    fn is_described(&self, waited: i64) -> bool {
        let streams = self.source.streams();
        let described = !streams.is_empty() && streams.values().all(stream::Es::is_described);
        let rated =
            self.facts.is_some() || self.demux.rate() != Rate::Unknown || waited > RATE_PATIENCE;
        described && rated || waited > PATIENCE
    }

    /// Publishes the catalog if it says something new.
    fn review(&mut self, now: i64, structural: bool) -> Result<()> {
        self.reviewed = now;
        self.revision = self.source.revision();
        let zero = self.demux.clock().map(|clock| clock / 27);
        self.clock = self.clock.or_else(|| {
            let wall = self.wall? - zero?;
            Some(catalog::Clock {
                wall,
                timescale: 1_000_000,
            })
        });
        let described = Described {
            source: &self.source,
            clock: self.clock,
            facts: self.facts.as_ref(),
            mux_rate: self.mux_rate(),
            peak_rate: self.peak.rate(),
            generation: self.demux.stats().breaks,
        };
        self.ready = true;
        self.publisher.describe(&described, now, structural)
    }

    /// The measured rate; what a scan found when that is the same, as a scan sees more, or when nothing is known yet.
    fn mux_rate(&self) -> Option<u64> {
        let scanned = self.facts.as_ref().and_then(|facts| facts.mux_rate);
        match self.demux.rate() {
            Rate::Constant(rate) => Some(
                scanned
                    .filter(|known| known.abs_diff(rate) * 100 <= rate)
                    .unwrap_or(rate),
            ),
            Rate::Variable => None,
            Rate::Unknown => scanned,
        }
    }
}
