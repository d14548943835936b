//! What we take from a peer.
//!
//! | file | what it owns |
//! |---|---|
//! | `routes` | where what comes belongs: subscriptions by id, broadcasts by path |
//! | `announced` | reads the peer's announcements and makes each a broadcast here |
//! | `track` | one track somebody here wants: TRACK, SUBSCRIBE, updates, the end |
//! | `group` | one incoming group stream, and datagrams |
//!
//! Called by `lite::session`. What is received is written to the model; who reads it there isn't known here. Demand comes
//! from the model: any number of readers of a track are one subscription at the peer.

mod announced;
mod group;
mod routes;
mod track;

pub(crate) use announced::begin;
pub(crate) use group::receive_group;
pub(crate) use routes::Routes;
