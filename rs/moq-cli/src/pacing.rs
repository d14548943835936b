//! Owns when the next bytes of a stream are due, by the stream's own program clock. Pure: the time
//! that has passed comes in as a value. Called by `publish` and `demo`; knows nothing of files.

use std::time::Duration;

/// Ticks of the program clock in a second (ISO/IEC 13818-1, 2.4.2.1).
const CLOCK_HZ: u64 = 27_000_000;

/// A program clock further ahead than this between two looks has jumped: the stream was cut, and
/// nobody wants the pause played out. References are at most 100 ms apart (2.7.2).
const JUMP: Duration = Duration::from_secs(5);

/// Up to this late, a stream catches up, as a live source does after a stall. Later than that the
/// machine slept or the source paused, and a burst of the whole gap would help nobody.
const STALL: Duration = Duration::from_secs(5);

/// Maps the program clock onto time passed since some start.
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    anchor: Option<Anchor>,
}

/// The program clock stood at `clock` when `passed` had passed; it was last seen at `seen`.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    clock: i64,
    passed: Duration,
    seen: i64,
}

impl Pacing {
    /// The bytes up to the program clock `clock` (27 MHz, unwrapped) have been handed on, and
    /// `passed` has passed since the start: how long to wait before handing on more. O(1).
    pub(crate) fn wait(&mut self, clock: i64, passed: Duration) -> Duration {
        let now = Anchor {
            clock,
            passed,
            seen: clock,
        };
        let Some(anchor) = &mut self.anchor else {
            self.anchor = Some(now);
            return Duration::ZERO;
        };
        let jumped = clock < anchor.seen || ticks(clock - anchor.seen) > JUMP;
        anchor.seen = clock;
        let due = anchor.passed + ticks(clock - anchor.clock);
        if jumped || passed.saturating_sub(due) > STALL {
            self.anchor = Some(now);
            return Duration::ZERO;
        }
        due.saturating_sub(passed)
    }
}

/// None at all if negative.
fn ticks(count: i64) -> Duration {
    let count = u64::try_from(count).unwrap_or(0);
    let nanos = count % CLOCK_HZ * 1_000_000_000 / CLOCK_HZ;
    Duration::from_secs(count / CLOCK_HZ) + Duration::from_nanos(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 27_000;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn bytes_wait_for_their_program_clock() {
        let mut pacing = Pacing::default();
        assert_eq!(
            pacing.wait(1000 * MS, ms(3)),
            ms(0),
            "the first are due at once"
        );
        assert_eq!(pacing.wait(1040 * MS, ms(3)), ms(40));
        assert_eq!(pacing.wait(1080 * MS, ms(43)), ms(40));
        assert_eq!(
            pacing.wait(1120 * MS, ms(100)),
            ms(23),
            "time spent elsewhere counts"
        );
    }

    #[test]
    fn errors_do_not_add_up() {
        let mut pacing = Pacing::default();
        let mut passed = Duration::ZERO;
        // 1,001/30,000 s is no whole number of anything; each wait oversleeps by 300 µs.
        for frame in 0..3000 {
            passed += pacing.wait(frame * 900_900, passed) + Duration::from_micros(300);
        }
        let media = Duration::from_micros(2999 * 100_100 / 3);
        assert!(
            passed >= media && passed < media + ms(1),
            "{passed:?} of {media:?}"
        );
    }

    #[test]
    fn a_late_stream_catches_up_without_waiting() {
        let mut pacing = Pacing::default();
        pacing.wait(0, ms(0));
        assert_eq!(pacing.wait(1000 * MS, ms(3000)), ms(0));
        assert_eq!(pacing.wait(2900 * MS, ms(3000)), ms(0));
        assert_eq!(pacing.wait(3100 * MS, ms(3000)), ms(100));
    }

    #[test]
    fn after_a_long_stall_the_clock_starts_anew() {
        let mut pacing = Pacing::default();
        pacing.wait(0, ms(0));
        assert_eq!(pacing.wait(40 * MS, ms(60_000)), ms(0));
        assert_eq!(
            pacing.wait(80 * MS, ms(60_000)),
            ms(40),
            "no burst of a minute"
        );
    }

    #[test]
    fn a_jump_of_the_program_clock_is_not_played_out() {
        for jump in [600_000, 0] {
            let mut pacing = Pacing::default();
            pacing.wait(300_000 * MS, ms(0));
            assert_eq!(pacing.wait(300_020 * MS, ms(20)), ms(0));
            assert_eq!(pacing.wait(jump * MS, ms(20)), ms(0));
            assert_eq!(pacing.wait((jump + 40) * MS, ms(20)), ms(40));
        }
    }

    #[test]
    fn a_short_step_back_is_a_jump_as_well() {
        let mut pacing = Pacing::default();
        pacing.wait(100 * MS, ms(0));
        pacing.wait(200 * MS, ms(100));
        assert_eq!(pacing.wait(150 * MS, ms(100)), ms(0));
        assert_eq!(pacing.wait(190 * MS, ms(100)), ms(40));
    }
}
