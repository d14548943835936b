//! QUIC with strict priorities, byte-fair send groups and just-in-time hand-over, on stock quinn-proto.

pub mod schedule;
