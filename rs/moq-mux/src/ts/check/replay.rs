//! What waited for a time: runs through the packets since the last PCR once the next one says when they came.
//!
//! The clock of the first PID with a PCR is the checker's. Between two of its PCRs time runs evenly with the bytes; after
//! a break it goes on at the rate before, and other programmes' clocks are laid over it where their PCRs arrive.

use super::clock::MODULUS;
use super::decoder::{Breach, Decoder, Part};
use super::framing::LEN;
use super::intake::Intake;
use super::limits::Limits;
use super::pid::{Buffers, Pid};
use super::report::Rule;
use super::units::{Piece, Start};

/// Packets that may wait for a PCR.
const MOST: usize = 1 << 20;

/// Intervals at which tables, presentation times and PIDs have to come, in ticks: 0.5 s, 0.7 s, 5 s.
const TABLE: f64 = 13.5e6;
const STAMP: f64 = 18.9e6;
const ABSENT: f64 = 135e6;

/// Where the PCR of a packet is timed.
const PCR_BYTE: f64 = 10.0;

/// What waits, and how bytes become times.
#[derive(Debug, Default)]
pub(super) struct Replay {
    queue: Queue,
    /// Position and time of the last PCR, and ticks a byte.
    last: Option<(u64, f64)>,
    slope: Option<f64>,
    first: Option<u64>,
    /// Per clock: its value and the time when it was there.
    laid: Vec<Option<(i64, f64)>>,
}

/// Packets, what they bring, and the pieces of units in them.
#[derive(Debug, Default)]
struct Queue {
    packets: Vec<Waiting>,
    events: Vec<(u32, Event)>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    byte: u64,
    pid: u32,
    /// Where its pieces start.
    pieces: u32,
}

/// What a packet brings beside its bytes.
#[derive(Debug)]
pub(super) enum Event {
    /// A PCR of a clock, unwrapped.
    Clock { clock: usize, ticks: i64 },
    /// A section: table id, extension, number.
    Table((u8, u16, u8)),
    /// Payload bytes of a table.
    System(u32),
    /// A presentation time.
    Stamp,
    /// Limits of its decoder.
    Limits(Box<Limits>),
}

impl Replay {
    /// A packet of PID number `pid` at `byte`.
    pub(super) fn packet(&mut self, byte: u64, pid: usize) {
        if self.queue.packets.len() >= MOST {
            // Without a clock there is nothing to judge by.
            self.queue.clear();
        }
        self.queue.packets.push(Waiting {
            byte,
            pid: pid as u32,
            pieces: self.queue.pieces.len() as u32,
        });
    }

    /// Something about the last packet.
    pub(super) fn event(&mut self, event: Event) {
        let last = self.queue.packets.len().saturating_sub(1);
        self.queue.events.push((last as u32, event));
    }

    /// Something about the packet that comes next.
    pub(super) fn event_before(&mut self, event: Event) {
        self.queue
            .events
            .push((self.queue.packets.len() as u32, event));
    }

    /// Where pieces of the last packet go.
    pub(super) fn pieces(&mut self) -> &mut Vec<Piece> {
        &mut self.queue.pieces
    }

    /// Seconds since the first PCR, at the last one.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.last.map(|(_, time)| time / 27e6)
    }

    /// Ticks from the first PCR to the last.
    pub(super) fn duration(&self) -> f64 {
        self.last.map_or(0.0, |(_, time)| time)
    }

    /// Mean rate in bit/s.
    pub(super) fn rate(&self) -> Option<f64> {
        let (byte, time) = self.last?;
        (time > 0.0).then(|| (byte - self.first.unwrap_or(0)) as f64 * 8.0 * 27e6 / time)
    }

    /// The time at `byte`.
    fn time(&self, byte: u64) -> f64 {
        let (last, time) = self.last.unwrap_or_default();
        time + (byte as f64 - last as f64) * self.slope.unwrap_or(0.0)
    }

    /// A clock has the value `ticks` at `time`.
    fn lay(&mut self, clock: usize, ticks: i64, time: f64) {
        if self.laid.len() <= clock {
            self.laid.resize(clock + 1, None);
        }
        self.laid[clock] = Some((ticks, time));
    }

    /// The time of a 33-bit time stamp, by its programme's clock.
    fn stamp(&self, clock: Option<usize>, stamp: u64) -> Option<f64> {
        let (ticks, time) = self.laid.get(clock?).copied().flatten()?;
        let ahead = (stamp as i64 * 300 - ticks).rem_euclid(MODULUS);
        let ahead = if ahead > MODULUS / 2 {
            ahead - MODULUS
        } else {
            ahead
        };
        Some(time + ahead as f64)
    }

    fn part(&self, piece: &Piece, clock: Option<usize>) -> Part {
        let decode = |start: Start| {
            let (_, dts) = start.times?;
            Some(self.stamp(clock, dts)? + start.later)
        };
        Part {
            start: piece.start.map(decode),
            header: f64::from(piece.header),
            bytes: f64::from(piece.bytes),
        }
    }
}

