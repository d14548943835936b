//! One routed PID: its continuity and what its payload is put together to.

use super::program::{StreamKind, is_video};
use super::{DemuxStats, Handler};
use crate::ts::continuity::Continuity;
use crate::ts::pes::{Assembler, Parsed, PesHeader, Pushed, Unit};
use crate::ts::psi;
use crate::ts::timeline::{Timeline, Times};

/// A routed PID.
pub(super) struct Stream {
    pub(super) pid: u16,
    pub(super) continuity: Continuity,
    pub(super) content: Content,
    /// Whether the programme clock rides here.
    pub(super) is_clock: bool,
}

/// What the payload is.
pub(super) enum Content {
    Pat(psi::Assembler),
    Pmt(psi::Assembler),
    Sections(psi::Assembler),
    Units(Units),
    /// Nothing: the PID is followed for the clock alone.
    Clock,
}

/// A stream of PES packets.
pub(super) struct Units {
    pub(super) assembler: Assembler<Option<Times>>,
    stream_type: u8,
    kind: StreamKind,
}

impl Content {
    /// What a stream of a PMT carries.
    pub(super) fn of(stream_type: u8, kind: StreamKind, headroom: usize) -> Self {
        if kind == StreamKind::Sections {
            return Self::Sections(psi::Assembler::default());
        }
        // A picture may go on over several PES packets; only its first has a time.
        let assembler = Assembler::new(headroom, is_video(stream_type));
        Self::Units(Units {
            assembler,
            stream_type,
            kind,
        })
    }
}

impl Stream {
    pub(super) fn new(pid: u16, content: Content) -> Self {
        Self {
            pid,
            continuity: Continuity::default(),
            content,
            is_clock: false,
        }
    }

    /// Whether the route does not come from a PMT.
    pub(super) fn is_fixed(&self) -> bool {
        match &self.content {
            Content::Pat(_) | Content::Pmt(_) => true,
            Content::Sections(_) => super::SI_PIDS.contains(&self.pid),
            Content::Units(_) | Content::Clock => false,
        }
    }

    /// Whether the stream can go on as what a new PMT calls it.
    pub(super) fn fits(&self, stream_type: u8, kind: StreamKind) -> bool {
        match &self.content {
            Content::Units(units) => units.stream_type == stream_type && units.kind == kind,
            Content::Sections(_) => kind == StreamKind::Sections,
            Content::Pat(_) | Content::Pmt(_) | Content::Clock => false,
        }
    }

    /// Decode time of the unit that is begun.
    pub(super) fn begun(&self) -> Option<i64> {
        let Content::Units(units) = &self.content else {
            return None;
        };
        units
            .assembler
            .open()
            .copied()
            .flatten()
            .map(|times| times.dts)
    }

    /// Forgets counters and whatever had begun.
    pub(super) fn reset(&mut self) {
        self.continuity.reset();
        match &mut self.content {
            Content::Pat(sections) | Content::Pmt(sections) | Content::Sections(sections) => {
                sections.reset()
            }
            Content::Units(units) => drop(units.assembler.flush(true)),
            Content::Clock => {}
        }
    }

    /// Packets are missing here. What had begun is over, and `whole` says whether it was complete.
    pub(super) fn lose(&mut self, whole: bool, stats: &mut DemuxStats, handler: &mut impl Handler) {
        match &mut self.content {
            Content::Pat(sections) | Content::Pmt(sections) | Content::Sections(sections) => {
                sections.reset()
            }
            Content::Units(_) => self.flush(!whole, stats, handler),
            Content::Clock => {}
        }
    }

    /// Ends what had begun and hands it out.
    pub(super) fn flush(
        &mut self,
        damaged: bool,
        stats: &mut DemuxStats,
        handler: &mut impl Handler,
    ) {
        if let Content::Units(units) = &mut self.content {
            deliver(self.pid, units.assembler.flush(damaged), stats, handler);
        }
    }

    /// The payload of a packet of a stream of PES packets.
    #[inline]
    pub(super) fn take(
        &mut self,
        starts: bool,
        payload: &[u8],
        timeline: &mut Timeline,
        stats: &mut DemuxStats,
        handler: &mut impl Handler,
    ) {
        let Content::Units(Units { assembler, .. }) = &mut self.content else {
            return;
        };
        let mark = |header: &PesHeader| header.pts.map(|pts| timeline.stamp(pts, header.dts));
        let pushed = if !starts {
            assembler.extend(payload, mark)
        } else {
            match PesHeader::parse(payload) {
                Parsed::Whole(header, len) if assembler.is_resumed_by(&header) => {
                    assembler.resume(&header, len, payload)
                }
                _ => {
                    deliver(self.pid, assembler.flush(false), stats, handler);
                    assembler.start(payload, mark)
                }
            }
        };
        let Pushed { unit, dropped } = pushed;
        if dropped {
            let counter = if starts {
                &mut stats.malformed
            } else {
                &mut stats.oversized
            };
            *counter += 1;
        }
        deliver(self.pid, unit, stats, handler);
    }
}

fn deliver(
    pid: u16,
    unit: Option<Unit<Option<Times>>>,
    stats: &mut DemuxStats,
    handler: &mut impl Handler,
) {
    if let Some(unit) = unit {
        stats.damaged_units += u64::from(unit.damaged);
        handler.unit(pid, unit);
    }
}
