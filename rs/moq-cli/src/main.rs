//! The moq command: relay, publish, subscribe, check, announced, demo.
//!
//! | module | what it owns |
//! |---|---|
//! | `args` | the command line |
//! | `announced`, `check`, `demo`, `publish`, `relay`, `subscribe` | one command each |
//! | `link`, `dial`, `address`, `backoff` | the way to the other end, and back to it |
//! | `awaited` | which broadcast a name stands for |
//! | `listen` | sockets and certificates of whoever waits |
//! | `input`, `feed`, `pacing`, `window` | where a transport stream comes from, and when |
//! | `sink`, `udp` | where one goes |
//! | `say`, `table`, `units`, `progress`, `quantiles` | what a person sees |
//! | `error` | what a person is told when it can't go on |

mod address;
mod announced;
mod args;
mod awaited;
mod backoff;
mod check;
mod demo;
mod dial;
mod error;
mod feed;
mod input;
mod link;
mod listen;
mod pacing;
mod progress;
mod publish;
mod quantiles;
mod relay;
mod say;
mod signal;
mod sink;
mod subscribe;
mod table;
mod udp;
mod units;
mod window;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use error::Error;
use say::say;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log(cli.verbose);
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(format!("moq: cannot start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(run(cli.command));
    // A read of stdin can't be cancelled: don't wait for it.
    runtime.shutdown_background();
    match outcome {
        Ok(code) => code,
        Err(Error::OutputClosed) => ExitCode::SUCCESS,
        Err(error) => {
            say(format!("moq: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<ExitCode, Error> {
    let good = match command {
        Command::Demo(args) => demo::run(args).await?,
        Command::Check(args) => check::run(args).await?,
        Command::Relay(args) => relay::run(args).await.map(|()| true)?,
        Command::Publish(args) => publish::run(args).await.map(|()| true)?,
        Command::Subscribe(args) => subscribe::run(args).await.map(|()| true)?,
        Command::Announced(args) => announced::run(args).await.map(|()| true)?,
    };
    Ok(if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Sends what the libraries trace to stderr: nothing, sessions, or everything. `RUST_LOG` decides if set.
fn log(verbose: u8) {
    use tracing_subscriber::EnvFilter;
    let default = match verbose {
        0 => "off",
        1 => "moq_relay=info,moq_net=debug,moq_mux=debug",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
