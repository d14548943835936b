//! Takes one programme out of transport-stream bytes: its tables, its clock, its units with unwrapped times.
//!
//! Pure and bounded: no unit over [`pes::MAX_UNIT`], all open units together under [`MAX_PENDING`]. Damage is counted in
//! [`DemuxStats`], never an error. Called by the importer, to which it talks through [`Handler`]; knows stream types only
//! so far as units and sections must be told apart.

mod program;
mod stream;

use super::continuity::Verdict;
use super::packet::{PID_NULL, PID_PAT, PIDS, Packet};
use super::pes::{self, Unit};
use super::psi::Section;
use super::rate::{Meter, Rate};
use super::resync::{Resync, ResyncStats};
use super::timeline::{Step, Timeline, Times};
use crate::{Error, Result};

use program::{Change, Tables};
pub use program::{Map, StreamKind, kind_of};
use stream::{Content, Stream};

/// The most payload bytes held for units not finished, over all streams.
pub const MAX_PENDING: usize = 64 << 20;

/// How many bytes may pass without a packet before the input is refused.
const MAX_DIRT: u64 = 512 << 10;

/// PIDs that carry service information wherever they appear: TSDT, NIT, SDT and BAT, EIT, RST, TDT and TOT (EN 300 468
/// §5.1.3), and the PSIP base PID (ATSC A/65).
const SI_PIDS: [u16; 7] = [0x02, 0x10, 0x11, 0x12, 0x13, 0x14, 0x1ffb];

/// What comes out of a stream.
pub trait Handler {
    /// The programme is described for the first time, or anew.
    fn program(&mut self, map: &Map);

    /// A unit is complete. Its mark holds its times, when the PES header gave any.
    fn unit(&mut self, pid: u16, unit: Unit<Option<Times>>);

    /// A section of the programme or of service information, CRC intact; `now` is the time in ticks of 90 kHz.
    fn section(&mut self, pid: u16, section: Section<'_>, now: Option<i64>);

    /// The programme clock reached this many ticks of 27 MHz.
    fn clock(&mut self, ticks: i64);

    /// The source's time base ended; times go on as if it had not.
    fn time_base(&mut self);
}

/// What was met, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemuxStats {
    /// Finding packets.
    pub sync: ResyncStats,
    /// Jumps of continuity counters nobody announced, on PIDs that are routed.
    pub continuity: u64,
    /// Packets that came twice.
    pub duplicates: u64,
    /// Packets marked damaged by a receiver before us.
    pub transport_errors: u64,
    /// Scrambled packets, which cannot be read.
    pub scrambled: u64,
    /// Sections whose CRC was wrong.
    pub crc: u64,
    /// Pieces that were no table or no PES packet.
    pub malformed: u64,
    /// Units dropped because packets were missing in them.
    pub damaged_units: u64,
    /// Units dropped for their size.
    pub oversized: u64,
    /// Time bases that ended.
    pub breaks: u32,
}

/// The demultiplexer.
pub struct Demux {
    resync: Resync,
    core: Core,
}

impl Demux {
    /// A demultiplexer for the programme with this number, or for the only one. Each unit gets `headroom` bytes in front.
    pub fn new(program: Option<u16>, headroom: usize) -> Self {
        let mut core = Core {
            headroom,
            packets: 0,
            nulls: 0,
            routes: vec![0; PIDS].into_boxed_slice(),
            streams: Vec::new(),
            tables: Tables::new(program),
            timeline: Timeline::default(),
            meter: Meter::default(),
            stats: DemuxStats::default(),
            failure: None,
        };
        core.route(PID_PAT, Content::Pat(Default::default()));
        for pid in SI_PIDS {
            core.route(pid, Content::Sections(Default::default()));
        }
        Self {
            resync: Resync::default(),
            core,
        }
    }

    /// Takes the next bytes, cut anywhere. O(bytes).
    ///
    /// # Errors
    /// [`Error::NotTransportStream`] after half a megabyte without a packet, [`Error::SeveralPrograms`] and
    /// [`Error::ProgramMissing`] when the PAT asks for a choice.
    pub fn push(&mut self, bytes: &[u8], handler: &mut impl Handler) -> Result<()> {
        let core = &mut self.core;
        self.resync
            .push(bytes, |packet| core.packet(Packet::new(packet), handler));
        let sync = self.resync.stats();
        if sync.packets == 0 && sync.skipped > MAX_DIRT {
            return Err(Error::NotTransportStream(sync.skipped));
        }
        self.core.failure.take().map_or(Ok(()), Err)
    }

