//! One elementary stream of a source: what it is, and its units turned into frames.

use super::audio::Audio;
use super::item::{Frame, Item, Shape};
use super::video::{Role, Video};
use crate::codec::audio::Format;
use crate::container::{Builder, HEADROOM};
use crate::ts::demux::StreamKind;
use crate::ts::pes::Unit;
use crate::ts::psi::{PmtStream, Section};
use crate::ts::timeline::Times;

/// An elementary stream.
#[derive(Debug)]
pub(super) struct Es {
    /// Its own number, never given again: the front of its track's name.
    pub(super) number: u32,
    /// Position in the PMT.
    pub(super) index: u32,
    pub(super) listed: PmtStream,
    pub(super) kind: StreamKind,
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
    pub(super) fn new(number: u32, index: u32, listed: &PmtStream, kind: StreamKind) -> Self {
        let body = match kind {
            StreamKind::H264 | StreamKind::H265 => Body::Video(Box::new(Video::new(kind))),
            StreamKind::Aac => Body::Audio(Audio::new(Format::Aac)),
            StreamKind::MpegAudio => Body::Audio(Audio::new(Format::MpegAudio)),
            StreamKind::Ac3 | StreamKind::Eac3 => Body::Audio(Audio::new(Format::Ac3)),
            StreamKind::Units => Body::Units { reordered: false },
            StreamKind::Sections => Body::Sections,
        };
        Self {
            number,
            index,
            listed: listed.clone(),
            kind,
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
    pub(super) fn unit(
        &mut self,
        unit: Unit<Option<Times>>,
        now: Option<i64>,
        items: &mut Vec<Item>,
    ) -> Option<i64> {
        self.stream_id = Some(unit.header.stream_id);
        let payload = unit.data.get(HEADROOM..).unwrap_or_default();
        let (times, shape, duration) = match &mut self.body {
            Body::Audio(audio) => {
                let pts = unit.mark.map(|times| times.pts);
                audio.packet(payload, pts, unit.damaged, |cut| {
                    self.span.add(cut.pts, cut.duration, cut.len);
                    items.push(Item::Frame(Frame {
                        stream: self.number,
                        shape: Shape::Unit,
                        times: Times {
                            pts: cut.pts,
                            dts: cut.pts,
                        },
                        payload: cut.payload,
                        len: cut.len,
                        header: cut.header,
                    }));
                });
                if audio.is_hopeless() {
                    // It is not what the PMT calls it; from here on it is carried as it is.
                    self.dropped += 1;
                    self.body = Body::Units { reordered: false };
                }
                return unit.mark.map(|times| times.dts);
            }
            Body::Video(video) => {
                if unit.damaged {
                    video.rule.restart();
                    self.dropped += 1;
                    return None;
                }
                let untimed = || video.next_time().map(|pts| Times { pts, dts: pts });
                let taken = unit
                    .mark
                    .or_else(untimed)
                    .map(|times| (times, video.unit(payload, times)));
                let Some((times, role)) = taken.filter(|&(_, role)| role != Role::Undecodable)
                else {
                    self.dropped += 1;
                    return None;
                };
                let shape = Shape::Picture {
                    random_access: role == Role::Start,
                };
                (times, shape, video.rule.period().unwrap_or(0))
            }
            Body::Units { reordered } => {
                let times = unit.mark.or(now.map(|now| Times { pts: now, dts: now }));
                let Some(times) = times.filter(|_| !unit.damaged) else {
                    self.dropped += 1;
                    return None;
                };
                *reordered |= times.pts != times.dts;
                (times, Shape::Unit, 0)
            }
            Body::Sections => return None,
        };
        self.span.add(times.pts, duration, payload.len());
        items.push(Item::Frame(Frame::new(
            self.number,
            shape,
            times,
            unit.data,
        )));
        Some(times.dts)
    }

    /// Takes a section that came at `now`.
    pub(super) fn section(
        &mut self,
        section: Section<'_>,
        now: Option<i64>,
        items: &mut Vec<Item>,
    ) {
        let Some(now) = now else {
            self.dropped += 1;
            return;
        };
        let mut builder = Builder::with_capacity(section.bytes().len());
        builder.extend(section.bytes());
        self.span.add(now, 0, section.bytes().len());
        let times = Times { pts: now, dts: now };
        items.push(Item::Frame(Frame::new(
            self.number,
            Shape::Section,
            times,
            builder.into_inner(),
        )));
    }

    /// The material starts again: what was cut off stays cut off, and lengths are measured anew.
    pub(super) fn restart(&mut self) {
        self.span = Span::default();
        match &mut self.body {
            Body::Video(video) => video.restart(),
            Body::Audio(audio) => audio.restart(),
            Body::Units { .. } | Body::Sections => {}
        }
    }

    /// The earliest presentation time of a frame that is begun and not cut yet, in ticks of 90 kHz.
    pub(super) fn begun(&self) -> Option<i64> {
        if let Body::Audio(audio) = &self.body {
            audio.begun()
        } else {
            None
        }
    }

    /// Changes when the catalog has to say something else of the stream, apart from measured numbers.
    pub(super) fn kind_of_description(&self) -> (u32, bool) {
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
