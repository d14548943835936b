//! From the units of a multiplex to the frames of tracks: the pure middle of the importer.
//!
//! Takes what the demultiplexer hands out, knows each elementary stream, and queues [`Item`]s in the order they are to
//! be published. No track, no broadcast, no clock of its own: the same code serves publishing and scanning.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use super::audio::Audio;
use super::si;
use super::video::{Role, Video};
use crate::codec::audio::Format;
use crate::container::{Builder, HEADROOM};
use crate::ts::clock::micros_from_90k;
use crate::ts::demux::{Handler, Map, StreamKind};
use crate::ts::pes::{self, Unit};
use crate::ts::psi::{PmtStream, Section};
use crate::ts::timeline::Times;

/// Something to publish.
#[derive(Debug)]
pub(super) enum Item {
    /// A frame of a stream.
    Frame(Frame),
    /// The stream with this number is no longer listed.
    Ended(u32),
    /// What a table is from now on: one payload a sub-table.
    Table(si::Key, Vec<Bytes>),
}

/// A frame of the stream with this number.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) stream: u32,
    /// A group starts with it.
    pub(super) starts: bool,
    /// It is a picture decoding can start at.
    pub(super) random_access: bool,
    /// Ticks of 90 kHz.
    pub(super) times: Times,
    /// Unit and container.
    pub(super) payload: Bytes,
    /// Bytes of the elementary stream it stands for, rebuilt headers included.
    pub(super) len: usize,
    /// An ADTS header that no template gives.
    pub(super) header: Option<Bytes>,
}

impl Frame {
    /// Transport packets an exporter needs for it.
    pub(super) fn packets(&self) -> u64 {
        pes::packets(
            self.len,
            self.times.pts != self.times.dts,
            self.random_access,
        )
    }
}

/// An elementary stream.
#[derive(Debug)]
pub(super) struct Es {
    /// Its own number, never given again: the front of its track's name.
    pub(super) number: u32,
    /// Position in the PMT.
    pub(super) index: u32,
    pub(super) listed: PmtStream,
    pub(super) stream_id: Option<u8>,
    pub(super) body: Body,
    pub(super) span: Span,
    /// Units dropped: nothing to decode them with, damaged, or without any time.
    pub(super) dropped: u64,
}

/// What kind of stream it is.
#[derive(Debug)]
pub(super) enum Body {
    Video(Box<Video>),
    Audio(Audio),
    /// Carried as it is; `true` when its decode times differ from its presentation times.
    Units {
        reordered: bool,
    },
    Sections,
}

/// What a stream covered since the last start, in ticks of 90 kHz.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) bytes: u64,
    pub(super) first: Option<i64>,
    pub(super) end: Option<i64>,
}

impl Span {
    fn add(&mut self, start: i64, duration: i64, bytes: usize) {
        self.bytes += bytes as u64;
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
        let end = start + duration;
        self.end = Some(self.end.map_or(end, |last| last.max(end)));
    }

    /// Mean rate in bit/s, once two seconds were seen.
    pub(super) fn bitrate(&self) -> Option<u64> {
        let ticks = u64::try_from(self.end? - self.first?)
            .ok()
            .filter(|&ticks| ticks >= 180_000)?;
        Some((u128::from(self.bytes) * 8 * 90_000 / u128::from(ticks)) as u64)
    }
}

impl Es {
    fn new(number: u32, index: u32, listed: &PmtStream, kind: StreamKind) -> Self {
        let body = match kind {
            StreamKind::H264 | StreamKind::H265 => Body::Video(Box::new(Video::new(kind))),
            StreamKind::Aac => Body::Audio(Audio::new(Format::Aac)),
            StreamKind::MpegAudio => Body::Audio(Audio::new(Format::MpegAudio)),
            StreamKind::Ac3 | StreamKind::Eac3 => Body::Audio(Audio::new(Format::Ac3)),
            StreamKind::Opus | StreamKind::Units => Body::Units { reordered: false },
            StreamKind::Sections => Body::Sections,
        };
        Self {
            number,
            index,
            listed: listed.clone(),
            stream_id: None,
            body,
            span: Span::default(),
            dropped: 0,
        }
    }

    /// Name of its track, once it can be described.
    pub(super) fn name(&self) -> Option<String> {
        let suffix = match &self.body {
            Body::Video(video) => match video.rendition()?.codec.split('.').next() {
                Some("avc3") => "avc3",
                _ => "hev1",
            },
            Body::Audio(audio) => audio.codec()?.suffix(),
            Body::Units { .. } => "pes",
            Body::Sections => "section",
        };
        Some(format!("{}.{suffix}", self.number))
    }

    /// Whether decode times have to be carried, because the rule does not give them or cannot be tried.
    pub(super) fn has_odd_decode_times(&self) -> bool {
        match &self.body {
            Body::Video(video) => !video.rule.holds(),
            Body::Units { reordered } => *reordered,
            Body::Audio(_) | Body::Sections => false,
        }
    }

    /// How far presentation runs ahead of decoding, or how much sounds in one packet, in ms.
    pub(super) fn jitter(&self) -> Option<u32> {
        match &self.body {
            Body::Video(video) => video.rendition()?.jitter,
            Body::Audio(audio) => audio.rendition()?.jitter,
            Body::Units { .. } | Body::Sections => None,
        }
    }

