//! Takes each packet once, in order: what can be judged at once is; what needs a time waits for the next PCR.

use std::collections::BTreeMap;

use super::clock::{Clock, Step};
use super::findings::Findings;
use super::framing::LEN;
use super::limits::{Kind, Limits};
use super::packet::{View, pes_header};
use super::pid::{Buffers, Content, Order, Pid};
use super::replay::{Event, Replay};
use super::report::{ProgramReport, Report, Rule};
use super::tables::{Map, Section, Sections};
use super::units::Units;

const NULL: u16 = 0x1fff;
const PIDS: usize = 0x2000;

/// PIDs that carry tables whatever a PAT says: PAT, CAT, NIT, SDT and BAT, EIT, RST, TDT and TOT.
const TABLE_PIDS: [u16; 7] = [0x00, 0x01, 0x10, 0x11, 0x12, 0x13, 0x14];

/// Where the PCR of a packet is timed: its byte 10.
const PCR_BYTE: u64 = 10;

/// Everything known so far.
#[derive(Debug)]
pub(super) struct Intake {
    /// Bytes, 188 a packet.
    position: u64,
    packets: u64,
    nulls: u64,
    pub(super) findings: Findings,
    /// By PID: index among `pids`, plus one.
    index: Box<[u16]>,
    pub(super) pids: Vec<Pid>,
    pub(super) clocks: Vec<Clock>,
    pub(super) programs: BTreeMap<u16, Program>,
    pub(super) replay: Replay,
    scrambled: Option<u16>,
}

/// A programme.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) pmt_pid: u16,
    pcr_pid: Option<u16>,
    version: Option<u8>,
    versions: u64,
    pub(super) streams: Vec<u16>,
    /// The decoder of its tables: a PID of its own for the books.
    pub(super) tables: Option<Box<Pid>>,
}

impl Default for Intake {
    fn default() -> Self {
        let mut intake = Self {
            position: 0,
            packets: 0,
            nulls: 0,
            findings: Findings::default(),
            index: vec![0; PIDS].into_boxed_slice(),
            pids: Vec::new(),
            clocks: Vec::new(),
            programs: BTreeMap::new(),
            replay: Replay::default(),
            scrambled: None,
        };
        for pid in TABLE_PIDS {
            let at = intake.pid(pid);
            intake.pids[at].content = Content::Tables(Sections::default());
        }
        intake
    }
}

impl Intake {
    /// Bytes that are no packet.
    pub(super) fn skipped(&mut self, len: usize) {
        self.position += len as u64;
    }

    /// Notes a breach at the time reached.
    pub(super) fn breach(&mut self, rule: Rule, pid: Option<u16>, detail: impl FnOnce() -> String) {
        let time = self.replay.seconds();
        self.findings.add(rule, pid, time, detail);
    }

    pub(super) fn packet(&mut self, bytes: &[u8; LEN]) {
        let packet = View(bytes);
        let byte = self.position;
        self.position += LEN as u64;
        self.packets += 1;
        let pid = packet.pid();
        if packet.error() {
            self.breach(Rule::Transport, Some(pid), || {
                "a receiver before this one marked packets damaged".into()
            });
            return;
        }
        if pid == NULL {
            self.nulls += 1;
            return;
        }
        let at = self.pid(pid);
        self.pids[at].packets += 1;
        let order = self.pids[at].order(packet);
        if order == Order::Broken {
            self.pids[at].errors += 1;
            self.pids[at].lose();
            self.breach(Rule::Continuity, Some(pid), || {
                format!(
                    "packets are missing or out of order, first before packet {}",
                    byte / LEN as u64
                )
            });
        }
        if let Some(pcr) = packet.pcr() {
            self.clock(at, pcr, packet, byte);
        }
        self.replay.packet(byte, at);
        if order == Order::Duplicate {
            self.pids[at].duplicates += 1;
            return;
        }
        if packet.scrambled() {
            self.scrambled(pid);
            return;
        }
        self.payload(at, packet);
    }

    fn payload(&mut self, at: usize, packet: View<'_>) {
        let payload = packet.payload();
        let start = packet.unit_start();
        if payload.is_empty() {
            return;
        }
        let limits = self.pids[at].look(start, payload);
        match &mut self.pids[at].content {
            Content::Tables(sections) => {
                let mut found = Vec::new();
                sections.push(start, payload, &mut |section| found.push(section));
                self.replay.event(Event::System(payload.len() as u32));
                for section in found {
                    self.section(at, &section);
                }
            }
            Content::Units(..) => {
                if start {
                    let stamped = pes_header(payload).is_some_and(|header| header.times.is_some());
                    self.pids[at].units += 1;
                    if stamped {
                        self.replay.event(Event::Stamp);
                    }
                }
                if let Some(limits) = limits {
                    self.replay.event(Event::Limits(Box::new(limits)));
                }
                let known = units_channels(&self.pids[at]);
                if let Content::Units(kind, units, _) = &mut self.pids[at].content {
                    units.push(start, payload, self.replay.pieces());
                    // Audio's limits depend on its channels.
                    if units.channels() != known
                        && let Some(limits) = Limits::plain(*kind, units.channels().unwrap_or(2))
                    {
                        self.replay.event(Event::Limits(Box::new(limits)));
                    }
                }
            }
            Content::Unknown | Content::Other(_) => {
                self.pids[at].units += u64::from(start);
            }
        }
    }

