//! One programme clock: its PCRs, unwrapped, and how well they fit their byte positions.
//!
//! Positions are in bytes of 188 a packet. Ticks are of 27 MHz. Holds sixteen bytes a PCR, up to a day and more of them.

use super::report::ClockReport;

/// Where the PCR wraps.
pub(super) const MODULUS: i64 = (1 << 33) * 300;

/// The longest step that is taken for time that passed, when it is not flagged: 1 s.
const LONGEST_STEP: i64 = 27_000_000;

/// PCRs kept for the fit.
const MOST_POINTS: usize = 1 << 22;

/// Intervals a stretch of constant rate has at least.
const SHORTEST_STRETCH: usize = 8;

/// How far the rate of an interval may stray from its stretch: this share, and this many bytes of unevenness.
const TOLERANCE: f64 = 0.01;
const UNEVEN: f64 = 1.5 * 188.0;

const TICKS_A_MS: f64 = 27_000.0;

/// A clock on a PID.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) pid: u16,
    points: Vec<Point>,
    last: Option<Point>,
    count: u64,
    steps: u64,
    shortest: i64,
    longest: i64,
    sum: i64,
    flagged: u64,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    byte: u64,
    ticks: i64,
    /// Nothing before it belongs to the same time base.
    fresh: bool,
}

/// What a PCR is to the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    First,
    /// This many ticks and bytes on.
    On(i64, u64),
    /// A new time base; whether it was flagged.
    Break(bool),
}

impl Clock {
    pub(super) fn new(pid: u16) -> Self {
        Self {
            pid,
            points: Vec::new(),
            last: None,
            count: 0,
            steps: 0,
            shortest: i64::MAX,
            longest: 0,
            sum: 0,
            flagged: 0,
        }
    }

    /// Unwrapped ticks of the last PCR.
    pub(super) fn ticks(&self) -> Option<i64> {
        self.last.map(|point| point.ticks)
    }

    /// The next PCR, modulo [`MODULUS`], its byte position, and whether its packet flags a discontinuity.
    pub(super) fn push(&mut self, raw: u64, byte: u64, flag: bool) -> Step {
        self.count += 1;
        let raw = raw as i64 % MODULUS;
        let (step, ticks) = match self.last {
            None => (Step::First, raw),
            Some(last) => {
                let ahead = (raw - last.ticks).rem_euclid(MODULUS);
                if flag {
                    self.flagged += 1;
                    (Step::Break(true), raw)
                } else if ahead > LONGEST_STEP {
                    (Step::Break(false), raw)
                } else {
                    (Step::On(ahead, byte - last.byte), last.ticks + ahead)
                }
            }
        };
        if let Step::On(ahead, _) = step {
            self.steps += 1;
            self.shortest = self.shortest.min(ahead);
            self.longest = self.longest.max(ahead);
            self.sum += ahead;
        }
        let point = Point {
            byte,
            ticks,
            fresh: !matches!(step, Step::On(..)),
        };
        self.last = Some(point);
        if self.points.len() < MOST_POINTS {
            self.points.push(point);
        }
        step
    }

    /// The figures so far. O(PCRs).
    pub(super) fn report(&self) -> ClockReport {
        let mut report = ClockReport {
            pid: self.pid,
            count: self.count,
            discontinuities: self.flagged,
            ..ClockReport::default()
        };
        if self.steps == 0 {
            return report;
        }
        let mean = self.sum as f64 / self.steps as f64;
        report.interval_ms =
            [self.shortest as f64, mean, self.longest as f64].map(|t| round(t / TICKS_A_MS, 1e6));
        let stretches = stretches(&self.points);
        let fitted: usize = stretches.iter().map(|stretch| stretch.len() - 1).sum();
        // The rest are PCRs so far off, or so few of a rate, that no rate can be told.
        let steps = self.points.iter().filter(|point| !point.fresh).count();
        if fitted * 10 < steps * 9 {
            return report;
        }
        report.stretches = stretches.len();
        let fits: Vec<Fit> = stretches.iter().map(|points| Fit::of(points)).collect();
        let worst = fits.iter().map(|fit| fit.worst).fold(0.0, f64::max);
        let squares: f64 = fits.iter().map(|fit| fit.squares).sum();
        let points: usize = stretches.iter().map(|points| points.len()).sum();
        report.accuracy_ns = Some(round(nanoseconds(worst), 10.0));
        report.jitter_ns = Some(round(nanoseconds((squares / points as f64).sqrt()), 10.0));
        let longest = stretches
            .iter()
            .zip(&fits)
            .max_by_key(|(points, _)| points.len());
        if let Some((points, fit)) = longest {
            report.rate = Some(round(fit.rate(), 1e3));
            report.drift_ppm = drift(points, fit).map(|ppm| round(ppm, 1e3));
        }
        report
    }

