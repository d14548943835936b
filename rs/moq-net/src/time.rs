//! Timestamps and the scale they are counted in.
//!
//! Owns exact conversion between scales. Called by the model (age of a group) and by whoever writes frames. May not
//! know the time of day: presentation time is data here.

use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::{Error, Result};

/// Largest timestamp or timescale: what a QUIC varint carries.
pub const MAX: u64 = (1 << 62) - 1;

/// Units per second, 1 to 2^62−1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timescale(NonZeroU64);

impl Timescale {
    /// 1,000 a second: a track's default.
    pub const MILLIS: Self = Self(NonZeroU64::new(1_000).unwrap());
    /// 1,000,000 a second.
    pub const MICROS: Self = Self(NonZeroU64::new(1_000_000).unwrap());

    /// A scale of `units` per second.
    ///
    /// # Errors
    /// [`Error::TimestampMismatch`] if `units` is zero or above 2^62−1.
    pub const fn new(units: u64) -> Result<Self> {
        match NonZeroU64::new(units) {
            Some(units) if units.get() <= MAX => Ok(Self(units)),
            _ => Err(Error::TimestampMismatch),
        }
    }

    /// Units per second.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// How many whole units fit in `span`, saturating.
    #[must_use]
    pub fn units(self, span: Duration) -> u64 {
        let seconds = u128::from(span.as_secs()) * u128::from(self.get());
        let rest = u128::from(span.subsec_nanos()) * u128::from(self.get()) / 1_000_000_000;
        u64::try_from(seconds + rest).unwrap_or(u64::MAX)
    }
}

impl Default for Timescale {
    fn default() -> Self {
        Self::MILLIS
    }
}

/// A presentation time: `value` units of `scale` since the broadcast's own zero. Compares across scales exactly.
#[derive(Clone, Copy)]
pub struct Timestamp {
    value: u64,
    scale: Timescale,
}

impl Timestamp {
    /// Zero, in milliseconds.
    pub const ZERO: Self = Self::from_millis(0);

    /// `value` units of `scale`.
    #[must_use]
    pub const fn new(value: u64, scale: Timescale) -> Self {
        Self { value, scale }
    }

    /// `value` milliseconds.
    #[must_use]
    pub const fn from_millis(value: u64) -> Self {
        Self::new(value, Timescale::MILLIS)
    }

    /// `value` microseconds.
    #[must_use]
    pub const fn from_micros(value: u64) -> Self {
        Self::new(value, Timescale::MICROS)
    }

    /// The number of units.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.value
    }

    /// What the units are.
    #[must_use]
    pub const fn scale(self) -> Timescale {
        self.scale
    }

    /// The same time counted in `scale`, to the nearest unit (halves up), saturating at `u64::MAX`.
    #[must_use]
    pub fn convert(self, scale: Timescale) -> Self {
        if scale == self.scale {
            return self;
        }
        let from = u128::from(self.scale.get());
        let scaled = (u128::from(self.value) * u128::from(scale.get()) + from / 2) / from;
        Self::new(u64::try_from(scaled).unwrap_or(u64::MAX), scale)
    }

    /// Whole microseconds, to the nearest.
    #[must_use]
    pub fn as_micros(self) -> u64 {
        self.convert(Timescale::MICROS).value
    }

    /// Whole milliseconds, to the nearest.
    #[must_use]
    pub fn as_millis(self) -> u64 {
        self.convert(Timescale::MILLIS).value
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.value.cmp(&other.value);
        }
        let ours = u128::from(self.value) * u128::from(other.scale.get());
        ours.cmp(&(u128::from(other.value) * u128::from(self.scale.get())))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}s", self.value, self.scale.get())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scales_are_one_to_sixty_two_bits() {
        assert!(Timescale::new(0).is_err());
        assert!(Timescale::new(MAX).is_ok());
        assert!(Timescale::new(MAX + 1).is_err());
    }

    #[test]
    fn conversion_rounds_to_nearest() {
        let pts = Timescale::new(90_000).unwrap();
        assert_eq!(Timestamp::new(1, pts).as_micros(), 11);
        assert_eq!(Timestamp::new(5, pts).as_micros(), 56);
        assert_eq!(Timestamp::from_micros(56).convert(pts).value(), 5);
    }

    #[test]
    fn equal_times_are_equal_in_any_scale() {
        assert_eq!(Timestamp::from_millis(3), Timestamp::from_micros(3_000));
        assert!(Timestamp::from_millis(3) < Timestamp::from_micros(3_001));
    }

    #[test]
    fn spans_count_whole_units() {
        assert_eq!(Timescale::MILLIS.units(Duration::from_micros(1_999)), 1);
        assert_eq!(Timescale::MICROS.units(Duration::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn microseconds_carry_90_khz_exactly(ticks in 0..1u64 << 40) {
            let pts = Timescale::new(90_000).unwrap();
            let there = Timestamp::new(ticks, pts).convert(Timescale::MICROS);
            prop_assert_eq!(there.convert(pts).value(), ticks);
        }
    }
}
