//! One track that somebody here wants from the peer.
//!
//! Owns its TRACK and SUBSCRIBE streams: opened when there is demand, updated as it changes, finished a moment after the
//! last reader has left. Called by `announced`. May not know who wants it, nor read any group: `group` does that.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use super::routes::Incoming;
use crate::lite::input::Input;
use crate::lite::message::{Message, Response, Subscribe, TrackRequest as TrackMessage, bidi};
use crate::lite::peer::Peer;
use crate::lite::transport::{self, SendStream};
use crate::model::TrackRequest;
use crate::{Demand, Error, Path, Result, Subscription, Track, TrackInfo};

/// How long a track nobody reads is kept, so that a reader who comes back finds it running.
const GRACE: Duration = Duration::from_millis(250);
/// How long group streams may lag behind the end of their subscription.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// Serves the request until nobody wants the track any more or it ends.
pub(super) async fn serve(peer: Arc<Peer>, broadcast: Path, request: TrackRequest) {
    let name = request.name().to_owned();
    let demand = request.demand();
    let asked = ask(&peer, &broadcast, &name, demand.current());
    let asked = tokio::select! {
        biased;
        asked = asked => asked,
        () = request.unused() => Err(Error::Cancel),
    };
    let (upstream, info) = match asked {
        Ok(answers) => answers,
        Err(error) => return request.reject(error),
    };
    let Ok(track) = request.accept(info) else {
        return;
    };
    if let Some(upstream) = &upstream {
        upstream.begin(&track);
    }
    let mut serving = Serving {
        peer: &peer,
        broadcast,
        demand,
        upstream,
        track,
    };
    if let Err(error) = serving.run().await {
        tracing::debug!(%error, track = %name, "a track ended early");
        if let Some(upstream) = &mut serving.upstream {
            upstream.give_up(&error);
        }
        serving.track.abort(error);
    }
}

/// Asks what the track says of itself and, if it is wanted already, for its groups: both at once.
///
/// The question that is soon over opens its stream first: should the peer allow too few streams for every track wanted,
/// some are read, rather than all half asked for.
async fn ask(
    peer: &Arc<Peer>,
    broadcast: &Path,
    track: &str,
    wish: Option<Subscription>,
) -> Result<(Option<Upstream>, TrackInfo)> {
    let question = match peer.version.has_setup() {
        true => Some(peer.control.open_bi(0).await?),
        false => None,
    };
    let upstream = async {
        match wish {
            Some(wish) => Upstream::open(peer, broadcast, track, wish).await.map(Some),
            None => Ok(None),
        }
    };
    let info = async {
        let Some((mut send, recv)) = question else {
            return Ok(TrackInfo::default());
        };
        let request = TrackMessage {
            broadcast: broadcast.clone(),
            track: track.to_owned(),
        };
        send.write_chunk(request.encode_first(bidi::TRACK, peer.version)?)
            .await?;
        let info = Input::new(recv, peer.version).expect().await;
        // Only now: published peers take an earlier end of the request for its cancellation.
        let _ = send.finish();
        info
    };
    futures::try_join!(upstream, info)
}

/// A subscription at the peer.
struct Upstream {
    peer: Arc<Peer>,
    id: u64,
    incoming: Arc<Incoming>,
    send: SendStream,
    input: Input,
    wish: Subscription,
    start: Option<u64>,
    end: Option<u64>,
}

impl Upstream {
    async fn open(peer: &Arc<Peer>, path: &Path, track: &str, wish: Subscription) -> Result<Self> {
        let (send, recv) = peer.control.open_bi(0).await?;
        let entry = peer.received.open(path.clone(), track.to_owned());
        let (id, incoming) = peer.routes.open(entry);
        let input = Input::new(recv, peer.version);
        let mut this = Self {
            peer: peer.clone(),
            id,
            incoming,
            send,
            input,
            wish,
            start: None,
            end: None,
        };
        let (broadcast, track, wish) = (path.clone(), track.to_owned(), this.wish.clone());
        let subscribe = Subscribe {
            id,
            broadcast,
            track,
            wish,
        };
        let bytes = subscribe.encode_first(bidi::SUBSCRIBE, peer.version)?;
        this.send.write_chunk(bytes).await?;
        Ok(this)
    }

