//! Owns `moq subscribe`: one broadcast as one transport stream. Called by `main`.

use std::time::Duration;

use moq_mux::export::{Export, ExportConfig};
use moq_net::Pool;

use crate::args::SubscribeArgs;
use crate::awaited::Awaited;
use crate::error::Error;
use crate::link::{Direction, Link};
use crate::say::say;
use crate::signal::interrupted;
use crate::sink::Sink;
use crate::units;

/// Memory for what has arrived and is not written yet.
const CACHE: u64 = 256 << 20;

/// How long a broadcast that was never seen is waited for, unless the command line says.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs until the broadcast has ended cleanly, or until interrupted.
pub(crate) async fn run(args: SubscribeArgs) -> Result<(), Error> {
    let link = Link::new(&args.link, Direction::Subscribe, Pool::new(CACHE))?;
    let mut sink = Sink::open(args.output.as_deref()).await?;
    let outcome = tokio::select! {
        error = link.keep() => Err(error),
        outcome = subscribe(&args, &link, &mut sink) => outcome,
    };
    let flushed = sink.flush().await;
    link.close().await;
    outcome.and(flushed)
}

/// Why a broadcast is not read any further.
enum End {
    /// Its publisher has finished it.
    Clean,
    /// Its publisher, or the way to it, is gone.
    Lost(moq_mux::Error),
    /// Another broadcast has taken its name.
    Replaced,
    /// The person wants to stop.
    Stopped,
}

async fn subscribe(args: &SubscribeArgs, link: &Link, sink: &mut Sink) -> Result<(), Error> {
    let name = args.broadcast.as_str();
    let mut awaited = Awaited::new(link.origin(), name)?;
    let config = ExportConfig {
        rate: args.rate,
        ..ExportConfig::default()
    };
    let mut first = true;
    loop {
        link.up().await;
        let patience = match args.timeout {
            None => first.then_some(PATIENCE),
            Some(timeout) => Some(timeout).filter(|timeout| !timeout.is_zero()),
        };
        let consumer = tokio::select! {
            live = awaited.live(patience) => live?,
            () = interrupted() => return Ok(()),
        };
        let verb = if first { "receiving" } else { "going on with" };
        first = false;
        let mut export = Export::new(consumer, config.clone());
        say(format!("{verb} {name}, writing {}", sink.name()));
        let end = pump(&mut export, &mut awaited, sink).await?;
        sink.flush().await?;
        match end {
            End::Stopped => return Ok(()),
            End::Clean if !args.follow => {
                say(format!("{name} has ended; it is complete"));
                return Ok(());
            }
            End::Clean => say(format!(
                "{name} has ended; waiting for the next of that name"
            )),
            End::Lost(cause) => say(format!("lost {name}: {cause}; waiting for it to return")),
            End::Replaced => say(format!("another publisher has taken over {name}")),
        }
    }
}

/// Writes slot after slot to the end of the broadcast.
async fn pump(export: &mut Export, awaited: &mut Awaited, sink: &mut Sink) -> Result<End, Error> {
    let mut slot = Vec::new();
    let mut stop = std::pin::pin!(interrupted());
    loop {
        slot.clear();
        // Only the wait for a slot is ever given up: what is begun to be written is written whole.
        let next = tokio::select! {
            next = export.next_slot(&mut slot) => next,
            () = awaited.replaced() => return Ok(End::Replaced),
            () = &mut stop => return Ok(End::Stopped),
        };
        match next {
            Ok(Some(_)) => sink.write(&slot).await?,
            Ok(None) => return Ok(End::Clean),
            Err(cause) => return Ok(End::Lost(cause)),
        }
    }
}
