//! The system target decoder of one PID (ISO/IEC 13818-1 §2.4.2): every byte through its buffers, in real numbers.
//!
//! Bytes enter the transport buffer as they arrive and leave it at the leak rate in their order; of video they pass a
//! multiplexing buffer into the elementary one, of everything else they go to the main buffer at once. A unit leaves
//! whole at its decode time. Times are ticks of 27 MHz on the checker's clock. Knows no packets.

use std::collections::VecDeque;

use super::limits::Limits;
use super::report::{BufferReport, Fill};

/// Size of every transport buffer in bytes.
const TRANSPORT: f64 = 512.0;

/// Numbers this much over a size are rounding, not bytes.
const SLACK: f64 = 0.01;

const HZ: f64 = 27e6;

/// The longest a transport buffer may stay filled.
const EMPTY: f64 = HZ;

/// Units whose end is not in sight are let go after this many wait.
const MOST_UNITS: usize = 4096;

/// Bytes of a packet that stay behind the transport buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    /// A unit starts here, decoded at this time when known.
    pub(super) start: Option<Option<f64>>,
    /// Bytes of PES header in front, and of the unit.
    pub(super) header: f64,
    pub(super) bytes: f64,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Breach {
    /// The transport buffer, with this many bytes.
    Transport(f64),
    /// The multiplexing buffer.
    Multiplexing(f64),
    /// The main or elementary buffer.
    Main(f64),
    /// A unit came this long after its decode time.
    Late(f64),
    /// The transport buffer was not empty for a second.
    NeverEmpty,
    /// Data waited this long.
    Delay(f64),
}

/// The decoder of one PID.
#[derive(Debug)]
pub(super) struct Decoder {
    limits: Limits,
    /// Bytes a tick.
    leak: f64,
    transport: Level,
    /// When the last byte of the transport buffer leaves it.
    leaves: f64,
    filled_since: Option<f64>,
    multiplexing: Level,
    /// When the multiplexing buffer was last looked at.
    seen: f64,
    main: Level,
    units: VecDeque<Unit>,
    judged: u64,
    late: u64,
    worst_late: f64,
    longest: f64,
}

#[derive(Debug, Default)]
struct Level {
    fill: f64,
    peak: f64,
    overflows: u64,
    /// Counted once until it is within its size again.
    over: bool,
}

#[derive(Debug)]
struct Unit {
    decode: Option<f64>,
    first: f64,
    last: f64,
    bytes: f64,
    whole: bool,
}

impl Level {
    /// Notes the level; true when it just went over `size`.
    fn note(&mut self, fill: f64, size: f64) -> bool {
        self.fill = fill;
        self.peak = self.peak.max(fill);
        let over = fill > size + SLACK;
        let begins = over && !self.over;
        self.over = over;
        self.overflows += u64::from(begins);
        begins
    }

    fn report(&self, size: f64) -> Fill {
        Fill {
            size: size as u64,
            peak: (self.peak - SLACK).max(0.0).ceil() as u64,
            overflows: self.overflows,
        }
    }
}

