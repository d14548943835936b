//! Sans-IO: quinn-proto, the schedule, and every byte that is not on the wire yet.

mod stats;

pub use quinn_proto::StreamId;
pub use stats::{GroupStats, Stats};
