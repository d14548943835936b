//! The relay: accepts sessions, authorises them, and shares one origin between them.
//!
//! - [`auth`]: who may read and publish which paths (pure)

pub mod auth;

pub use auth::{Auth, Grant, Pattern};