impl Decoder {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            leak: limits.leak as f64 / 8.0 / HZ,
            limits,
            transport: Level::default(),
            leaves: f64::MIN,
            filled_since: None,
            multiplexing: Level::default(),
            seen: f64::MIN,
            main: Level::default(),
            units: VecDeque::new(),
            judged: 0,
            late: 0,
            worst_late: 0.0,
            longest: 0.0,
        }
    }

    /// What the decoder takes from here on: another level or buffer came with new parameters.
    pub(super) fn set_limits(&mut self, limits: Limits) {
        self.leak = limits.leak as f64 / 8.0 / HZ;
        self.limits = limits;
    }

    /// A packet of 188 bytes arrives from `from` to `to`; its `parts` stay behind the transport buffer.
    pub(super) fn packet(
        &mut self,
        from: f64,
        to: f64,
        parts: &[Part],
        breach: &mut impl FnMut(f64, Breach),
    ) {
        let (start, end) = self.transport(from, to, breach);
        let total: f64 = parts.iter().map(|part| part.header + part.bytes).sum();
        let mut at = start;
        for &part in parts {
            let next = at + (end - start) * (part.header + part.bytes) / total.max(1.0);
            let (begin, until) = self.multiplexing(part, at, next, breach);
            self.main(part, begin, until, breach);
            at = next;
        }
    }

    /// Through the transport buffer: when the packet's bytes leave it.
    fn transport(
        &mut self,
        from: f64,
        to: f64,
        breach: &mut impl FnMut(f64, Breach),
    ) -> (f64, f64) {
        // What is left of earlier packets, then what of this one is still there when it is in.
        let waiting = ((self.leaves - from) * self.leak).max(0.0);
        let start = from.max(self.leaves);
        let end = to.max(start + 188.0 / self.leak);
        let peak = ((end - to) * self.leak).max(waiting);
        if waiting > 0.0 {
            let since = *self.filled_since.get_or_insert(from);
            if from - since > EMPTY {
                breach(from, Breach::NeverEmpty);
                self.filled_since = Some(from);
            }
        } else {
            self.filled_since = Some(from);
        }
        if self.transport.note(peak, TRANSPORT) {
            breach(to, Breach::Transport(peak));
        }
        self.leaves = end;
        (start, end)
    }

    /// Through the multiplexing buffer of video: when the part's bytes reach the elementary buffer.
    fn multiplexing(
        &mut self,
        part: Part,
        from: f64,
        to: f64,
        breach: &mut impl FnMut(f64, Breach),
    ) -> (f64, f64) {
        let Some((size, drain)) = self.limits.multiplexing else {
            return (from, to);
        };
        let drain = drain as f64 / 8.0 / HZ;
        let before = (self.multiplexing.fill - (from - self.seen).max(0.0) * drain).max(0.0);
        let after = (before + part.header + part.bytes - (to - from) * drain).max(0.0);
        self.seen = to;
        if self.multiplexing.note(after, size as f64) {
            breach(to, Breach::Multiplexing(after));
        }
        (from + before / drain, to + after / drain)
    }

    /// Into the main buffer, and units out of it.
    fn main(&mut self, part: Part, from: f64, to: f64, breach: &mut impl FnMut(f64, Breach)) {
        if let Some(decode) = part.start {
            if let Some(unit) = self.units.back_mut() {
                unit.whole = true;
            }
            self.units.push_back(Unit {
                decode,
                first: from,
                last: from,
                bytes: 0.0,
                whole: false,
            });
            if self.units.len() > MOST_UNITS {
                self.units.pop_front();
            }
        }
        self.decode(from, breach);
        // PES headers take room in the main buffer of audio; of video they end in the multiplexing buffer.
        let header = if self.limits.multiplexing.is_some() {
            0.0
        } else {
            part.header
        };
        let bytes = header + part.bytes;
        let before = self.main.fill;
        let mut gone = 0.0;
        while let Some(leaving) = self.due(to) {
            let at = leaving.max(from);
            let share = if to > from {
                (at - from) / (to - from)
            } else {
                1.0
            };
            self.fill(at, before - gone + bytes * share, breach);
            gone += self.remove(breach);
        }
        if let Some(unit) = self.units.back_mut() {
            unit.bytes += bytes;
            unit.last = to;
        } else {
            // Before the first start nothing is known of what it belongs to.
            return;
        }
        self.fill(to, before - gone + bytes, breach);
    }

    /// Takes out everything that is decoded by `time`.
    fn decode(&mut self, time: f64, breach: &mut impl FnMut(f64, Breach)) {
        while self.due(time).is_some() {
            self.main.fill -= self.remove(breach);
        }
    }

    /// When the oldest unit leaves, if it is whole and that is by `time`.
    fn due(&self, time: f64) -> Option<f64> {
        let unit = self.units.front().filter(|unit| unit.whole)?;
        let leaves = unit
            .decode
            .map_or(unit.last, |decode| decode.max(unit.last));
        (leaves <= time).then_some(leaves)
    }

    /// Takes the oldest unit out and judges when it came. Returns its bytes.
    fn remove(&mut self, breach: &mut impl FnMut(f64, Breach)) -> f64 {
        let Some(unit) = self.units.pop_front() else {
            return 0.0;
        };
        if let Some(decode) = unit.decode {
            self.judged += 1;
            let late = unit.last - decode;
            // A tick is what rounding of the clock may cost.
            if late > 1.0 {
                self.late += 1;
                self.worst_late = self.worst_late.max(late);
                breach(decode, Breach::Late(late));
            }
            let delay = decode - unit.first;
            self.longest = self.longest.max(delay);
            if delay > self.limits.delay * HZ {
                breach(decode, Breach::Delay(delay));
            }
        }
        unit.bytes
    }

    /// Notes the level of the main buffer. What the elementary buffer of video cannot take waits in the multiplexing
    /// buffer, so only both together overflow.
    fn fill(&mut self, time: f64, level: f64, breach: &mut impl FnMut(f64, Breach)) {
        let Some(size) = self.limits.main else {
            self.main.fill = level;
            return;
        };
        let spare = self.limits.multiplexing.map_or(0.0, |(size, _)| {
            (size as f64 - self.multiplexing.fill).max(0.0)
        });
        if self.main.note(level, size as f64 + spare) {
            breach(time, Breach::Main(level));
        }
    }

    /// Nothing follows: the last unit is whole, and is judged.
    pub(super) fn finish(&mut self, breach: &mut impl FnMut(f64, Breach)) {
        if let Some(unit) = self.units.back_mut() {
            unit.whole = true;
        }
        self.decode(f64::MAX, breach);
    }

    pub(super) fn report(&self, pid: u16) -> BufferReport {
        BufferReport {
            pid,
            kind: self.limits.name.clone(),
            leak: self.limits.leak,
            transport: self.transport.report(TRANSPORT),
            multiplexing: self
                .limits
                .multiplexing
                .map(|(size, _)| self.multiplexing.report(size as f64)),
            main: self.limits.main.map(|size| self.main.report(size as f64)),
            units: self.judged,
            late: self.late,
            late_ms: self.worst_late * 1e3 / HZ,
            delay_ms: self.longest * 1e3 / HZ,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audio() -> Limits {
        Limits {
            name: "audio".into(),
            leak: 2_000_000,
            multiplexing: None,
            main: Some(3_584),
            delay: 1.0,
        }
    }

    /// Sends `packets` one after the other at `rate` bit/s, a unit a packet, decoded at `decode(n)`.
    fn send(
        decoder: &mut Decoder,
        packets: usize,
        rate: f64,
        decode: impl Fn(usize) -> f64,
    ) -> Vec<Breach> {
        let long = 1504.0 * HZ / rate;
        let mut breaches = Vec::new();
        for n in 0..packets {
            let from = n as f64 * long;
            let part = Part {
                start: Some(Some(decode(n))),
                header: 14.0,
                bytes: 170.0,
            };
            decoder.packet(from, from + long, &[part], &mut |_, breach| {
                breaches.push(breach)
            });
        }
        decoder.finish(&mut |_, breach| breaches.push(breach));
        breaches
    }

    #[test]
    fn below_the_leak_nothing_stays_in_the_transport_buffer() {
        let mut decoder = Decoder::new(audio());
        let breaches = send(&mut decoder, 100, 1_900_000.0, |n| {
            n as f64 * 21_384.0 + 30_000.0
        });
        assert_eq!(breaches, []);
        assert_eq!(decoder.report(1).transport.peak, 0);
    }

    #[test]
    fn a_burst_above_the_leak_overflows_the_transport_buffer() {
        // At ten times the leak a packet leaves 169 bytes behind: the fourth in a row is too much.
        for (packets, overflows) in [(3, 0), (4, 1)] {
            let mut decoder = Decoder::new(audio());
            send(&mut decoder, packets, 20_000_000.0, |_| 1e6);
            let report = decoder.report(1);
            assert_eq!(report.transport.overflows, overflows, "{packets}");
            assert_eq!(
                report.transport.peak,
                (packets as f64 * 188.0 * 0.9).ceil() as u64
            );
        }
    }

    #[test]
    fn packets_without_payload_fill_the_transport_buffer_too() {
        let mut decoder = Decoder::new(audio());
        let mut count = 0;
        for n in 0..4 {
            let from = f64::from(n) * 2_030.4;
            decoder.packet(from, from + 2_030.4, &[], &mut |_, _| count += 1);
        }
        assert_eq!((count, decoder.report(1).transport.overflows), (1, 1));
    }

    #[test]
    fn units_sent_too_early_overflow_the_main_buffer() {
        // 184 bytes a unit, headers included: nineteen fit in 3,584.
        for (ahead, overflows) in [(19, 0), (20, 1)] {
            let long = 1504.0 * HZ / 1_000_000.0;
            let mut decoder = Decoder::new(audio());
            send(&mut decoder, 60, 1_000_000.0, |n| (n + ahead) as f64 * long);
            let main = decoder.report(1).main.unwrap();
            assert_eq!((main.overflows > 0) as u64, overflows, "{ahead}");
            assert_eq!(main.peak, ahead as u64 * 184);
        }
    }

    #[test]
    fn a_unit_after_its_time_is_late() {
        let long = 1504.0 * HZ / 1_000_000.0;
        let mut decoder = Decoder::new(audio());
        let breaches = send(&mut decoder, 3, 1_000_000.0, |n| {
            (n + 1) as f64 * long - 27_000.0
        });
        let late: Vec<_> = breaches
            .iter()
            .filter(|b| matches!(b, Breach::Late(_)))
            .collect();
        assert_eq!(late.len(), 3);
        assert!((decoder.report(1).late_ms - 1.0).abs() < 1e-9);
    }

    #[test]
    fn data_that_waits_for_more_than_a_second_is_noted() {
        let mut decoder = Decoder::new(audio());
        let breaches = send(&mut decoder, 1, 1_000_000.0, |_| 1.1 * HZ);
        assert!(matches!(breaches[..], [Breach::Delay(_)]));
    }

    #[test]
    fn video_faster_than_its_drain_fills_the_multiplexing_buffer() {
        let limits = Limits {
            multiplexing: Some((2_000, 800_000)),
            leak: 1_000_000,
            main: Some(100_000),
            ..audio()
        };
        let mut decoder = Decoder::new(limits);
        send(&mut decoder, 200, 2_000_000.0, |_| HZ);
        let report = decoder.report(1);
        assert!(report.multiplexing.unwrap().overflows > 0);
        assert_eq!(report.main.unwrap().overflows, 0);
    }
}
