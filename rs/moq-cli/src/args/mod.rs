//! Owns the command line: what can be said, and its help. Called by `main`; holds no behaviour
//! beyond reading values.
//!
//! - `client`: how to dial, and whom to trust
//! - `server`: where to listen, with which certificate, and who may do what

mod client;
mod server;

use std::net::SocketAddr;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};
use moq_net::Version;

pub(crate) use client::{DialArgs, TrustArgs, alpn, parse_version};
pub(crate) use server::{AuthArgs, IdentityArgs};

use crate::units::{parse_duration, parse_rate, parse_size};

/// Carries live MPEG transport streams over MoQ (QUIC): publish, relay, subscribe, check.
///
/// Try `moq demo` first: it runs the whole path on this machine and says how well it went.
#[derive(Debug, Parser)]
#[command(name = "moq", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Say more about what happens on stderr; twice for the transport too.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the whole path on this machine and report how well it went.
    Demo(DemoArgs),
    /// Pass broadcasts on between whoever connects.
    Relay(RelayArgs),
    /// Send a transport stream as a broadcast.
    Publish(PublishArgs),
    /// Receive a broadcast as a transport stream at constant rate.
    Subscribe(SubscribeArgs),
    /// Grade a transport stream: sync, continuity, tables, PCR, rate.
    Check(CheckArgs),
    /// List what is live, one line each as it comes (+) and goes (-).
    Announced(AnnouncedArgs),
}

/// `moq demo`
#[derive(Args, Debug)]
#[command(
    after_help = "In one process, over real QUIC on loopback UDP: a relay, a publisher, and a \
    subscriber that writes what arrived. Exits with 0 only if everything arrived unchanged."
)]
pub(crate) struct DemoArgs {
    /// Transport stream to send; the bundled ten seconds if not given.
    #[arg(long, value_name = "F.ts")]
    pub(crate) input: Option<String>,

    /// Where to write what arrived.
    #[arg(long, value_name = "O.ts", default_value = "out.ts")]
    pub(crate) output: String,

    /// Send as fast as it is taken instead of by the stream's own clock.
    #[arg(long)]
    pub(crate) no_pace: bool,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `moq relay`
#[derive(Args, Debug)]
#[command(
    after_help = "Nothing is public unless said: without an --auth-public option every session \
    is refused.\n\nExample: moq relay --listen 127.0.0.1:4443 --tls-generate localhost --auth-public '**'"
)]
pub(crate) struct RelayArgs {
    /// UDP address to listen on; give it again for more.
    #[arg(long, value_name = "ADDR:PORT", required = true)]
    pub(crate) listen: Vec<SocketAddr>,

    #[command(flatten)]
    pub(crate) identity: IdentityArgs,

    #[command(flatten)]
    pub(crate) auth: AuthArgs,

    /// Another relay to join: what is live there is live here, and the other way round.
    #[arg(long, value_name = "URL")]
    pub(crate) peer: Vec<String>,

    #[command(flatten)]
    pub(crate) trust: TrustArgs,

    /// Speak only this version, given again for more; the newest is preferred.
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    pub(crate) protocol: Vec<Version>,

    /// Most sessions at a time; further ones are refused.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) max_sessions: usize,

    /// Memory for cached groups, over all broadcasts.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_size)]
    pub(crate) cache: u64,

    /// On SIGINT or SIGTERM, how long sessions have to move elsewhere before they are closed.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub(crate) drain_timeout: Duration,
}

/// `moq publish`
#[derive(Args, Debug)]
#[command(
    after_help = "Example: moq publish --connect https://127.0.0.1:4443/ --tls-insecure \
    --broadcast cam1 clip.ts"
)]
pub(crate) struct PublishArgs {
    #[command(flatten)]
    pub(crate) link: LinkArgs,

    /// Name of the broadcast, below the path of the URL.
    #[arg(long, value_name = "NAME")]
    pub(crate) broadcast: String,

    /// Transport stream to send; - reads stdin.
    #[arg(value_name = "F.ts|-")]
    pub(crate) input: String,

    /// Programme number to send, if the stream has several.
    #[arg(long, value_name = "N")]
    pub(crate) program: Option<u16>,

    /// Start the file over when it ends, on a continuing timeline.
    #[arg(long)]
    pub(crate) r#loop: bool,

    /// Send as fast as it is taken, once somebody subscribes, instead of by the stream's own clock.
    #[arg(long)]
    pub(crate) no_pace: bool,

    /// After the end, how long subscribers have to fetch what they still lack.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub(crate) linger: Duration,
}

/// `moq subscribe`
#[derive(Args, Debug)]
#[command(
    after_help = "Waits for the broadcast if it is not live yet. When its publisher ends it \
    cleanly, exits with 0 (unless --follow); when its publisher is lost, waits for it to return.\n\n\
    Example: moq subscribe --connect https://127.0.0.1:4443/ --tls-insecure --broadcast cam1 --output out.ts"
)]
pub(crate) struct SubscribeArgs {
    #[command(flatten)]
    pub(crate) link: LinkArgs,

    /// Name of the broadcast, below the path of the URL.
    #[arg(long, value_name = "NAME")]
    pub(crate) broadcast: String,

    /// File to write; - writes stdout. The default, if stdout is not a terminal.
    #[arg(long, value_name = "F.ts|-", conflicts_with = "udp")]
    pub(crate) output: Option<String>,

    /// Send paced datagrams of seven packets here, unicast or multicast.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) udp: Option<SocketAddr>,

    /// Constant rate of the output, such as 5M; the source's own if not given.
    #[arg(long, value_name = "BITS/S", value_parser = parse_rate)]
    pub(crate) rate: Option<u64>,

    /// How long to wait for media that is late [default: 200ms with --udp, else 10s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) delay: Option<Duration>,

    /// Give up when the broadcast has not been there for this long; 0 never gives up.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_duration,
        long_help = "Give up when the broadcast has not been there for this long; 0 never gives up \
            [default: 30s until it has been seen once, never after that]"
    )]
    pub(crate) timeout: Option<Duration>,

    /// After a clean end, wait for the next broadcast of that name instead of exiting.
    #[arg(long)]
    pub(crate) follow: bool,
}

/// `moq check`
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Transport stream to grade; - reads stdin.
    #[arg(value_name = "F.ts|-")]
    pub(crate) input: String,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `moq announced`
#[derive(Args, Debug)]
pub(crate) struct AnnouncedArgs {
    /// Relay or peer to dial, such as https://127.0.0.1:4443/; its path is where names start.
    #[arg(long, value_name = "URL")]
    pub(crate) connect: String,

    #[command(flatten)]
    pub(crate) dial: DialArgs,

    /// Only what is live below this path.
    #[arg(value_name = "PREFIX", default_value = "", hide_default_value = true)]
    pub(crate) prefix: String,
}

/// The other end of a publisher or subscriber: dialled, or waited for.
#[derive(Args, Debug)]
#[group(id = "link", required = true, multiple = false, args = ["connect", "listen"])]
pub(crate) struct LinkArgs {
    /// Relay or peer to dial, such as https://127.0.0.1:4443/; its path is where names start.
    #[arg(long, value_name = "URL")]
    pub(crate) connect: Option<String>,

    /// Wait here for peers to dial instead; needs a certificate.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,

    #[command(flatten)]
    pub(crate) dial: DialArgs,

    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
}