    /// The input has ended: hands out what was begun.
    ///
    /// # Errors
    /// As [`Demux::push`]; [`Error::Empty`], [`Error::NotTransportStream`] or [`Error::NoProgram`] when nothing ever came.
    pub fn finish(&mut self, handler: &mut impl Handler) -> Result<()> {
        self.end(handler);
        let sync = self.resync.stats();
        match (sync.packets, sync.skipped) {
            (0, 0) => return Err(Error::Empty),
            (0, skipped) => return Err(Error::NotTransportStream(skipped)),
            _ => {}
        }
        if self.core.tables.map().is_none() {
            return Err(Error::NoProgram);
        }
        self.core.failure.take().map_or(Ok(()), Err)
    }

    /// The same material starts again, `later` ticks of 90 kHz after its last start.
    pub fn restart(&mut self, later: i64, handler: &mut impl Handler) {
        self.end(handler);
        self.core.timeline.restart(later);
        self.core.meter.restart(self.core.packets, self.core.nulls);
        self.core.streams.iter_mut().for_each(Stream::reset);
    }

    /// The programme as last described.
    pub fn map(&self) -> Option<&Map> {
        self.core.tables.map()
    }

    /// Programme clock at the last PCR, in ticks of 27 MHz.
    pub fn clock(&self) -> Option<i64> {
        self.core.timeline.clock()
    }

    /// The earliest decode time of a unit that is begun and not handed out, in ticks of 90 kHz.
    pub fn earliest_begun(&self) -> Option<i64> {
        self.core.streams.iter().filter_map(Stream::begun).min()
    }

    /// What is known about the rate of the multiplex.
    pub fn rate(&self) -> Rate {
        self.core.meter.rate()
    }

    /// Whether the rate was ever found not constant.
    pub fn has_varied(&self) -> bool {
        self.core.meter.has_varied()
    }

    /// What was met so far.
    pub fn stats(&self) -> DemuxStats {
        DemuxStats {
            sync: self.resync.stats(),
            breaks: self.core.timeline.breaks(),
            ..self.core.stats
        }
    }

    fn end(&mut self, handler: &mut impl Handler) {
        let core = &mut self.core;
        self.resync
            .finish(|packet| core.packet(Packet::new(packet), handler));
        for stream in &mut core.streams {
            stream.flush(false, &mut core.stats, handler);
        }
    }
}

/// Everything but the search for packets.
struct Core {
    headroom: usize,
    /// Packets of the multiplex so far, nulls included.
    packets: u64,
    nulls: u64,
    /// By PID: one more than the index among `streams`, 0 for PIDs nobody wants.
    routes: Box<[u8]>,
    streams: Vec<Stream>,
    tables: Tables,
    timeline: Timeline,
    meter: Meter,
    stats: DemuxStats,
    failure: Option<Error>,
}

impl Core {
    #[inline]
    fn packet(&mut self, packet: Packet<'_>, handler: &mut impl Handler) {
        self.packets += 1;
        let route = self.routes[usize::from(packet.pid())];
        match usize::from(route).checked_sub(1) {
            Some(index) => self.routed(index, packet, handler),
            None => self.nulls += u64::from(packet.pid() == PID_NULL),
        }
    }

    fn routed(&mut self, index: usize, packet: Packet<'_>, handler: &mut impl Handler) {
        let stream = &mut self.streams[index];
        if packet.is_damaged() || packet.is_scrambled() {
            let counter = if packet.is_damaged() {
                &mut self.stats.transport_errors
            } else {
                &mut self.stats.scrambled
            };
            *counter += 1;
            // Nothing in a damaged packet can be trusted, not even that it belongs here; its place is a gap.
            stream.lose(false, &mut self.stats, handler);
            stream.continuity.reset();
            return;
        }
        let verdict = stream.continuity.judge(packet);
        if stream.is_clock
            && let Some(field) = packet.adaptation()
            && let Some(pcr) = field.pcr()
        {
            // A flag in the second copy of a packet is the same break, not another.
            let flagged =
                field.is_discontinuity() && matches!(verdict, Verdict::Next | Verdict::Gap { .. });
            let step = self.timeline.pcr(pcr, flagged, self.packets);
            match step {
                Step::On(ticks) => self.meter.step(self.packets, self.nulls, ticks),
                Step::Break => {
                    self.meter.restart(self.packets, self.nulls);
                    handler.time_base();
                }
            }
            if let Some(clock) = self.timeline.clock() {
                handler.clock(clock);
            }
        }
        match verdict {
            Verdict::Next => {}
            Verdict::Duplicate => {
                self.stats.duplicates += 1;
                return;
            }
            Verdict::Surplus => {
                self.stats.continuity += 1;
                return;
            }
            Verdict::Gap { announced, ended } => {
                self.stats.continuity += u64::from(!announced);
                stream.lose(ended && packet.starts_unit(), &mut self.stats, handler);
            }
        }
        let payload = packet.payload();
        if payload.is_empty() {
            return;
        }
        match &mut stream.content {
            Content::Clock => {}
            Content::Units(_) => {
                let timeline = &mut self.timeline;
                stream.take(
                    packet.starts_unit(),
                    payload,
                    timeline,
                    &mut self.stats,
                    handler,
                );
            }
            Content::Sections(assembler) => {
                let (pid, stats, now) = (stream.pid, &mut self.stats, self.timeline.now_90k());
                let dropped = assembler.push(packet.starts_unit(), payload, |section| {
                    if section.is_intact() {
                        handler.section(pid, section, now);
                    } else {
                        stats.crc += 1;
                    }
                });
                self.stats.malformed += u64::from(dropped);
            }
            Content::Pat(assembler) | Content::Pmt(assembler) => {
                let (tables, stats) = (&mut self.tables, &mut self.stats);
                let mut change = Change::None;
                let dropped = assembler.push(packet.starts_unit(), payload, |section| {
                    if section.is_intact() {
                        change = std::mem::take(&mut change).then(tables.section(section));
                    } else {
                        stats.crc += 1;
                    }
                });
                self.stats.malformed += u64::from(dropped);
                self.apply(change, handler);
            }
        }
    }

