//! One continuous time for a source whose clock wraps, jumps and restarts.
//!
//! Source times are 33-bit and belong to whatever time base is in force; what comes out counts on for ever. A step of
//! the PCR that a running programme cannot make (backwards, flagged, or more than a minute ahead) is a new base: it is
//! laid so that the programme clock goes on from where it was. Times of units are read in the newest base in which they
//! lie near the clock, so that units of the old base that follow late still land where they belong, and a single broken
//! PCR moves nothing. Called by the demultiplexer; knows nothing of packets or streams.

use super::clock::{HZ_27M, HZ_90K, MODULUS_27M, MODULUS_90K, unwrap};

/// A longer step ahead is a new base, a shorter one a gap in which time passed. Ticks of 27 MHz.
const LONGEST_GAP: i64 = 60 * HZ_27M as i64;

/// How far a flagged step may stray from what the clock would have made and still not be a new base. 27 MHz.
const FLAG_TOLERANCE: i64 = HZ_27M as i64 / 2;

/// How far a unit's time may lie before and after the clock and be believed in a base. Ticks of 90 kHz.
/// 13818-1 §2.7.9 allows ten seconds of buffering.
const NEAR_BEFORE: i64 = 5 * HZ_90K as i64;
const NEAR_AFTER: i64 = 15 * HZ_90K as i64;

/// How long units of an old base may follow, in ticks of 27 MHz.
const OLD_BASE_LIFE: i64 = 10 * HZ_27M as i64;

/// How long the expected distance of two PCRs is trusted, in ticks of 27 MHz.
const LONGEST_STEP: i64 = HZ_27M as i64;

/// First time stamps below this, without a PCR before them, may be followed by earlier ones: ticks of 90 kHz.
const EARLY: i64 = 10 * HZ_90K as i64;

/// The continuous time of one programme.
#[derive(Debug, Default)]
pub struct Timeline {
    /// What is added to a source time, in ticks of 90 kHz: in the base in force, and in the one before.
    offset: i64,
    old: Option<OldBase>,
    /// Programme clock, ticks of 27 MHz.
    clock: Option<i64>,
    /// Highest clock handed out.
    front: i64,
    /// Time of the last unit, ticks of 90 kHz: stands in for a programme without PCR.
    last_stamp: Option<i64>,
    /// Packet number of the last PCR, and the last two distances of PCRs, the later one first.
    last_packet: u64,
    steps: [Option<Distance>; 2],
    breaks: u32,
}

/// From one PCR to the next, in packets of the multiplex and in ticks of 27 MHz.
#[derive(Clone, Copy, Debug)]
struct Distance {
    packets: u64,
    ticks: i64,
}

#[derive(Clone, Copy, Debug)]
struct OldBase {
    offset: i64,
    until: i64,
}

/// What a PCR meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The clock went on by this many ticks of 27 MHz (0 for a repeated value or the first).
    On(i64),
    /// A new time base.
    Break,
}

/// Decode and presentation time of a unit, in unwrapped ticks of 90 kHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Presentation.
    pub pts: i64,
    /// Decoding; equal to `pts` when the source gave only that.
    pub dts: i64,
}

impl Timeline {
    /// Programme clock at the last PCR, in ticks of 27 MHz: never steps back. `None` before the first.
    pub fn clock(&self) -> Option<i64> {
        self.clock.map(|_| self.front)
    }

    /// The best idea of now, in ticks of 90 kHz: the programme clock, or the last unit's time without one.
    pub fn now_90k(&self) -> Option<i64> {
        self.clock.map(|clock| clock / 300).or(self.last_stamp)
    }

    /// How many time bases ended.
    pub fn breaks(&self) -> u32 {
        self.breaks
    }

