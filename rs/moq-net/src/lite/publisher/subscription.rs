//! Serves one subscription: one send group, one stream a group.
//!
//! Owns the subscribe stream's answers (START, END, DROP) and what is in flight. Called by `lite::session`. May not know
//! what a group holds. A peer that doesn't read costs the groups that are not too old yet, whose payloads the cache owns.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;

use super::delivery::{Delivery, Frames};
use crate::lite::input::Input;
use crate::lite::message::{DatagramHeader, Response, Subscribe, Typed};
use crate::lite::peer::Peer;
use crate::lite::transport::{GroupConfig, SendStream};
use crate::lite::version::Version;
use crate::model::Datagram;
use crate::stats::Entry;
use crate::{Error, GroupConsumer, Result, Subscriber, Subscription, TrackInfo, priority};

/// A group with less than this left is finished before a newer one begins, so that some complete when the link is too
/// slow for all.
const FINISH: usize = 32 << 10;

type InFlight = FuturesUnordered<Pin<Box<dyn Future<Output = ()> + Send>>>;

/// SUBSCRIBE: sends the groups of a track until it ends, fails, or the peer has enough.
pub(crate) async fn subscribe(peer: &Peer, send: &mut SendStream, input: &mut Input) -> Result<()> {
    let Subscribe {
        id,
        broadcast,
        track,
        wish,
    } = input.expect().await?;
    let consumer = peer.broadcast(&broadcast).await?;
    let subscriber = consumer.subscribe(&track, wish)?;
    let Some(info) = info(&subscriber, input).await? else {
        return Ok(send.finish()?);
    };
    let entry = peer.served.open(broadcast, track);
    let serving = Serving::new(peer, id, subscriber, info, entry);
    tokio::select! {
        biased;
        served = serving.run(send, input) => served,
        // Somebody else publishes under the path now: the peer should ask again, and gets that one.
        () = consumer.replaced() => Err(Error::Cancel),
    }
}

/// Waits for the track's info; the peer may change its mind meanwhile. `None`: it left.
async fn info(subscriber: &Subscriber, input: &mut Input) -> Result<Option<TrackInfo>> {
    loop {
        tokio::select! {
            biased;
            info = subscriber.info() => return info.map(Some),
            update = input.message::<Subscription>() => match update? {
                Some(wish) => subscriber.update(wish),
                None => return Ok(None),
            },
        }
    }
}

struct Serving<'a> {
    peer: &'a Peer,
    feed: Feed,
    wish: Subscription,
    info: TrackInfo,
    delivery: Delivery,
    in_flight: InFlight,
    age: watch::Sender<Duration>,
    /// Groups up to here were there already and asked for by number: they aren't too old.
    wanted: Option<u64>,
    /// The first group that was not given to a stream, of those in sequence.
    next: u64,
    /// How the track ended, if it has.
    ended: Option<Result<()>>,
    /// Keeps the subscription in the session's numbers.
    _entry: Entry,
}

/// The track as the peer's subscription sees it.
struct Feed {
    subscriber: Subscriber,
    started: bool,
    datagrams: bool,
    over: bool,
}

/// What the track has for the peer.
enum Event {
    Start(Option<u64>),
    Group(Option<GroupConsumer>),
    Datagram(Datagram),
    Failed(Error),
}

impl Feed {
    async fn next(&mut self) -> Event {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        if self.over {
            return Poll::Pending;
        }
        let next = if self.started {
            self.subscriber.poll_recv_group(cx).map_ok(Event::Group)
        } else {
            self.subscriber.poll_start(cx).map_ok(Event::Start)
        };
        if let Poll::Ready(next) = next {
            return Poll::Ready(next.unwrap_or_else(Event::Failed));
        }
        if self.datagrams {
            match self.subscriber.poll_recv_datagram(cx) {
                Poll::Ready(Ok(Some(datagram))) => return Poll::Ready(Event::Datagram(datagram)),
                Poll::Ready(_) => self.datagrams = false,
                Poll::Pending => {}
            }
        }
        Poll::Pending
    }
}