    /// How many PCRs are further than `ns` from their byte positions, in stretches of constant rate.
    pub(super) fn beyond(&self, ns: f64) -> u64 {
        let stray = |points: &&[Point]| {
            let fit = Fit::of(points);
            points
                .iter()
                .filter(|&&point| nanoseconds(fit.error(point).abs()) > ns)
                .count()
        };
        stretches(&self.points).iter().map(stray).sum::<usize>() as u64
    }
}

/// The runs of points whose intervals agree on a rate.
fn stretches(points: &[Point]) -> Vec<&[Point]> {
    let mut found = Vec::new();
    let mut start = 0;
    for at in 1..=points.len() {
        let goes_on = points.get(at).is_some_and(|&point| {
            let (first, last) = (points[start], points[at - 1]);
            !point.fresh && (at - start < 2 || agrees(first, last, point))
        });
        if !goes_on {
            if at - start > SHORTEST_STRETCH {
                found.push(&points[start..at]);
            }
            // The interval that did not agree may be the first of the next stretch.
            start = if points.get(at).is_some_and(|point| !point.fresh) && at - start > 1 {
                at - 1
            } else {
                at
            };
        }
    }
    found
}

/// Whether the interval from `last` to `point` has the rate of the stretch from `first` to `last`.
fn agrees(first: Point, last: Point, point: Point) -> bool {
    let slope = (last.byte - first.byte) as f64 / ((last.ticks - first.ticks) as f64).max(1.0);
    let expected = slope * (point.ticks - last.ticks) as f64;
    let bytes = (point.byte - last.byte) as f64;
    (bytes - expected).abs() <= TOLERANCE * expected + UNEVEN
}

/// A line through a stretch: ticks = offset + slope × byte, the offset centred between the extremes.
struct Fit {
    origin: Point,
    slope: f64,
    offset: f64,
    /// Largest distance from the line and sum of squares, in ticks.
    worst: f64,
    squares: f64,
}

impl Fit {
    fn of(points: &[Point]) -> Self {
        let origin = points[0];
        let count = points.len() as f64;
        let relative = |point: &Point| {
            (
                (point.byte - origin.byte) as f64,
                (point.ticks - origin.ticks) as f64,
            )
        };
        let (x, y) = points
            .iter()
            .map(relative)
            .fold((0.0, 0.0), |(x, y), (a, b)| (x + a, y + b));
        let (x, y) = (x / count, y / count);
        let (over, under) = points
            .iter()
            .map(relative)
            .fold((0.0, 0.0), |(over, under), (a, b)| {
                (over + (a - x) * (b - y), under + (a - x) * (a - x))
            });
        let slope = if under > 0.0 { over / under } else { 0.0 };
        let mut fit = Self {
            origin,
            slope,
            offset: y - slope * x,
            worst: 0.0,
            squares: 0.0,
        };
        let errors = || points.iter().map(|&point| fit.error(point));
        let (low, high) = errors().fold((f64::MAX, f64::MIN), |(low, high), e| {
            (low.min(e), high.max(e))
        });
        fit.squares = points.iter().map(|&point| fit.error(point).powi(2)).sum();
        fit.offset += (low + high) / 2.0;
        fit.worst = (high - low) / 2.0;
        fit
    }

