//! A broadcast into a transport stream at constant rate.
//!
//! | file | what it owns |
//! |---|---|
//! | `mod.rs` | [`Export`]: the catalog, when a slot is settled, the rate |
//! | `sequence.rs` | groups that arrive in any order, read in sequence |
//! | `describe.rs` | what a catalog makes of a track |
//! | `track.rs` | one media track: frames into units with decode times |
//! | `tables.rs` | service information, repeated |
//!
//! Called by whoever wants bytes; the byte work is [`crate::ts::mux`]. Knows tracks and the catalog, and no sockets. The
//! wall clock decides one thing only: when to stop waiting for a track that says nothing.

mod describe;
mod sequence;
mod tables;
mod track;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use moq_net::{BroadcastConsumer, Subscription};

use self::sequence::{Item, Sequence};
use self::tables::Table;
use self::track::TrackIn;
use crate::catalog::{self, Anchors, Catalog};
use crate::ts::clock::ticks_90k_from_micros;
use crate::ts::mux::Mux;
pub use crate::ts::mux::SlotInfo;
use crate::ts::peak::Peak;
use crate::ts::slot::{Rate, SLOT, slot_of};
use crate::{Error, Result};

/// How early a unit may be sent, in ticks of 27 MHz: one second, the longest data may wait in a decoder
/// (ISO/IEC 13818-1 §2.4.2.6).
const LEAD: i64 = 27_000_000;

/// How an exporter works.
#[derive(Clone, Debug)]
pub struct ExportConfig {
    /// Constant rate in bit/s; without it the source's own, or one from its peak.
    pub rate: Option<u64>,
    /// How far behind the newest media a group may be to be asked for still.
    pub max_age: Duration,
    /// How long a track that says nothing is waited for while others go on.
    pub patience: Duration,
    /// Priority asked for the media, 0 to 254; the catalog comes with one more.
    pub priority: u8,
}

impl Default for ExportConfig {
    /// Everything the broadcast keeps, and ten seconds for a track that stalls.
    fn default() -> Self {
        Self {
            rate: None,
            max_age: Duration::MAX,
            patience: Duration::from_secs(10),
            priority: 100,
        }
    }
}

/// What was exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportStats {
    /// Units that were complete only after their decode time: the rate is too low for them.
    pub late: u64,
    /// Groups that never came.
    pub missing: u64,
    /// Times a track was no longer waited for.
    pub stalls: u64,
}

/// Exports one broadcast.
pub struct Export {
    broadcast: BroadcastConsumer,
    config: ExportConfig,
    catalogs: Option<Sequence>,
    catalog: Option<Catalog>,
    tracks: Vec<TrackIn>,
    tables: Vec<Table>,
    anchors: Option<Sequence>,
    /// The latest anchors and their time, in ticks of 90 kHz.
    anchored: Option<(i64, Anchors)>,
    mux: Option<Mux>,
    /// Counters to go on from after a seam.
    counters: Option<Vec<(u16, u8)>>,
    /// Rate asked for by what came late.
    raised: u64,
    version: u8,
    stats: ExportStats,
    /// Late units of multiplexes before the last seam.
    late_before: u64,
}

impl Export {
    /// An exporter of `broadcast`. It subscribes on the first call of [`Export::next_slot`].
    pub fn new(broadcast: BroadcastConsumer, config: ExportConfig) -> Self {
        Self {
            broadcast,
            config,
            catalogs: None,
            catalog: None,
            tracks: Vec::new(),
            tables: Vec::new(),
            anchors: None,
            anchored: None,
            mux: None,
            counters: None,
            raised: 0,
            version: 0,
            stats: ExportStats::default(),
            late_before: 0,
        }
    }

