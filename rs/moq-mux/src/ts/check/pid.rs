//! What is known of one PID: what it carries, its counter, its units, its decoder.

use std::collections::BTreeMap;

use super::decoder::{Decoder, Part};
use super::framing::LEN;
use super::limits::{Kind, Limits};
use super::packet::View;
use super::report::{PidReport, TableReport};
use super::tables::Sections;
use super::units::Units;

/// Bytes looked at for the parameters of video.
const FRONT: usize = 1024;

/// Packets kept for a decoder whose limits are not known yet.
const MOST_WAITING: usize = 1 << 16;

/// One PID.
#[derive(Debug, Default)]
pub(super) struct Pid {
    pub(super) pid: u16,
    pub(super) content: Content,
    pub(super) stream_type: Option<u8>,
    /// Index of its programme's clock.
    pub(super) clock: Option<usize>,
    pub(super) packets: u64,
    pub(super) errors: u64,
    pub(super) duplicates: u64,
    pub(super) units: u64,
    counter: Option<u8>,
    last: Option<Box<[u8; LEN]>>,
    copies: u8,
    /// Times of arrival, in ticks: of anything, and of a presentation time.
    pub(super) seen: Option<f64>,
    pub(super) stamped: Option<f64>,
    pub(super) longest_gap: f64,
    pub(super) tables: BTreeMap<(u8, u16, u8), Repeats>,
    pub(super) decoder: Buffers,
}

/// What a PID carries.
#[derive(Debug, Default)]
pub(super) enum Content {
    /// Nobody refers to it.
    #[default]
    Unknown,
    /// Tables, for the programmes or for service information.
    Tables(Sections),
    /// Access units.
    Units(Kind, Units, Front),
    /// Sections or packets that are counted only.
    Other(Kind),
}

/// The start of a video unit, for its parameters.
#[derive(Debug, Default)]
pub(super) struct Front {
    bytes: Vec<u8>,
    limits: Option<Limits>,
}

/// The decoder, or what waits for its limits.
#[derive(Debug, Default)]
pub(super) enum Buffers {
    /// Not judged.
    #[default]
    None,
    /// Arrivals: from, to, parts.
    Waiting(Vec<(f64, f64, Vec<Part>)>),
    Running(Box<Decoder>),
}

/// How often a section came.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    pub(super) count: u64,
    pub(super) last: Option<f64>,
    sum: f64,
    longest: f64,
}

/// What a packet's counter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Next,
    Duplicate,
    /// Lost, out of order or a third copy.
    Broken,
}

impl Pid {
    pub(super) fn new(pid: u16) -> Self {
        Self {
            pid,
            ..Self::default()
        }
    }

    /// Judges the counter of the next packet (§2.4.3.3).
    pub(super) fn order(&mut self, packet: View<'_>) -> Order {
        let counter = packet.counter();
        let order = match self.counter {
            None => Order::Next,
            _ if packet.discontinuity() => Order::Next,
            Some(last) if !packet.has_payload() => {
                if counter == last {
                    Order::Next
                } else {
                    Order::Broken
                }
            }
            Some(last) if counter == (last + 1) % 16 => Order::Next,
            Some(last) if counter == last && self.is_copy(packet) => {
                self.copies += 1;
                if self.copies == 1 {
                    Order::Duplicate
                } else {
                    Order::Broken
                }
            }
            Some(_) => Order::Broken,
        };
        self.counter = Some(counter);
        if packet.has_payload() && order != Order::Duplicate && self.copies < 2
            || order == Order::Next
        {
            self.copies = 0;
            self.last = packet.has_payload().then(|| Box::new(*packet.0));
        }
        order
    }

    /// Whether a packet is the last one again, but for its clock.
    fn is_copy(&self, packet: View<'_>) -> bool {
        self.last.as_ref().is_some_and(|last| {
            let clock = if packet.pcr().is_some() { 6..12 } else { 0..0 };
            (0..LEN).all(|at| clock.contains(&at) || last[at] == packet.0[at])
        })
    }

    /// Packets are missing.
    pub(super) fn lose(&mut self) {
        match &mut self.content {
            Content::Tables(sections) => sections.lose(),
            Content::Units(_, units, _) => units.lose(),
            _ => {}
        }
    }

