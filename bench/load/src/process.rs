//! CPU time and memory of another process, from `/proc` (Linux).

use std::{fs, time::Duration};

use crate::Error;

/// What a process has used so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// User and system time of all its threads.
    pub(crate) cpu: Duration,
    /// Resident bytes now.
    pub(crate) memory: u64,
    /// The most it ever had resident.
    pub(crate) peak_memory: u64,
}

/// Reads process `pid`.
pub(crate) fn usage(pid: u32) -> Result<Usage, Error> {
    let read = |name| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    let cpu = read("stat").as_deref().and_then(cpu);
    let status = read("status");
    let kilobytes = |key| status.as_deref().and_then(|status| field(status, key));
    match (cpu, kilobytes("VmRSS:"), kilobytes("VmHWM:")) {
        (Some(cpu), Some(now), Some(peak)) => Ok(Usage {
            cpu,
            memory: now * 1024,
            peak_memory: peak * 1024,
        }),
        _ => Err(Error::Process(pid)),
    }
}

/// utime + stime, fields 14 and 15 of proc(5) stat, in ticks of 10 ms. The name before them may hold spaces.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    let mut fields = after_name.split(' ').skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks))
}

fn field(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_past_a_name_with_spaces() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 100 0 0 0 150 25 0 0 20 0 5 0 1 0 0";
        assert_eq!(cpu(stat), Some(Duration::from_millis(1750)));
        assert_eq!(cpu("7 (cut"), None);
    }

    #[test]
    fn memory_is_a_field_of_status() {
        let status = "Name:\tx\nVmHWM:\t   2048 kB\nVmRSS:\t  1024 kB\n";
        assert_eq!(field(status, "VmRSS:"), Some(1024));
        assert_eq!(field(status, "VmSwap:"), None);
    }
}
