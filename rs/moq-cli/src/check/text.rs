//! Owns how the verdict on a transport stream looks on a screen. Called by `check`; judges nothing.

use std::fmt::Write;
use std::time::Duration;

use moq_mux::ts::check::{BufferReport, ClockReport, Fill, Finding, PidReport, Report};

use crate::table::{Align, Table};
use crate::units;

/// Everything about `report`, without the last line's newline.
pub(crate) fn of(name: &str, report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = render(&mut text, name, report);
    text.truncate(text.trim_end().len());
    text
}

fn render(text: &mut String, name: &str, report: &Report) -> std::fmt::Result {
    let Report {
        packets,
        stride,
        duration,
        rate,
        constant_rate,
        null_share,
        ..
    } = report;
    let length = units::duration(Duration::try_from_secs_f64(*duration).unwrap_or_default());
    let rate = match rate {
        Some(rate) if *constant_rate => format!("a constant {}", units::rate(*rate as f64)),
        Some(rate) => format!("a varying rate, {} on average", units::rate(*rate as f64)),
        None => "an unknown rate".into(),
    };
    writeln!(text, "{name}: {length} at {rate}")?;
    writeln!(
        text,
        "{} packets of {stride} bytes, {:.1} % of them null\n",
        units::count(*packets),
        null_share * 100.0,
    )?;
    writeln!(text, "{}", pids(&report.pids))?;
    for clock in &report.clocks {
        writeln!(text, "{}", self::clock(clock))?;
    }
    for table in report.tables.iter().filter(|table| table.count > 1) {
        let [mean, longest] = table.interval_ms;
        writeln!(
            text,
            "table {:#04x} on PID {}: every {mean:.1} ms, at most {longest:.1} ms",
            table.table_id, table.pid,
        )?;
    }
    if !report.buffers.is_empty() {
        writeln!(text, "\n{}", buffers(&report.buffers))?;
    } else {
        writeln!(text)?;
    }
    for finding in &report.findings {
        writeln!(text, "fault    {}", self::finding(finding))?;
    }
    let faults: u64 = report.findings.iter().map(|finding| finding.count).sum();
    match report.findings.len() {
        0 => writeln!(text, "verdict  PASS: nothing wrong"),
        1 => writeln!(
            text,
            "verdict  FAIL: 1 kind of fault, {} times",
            units::count(faults)
        ),
        kinds => {
            writeln!(
                text,
                "verdict  FAIL: {kinds} kinds of fault, {} times",
                units::count(faults)
            )
        }
    }
}

fn pids(pids: &[PidReport]) -> Table {
    let mut table = Table::new([
        ("PID", Align::Right),
        ("what", Align::Left),
        ("packets", Align::Right),
        ("share", Align::Right),
        ("units", Align::Right),
        ("continuity errors", Align::Right),
    ]);
    for pid in pids {
        table.row([
            pid.pid.to_string(),
            pid.kind.clone(),
            units::count(pid.packets),
            format!("{:.1} %", pid.share * 100.0),
            units::count(pid.units),
            units::count(pid.continuity_errors),
        ]);
    }
    table
}

fn clock(clock: &ClockReport) -> String {
    let [shortest, mean, longest] = clock.interval_ms;
    let error = match clock.accuracy_ns {
        Some(error) => format!("off by {error:.1} ns at most"),
        None => "accuracy unknown, as the rate varies".into(),
    };
    format!(
        "clock on PID {}: {} references, {shortest:.1} to {longest:.1} ms apart (mean {mean:.1}), {error}",
        clock.pid,
        units::count(clock.count),
    )
}

