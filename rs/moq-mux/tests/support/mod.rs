//! What the import tests share: a small multiplexer, and a reader of what was published.
//!
//! The multiplexer is written plainly and shares no code with the crate's own writer.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod mux;
pub(crate) mod read;