    /// TRACK_INFO has come: what the peer sends can be read, groups as soon as it has said where they start (before 05
    /// it never does).
    fn begin(&self, track: &Track) {
        self.incoming.known(track.clone());
        if !self.peer.version.has_setup() {
            self.incoming.started();
        }
    }

    async fn update(&mut self, wish: Subscription) -> Result<()> {
        if self.wish != wish {
            self.send
                .write_chunk(wish.encode(self.peer.version)?)
                .await?;
            self.wish = wish;
        }
        Ok(())
    }

    /// Unsubscribes in order: the peer finishes too.
    async fn leave(mut self) {
        self.peer.routes.close_subscription(self.id);
        if self.send.finish().is_ok() {
            let _ = timeout(STRAGGLERS, self.input.end()).await;
        }
    }

    /// Unsubscribes for a reason.
    fn give_up(&mut self, error: &Error) {
        self.peer.routes.close_subscription(self.id);
        transport::reset(&mut self.send, error);
        self.input.stop(error);
    }

    /// Takes a response. False once the subscription is over.
    fn take(&mut self, response: Option<Response>, track: &Track) -> Result<bool> {
        match response {
            Some(Response::Ok(_)) => {}
            Some(Response::Start { group }) => {
                self.start = Some(group);
                track.start_at(group)?;
            }
            Some(Response::End { group }) => {
                self.end = Some(group);
                track.finish_at(group)?;
            }
            Some(Response::Drop { start, end, .. }) => self.incoming.settle(end - start + 1),
            None if self.end.is_none() && self.peer.version.has_setup() => {
                return Err(Error::ProtocolViolation(
                    "a subscription was finished without its end",
                ));
            }
            None => return Ok(false),
        }
        self.incoming.started();
        Ok(true)
    }

    /// Waits for the group streams that lag behind the subscription's end.
    async fn stragglers(&self) {
        let (Some(start), Some(end)) = (self.start, self.end) else {
            // How many there are isn't said before 05.
            return tokio::time::sleep(STRAGGLERS).await;
        };
        let deadline = Instant::now() + STRAGGLERS;
        while self.incoming.settled() < end.saturating_sub(start) && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.give_up(&Error::Cancel);
    }
}

/// A track that has been accepted.
struct Serving<'a> {
    peer: &'a Arc<Peer>,
    broadcast: Path,
    demand: Demand,
    upstream: Option<Upstream>,
    track: Track,
}

impl Serving<'_> {
    async fn run(&mut self) -> Result<()> {
        let mut unused_since = None;
        loop {
            let idle = unused_since.map(|since| since + GRACE);
            tokio::select! {
                biased;
                response = response(&mut self.upstream) => {
                    if let Some(upstream) = &mut self.upstream
                        && !upstream.take(response?, &self.track)?
                    {
                        upstream.stragglers().await;
                        return match self.peer.version.has_setup() {
                            true => Ok(()),
                            // Its end wasn't declared: it is where the subscription ends.
                            false => self.track.finish(),
                        };
                    }
                }
                wish = self.demand.changed() => match wish {
                    Some(wish) => {
                        unused_since = None;
                        self.ask(wish).await?;
                    }
                    None => unused_since = Some(Instant::now()),
                },
                () = sleep_until(idle.unwrap_or_else(Instant::now)), if idle.is_some() => {
                    if self.track.close_unused() {
                        if let Some(upstream) = self.upstream.take() {
                            upstream.leave().await;
                        }
                        return Ok(());
                    }
                    unused_since = None;
                }
                ended = self.track.closed() => {
                    let upstream = self.upstream.as_ref();
                    return match upstream.and_then(|upstream| upstream.incoming.violation()) {
                        Some(violation) => Err(violation),
                        None => ended,
                    };
                }
            }
        }
    }

    /// Asks the peer for what is wanted now.
    async fn ask(&mut self, wish: Subscription) -> Result<()> {
        match &mut self.upstream {
            Some(upstream) => upstream.update(wish).await,
            None => {
                let upstream =
                    Upstream::open(self.peer, &self.broadcast, self.track.name(), wish).await?;
                upstream.begin(&self.track);
                self.upstream = Some(upstream);
                Ok(())
            }
        }
    }
}

async fn response(upstream: &mut Option<Upstream>) -> Result<Option<Response>> {
    match upstream {
        Some(upstream) => upstream.input.typed().await,
        None => std::future::pending().await,
    }
}
