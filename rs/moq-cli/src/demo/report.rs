//! Owns what a demo says at the end: the numbers, the verdict and why, for a person or as JSON.
//! Called by `demo`, which fills it in; measures nothing itself.

use std::fmt;
use std::time::Duration;

use moq_mux::ts::check;
use serde::Serialize;

use super::ledger::{Balance, Tally};
use crate::table::{Align, Table};
use crate::units;

/// Everything a demo found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// What was sent.
    pub(crate) input: String,
    /// Where it was written.
    pub(crate) output: String,
    /// How long it took.
    pub(crate) seconds: f64,
    pub(crate) tracks: Vec<TrackReport>,
    pub(crate) transport: Transport,
    pub(crate) mux: Mux,
    /// What the checker has against the output, which may be the input's own fault.
    pub(crate) faults: Vec<String>,
    /// What was lost or changed; empty if nothing.
    pub(crate) problems: Vec<String>,
    /// Whether nothing was.
    pub(crate) passed: bool,
}

/// One track, from the importer to the exporter.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TrackReport {
    pub(crate) name: String,
    pub(crate) groups: Tally,
    pub(crate) frames: Tally,
    /// Frames that came out with another time or payload, or from nowhere.
    pub(crate) changed: u64,
    /// Payload bytes sent.
    pub(crate) bytes: u64,
    /// From publish to delivery; null if nothing was delivered.
    pub(crate) latency_p50_ms: Option<f64>,
    pub(crate) latency_p99_ms: Option<f64>,
    /// Whether the output file has the same frames at the same distances in time.
    pub(crate) written_identical: bool,
}

/// Both hops together: publisher to relay, relay to subscriber.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Transport {
    /// UDP payload bytes, both directions.
    pub(crate) sent_bytes: u64,
    pub(crate) sent_packets: u64,
    pub(crate) lost_packets: u64,
    /// Stream bytes sent again.
    pub(crate) retransmitted_bytes: u64,
}

/// The transport stream that was written.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Mux {
    /// Bits per second, by the stream's own clock.
    pub(crate) rate: u64,
    pub(crate) constant: bool,
    pub(crate) bytes: u64,
    /// Share of null packets, 0 to 1.
    pub(crate) null_share: f64,
    pub(crate) pcr_interval_max_ms: f64,
    /// Furthest any clock reference is from its byte position.
    pub(crate) pcr_error_max_ns: Option<f64>,
}

impl Mux {
    pub(crate) fn new(report: &check::Report) -> Self {
        let clock = report.clock();
        Self {
            rate: report.rate.unwrap_or(0),
            constant: report.constant_rate,
            bytes: report.bytes,
            null_share: report.null_share,
            pcr_interval_max_ms: clock.map_or(0.0, |clock| clock.interval_ms[2]),
            pcr_error_max_ns: clock.and_then(|clock| clock.accuracy_ns),
        }
    }
}

impl TrackReport {
    pub(crate) fn new(balance: &Balance, written_identical: bool) -> Self {
        let millis = |percent| {
            balance
                .latency
                .quantile(percent)
                .map(|at| at.as_secs_f64() * 1e3)
        };
        Self {
            name: balance.name.clone(),
            groups: balance.groups,
            frames: balance.frames,
            changed: balance.changed,
            bytes: balance.bytes,
            latency_p50_ms: millis(50),
            latency_p99_ms: millis(99),
            written_identical,
        }
    }

    /// What is wrong with the track, in words.
    pub(crate) fn problems(&self) -> Vec<String> {
        let Self { name, frames, .. } = self;
        let mut problems = Vec::new();
        if frames.sent == 0 {
            problems.push(format!("{name}: no frame was sent"));
        }
        if frames.lost > 0 {
            problems.push(format!(
                "{name}: {} of {} frames lost",
                frames.lost, frames.sent
            ));
        }
        if self.changed > 0 {
            problems.push(format!(
                "{name}: {} frames changed on the way",
                self.changed
            ));
        }
        if !self.written_identical {
            problems.push(format!(
                "{name}: the output has other frames than the input"
            ));
        }
        problems
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.table())?;
        let Transport {
            sent_bytes,
            sent_packets,
            lost_packets,
            retransmitted_bytes,
        } = self.transport;
        writeln!(
            f,
            "network  {} in {} packets over two hops, {} packets lost, {} sent again",
            units::bytes(sent_bytes),
            units::count(sent_packets),
            units::count(lost_packets),
            units::bytes(retransmitted_bytes),
        )?;
        let Mux {
            rate,
            constant,
            bytes,
            null_share,
            pcr_interval_max_ms,
            pcr_error_max_ns,
        } = self.mux;
        writeln!(
            f,
            "output   {}: {} at a {} {}, {:.1} % null packets",
            self.output,
            units::bytes(bytes),
            if constant { "constant" } else { "VARIABLE" },
            units::rate(rate as f64),
            null_share * 100.0,
        )?;
        let error = match pcr_error_max_ns {
            Some(error) => format!("off by {error:.1} ns at most"),
            None => "their error unknown".into(),
        };
        writeln!(
            f,
            "clock    references at most {pcr_interval_max_ms:.1} ms apart, {error}"
        )?;
        writeln!(f)?;
        for fault in &self.faults {
            writeln!(f, "fault    {fault}")?;
        }
        for problem in &self.problems {
            writeln!(f, "problem  {problem}")?;
        }
        let took = units::duration(Duration::from_secs_f64(self.seconds));
        let graded = match self.faults.len() {
            0 => "the output grades clean".into(),
            1 => "the output has 1 fault".into(),
            faults => format!("the output has {faults} faults"),
        };
        if self.passed {
            write!(
                f,
                "verdict  PASS: everything arrived unchanged, in {took}; {graded}"
            )
        } else {
            let wrong = match self.problems.len() {
                1 => "1 problem".into(),
                problems => format!("{problems} problems"),
            };
            write!(f, "verdict  FAIL: {wrong}, after {took}; {graded}")
        }
    }
}

