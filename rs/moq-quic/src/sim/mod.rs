//! An in-memory network on tokio's clock, for tests: rate, delay, jitter, loss, reordering, duplication, corruption and a
//! drop-tail queue, repeatable by its seed.
//!
//! Run the test with tokio's clock paused and seconds of network pass in milliseconds.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use crate::{driver::Socket, tls::Identity};

/// How packets travel in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bytes a second. `None`: no limit.
    pub rate: Option<u64>,
    /// Time on the way.
    pub delay: Duration,
    /// Up to this much more, evenly spread; order is kept.
    pub jitter: Duration,
    /// Share of packets lost, 0 to 1.
    pub loss: f64,
    /// Share of packets that take `delay` once more, and so arrive behind later ones.
    pub reorder: f64,
    /// Share of packets that arrive twice.
    pub duplicate: f64,
    /// Share of packets in which one bit is flipped.
    pub corrupt: f64,
    /// Bytes that may wait for their turn at `rate`; beyond it packets are dropped.
    pub queue: usize,
}

impl Default for Link {
    /// No limit, no delay, no fault, and a queue of 256 KiB.
    fn default() -> Self {
        Self {
            rate: None,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0.0,
            reorder: 0.0,
            duplicate: 0.0,
            corrupt: 0.0,
            queue: 256 << 10,
        }
    }
}

/// The network. Cheap to clone. Sockets that were not joined by a link have a perfect one.
#[derive(Clone, Debug)]
pub struct Network {}

impl Network {
    /// An empty network: the same seed gives the same packets.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        todo!("{seed}")
    }

    /// A socket at this address.
    #[must_use]
    pub fn socket(&self, addr: SocketAddr) -> Arc<dyn Socket> {
        todo!("{addr}")
    }

    /// Sets the link between two addresses, both ways, from now on.
    pub fn link(&self, a: SocketAddr, b: SocketAddr, link: Link) {
        todo!("{a} {b} {link:?}")
    }

    /// Sets the link from one address to another, this way only, from now on.
    pub fn link_one_way(&self, from: SocketAddr, to: SocketAddr, link: Link) {
        todo!("{from} {to} {link:?}")
    }
}

/// An identity for simulated servers: always the same, with signatures of constant length, so that two runs differ in no
/// packet's size. Its key is public: never use it elsewhere.
#[must_use]
pub fn identity() -> Identity {
    todo!()
}
