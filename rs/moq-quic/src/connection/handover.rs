//! Handing over just in time: when quinn-proto is given what.
//!
//! quinn-proto sends what it was given in its own order and can't give it back. So it is given what the next call to the
//! network can carry and one packet more: with less it would think that the application has nothing to send and stop
//! growing its window. Called by `Connection::poll_transmit`. May not know the schedule's rules.

use std::time::Duration;

use bytes::Bytes;
use quinn_proto::{VarInt, WriteError};

use crate::schedule::{DatagramId, Grant, GroupId};

use super::{
    Connection, Event,
    queue::Phase,
    unsent::{MAX_STEP, Tier},
};

/// What a key of the schedule stands for.
#[derive(Debug, Default)]
pub(super) enum Item {
    #[default]
    Nothing,
    /// A place in the slab of streams.
    Stream(usize),
    /// Its group and its bytes.
    Datagram(GroupId, Bytes),
}

/// Bytes of one stream that were granted in a row, to be written at once: few large pieces are cheaper to send than many.
#[derive(Clone, Copy)]
struct Run {
    stream: usize,
    tier: Tier,
    bytes: usize,
}

/// The tag of every AEAD of QUIC (RFC 9001 §5.3).
const TAG: usize = 16;

/// Type, stream id below 2^30, offset: what stands before the bytes of a STREAM frame that ends its packet.
const MAX_STREAM_HEADER: usize = 1 + 4 + 8;

