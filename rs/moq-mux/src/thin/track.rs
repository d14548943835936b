//! One track being read: groups put in sequence, frames into units with decode times.

use std::collections::BTreeMap;
use std::task::{Context, Poll};

use bytes::Bytes;
use moq_net::{BroadcastConsumer, GroupConsumer, Subscriber, Subscription};

use super::author::Author;
use super::tstd::Limits;
use super::writer::{PesHead, Unit};
use crate::catalog::{Catalog, Framing};
use crate::codec::{aac, h264};
use crate::ts::clock::ticks_90k_from_micros;
use crate::ts::psi::PmtStream;
use crate::{Result, container};

pub(super) enum Kind {
    Video { author: Author<(Bytes, bool)>, stream_id: u8 },
    Audio { adts: Option<[u8; 7]>, stream_id: u8 },
    Pes { stream_id: u8 },
    Section,
}

pub(super) struct TrackIn {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) stream: PmtStream,
    pub(super) index: u32,
    pub(super) limits: Limits,
    subscriber: Subscriber,
    groups: BTreeMap<u64, GroupConsumer>,
    next: Option<u64>,
    started: bool,
    pub(super) finished: bool,
    no_more_groups: bool,
    pub(super) newest: Option<i64>,
    pub(super) lane: Option<usize>,
    pub(super) units: Vec<(i64, Unit)>,
}

