//! What the schedule tells its caller: whose turn it is, and what had to go.

use super::{DatagramId, GroupId, StreamKey};

/// What an empty frame is charged, in bytes: its header. Free of charge, a flood of them would never end its turn.
pub const EMPTY_FRAME: usize = 8;

/// The turn that [`pop`](super::Schedule::pop) gives; [`sent`](super::Schedule::sent) takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Up to `max_bytes` of a stream. Zero means an empty frame: one that only opens or finishes the stream.
    Stream {
        /// Whose bytes.
        key: StreamKey,
        /// The group that pays.
        group: GroupId,
        /// How many bytes, at most.
        max_bytes: usize,
    },
    /// A whole datagram. It may be longer than the budget that was asked for: the caller sends it, waits for a packet
    /// with more room, or drops it with [`remove_datagram`](super::Schedule::remove_datagram).
    Datagram {
        /// Which one.
        id: DatagramId,
        /// The group that pays.
        group: GroupId,
        /// Its length in bytes.
        len: usize,
    },
}

/// What the datagram budget has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Datagrams taken back or refused.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
}
