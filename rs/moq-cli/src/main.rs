//! The moq command: relay, publish, subscribe, check, announced, demo.

mod address;
mod args;
mod backoff;
mod demo;
mod dial;
mod error;
mod input;
mod pacing;
mod progress;
mod quantiles;
mod say;
mod table;
mod units;

use clap::Parser;

fn main() {
    let cli = args::Cli::parse();
    println!("{cli:?}");
}