    fn scrambled(&mut self, pid: u16) {
        let table = matches!(
            self.pids[self.index[usize::from(pid)] as usize - 1].content,
            Content::Tables(_)
        );
        if pid == 0 {
            self.breach(Rule::Pat, Some(pid), || "the PAT is scrambled".into());
        } else if table {
            self.breach(Rule::Pmt, Some(pid), || "a table is scrambled".into());
        }
        self.scrambled.get_or_insert(pid);
    }

    fn clock(&mut self, at: usize, pcr: u64, packet: View<'_>, byte: u64) {
        let pid = self.pids[at].pid;
        let index = match self.clocks.iter().position(|clock| clock.pid == pid) {
            Some(index) => index,
            None => {
                self.clocks.push(Clock::new(pid));
                self.clocks.len() - 1
            }
        };
        if !packet.pcr_reserved() {
            self.breach(Rule::Syntax, Some(pid), || {
                "reserved bits of the PCR are not ones".into()
            });
        }
        let position = byte + PCR_BYTE;
        let step = self.clocks[index].push(pcr, position, packet.discontinuity());
        match step {
            Step::On(ticks, _) if ticks > 2_700_000 => {
                let ms = ticks as f64 / 27e3;
                self.breach(Rule::PcrRepetition, Some(pid), || {
                    format!("no PCR for {ms:.1} ms")
                });
                self.breach(Rule::PcrDiscontinuity, Some(pid), || {
                    format!("the PCR steps by {ms:.1} ms without a flag")
                });
            }
            Step::Break(false) => self.breach(Rule::PcrDiscontinuity, Some(pid), || {
                "the PCR steps back or jumps without a flag".into()
            }),
            _ => {}
        }
        let ticks = self.clocks[index].ticks().unwrap_or(0);
        if index == 0 {
            self.run(position, ticks, matches!(step, Step::On(..)));
        }
        self.replay.event_before(Event::Clock {
            clock: index,
            ticks,
        });
    }

    fn section(&mut self, at: usize, section: &Section) {
        let pid = self.pids[at].pid;
        if section.damaged {
            self.breach(Rule::Crc, Some(pid), || {
                format!("the CRC of table 0x{:02x} is wrong", section.table_id)
            });
            return;
        }
        let key = (section.table_id, section.extension, section.number);
        self.replay.event(Event::Table(key));
        match (pid, section.table_id) {
            (0, 0) => self.association(section),
            (0, id) => self.breach(Rule::Pat, Some(0), || format!("table 0x{id:02x} on PID 0")),
            (1, 1) => {}
            (1, id) => self.breach(Rule::Cat, Some(1), || format!("table 0x{id:02x} on PID 1")),
            (_, 2) if section.current => {
                if let Some(map) = section.map() {
                    self.map(pid, section, &map);
                }
            }
            _ => {}
        }
    }

    fn association(&mut self, section: &Section) {
        for (number, pid) in section.programs() {
            let at = self.pid(pid);
            if !matches!(self.pids[at].content, Content::Tables(_)) {
                self.pids[at].content = Content::Tables(Sections::default());
            }
            if number != 0 && self.programs.len() < 256 {
                self.programs.entry(number).or_default().pmt_pid = pid;
            }
        }
    }

    fn map(&mut self, pid: u16, section: &Section, map: &Map<'_>) {
        let Some(program) = self
            .programs
            .get_mut(&section.extension)
            .filter(|program| program.pmt_pid == pid)
        else {
            return;
        };
        program.versions += u64::from(program.version.is_some_and(|v| v != section.version));
        program.version = Some(section.version);
        program.pcr_pid = Some(map.pcr_pid);
        program.streams = map.streams.iter().map(|&(pid, ..)| pid).collect();
        for (pid, stream_type, descriptors) in &map.streams {
            let at = self.pid(*pid);
            let kind = Kind::of(*stream_type, descriptors);
            let known = &mut self.pids[at];
            known.stream_type = Some(*stream_type);
            if known.kind() == Some(kind) || matches!(known.content, Content::Tables(_)) {
                continue;
            }
            let limits = Limits::plain(kind, 2);
            known.content = match kind {
                Kind::Sections | Kind::Other => Content::Other(kind),
                _ => Content::Units(kind, Units::new(kind), Default::default()),
            };
            known.decoder = match (limits, kind.is_video()) {
                (Some(limits), _) => {
                    known.decoder = Buffers::None;
                    known.set_limits(limits, &mut |_, _| {});
                    std::mem::take(&mut known.decoder)
                }
                (None, true) => Buffers::Waiting(Vec::new()),
                (None, false) => Buffers::None,
            };
        }
        self.link_clocks();
    }

