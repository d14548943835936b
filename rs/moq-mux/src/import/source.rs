//! From the units of a multiplex to the frames of tracks: the pure middle of the importer.
//!
//! Takes what the demultiplexer hands out, knows each elementary stream, and queues [`Item`]s in the order they are to
//! be published. No track, no broadcast, no clock of its own: the same code serves publishing and scanning.

use std::collections::BTreeMap;

use super::item::Item;
use super::si;
use super::stream::{Body, Es};
use crate::ts::demux::{Handler, Map};
use crate::ts::pes::Unit;
use crate::ts::psi::Section;
use crate::ts::timeline::Times;

/// All of one programme.
#[derive(Debug, Default)]
pub(super) struct Source {
    map: Option<Map>,
    /// By PID.
    streams: BTreeMap<u16, Es>,
    tables: si::Tables,
    items: Vec<Item>,
    numbers: u32,
    revision: u32,
    clock: Option<i64>,
    latest: Option<i64>,
}

impl Source {
    /// The programme as last described.
    pub(super) fn map(&self) -> Option<&Map> {
        self.map.as_ref()
    }

    /// Grows whenever what the catalog says of the streams changes in kind, not only in a measured number.
    pub(super) fn revision(&self) -> u32 {
        self.revision
    }

    /// Programme clock, or the latest decode time without one, in ticks of 90 kHz.
    pub(super) fn now(&self) -> Option<i64> {
        self.clock.map(|clock| clock / 300).or(self.latest)
    }

    /// The elementary streams by PID.
    pub(super) fn streams(&self) -> &BTreeMap<u16, Es> {
        &self.streams
    }

    /// The tables there are.
    pub(super) fn tables(&self) -> impl Iterator<Item = si::Key> {
        self.tables.keys()
    }

    /// The end: what waited for its turn is queued.
    pub(super) fn finish(&mut self) {
        self.take_tables(self.now(), true);
    }

    /// Sections of service information over the bounds.
    pub(super) fn refused_sections(&self) -> u64 {
        self.tables.refused()
    }

    /// What is to be published, in order; what is taken is gone.
    pub(super) fn take(&mut self) -> std::vec::Drain<'_, Item> {
        self.items.drain(..)
    }

    fn take_tables(&mut self, now: Option<i64>, all: bool) {
        let before = self.tables.keys().count();
        let taken = self.tables.take(now.unwrap_or(0), all);
        self.items
            .extend(taken.map(|(key, payloads)| Item::Table(key, payloads)));
        self.revision += u32::from(self.tables.keys().count() != before);
    }

    /// The earliest presentation time of a frame that is begun and not cut yet, in ticks of 90 kHz.
    pub(super) fn earliest_begun(&self) -> Option<i64> {
        self.streams.values().filter_map(Es::begun).min()
    }

    /// By how much the same material must come later to follow on what is there, in ticks of 90 kHz.
    pub(super) fn length(&self) -> i64 {
        let lengths = self
            .streams
            .values()
            .filter(|es| !matches!(es.body, Body::Sections));
        lengths
            .filter_map(|es| Some(es.span.end? - es.span.first?))
            .max()
            .unwrap_or(0)
    }

    /// The material starts again: what was cut off stays cut off, and lengths are measured anew.
    pub(super) fn restart(&mut self) {
        self.streams.values_mut().for_each(Es::restart);
    }
}

impl Handler for Source {
    fn program(&mut self, map: &Map) {
        self.revision += 1;
        let mut streams = BTreeMap::new();
        for (index, (listed, kind)) in map.streams().enumerate() {
            let index = index as u32;
            let es = match self.streams.remove(&listed.pid) {
                Some(es) if es.listed.stream_type == listed.stream_type && es.kind == kind => Es {
                    index,
                    listed: listed.clone(),
                    ..es
                },
                other => {
                    self.items.extend(other.map(|es| Item::Ended(es.number)));
                    self.numbers += 1;
                    Es::new(self.numbers - 1, index, listed, kind)
                }
            };
            streams.insert(listed.pid, es);
        }
        self.items
            .extend(self.streams.values().map(|es| Item::Ended(es.number)));
        self.streams = streams;
        self.map = Some(map.clone());
    }

    fn unit(&mut self, pid: u16, unit: Unit<Option<Times>>) {
        let now = self.now();
        let Some(es) = self.streams.get_mut(&pid) else {
            return;
        };
        let before = es.kind_of_description();
        if let Some(latest) = es.unit(unit, now, &mut self.items) {
            self.latest = Some(latest);
        }
        self.revision += u32::from(es.kind_of_description() != before);
    }

    fn section(&mut self, pid: u16, section: Section<'_>, now: Option<i64>) {
        let Some(es) = self.streams.get_mut(&pid) else {
            self.tables.section(pid, section);
            self.take_tables(now, false);
            return;
        };
        es.section(section, now, &mut self.items);
    }

    fn clock(&mut self, ticks: i64) {
        self.clock = Some(ticks);
    }

    fn time_base(&mut self) {
        for es in self.streams.values_mut() {
            if let Body::Video(video) = &mut es.body {
                video.rule.restart();
            }
        }
    }
}
