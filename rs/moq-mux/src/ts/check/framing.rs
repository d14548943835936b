//! Finds the packets in bytes and counts what sync was lost: TR 101 290 checks 1.1 and 1.2.
//!
//! Locks on five sync bytes in a row at a distance of 188, 192 or 204 (or on all there are, in a shorter file), and
//! loses the lock after two bad ones in a row. A single bad one costs its packet. Knows nothing of what packets hold.

/// Length of a packet in bytes.
pub(super) const LEN: usize = 188;

const SYNC: u8 = 0x47;

/// Distances of packets: plain, with an arrival time in front, with Reed-Solomon parity behind.
const STRIDES: [usize; 3] = [188, 192, 204];

/// Good sync bytes that make a lock, bad ones that end it.
const ACQUIRE: usize = 5;
const LOSE: u32 = 2;

/// Turns chunks into packets.
#[derive(Debug, Default)]
pub(super) struct Framing {
    buffer: Vec<u8>,
    stride: Option<usize>,
    /// Bad sync bytes in a row.
    bad: u32,
    /// Whether there has been a lock before.
    locked_once: bool,
    counts: Counts,
}

/// What finding packets met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Bytes seen.
    pub(super) bytes: u64,
    /// Bytes that belong to no packet.
    pub(super) skipped: u64,
    /// Locks lost.
    pub(super) losses: u64,
    /// Sync bytes that were not 0x47.
    pub(super) bad_sync: u64,
}

/// One step of the stream.
pub(super) enum Step<'a> {
    /// The next packet.
    Packet(&'a [u8; LEN]),
    /// This many bytes that are no packet, each as long on the wire as any other.
    Skipped(usize),
    /// A sync byte was bad; its packet is skipped.
    BadSync,
    /// The lock was lost.
    Lost,
}