fn buffers(buffers: &[BufferReport]) -> Table {
    let mut table = Table::new([
        ("PID", Align::Right),
        ("decoder", Align::Left),
        ("transport", Align::Right),
        ("multiplexing", Align::Right),
        ("main", Align::Right),
        ("units", Align::Right),
        ("late", Align::Right),
        ("longest wait", Align::Right),
    ]);
    for buffer in buffers {
        table.row([
            buffer.pid.to_string(),
            buffer.kind.clone(),
            fill(Some(&buffer.transport)),
            fill(buffer.multiplexing.as_ref()),
            fill(buffer.main.as_ref()),
            units::count(buffer.units),
            units::count(buffer.late),
            format!("{:.0} ms", buffer.delay_ms),
        ]);
    }
    table
}

/// The most that was in a buffer, of its size.
fn fill(fill: Option<&Fill>) -> String {
    match fill {
        None => "-".into(),
        Some(fill) if fill.overflows > 0 => format!("OVERFLOW {}×", units::count(fill.overflows)),
        Some(fill) => format!("{} of {}", fill.peak, fill.size),
    }
}

/// One fault, in one line.
pub(crate) fn finding(finding: &Finding) -> String {
    let place = finding
        .pid
        .map_or(String::new(), |pid| format!(" on PID {pid}"));
    let times: Vec<_> = finding
        .times
        .iter()
        .take(3)
        .map(|time| format!("{time:.3}"))
        .collect();
    let when = match (times.len(), finding.count) {
        (0, _) => String::new(),
        (shown, count) if count > shown as u64 => format!(", first at {} s", times.join(", ")),
        _ => format!(", at {} s", times.join(", ")),
    };
    let count = units::count(finding.count);
    format!("{}{place}, {count}×{when}: {}", finding.id, finding.detail)
}

#[cfg(test)]
mod tests {
    use moq_mux::ts::check::Rule;

    use super::*;

    fn report() -> Report {
        Report {
            bytes: 18_800,
            packets: 100,
            stride: 188,
            duration: 10.0,
            rate: Some(2_000_000),
            constant_rate: true,
            null_share: 0.125,
            clocks: vec![ClockReport {
                pid: 256,
                count: 400,
                interval_ms: [24.9, 25.0, 25.1],
                accuracy_ns: Some(18.5),
                ..ClockReport::default()
            }],
            pids: vec![PidReport {
                pid: 256,
                kind: "H.264".into(),
                packets: 80,
                share: 0.8,
                units: 250,
                ..PidReport::default()
            }],
            buffers: vec![BufferReport {
                pid: 256,
                kind: "H.264".into(),
                transport: Fill {
                    size: 512,
                    peak: 400,
                    overflows: 0,
                },
                main: Some(Fill {
                    size: 1000,
                    peak: 1200,
                    overflows: 3,
                }),
                ..BufferReport::default()
            }],
            ..Report::default()
        }
    }

    #[test]
    fn a_clean_stream_passes() {
        let text = of("a.ts", &report());
        assert!(
            text.starts_with("a.ts: 10.0 s at a constant 2.00 Mb/s\n"),
            "{text}"
        );
        assert!(text.contains("12.5 % of them null"), "{text}");
        assert!(
            text.contains("24.9 to 25.1 ms apart (mean 25.0), off by 18.5 ns at most"),
            "{text}"
        );
        assert!(
            text.contains("400 of 512") && text.contains("OVERFLOW 3×"),
            "{text}"
        );
        assert!(text.ends_with("verdict  PASS: nothing wrong"), "{text}");
    }

    #[test]
    fn a_fault_is_named_with_its_place_and_time() {
        let finding = Finding {
            rule: Rule::SyncLoss,
            id: "1.1",
            pid: Some(256),
            count: 1234,
            times: vec![1.0, 2.5],
            detail: "two bad sync bytes in a row".into(),
        };
        let text = of(
            "a.ts",
            &Report {
                findings: vec![finding],
                ..report()
            },
        );
        let line =
            "fault    1.1 on PID 256, 1,234×, first at 1.000, 2.500 s: two bad sync bytes in a row";
        assert!(text.contains(line), "{text}");
        assert!(
            text.ends_with("verdict  FAIL: 1 kind of fault, 1,234 times"),
            "{text}"
        );
    }
}
