//! The two clocks of a transport stream: 27 MHz (PCR) and 90 kHz (PTS, DTS), unwrapped.
//!
//! Inside the crate time never wraps: it is a signed count of ticks. Only wire values are reduced
//! (ISO/IEC 13818-1 §2.4.2.2): PTS and DTS to 33 bits, PCR modulo 2^33 × 300. Called by everything that reads or
//! writes a time; knows nothing of packets.

/// Ticks per second of the system clock.
pub const HZ_27M: u64 = 27_000_000;

/// Ticks per second of PTS and DTS.
pub const HZ_90K: u64 = 90_000;

/// Where PTS and DTS wrap, in ticks of 90 kHz (26 h 30 min 43.7 s).
pub const MODULUS_90K: i64 = 1 << 33;

/// Where the PCR wraps, in ticks of 27 MHz.
pub const MODULUS_27M: i64 = MODULUS_90K * 300;

/// The unwrapped value of `raw` that is nearest to `reference`, for a counter that wraps at `modulus`.
///
/// Half-range rule: anything up to half a turn ahead is ahead, the rest is behind. Any number of turns is followed as
/// long as each step stays under half a turn.
pub fn unwrap(reference: i64, raw: i64, modulus: i64) -> i64 {
    let ahead = (raw - reference).rem_euclid(modulus);
    let step = if ahead > modulus / 2 {
        ahead - modulus
    } else {
        ahead
    };
    reference.saturating_add(step)
}

/// 90 kHz ticks to µs, to the nearest. Exact to invert: a µs is finer than a tick.
pub fn micros_from_90k(ticks: i64) -> i64 {
    div_round(i128::from(ticks) * 100, 9)
}

/// µs to 90 kHz ticks, to the nearest.
pub fn ticks_90k_from_micros(micros: i64) -> i64 {
    div_round(i128::from(micros) * 9, 100)
}

/// `numerator / denominator` to the nearest, halves away from zero, saturating at the ends of `i64`.
pub(crate) fn div_round(numerator: i128, denominator: i128) -> i64 {
    let half = if numerator < 0 {
        -denominator / 2
    } else {
        denominator / 2
    };
    let rounded = (numerator + half) / denominator;
    i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn microseconds_give_the_same_tick_back(ticks in -(1i64 << 50)..1 << 50) {
            prop_assert_eq!(ticks_90k_from_micros(micros_from_90k(ticks)), ticks);
        }

        #[test]
        fn unwrap_follows_any_number_of_turns(
            start in 0..MODULUS_90K,
            steps in prop::collection::vec(-(1i64 << 32) + 1..1i64 << 32, 0..40),
        ) {
            let (mut truth, mut seen) = (start, start);
            for step in steps {
                truth += step;
                seen = unwrap(seen, truth.rem_euclid(MODULUS_90K), MODULUS_90K);
                prop_assert_eq!(seen, truth);
            }
        }
    }

    #[test]
    fn a_wrap_one_second_before_the_end_is_a_step_forward() {
        let start = MODULUS_90K - 90_000;
        assert_eq!(unwrap(start, 90_000, MODULUS_90K), MODULUS_90K + 90_000);
        assert_eq!(
            unwrap(MODULUS_90K + 5, MODULUS_90K - 5, MODULUS_90K),
            MODULUS_90K - 5
        );
    }
}
