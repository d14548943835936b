//! What a peer may ask of us, and the answers.
//!
//! | file | what it serves |
//! |---|---|
//! | `announce` | which broadcasts there are |
//! | `subscription` | the groups of a track as they come |
//! | `delivery` | one group's stream |
//! | `request` | one answer each: what a track says of itself, a cached group |
//!
//! Called by `lite::session` with the two halves of a stream whose type has been read. An error means that the stream is
//! reset with its code; the session lives.

mod announce;
mod delivery;
mod request;
mod subscription;

pub(crate) use announce::announce;
pub(crate) use request::{fetch, track};
pub(crate) use subscription::subscribe;
