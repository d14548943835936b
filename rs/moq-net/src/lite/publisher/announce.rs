//! Answers an announce stream: what there is below a prefix, then every change.
//!
//! Owns the pace of the answers; what to say is [`Offer`]'s. Called by `lite::session`. May not know how a broadcast is
//! served. A peer that doesn't read holds one entry a path: the origin and the offer both merge changes.

use std::collections::BTreeMap;

use tokio::time::{Instant, sleep_until};

use crate::lite::announce::Offer;
use crate::lite::input::Input;
use crate::lite::message::{AnnounceOk, AnnounceRequest, Message};
use crate::lite::peer::Peer;
use crate::lite::transport::SendStream;
use crate::lite::version::Version;
use crate::model::Announce;
use crate::{BroadcastConsumer, Path, Result};

/// What the origin says, turned into what this peer should hear.
struct Filter<'a> {
    peer: &'a Peer,
    prefix: Path,
    /// What each path stood for when the offer last heard of it.
    known: BTreeMap<Path, BroadcastConsumer>,
}

pub(crate) async fn announce(peer: &Peer, send: &mut SendStream, input: &mut Input) -> Result<()> {
    let request: AnnounceRequest = input.expect().await?;
    peer.setup().await;
    peer.set_hop(request.exclude_hop);
    peer.set_asked(&request.prefix);
    let hop = peer.views().await.hop;
    let Some(origin) = peer.readable().await else {
        if peer.version.has_setup() {
            send.write_chunk(AnnounceOk { hop, active: 0 }.encode(peer.version)?)
                .await?;
        }
        input.end().await?;
        return Ok(send.finish()?);
    };

    let began = Instant::now();
    let mut announced = origin.announced(&request.prefix);
    let mut offer = Offer::new();
    let mut filter = Filter {
        peer,
        prefix: request.prefix,
        known: BTreeMap::new(),
    };
    while let Some(announce) = announced.try_next() {
        filter.pass(announce, &mut offer, began.elapsed());
    }
    let mut first = Vec::new();
    while let Some(notice) = offer.next(began.elapsed()) {
        first.push(notice.encode(peer.version, hop)?);
    }
    if peer.version >= Version::Lite05 {
        let ok = AnnounceOk {
            hop,
            active: first.len() as u64,
        };
        send.write_chunk(ok.encode(peer.version)?).await?;
    }
    for notice in first {
        send.write_chunk(notice).await?;
    }
    loop {
        while let Some(notice) = offer.next(began.elapsed()) {
            send.write_chunk(notice.encode(peer.version, hop)?).await?;
        }
        let due = offer.next_due().map(|due| began + due);
        tokio::select! {
            announce = announced.next() => match announce {
                Some(announce) => filter.pass(announce, &mut offer, began.elapsed()),
                None => break,
            },
            () = sleep_until(due.unwrap_or(began)), if due.is_some() => {}
            end = input.end() => {
                end?;
                break;
            }
        }
    }
    Ok(send.finish()?)
}

impl Filter<'_> {
    fn pass(&mut self, announce: Announce, offer: &mut Offer, now: std::time::Duration) {
        let (path, there) = match announce {
            Announce::Active {
                path,
                consumer,
                route,
            }
            | Announce::Restart {
                path,
                consumer,
                route,
            } => (path, Some((consumer, route))),
            Announce::Ended { path } => (path, None),
        };
        let Some(suffix) = path.strip_prefix(&self.prefix) else {
            return;
        };
        let there = there.filter(|(consumer, _)| !self.peer.is_reflection(consumer));
        let Some((consumer, route)) = there else {
            self.known.remove(&suffix);
            return offer.change(now, suffix, None, true);
        };
        let before = self.known.insert(suffix.clone(), consumer.clone());
        let replaced = before.is_some_and(|before| !before.is_same(&consumer));
        offer.change(now, suffix, Some(route), replaced);
    }
}
