//! Owns order statistics of a set of durations. Called by `demo` for latencies. Pure.

use std::time::Duration;

/// Durations, kept whole: a demo has thousands, not millions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quantiles {
    sorted: Vec<Duration>,
}

impl FromIterator<Duration> for Quantiles {
    /// Cost: O(n log n), then each [`quantile`](Self::quantile) is O(1).
    fn from_iter<I: IntoIterator<Item = Duration>>(durations: I) -> Self {
        let mut sorted: Vec<_> = durations.into_iter().collect();
        sorted.sort_unstable();
        Self { sorted }
    }
}

impl Quantiles {
    /// The smallest duration that at least `percent` of all are no longer than (nearest rank), or
    /// `None` of nothing. `percent` above 100 is the longest.
    pub(crate) fn quantile(&self, percent: usize) -> Option<Duration> {
        let rank = (self.sorted.len() * percent.min(100)).div_ceil(100).max(1);
        self.sorted.get(rank - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(millis: &[u64]) -> Quantiles {
        millis.iter().copied().map(Duration::from_millis).collect()
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let hundred: Vec<u64> = (1..=100).rev().collect();
        let all = of(&hundred);
        for percent in [1, 50, 99, 100] {
            assert_eq!(
                all.quantile(percent),
                Some(Duration::from_millis(percent as u64))
            );
        }
        assert_eq!(all.quantile(0), Some(Duration::from_millis(1)));
        assert_eq!(all.quantile(1000), Some(Duration::from_millis(100)));
    }

    #[test]
    fn few_values_have_quantiles_too() {
        assert_eq!(of(&[]).quantile(50), None);
        assert_eq!(of(&[7]).quantile(1), Some(Duration::from_millis(7)));
        assert_eq!(of(&[7, 9]).quantile(50), Some(Duration::from_millis(7)));
        assert_eq!(of(&[7, 9]).quantile(51), Some(Duration::from_millis(9)));
    }
}
