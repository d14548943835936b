//! The moq-lite wire protocol.
//!
//! | file | what it owns |
//! |---|---|
//! | `coding` | varints, lengths, text |
//! | `version` | versions and their ALPNs |
//! | `code` | stream error codes as they travel |
//! | `message` | the messages, one struct each |
//!
//! These four are pure: bytes in, bytes out.

pub mod code;
pub mod coding;
pub mod message;
pub mod version;

pub use version::Version;