/// The length of a variable-length integer (RFC 9000 §16).
fn varint_len(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

impl Connection {
    /// Gives quinn-proto what the next call to the network can carry and one packet more. Says how many packets that
    /// call should carry at most.
    pub(super) fn hand_over(&mut self, segments: usize) -> usize {
        if self.lost.is_some() || self.inner.is_handshaking() {
            return segments.max(1);
        }
        self.note_mtu();
        let mtu = u64::from(self.mtu);
        let window = self.inner.congestion_state().window();
        let room = window.saturating_sub(self.flight.in_flight()) / mtu;
        let packets = room.clamp(1, self.batch_now(window).min(segments).max(1) as u64);
        // What goes before anything new of a tier, and what there is in all: on a slow path the first is less, so that
        // a higher tier need not wait for what a lower one has there.
        let target = (packets + 1) * mtu;
        let limit = (self.batch as u64 + 1) * mtu;
        if self.hungry && !self.stirred {
            return packets as usize;
        }
        self.hungry = false;
        self.stirred = false;
        let mut run: Option<Run> = None;
        while let Some(grant) = self.schedule.pop(target as usize) {
            match grant {
                Grant::Stream {
                    key,
                    group,
                    max_bytes,
                } => {
                    let Some(&Item::Stream(stream)) = self.items.get(key.index()) else {
                        self.schedule.close_stream(key);
                        continue;
                    };
                    if run.is_some_and(|run| run.stream != stream) {
                        self.flush(run.take());
                    }
                    let before = run.map_or(0, |run| run.bytes);
                    let tier = Tier::of(group, &self.schedule);
                    let ahead = self.unsent.ahead(tier) + before as u64;
                    let held = self.unsent.held() + before as u64;
                    let room = target.saturating_sub(ahead).min(limit.saturating_sub(held));
                    let bytes = self.fill(stream, before, max_bytes);
                    // Rather a little less than the target than part of a turn: it would end in the middle of a packet.
                    let enough = room == 0 || (bytes as u64 > room && ahead > packets * mtu);
                    if enough || (run.is_none() && !self.keeps_order(stream, tier)) {
                        self.flush(run);
                        return packets as usize;
                    }
                    let bytes = bytes.min(room as usize);
                    self.schedule.sent(grant, bytes);
                    run = Some(Run {
                        stream,
                        tier,
                        bytes: before + bytes,
                    });
                }
                Grant::Datagram { id, group, len } => {
                    self.flush(run.take());
                    // quinn-proto sends datagrams before streams, so what was granted earlier has to be gone, but for
                    // what shares the packet.
                    let held = self.unsent.held();
                    if held > mtu {
                        return (held / mtu).min(packets) as usize;
                    }
                    self.hand_over_datagram(id, group, len);
                }
            }
        }
        self.hungry = true;
        self.flush(run);
        packets as usize
    }

    /// How many packets one call to the network should carry: what the path takes in about a millisecond. What is handed
    /// over can't be overtaken, so on a slow path it should be little.
    fn batch_now(&self, window: u64) -> usize {
        let rtt = self.inner.rtt().max(Duration::from_micros(1));
        let per_ms = u128::from(window) * 1_000_000 / rtt.as_nanos();
        let packets = per_ms / u128::from(self.mtu.max(1));
        usize::try_from(packets)
            .unwrap_or(usize::MAX)
            .clamp(1, self.batch)
    }

    /// The quantum of the schedule is the least that a packet full of one stream carries of it.
    fn note_mtu(&mut self) {
        self.mtu = self.inner.current_mtu();
        let quantum = self
            .frame_room(u64::from(u16::MAX))
            .saturating_sub(MAX_STREAM_HEADER);
        if self.quantum != quantum {
            self.quantum = quantum;
            self.schedule.set_quantum(quantum);
        }
    }

    /// Bytes of frames that fit the packet after so many others.
    fn frame_room(&self, after: u64) -> usize {
        usize::from(self.mtu).saturating_sub(self.flight.header(after) + TAG)
    }

    /// Rounds a turn of whole packets up to what just fills them: with a byte less or more quinn-proto begins another
    /// frame, and every packet would carry two.
    fn fill(&self, index: usize, before: usize, max_bytes: usize) -> usize {
        let stream = &self.streams[index];
        let packets = max_bytes / self.quantum.max(1);
        let offset = stream.written + (before + max_bytes) as u64;
        let header = 1 + varint_len(VarInt::from(stream.id).into_inner()) + varint_len(offset);
        let after = self.unsent.held() / u64::from(self.mtu);
        let filled = packets * self.frame_room(after).saturating_sub(header);
        if packets == 0 || before > 0 || before + filled > stream.queued {
            return max_bytes;
        }
        filled
    }

    /// Writes a run into quinn-proto, with the end of the stream if it is reached.
    fn flush(&mut self, run: Option<Run>) {
        let Some(Run {
            stream: index,
            tier,
            bytes,
        }) = run
        else {
            return;
        };
        let step = self.step_of(index, tier);
        let stream = &mut self.streams[index];
        self.unsent.remove(stream);
        let mut quinn = self.inner.send_stream(stream.id);
        if (stream.tier, stream.step) != (tier, step) {
            // Its only error is that the stream is gone; the write will say so.
            let _ = quinn.set_priority(tier.priority(step));
            stream.tier = tier;
            stream.step = step;
        }
        let taken = stream.take(bytes, |chunks| match quinn.write_chunks(chunks) {
            Ok(written) => Some(written.bytes),
            Err(WriteError::Blocked | WriteError::Stopped(_) | WriteError::ClosedStream) => None,
        });
        if taken < bytes {
            self.schedule.push(stream.key, bytes - taken, false);
            self.schedule.block(stream.key);
        } else if stream.phase == Phase::Finished && stream.queued == 0 {
            // Its only errors are a stop, which is on its way to us, and that the stream is gone.
            let _ = quinn.finish();
            stream.phase = Phase::Ended;
        }
        self.unsent.add(stream);
        self.unsent.set_step(tier, step);
        self.unsent.queued -= taken as u64;
        if let Some(book) = self.groups.get_mut(stream.group) {
            book.last = Some((stream.id, index));
            book.stats.queued -= taken as u64;
            book.stats.handed_over += taken as u64;
        }
        if stream.full && stream.queued <= self.high_water / 2 {
            stream.full = false;
            self.events.push_back(Event::Writable(stream.id));
        }
    }

    /// Whether what a stream is given now comes behind what others were given before. Not while it has something there
    /// from before them: then it has to be sent first.
    fn keeps_order(&self, index: usize, tier: Tier) -> bool {
        let stream = &self.streams[index];
        let step = self.unsent.step(tier);
        let overtakes = stream.waits_in_quinn() && stream.tier == tier && stream.step < step;
        step < MAX_STEP && !overtakes
    }

    /// Where a stream's next bytes stand in their tier: behind all of its group that the schedule put before it, beside
    /// those it takes turns with.
    fn step_of(&self, index: usize, tier: Tier) -> u16 {
        let stream = &self.streams[index];
        let step = self.unsent.step(tier);
        let Some(book) = self.groups.get(stream.group) else {
            return step;
        };
        let last = book.last.and_then(|(id, index)| {
            let last = self.streams.get(index)?;
            (last.id == id && id != stream.id && last.waits_in_quinn()).then_some(last)
        });
        let behind = last
            .is_some_and(|last| last.tier == tier && (last.order != stream.order || book.unfair));
        step + u16::from(behind)
    }

    fn hand_over_datagram(&mut self, id: DatagramId, group: GroupId, len: usize) {
        let item = self.items.get_mut(id.index()).map(std::mem::take);
        let Some(Item::Datagram(_, data)) = item else {
            self.schedule.remove_datagram(id);
            return;
        };
        self.unsent.queued -= len as u64;
        self.groups.book(group, |stats| stats.queued -= len as u64);
        // The path may take less than when it was queued.
        if self.inner.datagrams().send(data, false).is_err() {
            self.schedule.remove_datagram(id);
            self.evicted_datagrams += 1;
            self.groups.book(group, |stats| stats.evicted += len as u64);
            return;
        }
        self.schedule.sent(Grant::Datagram { id, group, len }, len);
        self.unsent.add_datagram(group, len as u64);
        self.groups
            .book(group, |stats| stats.handed_over += len as u64);
    }
}
