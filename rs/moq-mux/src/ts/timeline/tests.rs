use super::*;
use proptest::prelude::*;

const SECOND: i64 = HZ_27M as i64;
/// 40 ms between PCRs, ten packets each.
const STEP: i64 = SECOND / 25;

/// A source with a PCR every 40 ms whose units are decoded half a second after they come.
struct Feed {
    timeline: Timeline,
    packets: u64,
    raw: i64,
}

impl Feed {
    fn starting_at(raw: i64) -> Self {
        let mut feed = Self {
            timeline: Timeline::default(),
            packets: 0,
            raw,
        };
        feed.timeline.pcr(raw.rem_euclid(MODULUS_27M), false, 0);
        feed
    }

    fn pcr(&mut self, flagged: bool) -> Step {
        self.packets += 10;
        self.timeline
            .pcr(self.raw.rem_euclid(MODULUS_27M), flagged, self.packets)
    }

    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            self.raw += STEP;
            assert_eq!(self.pcr(false), Step::On(STEP));
        }
    }

    /// How far ahead of the clock a unit with source time `raw` (27 MHz) is put, in ticks of 90 kHz.
    fn lead(&mut self, raw: i64) -> i64 {
        let times = self
            .timeline
            .stamp((raw / 300).rem_euclid(MODULUS_90K), None);
        assert_eq!(times.pts, times.dts);
        times.dts - self.timeline.clock().unwrap() / 300
    }
}

proptest! {
    #[test]
    fn any_number_of_wraps_is_followed(start in 0..MODULUS_27M, hours in prop::collection::vec(1..14i64, 1..12)) {
        // A PCR every 50 s for hours on end, and a unit half a second ahead of each.
        let mut feed = Feed::starting_at(start);
        for _ in 0..hours.iter().sum::<i64>() * 72 {
            feed.raw += 50 * SECOND;
            prop_assert_eq!(feed.pcr(false), Step::On(50 * SECOND));
            let raw = feed.raw;
            prop_assert!((feed.lead(raw + SECOND / 2) - 45_000).abs() <= 1);
        }
        prop_assert_eq!(feed.timeline.clock().unwrap(), feed.raw);
        prop_assert_eq!(feed.timeline.breaks(), 0);
    }

    #[test]
    fn any_clock_gives_a_time_that_never_steps_back(values in prop::collection::vec((0..MODULUS_27M, any::<bool>(), 0..MODULUS_90K), 1..200)) {
        let mut timeline = Timeline::default();
        let mut last = i64::MIN;
        for (n, (pcr, flagged, pts)) in values.into_iter().enumerate() {
            timeline.pcr(pcr, flagged, n as u64 * 7);
            timeline.stamp(pts, (n % 3 == 0).then_some(pts / 2));
            let now = timeline.clock().unwrap();
            prop_assert!(now >= last);
            last = now;
        }
    }
}

#[test]
fn times_before_and_after_a_wrap_keep_their_distance() {
    let mut feed = Feed::starting_at(MODULUS_27M - SECOND);
    assert_eq!(feed.lead(MODULUS_27M + SECOND), 180_000);
    feed.run(50);
    assert_eq!(feed.lead(MODULUS_27M + SECOND), 0);
}

#[test]
fn a_jump_back_goes_on_from_where_the_clock_was() {
    for (jump, flagged) in [
        (-600 * SECOND, false),
        (-SECOND, false),
        (3600 * SECOND, false),
        (10 * SECOND, true),
    ] {
        let mut feed = Feed::starting_at(7200 * SECOND);
        feed.run(50);
        let before = feed.timeline.clock().unwrap();
        feed.raw += STEP + jump;
        assert_eq!(feed.pcr(flagged), Step::Break, "{jump}");
        assert_eq!(feed.timeline.clock().unwrap() - before, STEP, "{jump}");
        let raw = feed.raw;
        assert_eq!(feed.lead(raw + SECOND / 2), 45_000, "{jump}");
        feed.run(20);
        assert_eq!(feed.timeline.breaks(), 1);
    }
}

#[test]
fn a_gap_of_some_seconds_is_time_that_passed() {
    let mut feed = Feed::starting_at(SECOND);
    feed.run(50);
    feed.raw += 15 * SECOND;
    assert_eq!(feed.pcr(false), Step::On(15 * SECOND));
}

#[test]
fn a_flag_without_a_jump_is_no_break() {
    let mut feed = Feed::starting_at(SECOND);
    feed.run(50);
    feed.raw += STEP;
    assert_eq!(feed.pcr(true), Step::On(STEP));
}

#[test]
fn units_of_the_old_base_still_land_where_they_belong() {
    let mut feed = Feed::starting_at(7200 * SECOND);
    feed.run(50);
    let old = feed.raw;
    feed.raw = SECOND;
    feed.pcr(false);
    assert_eq!(feed.lead(old + SECOND), 90_000 - 3_600);
    assert_eq!(feed.lead(2 * SECOND), 90_000);
}

#[test]
fn one_broken_clock_value_moves_no_unit() {
    let mut feed = Feed::starting_at(7200 * SECOND);
    feed.run(50);
    let good = feed.raw + STEP;
    feed.raw = 99 * SECOND;
    assert_eq!(feed.pcr(false), Step::Break);
    assert_eq!(feed.lead(good + SECOND), 90_000);
    feed.raw = good + STEP;
    feed.pcr(false);
    assert_eq!(feed.lead(good + STEP + SECOND), 90_000);
    feed.run(5);
    let raw = feed.raw;
    assert_eq!(
        (feed.timeline.clock().unwrap(), feed.lead(raw + SECOND)),
        (raw, 90_000),
        "exactly the old base"
    );
}

#[test]
fn a_restart_follows_at_the_given_distance() {
    let mut feed = Feed::starting_at(SECOND);
    feed.run(50);
    feed.timeline.restart(2 * 90_000 + 3_600);
    feed.raw = SECOND;
    assert_eq!(feed.pcr(false), Step::On(0));
    assert_eq!(feed.timeline.clock().unwrap(), 3 * SECOND + STEP);
    assert_eq!(feed.lead(2 * SECOND), 90_000);
}

#[test]
fn the_first_unit_without_a_clock_before_it_leaves_room_below_zero() {
    let mut timeline = Timeline::default();
    let first = timeline.stamp(100, None).pts;
    let earlier = timeline.stamp(MODULUS_90K - 100, None).pts;
    assert_eq!(first - earlier, 200);
    assert!(earlier > 0);
}