    /// Which clock each stream goes by.
    pub(super) fn link_clocks(&mut self) {
        for program in self.programs.values() {
            let clock = self
                .clocks
                .iter()
                .position(|clock| Some(clock.pid) == program.pcr_pid);
            for &pid in &program.streams {
                let at = self.index[usize::from(pid)];
                if at > 0 {
                    self.pids[usize::from(at) - 1].clock = clock;
                }
            }
        }
    }

    /// Index of a PID.
    fn pid(&mut self, pid: u16) -> usize {
        let entry = &mut self.index[usize::from(pid)];
        if *entry == 0 {
            self.pids.push(Pid::new(pid));
            *entry = self.pids.len() as u16;
        }
        usize::from(*entry) - 1
    }

    /// Whether `pid` carries a programme's tables, and of which.
    pub(super) fn programs_of(&self, pid: u16) -> impl Iterator<Item = u16> {
        self.programs
            .iter()
            .filter(move |(_, program)| pid == 0 || pid == 1 || program.pmt_pid == pid)
            .map(|(&number, _)| number)
    }

    /// The figures so far.
    pub(super) fn report(&self) -> Report {
        let mut report = Report {
            packets: self.packets,
            duration: self.replay.duration() / 27e6,
            rate: self.replay.rate().map(|rate| rate.round() as u64),
            null_share: self.nulls as f64 / self.packets.max(1) as f64,
            clocks: self.clocks.iter().map(Clock::report).collect(),
            ..Report::default()
        };
        report.constant_rate = report
            .clocks
            .first()
            .is_some_and(|clock| clock.stretches == 1);
        let program = |(&number, program): (&u16, &Program)| ProgramReport {
            number,
            pmt_pid: program.pmt_pid,
            pcr_pid: program.pcr_pid.unwrap_or(NULL),
            versions: program.versions + u64::from(program.version.is_some()),
        };
        report.programs = self.programs.iter().map(program).collect();
        let mut pids: Vec<&Pid> = self.pids.iter().filter(|pid| pid.packets > 0).collect();
        pids.sort_by_key(|pid| pid.pid);
        report.pids = pids.iter().map(|pid| pid.report(self.packets)).collect();
        if self.nulls > 0 {
            let mut null = Pid::new(NULL);
            null.packets = self.nulls;
            report.pids.push(null.report(self.packets));
        }
        report.tables = pids.iter().flat_map(|pid| pid.table_reports()).collect();
        let tables = self.programs.values().filter_map(|program| {
            let pid = program.tables.as_deref()?;
            buffers(pid)
        });
        report.buffers = tables
            .chain(pids.iter().filter_map(|pid| buffers(pid)))
            .collect();
        report.findings = self.findings.list();
        report
    }

    /// What can only be said at the end.
    pub(super) fn finish(&mut self) {
        self.run_out(self.position);
        if self.packets == 0 {
            self.breach(Rule::Stream, None, || {
                "no run of transport packets: this is no transport stream".into()
            });
            return;
        }
        if self.programs.is_empty() {
            self.breach(Rule::Pat, Some(0), || "no PAT with a programme".into());
        }
        let lacking: Vec<u16> = self
            .programs
            .values()
            .filter(|program| program.version.is_none())
            .map(|program| program.pmt_pid)
            .collect();
        for pid in lacking {
            self.breach(Rule::Pmt, Some(pid), || "a programme has no PMT".into());
        }
        let has_cat = self.index[1] > 0 && self.pids[usize::from(self.index[1]) - 1].packets > 0;
        if let Some(pid) = self.scrambled.filter(|_| !has_cat) {
            self.breach(Rule::Cat, Some(pid), || {
                "scrambled packets without a CAT".into()
            });
        }
        if self.clocks.is_empty() {
            self.breach(Rule::PcrRepetition, None, || "there is no clock".into());
        }
        for at in 0..self.clocks.len() {
            let report = self.clocks[at].report();
            if report.accuracy_ns.is_some_and(|ns| ns > 500.0) {
                let count = self.clocks[at].beyond(500.0);
                let worst = report.accuracy_ns.unwrap_or(0.0);
                for _ in 0..count {
                    self.findings
                        .add(Rule::PcrAccuracy, Some(report.pid), None, || {
                            format!("PCRs are up to {worst:.0} ns off their byte position")
                        });
                }
            }
        }
    }
}

fn units_channels(pid: &Pid) -> Option<u32> {
    match &pid.content {
        Content::Units(_, units, _) => units.channels(),
        _ => None,
    }
}

fn buffers(pid: &Pid) -> Option<super::BufferReport> {
    match &pid.decoder {
        Buffers::Running(decoder) => Some(decoder.report(pid.pid)),
        _ => None,
    }
}
