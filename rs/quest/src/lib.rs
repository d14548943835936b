//! Plans kept in the tree, under `quest/`: read, checked, and listed when ready.
//!
//! ```text
//! files ─ tree ─▶ doc (Markdown → facts) ─▶ rules (facts → findings)
//!                                       └─▶ ready (facts → what can be started)
//! ```
//!
//! Only [`Tree::load`] touches the disk; what a plan must look like is said in `quest/README.md`, not here.

mod doc;
mod ready;
mod rules;
mod tree;

pub use doc::{Document, Entry, Heading, Link, Section};
pub use ready::{Status, ready, status};
pub use rules::{Finding, check};
pub use tree::{Error, Kind, Quest, Tree};
