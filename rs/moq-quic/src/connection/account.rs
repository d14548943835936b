//! The books of what quinn-proto put in packets.
//!
//! Called by `Connection::poll_transmit` after each call, with what the tap noted.

use quinn_proto::{StreamId, VarInt};

use super::{Connection, Frame};

impl Connection {
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
        self.unsent.remove(stream);
        let new = (offset + len).saturating_sub(stream.sent).min(len);
        let again = len - new;
        stream.sent += new;
        stream.fin_sent |= fin;
        stream.recovering = again > 0;
        self.unsent.add(stream);
        if stream.step > 0 && !stream.waits_in_quinn() {
            // Whatever of it is lost goes before what is new in its tier.
            stream.step = 0;
            let _ = self
                .inner
                .send_stream(id)
                .set_priority(stream.tier.priority(0));
        }
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
        while let Some((group, queued)) = self.unsent.next_datagram() {
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
