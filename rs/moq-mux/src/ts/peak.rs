//! The smallest constant rate that carries a variable source in time.
//!
//! Every unit must be there when it is decoded and may be sent up to a lead before. So for any stretch of time what is
//! decoded in it must fit into the stretch and the lead before it; the worst stretch gives the rate. Fed with units by
//! the importer in any order near their decode times; knows only times and packets.

use std::collections::VecDeque;

use super::packet::PACKET;

/// Width of a bin, and how early a unit may be sent, in ticks of 90 kHz: 25 ms and 400 ms.
const BIN: i64 = 2_250;
const LEAD: i64 = 36_000;

/// Bins kept: longer stretches than 12.8 s say no more than the mean does.
const BINS: usize = 512;

/// How far behind the newest unit another may still come, in bins: 4 s.
const OPEN: usize = 160;

/// A jump this far starts over instead of filling bins, in bins: a minute.
const JUMP: i64 = 2_400;

/// What an exporter needs beside the units, in packets a second: a clock packet every 25 ms, PAT and PMT every 75 ms, a
/// few for service information.
const OVERHEAD: u64 = 40 + 2 * 14 + 4;

/// Rates are raised by this many per mille for what the simple model leaves out (slot borders, buffers).
const MARGIN: u64 = 50;

/// Finds the worst stretch.
#[derive(Debug, Default)]
pub struct Peak {
    /// Packets by bin of decode time; the first bin is number `first`.
    bins: VecDeque<u64>,
    first: i64,
    /// How many bins at the front are judged.
    closed: usize,
    /// Worst packets per 90 kHz tick, as a fraction.
    worst: Option<(u64, u64)>,
    total: u64,
}

impl Peak {
    /// A unit of `packets` packets that is decoded at `dts` (ticks of 90 kHz).
    pub fn unit(&mut self, dts: i64, packets: u64) {
        self.total += packets;
        let bin = dts.div_euclid(BIN);
        if self.bins.is_empty() {
            self.first = bin;
        }
        let mut at = bin - self.first;
        if at < 0 {
            // Late beyond what is kept: due at once.
            at = (self.closed as i64).min(self.bins.len() as i64 - 1);
        }
        if at - self.bins.len() as i64 > JUMP {
            self.flush();
            self.bins.clear();
            self.closed = 0;
            self.first = bin;
            at = 0;
        }
        let at = at as usize;
        while self.bins.len() <= at {
            self.bins.push_back(0);
        }
        self.bins[at] += packets;
        self.close(self.bins.len().saturating_sub(OPEN));
        while self.closed > BINS {
            self.bins.pop_front();
            self.first += 1;
            self.closed -= 1;
        }
    }

    /// The rate so far in bit/s, overhead and margin included; `None` before anything was judged.
    pub fn rate(&self) -> Option<u64> {
        let (packets, ticks) = self.worst?;
        let media = u128::from(packets) * 90_000 / u128::from(ticks.max(1));
        let bits = (media + u128::from(OVERHEAD)) * PACKET as u128 * 8;
        u64::try_from(bits * u128::from(1000 + MARGIN) / 1000).ok()
    }

    /// Judges what is still open: nothing earlier will come.
    pub fn flush(&mut self) {
        self.close(self.bins.len());
    }

    /// Judges every stretch that ends in a bin below `end`.
    fn close(&mut self, end: usize) {
        while self.closed < end {
            let last = self.closed;
            self.closed += 1;
            let mut packets = 0;
            for (length, index) in (0..=last).rev().enumerate().take(BINS) {
                packets += self.bins[index];
                // Units lie anywhere in a bin: the first may be due at its very end, the last at the very start of its own.
                let ticks = length as i64 * BIN + LEAD;
                let (most, over) = self.worst.unwrap_or((0, 1));
                if u128::from(packets) * u128::from(over) > u128::from(most) * (ticks as u128) {
                    self.worst = Some((packets, ticks as u64));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether units of (decode time, packets) all arrive in time at `rate` when none is sent earlier than the lead.
    fn carries(units: &[(i64, u64)], rate: u64) -> bool {
        let mut free = f64::MIN;
        units.iter().all(|&(dts, packets)| {
            let start = free.max((dts - LEAD) as f64);
            free = start + (packets * PACKET as u64 * 8) as f64 * 90_000.0 / rate as f64;
            free <= dts as f64
        })
    }

    /// The rate left for media.
    fn media(rate: u64) -> u64 {
        rate * 1000 / (1000 + MARGIN) - OVERHEAD * PACKET as u64 * 8
    }

    proptest! {
        #[test]
        fn the_rate_carries_everything_and_hardly_less_does(
            start in 0..1i64 << 40,
            sizes in prop::collection::vec(prop_oneof![8 => 1..60u64, 1 => 100..2000u64], 80..300),
        ) {
            let units: Vec<_> = sizes.iter().enumerate().map(|(n, &size)| (start + n as i64 * 3_600, size)).collect();
            let mut peak = Peak::default();
            units.iter().for_each(|&(dts, packets)| peak.unit(dts, packets));
            peak.flush();
            let rate = peak.rate().unwrap();
            prop_assert!(carries(&units, rate));
            prop_assert!(!carries(&units, media(rate) * 85 / 100), "a sixth less does not do");
        }

        #[test]
        fn any_times_are_taken_in_bounded_memory(units in prop::collection::vec((any::<i64>(), 0..64u32, any::<u16>()), 0..300)) {
            let mut peak = Peak::default();
            for (dts, shift, packets) in units {
                peak.unit(dts >> shift, packets.into());
                prop_assert!(peak.bins.len() <= JUMP as usize + BINS + 2);
            }
            peak.flush();
        }
    }

    #[test]
    fn a_steady_stream_needs_its_own_rate() {
        let mut peak = Peak::default();
        for n in 0..4_000 {
            peak.unit(n * 3_600, 40);
        }
        peak.flush();
        // 1,000 packets a second
        let rate = media(peak.rate().unwrap());
        assert!((1_504_000 * 88 / 100..=1_510_000).contains(&rate), "{rate}");
    }
}
