//! The tracks of a broadcast and what goes into them.
//!
//! Frames are held until the first catalog is written, so that whoever reads it finds every track with its first group.
//! Called by [`super::Import`]; knows what a source queues and nothing of transport streams.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use moq_net::{Broadcast, Timescale, Timestamp, Track, TrackInfo};

use super::describe::{Described, table_name};
use super::item::Item;
use super::output::{Aside, Output, TrackStats};
use super::si;
use super::source::Source;
use super::stream::{Body, Es};
use crate::Result;
use crate::catalog::{self, Anchors, Catalog};
use crate::ts::clock::micros_from_90k;
use crate::ts::peak::Peak;

/// The most bytes held before the first catalog.
const MOST_HELD: usize = 24 << 20;

/// Name of the track of anchors, and their distance in ticks of 90 kHz: half a second.
const ANCHORS: &str = "mpegts.anchors";
const ANCHOR_DISTANCE: i64 = 45_000;

/// Urgency of tracks, 0 to 255: readers ask for media with their own, this breaks ties.
pub(super) mod priority {
    pub(in crate::import) const CATALOG: u8 = 255;
    pub(in crate::import) const SIDE: u8 = 200;
    pub(in crate::import) const AUDIO: u8 = 160;
    pub(in crate::import) const VIDEO: u8 = 127;
    pub(in crate::import) const TABLE: u8 = 100;
}

/// Writes the broadcast.
pub(super) struct Publisher {
    broadcast: Broadcast,
    max_age: Duration,
    catalog_track: Track,
    catalog: Catalog,
    /// By number of the stream.
    tracks: BTreeMap<u32, Output>,
    tables: BTreeMap<si::Key, Track>,
    held: VecDeque<Item>,
    held_bytes: usize,
    anchors: Track,
    anchored: i64,
}

impl Publisher {
    pub(super) fn new(broadcast: Broadcast, max_age: Duration) -> Result<Self> {
        let catalog_track = create(&broadcast, catalog::TRACK, priority::CATALOG, max_age)?;
        let anchors = create(&broadcast, ANCHORS, priority::SIDE, max_age)?;
        Ok(Self {
            broadcast,
            max_age,
            catalog_track,
            catalog: Catalog::default(),
            tracks: BTreeMap::new(),
            tables: BTreeMap::new(),
            held: VecDeque::new(),
            held_bytes: 0,
            anchors,
            anchored: i64::MIN,
        })
    }

    /// The catalog as last published.
    pub(super) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Keeps what the source has queued for after the first catalog.
    pub(super) fn hold(&mut self, source: &mut Source) {
        for item in source.take() {
            if let Item::Frame(frame) = &item {
                self.held_bytes += frame.payload.len();
            }
            self.held.push_back(item);
        }
    }

    /// Whether no more can be held.
    pub(super) fn is_full(&self) -> bool {
        self.held_bytes > MOST_HELD
    }

    /// Creates what tracks the source can describe by now, and publishes the catalog when it says something new.
    pub(super) fn describe(
        &mut self,
        described: &Described<'_>,
        now: i64,
        structural: bool,
    ) -> Result<()> {
        for es in described.source.streams().values() {
            self.open(es)?;
        }
        for key in described.source.tables() {
            self.open_table(key)?;
        }
        let mut catalog = described.catalog(&self.catalog);
        if let Some(mpegts) = &mut catalog.mpegts {
            mpegts.anchors = Some(ANCHORS.into());
        }
        if catalog != self.catalog || structural && self.catalog_track.latest().is_none() {
            let group = self.catalog_track.append_group()?;
            group.write_frame(timestamp(now), catalog.to_json()?)?;
            group.finish()?;
            self.catalog = catalog;
        }
        Ok(())
    }

    /// Publishes what was held and what the source has queued.
    pub(super) fn publish(&mut self, source: &mut Source, peak: &mut Peak) -> Result<()> {
        self.held_bytes = 0;
        let held = std::mem::take(&mut self.held);
        let now = source.now().unwrap_or(0);
        // Taken out first: a track is opened by what the source knows of its stream.
        let queued: Vec<Item> = source.take().collect();
        for item in held.into_iter().chain(queued) {
            match item {
                Item::Frame(frame) => {
                    peak.unit(frame.times.dts, frame.packets(frame.starts_group()));
                    let es = source
                        .streams()
                        .values()
                        .find(|es| es.number == frame.stream);
                    es.map_or(Ok(()), |es| self.open(es))?;
                    let aside = Aside {
                        broadcast: &self.broadcast,
                        max_age: self.max_age,
                        decode_times: es.is_some_and(Es::has_odd_decode_times),
                    };
                    if let Some(output) = self.tracks.get_mut(&frame.stream) {
                        output.frame(frame, &aside)?;
                    }
                }
                Item::Ended(number) => {
                    if let Some(output) = self.tracks.get_mut(&number) {
                        output.finish()?;
                    }
                }
                Item::Table(key, payloads) => self.table(key, payloads, now)?,
            }
        }
        Ok(())
    }

