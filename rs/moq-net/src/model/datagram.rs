//! One-frame groups sent unreliably, and the short ring they wait in.
//!
//! Owns the ring: 64 places, the oldest goes, the writer never waits. Called by the track with its lock held. Datagrams
//! share the sequence space of groups but are not cached: a reader sees those sent after it subscribed. What waits is
//! charged to the pool, but never evicted by it: a ring is small.

use std::collections::VecDeque;

use bytes::Bytes;

use super::Pool;
use crate::Timestamp;

/// Largest datagram payload, in bytes.
pub const MAX_DATAGRAM_BYTES: usize = 1200;

/// How many datagrams wait for slow readers.
const RING: usize = 64;

/// What a waiting datagram is charged beside its payload.
const OVERHEAD: u64 = 96;

/// A datagram of a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its place in the sequence space it shares with groups.
    pub sequence: u64,
    /// Presentation time, in the track's timescale.
    pub timestamp: Timestamp,
    /// The payload, at most [`MAX_DATAGRAM_BYTES`].
    pub payload: Bytes,
}

/// See the file's head.
#[derive(Debug)]
pub(super) struct Ring {
    pool: Pool,
    /// Position of the first datagram here; positions only grow.
    first: u64,
    waiting: VecDeque<Datagram>,
}

impl Ring {
    pub(super) const fn new(pool: Pool) -> Self {
        Self {
            pool,
            first: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Where a new reader starts: after everything here.
    pub(super) fn end(&self) -> u64 {
        self.first + self.waiting.len() as u64
    }

    pub(super) fn push(&mut self, datagram: Datagram) {
        if self.waiting.len() == RING {
            self.first += 1;
            let oldest = self.waiting.pop_front();
            oldest
                .iter()
                .for_each(|oldest| self.pool.release(charge(oldest)));
        }
        self.pool.charge(charge(&datagram));
        self.waiting.push_back(datagram);
    }

    /// The first datagram at or after `position`, and its position.
    pub(super) fn at_or_after(&self, position: u64) -> Option<(u64, &Datagram)> {
        let position = position.max(self.first);
        let index = usize::try_from(position - self.first).ok()?;
        self.waiting.get(index).map(|datagram| (position, datagram))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.waiting
            .iter()
            .for_each(|datagram| self.pool.release(charge(datagram)));
    }
}

fn charge(datagram: &Datagram) -> u64 {
    datagram.payload.len() as u64 + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(sequence: u64) -> Datagram {
        Datagram {
            sequence,
            timestamp: Timestamp::ZERO,
            payload: Bytes::new(),
        }
    }

    #[test]
    fn the_oldest_goes_when_the_ring_is_full() {
        let pool = Pool::default();
        let mut ring = Ring::new(pool.clone());
        for sequence in 0..RING as u64 + 3 {
            ring.push(datagram(sequence));
        }
        assert_eq!(ring.at_or_after(0), Some((3, &datagram(3))));
        assert_eq!(ring.end(), RING as u64 + 3);
        assert_eq!(ring.at_or_after(ring.end()), None);
        assert_eq!(pool.used(), RING as u64 * OVERHEAD);
        drop(ring);
        assert_eq!(pool.used(), 0);
    }
}
