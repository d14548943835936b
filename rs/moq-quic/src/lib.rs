//! QUIC with strict priorities, byte-fair send groups and just-in-time hand-over, on stock quinn-proto.
//!
//! | module | what it is |
//! |---|---|
//! | [`schedule`] | pure: which stream's bytes go next |
//! | [`connection`] | sans-IO: quinn-proto, the schedule, and every byte that is not on the wire yet |
//! | [`driver`] | the async edge on tokio: [`Endpoint`], [`Connection`], [`SendStream`], [`RecvStream`], [`SendGroup`] |
//! | `sim` | an in-memory network for tests (feature `sim`) |
//! | [`tls`] | identities, and whom to trust |
//!
//! A stream belongs to a [`SendGroup`]; groups have priorities, streams have an order inside their group. What
//! [`schedule`] says about both holds for every byte that is not yet in a packet: application bytes wait here, not in
//! quinn-proto, until the packet that carries them is about to be built.

pub mod connection;
pub mod driver;
pub mod schedule;
#[cfg(feature = "sim")]
pub mod sim;
pub mod tls;

mod config;
mod error;

pub use config::{ClientConfig, Congestion, ServerConfig, TransportConfig};
pub use connection::{GroupStats, Stats, StreamId};
pub use driver::{Connection, Endpoint, Incoming, RecvStream, SendGroup, SendStream, Socket};
pub use error::Error;
pub use schedule::{Direction, GroupConfig};

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