impl Queue {
    fn clear(&mut self) {
        self.packets.clear();
        self.events.clear();
        self.pieces.clear();
    }
}

impl Intake {
    /// The checker's clock has reached `ticks` at `byte`, evenly or not: times everything before.
    pub(super) fn run(&mut self, byte: u64, ticks: i64, even: bool) {
        let Some((last, _)) = self.replay.last else {
            self.replay.last = Some((byte, 0.0));
            self.replay.first = Some(byte);
            self.replay.lay(0, ticks, 0.0);
            return;
        };
        let before = self.replay.laid.first().copied().flatten();
        if let Some((value, _)) = before.filter(|_| even && byte > last) {
            self.replay.slope = Some((ticks - value) as f64 / (byte - last) as f64);
        }
        self.link_clocks();
        if self.replay.slope.is_some() {
            self.times();
        }
        let now = self.replay.time(byte);
        self.replay.last = Some((byte, now));
        self.replay.lay(0, ticks, now);
    }

    /// The stream ends at `byte`.
    pub(super) fn run_out(&mut self, byte: u64) {
        if self.replay.last.is_some() && self.replay.slope.is_some() {
            self.link_clocks();
            self.times();
            self.absences(self.replay.time(byte));
        }
        let Self {
            pids,
            findings,
            programs,
            ..
        } = self;
        let tables = programs
            .values_mut()
            .filter_map(|program| program.tables.as_deref_mut());
        for pid in pids.iter_mut().chain(tables) {
            let name = pid.pid;
            if let Buffers::Running(decoder) = &mut pid.decoder {
                decoder.finish(&mut |time, breach| note(findings, name, time, breach));
            }
        }
    }

    /// Runs through what waits.
    fn times(&mut self) {
        let mut queue = std::mem::take(&mut self.replay.queue);
        let mut events = queue.events.drain(..).peekable();
        let mut parts: Vec<Part> = Vec::new();
        for (number, packet) in queue.packets.iter().enumerate() {
            let at = packet.pid as usize;
            let from = self.replay.time(packet.byte);
            while let Some((_, event)) = events.next_if(|&(index, _)| index as usize == number) {
                self.event(at, from, event);
            }
            let next = queue.packets.get(number + 1);
            let end = next.map_or(queue.pieces.len(), |next| next.pieces as usize);
            let clock = self.pids[at].clock;
            let pieces = &queue.pieces[packet.pieces as usize..end];
            parts.clear();
            parts.extend(pieces.iter().map(|piece| self.replay.part(piece, clock)));
            self.arrive(at, from, self.replay.time(packet.byte + LEN as u64), &parts);
        }
        drop(events);
        queue.clear();
        self.replay.queue = queue;
    }

    fn arrive(&mut self, at: usize, from: f64, to: f64, parts: &[Part]) {
        let Self { pids, findings, .. } = self;
        let pid = &mut pids[at];
        let name = pid.pid;
        if let Some(seen) = pid.seen.replace(from)
            && from - seen > ABSENT
            && pid.kind().is_some_and(|kind| kind.is_continuous())
        {
            findings.add(Rule::Pid, Some(name), Some(from / 27e6), || {
                "absent for 5 s".into()
            });
        }
        pid.arrive(from, to, parts, &mut |time, breach| {
            note(findings, name, time, breach)
        });
    }

