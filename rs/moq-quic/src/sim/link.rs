//! One direction of a link: when, whether and how a packet arrives.
//!
//! A function of its settings, its chance and what it was given before; instants come in as values. Called by `network`.

use std::time::{Duration, Instant};

use super::rng::Rng;

/// How packets travel in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bytes a second, UDP payload. `None`: no limit.
    pub rate: Option<u64>,
    /// Time on the way.
    pub delay: Duration,
    /// Up to this much more, evenly spread; order is kept.
    pub jitter: Duration,
    /// Share of packets lost, 0 to 1. 1 cuts the link.
    pub loss: f64,
    /// Share of packets that take `delay` once more, and so arrive behind later ones.
    pub reorder: f64,
    /// Share of packets that arrive twice.
    pub duplicate: f64,
    /// Share of packets in which one bit is flipped.
    pub corrupt: f64,
    /// Bytes that may wait for their turn at `rate`; packets beyond are dropped.
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

/// What the link does to one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    pub(super) arrives: Instant,
    pub(super) twice: bool,
    /// The bit that is flipped.
    pub(super) flipped: Option<usize>,
}

/// A link at work.
#[derive(Debug)]
pub(super) struct Direction {
    pub(super) link: Link,
    rng: Rng,
    /// When the last byte it was given will have left.
    free: Option<Instant>,
    /// When the last packet that kept its order arrives.
    last: Option<Instant>,
}

impl Direction {
    pub(super) fn new(link: Link, seed: u64) -> Self {
        Self {
            link,
            rng: Rng::new(seed),
            free: None,
            last: None,
        }
    }

    /// Takes a packet. `None`: it is lost.
    pub(super) fn send(&mut self, now: Instant, len: usize) -> Option<Fate> {
        // As many draws whatever happens: what one packet meets does not depend on the settings for others.
        let [loss, reorder, duplicate, corrupt, jitter] = std::array::from_fn(|_| self.rng.share());
        let bit = self.rng.next() as usize % (len.max(1) * 8);
        let left = self.leave(now, len)?;
        let Link { delay, .. } = self.link;
        if loss < self.link.loss {
            return None;
        }
        let mut arrives = left + delay + self.link.jitter.mul_f64(jitter);
        if reorder < self.link.reorder {
            arrives += delay;
        } else {
            arrives = self.last.map_or(arrives, |last| arrives.max(last));
            self.last = Some(arrives);
        }
        Some(Fate {
            arrives,
            twice: duplicate < self.link.duplicate,
            flipped: (corrupt < self.link.corrupt).then_some(bit),
        })
    }

    /// When the packet will have left the queue. `None` if the queue is full.
    fn leave(&mut self, now: Instant, len: usize) -> Option<Instant> {
        let Some(rate) = self.link.rate else {
            return Some(now);
        };
        let rate = rate.max(1) as f64;
        let free = self.free.map_or(now, |free| free.max(now));
        let waiting = (free - now).as_secs_f64() * rate;
        if waiting + len as f64 > self.link.queue as f64 {
            return None;
        }
        let left = free + Duration::from_secs_f64(len as f64 / rate);
        self.free = Some(left);
        Some(left)
    }
}

#[cfg(test)]
mod tests;
