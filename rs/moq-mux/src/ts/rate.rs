//! Measures the multiplex: is its rate constant, and which one is it?
//!
//! Every packet between two PCRs counts, nulls and duplicates too. A rate is called constant when the half-second
//! samples of two seconds agree within 2 % and no single PCR distance strays further than clocks and packet borders
//! explain; a variable multiplex whose mean happens to be steady does not pass the second test. Fed by the
//! demultiplexer; knows only packet numbers and ticks.

use std::collections::VecDeque;

use super::clock::HZ_27M;
use super::packet::PACKET;

/// Bits of a packet times ticks a second: packets / ticks × this is bit/s.
const BITS: u128 = PACKET as u128 * 8 * HZ_27M as u128;

/// Length of a sample, and samples that must agree.
const SAMPLE: i64 = HZ_27M as i64 / 2;
const SAMPLES: usize = 4;

/// A longer step of the PCR is no measure of anything.
const LONGEST_STEP: i64 = HZ_27M as i64;

/// Distances of PCRs that must be exact for a verdict before the window is full.
const EXACT_STEPS: u32 = 16;

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
#[derive(Debug, Default)]
pub struct Meter {
    last_packet: Option<u64>,
    /// PCR distances since the last restart: how many, and their sum.
    steps: u32,
    total: Span,
    /// Whether every distance so far fits one rate to the packet.
    exact: bool,
    sample: Span,
    window: VecDeque<Span>,
    published: Option<u64>,
    verdict: bool,
}

/// A stretch of the multiplex.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    packets: u64,
    ticks: i64,
    /// The distances that stray most from each other: packets and ticks of the slowest and the fastest.
    slow: Option<(u64, i64)>,
    fast: Option<(u64, i64)>,
}

impl Span {
    fn add(&mut self, packets: u64, ticks: i64) {
        self.packets += packets;
        self.ticks = self.ticks.saturating_add(ticks);
        let slower = |a: (u64, i64), b: (u64, i64)| {
            u128::from(a.0) * (b.1 as u128) < u128::from(b.0) * (a.1 as u128)
        };
        let step = (packets, ticks);
        if self.slow.is_none_or(|slow| slower(step, slow)) {
            self.slow = Some(step);
        }
        if self.fast.is_none_or(|fast| slower(fast, step)) {
            self.fast = Some(step);
        }
    }

    fn rate(&self) -> u64 {
        (u128::from(self.packets) * BITS / (self.ticks.max(1) as u128)) as u64
    }

    /// Whether the outermost distances lie within `packets` packets and `percent` of the mean of `whole`.
    fn is_steady(&self, whole: &Span, packets: f64, percent: f64) -> bool {
        let mean = whole.packets as f64 / whole.ticks.max(1) as f64;
        [self.slow, self.fast]
            .into_iter()
            .flatten()
            .all(|(count, ticks)| {
                let expected = ticks as f64 * mean;
                (count as f64 - expected).abs() <= packets + expected * percent / 100.0
            })
    }
}

impl Meter {
    /// The clock went on by `ticks` of 27 MHz up to a PCR in the `packet`-th packet of the multiplex.
    pub fn step(&mut self, packet: u64, ticks: i64) {
        let Some(last) = self.last_packet.replace(packet) else {
            return;
        };
        if ticks <= 0 || ticks > LONGEST_STEP {
            // A repeated value is no step; a long one is a hole.
            self.restart(packet);
            return;
        }
        let packets = packet - last;
        self.steps = self.steps.saturating_add(1);
        self.total.add(packets, ticks);
        self.sample.add(packets, ticks);
        self.exact =
            (self.exact || self.steps == 1) && self.total.is_steady(&self.total, 1.01, 0.001);
        if self.sample.ticks >= SAMPLE {
            self.window.push_back(std::mem::take(&mut self.sample));
            if self.window.len() > SAMPLES {
                self.window.pop_front();
            }
            if self.window.len() == SAMPLES {
                self.judge();
            }
        }
    }

    /// The time base broke, or the clock moved to another PID, at the `packet`-th packet: start over.
    pub fn restart(&mut self, packet: u64) {
        *self = Self {
            last_packet: Some(packet),
            ..Self::default()
        };
    }

    /// What is known so far. An exactly kept clock is believed after sixteen PCRs, any other after two seconds.
    pub fn rate(&self) -> Rate {
        if self.exact && self.steps >= EXACT_STEPS {
            return Rate::Constant(self.best());
        }
        match self.published {
            Some(rate) => Rate::Constant(rate),
            None if self.verdict => Rate::Variable,
            None => Rate::Unknown,
        }
    }

    fn judge(&mut self) {
        self.verdict = true;
        let mut whole = Span::default();
        for span in &self.window {
            whole.packets += span.packets;
            whole.ticks = whole.ticks.saturating_add(span.ticks);
        }
        let mean = whole.rate();
        let near = |rate: u64, reference: u64, percent: u64| {
            rate.abs_diff(reference) * 100 <= reference * percent
        };
        let steady = self
            .window
            .iter()
            .all(|span| near(span.rate(), mean, 2) && span.is_steady(&whole, 2.0, 10.0));
        match self.published {
            _ if steady && self.published.is_none_or(|rate| !near(mean, rate, 1)) => {
                self.published = Some(round(whole.packets, whole.ticks));
            }
            Some(rate) if !steady && !self.window.iter().any(|span| near(span.rate(), rate, 2)) => {
                self.published = None
            }
            _ => {}
        }
    }

    /// The rate over everything since the last restart.
    fn best(&self) -> u64 {
        round(self.total.packets, self.total.ticks)
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