    fn event(&mut self, at: usize, time: f64, event: Event) {
        let pid = &mut self.pids[at];
        let name = pid.pid;
        match event {
            Event::Clock { clock, ticks } => {
                let time = time + PCR_BYTE * self.replay.slope.unwrap_or(0.0);
                self.replay.lay(clock, ticks, time);
            }
            Event::Table(key) => {
                let gap = pid.tables.entry(key).or_default().note(time);
                let rule = match (name, key.0) {
                    (0, 0) => Rule::Pat,
                    (_, 2) => Rule::Pmt,
                    _ => return,
                };
                if gap > TABLE {
                    self.findings.add(rule, Some(name), Some(time / 27e6), || {
                        format!("not there for {:.0} ms", gap / 27e3)
                    });
                }
            }
            Event::Stamp => {
                let Some(last) = pid.stamped.replace(time) else {
                    return;
                };
                pid.longest_gap = pid.longest_gap.max(time - last);
                if time - last > STAMP && pid.kind().is_some_and(|kind| kind.is_continuous()) {
                    self.findings
                        .add(Rule::Pts, Some(name), Some(time / 27e6), || {
                            format!("no presentation time for {:.0} ms", (time - last) / 27e3)
                        });
                }
            }
            Event::Limits(limits) => {
                let findings = &mut self.findings;
                pid.set_limits(*limits, &mut |time, breach| {
                    note(findings, name, time, breach)
                });
            }
            Event::System(bytes) => {
                let numbers: Vec<u16> = self.programs_of(name).collect();
                for number in numbers {
                    self.system(number, time, bytes);
                }
            }
        }
    }

    /// A packet of a programme's tables arrives.
    fn system(&mut self, number: u16, from: f64, bytes: u32) {
        let slope = self.replay.slope.unwrap_or(0.0);
        let Self {
            programs, findings, ..
        } = self;
        let Some(program) = programs.get_mut(&number) else {
            return;
        };
        let name = program.pmt_pid;
        let pid = program.tables.get_or_insert_with(|| {
            let mut pid = Pid::new(name);
            let limits = Limits::system((8.0 * 27e6 / slope) as u64);
            pid.decoder = Buffers::Running(Box::new(Decoder::new(limits)));
            Box::new(pid)
        });
        let to = from + LEN as f64 * slope;
        let part = Part {
            start: None,
            header: 0.0,
            bytes: f64::from(bytes),
        };
        pid.arrive(from, to, &[part], &mut |time, breach| {
            note(findings, name, time, breach)
        });
    }

    /// PIDs and tables that were not there up to the end.
    fn absences(&mut self, end: f64) {
        let Self { pids, findings, .. } = self;
        for pid in pids {
            let Some(seen) = pid.seen else { continue };
            if end - seen > ABSENT && pid.kind().is_some_and(|kind| kind.is_continuous()) {
                findings.add(Rule::Pid, Some(pid.pid), Some(seen / 27e6), || {
                    "absent to the end".into()
                });
            }
            for (key, repeats) in &pid.tables {
                let rule = match (pid.pid, key.0) {
                    (0, 0) => Rule::Pat,
                    (_, 2) => Rule::Pmt,
                    _ => continue,
                };
                if repeats.last.is_some_and(|last| end - last > TABLE) {
                    findings.add(rule, Some(pid.pid), Some(end / 27e6), || {
                        "not there at the end".into()
                    });
                }
            }
        }
    }
}

fn note(findings: &mut super::findings::Findings, pid: u16, time: f64, breach: Breach) {
    let rule = match breach {
        Breach::Transport(_) | Breach::Multiplexing(_) | Breach::Main(_) => Rule::Buffer,
        Breach::Late(_) => Rule::Late,
        Breach::NeverEmpty => Rule::EmptyBuffer,
        Breach::Delay(_) => Rule::DataDelay,
    };
    let detail = || match breach {
        Breach::Transport(bytes) => format!("{bytes:.0} bytes in a transport buffer of 512"),
        Breach::Multiplexing(bytes) => format!("{bytes:.0} bytes in the multiplexing buffer"),
        Breach::Main(bytes) => format!("{bytes:.0} bytes in the main buffer"),
        Breach::Late(ticks) => {
            let ms = ticks / 27e3;
            format!("a unit is complete {ms:.2} ms after its decode time")
        }
        Breach::NeverEmpty => "the transport buffer is not empty for a second".into(),
        Breach::Delay(ticks) => format!("data waits {:.0} ms", ticks / 27e3),
    };
    findings.add(rule, Some(pid), Some(time / 27e6), detail);
}
