//! Owns when to try again: how long to wait after each failed or lost connection. Pure: it reads no
//! clock and draws no random numbers, both come in as values. Called by `connect`, may not know what
//! is being connected.

use std::time::Duration;

/// How waits grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackoffConfig {
    /// The wait after the first failure.
    pub(crate) first: Duration,
    /// No wait is longer than this.
    pub(crate) most: Duration,
    /// A connection that lived this long was a good one: the next wait is the first again. A
    /// shorter one counts as another failure, however politely it ended, so that a peer which
    /// accepts and closes at once is not called in a tight loop.
    pub(crate) settled: Duration,
}

impl Default for BackoffConfig {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(250),
            most: Duration::from_secs(10),
            settled: Duration::from_secs(5),
        }
    }
}

/// Exponential backoff with jitter. Each operation is O(1).
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    config: BackoffConfig,
    failures: u32,
}

impl Backoff {
    pub(crate) fn new(config: BackoffConfig) -> Self {
        Self {
            config,
            failures: 0,
        }
    }

    /// A connection ended after living for `lived` (zero: it never came up). Returns how long to
    /// wait before the next attempt: twice the last wait, up to the most, less up to a quarter by
    /// `random` so that many clients of one restarted relay don't all come back at once.
    pub(crate) fn ended(&mut self, lived: Duration, random: u64) -> Duration {
        if lived >= self.config.settled {
            self.failures = 0;
        }
        let doublings = self.failures.min(31);
        self.failures = self.failures.saturating_add(1);
        let wait = self
            .config
            .first
            .saturating_mul(1 << doublings)
            .min(self.config.most);
        let jitter = (wait / 4).mul_f64((random % 1024) as f64 / 1024.0);
        wait - jitter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Backoff {
        Backoff::new(BackoffConfig::default())
    }

    #[test]
    fn waits_double_up_to_the_most() {
        let mut backoff = plain();
        let waits: Vec<_> = (0..8)
            .map(|_| backoff.ended(Duration::ZERO, 0).as_millis())
            .collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    }

    #[test]
    fn a_connection_that_settled_starts_over() {
        let mut backoff = plain();
        for _ in 0..6 {
            backoff.ended(Duration::ZERO, 0);
        }
        assert_eq!(
            backoff.ended(Duration::from_secs(5), 0),
            Duration::from_millis(250)
        );
        assert_eq!(backoff.ended(Duration::ZERO, 0), Duration::from_millis(500));
    }

    #[test]
    fn a_peer_that_closes_at_once_is_not_called_in_a_loop() {
        let mut backoff = plain();
        let total: Duration = (0..20)
            .map(|_| backoff.ended(Duration::from_millis(3), 0))
            .sum();
        assert!(total > Duration::from_secs(100), "{total:?}");
    }

    #[test]
    fn jitter_takes_at_most_a_quarter() {
        for random in [0, 1, 511, 1023, u64::MAX] {
            let mut backoff = plain();
            let wait = backoff.ended(Duration::ZERO, random);
            assert!(
                wait > Duration::from_micros(187_500 - 1) && wait <= Duration::from_millis(250)
            );
        }
        assert_ne!(
            plain().ended(Duration::ZERO, 0),
            plain().ended(Duration::ZERO, 1023)
        );
    }

    #[test]
    fn counting_failures_never_overflows() {
        let mut backoff = Backoff {
            config: BackoffConfig::default(),
            failures: u32::MAX,
        };
        assert_eq!(backoff.ended(Duration::ZERO, 0), Duration::from_secs(10));
    }
}