impl Framing {
    /// Takes the next bytes, cut anywhere, and hands out what they complete. O(bytes).
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Step<'_>)) {
        self.counts.bytes += bytes.len() as u64;
        let mut bytes = bytes;
        if !self.buffer.is_empty() {
            // Enough for a decision, then go on in the caller's bytes if that used the rest up.
            let mut buffer = std::mem::take(&mut self.buffer);
            let old = buffer.len();
            let (head, tail) = bytes.split_at(bytes.len().min(ACQUIRE * STRIDES[2] * 2));
            buffer.extend_from_slice(head);
            let used = self.walk(&buffer, false, &mut each);
            if used < old || tail.is_empty() {
                buffer.drain(..used);
                buffer.extend_from_slice(tail);
                let used = self.walk(&buffer, false, &mut each);
                buffer.drain(..used);
                self.buffer = buffer;
                return;
            }
            bytes = &bytes[used - old..];
        }
        let used = self.walk(bytes, false, &mut each);
        self.buffer.extend_from_slice(&bytes[used..]);
    }

    /// Nothing follows: takes what is left, even without a full run of sync bytes.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Step<'_>)) {
        let buffer = std::mem::take(&mut self.buffer);
        let used = self.walk(&buffer, true, &mut each);
        self.skip(buffer.len() - used, &mut each);
    }

    /// What was met so far.
    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Distance of packets, once known.
    pub(super) fn stride(&self) -> Option<usize> {
        self.stride
    }

    fn walk(&mut self, bytes: &[u8], last: bool, each: &mut impl FnMut(Step<'_>)) -> usize {
        let mut at = 0;
        loop {
            let Some(stride) = self.stride else {
                let Some((offset, stride)) = acquire(&bytes[at..], last) else {
                    // Keep what might be the start of a run.
                    let keep = (ACQUIRE * STRIDES[2]).min(bytes.len() - at);
                    let drop = bytes.len() - at - keep;
                    self.skip(drop, each);
                    return at + drop;
                };
                self.skip(offset, each);
                at += offset;
                self.stride = Some(stride);
                self.bad = 0;
                self.locked_once = true;
                continue;
            };
            // The arrival time of 192-byte packets lies in front: it counts to the packet before.
            let rest = &bytes[at..];
            let Some(packet) = rest
                .first_chunk::<LEN>()
                .filter(|_| last || rest.len() >= stride)
            else {
                return at;
            };
            if packet[0] == SYNC {
                self.bad = 0;
                each(Step::Packet(packet));
            } else {
                self.bad += 1;
                self.counts.bad_sync += 1;
                each(Step::BadSync);
                if self.bad >= LOSE {
                    self.counts.losses += 1;
                    self.stride = None;
                    each(Step::Lost);
                    continue;
                }
                self.skip(LEN, each);
            }
            at += stride.min(bytes.len() - at);
        }
    }

    fn skip(&mut self, len: usize, each: &mut impl FnMut(Step<'_>)) {
        if len > 0 {
            self.counts.skipped += len as u64;
            each(Step::Skipped(len));
        }
    }
}

/// Where packets start and how far apart they are.
fn acquire(bytes: &[u8], last: bool) -> Option<(usize, usize)> {
    let run = |from: usize, stride: usize| {
        (0..ACQUIRE)
            .map(|n| from + n * stride)
            .take_while(|&at| at + LEN <= bytes.len() || at < bytes.len() && !last)
            .map(|at| bytes[at] == SYNC)
            .try_fold(0, |count, good| good.then_some(count + 1))
    };
    memchr::memchr_iter(SYNC, bytes).find_map(|at| {
        let stride = STRIDES.into_iter().find(|&stride| match run(at, stride) {
            Some(ACQUIRE) => true,
            Some(count) => last && count > 0,
            None => false,
        })?;
        Some((at, stride))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(packets: usize, stride: usize) -> Vec<u8> {
        (0..packets)
            .flat_map(|n| {
                let mut packet = vec![n as u8 | 0x80; stride];
                packet[0] = SYNC;
                packet
            })
            .collect()
    }

    fn walk(bytes: &[u8], chunk: usize) -> (Vec<u8>, Counts) {
        let mut framing = Framing::default();
        let mut seen = Vec::new();
        let mut take = |step: Step<'_>| {
            if let Step::Packet(packet) = step {
                seen.push(packet[1]);
            }
        };
        for chunk in bytes.chunks(chunk) {
            framing.push(chunk, &mut take);
        }
        framing.finish(&mut take);
        (seen, framing.counts())
    }

    proptest! {
        #[test]
        fn any_chunking_finds_every_packet(
            packets in 1..60usize,
            stride in prop::sample::select(&STRIDES[..]),
            dirt in 0..300usize,
            chunk in 1..3000usize,
        ) {
            let bytes = [vec![0x11; dirt], stream(packets, stride)].concat();
            let (seen, counts) = walk(&bytes, chunk);
            let all: Vec<u8> = (0..packets).map(|n| n as u8 | 0x80).collect();
            prop_assert_eq!(seen, all);
            prop_assert_eq!((counts.losses, counts.bad_sync), (0, 0));
        }

        #[test]
        fn hostile_bytes_are_counted(bytes in prop::collection::vec(prop_oneof![Just(SYNC), any::<u8>()], 0..4000), chunk in 1..999usize) {
            let (seen, counts) = walk(&bytes, chunk);
            prop_assert_eq!(counts.bytes, bytes.len() as u64);
            prop_assert!(seen.len() * LEN <= bytes.len());
        }
    }

    #[test]
    fn one_bad_sync_byte_costs_a_packet_two_cost_the_lock() {
        let mut bytes = stream(20, LEN);
        bytes[5 * LEN] = 0;
        let (seen, counts) = walk(&bytes, 1000);
        assert_eq!((seen.len(), counts.losses, counts.bad_sync), (19, 0, 1));
        bytes[6 * LEN] = 0;
        let (seen, counts) = walk(&bytes, 1000);
        assert_eq!((seen.len(), counts.losses, counts.bad_sync), (18, 1, 2));
    }
}