    /// Goes on with another broadcast on the same output: its times are its own, so the next clock packet marks a new
    /// time base; counters run on.
    pub fn resume(&mut self, broadcast: BroadcastConsumer) {
        let counters = self
            .mux
            .as_ref()
            .map(Mux::counters)
            .or_else(|| self.counters.take());
        let late_before = self.stats().late;
        let stats = self.stats;
        let version = self.version.wrapping_add(1);
        *self = Self {
            counters,
            late_before,
            stats,
            version,
            ..Self::new(broadcast, self.config.clone())
        };
    }

    /// What was exported so far.
    pub fn stats(&self) -> ExportStats {
        let late = self.late_before + self.mux.as_ref().map_or(0, Mux::late);
        ExportStats { late, ..self.stats }
    }

    /// The catalog in force, once it is known.
    pub fn catalog(&self) -> Option<&Catalog> {
        self.catalog.as_ref()
    }

    /// Appends the next slot to `out`, as soon as nothing is to come that belongs into it. `None` when every track ended
    /// and everything is out.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when all that came is out and the broadcast ended without its publisher's word;
    /// [`Error::Net`] when it has no catalog; [`Error::NoTracks`] when nothing in the catalog can be exported.
    pub async fn next_slot(&mut self, out: &mut Vec<u8>) -> Result<Option<SlotInfo>> {
        if self.catalog.is_none() {
            self.open().await?;
        }
        self.settle().await?;
        if self.mux.is_none() {
            self.begin();
        }
        let Some(mux) = &mut self.mux else {
            return self.finish();
        };
        for track in &mut self.tracks {
            let lane = mux.lane_of(track.described.stream.pid, track.described.limits);
            mux.set_limits(lane, track.described.limits);
            for (dts, unit) in track.units.drain(..) {
                mux.push(lane, dts * 300, unit, None);
            }
        }
        if mux.is_empty() && self.tracks.iter().all(|track| track.is_ended) {
            return self.finish();
        }
        let slot = mux.slot();
        for table in &mut self.tables {
            table.send(mux, slot);
        }
        if let Some(needed) = mux.needed().filter(|_| self.config.rate.is_none()) {
            // What waits would be late: raised once, with a twentieth to spare, and kept.
            self.raised = needed + needed / 20;
            mux.set_rate(self.raised);
        }
        let late = mux.late();
        let info = mux.next_slot(out);
        if mux.late() > late && self.config.rate.is_none() {
            self.raised = mux.rate() + mux.rate() / 8;
            mux.set_rate(self.raised);
        }
        Ok(Some(info))
    }

    /// Reads the first catalog and subscribes to what it lists.
    async fn open(&mut self) -> Result<()> {
        let urgent = Subscription {
            priority: self.config.priority.saturating_add(1),
            ..Subscription::default()
        };
        let mut catalogs = Sequence::new(&self.broadcast, catalog::TRACK, urgent)?;
        loop {
            match poll_fn(|cx| catalogs.poll(cx)).await {
                Item::Frame(_, _, frame) => {
                    self.catalogs = Some(catalogs);
                    return self.describe(Catalog::parse(&frame.payload)?);
                }
                Item::GroupEnd => {}
                Item::End if catalogs.is_broken() => return Err(Error::Interrupted),
                Item::End => return Err(Error::NoTracks),
            }
        }
    }

    /// Takes a catalog: new tracks are subscribed to, tables and rate follow it.
    fn describe(&mut self, catalog: Catalog) -> Result<()> {
        let subscription = Subscription {
            priority: self.config.priority,
            max_age: self.config.max_age,
            start: (self.config.max_age == Duration::MAX).then_some(0),
            ..Subscription::default()
        };
        let tracks = describe::tracks(&catalog);
        if tracks.is_empty() && self.tracks.is_empty() {
            return Err(Error::NoTracks);
        }
        for described in tracks {
            if self
                .tracks
                .iter()
                .all(|track| track.described.name != described.name)
            {
                self.tracks
                    .push(TrackIn::new(&self.broadcast, described, &subscription)?);
            }
        }
        let mpegts = catalog.mpegts.as_ref();
        if self.anchors.is_none()
            && let Some(name) = mpegts.and_then(|mpegts| mpegts.anchors.as_ref())
        {
            self.anchors = Some(Sequence::new(&self.broadcast, name, subscription)?);
        }
        for table in Table::open(&self.broadcast, &catalog)? {
            if self.tables.iter().all(|known| known.key != table.key) {
                self.tables.push(table);
            }
        }
        self.catalog = Some(catalog);
        self.set_tables();
        Ok(())
    }