    /// Takes a unit and queues what it holds; `now` stamps what has no time of its own. The latest decode time, if any.
    fn unit(
        &mut self,
        unit: Unit<Option<Times>>,
        now: Option<i64>,
        items: &mut Vec<Item>,
    ) -> Option<i64> {
        self.stream_id = Some(unit.header.stream_id);
        let payload = unit.data.get(HEADROOM..).unwrap_or_default();
        let (times, random_access, duration) = match &mut self.body {
            Body::Audio(audio) => {
                audio.packet(
                    payload,
                    unit.mark.map(|times| times.pts),
                    unit.damaged,
                    |cut| {
                        self.span.add(cut.pts, cut.duration, cut.len);
                        items.push(Item::Frame(Frame {
                            stream: self.number,
                            starts: true,
                            random_access: false,
                            times: Times {
                                pts: cut.pts,
                                dts: cut.pts,
                            },
                            payload: cut.payload,
                            len: cut.len,
                            header: cut.header,
                        }));
                    },
                );
                if audio.is_hopeless() {
                    // It is not what the PMT calls it; from here on it is carried as it is.
                    self.dropped += 1;
                    self.body = Body::Units { reordered: false };
                }
                return unit.mark.map(|times| times.dts);
            }
            Body::Video(video) if !unit.damaged => {
                let times = unit
                    .mark
                    .or_else(|| video.next_time().map(|pts| Times { pts, dts: pts }));
                match times.map(|times| (times, video.unit(payload, times))) {
                    None | Some((_, Role::Undecodable)) => {
                        self.dropped += 1;
                        return None;
                    }
                    Some((times, role)) => {
                        (times, role == Role::Start, video.rule.period().unwrap_or(0))
                    }
                }
            }
            Body::Video(video) => {
                video.rule.restart();
                self.dropped += 1;
                return None;
            }
            Body::Units { reordered } => {
                let Some(times) = unit
                    .mark
                    .or(now.map(|now| Times { pts: now, dts: now }))
                    .filter(|_| !unit.damaged)
                else {
                    self.dropped += 1;
                    return None;
                };
                *reordered |= times.pts != times.dts;
                (times, false, 0)
            }
            Body::Sections => return None,
        };
        self.span.add(times.pts, duration, payload.len());
        let starts = random_access || !matches!(self.body, Body::Video(_));
        items.push(Item::Frame(Frame {
            starts,
            random_access,
            ..framed(self.number, times, unit.data)
        }));
        Some(times.dts)
    }

    /// Changes when the catalog has to say something else of the stream, apart from measured numbers.
    fn kind_of_description(&self) -> (u32, bool) {
        match &self.body {
            Body::Video(video) => (video.descriptions(), video.rule.holds()),
            Body::Audio(audio) => (audio.descriptions(), audio.varies()),
            Body::Units { reordered } => {
                (u32::MAX - u32::from(self.stream_id.is_some()), *reordered)
            }
            Body::Sections => (0, false),
        }
    }

    /// Whether everything the catalog says of it is known.
    pub(super) fn is_described(&self) -> bool {
        match &self.body {
            Body::Video(video) => video.rendition().is_some() && video.rule.is_settled(),
            Body::Audio(audio) => audio.codec().is_some(),
            Body::Units { .. } => self.stream_id.is_some(),
            // Cues are rare: there is nothing to wait for.
            Body::Sections => true,
        }
    }
}

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
        let begun = |es: &Es| {
            if let Body::Audio(audio) = &es.body {
                audio.begun()
            } else {
                None
            }
        };
        self.streams.values().filter_map(begun).min()
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
        for es in self.streams.values_mut() {
            es.span = Span::default();
            match &mut es.body {
                Body::Video(video) => video.rule.restart(),
                Body::Audio(audio) => audio.restart(),
                Body::Units { .. } | Body::Sections => {}
            }
        }
    }
}

impl Handler for Source {
    fn program(&mut self, map: &Map) {
        self.revision += 1;
        let mut streams = BTreeMap::new();
        for (index, (listed, kind)) in map.streams().enumerate() {
            let index = index as u32;
            let es = match self.streams.remove(&listed.pid) {
                Some(es) if es.listed.stream_type == listed.stream_type => Es {
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
        let Some(now) = now else {
            es.dropped += 1;
            return;
        };
        let mut builder = Builder::with_capacity(section.bytes().len());
        builder.extend(section.bytes());
        es.span.add(now, 0, section.bytes().len());
        let times = Times { pts: now, dts: now };
        let frame = framed(es.number, times, builder.into_inner());
        self.items.push(Item::Frame(frame));
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

/// A frame, a group of its own, whose bytes have room for the container in front.
fn framed(stream: u32, times: Times, data: BytesMut) -> Frame {
    let len = data.len().saturating_sub(HEADROOM);
    // Times before zero exist only in a source that starts within seconds of it, and cannot be written.
    let micros = micros_from_90k(times.pts).try_into().unwrap_or(0);
    let payload = Builder::from(data).finish(micros);
    Frame {
        stream,
        starts: true,
        random_access: false,
        times,
        payload,
        len,
        header: None,
    }
}
