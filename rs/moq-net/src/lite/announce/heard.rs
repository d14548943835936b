//! What a peer has announced, worked out into what changes here.
//!
//! Owns ids, prefix, hop chains and costs: the publisher's hop is appended, the link's cost added, loops and over-long
//! chains dropped (their ids still count). Called by the task that reads an announce stream. May not know streams, or
//! what is done with the news.

use std::collections::BTreeMap;

use crate::lite::coding::MAX_VARINT;
use crate::lite::message::{Announce, AnnounceStatus, Status};
use crate::model::MAX_HOPS;
use crate::{Error, Path, Route};

/// Most announcements remembered of one peer; those beyond are counted and discarded.
const MAX_LIVE: usize = 1 << 16;

/// The state of one announce stream, subscriber's side.
#[derive(Debug)]
pub(crate) struct Heard {
    prefix: Path,
    /// Our own hop id; 0: none.
    hop: u64,
    /// The publisher's, from ANNOUNCE_OK. `None`: the chain holds it already.
    peer: Option<u64>,
    cost: u64,
    next_id: u64,
    /// Live announcements of 06 by id.
    ids: BTreeMap<u64, Path>,
    /// Every live path, and whether its route is one we use.
    paths: BTreeMap<Path, bool>,
}

/// What an announcement changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A broadcast is there.
    Start(Path, Route),
    /// It is there by another route, or another broadcast is there.
    Restart(Path, Route),
    /// It is gone.
    End(Path),
}

impl Heard {
    /// `hop` is ours (0: none), `peer` what ANNOUNCE_OK said (before 05: `None`), `cost` the link's.
    pub(crate) fn new(prefix: Path, hop: u64, peer: Option<u64>, cost: u64) -> Self {
        Self {
            prefix,
            hop,
            peer,
            cost,
            next_id: 0,
            ids: BTreeMap::new(),
            paths: BTreeMap::new(),
        }
    }

    /// Takes an announcement of 06.
    ///
    /// # Errors
    /// [`Error::ProtocolViolation`] for an id that isn't live, a START for a path that is.
    pub(crate) fn announce(&mut self, announce: Announce) -> Result<Option<News>, Error> {
        match announce {
            Announce::Start { suffix, route } => {
                let id = self.next_id;
                self.next_id += 1;
                let path = self.path(&suffix)?;
                if self.paths.contains_key(&path) {
                    return Err(Error::ProtocolViolation(
                        "a path was announced that is announced already",
                    ));
                }
                if self.paths.len() >= MAX_LIVE {
                    return Ok(None);
                }
                self.ids.insert(id, path.clone());
                Ok(self.route(path, route, false))
            }
            Announce::End { id } => match self.ids.remove(&id) {
                Some(path) => Ok(self.end(path)),
                None => self.unknown(id),
            },
            Announce::Restart { id, route } => match self.ids.get(&id).cloned() {
                Some(path) => Ok(self.route(path, route, true)),
                None => self.unknown(id),
            },
        }
    }

    /// Takes an announcement of 03 to 05.
    ///
    /// # Errors
    /// [`Error::ProtocolViolation`] for a path too long below the prefix.
    pub(crate) fn status(&mut self, announce: AnnounceStatus) -> Result<Option<News>, Error> {
        let path = self.path(&announce.suffix)?;
        let known = self.paths.contains_key(&path);
        match announce.status {
            Status::Ended => Ok(self.end(path)),
            Status::Active | Status::Restart if known || self.paths.len() < MAX_LIVE => {
                let route = Route {
                    hops: announce.hops,
                    ..Route::default()
                };
                Ok(self.route(path, route, known))
            }
            Status::Active | Status::Restart => Ok(None),
        }
    }

    fn path(&self, suffix: &Path) -> Result<Path, Error> {
        self.prefix
            .join(suffix)
            .map_err(|_| Error::ProtocolViolation("an announced path is too long"))
    }

    /// An id that isn't live is the peer's mistake, unless we discarded it for being one too many.
    fn unknown(&self, id: u64) -> Result<Option<News>, Error> {
        if id < self.next_id && self.paths.len() >= MAX_LIVE {
            return Ok(None);
        }
        Err(Error::ProtocolViolation(
            "an announcement was changed that isn't live",
        ))
    }

    fn route(&mut self, path: Path, route: Route, known: bool) -> Option<News> {
        let route = self.usable(route);
        let used = self
            .paths
            .insert(path.clone(), route.is_some())
            .unwrap_or(false);
        debug_assert!(known || !used);
        match (used, route) {
            (false, None) => None,
            (false, Some(route)) => Some(News::Start(path, route)),
            (true, Some(route)) => Some(News::Restart(path, route)),
            (true, None) => Some(News::End(path)),
        }
    }

