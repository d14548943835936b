//! The rules of the schedule, each by name.

use proptest::prelude::*;

use super::*;
use crate::ts::layout::Layout;
use crate::ts::slot::{Rate, SLOT};

const SECOND: i64 = 27_000_000;
const PAYLOAD: u64 = lane::PAYLOAD;

/// At 6,016,000 bit/s a slot has exactly 100 packets, a quarter of a millisecond each.
const RATE: u64 = 6_016_000;

/// A schedule whose lane 0 is the clock's own.
fn schedule(lead: i64) -> Schedule {
    let mut schedule = Schedule::new(lead);
    schedule.add_lane(0x1ffe, Limits::SYSTEMS, i64::MIN);
    schedule
}

fn lane(schedule: &mut Schedule, pid: u16, limits: Limits) -> usize {
    schedule.add_lane(pid, limits, i64::MIN)
}

const fn limits(leak: u64, buffer: Option<u64>) -> Limits {
    Limits {
        leak,
        buffer,
        reserve: 0,
        lead: SECOND,
    }
}

fn counts(schedule: &Schedule, lanes: &[usize]) -> Vec<u32> {
    let shares = schedule.shares();
    let count = |&lane: &usize| shares[schedule.place_of(lane)].count;
    lanes.iter().map(count).collect()
}

/// All slots from `first` until nothing waits: packets per lane (the clock's left out) and slot.
fn run(schedule: &mut Schedule, first: i64, rate: u64) -> Vec<Vec<u32>> {
    let lanes: Vec<usize> = (1..schedule.lanes.len()).collect();
    let mut slots = Vec::new();
    for number in first.. {
        if schedule.is_empty() || slots.len() > 10_000 {
            break;
        }
        schedule.plan(Slot::new(number, Rate::clamped(rate)), 0);
        slots.push(counts(schedule, &lanes));
    }
    slots
}

fn slot(number: i64) -> Slot {
    Slot::new(number, Rate::clamped(RATE))
}

#[test]
fn the_earliest_deadline_goes_first_whatever_arrived_first() {
    let mut schedule = schedule(SECOND);
    let a = lane(&mut schedule, 0x101, limits(RATE, None));
    let b = lane(&mut schedule, 0x100, limits(RATE, None));
    schedule.push(b, 40 * SLOT, 90);
    schedule.push(a, 30 * SLOT, 60);
    schedule.plan(slot(10), 0);
    assert_eq!(counts(&schedule, &[a, b]), [60, 39]);
}

#[test]
fn equal_deadlines_go_by_pid_whoever_was_added_first() {
    for pids in [[0x100, 0x101], [0x101, 0x100]] {
        let mut schedule = schedule(SECOND);
        let [low, high] = [0, 1].map(|n| lane(&mut schedule, pids[n], limits(RATE, None)));
        for lane in [low, high] {
            schedule.push(lane, 30 * SLOT, 80);
        }
        schedule.plan(slot(10), 0);
        let by_pid: Vec<u32> = schedule.shares().iter().map(|share| share.count).collect();
        assert_eq!(by_pid, [80, 19, 1]);
    }
}

#[test]
fn tables_go_before_everything() {
    let mut schedule = schedule(SECOND);
    let media = lane(&mut schedule, 0x100, limits(RATE, None));
    let tables = lane(&mut schedule, 0x1000, Limits::SYSTEMS);
    schedule.set_first(tables);
    schedule.push(media, 0, 200);
    schedule.push(tables, 10 * SLOT, 2);
    schedule.plan(slot(10), 0);
    assert_eq!(counts(&schedule, &[media, tables]), [97, 2]);
}

#[test]
fn nothing_is_sent_before_its_lead_nor_before_its_lane_opens() {
    let mut first = schedule(4 * SLOT);
    let early = lane(&mut first, 0x100, limits(RATE, None));
    first.push(early, 10 * SLOT, 1);
    let slots = run(&mut first, 0, RATE);
    assert_eq!(slots.iter().position(|counts| counts[0] > 0), Some(6));

    let mut second = schedule(SECOND);
    let closed = second.add_lane(0x100, limits(RATE, None), 8);
    second.push(closed, 10 * SLOT, 1);
    let slots = run(&mut second, 0, RATE);
    assert_eq!(slots.iter().position(|counts| counts[0] > 0), Some(8));
}

