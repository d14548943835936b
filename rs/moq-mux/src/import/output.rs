//! The track of one elementary stream: its groups, and the side tracks that go with them.
//!
//! Called by the publisher; knows frames and nothing of where they came from.

use std::time::Duration;

use bytes::Bytes;
use moq_net::{Broadcast, Group, Timestamp, Track};

use super::describe::{decode_times_of, headers_of};
use super::item::Frame;
use super::publish::{create, priority, timestamp};
use crate::catalog::Anchor;
use crate::{Result, container};

/// A group is ended before it reaches what the network layer allows (8,192 frames, 32 MiB).
const MOST_FRAMES: u64 = 8_000;
const MOST_BYTES: usize = 30 << 20;

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

/// The track of one stream.
pub(super) struct Output {
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

impl Output {
    pub(super) fn new(track: Track, is_video: bool) -> Self {
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

    /// Name of the track.
    pub(super) fn name(&self) -> &str {
        &self.stats.name
    }

    /// What was published.
    pub(super) fn stats(&self) -> &TrackStats {
        &self.stats
    }

    /// Whether its stream is gone.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Writes a frame, into the next group where one begins.
    pub(super) fn frame(&mut self, frame: Frame, aside: &Aside<'_>) -> Result<()> {
        let full = self.frames >= MOST_FRAMES || self.bytes + frame.payload.len() > MOST_BYTES;
        if frame.starts_group() || full || self.group.is_none() {
            self.start(&frame, aside)?;
        }
        let time = timestamp(frame.times.pts);
        let Some(group) = &self.group else {
            return Ok(());
        };
        self.packets += frame.packets(self.frames == 0);
        self.frames += 1;
        self.bytes += frame.payload.len();
        self.stats.frames += 1;
        self.stats.bytes += frame.len as u64;
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
    pub(super) fn anchor(&self) -> Anchor {
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

    /// Ends the track and those beside it.
    pub(super) fn finish(&mut self) -> Result<()> {
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
pub(super) struct Aside<'a> {
    pub(super) broadcast: &'a Broadcast,
    pub(super) max_age: Duration,
    /// The decode times cannot be authored.
    pub(super) decode_times: bool,
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
