//! What a connection and its groups have done so far. Filled by `connection`; plain numbers.

use std::time::Duration;

/// A connection in numbers. Byte counts are since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Smoothed round trip.
    pub rtt: Duration,
    /// The shortest round trip seen.
    pub min_rtt: Duration,
    /// Bytes congestion control lets be in flight.
    pub window: u64,
    /// Bytes in flight, as of the last acknowledgement and what was sent since.
    pub in_flight: u64,
    /// Bytes a second the path delivered, measured on acknowledgements while it was kept busy. Zero before the first.
    pub delivery_rate: u64,
    /// The largest UDP payload the path takes, in bytes.
    pub mtu: u16,
    /// Packets sent, and of those, deemed lost.
    pub sent_packets: u64,
    /// Packets deemed lost.
    pub lost_packets: u64,
    /// UDP payload bytes sent.
    pub sent_bytes: u64,
    /// UDP payload bytes of packets deemed lost.
    pub lost_bytes: u64,
    /// UDP payload bytes received.
    pub received_bytes: u64,
    /// Stream and datagram bytes waiting here, not handed over.
    pub queued: u64,
    /// Stream and datagram bytes handed over and not in a packet yet.
    pub unsent: u64,
    /// Stream bytes sent again.
    pub retransmitted: u64,
    /// Datagrams evicted or refused by the budget.
    pub evicted_datagrams: u64,
    /// Times an open had to wait for the peer to allow more streams.
    pub stream_waits: u64,
}

/// A send group in numbers, all in bytes since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupStats {
    /// Written by the application and neither handed over, dropped by a reset nor evicted: waiting now.
    pub queued: u64,
    /// Given to quinn-proto to put in a packet.
    pub handed_over: u64,
    /// Put in a packet for the first time.
    pub sent: u64,
    /// Put in a packet again.
    pub retransmitted: u64,
    /// Datagram bytes dropped by the budget, or too large for the path when their turn came.
    pub evicted: u64,
    /// Stream bytes dropped by resets before they were handed over.
    pub dropped: u64,
}
