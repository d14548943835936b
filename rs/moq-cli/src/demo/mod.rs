//! Owns `moq demo`: the whole path in one process, over real QUIC on loopback. Called by `main`.
//!
//! | file | what it owns |
//! |---|---|
//! | `stage` | the relay and the two sessions |
//! | `tap` | where frames are looked at |
//! | `ledger` | what was sent and what arrived |
//! | `verify` | whether the output has the input's frames |
//! | `report` | what is said at the end |

mod ledger;
mod report;
mod stage;
mod tap;
mod verify;

use std::time::Duration;

use futures::future::join_all;
use moq_mux::export::{Export, ExportConfig};
use moq_mux::ts::check::Check;
use moq_net::{Broadcast, BroadcastConsumer, Pool, Route};
use tokio::time::{Instant, sleep};

use crate::args::DemoArgs;
use crate::check::text::finding;
use crate::error::Error;
use crate::feed::{Feed, FeedConfig};
use crate::input::Input;
use crate::progress::Progress;
use crate::say::{print, say};
use crate::signal::interrupted;
use crate::sink::Sink;
use report::{Mux, Report, TrackReport};
use stage::Stage;
use tap::{Books, NearTap, watch_far};
use verify::Verify;

/// What the broadcast is called.
const NAME: &str = "demo";

/// Unpaced, how much may be on the way: so much that no hop ever idles.
const ON_THE_WAY: u64 = 4 << 20;

/// Unpaced, how much may be delivered and not written: more than the second by which the exporter must
/// be ahead of the media, at any rate there is.
const UNWRITTEN: u64 = 128 << 20;

/// Memory for cached groups. Nothing needs more than is on the way, or not yet written at the far end.
const NEAR_CACHE: u64 = 32 << 20;
const FAR_CACHE: u64 = UNWRITTEN + NEAR_CACHE;

/// Runs the demo; whether everything arrived.
pub(crate) async fn run(args: DemoArgs) -> Result<bool, Error> {
    let input = match &args.input {
        Some(path) => Input::open(path).await?,
        None => Input::clip(),
    };
    let name = input.name().to_owned();
    let length = input.length();
    let broadcast = Broadcast::new(Pool::new(NEAR_CACHE));
    let config = FeedConfig {
        paced: !args.no_pace,
        looped: false,
        program: None,
    };
    let mut feed = Feed::new(input, broadcast.clone(), config).await?;
    feed.prepare().await?;
    let mut sink = Sink::open(Some(&args.output)).await?;
    let stage = Stage::new(Pool::new(NEAR_CACHE), Pool::new(FAR_CACHE)).await?;

    say(format!(
        "relay on {}, sending {name} through it",
        stage.address()
    ));
    let progress = Progress::new(length);
    let begin = Instant::now();
    let books = Books::new(begin);
    let near = NearTap::new(books.clone(), broadcast.consume());
    let published = stage
        .publisher()
        .publish(NAME, broadcast.consume(), Route::default());
    let _published = published.map_err(|cause| Error::Broadcast {
        name: NAME.into(),
        cause,
    })?;
    let tracks: Vec<String> = feed
        .stats()
        .tracks
        .into_iter()
        .map(|track| track.name)
        .collect();

    let mut written = Written::new()?;
    let moved = tokio::select! {
        moved = async {
            tokio::try_join!(
                send(&mut feed, near, &books, &progress, args.no_pace),
                receive(&stage, &books, tracks, &mut sink, &mut written),
            )
        } => moved,
        () = interrupted() => Err(Error::Interrupted),
    };
    progress.clear();
    moved?;
    sink.flush().await?;

    let balances = books.with(|ledger| ledger.balances());
    let identical = written.verify.finish(&books)?;
    let report = written.check.finish();
    let mut tracks = Vec::new();
    for balance in &balances {
        tracks.push(TrackReport::new(balance, identical.contains(&balance.name)));
    }
    let problems: Vec<_> = tracks.iter().flat_map(TrackReport::problems).collect();
    let report = Report {
        input: name,
        output: args.output,
        seconds: begin.elapsed().as_secs_f64(),
        tracks,
        transport: stage.transport(),
        mux: Mux::new(&report),
        faults: report.findings.iter().map(finding).collect(),
        passed: problems.is_empty(),
        problems,
    };
    stage.close().await;
    if args.json {
        print(serde_json::to_string_pretty(&report).unwrap_or_default())?;
    } else {
        print(&report)?;
    }
    Ok(report.passed)
}

/// Feeds the broadcast, by the stream's own clock or by what has arrived.
async fn send(
    feed: &mut Feed,
    mut near: NearTap,
    books: &Books,
    progress: &Progress,
    unpaced: bool,
) -> Result<(), Error> {
    loop {
        near.look(
            feed.stats().tracks.iter().map(|track| track.name.as_str()),
            books.now(),
        );
        progress.sent(feed.pushed());
        if unpaced {
            books.room(ON_THE_WAY, UNWRITTEN).await;
        } else {
            let wait = feed.wait();
            // Timers count milliseconds: what is due within one is sent with its neighbours.
            if wait >= Duration::from_millis(1) {
                sleep(wait).await;
            }
        }
        if !feed.step().await? {
            feed.finish()?;
            near.look([], books.now());
            return Ok(());
        }
    }
}

/// What is learnt of the output while it is written.
struct Written {
    check: Check,
    verify: Verify,
}

impl Written {
    fn new() -> Result<Self, Error> {
        Ok(Self {
            check: Check::new(),
            verify: Verify::new()?,
        })
    }
}

/// Writes what comes out of the relay, and looks at it.
async fn receive(
    stage: &Stage,
    books: &Books,
    tracks: Vec<String>,
    sink: &mut Sink,
    written: &mut Written,
) -> Result<(), Error> {
    let consumer = stage.subscriber().wait_broadcast(NAME).await;
    let consumer = consumer.map_err(|cause| Error::Broadcast {
        name: NAME.into(),
        cause,
    })?;
    let watching = tracks
        .into_iter()
        .map(|track| watch_far(books.clone(), consumer.clone(), track));
    let ((), outcome) = tokio::join!(
        async {
            join_all(watching).await;
        },
        export(consumer.clone(), books, sink, written)
    );
    outcome
}

async fn export(
    consumer: BroadcastConsumer,
    books: &Books,
    sink: &mut Sink,
    written: &mut Written,
) -> Result<(), Error> {
    let mut export = Export::new(consumer, ExportConfig::default());
    let mut slot = Vec::new();
    loop {
        slot.clear();
        let next = export.next_slot(&mut slot).await;
        let next = next.map_err(|cause| Error::Media {
            name: NAME.into(),
            cause,
        })?;
        let Some(info) = next else { return Ok(()) };
        written.check.push(&slot);
        books.written(written.verify.push(&slot)?);
        sink.write(&slot, &info).await?;
    }
}
