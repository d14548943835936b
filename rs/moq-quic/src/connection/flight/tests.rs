//! The meter measures what the path delivers, not what the application offers.

use super::*;

const RTT: Duration = Duration::from_millis(40);

/// Acknowledges `bytes` every 10 ms for a second; says the last rate.
fn steady(meter: &mut Meter, start: Instant, bytes: u64, limited: bool) -> Option<u64> {
    let mut last = None;
    for step in 0..100_u32 {
        meter.on_ack(bytes, limited);
        last = meter
            .sample(start + Duration::from_millis(10) * step, RTT)
            .or(last);
    }
    last
}

#[allow(clippy::disallowed_methods, reason = "any instant will do")]
fn start() -> Instant {
    Instant::now()
}

#[test]
fn a_busy_sender_is_measured() {
    let rate = steady(&mut Meter::default(), start(), 20_000, false);
    assert!((1_900_000..=2_100_000).contains(&rate.unwrap()), "{rate:?}");
}

#[test]
fn a_sender_that_ran_dry_does_not_lower_the_rate() {
    let mut meter = Meter::default();
    let start = start();
    let before = steady(&mut meter, start, 20_000, false).unwrap();
    let after = steady(&mut meter, start + Duration::from_secs(1), 100, true).unwrap();
    assert!(after >= before * 9 / 10, "{before} {after}");
}

#[test]
fn a_path_that_slows_down_is_followed() {
    let mut meter = Meter::default();
    let start = start();
    steady(&mut meter, start, 20_000, false);
    let mut rate = None;
    for second in 1..4 {
        rate = steady(
            &mut meter,
            start + Duration::from_secs(second),
            5_000,
            false,
        );
    }
    assert!((450_000..=550_000).contains(&rate.unwrap()), "{rate:?}");
}

#[test]
fn the_length_of_a_packet_number_is_what_quinn_writes() {
    let flight = Flight::default();
    flight.header.store(9, Ordering::Relaxed);
    flight.last.store(1_000, Ordering::Relaxed);
    flight.acked.store(1_000, Ordering::Relaxed);
    assert_eq!(flight.header(0), 10);
    assert_eq!(flight.header(126), 10);
    assert_eq!(flight.header(127), 11);
    assert_eq!(flight.header(40_000), 12);
}
