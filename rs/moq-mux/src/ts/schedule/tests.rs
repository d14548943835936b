//! The rules of the schedule, each by name.

use proptest::prelude::*;

use super::*;

const SECOND: i64 = 27_000_000;

/// All slots from `first` until nothing waits: packets per lane and slot.
fn run(schedule: &mut Schedule, first: i64, budget: usize) -> Vec<Vec<u32>> {
    let mut slots = Vec::new();
    let mut counts = Vec::new();
    for slot in first.. {
        if schedule.is_empty() || slots.len() > 10_000 {
            break;
        }
        schedule.plan(slot * SLOT, budget, &mut counts);
        slots.push(counts.clone());
    }
    slots
}

#[test]
fn the_earliest_deadline_goes_first_whatever_arrived_first() {
    let mut schedule = Schedule::new(SECOND);
    let (a, b) = (
        schedule.add_lane(Limits::DATA),
        schedule.add_lane(Limits::DATA),
    );
    schedule.push(b, 40 * SLOT, 4);
    schedule.push(a, 30 * SLOT, 4);
    let mut counts = Vec::new();
    schedule.plan(10 * SLOT, 6, &mut counts);
    assert_eq!(counts, [4, 2]);
}

#[test]
fn nothing_is_sent_before_its_lead() {
    let mut schedule = Schedule::new(4 * SLOT);
    let lane = schedule.add_lane(Limits::DATA);
    schedule.push(lane, 10 * SLOT, 1);
    let slots = run(&mut schedule, 0, 10);
    assert_eq!(slots.iter().position(|counts| counts[0] > 0), Some(6));
}

#[test]
fn a_full_decoder_buffer_holds_a_lane_back() {
    let mut schedule = Schedule::new(SECOND);
    let lane = schedule.add_lane(Limits {
        leak: 20_000_000,
        buffer: Some(10 * PAYLOAD),
    });
    for n in 0..20 {
        schedule.push(lane, (8 + n) * SLOT, 5);
    }
    let slots = run(&mut schedule, 0, 100);
    // Two units fit; the third waits until the first is decoded.
    let sent: u32 = slots[..8].iter().map(|counts| counts[0]).sum();
    assert_eq!(sent, 10);
    assert_eq!(schedule.late(), 0);
}

#[test]
fn a_small_buffer_is_not_filled_and_left_waiting() {
    let mut schedule = Schedule::new(SECOND);
    let lane = schedule.add_lane(Limits::adts(2));
    for n in 0..40 {
        schedule.push(lane, 60 * SLOT + n * 576_000, 3);
    }
    let slots = run(&mut schedule, 0, 100);
    let sent: Vec<_> = slots
        .iter()
        .enumerate()
        .filter(|(_, counts)| counts[0] > 0)
        .map(|(slot, _)| slot)
        .collect();
    // 700 ms are 28 slots.
    assert!(
        sent.windows(2).all(|pair| pair[1] - pair[0] < 10),
        "{sent:?}"
    );
    assert_eq!(schedule.late(), 0);
}

#[test]
fn a_unit_larger_than_its_buffer_is_still_sent() {
    let mut schedule = Schedule::new(SECOND);
    let lane = schedule.add_lane(Limits {
        leak: 2_000_000,
        buffer: Some(3 * PAYLOAD),
    });
    schedule.push(lane, 20 * SLOT, 30);
    schedule.push(lane, 30 * SLOT, 1);
    let slots = run(&mut schedule, 0, 100);
    assert_eq!(slots.iter().map(|counts| counts[0]).sum::<u32>(), 31);
}

#[test]
fn a_rate_below_the_payload_is_counted_as_late_and_nothing_is_lost() {
    let mut schedule = Schedule::new(SECOND);
    let lane = schedule.add_lane(Limits::DATA);
    for n in 0..100 {
        schedule.push(lane, (2 + n) * SLOT, 3);
    }
    let slots = run(&mut schedule, 0, 2);
    assert_eq!(slots.iter().map(|counts| counts[0]).sum::<u32>(), 300);
    assert!(schedule.late() > 90);
}

proptest! {
    #[test]
    fn no_lane_exceeds_its_leak_nor_a_slot_its_budget(
        units in prop::collection::vec((0usize..3, 0i64..80, 1u64..60), 1..120),
        budget in 1usize..80,
    ) {
        let mut schedule = Schedule::new(SECOND);
        let leaks = [500_000, 2_000_000, 15_000_000];
        for leak in leaks {
            schedule.add_lane(Limits { leak, buffer: Some(20_000) });
        }
        let mut total = [0u64; 3];
        for (lane, slot, packets) in units {
            schedule.push(lane, slot * SLOT, packets);
            total[lane] += packets;
        }
        let slots = run(&mut schedule, 0, budget);
        for counts in &slots {
            prop_assert!(counts.iter().sum::<u32>() as usize <= budget);
            for (lane, &count) in counts.iter().enumerate() {
                prop_assert!(u64::from(count) * 1504 * 40 <= leaks[lane].max(1504 * 40));
            }
        }
        for lane in 0..3 {
            prop_assert_eq!(slots.iter().map(|counts| u64::from(counts[lane])).sum::<u64>(), total[lane]);
        }
    }
}
