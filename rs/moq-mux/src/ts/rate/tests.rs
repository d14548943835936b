use super::*;
use proptest::prelude::*;

/// Feeds a meter PCRs as a multiplexer of this rate stamps them: by byte position, to the tick.
fn constant(
    rate: u64,
    packets_apart: u64,
    count: u64,
    nulls: bool,
    mut jitter: impl FnMut(u64) -> i64,
) -> Meter {
    let mut meter = Meter::default();
    let mut last = 0;
    for n in 0..count {
        let packets = n * packets_apart;
        let clock = (u128::from(packets) * BITS / u128::from(rate)) as i64 + jitter(n);
        meter.step(
            packets,
            if nulls { packets / 4 } else { 0 },
            if n == 0 { 0 } else { clock - last },
        );
        last = clock;
    }
    meter
}

proptest! {
    #[test]
    fn a_constant_rate_is_found_to_the_bit(kilobits in 100..1_000_000u64, milliseconds in 10..100u64) {
        let rate = kilobits * 1000;
        let apart = (rate * milliseconds / 1_504_000).max(1);
        let meter = constant(rate, apart, 400, false, |_| 0);
        prop_assert_eq!(meter.rate(), Rate::Constant(rate));
    }

    #[test]
    fn any_steps_are_taken_in_bounded_memory(steps in prop::collection::vec((0..5000u64, any::<i64>()), 0..600)) {
        let mut meter = Meter::default();
        let mut packets = 0;
        for (apart, ticks) in steps {
            packets += apart;
            meter.step(packets, packets / 2, ticks >> (apart % 64));
            prop_assert!(meter.points.len() <= MOST);
        }
    }
}

#[test]
fn an_exact_clock_is_believed_after_sixteen_values() {
    assert_eq!(
        constant(2_000_000, 27, 15, true, |_| 0).rate(),
        Rate::Unknown
    );
    assert_eq!(
        constant(2_000_000, 27, 17, true, |_| 0).rate(),
        Rate::Constant(2_000_000)
    );
}

#[test]
fn the_jitter_of_networks_is_allowed_where_there_is_padding() {
    // ± 4 ms at 10 Mb/s: 26 packets
    let jitter = |n: u64| {
        if n.is_multiple_of(3) {
            108_000
        } else {
            -108_000
        }
    };
    let Rate::Constant(rate) = constant(10_000_000, 266, 120, true, jitter).rate() else {
        panic!("constant")
    };
    assert!(rate.abs_diff(10_000_000) < 60_000, "{rate}");
    assert_eq!(
        constant(10_000_000, 266, 120, false, jitter).rate(),
        Rate::Variable
    );
}

#[test]
fn a_variable_rate_with_a_steady_mean_is_not_constant() {
    // Every 40 ms as many packets as the picture has: 100 in one of twelve, 20 in the others.
    let mut meter = Meter::default();
    let mut packets = 0;
    for n in 0..200 {
        packets += if n % 12 == 0 { 100 } else { 20 };
        meter.step(packets, 0, if n == 0 { 0 } else { 1_080_000 });
    }
    assert_eq!(meter.rate(), Rate::Variable);
    assert!(meter.has_varied());
}

#[test]
fn a_new_rate_replaces_the_old_once_it_is_steady() {
    let mut meter = constant(2_000_000, 27, 200, true, |_| 0);
    let (mut packets, step) = (200 * 27, 541_440);
    for _ in 0..400 {
        packets += 54;
        meter.step(packets, packets / 4, step);
    }
    assert_eq!(meter.rate(), Rate::Constant(4_050_000));
}

#[test]
fn a_break_forgets_the_rate() {
    let mut meter = constant(2_000_000, 27, 200, true, |_| 0);
    meter.restart(5400, 0);
    assert_eq!(meter.rate(), Rate::Unknown);
}
