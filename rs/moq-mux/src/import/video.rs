//! One video stream: its parameter sets, where it can be joined, and what the catalog says of it.

use bytes::Bytes;

use super::decode::Rule;
use crate::catalog::VideoRendition;
use crate::codec::{h264, h265};
use crate::ts::demux::StreamKind;
use crate::ts::timeline::Times;

/// A longer way from decoding to presentation is a mistake in the source, in ticks of 90 kHz.
const LONGEST_DELAY: i64 = 180_000;

/// A video stream.
#[derive(Debug)]
pub(super) struct Video {
    is_h265: bool,
    sps: Bytes,
    described: Option<VideoRendition>,
    descriptions: u32,
    joined: bool,
    pub(super) rule: Rule,
    /// Longest way from decoding to presentation, in ticks of 90 kHz.
    jitter: i64,
    last_pts: Option<i64>,
}

/// What an access unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Decoding can start here.
    Start,
    /// It needs what came before.
    Continues,
    /// It needs what came before, and nothing did.
    Undecodable,
}

impl Video {
    pub(super) fn new(kind: StreamKind) -> Self {
        Self {
            is_h265: kind == StreamKind::H265,
            sps: Bytes::new(),
            described: None,
            descriptions: 0,
            joined: false,
            rule: Rule::default(),
            jitter: 0,
            last_pts: None,
        }
    }

    /// Takes an access unit; whether the description changed can be seen by [`Video::rendition`].
    pub(super) fn unit(&mut self, unit: &[u8], times: Times) -> Role {
        let (sps, random_access) = if self.is_h265 {
            let front = h265::front(unit);
            (front.sps, front.random_access)
        } else {
            let front = h264::front(unit);
            (front.sps, front.random_access)
        };
        if let Some(sps) = sps
            && self.sps != sps
        {
            self.describe(sps);
        }
        // Without parameter sets there is nothing to start with.
        let starts = random_access && self.described.is_some();
        if !starts && !self.joined {
            return Role::Undecodable;
        }
        self.joined = true;
        self.rule.unit(times.pts, times.dts);
        self.jitter = self.jitter.max(times.pts - times.dts).min(LONGEST_DELAY);
        self.last_pts = Some(times.pts);
        if starts { Role::Start } else { Role::Continues }
    }

    /// The material starts again, as dirty as it may.
    pub(super) fn restart(&mut self) {
        self.rule.restart();
        self.joined = false;
    }

    /// What the catalog says, once a parameter set was read; rates left out.
    pub(super) fn rendition(&self) -> Option<VideoRendition> {
        let jitter = u32::try_from(self.jitter.max(0) as u64)
            .ok()
            .map(|ticks| ticks.div_ceil(90));
        self.described.clone().map(|rendition| VideoRendition {
            jitter,
            ..rendition
        })
    }

    /// How many different descriptions there were.
    pub(super) fn descriptions(&self) -> u32 {
        self.descriptions
    }

    /// Time of a unit that brought none: one picture after the last.
    pub(super) fn next_time(&self) -> Option<i64> {
        self.last_pts
            .map(|last| last + self.rule.period().unwrap_or(1))
    }

    fn describe(&mut self, sps: &[u8]) {
        let described = if self.is_h265 {
            h265::Sps::parse(sps).map(|sps| (sps.codec(), Some(sps.size), None))
        } else {
            h264::Sps::parse(sps).map(|sps| (sps.codec(), sps.size, sps.framerate))
        };
        let Some((codec, size, framerate)) = described else {
            return;
        };
        self.sps = Bytes::copy_from_slice(sps);
        self.descriptions += 1;
        self.described = Some(VideoRendition {
            codec,
            coded_width: size.map(|(width, _)| width),
            coded_height: size.map(|(_, height)| height),
            framerate,
            ..VideoRendition::default()
        });
    }
}
