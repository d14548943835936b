//! Owns how quantities are written on the command line and shown to a person: durations, bit
//! rates, byte sizes. Called by `args` (parsing) and by everything that prints. Knows nothing of
//! what the numbers mean.

use std::time::Duration;

/// Parses `250ms`, `2s`, `1.5s`, `1m` or `1h`. A bare number is refused: seconds and milliseconds
/// are too easily taken for each other.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "ms" => number / 1e3,
        "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        "" if number == 0.0 => 0.0,
        "" => return Err(format!("say the unit: {text}ms or {text}s")),
        other => return Err(format!("unknown unit '{other}': use ms, s, m or h")),
    };
    // A century is beyond any use and well inside what Duration and Instant can add.
    if seconds > 100.0 * 365.0 * 86_400.0 {
        return Err("longer than a century".into());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Parses a bit rate: `2500000`, `2500k`, `2.5M`, `1G` (decimal multiples of bits per second).
pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let scale = match unit {
        "" | "b/s" | "bps" => 1.0,
        "k" | "kb/s" | "kbps" => 1e3,
        "M" | "Mb/s" | "Mbps" => 1e6,
        "G" | "Gb/s" | "Gbps" => 1e9,
        other => {
            return Err(format!(
                "unknown unit '{other}': use k, M or G (bits per second)"
            ));
        }
    };
    whole(number * scale, "a rate is at least 1 bit per second", 1.0)
}

/// Parses a size in bytes: `65536`, `512KiB`, `64MiB`, `1GiB`, or the decimal `kB`, `MB`, `GB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let scale = match unit {
        "" | "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        other => {
            return Err(format!(
                "unknown unit '{other}': use KiB, MiB, GiB, kB, MB or GB"
            ));
        }
    };
    whole(number * scale, "a size is a number of bytes", 0.0)
}

/// `999 b/s`, `2.00 Mb/s`: three significant digits, decimal multiples.
pub(crate) fn rate(bits_per_second: f64) -> String {
    scaled(bits_per_second, &["b/s", "kb/s", "Mb/s", "Gb/s"])
}

/// `188 B`, `2.50 MB`: three significant digits, decimal multiples.
pub(crate) fn bytes(count: u64) -> String {
    if count < 1000 {
        return format!("{count} B");
    }
    scaled(count as f64, &["B", "kB", "MB", "GB"])
}

/// `850 µs`, `12.3 ms`, `2.50 s`: three significant digits.
pub(crate) fn duration(length: Duration) -> String {
    let seconds = length.as_secs_f64();
    if seconds >= 1.0 {
        significant(seconds, "s")
    } else if seconds >= 1e-3 {
        significant(seconds * 1e3, "ms")
    } else {
        format!("{} µs", length.as_micros())
    }
}

/// A count in groups of three: `13,287`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn split(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number = number
        .parse::<f64>()
        .map_err(|_| format!("'{text}' does not start with a number"))?;
    Ok((number, unit.trim_start()))
}

fn whole(value: f64, complaint: &str, least: f64) -> Result<u64, String> {
    if value < least {
        return Err(complaint.into());
    }
    // Above 2^53 a float no longer counts single units; nothing here is meant to be that large.
    if value > 9e15 {
        return Err("too large".into());
    }
    Ok(value.round() as u64)
}

fn scaled(mut value: f64, units: &[&str]) -> String {
    let mut index = 0;
    // 999.5 would be shown as 1000 of the smaller unit.
    while value >= 999.5 && index + 1 < units.len() {
        value /= 1e3;
        index += 1;
    }
    if index == 0 {
        format!("{value:.0} {}", units[0])
    } else {
        significant(value, units[index])
    }
}

fn significant(value: f64, unit: &str) -> String {
    let decimals = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_its_unit() {
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        assert!(parse_duration("5").unwrap_err().contains("5ms or 5s"));
        assert!(parse_duration("5 weeks").unwrap_err().contains("weeks"));
        assert!(parse_duration("-1s").is_err());
        assert!(parse_duration("1e300s").is_err());
        assert!(parse_duration(&format!("{}h", "9".repeat(300))).is_err());
        assert!(parse_duration("").is_err());
        assert!(parse_duration("1.2.3s").is_err());
    }

    #[test]
    fn a_rate_takes_decimal_multiples() {
        assert_eq!(parse_rate("2500000"), Ok(2_500_000));
        assert_eq!(parse_rate("2.5M"), Ok(2_500_000));
        assert_eq!(parse_rate("800k"), Ok(800_000));
        assert_eq!(parse_rate("1Gb/s"), Ok(1_000_000_000));
        assert!(parse_rate("0").is_err());
        assert!(parse_rate("2MB").is_err(), "bytes are not bits");
        assert!(parse_rate(&"9".repeat(40)).is_err());
    }

    #[test]
    fn a_size_tells_binary_from_decimal() {
        assert_eq!(parse_size("64MiB"), Ok(64 << 20));
        assert_eq!(parse_size("64MB"), Ok(64_000_000));
        assert_eq!(parse_size("100"), Ok(100));
        assert!(parse_size("1TB").is_err());
    }

    #[test]
    fn what_is_shown_has_three_significant_digits() {
        assert_eq!(rate(2_000_000.0), "2.00 Mb/s");
        assert_eq!(rate(999_700.0), "1.00 Mb/s");
        assert_eq!(rate(12.0), "12 b/s");
        assert_eq!(bytes(187), "187 B");
        assert_eq!(bytes(2_497_956), "2.50 MB");
        assert_eq!(duration(Duration::from_micros(12_340)), "12.3 ms");
        assert_eq!(duration(Duration::from_micros(850)), "850 µs");
        assert_eq!(duration(Duration::from_millis(125_000)), "125 s");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
    }
}
