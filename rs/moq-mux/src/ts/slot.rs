//! The absolute grid of 25 ms slots: how many packets each carries at a rate, and when each packet leaves.
//!
//! Called by the schedule and the multiplexer; knows nothing of streams. Everything is a pure function of slot number and
//! rate, in integers: two exporters that started at different times agree on every packet. Packet number n starts at
//! n × 1504 / rate seconds of programme time, and slot k begins with packet floor(k × rate / 60160), so a slot starts
//! less than one packet before its 25 ms do. Time is unwrapped; only [`wire`] reduces a PCR, since neither 2^33 × 300
//! nor 2^33 is a multiple of a slot.

use super::clock::{HZ_27M, MODULUS_27M, div_round};
use super::packet::PACKET;

/// Length of a slot in ticks of 27 MHz: 25 ms.
pub const SLOT: i64 = 675_000;

/// Slots a second.
pub const SLOTS_A_SECOND: u64 = HZ_27M / SLOT as u64;

/// Bits of a packet.
pub const PACKET_BITS: u64 = PACKET as u64 * 8;

/// A rate of this many bit/s sends one packet a slot.
const BITS_A_SLOT: u64 = PACKET_BITS * SLOTS_A_SECOND;

/// Which byte of a clock packet its PCR is the time of: the one with the last bit of the base (ISO/IEC 13818-1 §2.4.2.2).
const PCR_BYTE: i128 = 10;

const _: () = assert!(BITS_A_SLOT == 60_160 && SLOT as u64 * SLOTS_A_SECOND == HZ_27M);

/// A constant rate of a multiplex in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// The lowest rate: every slot has room for a clock packet.
    pub const MIN: Self = Self(100_000);
    /// The highest rate.
    pub const MAX: Self = Self(1_000_000_000);

    /// A rate in bit/s; `None` outside [`Rate::MIN`] to [`Rate::MAX`].
    pub fn new(bits: u64) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0)
            .contains(&bits)
            .then_some(Self(bits))
    }

    /// The nearest rate there is.
    pub fn clamped(bits: u64) -> Self {
        Self(bits.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// Bit/s.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Number of the first packet of slot `slot`: floor(slot × rate / 60160).
    pub fn packets_before(self, slot: i64) -> i64 {
        let packets = (i128::from(slot) * i128::from(self.0)).div_euclid(i128::from(BITS_A_SLOT));
        saturate(packets)
    }

    /// How many packets slot `slot` carries: at least one.
    pub fn packets_in(self, slot: i64) -> usize {
        let packets = self.packets_before(slot.saturating_add(1)) - self.packets_before(slot);
        packets.max(1) as usize
    }

    /// When packet `packet` starts, in ticks of 27 MHz, rounded down.
    pub fn start_of(self, packet: i64) -> i64 {
        let ticks = i128::from(packet) * i128::from(PACKET_BITS) * i128::from(HZ_27M);
        saturate(ticks.div_euclid(i128::from(self.0)))
    }

    /// The first packet that starts at or after `time` (ticks of 27 MHz). All before it have begun to arrive by then.
    pub fn packet_at(self, time: i64) -> i64 {
        let bits = i128::from(time) * i128::from(self.0);
        let packet = i128::from(PACKET_BITS) * i128::from(HZ_27M);
        saturate(-(-bits).div_euclid(packet))
    }

    /// How many packets, counted from time zero, are through by `time` (ticks of 27 MHz).
    pub fn packets_by(self, time: i64) -> i64 {
        let bits = i128::from(time) * i128::from(self.0);
        saturate(bits.div_euclid(i128::from(PACKET_BITS) * i128::from(HZ_27M)))
    }

    /// PCR of the clock packet that opens slot `slot`, unwrapped: when its byte 10 leaves, to the nearest tick.
    pub fn pcr(self, slot: i64) -> i64 {
        let bytes = i128::from(self.packets_before(slot)) * PACKET as i128 + PCR_BYTE;
        div_round(bytes * 8 * i128::from(HZ_27M), i128::from(self.0))
    }
}

/// One slot at a rate: positions of packets and their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Number on the absolute grid.
    pub number: i64,
    /// The rate it is sent at.
    pub rate: Rate,
    /// Packets it carries.
    pub packets: u32,
    first: i64,
}

impl Slot {
    /// Slot `number` at `rate`.
    pub fn new(number: i64, rate: Rate) -> Self {
        Self {
            number,
            rate,
            packets: rate.packets_in(number) as u32,
            first: rate.packets_before(number),
        }
    }

    /// When its first packet starts, in ticks of 27 MHz.
    pub fn start(self) -> i64 {
        self.rate.start_of(self.first)
    }

    /// When its last packet ends.
    pub fn end(self) -> i64 {
        self.rate.start_of(self.first + i64::from(self.packets))
    }

    /// How many of its packets have started before `time`.
    pub fn begun_before(self, time: i64) -> u32 {
        self.clip(self.rate.packet_at(time))
    }

