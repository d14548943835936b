//! Handing over just in time: how much quinn-proto may hold, and the books of what it put in packets.
//!
//! quinn-proto sends what it was given in its own order and can't give it back. So it is given what the next call to the
//! network can carry and one packet more: with less it would think that the application has nothing to send and stop
//! growing its window. Called by `Connection::poll_transmit`. May not know the schedule's rules.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use quinn_proto::{StreamId, VarInt, WriteError};

use crate::schedule::{DatagramId, Grant, GroupId, Schedule};

use super::{Connection, Event, Frame, Stream, queue::Phase};

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

/// Bytes that no packet has carried yet.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    /// Waiting here: what the schedule decides about.
    pub(super) queued: u64,
    /// Stream bytes in quinn-proto.
    streams: u64,
    /// Streams with something in quinn-proto that was never sent, if only their end.
    frames: u64,
    /// Datagrams in quinn-proto, oldest first.
    datagrams: VecDeque<(GroupId, u64)>,
    datagram_bytes: u64,
}

/// What the header of a STREAM frame takes, about: no bound depends on it being exact.
const FRAME_HEADER: u64 = 8;

impl Unsent {
    /// Application bytes in quinn-proto.
    pub(super) fn bytes(&self) -> u64 {
        self.streams + self.datagram_bytes
    }

    /// Bytes of packets that it takes to send what quinn-proto has.
    fn held(&self) -> u64 {
        self.bytes() + FRAME_HEADER * (self.frames + self.datagrams.len() as u64)
    }

    /// Forgets a stream that was abandoned.
    pub(super) fn forget(&mut self, stream: &Stream) {
        self.streams -= stream.unsent();
        self.frames -= u64::from(stream.waits_in_quinn());
    }
}

/// Bytes of one stream that were granted in a row, to be written at once: few large pieces are cheaper to send than many.
#[derive(Clone, Copy)]
struct Run {
    stream: usize,
    bytes: usize,
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
        let target = (packets + 1) * mtu;
        let mut run: Option<Run> = None;
        loop {
            let pending = run.map_or(0, |run| run.bytes) as u64;
            let budget = target.saturating_sub(self.unsent.held() + pending);
            match self.schedule.pop(budget as usize) {
                Some(Grant::Stream {
                    key,
                    group,
                    max_bytes,
                }) => {
                    let Some(Item::Stream(stream)) = self.items.get(key.index()) else {
                        self.schedule.close_stream(key);
                        continue;
                    };
                    let stream = *stream;
                    if run.is_some_and(|run| run.stream != stream) {
                        self.flush(run.take());
                    }
                    let bytes = run.map_or(0, |run| run.bytes) + max_bytes;
                    self.schedule.sent(
                        Grant::Stream {
                            key,
                            group,
                            max_bytes,
                        },
                        max_bytes,
                    );
                    run = Some(Run { stream, bytes });
                }
                Some(Grant::Datagram { id, group, len }) => {
                    self.flush(run.take());
                    // quinn-proto sends datagrams before streams, so what was granted earlier has to be gone, but for
                    // what shares the packet.
                    if self.unsent.held() > mtu {
                        self.hungry = false;
                        return (self.unsent.held() / mtu).min(packets) as usize;
                    }
                    self.hand_over_datagram(id, group, len);
                }
                None => {
                    self.hungry = budget > 0;
                    break;
                }
            }
        }
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

    /// The quantum of the schedule is what a packet carries of a stream.
    fn note_mtu(&mut self) {
        let mtu = self.inner.current_mtu();
        if self.mtu == mtu {
            return;
        }
        /// Packet header and tag, and the header of a STREAM frame.
        const OVERHEAD: usize = 11 + 16 + 12;
        self.mtu = mtu;
        self.schedule
            .set_quantum(usize::from(mtu).saturating_sub(OVERHEAD));
    }

    /// Writes a run into quinn-proto, with the end of the stream if it is reached.
    fn flush(&mut self, run: Option<Run>) {
        let Some(Run {
            stream: index,
            bytes,
        }) = run
        else {
            return;
        };
        let stream = &mut self.streams[index];
        let waited = stream.waits_in_quinn();
        let tier = match stream.group {
            Schedule::CONTROL => i32::MAX,
            group => self.schedule.priority(group).map_or(0, i32::from),
        };
        let mut quinn = self.inner.send_stream(stream.id);
        if stream.tier != Some(tier) {
            // Its only error is that the stream is gone; the write will say so.
            let _ = quinn.set_priority(tier);
            stream.tier = Some(tier);
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
        self.unsent.queued -= taken as u64;
        self.unsent.streams += taken as u64;
        self.unsent.frames += u64::from(stream.waits_in_quinn()) - u64::from(waited);
        self.groups.book(stream.group, |stats| {
            stats.queued -= taken as u64;
            stats.handed_over += taken as u64;
        });
        if stream.full && stream.queued <= self.high_water / 2 {
            stream.full = false;
            self.events.push_back(Event::Writable(stream.id));
        }
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
        self.unsent.datagrams.push_back((group, len as u64));
        self.unsent.datagram_bytes += len as u64;
        self.groups
            .book(group, |stats| stats.handed_over += len as u64);
    }

    /// Books what the last packets carried.
    pub(super) fn account(&mut self) {
        let flight = self.flight.clone();
        let mut log = flight.log();
        for frame in log.iter() {
            match *frame {
                Frame::Stream {
                    id,
                    offset,
                    len,
                    fin,
                } => {
                    let id = stream_id(id);
                    self.on_stream_sent(id, offset, len, fin);
                }
                Frame::Datagram { len } => self.on_datagram_sent(len),
                Frame::Reset { .. } => {}
            }
        }
        match &mut self.wire {
            Some(wire) => wire.append(&mut log),
            None => log.clear(),
        }
    }

    fn on_stream_sent(&mut self, id: StreamId, offset: u64, len: u64, fin: bool) {
        let Some(&index) = self.ids.get(&id) else {
            return;
        };
        let stream = &mut self.streams[index];
        let waited = stream.waits_in_quinn();
        let new = (offset + len).saturating_sub(stream.sent).min(len);
        stream.sent += new;
        stream.fin_sent |= fin;
        self.unsent.streams -= new;
        self.unsent.frames -= u64::from(waited) - u64::from(stream.waits_in_quinn());
        let again = len - new;
        self.groups.book(stream.group, |stats| {
            stats.sent += new;
            stats.retransmitted += again;
        });
        if again > 0 {
            self.retransmitted += again;
            self.schedule
                .charge_retransmit(stream.group, again as usize);
        }
    }

    fn on_datagram_sent(&mut self, len: u64) {
        // quinn-proto drops those that no longer fit a smaller path: step over them.
        while let Some((group, queued)) = self.unsent.datagrams.pop_front() {
            self.unsent.datagram_bytes -= queued;
            if queued == len {
                self.groups.book(group, |stats| stats.sent += len);
                return;
            }
            self.evicted_datagrams += 1;
            self.groups.book(group, |stats| stats.evicted += queued);
        }
    }
}

/// A stream id as on the wire.
pub(super) fn stream_id(id: u64) -> StreamId {
    VarInt::from_u64(id).unwrap_or(VarInt::MAX).into()
}
