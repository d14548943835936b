//! Puts a relay under a load of a given shape and prints what arrived as one line of JSON.
//!
//! Called by `bench/workloads.py`, which starts the relay and compares two of them. Everything runs in this one process, so
//! that latency is read off one clock.
//!
//! - `shape`: the command line: how much of what for how long
//! - `publish`, `subscribe`: the two ends
//! - `tally`: what arrived in the measured window, and how late
//! - `process`: CPU time and memory of the relay

mod process;
mod publish;
mod shape;
mod subscribe;
mod tally;

use std::{net::SocketAddr, process::ExitCode, sync::Arc, time::Duration};

use clap::Parser;
use moq_net::{Session, SessionConfig, alpns};
use moq_quic::{ClientConfig, Endpoint, tls::Trust};
use thiserror::Error;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    shape::Shape,
    tally::{Report, Tally},
};

/// How long what was sent in the window may take to arrive.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why there is no report.
#[derive(Debug, Error)]
enum Error {
    #[error("can't reach the relay at {0}: {1}")]
    Connect(SocketAddr, moq_quic::Error),
    #[error("can't open a socket: {0}")]
    Socket(moq_quic::Error),
    #[error("the session with the relay failed: {0}")]
    Session(#[from] moq_net::Error),
    #[error("can't read process {0}: is that the relay's id, on Linux?")]
    Process(u32),
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arc::new(Shape::parse())).await {
        Ok(report) => {
            println!("{}", serde_json::json!(report));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(shape: Arc<Shape>) -> Result<Report, Error> {
    let epoch = Instant::now();
    let start = shape.ramp + shape.warm_up;
    let tally = Arc::new(Tally::new(epoch, start..start + shape.time));

    let mut publishers = Vec::new();
    for index in 0..shape.broadcasts {
        publishers.push(publish::start(&shape, &tally, index).await?);
    }
    for index in 0..shape.subscribers {
        // Joining all at once would measure handshakes.
        sleep_until(epoch + shape.ramp * index / shape.subscribers).await;
        subscribe::start(&shape, &tally, index % shape.broadcasts).await?;
    }

    sleep_until(epoch + start).await;
    let before = shape.relay_pid.map(process::usage).transpose()?;
    sleep_until(epoch + start + shape.time).await;
    let after = shape.relay_pid.map(process::usage).transpose()?;
    sleep(PATIENCE).await;
    drop(publishers);

    let mut report = tally.report(shape.subscribers / shape.broadcasts.max(1));
    if let (Some(before), Some(after)) = (before, after) {
        report.relay_cpu = (after.cpu - before.cpu).as_secs_f64();
        report.relay_memory = after.memory;
        report.relay_peak_memory = after.peak_memory;
    }
    Ok(report)
}

/// A session of its own connection and socket, as a real peer has.
async fn connect(relay: SocketAddr, config: SessionConfig) -> Result<(Endpoint, Session), Error> {
    let any = if relay.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let any = any.parse().unwrap_or(relay);
    let endpoint = Endpoint::client(any).map_err(Error::Socket)?;
    let trust = ClientConfig::new(Trust::Insecure, alpns());
    let failed = |error| Error::Connect(relay, error);
    let connection = endpoint
        .connect(relay, "localhost", trust)
        .await
        .map_err(failed)?;
    Ok((endpoint, Session::connect(connection, config).await?))
}