    /// A PCR of the programme, in ticks of 27 MHz, in the `packet`-th packet of the multiplex.
    pub fn pcr(&mut self, raw: i64, flagged: bool, packet: u64) -> Step {
        let packets = packet.saturating_sub(self.last_packet).max(1);
        self.last_packet = packet;
        let here = raw.saturating_add(self.offset * 300);
        let Some(clock) = self.clock else {
            let reference = self.last_stamp.map_or(raw, |stamp| stamp * 300);
            let clock = unwrap(reference, here.rem_euclid(MODULUS_27M), MODULUS_27M);
            self.clock = Some(clock);
            self.front = clock;
            return Step::On(0);
        };
        let next = unwrap(clock, here.rem_euclid(MODULUS_27M), MODULUS_27M);
        let step = next - clock;
        let expected = self.expected_step(packets);
        let strays = !(0..=LONGEST_GAP).contains(&step);
        if strays || flagged && (step - expected).abs() > FLAG_TOLERANCE {
            self.break_to(clock + expected, raw);
            self.clock = Some(clock + expected);
            self.front = self.front.max(clock + expected);
            return Step::Break;
        }
        if step > 0 && step <= LONGEST_STEP {
            self.steps = [
                Some(Distance {
                    packets,
                    ticks: step,
                }),
                self.steps[0],
            ];
        }
        if self.old.is_some_and(|old| old.until < next) {
            self.old = None;
        }
        self.clock = Some(next);
        self.front = self.front.max(next);
        Step::On(step)
    }

    /// Unwraps the times of a unit that starts now.
    pub fn stamp(&mut self, pts: i64, dts: Option<i64>) -> Times {
        let decode = dts.unwrap_or(pts);
        let Some(now) = self.now_90k() else {
            // Nothing to compare with. Close to zero, leave room for what belongs before the wrap.
            let first = if decode < EARLY {
                decode + MODULUS_90K
            } else {
                decode
            };
            self.last_stamp = Some(first);
            return Times {
                pts: unwrap(first, pts, MODULUS_90K),
                dts: first,
            };
        };
        let place =
            |offset: i64| unwrap(now, (decode + offset).rem_euclid(MODULUS_90K), MODULUS_90K);
        let near = |time: i64| (-NEAR_BEFORE..=NEAR_AFTER).contains(&(time - now));
        let (mut at, mut offset) = (place(self.offset), self.offset);
        if !near(at)
            && let Some(old) = self.old
            && near(place(old.offset))
        {
            (at, offset) = (place(old.offset), old.offset);
        }
        self.last_stamp = Some(at);
        Times {
            pts: unwrap(at, (pts + offset).rem_euclid(MODULUS_90K), MODULUS_90K),
            dts: at,
        }
    }

    /// The same material starts again: from here on its times come out later by `later` ticks of 90 kHz.
    pub fn restart(&mut self, later: i64) {
        self.old = None;
        self.offset += later;
        self.breaks += 1;
        if let Some(clock) = self.clock {
            // The first PCR of the new turn is near here; what lies between is not a step to be judged.
            self.last_stamp = Some(clock / 300);
            self.clock = None;
        }
    }

    /// Lays a new base: source time `raw` (27 MHz) is `at` on the timeline.
    fn break_to(&mut self, at: i64, raw: i64) {
        // A base just left that fits again was left for one broken PCR: take it back as it was.
        let returns = self.old.filter(|old| {
            let there = unwrap(
                at,
                (raw + old.offset * 300).rem_euclid(MODULUS_27M),
                MODULUS_27M,
            );
            (there - at).abs() <= FLAG_TOLERANCE
        });
        let offset = returns.map_or((at - raw) / 300, |old| old.offset);
        self.old = Some(OldBase {
            offset: self.offset,
            until: at + OLD_BASE_LIFE,
        });
        self.offset = offset;
        self.breaks += 1;
    }

    /// How far the clock would have run in `packets` packets: at a constant rate that is known to the packet, otherwise
    /// PCRs are as far apart as they were. 0 while nothing is known.
    fn expected_step(&self, packets: u64) -> i64 {
        let Some(last) = self.steps[0] else { return 0 };
        let Some(before) = self.steps[1] else {
            return last.ticks;
        };
        let run = |distance: Distance, packets: u64| {
            let ticks = i128::from(distance.ticks) * i128::from(packets);
            i64::try_from(ticks / i128::from(distance.packets.max(1))).unwrap_or(LONGEST_STEP)
        };
        let constant = (run(last, before.packets) - before.ticks).abs() <= run(last, 1);
        let step = if constant {
            run(last, packets)
        } else {
            last.ticks
        };
        step.min(LONGEST_STEP)
    }
}

#[cfg(test)]
mod tests;