    fn error(&self, point: Point) -> f64 {
        let x = (point.byte as f64) - (self.origin.byte as f64);
        let y = (point.ticks - self.origin.ticks) as f64;
        y - (self.offset + self.slope * x)
    }

    /// Bit/s.
    fn rate(&self) -> f64 {
        if self.slope > 0.0 {
            8.0 * 27e6 / self.slope
        } else {
            0.0
        }
    }
}

/// How far windows of ten seconds stray from the whole, in ppm; `None` for stretches of less than two.
fn drift(points: &[Point], whole: &Fit) -> Option<f64> {
    const WINDOW: i64 = 270_000_000;
    let mut worst: Option<f64> = None;
    let mut start = 0;
    for at in 0..points.len() {
        if points[at].ticks - points[start].ticks >= WINDOW && at - start >= SHORTEST_STRETCH {
            let part = Fit::of(&points[start..=at]);
            let ppm = ((part.slope / whole.slope - 1.0) * 1e6).abs();
            worst = Some(worst.unwrap_or(0.0).max(ppm));
            start = at;
        }
    }
    (start > 0 && points[points.len() - 1].ticks - points[0].ticks >= 2 * WINDOW)
        .then_some(worst)
        .flatten()
}

fn nanoseconds(ticks: f64) -> f64 {
    ticks * 1000.0 / 27.0
}

/// To the nearest part of one.
fn round(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock every 7,000 bytes at 2 Mb/s, off by `error(n)` ticks.
    fn clock(count: u64, error: impl Fn(u64) -> i64) -> Clock {
        let mut clock = Clock::new(256);
        for n in 0..count {
            let byte = n * 7_000;
            let ticks = byte as i64 * 108 + error(n) + 5_000_000;
            clock.push((ticks as u64) % MODULUS as u64, byte, false);
        }
        clock
    }

    #[test]
    fn an_exact_clock_has_no_error() {
        let report = clock(1000, |_| 0).report();
        assert_eq!(report.accuracy_ns, Some(0.0));
        assert_eq!(report.rate, Some(2_000_000.0));
        assert_eq!(report.interval_ms, [28.0, 28.0, 28.0]);
        assert_eq!(report.drift_ppm, Some(0.0));
    }

    #[test]
    fn an_error_of_27_ticks_is_a_microsecond() {
        // The extremes are 27 above and 0: centred, half of that.
        let clock = clock(1000, |n| if n == 500 { 27 } else { 0 });
        assert_eq!(clock.report().accuracy_ns, Some(500.0));
        assert_eq!(clock.beyond(400.0), 1000);
        assert_eq!(clock.beyond(501.0), 0);
    }

    #[test]
    fn a_varying_rate_has_no_accuracy() {
        let report = clock(1000, |n| (n % 7) as i64 * 90_000).report();
        assert_eq!((report.accuracy_ns, report.rate), (None, None));
    }

    #[test]
    fn a_step_of_the_rate_makes_two_stretches() {
        let mut clock = clock(100, |_| 0);
        let (byte, ticks) = (99 * 7_000, 99 * 7_000 * 108 + 5_000_000);
        for n in 1..100 {
            clock.push(ticks + n * 7_000 * 54, byte + n * 7_000, false);
        }
        let report = clock.report();
        assert_eq!((report.stretches, report.accuracy_ns), (2, Some(0.0)));
    }

    #[test]
    fn a_wrap_is_a_step_and_a_jump_is_a_break() {
        let mut clock = Clock::new(1);
        assert_eq!(clock.push(MODULUS as u64 - 100, 0, false), Step::First);
        assert_eq!(clock.push(575_000, 1880, false), Step::On(575_100, 1880));
        assert_eq!(
            clock.push(575_000 + 28_000_000, 3760, false),
            Step::Break(false)
        );
        assert_eq!(clock.push(100, 5640, false), Step::Break(false));
        assert_eq!(clock.push(200, 5640, true), Step::Break(true));
        assert_eq!(clock.report().discontinuities, 1);
    }
}
