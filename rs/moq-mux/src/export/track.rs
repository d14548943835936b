//! One media track being read: frames in sequence into units with decode times.

use std::collections::BTreeMap;
use std::task::{Context, Poll};

use bytes::Bytes;
use moq_net::{BroadcastConsumer, Subscription};

use super::describe::{Described, Kind};
use super::sequence::{Item, Sequence};
use crate::codec::{aac, h264};
use crate::ts::author::Author;
use crate::ts::clock::ticks_90k_from_micros;
use crate::ts::tstd::Limits;
use crate::ts::writer::{PesHead, Unit};
use crate::{Result, container};

/// A track and what was read of it.
pub(super) struct TrackIn {
    pub(super) described: Described,
    /// Units with their decode times (ticks of 90 kHz), to be taken by the multiplex.
    pub(super) units: Vec<(i64, Unit)>,
    /// Decode time of the newest unit.
    pub(super) newest: Option<i64>,
    pub(super) is_ended: bool,
    /// Not waited for until it delivers again.
    pub(super) is_absent: bool,
    frames: Sequence,
    author: Author<(Bytes, bool)>,
    side: Option<Side>,
    /// A frame that waits for the side track's.
    held: Option<(u64, u64, Bytes)>,
    sps: Bytes,
}

/// A track beside the media, frame for frame.
struct Side {
    frames: Sequence,
    read: BTreeMap<(u64, u64), Bytes>,
    is_ended: bool,
    is_headers: bool,
}

impl TrackIn {
    pub(super) fn new(
        broadcast: &BroadcastConsumer,
        described: Described,
        subscription: &Subscription,
    ) -> Result<Self> {
        let (side_track, is_headers) = match &described.kind {
            Kind::Audio {
                adts: Some(adts), ..
            } => (adts.track.as_ref(), true),
            _ => (described.decode_times.as_ref(), false),
        };
        let side = side_track.map(|name| {
            let frames = Sequence::new(broadcast, name, subscription.clone())?;
            Ok::<_, crate::Error>(Side {
                frames,
                read: BTreeMap::new(),
                is_ended: false,
                is_headers,
            })
        });
        let delay = match described.kind {
            Kind::Video { decode_delay, .. } => decode_delay,
            _ => Some(0),
        };
        Ok(Self {
            frames: Sequence::new(broadcast, &described.name, subscription.clone())?,
            described,
            units: Vec::new(),
            newest: None,
            is_ended: false,
            is_absent: false,
            author: Author::new(delay),
            side: side.transpose()?,
            held: None,
            sps: Bytes::new(),
        })
    }