    /// How many of its packets are through by `time`.
    pub fn through_by(self, time: i64) -> u32 {
        self.clip(self.rate.packets_by(time))
    }

    /// Bytes that leave a buffer at `leak` bit/s while `positions` packets pass.
    pub fn leaves(self, leak: u64, positions: u32) -> i64 {
        let bytes = u128::from(leak) * u128::from(positions) * PACKET as u128;
        i64::try_from(bytes / u128::from(self.rate.0)).unwrap_or(i64::MAX)
    }

    fn clip(self, packet: i64) -> u32 {
        let inside = packet.saturating_sub(self.first);
        inside.clamp(0, i64::from(self.packets)) as u32
    }
}

/// The slot in which `time` (ticks of 27 MHz) lies.
pub fn slot_of(time: i64) -> i64 {
    time.div_euclid(SLOT)
}

/// A PCR as it stands in a packet: modulo 2^33 × 300.
pub fn wire(pcr: i64) -> i64 {
    pcr.rem_euclid(MODULUS_27M)
}

fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rates() -> impl Strategy<Value = Rate> {
        (300_000..=1_000_000_000u64).prop_map(Rate)
    }

    /// Six years of slots in both directions.
    const FAR: i64 = 8_000_000_000;

    proptest! {
        #[test]
        fn slots_add_up_to_the_rate(rate in rates(), from in -FAR..FAR, count in 1..500i64) {
            let sum: i64 = (from..from + count).map(|slot| rate.packets_in(slot) as i64).sum();
            prop_assert_eq!(sum, rate.packets_before(from + count) - rate.packets_before(from));
            let exact = i128::from(from) * i128::from(rate.0);
            prop_assert_eq!(i128::from(rate.packets_before(from)), exact.div_euclid(60_160));
        }

        #[test]
        fn the_clock_is_the_byte_position_within_a_tick(rate in rates(), slot in -FAR..FAR) {
            // |PCR × rate − bits × 27e6| ≤ rate / 2: half a tick
            let bits = (i128::from(rate.packets_before(slot)) * 188 + 10) * 8;
            let error = i128::from(rate.pcr(slot)) * i128::from(rate.0) - bits * 27_000_000;
            prop_assert!(error.abs() * 2 <= i128::from(rate.0));
        }

        #[test]
        fn a_slot_starts_within_a_packet_of_its_time(rate in rates(), slot in -FAR..FAR) {
            let start = rate.start_of(rate.packets_before(slot));
            prop_assert!(start <= slot * SLOT);
            prop_assert!(rate.start_of(rate.packets_before(slot) + 1) >= slot * SLOT);
        }

        #[test]
        fn positions_are_counted_by_time(rate in rates(), number in -FAR..FAR, into in -SLOT..2 * SLOT) {
            let slot = Slot::new(number, rate);
            let time = number * SLOT + into;
            let first = rate.packets_before(number);
            // In ticks times the rate, so that nothing is rounded.
            let start = |packet: i64| i128::from(first + packet) * 1504 * 27_000_000;
            let at = i128::from(time) * i128::from(rate.0);
            let begun = (0..i64::from(slot.packets)).take_while(|&n| start(n) < at).count();
            let through = (0..i64::from(slot.packets)).take_while(|&n| start(n + 1) <= at).count();
            prop_assert_eq!(slot.begun_before(time) as usize, begun);
            prop_assert_eq!(slot.through_by(time) as usize, through);
        }

        #[test]
        fn packets_are_found_by_time(rate in rates(), time in -FAR * SLOT..FAR * SLOT) {
            let packet = rate.packet_at(time);
            prop_assert!(rate.start_of(packet) >= time);
            prop_assert!(rate.start_of(packet - 1) < time);
        }
    }

    #[test]
    fn a_hundred_megabits_are_1662_or_1663_packets() {
        let rate = Rate::new(100_000_000).unwrap();
        let counts: Vec<usize> = (0..40).map(|slot| rate.packets_in(slot)).collect();
        assert!(counts.iter().all(|count| matches!(count, 1662 | 1663)));
        assert_eq!(counts.iter().sum::<usize>(), 66_489);
    }

    #[test]
    fn the_clock_wraps_on_the_wire_only() {
        let rate = Rate::new(2_000_000).unwrap();
        // 2^33 × 300 / 675000 = 3817748.7…: the wrap lies inside a slot
        let before = rate.pcr(3_817_748);
        let after = rate.pcr(3_817_749);
        assert!(wire(after) < wire(before));
        assert_eq!(
            (wire(after) - wire(before)).rem_euclid(MODULUS_27M),
            after - before
        );
    }

    #[test]
    fn rates_outside_are_refused() {
        assert_eq!(Rate::new(99_999), None);
        assert_eq!(Rate::new(1_000_000_001), None);
        assert_eq!(Rate::clamped(5), Rate::MIN);
        assert_eq!(Rate::MIN.packets_in(0), 1);
    }
}
