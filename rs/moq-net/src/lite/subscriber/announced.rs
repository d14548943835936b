//! Reads the peer's announcements and makes each a broadcast here, whose tracks are asked for when somebody wants them.
//!
//! Called by `lite::session` once the peer is let in. What the announcements mean is [`Heard`]'s to work out; which route
//! of several to a path is used is the origin's.

use std::sync::Arc;

use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;

use super::routes::Remote;
use super::track;
use crate::lite::announce::{Heard, News};
use crate::lite::input::Input;
use crate::lite::message::{Announce, AnnounceOk, AnnounceRequest, AnnounceStatus, Message, bidi};
use crate::lite::peer::Peer;
use crate::lite::version::Version;
use crate::{Broadcast, Error, Origin, Path, Result, Route};

/// Begins to take what the peer announces: below each prefix that it may publish, so that it can tell what will be taken.
pub(crate) fn begin(peer: &Arc<Peer>) {
    let this = peer.clone();
    peer.spawn(async move {
        let views = this.views().await;
        let Some(origin) = views.subscribe.clone() else {
            return;
        };
        for prefix in origin.prefixes() {
            let (peer, origin) = (this.clone(), origin.clone());
            let (hop, cost) = (views.hop, views.cost);
            this.spawn(async move {
                let mut heard = Followed {
                    peer: &peer,
                    origin,
                    paths: Vec::new(),
                };
                if let Err(error) = heard.follow(prefix, hop, cost).await {
                    tracing::debug!(%error, "the peer's announcements ended");
                }
            });
        }
    });
    let this = peer.clone();
    peer.spawn(async move { super::group::receive_datagrams(&this).await });
}

/// What one announce stream has put into the origin; dropped, it is taken back.
struct Followed<'a> {
    peer: &'a Arc<Peer>,
    origin: Origin,
    paths: Vec<Path>,
}

impl Followed<'_> {
    async fn follow(&mut self, prefix: Path, hop: u64, cost: u64) -> Result<()> {
        let version = self.peer.version;
        let request = AnnounceRequest {
            prefix: prefix.clone(),
            exclude_hop: hop,
        };
        let (mut send, recv) = self.peer.control.open_bi(0).await?;
        send.write_chunk(request.encode_first(bidi::ANNOUNCE, version)?)
            .await?;
        let mut input = Input::new(recv, version);
        let named = match version.has_setup() {
            true => Some(input.expect::<AnnounceOk>().await?.hop),
            false => None,
        };
        let cost = match self.peer.dialled {
            true => cost,
            false => self.peer.setup().await.cost.unwrap_or(cost),
        };
        let mut heard = Heard::new(prefix, hop, named, cost);
        loop {
            let news = if version >= Version::Lite06 {
                match input.typed::<Announce>().await? {
                    Some(announce) => heard.announce(announce),
                    None => return Ok(()),
                }
            } else {
                match input.message::<AnnounceStatus>().await? {
                    Some(announce) => heard.status(announce),
                    None => return Ok(()),
                }
            };
            match news {
                Ok(Some(news)) => self.take(news),
                Ok(None) => {}
                Err(error) => {
                    self.peer.fail(&error);
                    return Err(error);
                }
            }
        }
    }

    fn take(&mut self, news: News) {
        match news {
            News::Start(path, route) => self.start(path, route),
            News::Restart(path, route) => self.restart(path, route),
            News::End(path) => self.end(&path),
        }
    }

    fn start(&mut self, path: Path, route: Route) {
        let broadcast = Broadcast::new(self.origin.pool().clone());
        broadcast.dynamic();
        let consumer = broadcast.consume();
        let publication = match self.origin.publish(&path, consumer.clone(), route) {
            Ok(publication) => publication,
            Err(error) => {
                tracing::debug!(%path, %error, "an announcement was not taken");
                return;
            }
        };
        let (live, ended) = watch::channel(());
        let remote = Remote {
            broadcast: broadcast.clone(),
            consumer,
            publication,
            _live: live,
        };
        self.peer.routes.insert(path.clone(), remote);
        self.paths.push(path.clone());
        self.peer
            .spawn(serve(self.peer.clone(), path, broadcast, ended));
    }

    /// Another route leads to the same broadcast. The same route again means that it is another broadcast.
    fn restart(&mut self, path: Path, route: Route) {
        if !self.peer.routes.update(&path, route.clone()) {
            self.end(&path);
            self.start(path, route);
        }
    }

    fn end(&mut self, path: &Path) {
        self.peer.routes.remove(path);
        self.paths.retain(|known| known != path);
    }
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        for path in &self.paths {
            self.peer.routes.remove(path);
        }
    }
}

/// Asks the peer for the tracks of one broadcast, as somebody here wants them. After its announcement has ended those
/// that run go on; nothing new is asked for.
async fn serve(peer: Arc<Peer>, path: Path, broadcast: Broadcast, mut ended: watch::Receiver<()>) {
    let mut tracks = FuturesUnordered::new();
    let mut live = true;
    while live || !tracks.is_empty() {
        tokio::select! {
            biased;
            Some(()) = tracks.next() => {}
            _ = ended.changed(), if live => live = false,
            request = broadcast.next_request() => match request {
                None => live = false,
                Some(request) if !live => request.reject(Error::Unroutable),
                Some(request) if peer.is_going_away() => request.reject(Error::GoingAway),
                Some(request) => {
                    tracks.push(track::serve(peer.clone(), path.clone(), request).boxed());
                }
            },
        }
    }
}
