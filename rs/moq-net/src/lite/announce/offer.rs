//! What a peer has been told is there, and what to tell it next.
//!
//! Owns the ids of announcements and the pace of changes: a path that changes often is told of at most once per
//! [`HOLD`], and then only where it ended up. Called by the task that answers an announce stream. May not know streams
//! or clocks: `now` is any monotonic time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;

use crate::lite::coding::EncodeError;
use crate::lite::message::{Announce, AnnounceStatus, Message, Status, Typed};
use crate::lite::version::Version;
use crate::{Path, Route};

/// How long after telling of a path the next change of it waits, to be merged with those that follow.
pub(crate) const HOLD: Duration = Duration::from_millis(300);

/// The state of one announce stream, publisher's side.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    next_id: u64,
    /// What the peer believes is there.
    told: BTreeMap<Path, Told>,
    /// Changes not told yet; `None`: it ended.
    pending: BTreeMap<Path, Pending>,
    /// The paths of `pending` by when they may be told.
    due: BTreeSet<(Duration, Path)>,
    /// Until when a change of the path waits.
    held: BTreeMap<Path, Duration>,
    /// The same in order of time, to forget those that are over.
    holds: VecDeque<(Duration, Path)>,
}

#[derive(Debug)]
struct Told {
    id: u64,
    route: Route,
}

#[derive(Debug)]
struct Pending {
    due: Duration,
    route: Option<Route>,
    replaced: bool,
}

/// One thing to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    Start { suffix: Path, route: Route },
    Restart { id: u64, suffix: Path, route: Route },
    End { id: u64, suffix: Path },
}

impl Offer {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Something is there (or is there by another route), or is gone (`None`). `replaced` says that it is not the
    /// broadcast it was, so that the peer must hear of it though the route be the same. O(log paths).
    pub(crate) fn change(
        &mut self,
        now: Duration,
        suffix: Path,
        route: Option<Route>,
        replaced: bool,
    ) {
        if let Some(pending) = self.pending.get_mut(&suffix) {
            pending.route = route;
            pending.replaced |= replaced;
            return;
        }
        let due = self.held.get(&suffix).map_or(now, |&until| until.max(now));
        self.due.insert((due, suffix.clone()));
        self.pending.insert(
            suffix,
            Pending {
                due,
                route,
                replaced,
            },
        );
    }

    /// When [`Self::next`] has something to say that it hasn't now.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.due.first().map(|(due, _)| *due)
    }

    /// The next thing to tell, if any is due. O(log paths).
    pub(crate) fn next(&mut self, now: Duration) -> Option<Notice> {
        while self.next_due()? <= now {
            let (_, suffix) = self.due.pop_first()?;
            let pending = self.pending.remove(&suffix)?;
            debug_assert!(pending.due <= now);
            if let Some(notice) = self.tell(&suffix, pending) {
                self.hold(suffix, now);
                return Some(notice);
            }
        }
        None
    }

    fn hold(&mut self, suffix: Path, now: Duration) {
        while let Some((_, path)) = self.holds.pop_front_if(|(until, _)| *until <= now) {
            if self.held.get(&path).is_some_and(|&until| until <= now) {
                self.held.remove(&path);
            }
        }
        self.holds.push_back((now + HOLD, suffix.clone()));
        self.held.insert(suffix, now + HOLD);
    }

    fn tell(&mut self, suffix: &Path, pending: Pending) -> Option<Notice> {
        match (self.told.get_mut(suffix), pending.route) {
            (None, None) => None,
            (None, Some(route)) => {
                let id = self.next_id;
                self.next_id += 1;
                self.told.insert(
                    suffix.clone(),
                    Told {
                        id,
                        route: route.clone(),
                    },
                );
                Some(Notice::Start {
                    suffix: suffix.clone(),
                    route,
                })
            }
            (Some(told), Some(route)) => {
                if told.route == route && !pending.replaced {
                    return None;
                }
                told.route = route.clone();
                Some(Notice::Restart {
                    id: told.id,
                    suffix: suffix.clone(),
                    route,
                })
            }
            (Some(told), None) => {
                let id = told.id;
                self.told.remove(suffix);
                Some(Notice::End {
                    id,
                    suffix: suffix.clone(),
                })
            }
        }
    }
}

