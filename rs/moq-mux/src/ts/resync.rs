//! Finds packets in bytes: any chunking, dirty start, loss of sync, strides of 188, 192 and 204.
//!
//! A sync byte alone proves nothing (it may lie in a payload), so a phase is taken only when the packets that follow
//! have theirs in place too (five in all, ISO/IEC 13818-1 annex G.1; three once the stride is known). While locked, a
//! damaged sync byte between good ones costs one packet. Called by the demultiplexer; knows nothing of what is in a
//! packet.

use super::packet::{PACKET, SYNC};

/// Distances between packets that are known: plain, with a 4-byte time stamp in front, with 16 bytes of parity behind.
/// Seen from the sync byte, the extra bytes of each come last.
const STRIDES: [usize; 3] = [188, 192, 204];

/// How many further packets must confirm the first sync byte, and a later one at the stride known by then.
const FIRST: usize = 4;
const AGAIN: usize = 2;

/// Enough bytes to confirm any candidate at any stride.
const WINDOW: usize = FIRST * 204 + 1;

/// The search for packets and what it remembers between chunks: less than a kilobyte.
#[derive(Debug, Default)]
pub struct Resync {
    stride: Option<usize>,
    locked: bool,
    carry: Vec<u8>,
    stats: ResyncStats,
}

/// What the search met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResyncStats {
    /// Packets handed out.
    pub packets: u64,
    /// Bytes that belonged to no packet.
    pub skipped: u64,
    /// Packets dropped for a damaged sync byte while their neighbours were in place.
    pub bad_sync: u64,
    /// Times the lock was lost.
    pub losses: u64,
}

impl Resync {
    /// What was met so far.
    pub fn stats(&self) -> ResyncStats {
        self.stats
    }

    /// Distance between packets, once known: 188, 192 or 204.
    pub fn stride(&self) -> Option<usize> {
        self.stride
    }

    /// Takes the next bytes and hands out every packet they complete. O(bytes); copies only what straddles chunks.
    pub fn push(&mut self, mut input: &[u8], mut each: impl FnMut(&[u8; PACKET])) {
        while !self.carry.is_empty() && !input.is_empty() {
            let goal = if self.locked {
                self.stride.unwrap_or(PACKET)
            } else {
                WINDOW
            };
            // A carry at its goal that still waits looks one packet further (see `packets`).
            let goal = if self.carry.len() < goal {
                goal
            } else {
                self.carry.len() + PACKET
            };
            let (head, rest) = input.split_at(input.len().min(goal - self.carry.len()));
            self.carry.extend_from_slice(head);
            input = rest;
            let carry = std::mem::take(&mut self.carry);
            let used = self.run(&carry, self.confirm(), &mut each);
            self.carry = carry;
            self.carry.drain(..used);
        }
        if !input.is_empty() {
            let used = self.run(input, self.confirm(), &mut each);
            self.carry.extend_from_slice(&input[used..]);
        }
    }

    /// The input has ended: hands out what can still be told to be packets, and forgets the phase.
    pub fn finish(&mut self, mut each: impl FnMut(&[u8; PACKET])) {
        let carry = std::mem::take(&mut self.carry);
        // Little is left to confirm with. An input this short is given the benefit, the tail of dirt is not.
        let mut used = 0;
        if self.stride.is_some() || self.stats.skipped == 0 {
            used = self.run(&carry, 1, &mut each);
        }
        // The last packet has no successor, and its stride may be cut short.
        if self.locked
            && let Some(packet) = carry[used..].first_chunk()
            && packet[0] == SYNC
        {
            self.stats.packets += 1;
            each(packet);
            used += PACKET;
        }
        self.stats.skipped += (carry.len() - used) as u64;
        self.locked = false;
    }

    fn confirm(&self) -> usize {
        if self.stride.is_some() { AGAIN } else { FIRST }
    }

    /// Works through `input` as far as it can be judged and returns how far that was.
    fn run(&mut self, input: &[u8], confirm: usize, each: &mut impl FnMut(&[u8; PACKET])) -> usize {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match self.stride.filter(|_| self.locked) {
                Some(stride) => {
                    at += self.packets(rest, stride, each);
                    if self.locked {
                        return at;
                    }
                }
                None => {
                    at += self.search(rest, confirm);
                    if !self.locked {
                        return at;
                    }
                }
            }
        }
    }

    /// Hands out packets until the lock is lost or the input is used up.
    fn packets(
        &mut self,
        input: &[u8],
        stride: usize,
        each: &mut impl FnMut(&[u8; PACKET]),
    ) -> usize {
        let mut at = 0;
        while let Some(packet) = input[at..].first_chunk::<PACKET>() {
            if packet[0] != SYNC {
                match confirmed(input, at, stride, AGAIN) {
                    None => return at,
                    Some(true) => self.stats.bad_sync += 1,
                    Some(false) => {
                        self.locked = false;
                        self.stats.losses += 1;
                        return at;
                    }
                }
            } else if input.len() - at < stride {
                return at;
            } else {
                self.stats.packets += 1;
                each(packet);
            }
            at += stride;
        }
        at
    }

    /// Skips to the first confirmed sync byte, or to the first one that cannot be judged yet.
    fn search(&mut self, input: &[u8], confirm: usize) -> usize {
        let strides = match &self.stride {
            Some(stride) => std::slice::from_ref(stride),
            None => &STRIDES[..],
        };
        let mut at = 0;
        while let Some(step) = memchr::memchr(SYNC, &input[at..]) {
            at += step;
            let mut undecided = false;
            for &stride in strides {
                match confirmed(input, at, stride, confirm) {
                    None => undecided = true,
                    Some(false) => {}
                    Some(true) => {
                        self.stride = Some(stride);
                        self.locked = true;
                        self.stats.skipped += at as u64;
                        return at;
                    }
                }
            }
            if undecided {
                self.stats.skipped += at as u64;
                return at;
            }
            at += 1;
        }
        self.stats.skipped += input.len() as u64;
        input.len()
    }
}

/// Whether the next `count` packets behind the one at `at` have their sync bytes; `None` when the input ends first.
fn confirmed(input: &[u8], at: usize, stride: usize, count: usize) -> Option<bool> {
    for next in (1..=count).map(|n| at + n * stride) {
        if *input.get(next)? != SYNC {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests;