    /// Finishes every track.
    pub(super) fn finish(&mut self) -> Result<()> {
        for output in self.tracks.values_mut() {
            output.finish()?;
        }
        for track in self.tables.values().chain([&self.anchors]) {
            track.finish()?;
        }
        Ok(self.catalog_track.finish()?)
    }

    /// What was published, in the order of the PMT.
    pub(super) fn stats(&self, source: &Source) -> Vec<TrackStats> {
        let mut streams: Vec<&Es> = source.streams().values().collect();
        streams.sort_by_key(|es| es.index);
        let published = |es: &&Es| self.tracks.get(&es.number).map(Output::stats);
        streams
            .iter()
            .map(|es| {
                let skipped = if let Body::Audio(audio) = &es.body {
                    audio.skipped()
                } else {
                    0
                };
                let name = es
                    .name()
                    .unwrap_or_else(|| format!("pid {:#06x}", es.listed.pid));
                let stats = published(es).cloned().unwrap_or_default();
                TrackStats {
                    name,
                    dropped: es.dropped,
                    skipped,
                    ..stats
                }
            })
            .collect()
    }

    /// Creates the track of a stream, if it can be described and has none.
    fn open(&mut self, es: &Es) -> Result<()> {
        let (Some(name), false) = (es.name(), self.tracks.contains_key(&es.number)) else {
            return Ok(());
        };
        let is_video = matches!(es.body, Body::Video(_));
        let priority = match es.body {
            Body::Video(_) => priority::VIDEO,
            Body::Audio(_) => priority::AUDIO,
            Body::Units { .. } | Body::Sections => priority::SIDE,
        };
        let track = create(&self.broadcast, &name, priority, self.max_age)?;
        self.tracks.insert(es.number, Output::new(track, is_video));
        Ok(())
    }

    fn open_table(&mut self, key: si::Key) -> Result<()> {
        if !self.tables.contains_key(&key) {
            let track = create(
                &self.broadcast,
                &table_name(key),
                priority::TABLE,
                self.max_age,
            )?;
            self.tables.insert(key, track);
        }
        Ok(())
    }

    /// A new state of a table: the group is all of it.
    fn table(&mut self, key: si::Key, payloads: Vec<Bytes>, now: i64) -> Result<()> {
        self.open_table(key)?;
        if let Some(track) = self.tables.get(&key) {
            let group = track.append_group()?;
            for payload in payloads {
                group.write_frame(timestamp(now), payload)?;
            }
            group.finish()?;
        }
        Ok(())
    }

    /// Whether half a second passed since the last anchors.
    pub(super) fn is_anchor_due(&self, now: i64) -> bool {
        now.div_euclid(ANCHOR_DISTANCE) != self.anchored
    }

    /// Says of every track from which packet count its next group starts, or the open one. Stamped with the earliest
    /// time a unit still to come may be decoded at, so that a reader knows up to where it has everything.
    pub(super) fn anchor(&mut self, from: i64) -> Result<()> {
        self.anchored = from.div_euclid(ANCHOR_DISTANCE);
        let outputs = self.tracks.values().filter(|output| !output.is_ended());
        let anchors: Anchors = outputs
            .map(|output| (output.name().to_owned(), output.anchor()))
            .collect();
        let group = self.anchors.append_group()?;
        group.write_frame(timestamp(from), serde_json::to_vec(&anchors)?)?;
        Ok(group.finish()?)
    }
}

pub(super) fn create(
    broadcast: &Broadcast,
    name: &str,
    priority: u8,
    max_age: Duration,
) -> Result<Track> {
    let info = TrackInfo {
        priority,
        max_age,
        timescale: Timescale::MICROS,
    };
    Ok(broadcast.create_track(name, info)?)
}

/// Ticks of 90 kHz on the wire; what lies before zero cannot be written and is zero.
pub(super) fn timestamp(ticks: i64) -> Timestamp {
    Timestamp::from_micros(micros_from_90k(ticks).try_into().unwrap_or(0))
}