impl Report {
    fn table(&self) -> Table {
        let mut table = Table::new([
            ("track", Align::Left),
            ("groups", Align::Right),
            ("frames sent", Align::Right),
            ("delivered", Align::Right),
            ("lost", Align::Right),
            ("bytes", Align::Right),
            ("latency p50", Align::Right),
            ("p99", Align::Right),
            ("output", Align::Left),
        ]);
        for track in &self.tracks {
            let latency = |millis: Option<f64>| match millis {
                Some(millis) => units::duration(Duration::from_secs_f64(millis / 1e3)),
                None => "-".into(),
            };
            let groups = match track.groups.lost {
                0 => units::count(track.groups.sent),
                _ => format!("{}/{}", track.groups.delivered, track.groups.sent),
            };
            table.row([
                track.name.clone(),
                groups,
                units::count(track.frames.sent),
                units::count(track.frames.delivered),
                units::count(track.frames.lost),
                units::bytes(track.bytes),
                latency(track.latency_p50_ms),
                latency(track.latency_p99_ms),
                if track.written_identical {
                    "identical"
                } else {
                    "DIFFERS"
                }
                .into(),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::ledger::{Ledger, Place, Sighting};

    fn report(delivered: u64) -> Report {
        let mut ledger = Ledger::default();
        let track = ledger.open("0.avc3");
        for index in 0..10 {
            let seen = |at| Sighting {
                at: Duration::from_micros(at),
                time: 0,
                print: index,
                bytes: 1000,
            };
            let place = Place { group: 0, index };
            ledger.sent(track, place, seen(0));
            if index < delivered {
                ledger.delivered(track, place, seen(1500));
            }
        }
        let tracks = vec![TrackReport::new(&ledger.balances()[0], delivered == 10)];
        let problems: Vec<_> = tracks.iter().flat_map(TrackReport::problems).collect();
        Report {
            input: "in.ts".into(),
            output: "out.ts".into(),
            seconds: 10.0,
            tracks,
            transport: Transport::default(),
            mux: Mux {
                rate: 2_000_000,
                constant: true,
                bytes: 2_500_000,
                null_share: 0.25,
                pcr_interval_max_ms: 25.0,
                pcr_error_max_ns: Some(18.5),
            },
            faults: Vec::new(),
            passed: problems.is_empty(),
            problems,
        }
    }

    #[test]
    fn a_whole_delivery_passes() {
        let text = report(10).to_string();
        assert!(
            text.contains("0.avc3       1           10         10     0  10.0 kB"),
            "{text}"
        );
        assert!(text.contains("1.50 ms"), "{text}");
        assert!(
            text.ends_with(
                "PASS: everything arrived unchanged, in 10.0 s; the output grades clean"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_loss_fails_and_is_named() {
        let text = report(7).to_string();
        assert!(
            text.contains("problem  0.avc3: 3 of 10 frames lost"),
            "{text}"
        );
        assert!(
            text.contains("0/1"),
            "a group is delivered when all its frames are: {text}"
        );
        assert!(text.contains("verdict  FAIL: 2 problems"), "{text}");
    }

    #[test]
    fn nothing_delivered_has_no_latency() {
        let json = serde_json::to_value(report(0)).unwrap();
        assert!(json["tracks"][0]["latency_p50_ms"].is_null());
        assert_eq!(json["passed"], false);
        assert_eq!(json["tracks"][0]["frames"]["lost"], 10);
    }
}