impl TrackIn {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.finished {
            return Poll::Pending;
        }
        if self.next.is_none() {
            match self.subscriber.poll_start(cx) {
                Poll::Ready(Ok(Some(start))) => self.next = Some(start),
                Poll::Ready(_) => {
                    self.end();
                    return Poll::Ready(Ok(()));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        loop {
            if !self.no_more_groups {
                match self.subscriber.poll_recv_group(cx) {
                    Poll::Ready(Ok(Some(group))) => {
                        self.groups.insert(group.sequence(), group);
                        continue;
                    }
                    Poll::Ready(_) => self.no_more_groups = true,
                    Poll::Pending => {}
                }
            }
            let next = self.next.unwrap_or(0);
            let Some((&sequence, group)) = self.groups.iter_mut().next() else {
                if self.no_more_groups {
                    self.end();
                    return Poll::Ready(Ok(()));
                }
                return Poll::Pending;
            };
            if sequence > next && !self.no_more_groups {
                return Poll::Pending;
            }
            match group.poll_read_frame(cx) {
                Poll::Ready(Ok(Some(frame))) => {
                    let first = !std::mem::replace(&mut self.started, true);
                    self.frame(frame.payload, first)?;
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Ok(None) | Err(_)) => {
                    self.groups.remove(&sequence);
                    self.next = Some(sequence + 1);
                    self.started = false;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn frame(&mut self, payload: Bytes, first: bool) -> Result<()> {
        let (micros, unit) = container::split(payload)?;
        let pts = ticks_90k_from_micros(micros as i64);
        match &mut self.kind {
            Kind::Video { author, .. } => {
                if first && let Some(sps) = h264::front(&unit).sps.and_then(h264::Sps::parse) && self.stream.stream_type == 0x1b {
                    self.limits = Limits::h264(sps.profile, sps.level, sps.hrd.map(|hrd| hrd.bit_rate));
                }
                author.push(pts, (unit, first));
                self.drain();
            }
            Kind::Audio { adts, stream_id } => {
                let header = adts.map(|template| aac::with_length(&template, unit.len() + 7));
                let prefix = header.as_ref().map_or(&[][..], |header| &header[..]);
                let head = PesHead { stream_id: *stream_id, pts, dts: pts, prefix, random_access: false };
                self.units.push((pts, Unit::pes(head, unit)));
            }
            Kind::Pes { stream_id } => {
                let head = PesHead { stream_id: *stream_id, pts, dts: pts, prefix: &[], random_access: false };
                self.units.push((pts, Unit::pes(head, unit)));
            }
            Kind::Section => self.units.push((pts, Unit::section(unit))),
        }
        if let Some((dts, _)) = self.units.last() {
            self.newest = self.newest.max(Some(*dts));
        }
        Ok(())
    }

    fn drain(&mut self) {
        if let Kind::Video { author, stream_id } = &mut self.kind {
            while let Some((dts, pts, (unit, first))) = author.pop() {
                let head = PesHead { stream_id: *stream_id, pts, dts, prefix: &[], random_access: first };
                self.units.push((dts, Unit::pes(head, unit)));
                self.newest = self.newest.max(Some(dts));
            }
        }
    }

    fn end(&mut self) {
        if let Kind::Video { author, .. } = &mut self.kind {
            author.end();
        }
        self.drain();
        self.finished = true;
    }

    pub(super) fn is_sparse(&self) -> bool {
        matches!(self.kind, Kind::Pes { .. } | Kind::Section)
    }
}

pub(super) fn open(broadcast: &BroadcastConsumer, catalog: &Catalog) -> Result<Vec<TrackIn>> {
    let mut tracks = Vec::new();
    let mpegts = catalog.mpegts.clone().unwrap_or_default();
    let mut pid = 0x100u16;
    let names = catalog.video.renditions.keys().chain(catalog.audio.renditions.keys()).chain(
        mpegts.tracks.iter().filter(|(_, track)| track.verbatim.is_some()).map(|(name, _)| name),
    );
    for name in names {
        let known = mpegts.tracks.get(name).cloned().unwrap_or_default();
        pid += 1;
        let (kind, stream_type, limits) = if let Some(video) = catalog.video.renditions.get(name) {
            let h265 = !video.codec.starts_with("avc");
            let level = video.codec.rsplit(".L").next().and_then(|level| level.split('.').next()?.parse().ok()).unwrap_or(93);
            let limits = if h265 { Limits::h265(false, level, None) } else { Limits::h264(100, 31, None) };
            let author = Author::new(known.decode_delay);
            (Kind::Video { author, stream_id: known.stream_id.unwrap_or(0xe0) }, if h265 { 0x24 } else { 0x1b }, limits)
        } else if let Some(audio) = catalog.audio.renditions.get(name) {
            let adts = known.adts.as_ref().and_then(|adts| hex::decode(&adts.header).ok()?.try_into().ok());
            let (stream_type, limits) = match audio.codec.as_str() {
                "ac-3" => (0x81, Limits::AC3),
                "ec-3" => (0x87, Limits::EAC3),
                "mp2" => (0x03, Limits::MPEG_AUDIO),
                _ => (0x0f, Limits::adts(audio.number_of_channels)),
            };
            (Kind::Audio { adts, stream_id: known.stream_id.unwrap_or(0xc0) }, stream_type, limits)
        } else if let Some(verbatim) = &known.verbatim {
            let kind = match verbatim.framing {
                Framing::Pes => Kind::Pes { stream_id: verbatim.stream_id.unwrap_or(0xbd) },
                Framing::Section => Kind::Section,
            };
            (kind, verbatim.stream_type, Limits::DATA)
        } else {
            continue;
        };
        let stream = PmtStream {
            stream_type: known.stream_type.unwrap_or(stream_type),
            pid: if known.pid == 0 { pid } else { known.pid },
            descriptors: known.descriptors.clone(),
        };
        tracks.push(TrackIn {
            name: name.clone(),
            kind,
            stream,
            index: known.index.unwrap_or(u32::from(pid)),
            limits,
            subscriber: broadcast.subscribe(name, Subscription { priority: 100, ..Subscription::everything() })?,
            groups: BTreeMap::new(),
            next: None,
            started: false,
            finished: false,
            no_more_groups: false,
            newest: None,
            lane: None,
            units: Vec::new(),
        });
    }
    tracks.sort_by_key(|track| track.index);
    Ok(tracks)
}
