//! The moq-lite wire protocol.
//!
//! | file | what it owns |
//! |---|---|
//! | `coding` | varints, lengths, text |
//! | `version` | versions and their ALPNs |
//! | `code` | stream error codes as they travel |
//! | `message` | the messages, one struct each |
//! | `announce` | ids, loops, costs and pace of announcements |
//! | `transport`, `input` | the streams below, and messages read off them |
//! | `peer` | what the tasks of a session share |
//! | `session` | the streams a session begins with and those its peer opens |
//! | `publisher` | what a peer may ask of us |
//! | `subscriber` | what we take from a peer |
//!
//! The first five are pure: bytes and values in, bytes and values out. The others are the tasks of a
//! [`crate::session::Session`].

mod announce;
pub mod code;
pub mod coding;
mod input;
pub mod message;
pub(crate) mod peer;
mod publisher;
pub(crate) mod session;
mod subscriber;
mod transport;
pub mod version;

pub use version::Version;
