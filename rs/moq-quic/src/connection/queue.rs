//! One send stream as we know it: what waits here, what quinn-proto has, what was on the wire.
//!
//! Owned by `connection`. May not know the schedule's rules or other streams.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use quinn_proto::StreamId;

use crate::schedule::{GroupId, StreamKey};

use super::unsent::Tier;

/// Where a stream is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// More may be written.
    Open,
    /// Finished by the application; the end may still wait here.
    Finished,
    /// The end has been handed over.
    Ended,
    /// The end and all before it is acknowledged.
    Acked,
    /// Abandoned by us.
    Reset,
    /// Abandoned because the peer stopped it, with its code.
    Stopped(u64),
}

impl Phase {
    /// Whether quinn-proto still has, or may get, bytes of it.
    pub(super) fn live(self) -> bool {
        matches!(self, Self::Open | Self::Finished | Self::Ended)
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    pub(super) key: StreamKey,
    pub(super) group: GroupId,
    pub(super) phase: Phase,
    /// The application's handle is gone: the state goes when the stream is over.
    pub(super) released: bool,
    /// A writer waits for room.
    pub(super) full: bool,
    /// Its order in the group.
    pub(super) order: u64,
    /// Tier and step at which it was last handed over: quinn-proto's priority for it.
    pub(super) tier: Tier,
    pub(super) step: u16,
    /// What it sent last was lost before.
    pub(super) recovering: bool,
    chunks: VecDeque<Bytes>,
    /// Bytes in `chunks`.
    pub(super) queued: usize,
    /// Bytes given to quinn-proto.
    pub(super) written: u64,
    /// The end of what was in a packet.
    pub(super) sent: u64,
    /// The end of the stream was in a packet.
    pub(super) fin_sent: bool,
}

impl Stream {
    pub(super) fn new(id: StreamId, key: StreamKey, group: GroupId, order: u64) -> Self {
        Self {
            id,
            key,
            group,
            phase: Phase::Open,
            released: false,
            full: false,
            order,
            tier: Tier::NONE,
            step: 0,
            recovering: false,
            chunks: VecDeque::new(),
            queued: 0,
            written: 0,
            sent: 0,
            fin_sent: false,
        }
    }

    pub(super) fn push(&mut self, chunk: Bytes) {
        self.queued += chunk.len();
        self.chunks.push_back(chunk);
    }

    /// Gives the first `max` bytes to `write`, in the pieces they were written in, until it takes no more (`None`).
    /// Says how many it took; they are gone from the queue.
    pub(super) fn take(
        &mut self,
        max: usize,
        mut write: impl FnMut(&mut [Bytes]) -> Option<usize>,
    ) -> usize {
        let mut taken = 0;
        while taken < max {
            let Some(front) = self.chunks.front_mut() else {
                break;
            };
            let len = front.len().min(max - taken);
            // A piece taken in part is offered again: only a refusal makes quinn-proto tell us of room later.
            let Some(wrote) = write(&mut [front.slice(..len)]) else {
                break;
            };
            front.advance(wrote);
            if front.is_empty() {
                self.chunks.pop_front();
            }
            taken += wrote;
        }
        if self.chunks.is_empty() && self.chunks.capacity() > 16 {
            self.chunks = VecDeque::new();
        }
        self.queued -= taken;
        self.written += taken as u64;
        taken
    }

    /// Forgets what waits here. Says how many bytes that was.
    pub(super) fn clear(&mut self) -> usize {
        self.chunks = VecDeque::new();
        std::mem::take(&mut self.queued)
    }

    /// Bytes quinn-proto has and has not sent.
    pub(super) fn unsent(&self) -> u64 {
        self.written - self.sent
    }

    /// Whether quinn-proto has a first transmission of it to do.
    pub(super) fn waits_in_quinn(&self) -> bool {
        self.unsent() > 0 || (self.phase == Phase::Ended && !self.fin_sent)
    }
}