impl Notice {
    /// The bytes. `hop` is our own: before 05 the sender appends it.
    pub(crate) fn encode(self, version: Version, hop: u64) -> Result<Bytes, EncodeError> {
        if version >= Version::Lite06 {
            let announce = match self {
                Self::Start { suffix, route } => Announce::Start { suffix, route },
                Self::Restart { id, route, .. } => Announce::Restart { id, route },
                Self::End { id, .. } => Announce::End { id },
            };
            return announce.encode(version);
        }
        let (status, suffix, mut hops) = match self {
            Self::Start { suffix, route } => (Status::Active, suffix, route.hops),
            Self::Restart { suffix, route, .. } => (Status::Restart, suffix, route.hops),
            Self::End { suffix, .. } => (Status::Ended, suffix, Vec::new()),
        };
        if version < Version::Lite05 && status != Status::Ended {
            hops.push(hop);
        }
        AnnounceStatus {
            status,
            suffix,
            hops,
        }
        .encode(version)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> Path {
        Path::new(text).unwrap()
    }

    fn by(hops: &[u64]) -> Route {
        Route {
            hops: hops.to_vec(),
            ..Route::default()
        }
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn drain(offer: &mut Offer, now: Duration) -> Vec<Notice> {
        std::iter::from_fn(|| offer.next(now)).collect()
    }

    #[test]
    fn ids_count_starts_and_are_never_used_again() {
        let mut offer = Offer::new();
        let start = |suffix, route: &Route| Notice::Start {
            suffix: path(suffix),
            route: route.clone(),
        };
        offer.change(ms(0), path("a"), Some(by(&[])), false);
        offer.change(ms(0), path("b"), Some(by(&[])), false);
        assert_eq!(
            drain(&mut offer, ms(0)),
            [start("a", &by(&[])), start("b", &by(&[]))]
        );
        offer.change(ms(1000), path("a"), None, false);
        assert_eq!(
            drain(&mut offer, ms(1000)),
            [Notice::End {
                id: 0,
                suffix: path("a")
            }]
        );
        offer.change(ms(2000), path("a"), Some(by(&[7])), false);
        assert_eq!(drain(&mut offer, ms(2000)), [start("a", &by(&[7]))]);
        offer.change(ms(3000), path("a"), Some(by(&[8])), false);
        let restart = Notice::Restart {
            id: 2,
            suffix: path("a"),
            route: by(&[8]),
        };
        assert_eq!(drain(&mut offer, ms(3000)), [restart]);
    }

    #[test]
    fn a_path_that_flaps_is_told_of_once_per_hold() {
        let mut offer = Offer::new();
        let mut told = 0;
        for turn in 0..1000 {
            let route = (turn % 2 == 0).then(|| by(&[]));
            offer.change(ms(turn), path("a"), route, true);
            told += drain(&mut offer, ms(turn)).len();
        }
        assert!((2..=4).contains(&told), "{told} notices in a second");
    }

    #[test]
    fn a_change_taken_back_within_the_hold_is_not_told() {
        let mut offer = Offer::new();
        offer.change(ms(0), path("a"), Some(by(&[])), false);
        assert_eq!(drain(&mut offer, ms(0)).len(), 1);
        offer.change(ms(10), path("a"), None, false);
        assert_eq!(offer.next_due(), Some(HOLD));
        offer.change(ms(20), path("a"), Some(by(&[])), false);
        assert_eq!(drain(&mut offer, HOLD), []);
    }

    #[test]
    fn another_broadcast_by_the_same_route_is_a_restart() {
        let mut offer = Offer::new();
        offer.change(ms(0), path("a"), Some(by(&[])), false);
        drain(&mut offer, ms(0));
        offer.change(ms(400), path("a"), Some(by(&[])), true);
        assert!(matches!(
            drain(&mut offer, ms(400))[..],
            [Notice::Restart { id: 0, .. }]
        ));
    }

    #[test]
    fn before_05_the_sender_appends_its_hop() {
        let start = Notice::Start {
            suffix: path("a"),
            route: by(&[3]),
        };
        let bytes = start.clone().encode(Version::Lite04, 9).unwrap();
        assert_eq!(
            AnnounceStatus::decode(&bytes[1..], Version::Lite04)
                .unwrap()
                .hops,
            [3, 9]
        );
        let bytes = start.encode(Version::Lite05, 9).unwrap();
        assert_eq!(
            AnnounceStatus::decode(&bytes[1..], Version::Lite05)
                .unwrap()
                .hops,
            [3]
        );
    }

    proptest! {
        /// Whatever happens when, in the end the peer knows what is there.
        #[test]
        fn the_peer_ends_up_knowing(changes in proptest::collection::vec((0..3u64, 0..3usize, proptest::option::of(0..2u64)), 0..60)) {
            let (mut offer, mut now) = (Offer::new(), 0);
            let (mut there, mut peer) = (BTreeMap::new(), BTreeMap::new());
            let mut hear = |offer: &mut Offer, now| {
                for notice in drain(offer, now) {
                    match notice {
                        Notice::Start { suffix, route } => prop_assert!(peer.insert(suffix, route).is_none()),
                        Notice::Restart { suffix, route, .. } => prop_assert!(peer.insert(suffix, route).is_some()),
                        Notice::End { suffix, .. } => prop_assert!(peer.remove(&suffix).is_some()),
                    }
                }
                Ok(peer.clone())
            };
            for (wait, name, route) in changes {
                now += wait * 150;
                let suffix = path(["a", "b", "a/b"][name]);
                let route = route.map(|hop| by(&[hop]));
                match &route {
                    Some(route) => there.insert(suffix.clone(), route.clone()),
                    None => there.remove(&suffix),
                };
                offer.change(ms(now), suffix, route, false);
                hear(&mut offer, ms(now))?;
            }
            prop_assert_eq!(hear(&mut offer, ms(now) + HOLD)?, there);
            prop_assert_eq!(offer.next_due(), None);
        }
    }
}
