//! What was written in the measured window, what of it arrived, and how late. Shared by all publishers and subscribers.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde::Serialize;
use tokio::time::Instant;

/// Counts frames by when they were written, not by when they arrive: both ends of the window are sharp.
#[derive(Debug)]
pub(crate) struct Tally {
    epoch: Instant,
    /// Microseconds since the epoch.
    window: Range<u64>,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    written: u64,
    bytes: u64,
    aborted_groups: u64,
    /// Microseconds from write to read, one a frame.
    latencies: Vec<u32>,
}

/// What the window held. Times in milliseconds, memory in bytes, CPU in seconds.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    expected_frames: u64,
    delivered_frames: u64,
    delivered_bytes: u64,
    aborted_groups: u64,
    latency_p50: f64,
    latency_p99: f64,
    latency_max: f64,
    pub(crate) relay_cpu: f64,
    pub(crate) relay_memory: u64,
    pub(crate) relay_peak_memory: u64,
}

impl Tally {
    /// Counts what is written between the two times after `epoch`.
    pub(crate) fn new(epoch: Instant, window: Range<Duration>) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self {
            epoch,
            window: micros(window.start)..micros(window.end),
            counts: Mutex::default(),
        }
    }

    /// Microseconds since the epoch.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// A frame was written.
    pub(crate) fn written(&self, at: u64) {
        if self.window.contains(&at) {
            self.with(|counts| counts.written += 1);
        }
    }

    /// A frame written at that time has been read whole.
    pub(crate) fn arrived(&self, written: u64, bytes: usize) {
        if self.window.contains(&written) {
            let late = self.now().saturating_sub(written);
            self.with(|counts| {
                counts.bytes += bytes as u64;
                counts
                    .latencies
                    .push(u32::try_from(late).unwrap_or(u32::MAX));
            });
        }
    }

    /// A group ended before its last frame.
    pub(crate) fn lost(&self) {
        if self.now() >= self.window.start {
            self.with(|counts| counts.aborted_groups += 1);
        }
    }

    /// The window, each broadcast read by `readers`. O(n log n) in frames.
    pub(crate) fn report(&self, readers: u32) -> Report {
        self.with(|counts| {
            counts.latencies.sort_unstable();
            let latencies = &counts.latencies;
            let at = |share: f64| {
                let place = (share * latencies.len().saturating_sub(1) as f64) as usize;
                latencies
                    .get(place)
                    .map_or(0.0, |&micros| f64::from(micros) / 1000.0)
            };
            Report {
                expected_frames: counts.written * u64::from(readers),
                delivered_frames: latencies.len() as u64,
                delivered_bytes: counts.bytes,
                aborted_groups: counts.aborted_groups,
                latency_p50: at(0.5),
                latency_p99: at(0.99),
                latency_max: at(1.0),
                ..Report::default()
            }
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Counts) -> T) -> T {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_window_is_by_the_time_of_writing() {
        let tally = Tally::new(
            Instant::now(),
            Duration::from_secs(1)..Duration::from_secs(2),
        );
        for written in [999_999, 1_000_000, 1_999_999, 2_000_000] {
            tally.written(written);
        }
        tokio::time::advance(Duration::from_secs(3)).await;
        for written in [999_999, 1_000_000, 1_999_999, 2_000_000] {
            tally.arrived(written, 10);
        }
        let report = tally.report(3);
        assert_eq!(
            (
                report.expected_frames,
                report.delivered_frames,
                report.delivered_bytes
            ),
            (6, 2, 20)
        );
        assert_eq!((report.latency_max, report.latency_p50), (2000.0, 1000.001));
    }

    #[test]
    fn nothing_delivered_is_a_report_too() {
        let tally = Tally::new(Instant::now(), Duration::ZERO..Duration::from_secs(1));
        assert_eq!(tally.report(1).latency_p99, 0.0);
    }
}
