//! Owns `moq subscribe`: one broadcast as one transport stream. Called by `main`.

use std::time::Duration;

use moq_mux::export::{Export, ExportConfig, ExportStats};
use moq_net::Pool;
use tokio::time::{Instant, sleep};

use crate::args::SubscribeArgs;
use crate::awaited::Awaited;
use crate::backoff::{Backoff, BackoffConfig};
use crate::error::Error;
use crate::link::{Direction, Link, random};
use crate::say::say;
use crate::signal::interrupted;
use crate::sink::Sink;

/// Memory for what has arrived and is not written yet.
const CACHE: u64 = 256 << 20;

/// How long a broadcast that was never seen is waited for, unless the command line says.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a datagram waits for media that is late, unless the command line says.
const UDP_DELAY: Duration = Duration::from_millis(200);

/// A source that packs several audio frames together, or shows pictures in another order than it sends
/// them, is quiet for up to this long without anything being wrong.
const UNEVEN: Duration = Duration::from_millis(500);

/// Runs until the broadcast has ended cleanly, or until interrupted.
pub(crate) async fn run(args: SubscribeArgs) -> Result<(), Error> {
    let link = Link::new(&args.link, Direction::Subscribe, Pool::new(CACHE))?;
    let mut sink = match args.udp {
        Some(address) => Sink::udp(address, args.delay.unwrap_or(UDP_DELAY)).await?,
        None => Sink::open(args.output.as_deref()).await?,
    };
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
    let mut backoff = Backoff::new(BackoffConfig::default());
    let mut export: Option<Export> = None;
    loop {
        link.up().await;
        let patience = match args.timeout {
            None => export.is_none().then_some(PATIENCE),
            Some(timeout) => Some(timeout).filter(|timeout| !timeout.is_zero()),
        };
        let consumer = tokio::select! {
            live = awaited.live(patience) => live?,
            () = interrupted() => return Ok(()),
        };
        let export = match &mut export {
            Some(export) => {
                say(format!("going on with {name}"));
                export.resume(consumer);
                export
            }
            None => {
                say(format!("receiving {name}, writing {}", sink.name()));
                export.insert(Export::new(consumer, config(args)))
            }
        };
        let since = Instant::now();
        let end = pump(export, &mut awaited, sink).await?;
        sink.flush().await?;
        tell(export);
        match end {
            End::Stopped => return Ok(()),
            End::Clean if !args.follow => {
                say(format!("{name} has ended; it is complete"));
                return Ok(());
            }
            End::Clean => say(format!(
                "{name} has ended; waiting for the next of that name"
            )),
            End::Replaced => say(format!("another publisher has taken over {name}")),
            End::Lost(cause) => {
                say(format!("lost {name}: {cause}"));
                // A broadcast that can't be read must not be asked for in a loop.
                sleep(backoff.ended(since.elapsed(), random())).await;
                awaited.again();
            }
        }
    }
}

/// Says what went wrong on the way, if anything did.
fn tell(export: &Export) {
    let ExportStats {
        late,
        missing,
        stalls,
    } = export.stats();
    if (late, missing, stalls) != (0, 0, 0) {
        say(format!(
            "so far {missing} groups never came, {stalls} times a track was not waited for, \
             {late} frames were too late for the rate"
        ));
    }
}

/// To a file, everything is written however late it comes; on the wire, time goes on.
fn config(args: &SubscribeArgs) -> ExportConfig {
    let mut config = ExportConfig {
        rate: args.rate,
        ..ExportConfig::default()
    };
    if args.udp.is_some() {
        config.patience = args.delay.unwrap_or(UDP_DELAY) + UNEVEN;
        config.max_age = config.patience;
    } else if let Some(delay) = args.delay {
        config.patience = delay;
    }
    config
}

/// How unevenly the source of the broadcast sends, by its catalog.
fn jitter(export: &Export) -> Duration {
    let catalog = export.catalog();
    let video = catalog
        .into_iter()
        .flat_map(|catalog| catalog.video.renditions.values());
    let audio = catalog
        .into_iter()
        .flat_map(|catalog| catalog.audio.renditions.values());
    let jitters = video
        .map(|track| track.jitter)
        .chain(audio.map(|track| track.jitter));
    Duration::from_millis(jitters.flatten().max().unwrap_or(0).into())
}

/// Writes slot after slot to the end of the broadcast.
async fn pump(export: &mut Export, awaited: &mut Awaited, sink: &mut Sink) -> Result<End, Error> {
    let mut slot = Vec::new();
    let mut begun = false;
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
            Ok(Some(info)) => {
                if !std::mem::replace(&mut begun, true) {
                    sink.expect(jitter(export));
                }
                sink.write(&slot, &info).await?;
            }
            Ok(None) => return Ok(End::Clean),
            Err(cause) => return Ok(End::Lost(cause)),
        }
    }
}