#[test]
fn a_full_decoder_buffer_holds_a_lane_back() {
    let mut schedule = schedule(SECOND);
    let lane = lane(&mut schedule, 0x100, limits(RATE, Some(10 * PAYLOAD)));
    for n in 0..20 {
        schedule.push(lane, (8 + n) * SLOT, 5);
    }
    let slots = run(&mut schedule, 0, RATE);
    // Two units fit; the third waits until the first is decoded.
    let sent: u32 = slots[..8].iter().map(|counts| counts[0]).sum();
    assert_eq!(sent, 10);
    assert_eq!(schedule.late(), 0);
}

#[test]
fn a_unit_that_leaves_inside_the_slot_makes_room_inside_it() {
    // Three units of 7 in a buffer of 10, 32 ms apart as AC-3 is: no slot border lies between some of them.
    let mut schedule = schedule(SECOND);
    let lane = lane(&mut schedule, 0x100, limits(2_000_000, Some(10 * PAYLOAD)));
    for n in 0..200 {
        schedule.push(lane, 4 * SLOT + n * 864_000, 7);
    }
    run(&mut schedule, 0, RATE);
    assert_eq!((schedule.late(), schedule.forced()), (0, 0));
}

#[test]
fn a_unit_larger_than_its_buffer_is_still_sent() {
    let mut schedule = schedule(SECOND);
    let lane = lane(&mut schedule, 0x100, limits(RATE, Some(3 * PAYLOAD)));
    schedule.push(lane, 20 * SLOT, 30);
    schedule.push(lane, 30 * SLOT, 1);
    let slots = run(&mut schedule, 0, RATE);
    assert_eq!(slots.iter().map(|counts| counts[0]).sum::<u32>(), 31);
    assert_eq!(schedule.late(), 0);
}

#[test]
fn a_unit_at_its_last_chance_goes_beyond_what_the_decoder_is_sure_to_take() {
    let mut schedule = schedule(SECOND);
    // A level that is far below what the stream needs.
    let lane = lane(&mut schedule, 0x100, limits(100_000, Some(100 * PAYLOAD)));
    for n in 0..40 {
        schedule.push(lane, 10 * SLOT + n * SLOT + SLOT / 2, 40);
    }
    run(&mut schedule, 0, RATE);
    assert_eq!(schedule.late(), 0);
    assert!(schedule.forced() > 30);
}

#[test]
fn a_unit_due_inside_its_slot_narrows_the_span() {
    let mut schedule = schedule(SECOND);
    let lane = lane(&mut schedule, 0x100, limits(RATE, None));
    schedule.push(lane, 10 * SLOT + SLOT / 2, 10);
    schedule.plan(slot(10), 0);
    assert_eq!(
        schedule.shares()[schedule.place_of(lane)],
        Share {
            count: 10,
            span: 50
        }
    );
}

#[test]
fn a_rate_below_the_payload_is_counted_as_late_and_nothing_is_lost() {
    let mut schedule = schedule(SECOND);
    let lane = lane(&mut schedule, 0x100, limits(RATE, None));
    for n in 0..100 {
        schedule.push(lane, (2 + n) * SLOT, 120);
    }
    let slots = run(&mut schedule, 0, RATE);
    assert_eq!(slots.iter().map(|counts| counts[0]).sum::<u32>(), 12_000);
    assert!(schedule.late() > 90);
}

#[test]
fn the_rate_that_would_do_is_told_before_anything_is_late() {
    let mut schedule = schedule(SECOND);
    let lane = lane(&mut schedule, 0x100, limits(RATE * 4, None));
    for n in 0..40 {
        schedule.push(lane, (20 + n) * SLOT, 240);
    }
    let needed = schedule.needed(slot(0), 0).unwrap();
    // 40 units of 240 packets by the end of 59 slots, 20 slots being for the first.
    assert!((9_700_000..9_900_000).contains(&needed), "{needed}");
    run(&mut schedule, 0, needed + needed / 50);
    assert_eq!(schedule.late(), 0);
    assert_eq!(schedule.needed(slot(0), 0), None);
}

