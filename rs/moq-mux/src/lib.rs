//! MPEG transport streams in and out of moq: exact import, constant-rate export, a checker.
//!
//! Map of the crate:
//!
//! - [`ts`]: the pure core: packets, tables, clocks, slots, the schedule, the layout and the checker. No I/O, no
//!   wall clock, no async runtime, and no knowledge of tracks.
//! - [`codec`]: what must be read out of the elementary streams to describe and to split them.
//! - [`catalog`] and [`container`]: the layout of tracks that published players and tools read.
//! - [`import`]: transport-stream bytes into a broadcast; [`import::scan`]: the facts of a file before it is published.
//!
//! The crate knows tracks and media and nothing about QUIC: it talks to `moq_net` producers and consumers only.

pub mod catalog;
pub mod codec;
pub mod container;
pub mod export;
pub mod import;
pub mod ts;

mod error;

pub use error::{Error, Result};

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