    /// Makes the routes follow the tables.
    fn apply(&mut self, change: Change, handler: &mut impl Handler) {
        match change {
            Change::None => {}
            Change::Failed(error) => self.failure = Some(error),
            Change::Pmt { pid, network } => {
                if let Some(old) = self
                    .streams
                    .iter()
                    .position(|s| matches!(s.content, Content::Pmt(_)))
                {
                    let old = self.streams[old].pid;
                    self.close(old, handler);
                }
                if let Some(network) = network
                    && self.routes[usize::from(network)] == 0
                {
                    self.route(network, Content::Sections(Default::default()));
                }
                // A PMT may not share its PID with anything else that is routed.
                self.close(pid, handler);
                self.route(pid, Content::Pmt(Default::default()));
            }
            Change::Map => {
                let Some(map) = self.tables.map().cloned() else {
                    return;
                };
                self.follow(&map, handler);
                handler.program(&map);
            }
        }
    }

    /// Routes the streams of a new map; what it no longer has ends.
    fn follow(&mut self, map: &Map, handler: &mut impl Handler) {
        let kinds: Vec<_> = map.streams().collect();
        let gone = |s: &Stream| {
            !s.is_fixed()
                && !kinds
                    .iter()
                    .any(|(es, kind)| es.pid == s.pid && s.fits(es.stream_type, *kind))
        };
        let gone: Vec<u16> = self
            .streams
            .iter()
            .filter(|s| gone(s))
            .map(|s| s.pid)
            .collect();
        for pid in gone {
            self.close(pid, handler);
        }
        let units = kinds
            .iter()
            .filter(|(_, kind)| *kind != StreamKind::Sections)
            .count();
        let limit = (MAX_PENDING / units.max(1)).min(pes::MAX_UNIT);
        for (es, kind) in kinds {
            if self.routes[usize::from(es.pid)] == 0 && es.pid != PID_NULL {
                self.route(es.pid, Content::of(es.stream_type, kind, self.headroom));
            }
        }
        let pcr_pid = map.pmt.pcr_pid;
        if pcr_pid != PID_NULL && self.routes[usize::from(pcr_pid)] == 0 {
            self.route(pcr_pid, Content::Clock);
        }
        for stream in &mut self.streams {
            let is_clock = stream.pid == pcr_pid;
            if is_clock && !stream.is_clock {
                self.meter.restart(self.packets, self.nulls);
            }
            stream.is_clock = is_clock;
            if let Content::Units(units) = &mut stream.content {
                units.assembler.set_limit(limit);
            }
        }
    }

    fn route(&mut self, pid: u16, content: Content) {
        // A PMT holds 203 streams at most, so this is never the limit of an honest one.
        if let Ok(route) = u8::try_from(self.streams.len() + 1) {
            self.streams.push(Stream::new(pid, content));
            self.routes[usize::from(pid)] = route;
        }
    }

    fn close(&mut self, pid: u16, handler: &mut impl Handler) {
        let route = std::mem::take(&mut self.routes[usize::from(pid)]);
        let Some(index) = usize::from(route).checked_sub(1) else {
            return;
        };
        let mut stream = self.streams.swap_remove(index);
        stream.flush(false, &mut self.stats, handler);
        if let Some(moved) = self.streams.get(index) {
            self.routes[usize::from(moved.pid)] = route;
        }
    }
}

#[cfg(test)]
mod tests;
