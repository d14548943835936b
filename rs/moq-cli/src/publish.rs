//! Owns `moq publish`: one transport stream as one broadcast. Called by `main`.

use std::time::Duration;

use moq_net::{Broadcast, Pool, Route, SessionStats};
use tokio::time::{Instant, sleep};

use crate::args::PublishArgs;
use crate::error::Error;
use crate::feed::{Feed, FeedConfig};
use crate::input::Input;
use crate::link::{Direction, Link};
use crate::say::say;
use crate::signal::interrupted;
use crate::units;
use crate::window::{Window, Written};

/// Memory for groups that somebody may still want.
const CACHE: u64 = 128 << 20;

/// How far each track may run ahead of its slowest subscriber when nothing else paces it. Well below
/// [`CACHE`], so that nothing is dropped before it is delivered.
const AHEAD: u64 = 8 << 20;

/// How often counters are looked at that nothing announces a change of.
const LOOK: Duration = Duration::from_millis(5);

/// A subscriber asks for one track after the other: this long after the first, it has asked for all it
/// wants; and this long after the last of them has ended, it wants nothing more.
const SETTLED: Duration = Duration::from_millis(300);

/// After an interrupt, nobody wants to wait long.
const SHORT_LINGER: Duration = Duration::from_secs(2);

/// Runs until the input has ended and subscribers have it, or until interrupted.
pub(crate) async fn run(args: PublishArgs) -> Result<(), Error> {
    let input = Input::open(&args.input).await?;
    if args.r#loop && !input.can_rewind() {
        return Err(Error::Loop);
    }
    let link = Link::new(&args.link, Direction::Publish, Pool::new(CACHE))?;
    let config = FeedConfig {
        paced: !args.no_pace,
        looped: args.r#loop,
        program: args.program,
    };
    let broadcast = Broadcast::new(link.origin().pool().clone());
    // Nobody is dialled, and nothing announced, before there is something to subscribe to.
    let mut feed = Feed::new(input, broadcast.clone(), config).await?;
    feed.prepare().await?;
    let outcome = tokio::select! {
        error = link.keep() => Err(error),
        outcome = publish(&args, &broadcast, &mut feed, &link) => outcome,
    };
    link.close().await;
    outcome
}

async fn publish(
    args: &PublishArgs,
    broadcast: &Broadcast,
    feed: &mut Feed,
    link: &Link,
) -> Result<(), Error> {
    let name = args.broadcast.as_str();
    link.up().await;
    let published = link
        .origin()
        .publish(name, broadcast.consume(), Route::default());
    let _published = published.map_err(|cause| Error::Broadcast {
        name: name.into(),
        cause,
    })?;
    say(format!("publishing {name}: {}", tracks(feed)));
    let began = Instant::now();
    // A live feed does not wait for the answer, but one that nobody will ever see says so.
    let unwanted = async {
        match link.wanted(name).await {
            Err(error) => error,
            Ok(()) => std::future::pending().await,
        }
    };
    let finished = tokio::select! {
        fed = feed_all(feed, link, args.no_pace) => fed.map(|()| args.linger),
        error = unwanted => Err(error),
        () = interrupted() => Ok(SHORT_LINGER),
    }?;
    feed.finish()?;
    let sent = units::bytes(feed.pushed());
    say(format!(
        "read {sent} in {}; the broadcast is complete",
        units::duration(began.elapsed())
    ));
    linger(link, finished).await;
    Ok(())
}

/// Pushes the whole input, each piece when it is due.
async fn feed_all(feed: &mut Feed, link: &Link, unpaced: bool) -> Result<(), Error> {
    if !unpaced {
        while feed.step().await? {
            let wait = feed.wait();
            // Timers count milliseconds: what is due within one is sent with its neighbours.
            if wait >= Duration::from_millis(1) {
                sleep(wait).await;
            }
        }
        return Ok(());
    }
    first_subscriber(feed, link).await;
    let mut window = Window::new(AHEAD);
    loop {
        let readers = readers(feed, link);
        // Every subscription is looked at, so that each is measured from when it came.
        let behind = readers
            .iter()
            .filter(|reader| !reader.allowed_by(&mut window))
            .count();
        if readers.is_empty() || behind > 0 {
            sleep(LOOK).await;
        } else if !feed.step().await? {
            return Ok(());
        }
    }
}

/// Waits until somebody has subscribed to all tracks, or to some and that was all.
async fn first_subscriber(feed: &Feed, link: &Link) {
    say("waiting for a subscriber (--no-pace sends only as fast as it is taken)");
    let all = feed.stats().tracks.len();
    let mut since = None;
    loop {
        match readers(feed, link).len() {
            0 => since = None,
            some if some >= all => return,
            _ if since.get_or_insert_with(Instant::now).elapsed() >= SETTLED => return,
            _ => {}
        }
        sleep(LOOK).await;
    }
}

/// One subscription to one of our media tracks.
struct Reader {
    session: usize,
    track: String,
    done: u64,
    written: Written,
}

impl Reader {
    fn allowed_by(&self, window: &mut Window) -> bool {
        window.allows(self.session, &self.track, self.done, self.written)
    }
}

/// Every subscription to a media track there is now.
fn readers(feed: &Feed, link: &Link) -> Vec<Reader> {
    let tracks = feed.stats().tracks;
    let mut readers = Vec::new();
    for (session, stats) in link.stats().into_iter().enumerate() {
        for subscription in stats.served {
            let Some(track) = tracks.iter().find(|track| track.name == subscription.track) else {
                continue;
            };
            let totals = subscription.totals;
            readers.push(Reader {
                session,
                track: subscription.track,
                done: totals.groups_finished + totals.groups_reset,
                written: Written {
                    groups: track.groups,
                    bytes: track.bytes,
                },
            });
        }
    }
    readers
}

/// Waits until nobody has subscribed for a while, which is when everybody has everything.
async fn linger(link: &Link, most: Duration) {
    let subscriptions = || {
        link.stats()
            .iter()
            .map(|stats: &SessionStats| stats.served.len())
            .sum::<usize>()
    };
    let (began, mut busy) = (Instant::now(), Instant::now());
    let mut said = false;
    while busy.elapsed() < SETTLED {
        let left = subscriptions();
        if left > 0 {
            busy = Instant::now();
            if began.elapsed() >= most {
                say(format!(
                    "leaving {left} subscriptions without the end: see --linger"
                ));
                return;
            }
        }
        if left > 0 && !said && began.elapsed() >= SETTLED {
            said = true;
            let most = units::duration(most);
            say(format!(
                "waiting up to {most} for {left} subscriptions to have everything"
            ));
        }
        tokio::select! {
            () = sleep(LOOK) => {}
            () = interrupted() => return,
        }
    }
}

fn tracks(feed: &Feed) -> String {
    let names: Vec<_> = feed
        .stats()
        .tracks
        .into_iter()
        .map(|track| track.name)
        .collect();
    names.join(", ")
}
