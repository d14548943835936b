//! The relay: accepts sessions, authorises them, and shares one origin between them.
//!
//! | module | what it owns |
//! |---|---|
//! | [`auth`] | who may read and publish which paths (pure) |
//! | `limits` | how many sessions there may be |
//! | `metrics` | what is counted |
//! | `session` | one session, from its connection to its end |
//! | `server` | the shared origin, the accept loop, the drain |

pub mod auth;

mod limits;
mod metrics;
mod server;
mod session;

pub use auth::{Auth, Grant, Pattern};
pub use metrics::Metrics;
pub use server::{Config, Drained, Relay};

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