    fn set_tables(&mut self) {
        let (Some(mux), Some(catalog)) = (&mut self.mux, &self.catalog) else {
            return;
        };
        let described: Vec<_> = self
            .tracks
            .iter()
            .map(|track| track.described.clone())
            .collect();
        let (pat, pmt) = describe::tables(catalog, &described, self.version);
        if mux.set_tables(&pat, &pmt) {
            // A change is a new version, where the source does not count them itself.
            self.version = self.version.wrapping_add(1);
            let (pat, pmt) = describe::tables(catalog, &described, self.version);
            mux.set_tables(&pat, &pmt);
        }
        // A rate that was chosen here stays until something comes late: constant is worth more than tight.
        if let Some(rate) = source_rate(catalog).filter(|_| self.config.rate.is_none()) {
            mux.set_rate(rate.max(self.raised));
        }
    }

    /// Lays the first slot where the first unit can still be sent early enough.
    fn begin(&mut self) {
        let first = self
            .tracks
            .iter()
            .filter_map(|track| Some(track.units.first()?.0))
            .min();
        let (Some(first), Some(catalog)) = (first, &self.catalog) else {
            return;
        };
        let peak = catalog.mpegts.as_ref().and_then(|mpegts| mpegts.peak_rate);
        let rate = self
            .config
            .rate
            .or_else(|| source_rate(catalog))
            .or(peak)
            .unwrap_or_else(|| self.estimate());
        let mut mux = Mux::new(rate, slot_of(first * 300 - LEAD) - 1, LEAD);
        if let Some(counters) = self.counters.take() {
            mux.set_counters(counters);
            mux.mark_discontinuity();
        }
        self.mux = Some(mux);
        self.set_tables();
    }

    /// A rate from the units at hand, with a quarter to spare.
    fn estimate(&self) -> u64 {
        let mut peak = Peak::default();
        for (dts, unit) in self.tracks.iter().flat_map(|track| &track.units) {
            peak.unit(*dts, u64::from(unit.packets()));
        }
        peak.flush();
        let rate = peak.rate().unwrap_or(Rate::MIN.bits());
        self.raised.max(rate + rate / 4)
    }

    /// Reads until nothing is to come that belongs into the next slot.
    async fn settle(&mut self) -> Result<()> {
        loop {
            let patience = self.config.patience;
            match tokio::time::timeout(patience, poll_fn(|cx| self.poll_settled(cx))).await {
                Ok(settled) => return settled,
                Err(_) => self.lose_patience(),
            }
        }
    }

    fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.read_catalogs(cx)?;
        self.read_anchors(cx);
        for table in &mut self.tables {
            table.read(cx);
        }
        let need = self.need();
        loop {
            let mut moved = false;
            for track in &mut self.tracks {
                while !is_ahead(track, need) {
                    match track.poll(cx) {
                        Poll::Pending => break,
                        Poll::Ready(read) => read?,
                    }
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        let first = self.mux.is_none();
        let tracks = self.tracks.iter().all(|track| self.is_settled(track, need));
        let tables = !first || self.tables.iter().all(|table| !table.is_awaited());
        if tracks && tables {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    /// The decode time up to which units may go into the next slot, in ticks of 90 kHz; `None` before the first slot.
    fn need(&self) -> Option<i64> {
        self.mux
            .as_ref()
            .map(|mux| (mux.slot() * SLOT + LEAD).div_euclid(300) + 1)
    }

    fn is_settled(&self, track: &TrackIn, need: Option<i64>) -> bool {
        if is_ahead(track, need) || track.is_absent {
            return true;
        }
        if track.is_video() {
            // Its groups stay open for long: that one is begun says nothing of what is in it.
            return false;
        }
        let anchor = |(time, anchors): &(i64, Anchors)| {
            let passed = need.is_none_or(|need| *time >= need);
            passed
                && anchors
                    .get(&track.described.name)
                    .is_none_or(|anchor| track.position() >= anchor.group)
        };
        // Where anchors say how far the source has come, they speak for silent tracks; else a sparse one isn't waited for.
        match &self.anchored {
            Some(anchored) if track.newest.is_some() || track.is_sparse() => anchor(anchored),
            _ => track.is_sparse() && self.anchors.is_none(),
        }
    }

    /// Steps over holes, and leaves behind what says nothing while others go on.
    fn lose_patience(&mut self) {
        let need = self.need();
        let waits: Vec<bool> = self
            .tracks
            .iter()
            .map(|track| !self.is_settled(track, need))
            .collect();
        let others = self
            .tracks
            .iter()
            .any(|track| !track.is_ended && is_ahead(track, need));
        for (track, _) in self
            .tracks
            .iter_mut()
            .zip(waits)
            .filter(|(_, waits)| *waits)
        {
            if track.skip_hole() {
                self.stats.missing += 1;
            } else if others {
                track.is_absent = true;
                self.stats.stalls += 1;
            }
        }
    }

    fn read_catalogs(&mut self, cx: &mut Context<'_>) -> Result<()> {
        let mut newest = None;
        while let Some(catalogs) = &mut self.catalogs {
            match catalogs.poll(cx) {
                Poll::Ready(Item::Frame(_, _, frame)) => newest = Some(frame),
                Poll::Ready(Item::GroupEnd) => {}
                Poll::Ready(Item::End) => self.catalogs = None,
                Poll::Pending if catalogs.skip_hole() => {}
                Poll::Pending => break,
            }
        }
        match newest {
            Some(frame) => self.describe(Catalog::parse(&frame.payload)?),
            None => Ok(()),
        }
    }

    fn read_anchors(&mut self, cx: &mut Context<'_>) {
        while let Some(anchors) = &mut self.anchors {
            match anchors.poll(cx) {
                Poll::Ready(Item::Frame(_, _, frame)) => {
                    let time = ticks_90k_from_micros(
                        i64::try_from(frame.timestamp.as_micros()).unwrap_or(i64::MAX),
                    );
                    // What cannot be read says nothing.
                    let read: BTreeMap<_, _> =
                        serde_json::from_slice(&frame.payload).unwrap_or_default();
                    if !read.is_empty() {
                        self.anchored = Some((time, read));
                    }
                }
                Poll::Ready(Item::GroupEnd) => {}
                Poll::Ready(Item::End) => self.anchors = None,
                Poll::Pending if anchors.skip_hole() => {}
                Poll::Pending => break,
            }
        }
    }

    fn finish(&self) -> Result<Option<SlotInfo>> {
        if self.tracks.iter().any(TrackIn::is_broken) {
            return Err(Error::Interrupted);
        }
        Ok(None)
    }
}

/// Whether everything of the track up to `need` has been read; with `None`, whether anything has.
fn is_ahead(track: &TrackIn, need: Option<i64>) -> bool {
    let newest = match need {
        Some(need) => track.newest.is_some_and(|newest| newest >= need),
        None => track.newest.is_some(),
    };
    track.is_ended || newest
}

/// The rate the source had, when it was constant.
fn source_rate(catalog: &Catalog) -> Option<u64> {
    catalog.mpegts.as_ref().and_then(|mpegts| mpegts.mux_rate)
}