impl<'a> Serving<'a> {
    fn new(peer: &'a Peer, id: u64, subscriber: Subscriber, info: TrackInfo, entry: Entry) -> Self {
        let wish = subscriber.subscription();
        let send_group = peer.conn.open_group(GroupConfig {
            priority: priority::send_group(wish.priority, info.priority),
            finish: Some(FINISH),
            ..GroupConfig::default()
        });
        Self {
            age: watch::Sender::new(wish.max_age.min(info.max_age)),
            wanted: wish.start.and(subscriber.latest()),
            delivery: Delivery {
                version: peer.version,
                subscribe: id,
                send_group,
                counters: entry.counters().clone(),
            },
            next: wish.start.unwrap_or(0),
            in_flight: FuturesUnordered::new(),
            feed: Feed {
                subscriber,
                started: false,
                datagrams: peer.version.has_setup(),
                over: false,
            },
            ended: None,
            _entry: entry,
            peer,
            wish,
            info,
        }
    }

    async fn run(mut self, send: &mut SendStream, input: &mut Input) -> Result<()> {
        if !self.peer.version.has_setup() {
            respond(send, self.peer.version, Response::Ok(self.wish.clone())).await?;
        }
        loop {
            if self.in_flight.is_empty()
                && let Some(ended) = self.ended.take()
            {
                ended?;
                return Ok(send.finish()?);
            }
            tokio::select! {
                biased;
                update = input.message() => match update? {
                    Some(wish) => self.update(wish),
                    None => return self.leave(send).await,
                },
                Some(()) = self.in_flight.next() => {}
                event = self.feed.next() => self.serve(event, send).await?,
            }
        }
    }

    async fn serve(&mut self, event: Event, send: &mut SendStream) -> Result<()> {
        match event {
            Event::Start(start) => {
                self.feed.started = true;
                if let Some(group) = start.filter(|_| self.peer.version.has_setup()) {
                    self.next = self.next.max(group);
                    respond(send, self.peer.version, Response::Start { group }).await?;
                }
            }
            Event::Group(Some(group)) => self.deliver(group),
            Event::Group(None) => {
                if self.peer.version.has_setup() {
                    respond(send, self.peer.version, Response::End { group: self.end() }).await?;
                }
                self.end_with(Ok(()));
            }
            Event::Datagram(datagram) => self.send_datagram(&datagram),
            Event::Failed(error) => self.end_with(Err(error)),
        }
        Ok(())
    }

    fn end_with(&mut self, outcome: Result<()>) {
        self.feed.over = true;
        self.ended = Some(outcome);
    }

    fn deliver(&mut self, group: GroupConsumer) {
        let sequence = group.sequence();
        self.next = self.next.max(sequence + 1);
        let frames = Frames {
            start: if self.wish.start == Some(sequence) {
                self.wish.frame_start
            } else {
                0
            },
            end: self
                .wish
                .frame_end
                .filter(|_| self.wish.end == Some(sequence + 1)),
        };
        let aged = self.wanted.is_none_or(|wanted| sequence > wanted);
        let age = aged.then(|| self.age.subscribe());
        self.in_flight
            .push(self.delivery.clone().run(group, frames, age).boxed());
    }

    fn send_datagram(&self, datagram: &Datagram) {
        let Ok(bytes) = DatagramHeader::encode(self.delivery.subscribe, datagram) else {
            return;
        };
        if self
            .delivery
            .send_group
            .send_datagram(datagram.sequence, bytes)
            .is_ok()
        {
            self.delivery
                .counters
                .datagrams
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// SUBSCRIBE_UPDATE. The send group moves at once, its streams with it.
    fn update(&mut self, wish: Subscription) {
        self.delivery
            .send_group
            .set_priority(priority::send_group(wish.priority, self.info.priority));
        self.age.send_replace(wish.max_age.min(self.info.max_age));
        self.feed.subscriber.update(wish.clone());
        self.wish = wish;
    }

    /// The peer has enough: what is in flight is given up, and the stream ends in order.
    async fn leave(mut self, send: &mut SendStream) -> Result<()> {
        self.in_flight.clear();
        if self.peer.version.has_setup() && self.feed.started && self.ended.is_none() {
            respond(send, self.peer.version, Response::End { group: self.next }).await?;
        }
        Ok(send.finish()?)
    }

    /// The first group that doesn't come.
    fn end(&self) -> u64 {
        let declared = match self.feed.subscriber.finished().now_or_never() {
            Some(Ok(end)) => Some(end),
            _ => None,
        };
        match (declared, self.wish.end) {
            (Some(declared), Some(wished)) => declared.min(wished),
            (Some(end), None) | (None, Some(end)) => end,
            (None, None) => self.next,
        }
    }
}

async fn respond(send: &mut SendStream, version: Version, response: Response) -> Result<()> {
    Ok(send.write_chunk(response.encode(version)?).await?)
}
