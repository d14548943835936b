//! Decode times for a stream that carries only presentation times.
//!
//! The n-th unit in decode order is decoded at the n-th smallest presentation time minus a constant delay. That is how
//! encoders with a fixed reorder depth count, so their own decode times come back exactly, whichever group the count
//! starts from. Called by the exporter for each video track; knows nothing of codecs. Times are ticks of 90 kHz.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Units looked at before the spacing of pictures is believed: the deepest reordering H.264 and H.265 allow, and one.
const LOOK: usize = 17;

/// The deepest reordering, in units: 16 frames coded as fields.
const DEEPEST: usize = 32;

/// Gives decode times to units in decode order.
#[derive(Debug)]
pub struct Author<T> {
    delay: Option<i64>,
    /// Units whose decode time is still open.
    open: VecDeque<(i64, T)>,
    /// Presentation times not drawn yet.
    sorted: BinaryHeap<Reverse<i64>>,
    /// Smallest distance of two presentation times seen.
    period: Option<i64>,
    last: Option<i64>,
    ended: bool,
    seen: usize,
}

impl<T> Author<T> {
    /// With the known delay, in ticks of 90 kHz; without one it is the smallest that lets none of the first
    /// seventeen units present before it is decoded, and grows if one later would.
    pub fn new(delay: Option<u32>) -> Self {
        Self {
            delay: delay.map(i64::from),
            open: VecDeque::new(),
            sorted: BinaryHeap::new(),
            period: None,
            last: None,
            ended: false,
            seen: 0,
        }
    }

    /// The next unit in decode order.
    pub fn push(&mut self, pts: i64, unit: T) {
        let nearest = self
            .open
            .iter()
            .map(|&(other, _)| (other - pts).abs())
            .filter(|&gap| gap > 0)
            .min();
        self.period = [self.period, nearest].into_iter().flatten().min();
        self.open.push_back((pts, unit));
        self.sorted.push(Reverse(pts));
        self.seen += 1;
    }

    /// No unit will follow: what is open can be drawn.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The oldest unit whose decode time is certain, as (decode time, presentation time, unit).
    pub fn pop(&mut self) -> Option<(i64, i64, T)> {
        if !self.ended && self.open.len() <= self.lookahead() {
            return None;
        }
        let delay = match self.delay {
            Some(delay) => delay,
            None => *self.delay.insert(self.observe()),
        };
        let (pts, unit) = self.open.pop_front()?;
        let Reverse(drawn) = self.sorted.pop()?;
        // A unit never presents before it is decoded, nor two be decoded at once.
        let mut dts = (drawn - delay).min(pts);
        if let Some(last) = self.last
            && dts <= last
            && last < pts
        {
            dts = last + 1;
        }
        self.last = Some(dts);
        Some((dts, pts, unit))
    }

    /// Units that must be seen beyond one before its draw is certain: nothing that far behind may present before it.
    fn lookahead(&self) -> usize {
        if self.seen < LOOK || self.delay.is_none() {
            return LOOK;
        }
        match (self.delay, self.period) {
            (Some(0), _) => 0,
            (Some(delay), Some(period)) => usize::try_from(delay / period + 1)
                .unwrap_or(DEEPEST)
                .min(DEEPEST),
            _ => LOOK,
        }
    }

    /// The smallest delay that lets none of the settled open units present before it is decoded. The last half are not
    /// settled: what is to come may still be drawn before them.
    fn observe(&self) -> i64 {
        let mut sorted: Vec<i64> = self.open.iter().map(|&(pts, _)| pts).collect();
        sorted.sort_unstable();
        let unsettled = if self.ended { 0 } else { LOOK / 2 };
        let settled = sorted.len().saturating_sub(unsettled);
        let drawn = self.open.iter().zip(&sorted).take(settled);
        let delays = drawn.map(|(&(pts, _), &drawn)| drawn - pts);
        delays.max().unwrap_or(0).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Presentation positions of mini-groups in decode order: the reference first, then its B-pictures, a pyramid if
    /// `pyramid`.
    fn order(b: i64, pyramid: bool, groups: i64) -> Vec<i64> {
        let mut order = vec![0];
        for group in 0..groups {
            let first = group * (b + 1);
            order.push(first + b + 1);
            let mut inner: Vec<i64> = (first + 1..=first + b).collect();
            if pyramid && !inner.is_empty() {
                let middle = inner.remove(inner.len() / 2);
                inner.insert(0, middle);
            }
            order.extend(inner);
        }
        order
    }

    fn authored(pts: &[i64], delay: Option<u32>) -> Vec<i64> {
        let mut author = Author::new(delay);
        let mut out = Vec::new();
        for &pts in pts {
            author.push(pts, ());
            out.extend(std::iter::from_fn(|| author.pop()).map(|(dts, ..)| dts));
        }
        author.end();
        out.extend(std::iter::from_fn(|| author.pop()).map(|(dts, ..)| dts));
        out
    }

    proptest! {
        #[test]
        fn an_encoders_own_times_come_back(b in 0i64..5, pyramid: bool, period in 1500i64..6000, start in 0i64..1 << 40) {
            let order = order(b, pyramid, 30);
            let depth = if b == 0 { 0 } else if pyramid && b > 1 { 2 } else { 1 };
            let pts: Vec<i64> = order.iter().map(|at| start + at * period).collect();
            let dts: Vec<i64> = (0..pts.len() as i64).map(|n| start + (n - depth) * period).collect();
            prop_assert_eq!(authored(&pts, Some((depth * period) as u32)), dts.clone());
            // Unknown, the delay is found.
            prop_assert_eq!(authored(&pts, None), dts);
        }

        #[test]
        fn joining_at_a_later_group_gives_the_same_times(b in 0i64..4, join in 1usize..20) {
            let order = order(b, false, 40);
            let depth = i64::from(b > 0);
            let pts: Vec<i64> = order.iter().map(|at| at * 3600).collect();
            let from = 1 + join * (b as usize + 1);
            let whole = authored(&pts, Some((depth * 3600) as u32));
            prop_assert_eq!(&authored(&pts[from..], Some((depth * 3600) as u32))[..], &whole[from..]);
        }

        #[test]
        fn any_times_give_ordered_decode_times(pts in prop::collection::vec(any::<i32>(), 0..200), delay: Option<u16>) {
            let pts: Vec<i64> = pts.into_iter().map(i64::from).collect();
            prop_assert_eq!(authored(&pts, delay.map(u32::from)).len(), pts.len());
        }
    }
}
