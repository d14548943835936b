//! What a source queues for publishing.
//!
//! Written by the streams of a source, read by the publisher and by a scan.

use bytes::{Bytes, BytesMut};

use super::si;
use crate::container::{Builder, HEADROOM};
use crate::ts::clock::micros_from_90k;
use crate::ts::pes;
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
    pub(super) shape: Shape,
    /// Ticks of 90 kHz.
    pub(super) times: Times,
    /// Unit and container.
    pub(super) payload: Bytes,
    /// Bytes of the elementary stream it stands for, rebuilt headers included.
    pub(super) len: usize,
    /// An ADTS header that no template gives.
    pub(super) header: Option<Bytes>,
}

/// How a frame is grouped, and sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A picture; decoding can start at it or cannot.
    Picture { random_access: bool },
    /// A unit that stands alone.
    Unit,
    /// A section.
    Section,
}

impl Frame {
    /// A frame whose bytes have [`HEADROOM`] in front for the container.
    pub(super) fn new(stream: u32, shape: Shape, times: Times, data: BytesMut) -> Self {
        let len = data.len().saturating_sub(HEADROOM);
        // Times before zero exist only in a source that starts within seconds of it, and cannot be written.
        let micros = micros_from_90k(times.pts).try_into().unwrap_or(0);
        let payload = Builder::from(data).finish(micros);
        Self {
            stream,
            shape,
            times,
            payload,
            len,
            header: None,
        }
    }

    /// Whether a group starts with it.
    pub(super) fn starts_group(&self) -> bool {
        self.shape
            != Shape::Picture {
                random_access: false,
            }
    }

    /// Transport packets an exporter needs for it; `first` of its group or not.
    pub(super) fn packets(&self, first: bool) -> u64 {
        let has_dts = self.times.pts != self.times.dts;
        match self.shape {
            Shape::Picture { .. } => pes::packets(self.len, has_dts, first),
            Shape::Unit => pes::packets(self.len, has_dts, false),
            Shape::Section => pes::section_packets(self.len),
        }
    }
}