    fn end(&mut self, path: Path) -> Option<News> {
        self.paths.remove(&path)?.then_some(News::End(path))
    }

    /// The route as seen from here; `None` if it must not be used.
    fn usable(&self, mut route: Route) -> Option<Route> {
        route.hops.extend(self.peer);
        let known = || route.hops.iter().filter(|&&hop| hop != 0);
        let looped = known().any(|&hop| hop == self.hop);
        let repeats = known()
            .enumerate()
            .any(|(at, hop)| known().skip(at + 1).any(|other| other == hop));
        if looped || repeats || route.hops.len() > MAX_HOPS {
            return None;
        }
        for cost in [&mut route.warm, &mut route.cold] {
            *cost = cost.saturating_add(self.cost).min(MAX_VARINT);
        }
        Some(route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 77;
    const PEER: u64 = 88;

    fn path(text: &str) -> Path {
        Path::new(text).unwrap()
    }

    fn heard() -> Heard {
        Heard::new(Path::root(), US, Some(PEER), 1)
    }

    fn start(suffix: &str, hops: &[u64]) -> Announce {
        Announce::Start {
            suffix: path(suffix),
            route: by(hops, 0),
        }
    }

    fn by(hops: &[u64], cost: u64) -> Route {
        Route {
            hops: hops.to_vec(),
            warm: cost,
            cold: cost,
        }
    }

    #[test]
    fn the_publishers_hop_is_appended_and_the_links_cost_added() {
        let mut heard = heard();
        let news = heard.announce(start("a", &[3, 0, 0])).unwrap();
        assert_eq!(news, Some(News::Start(path("a"), by(&[3, 0, 0, PEER], 1))));
        let draining = Announce::Restart {
            id: 0,
            route: by(&[], MAX_VARINT),
        };
        let news = heard.announce(draining).unwrap();
        assert_eq!(
            news,
            Some(News::Restart(path("a"), by(&[PEER], MAX_VARINT)))
        );
    }

    /// moq-dev/moq#3050, #3065.
    #[test]
    fn a_start_that_is_discarded_still_takes_an_id() {
        let mut heard = heard();
        assert_eq!(heard.announce(start("looped", &[US])), Ok(None));
        assert!(heard.announce(start("good", &[])).unwrap().is_some());
        assert_eq!(heard.announce(start("long", &[0; 32])), Ok(None));
        assert_eq!(heard.announce(Announce::End { id: 0 }), Ok(None));
        assert_eq!(
            heard.announce(Announce::End { id: 1 }),
            Ok(Some(News::End(path("good"))))
        );
        assert_eq!(heard.announce(Announce::End { id: 2 }), Ok(None));
    }

    #[test]
    fn a_route_that_becomes_a_loop_ends_and_comes_back() {
        let mut heard = heard();
        heard.announce(start("a", &[])).unwrap();
        let mut turn = |hops: &[u64]| {
            heard
                .announce(Announce::Restart {
                    id: 0,
                    route: by(hops, 0),
                })
                .unwrap()
        };
        assert_eq!(turn(&[US]), Some(News::End(path("a"))));
        assert_eq!(turn(&[5, 5]), None, "a hop twice is a loop too");
        assert_eq!(turn(&[5]), Some(News::Start(path("a"), by(&[5, PEER], 1))));
    }

    #[test]
    fn ids_that_are_not_live_are_violations() {
        let mut heard = heard();
        assert!(heard.announce(Announce::End { id: 0 }).is_err());
        heard.announce(start("a", &[])).unwrap();
        assert!(heard.announce(start("a", &[])).is_err());
        heard.announce(Announce::End { id: 0 }).unwrap();
        assert!(heard.announce(Announce::End { id: 0 }).is_err());
        assert!(
            heard
                .announce(Announce::Restart {
                    id: 0,
                    route: Route::default()
                })
                .is_err()
        );
    }

    #[test]
    fn before_06_a_second_active_is_a_restart() {
        let mut heard = Heard::new(path("room"), US, Some(PEER), 0);
        let mut hear = |status| {
            let announce = AnnounceStatus {
                status,
                suffix: path("cam1"),
                hops: vec![],
            };
            heard.status(announce).unwrap()
        };
        assert_eq!(hear(Status::Ended), None);
        assert!(matches!(hear(Status::Active), Some(News::Start(..))));
        assert!(matches!(hear(Status::Active), Some(News::Restart(..))));
        assert!(matches!(hear(Status::Restart), Some(News::Restart(..))));
        assert_eq!(hear(Status::Ended), Some(News::End(path("room/cam1"))));
    }
}
