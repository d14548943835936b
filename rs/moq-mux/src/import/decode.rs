//! Checks, unit by unit, whether decode times can be left out of the wire.
//!
//! The far end authors them: the n-th unit in decode order is decoded at the n-th smallest presentation time minus a
//! constant. Here the source's own decode times are known, so the constant is measured and the rule is tried on every
//! unit. Called for each stream with two kinds of time; knows nothing of codecs.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The most units that may wait for their turn: far more than any reorder depth (16 pictures, 32 fields).
const DEEPEST: usize = 128;

/// Units that must fit before the rule is believed.
const ENOUGH: u64 = 8;

/// The rule on trial.
#[derive(Debug, Default)]
pub(super) struct Rule {
    /// Presentation times whose turn has not come.
    waiting: BinaryHeap<Reverse<i64>>,
    /// Decode times of the units whose presentation time is still to be drawn, in order.
    units: VecDeque<i64>,
    delay: Option<i64>,
    fits: u64,
    misfits: u64,
    last: Option<i64>,
    period: Option<i64>,
}

impl Rule {
    /// The next unit in decode order; times in ticks of 90 kHz.
    pub(super) fn unit(&mut self, pts: i64, dts: i64) {
        self.waiting.push(Reverse(pts));
        self.units.push_back(dts);
        // What presents no later than this decodes has its place: whatever follows presents after it decodes, later still.
        while let Some(&Reverse(next)) = self.waiting.peek()
            && (next <= dts || self.waiting.len() > DEEPEST)
        {
            self.waiting.pop();
            let Some(decoded) = self.units.pop_front() else {
                break;
            };
            self.draw(next, decoded);
        }
    }

    /// A new time base, or units are missing: what waits will not be judged.
    pub(super) fn restart(&mut self) {
        self.waiting.clear();
        self.units.clear();
        self.last = None;
    }

    /// The constant, in ticks of 90 kHz; `None` while it is not known or when it cannot be one.
    pub(super) fn delay(&self) -> Option<u32> {
        self.delay.and_then(|delay| u32::try_from(delay).ok())
    }

    /// Whether the rule gave every decode time so far.
    pub(super) fn holds(&self) -> bool {
        self.misfits == 0 && self.delay.is_none_or(|delay| delay >= 0)
    }

    /// Whether enough was seen to say so.
    pub(super) fn is_settled(&self) -> bool {
        self.fits >= ENOUGH || !self.holds()
    }

    /// Distance of neighbouring presentation times, the smallest seen lately, in ticks of 90 kHz.
    pub(super) fn period(&self) -> Option<i64> {
        self.period
    }

    fn draw(&mut self, presented: i64, decoded: i64) {
        let delay = presented - decoded;
        if *self.delay.get_or_insert(delay) == delay {
            self.fits += 1;
        } else {
            self.misfits += 1;
        }
        if let Some(last) = self.last.replace(presented)
            && presented > last
        {
            self.period = Some(presented - last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decode order of a group of pictures with `b` B-frames between references, as display positions.
    fn order(b: i64, groups: i64) -> Vec<i64> {
        (0..groups)
            .flat_map(|g| {
                std::iter::once((g + 1) * (b + 1)).chain(g * (b + 1) + 1..(g + 1) * (b + 1))
            })
            .collect()
    }

    proptest! {
        #[test]
        fn a_constant_delay_is_found_and_holds(b in 0..5i64, period in 1000..6000i64, start in 0..1i64 << 40) {
            let mut rule = Rule::default();
            for (n, at) in order(b, 20).into_iter().enumerate() {
                let delay = if b > 0 { period } else { 0 };
                rule.unit(start + at * period, start + (n as i64 + 1) * period - delay);
            }
            prop_assert!(rule.holds() && rule.is_settled());
            prop_assert_eq!(rule.delay(), Some(if b > 0 { period as u32 } else { 0 }));
            prop_assert_eq!(rule.period(), Some(period));
        }

        #[test]
        fn any_times_are_taken_in_bounded_memory(times in prop::collection::vec((any::<i32>(), any::<i32>()), 0..600)) {
            let mut rule = Rule::default();
            for (pts, dts) in times {
                rule.unit(pts.into(), dts.into());
                prop_assert!(rule.waiting.len() <= DEEPEST && rule.units.len() <= DEEPEST);
            }
        }
    }

    #[test]
    fn rounded_half_ticks_do_not_fit() {
        // 59.94 frames a second with one frame of delay: 1501.5 ticks each, rounded on both sides.
        let mut rule = Rule::default();
        let round = |frames: i64| (frames * 3003 + 1) / 2;
        for n in 1..40 {
            rule.unit(round(n), round(n - 1));
        }
        assert!(!rule.holds());
    }
}