    /// Takes what video says about itself at the front of a unit. Some when that is new.
    pub(super) fn look(&mut self, start: bool, payload: &[u8]) -> Option<Limits> {
        let Content::Units(kind, _, front) = &mut self.content else {
            return None;
        };
        if start {
            front.bytes.clear();
        } else if front.bytes.is_empty() || front.bytes.len() >= FRONT {
            return None;
        }
        let room = FRONT - front.bytes.len();
        front
            .bytes
            .extend_from_slice(&payload[..payload.len().min(room)]);
        let limits = Limits::video(*kind, &front.bytes)?;
        // Parameters at the very end of what is there may be cut: they are read again with more.
        if front.limits.as_ref() == Some(&limits) {
            return None;
        }
        front.limits = Some(limits.clone());
        Some(limits)
    }

    /// The decoder's limits are known from here on.
    pub(super) fn set_limits(
        &mut self,
        limits: Limits,
        breach: &mut impl FnMut(f64, super::decoder::Breach),
    ) {
        match &mut self.decoder {
            Buffers::Running(decoder) => decoder.set_limits(limits),
            Buffers::None => self.decoder = Buffers::Running(Box::new(Decoder::new(limits))),
            Buffers::Waiting(waiting) => {
                let mut decoder = Decoder::new(limits);
                for (from, to, parts) in waiting.drain(..) {
                    decoder.packet(from, to, &parts, breach);
                }
                self.decoder = Buffers::Running(Box::new(decoder));
            }
        }
    }

    /// A packet arrives.
    pub(super) fn arrive(
        &mut self,
        from: f64,
        to: f64,
        parts: &[Part],
        breach: &mut impl FnMut(f64, super::decoder::Breach),
    ) {
        match &mut self.decoder {
            Buffers::None => {}
            Buffers::Waiting(waiting) if waiting.len() < MOST_WAITING => {
                waiting.push((from, to, parts.to_vec()));
            }
            Buffers::Waiting(_) => self.decoder = Buffers::None,
            Buffers::Running(decoder) => decoder.packet(from, to, parts, breach),
        }
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        match &self.content {
            Content::Units(kind, ..) | Content::Other(kind) => Some(*kind),
            _ => None,
        }
    }

    pub(super) fn report(&self, all: u64) -> PidReport {
        let kind = match (&self.content, self.pid) {
            (_, 0x1fff) => "null packets",
            (_, 0) => "PAT",
            (_, 1) => "CAT",
            (_, 0x10) => "NIT",
            (_, 0x11) => "SDT, BAT",
            (_, 0x12) => "EIT",
            (_, 0x14) => "TDT, TOT",
            (Content::Tables(_), _) => "PMT",
            (Content::Units(kind, ..) | Content::Other(kind), _) => kind.name(),
            (Content::Unknown, _) => "not referred to",
        };
        PidReport {
            pid: self.pid,
            kind: kind.into(),
            stream_type: self.stream_type,
            packets: self.packets,
            share: self.packets as f64 / all.max(1) as f64,
            continuity_errors: self.errors,
            duplicates: self.duplicates,
            units: self.units,
            pts_gap_ms: (self.longest_gap > 0.0).then(|| (self.longest_gap / 27.0).round() / 1e3),
        }
    }

    pub(super) fn table_reports(&self) -> Vec<TableReport> {
        let mut reports: BTreeMap<u8, TableReport> = BTreeMap::new();
        let mut sums: BTreeMap<u8, (f64, u64)> = BTreeMap::new();
        for (&(table_id, ..), repeats) in &self.tables {
            let report = reports.entry(table_id).or_insert_with(|| TableReport {
                pid: self.pid,
                table_id,
                ..TableReport::default()
            });
            report.count += repeats.count;
            let longest = (repeats.longest / 27.0).round() / 1e3;
            report.interval_ms[1] = report.interval_ms[1].max(longest);
            let sum = sums.entry(table_id).or_default();
            sum.0 += repeats.sum;
            sum.1 += repeats.count.saturating_sub(1);
        }
        for (table_id, report) in &mut reports {
            let (sum, count) = sums[table_id];
            report.interval_ms[0] = (sum / 27.0 / count.max(1) as f64).round() / 1e3;
        }
        reports.into_values().collect()
    }
}

impl Repeats {
    /// The section comes again; returns how long after the time before.
    pub(super) fn note(&mut self, time: f64) -> f64 {
        let gap = self.last.map_or(0.0, |last| time - last);
        self.count += 1;
        self.sum += gap;
        self.longest = self.longest.max(gap);
        self.last = Some(time);
        gap
    }
}
