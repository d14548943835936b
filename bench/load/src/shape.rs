//! The command line: how much of what, for how long. Holds no behaviour beyond reading values.

use std::{net::SocketAddr, num::ParseFloatError, time::Duration};

use clap::Parser;

/// Puts a relay under load and prints what arrived as one line of JSON.
#[derive(Debug, Parser)]
pub(crate) struct Shape {
    /// Where the relay listens; it must let anyone read and publish.
    #[arg(long)]
    pub(crate) relay: SocketAddr,

    /// The relay's process, to read its CPU time and memory.
    #[arg(long)]
    pub(crate) relay_pid: Option<u32>,

    /// Broadcasts, each by a publisher of its own.
    #[arg(long, default_value_t = 1)]
    pub(crate) broadcasts: u32,

    /// Subscribers, dealt out over the broadcasts in turn: a multiple of their number.
    #[arg(long, default_value_t = 1)]
    pub(crate) subscribers: u32,

    /// Frames a second of each broadcast.
    #[arg(long, default_value_t = 30)]
    pub(crate) fps: u32,

    /// Bytes a frame, at least 8.
    #[arg(long, default_value_t = 20_000)]
    pub(crate) frame_size: usize,

    /// Frames a group.
    #[arg(long, default_value_t = 30)]
    pub(crate) group_size: u64,

    /// Seconds over which the subscribers join.
    #[arg(long, default_value = "2", value_parser = seconds)]
    pub(crate) ramp: Duration,

    /// Seconds between the last join and the measured window.
    #[arg(long, default_value = "1", value_parser = seconds)]
    pub(crate) warm_up: Duration,

    /// Seconds of the measured window.
    #[arg(long, default_value = "5", value_parser = seconds)]
    pub(crate) time: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let value: f64 = text
        .parse()
        .map_err(|error: ParseFloatError| error.to_string())?;
    Duration::try_from_secs_f64(value).map_err(|error| error.to_string())
}