/// A random multiplex that fits its rate: lanes with (leak, buffer in packets, period in ticks, packets a unit).
fn lanes() -> impl Strategy<Value = Vec<(u64, u64, i64, u32)>> {
    let audio = (Just(2_000_000u64), 14..30u64, 500_000..900_000i64, 1..7u32);
    let video = (
        5_000_000..9_000_000u64,
        60..300u64,
        540_000..1_200_000i64,
        1..50u32,
    );
    prop::collection::vec(prop_oneof![audio, video], 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The whole promise, judged packet by packet through real layouts: no transport buffer and no main buffer ever
    /// overflows, nothing is late.
    #[test]
    fn what_is_planned_and_laid_out_keeps_every_buffer(lanes in lanes(), jitter in prop::collection::vec(0..13i64, 50)) {
        let load: f64 = lanes.iter().map(|l| f64::from(l.3) * 1504.0 * 27e6 / l.2 as f64).sum();
        let rate = Rate::clamped((load * 1.1) as u64 + 400_000);
        let mut schedule = schedule(SECOND);
        let mut models = Vec::new();
        for (n, &(leak, buffer, period, packets)) in lanes.iter().enumerate() {
            // Limits that the stream itself keeps: its mean rate, and two of its units.
            let mean = (f64::from(packets) * 1504.0 * 27e6 / period as f64) as u64;
            let leak = leak.max(mean + mean / 5);
            let buffer = buffer.max(3 * u64::from(packets));
            let id = lane(&mut schedule, 0x100 + n as u16, limits(leak, Some(buffer * PAYLOAD)));
            let units: Vec<(i64, u32)> = (0..60)
                .map(|k| (SECOND + k * period, packets - (jitter[k as usize % 50] as u32).min(packets - 1)))
                .collect();
            for &(dts, packets) in &units {
                schedule.push(id, dts, packets);
            }
            models.push(Model { id, leak, buffer, units, filled: 0.0, arrived: Vec::new() });
        }
        let mut layout = Layout::default();
        for number in 0..400 {
            if schedule.is_empty() {
                break;
            }
            let slot = Slot::new(number, rate);
            schedule.plan(slot, 0);
            let order = layout.place(slot.packets as usize, schedule.shares(), Some(schedule.place_of(0)));
            for (at, &place) in order.iter().enumerate() {
                let time = rate.start_of(rate.packets_before(number) + at as i64 + 1);
                let arrives = (place != Layout::FREE).then(|| schedule.lane_at(usize::from(place)));
                for model in &mut models {
                    model.packet(arrives == Some(model.id), time, rate);
                }
            }
        }
        prop_assert!(schedule.is_empty());
        prop_assert_eq!((schedule.late(), schedule.forced()), (0, 0));
        for model in &models {
            model.assert_in_time();
        }
    }
}

/// The decoder of a lane, slow and plain.
struct Model {
    id: usize,
    leak: u64,
    buffer: u64,
    units: Vec<(i64, u32)>,
    filled: f64,
    /// When each packet was through.
    arrived: Vec<i64>,
}

impl Model {
    fn packet(&mut self, arrives: bool, time: i64, rate: Rate) {
        let leaves = 188.0 * self.leak as f64 / rate.bits() as f64;
        self.filled = (self.filled + if arrives { 188.0 } else { 0.0 } - leaves).max(0.0);
        assert!(self.filled <= 512.0, "transport buffer: {}", self.filled);
        if !arrives {
            return;
        }
        self.arrived.push(time);
        let mut gone = 0;
        for &(dts, packets) in &self.units {
            if dts > time - rate.start_of(1) {
                break;
            }
            gone += packets as usize;
        }
        let inside = self.arrived.len().saturating_sub(gone);
        assert!(
            inside as u64 <= self.buffer,
            "main buffer: {inside} of {}",
            self.buffer
        );
    }

    fn assert_in_time(&self) {
        let mut last = 0;
        for &(dts, packets) in &self.units {
            last += packets as usize;
            assert!(
                self.arrived[last - 1] <= dts,
                "late by {}",
                self.arrived[last - 1] - dts
            );
        }
    }
}
