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
    /// Where the line began that is still followed: the longer it is, the better its slope is known.
    origin: Option<Point>,
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
            origin: None,
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
            self.origin = None;
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
        let last = self.points[self.points.len() - 1];
        let window = Slope::between(self.points[0], last);
        let known = match self.verdict {
            Rate::Constant(known) => known,
            _ => 0,
        };
        if known.abs_diff(window.roundest()) * 100 > known * NEWS {
            // A new rate: the line bends here.
            self.origin = Some(self.points[0]);
            self.verdict = Rate::Constant(window.roundest());
            return;
        }
        let line = Slope::between(self.origin.unwrap_or(self.points[0]), last);
        if self.strays() < 1.0 && !line.explains(known) {
            self.verdict = Rate::Constant(line.roundest());
        }
    }
}

/// Packets over ticks, both ends read to half a µs (13818-1 §2.4.2.2: a PCR may be off by 500 ns, 13.5 ticks).
struct Slope {
    packets: u64,
    ticks: i64,
}

impl Slope {
    const BLUR: u128 = 27;

    fn between(first: Point, last: Point) -> Self {
        Self {
            packets: last.packets - first.packets,
            ticks: last.ticks - first.ticks,
        }
    }

    /// Whether this is what a rate, in bit/s, looks like.
    fn explains(&self, rate: u64) -> bool {
        let (bits, ticks) = (u128::from(self.packets) * BITS, self.ticks.max(1) as u128);
        let lowest = bits / (ticks + Self::BLUR);
        let highest = bits / ticks.saturating_sub(Self::BLUR).max(1) + 1;
        (lowest..=highest).contains(&rate.into())
    }

    /// The roundest rate it may be, in bit/s.
    fn roundest(&self) -> u64 {
        let (bits, ticks) = (u128::from(self.packets) * BITS, self.ticks.max(1) as u128);
        let middle = u64::try_from((bits + ticks / 2) / ticks).unwrap_or(u64::MAX);
        let round = |digits: u32| {
            (
                middle / 10u64.pow(digits) * 10u64.pow(digits),
                10u64.pow(digits),
            )
        };
        (1..=9)
            .rev()
            .flat_map(|digits| {
                [
                    round(digits).0,
                    round(digits).0.saturating_add(round(digits).1),
                ]
            })
            .find(|&rate| self.explains(rate))
            .unwrap_or(middle)
    }
}

#[cfg(test)]
mod tests;
