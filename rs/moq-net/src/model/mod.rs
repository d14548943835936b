//! Origin ▸ broadcast ▸ track ▸ group ▸ frame: producers, consumers, cursors and the cache they share.
//!
//! Called by sessions, importers and exporters. May not know codecs, sockets, clocks or an async runtime: what waits,
//! waits by [`std::task::Waker`].
//!
//! | file | what it owns |
//! |---|---|
//! | `origin`, `announced`, `route` | which broadcasts there are, by which way, and the stream of changes |
//! | `broadcast`, `usage` | the tracks of a broadcast, requests for unknown ones, whether any is in use |
//! | `track`, `state` | a track's producer; what producer and subscribers share, under one lock |
//! | `demand`, `audience` | what one subscriber asks for and the sum of all; a track's subscriptions |
//! | `cache`, `slots`, `runs`, `lateness` | groups threaded by arrival and by sequence; their storage and index; how old each is |
//! | `arrival`, `ordered`, `counts` | the two cursors, and what became of the groups they passed |
//! | `group`, `frame`, `datagram` | what a track carries |
//! | `fetch` | groups asked for by number that aren't cached |
//! | `pool` | one byte budget for all of it |
//! | `wait` | wake lists |
//!
//! # What a reader sees
//!
//! A **subscription** starts at an explicit sequence, or at the oldest group that isn't late under its `max_age` (0: the
//! newest). From there a [`Subscriber`] delivers in order of **arrival**: each live group exactly once, whatever its
//! sequence. An [`Ordered`] is a second cursor that delivers in order of **sequence**: the smallest cached group at or
//! above its cursor, waiting for no hole. At the upper bound of its window it *parks* until the window is widened; it
//! *ends* only at the end of the subscription's range, at the track's declared end, or when the track is sealed and
//! nothing is left.
//!
//! A group is **late** when newest timestamp of the track − where its successor starts ≥ `max_age`. The newest group
//! never is. Late groups are skipped, unless the subscription named its start and the group existed then.
//!
//! A group that is **aborted** keeps the frames it has: readers get them and then the error, also those who come to it
//! later. One with nothing in it, and one that was **evicted**, is unlinked, so cursors step over runs of them without
//! a walk. Neither ends a subscription: the error is that group's alone, and [`Counts`] says how many went.
//!
//! A track is **finished** with a declared end, or **aborted**: then readers get the error after everything cached, and a
//! declared end wins over a later error. A finished track stays under its name while its broadcast is known, so a late
//! subscriber still gets what is cached: at least the newest group.
//!
//! # Memory
//!
//! A group leaves the cache when it is late by the track's own `max_age`, when the [`Pool`] is over its budget and the
//! group is the one superseded longest ago of all tracks, or when it has been superseded for too long by the clock of
//! whoever calls [`Pool::expire`]. The newest group of a track stays. Each write does a bounded number of evictions.

mod announced;
mod arrival;
mod audience;
mod broadcast;
mod cache;
mod counts;
mod datagram;
mod demand;
mod fetch;
mod frame;
mod group;
mod lateness;
mod ordered;
mod origin;
mod pool;
mod route;
mod runs;
mod slots;
mod state;
mod track;
mod usage;
mod wait;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use announced::{Announce, Announced};
pub use arrival::Subscriber;
pub use broadcast::{Broadcast, BroadcastConsumer, TrackRequest};
pub use counts::Counts;
pub use datagram::{Datagram, MAX_DATAGRAM_BYTES};
pub use demand::{Control, Demand, Subscription};
pub use fetch::FetchRequest;
pub use frame::{Frame, MAX_FRAME_BYTES};
pub use group::{Group, GroupConsumer, MAX_GROUP_BYTES, MAX_GROUP_FRAMES};
pub use ordered::Ordered;
pub use origin::{Origin, OriginConfig, Publication};
pub use pool::Pool;
pub use route::{MAX_HOPS, Route};
pub use track::{Track, TrackInfo};

/// Locks; a panic of another thread while it held the lock doesn't spread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