    /// Reads one thing. Pending also once the track has ended.
    ///
    /// # Errors
    /// [`crate::Error::Container`] for a frame that has no time.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.is_ended {
            return Poll::Pending;
        }
        let (group, index, payload) = match self.held.take() {
            Some(held) => held,
            None => match std::task::ready!(self.frames.poll(cx)) {
                Item::Frame(group, index, frame) => (group, index, frame.payload),
                Item::GroupEnd => return Poll::Ready(Ok(())),
                Item::End => {
                    self.end();
                    return Poll::Ready(Ok(()));
                }
            },
        };
        let beside = match &mut self.side {
            None => None,
            Some(side) => match side.poll_for(cx, (group, index)) {
                Poll::Ready(beside) => beside,
                Poll::Pending => {
                    self.held = Some((group, index, payload));
                    return Poll::Pending;
                }
            },
        };
        self.is_absent = false;
        Poll::Ready(self.frame(index == 0, payload, beside))
    }

    /// Gives up a group that is missing while later ones are here; whether that helps.
    pub(super) fn skip_hole(&mut self) -> bool {
        let side = self
            .side
            .as_mut()
            .is_some_and(|side| side.frames.skip_hole());
        self.frames.skip_hole() || side
    }

    /// The group that is read next: all before it are through.
    pub(super) fn position(&self) -> u64 {
        self.frames.position()
    }

    /// Whether the track ended other than by its publisher's word.
    pub(super) fn is_broken(&self) -> bool {
        self.frames.is_broken()
    }

    /// Whether units come when they will: nobody can tell from silence that something is missing.
    pub(super) fn is_sparse(&self) -> bool {
        matches!(self.described.kind, Kind::Pes { .. } | Kind::Section)
    }

    /// Whether groups hold many units.
    pub(super) fn is_video(&self) -> bool {
        matches!(self.described.kind, Kind::Video { .. })
    }

    fn frame(&mut self, first: bool, payload: Bytes, beside: Option<Bytes>) -> Result<()> {
        let (micros, unit) = container::split(payload)?;
        let pts = ticks_90k_from_micros(i64::try_from(micros).unwrap_or(i64::MAX));
        let is_headers = self.side.as_ref().is_some_and(|side| side.is_headers);
        let delay = beside
            .clone()
            .filter(|_| !is_headers)
            .and_then(|bytes| container::split(bytes).ok());
        match &self.described.kind {
            Kind::Video { is_h264, .. } => {
                if first && *is_h264 {
                    self.declare(&unit);
                }
                if let Some((delay, _)) = delay {
                    self.unit(pts - delay as i64, pts, unit, first);
                } else {
                    self.author.push(pts, (unit, first));
                    self.draw();
                }
            }
            Kind::Audio { stream_id, adts } => {
                let template = adts
                    .as_ref()
                    .map(|adts| aac::with_length(&adts.template, unit.len() + aac::HEADER));
                let prefix = beside
                    .as_deref()
                    .or(template.as_ref().map(|header| &header[..]))
                    .unwrap_or_default();
                let head = PesHead {
                    stream_id: *stream_id,
                    pts,
                    dts: pts,
                    prefix,
                    random_access: false,
                };
                self.push(pts, Unit::pes(head, unit));
            }
            Kind::Pes { .. } => self.unit(
                pts - delay.map_or(0, |(delay, _)| delay as i64),
                pts,
                unit,
                false,
            ),
            Kind::Section => self.push(pts, Unit::section(unit)),
        }
        Ok(())
    }

    /// A declared buffer rate narrows what the level allows.
    fn declare(&mut self, unit: &[u8]) {
        let Some(sps) = h264::front(unit).sps else {
            return;
        };
        if self.sps != sps {
            self.sps = Bytes::copy_from_slice(sps);
            if let Some(sps) = h264::Sps::parse(sps) {
                self.described.limits = Limits::h264(sps.profile, sps.level, sps.hrd);
            }
        }
    }

    fn draw(&mut self) {
        while let Some((dts, pts, (unit, random_access))) = self.author.pop() {
            self.unit(dts, pts, unit, random_access);
        }
    }

    fn unit(&mut self, dts: i64, pts: i64, unit: Bytes, random_access: bool) {
        let (Kind::Video { stream_id, .. } | Kind::Pes { stream_id }) = self.described.kind else {
            return;
        };
        let head = PesHead {
            stream_id,
            pts,
            dts,
            prefix: &[],
            random_access,
        };
        self.push(dts, Unit::pes(head, unit));
    }

    fn push(&mut self, dts: i64, unit: Unit) {
        self.newest = self.newest.max(Some(dts));
        self.units.push((dts, unit));
    }

    fn end(&mut self) {
        self.author.end();
        self.draw();
        self.is_ended = true;
    }
}

impl Side {
    /// The side frame of a media frame; `None` when there is none.
    fn poll_for(&mut self, cx: &mut Context<'_>, place: (u64, u64)) -> Poll<Option<Bytes>> {
        loop {
            self.read.retain(|&at, _| at >= place);
            if let Some(frame) = self.read.remove(&place) {
                return Poll::Ready(Some(frame));
            }
            if self.is_ended
                || self.read.keys().next().is_some_and(|&at| at > place)
                || self.frames.position() > place.0
            {
                return Poll::Ready(None);
            }
            match std::task::ready!(self.frames.poll(cx)) {
                Item::Frame(group, index, frame) => {
                    self.read.insert((group, index), frame.payload);
                }
                Item::GroupEnd => {}
                Item::End => self.is_ended = true,
            }
        }
    }
}
