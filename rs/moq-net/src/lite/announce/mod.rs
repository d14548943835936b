//! Both ends of the announce stream.
//!
//! | file | what it owns |
//! |---|---|
//! | `offer` | pure: what the peer has been told, and what to tell it next |
//! | `heard` | pure: what the peer has announced, with ids, loops and costs worked out |

mod heard;
mod offer;

pub(crate) use heard::{Heard, News};
pub(crate) use offer::Offer;
