//! Measures the multiplex: is its rate constant, and which one is it?
//!
//! Every packet between two PCRs counts, nulls and duplicates too. At a constant rate the packets run along a straight
//! line of the clock: over two seconds no PCR may lie further from it than a packet and the jitter of clocks. A
//! multiplex that is padded with nulls is meant to be constant and is allowed the jitter of networks. Fed by the
//! demultiplexer; knows only packet numbers and ticks.

use std::collections::VecDeque;

use super::clock::HZ_27M;
use super::packet::PACKET;

/// Bits of a packet times ticks a second: packets / ticks × this is bit/s.
const BITS: u128 = PACKET as u128 * 8 * HZ_27M as u128;

/// The window a verdict needs, and how often it is given, in ticks of 27 MHz; and the PCRs it needs, as few lie on a line
/// by chance.
const WINDOW: i64 = 2 * HZ_27M as i64;
const FEWEST: usize = 32;
const REVIEW: i64 = HZ_27M as i64 / 2;

/// PCRs on the line that are enough without a full window, when none is a packet off.
const ENOUGH: usize = 16;

/// The most PCRs remembered: at the closest useful distance (10 ms) more than a window of them.
const MOST: usize = 256;

/// A longer step of the PCR is a hole and no measure of anything.
const LONGEST_STEP: i64 = HZ_27M as i64;

/// How far from the line a PCR may lie: packets, and ticks for the jitter of an exact source and of a padded one.
const PACKETS: f64 = 1.5;
const JITTER: f64 = 13_500.0;
const PADDED_JITTER: f64 = 270_000.0;

/// A published rate is replaced when the new one differs by more than this many per cent.
const NEWS: u64 = 1;

/// What is known about the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Not enough was seen.
    Unknown,
    /// Constant, in bit/s.
    Constant(u64),
    /// Not constant.
    Variable,
}

/// The meter.
#[derive(Debug)]
pub struct Meter {
    /// PCRs of the window.
    points: VecDeque<Point>,
    /// Clock at the last review.
    reviewed: i64,
    verdict: Rate,
    varied: bool,
}

/// A PCR: packets and nulls of the multiplex up to it, and ticks of 27 MHz since the start.
#[derive(Clone, Copy, Debug)]
struct Point {
    packets: u64,
    nulls: u64,
    ticks: i64,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            points: VecDeque::new(),
            reviewed: 0,
            verdict: Rate::Unknown,
            varied: false,
        }
    }
}

impl Meter {
    /// The clock went on by `ticks` of 27 MHz up to a PCR in the `packets`-th packet of the multiplex, `nulls` of them
    /// null packets. O(1), and O(PCRs of two seconds) twice a second.
    pub fn step(&mut self, packets: u64, nulls: u64, ticks: i64) {
        if ticks > LONGEST_STEP {
            return self.restart(packets, nulls);
        }
        let Some(last) = self.points.back() else {
            return self.restart(packets, nulls);
        };
        if ticks <= 0 {
            // The first PCR of a clock, or the same one again.
            if self.points.len() == 1 {
                self.restart(packets, nulls);
            }
            return;
        }
        let point = Point {
            packets,
            nulls,
            ticks: last.ticks.saturating_add(ticks),
        };
        self.points.push_back(point);
        while self.points.len() > MOST || self.points.len() > FEWEST && self.spans(1) {
            self.points.pop_front();
        }
        if self.verdict == Rate::Unknown && self.points.len() == ENOUGH && self.strays() < 1.0 {
            self.publish();
        }
        if point.ticks - self.reviewed >= REVIEW {
            self.reviewed = point.ticks;
            if self.points.len() >= FEWEST && self.spans(0) || self.points.len() == MOST {
                self.review();
            }
        }
    }

    /// The time base broke, or the clock moved to another PID: start over.
    pub fn restart(&mut self, packets: u64, nulls: u64) {
        let points = VecDeque::from([Point {
            packets,
            nulls,
            ticks: 0,
        }]);
        *self = Self {
            points,
            varied: self.varied,
            ..Self::default()
        };
    }

    /// What is known so far. An exact clock is believed after sixteen PCRs, any other after two seconds.
    pub fn rate(&self) -> Rate {
        self.verdict
    }

    /// Whether it was ever found not constant.
    pub fn has_varied(&self) -> bool {
        self.varied
    }

    /// Whether the PCRs from the `from`-th on fill a window.
    fn spans(&self, from: usize) -> bool {
        let ends = self.points.get(from).zip(self.points.back());
        ends.is_some_and(|(first, last)| last.ticks - first.ticks >= WINDOW)
    }

    fn review(&mut self) {
        let (first, last) = (self.points[0], self.points[self.points.len() - 1]);
        let jitter = if last.nulls > first.nulls {
            PADDED_JITTER
        } else {
            JITTER
        };
        let (packets, ticks) = (last.packets - first.packets, last.ticks - first.ticks);
        if self.strays() <= PACKETS + jitter * packets as f64 / ticks as f64 {
            self.publish();
        } else {
            self.verdict = Rate::Variable;
            self.varied = true;
        }
    }

    /// The furthest a PCR lies from the line between the first and the last, in packets.
    fn strays(&self) -> f64 {
        let (first, last) = (self.points[0], self.points[self.points.len() - 1]);
        let slope = (last.packets - first.packets) as f64 / (last.ticks - first.ticks) as f64;
        let stray = |point: &Point| {
            ((point.packets - first.packets) as f64 - (point.ticks - first.ticks) as f64 * slope)
                .abs()
        };
        self.points.iter().map(stray).fold(0.0, f64::max)
    }

    fn publish(&mut self) {
        let (first, last) = (self.points[0], self.points[self.points.len() - 1]);
        let rate = round(last.packets - first.packets, last.ticks - first.ticks);
        match self.verdict {
            Rate::Constant(known) if known.abs_diff(rate) * 100 <= known * NEWS => {}
            _ => self.verdict = Rate::Constant(rate),
        }
    }
}

/// The roundest rate that explains `packets` in `ticks` when the ends are read to half a µs each.
fn round(packets: u64, ticks: i64) -> u64 {
    let ticks = ticks.max(1) as u128;
    let scaled = u128::from(packets) * BITS;
    let middle = (scaled + ticks / 2) / ticks;
    // 13818-1 §2.4.2.2: a PCR may be off by 500 ns, 13.5 ticks of 27 MHz.
    let (low, high) = (
        scaled / (ticks + 27),
        scaled / ticks.saturating_sub(27).max(1) + 1,
    );
    let round = (1..=9)
        .rev()
        .map(|digits| 10u128.pow(digits))
        .find_map(|unit| {
            let candidate = (middle + unit / 2) / unit * unit;
            (low..=high).contains(&candidate).then_some(candidate)
        });
    u64::try_from(round.unwrap_or(middle)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
