//! The tracks of a broadcast and what goes into them.
//!
//! Frames are held until the first catalog is written, so that whoever reads it finds every track with its first group.
//! Called by [`super::Import`]; knows what a source queues and nothing of transport streams.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use moq_net::{Broadcast, Group, Timescale, Timestamp, Track, TrackInfo};

use super::describe::{Described, decode_times_of, headers_of, table_name};
use super::si;
use super::source::{Body, Es, Frame, Item, Source};
use crate::catalog::{self, Anchor, Anchors, Catalog, Clock};
use crate::ts::clock::micros_from_90k;
use crate::ts::peak::Peak;
use crate::{Result, container};

/// The most bytes held before the first catalog.
const MOST_HELD: usize = 24 << 20;

/// A group is ended before it reaches what the network layer allows (8,192 frames, 32 MiB).
const MOST_FRAMES: u64 = 8_000;
const MOST_BYTES: usize = 30 << 20;

/// Name of the track of anchors, and their distance in ticks of 90 kHz: half a second.
const ANCHORS: &str = "mpegts.anchors";
const ANCHOR_DISTANCE: i64 = 45_000;

/// Urgency of tracks, 0 to 255: readers ask for media with their own, this breaks ties.
mod priority {
    pub(super) const CATALOG: u8 = 255;
    pub(super) const SIDE: u8 = 200;
    pub(super) const AUDIO: u8 = 160;
    pub(super) const VIDEO: u8 = 127;
    pub(super) const TABLE: u8 = 100;
}

/// What was published on one track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackStats {
    /// Name of the track.
    pub name: String,
    /// Groups begun.
    pub groups: u64,
    /// Frames written.
    pub frames: u64,
    /// Bytes of the elementary stream in them.
    pub bytes: u64,
    /// Units dropped: nothing to decode them with, packets missing in them, or no time.
    pub dropped: u64,
    /// Bytes of an audio stream that belonged to no frame.
    pub skipped: u64,
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

/// The track of one stream.
struct Output {
    track: Track,
    /// The open group of a video track; others have one frame a group.
    group: Option<Group>,
    is_video: bool,
    frames: u64,
    bytes: usize,
    decode_times: Option<Side>,
    headers: Option<Side>,
    stats: TrackStats,
    /// Packets an exporter needs for all units so far, and for those before the open group.
    packets: u64,
    packets_before: u64,
    ended: bool,
}

/// A track beside another, group for group.
struct Side {
    track: Track,
    group: Option<Group>,
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

    /// Where media time zero lies, from the next catalog on.
    pub(super) fn set_clock(&mut self, clock: Clock) {
        self.catalog.clock = Some(clock);
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
                    peak.unit(frame.times.dts, frame.packets());
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
        let published = |es: &&Es| self.tracks.get(&es.number).map(|output| &output.stats);
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
        let outputs = self.tracks.values().filter(|output| !output.ended);
        let anchors: Anchors = outputs
            .map(|output| (output.stats.name.clone(), output.anchor()))
            .collect();
        let group = self.anchors.append_group()?;
        group.write_frame(timestamp(from), serde_json::to_vec(&anchors)?)?;
        Ok(group.finish()?)
    }
}

impl Output {
    fn new(track: Track, is_video: bool) -> Self {
        let stats = TrackStats {
            name: track.name().into(),
            ..TrackStats::default()
        };
        Self {
            track,
            group: None,
            is_video,
            frames: 0,
            bytes: 0,
            decode_times: None,
            headers: None,
            stats,
            packets: 0,
            packets_before: 0,
            ended: false,
        }
    }

    fn frame(&mut self, frame: Frame, aside: &Aside<'_>) -> Result<()> {
        let full = self.frames >= MOST_FRAMES || self.bytes + frame.payload.len() > MOST_BYTES;
        if frame.starts || full || self.group.is_none() {
            self.start(&frame, aside)?;
        }
        let time = timestamp(frame.times.pts);
        let Some(group) = &self.group else {
            return Ok(());
        };
        self.frames += 1;
        self.bytes += frame.payload.len();
        self.stats.frames += 1;
        self.stats.bytes += frame.len as u64;
        self.packets += frame.packets();
        if let Some(side) = &self.decode_times {
            let delay = u64::try_from(frame.times.pts - frame.times.dts).unwrap_or(0);
            side.write(time, container::join(delay, &[]))?;
        }
        if let (Some(side), Some(header)) = (&self.headers, frame.header) {
            side.write(time, header)?;
        }
        group.write_frame(time, frame.payload)?;
        if !self.is_video {
            self.end_group()
        } else {
            Ok(())
        }
    }

    /// Ends the group before and begins the next, beside it those of the side tracks.
    fn start(&mut self, frame: &Frame, aside: &Aside<'_>) -> Result<()> {
        self.end_group()?;
        let group = self.track.append_group()?;
        let sequence = group.sequence();
        self.packets_before = self.packets;
        self.group = Some(group);
        (self.frames, self.bytes) = (0, 0);
        self.stats.groups += 1;
        if self.decode_times.is_none() && aside.decode_times {
            self.decode_times = Some(Side::new(aside, &decode_times_of(&self.stats.name))?);
        }
        if self.headers.is_none() && frame.header.is_some() {
            self.headers = Some(Side::new(aside, &headers_of(&self.stats.name))?);
        }
        for side in self.decode_times.iter_mut().chain(&mut self.headers) {
            side.group = Some(side.track.create_group(sequence)?);
        }
        Ok(())
    }

    /// Where the open group starts, or the next.
    fn anchor(&self) -> Anchor {
        match &self.group {
            Some(group) => Anchor {
                group: group.sequence(),
                packets: self.packets_before,
            },
            None => Anchor {
                group: self.track.latest().map_or(0, |latest| latest + 1),
                packets: self.packets,
            },
        }
    }

    fn end_group(&mut self) -> Result<()> {
        for side in self.decode_times.iter_mut().chain(&mut self.headers) {
            if let Some(group) = side.group.take() {
                group.finish()?;
            }
        }
        match self.group.take() {
            Some(group) => Ok(group.finish()?),
            None => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        self.end_group()?;
        for side in self
            .decode_times
            .take()
            .into_iter()
            .chain(self.headers.take())
        {
            side.track.finish()?;
        }
        Ok(self.track.finish()?)
    }
}

/// What a stream needs to open its side tracks.
struct Aside<'a> {
    broadcast: &'a Broadcast,
    max_age: Duration,
    /// The decode times cannot be authored.
    decode_times: bool,
}

impl Side {
    fn new(aside: &Aside<'_>, name: &str) -> Result<Self> {
        let track = create(aside.broadcast, name, priority::SIDE, aside.max_age)?;
        Ok(Self { track, group: None })
    }

    fn write(&self, time: Timestamp, payload: Bytes) -> Result<()> {
        match &self.group {
            Some(group) => Ok(group.write_frame(time, payload)?),
            None => Ok(()),
        }
    }
}

fn create(broadcast: &Broadcast, name: &str, priority: u8, max_age: Duration) -> Result<Track> {
    let info = TrackInfo {
        priority,
        max_age,
        timescale: Timescale::MICROS,
    };
    Ok(broadcast.create_track(name, info)?)
}

/// Ticks of 90 kHz on the wire; what lies before zero cannot be written and is zero.
fn timestamp(ticks: i64) -> Timestamp {
    Timestamp::from_micros(micros_from_90k(ticks).try_into().unwrap_or(0))
}
