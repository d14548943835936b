//! Operations done to a schedule, real or model, and what came of them as one number.
//!
//! Keeps the handles that the operations' targets are picked from. Called by tests and benches.

use std::collections::BTreeMap;

use super::{Op, Operations};
use crate::schedule::{DatagramId, Grant, GroupId, Schedule, StreamKey};

/// How much there is of what.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Groups not closed.
    pub groups: usize,
    /// Streams not closed.
    pub streams: usize,
}

/// A schedule, real or model, and the handles it has given out: turns each [`Op`] into a call, and each grant, eviction and
/// refusal into a number that depends on nothing but the sequence of operations.
#[derive(Debug)]
pub struct World<S> {
    /// The schedule under test.
    pub schedule: S,
    groups: Handles<GroupId>,
    streams: Handles<StreamKey>,
    datagrams: Handles<DatagramId>,
    late: Option<(Grant, usize)>,
    hash: u64,
}

impl<S: Operations> World<S> {
    /// With nothing open but the control group.
    pub fn new(schedule: S) -> Self {
        let mut groups = Handles::default();
        groups.add(Schedule::CONTROL);
        Self {
            schedule,
            groups,
            streams: Handles::default(),
            datagrams: Handles::default(),
            late: None,
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// A digest of every grant, eviction and refusal so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The number a group was given when it was opened: the same in every world that did the same operations.
    pub fn group_number(&self, group: GroupId) -> u64 {
        self.groups.ordinal(group)
    }

    /// Likewise of a stream.
    pub fn stream_number(&self, stream: StreamKey) -> u64 {
        self.streams.ordinal(stream)
    }

    /// Likewise of a datagram.
    pub fn datagram_number(&self, datagram: DatagramId) -> u64 {
        self.datagrams.ordinal(datagram)
    }

    /// What is open now.
    pub fn live(&self) -> Live {
        Live {
            groups: self.groups.live.len(),
            streams: self.streams.live.len(),
        }
    }

    /// Does one operation.
    pub fn apply(&mut self, op: Op) {
        let late = self.late.take();
        self.call(op);
        if let Some((grant, bytes)) = late {
            self.sent(grant, bytes);
        }
    }

    fn call(&mut self, op: Op) {
        match op {
            Op::SetQuantum { bytes } => self.schedule.set_quantum(bytes.into()),
            Op::OpenGroup { config } => self.groups.add(self.schedule.open_group(config)),
            Op::CloseGroup { group } => {
                let group = self.groups.pick(group);
                self.schedule.close_group(group);
                if group != Schedule::CONTROL {
                    self.groups.remove(group);
                }
            }
            Op::SetGroupPriority { group, priority } => {
                let group = self.groups.pick(group);
                self.schedule.set_group_priority(group, priority);
            }
            Op::OpenStream { group, order } => {
                let opened = self.schedule.open_stream(self.groups.pick(group), order);
                self.note(&[1, u64::from(opened.is_some())]);
                opened
                    .into_iter()
                    .for_each(|stream| self.streams.add(stream));
            }
            Op::PushDatagram { group, order, len } => self.push_datagram(group, order, len.into()),
            Op::RemoveDatagram { datagram } => {
                if let Some(datagram) = self.datagrams.try_pick(datagram) {
                    self.schedule.remove_datagram(datagram);
                    self.datagrams.remove(datagram);
                }
            }
            Op::Serve { budget, of_256 } => self.serve(budget, of_256, false),
            Op::ServeLate { budget } => self.serve(budget, 256, true),
            Op::Retransmit { group, bytes } => {
                let group = self.groups.pick(group);
                self.schedule.charge_retransmit(group, bytes.into());
            }
            Op::CloseStream { stream }
            | Op::SetStreamOrder { stream, .. }
            | Op::MoveStream { stream, .. }
            | Op::Push { stream, .. }
            | Op::Block { stream }
            | Op::Unblock { stream } => {
                if let Some(stream) = self.streams.try_pick(stream) {
                    self.call_on_stream(op, stream);
                }
            }
        }
    }

    fn call_on_stream(&mut self, op: Op, stream: StreamKey) {
        match op {
            Op::CloseStream { .. } => {
                self.schedule.close_stream(stream);
                self.streams.remove(stream);
            }
            Op::SetStreamOrder { order, .. } => self.schedule.set_stream_order(stream, order),
            Op::MoveStream { group, order, .. } => {
                let group = self.groups.pick(group);
                let moved = self.schedule.move_stream(stream, group, order);
                self.note(&[2, u64::from(moved)]);
            }
            Op::Push { bytes, fin, .. } => self.schedule.push(stream, bytes as usize, fin),
            Op::Block { .. } => self.schedule.block(stream),
            Op::Unblock { .. } => self.schedule.unblock(stream),
            _ => {}
        }
    }

    fn push_datagram(&mut self, group: u32, order: u64, len: usize) {
        let mut gone = Vec::new();
        let group = self.groups.pick(group);
        let queued = self
            .schedule
            .push_datagram(group, order, len, |id| gone.push(id));
        for id in gone {
            let ordinal = self.datagrams.remove(id);
            self.note(&[3, ordinal]);
        }
        self.note(&[4, u64::from(queued.is_some())]);
        queued.into_iter().for_each(|id| self.datagrams.add(id));
    }

    fn serve(&mut self, budget: u16, of_256: u16, late: bool) {
        let Some(grant) = self.schedule.pop(budget.into()) else {
            self.note(&[5]);
            return;
        };
        let bytes = match grant {
            Grant::Stream {
                key,
                group,
                max_bytes,
            } => {
                let stream = self.streams.ordinal(key);
                let group = self.groups.ordinal(group);
                self.note(&[6, stream, group, max_bytes as u64]);
                max_bytes * usize::from(of_256) / 256
            }
            Grant::Datagram { id, group, len } => {
                let datagram = self.datagrams.ordinal(id);
                let group = self.groups.ordinal(group);
                self.note(&[7, datagram, group, len as u64]);
                len
            }
        };
        if late {
            self.late = Some((grant, bytes));
        } else if of_256 > 0 {
            self.sent(grant, bytes);
        }
    }

    fn sent(&mut self, grant: Grant, bytes: usize) {
        self.schedule.sent(grant, bytes);
        if let Grant::Datagram { id, .. } = grant {
            self.datagrams.remove(id);
        }
    }

    fn note(&mut self, facts: &[u64]) {
        for fact in facts {
            self.hash = (self.hash ^ fact)
                .wrapping_mul(0x0000_0100_0000_01b3)
                .rotate_left(23);
        }
    }
}

/// Handles that are live or have lately left, and the number each was given when it came.
#[derive(Debug)]
struct Handles<K> {
    live: Vec<K>,
    gone: Vec<K>,
    ordinals: BTreeMap<K, u64>,
    next: u64,
}

impl<K> Default for Handles<K> {
    fn default() -> Self {
        Self {
            live: Vec::new(),
            gone: Vec::new(),
            ordinals: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<K: Copy + Ord> Handles<K> {
    fn add(&mut self, key: K) {
        self.live.push(key);
        self.ordinals.insert(key, self.next);
        self.next += 1;
    }

    fn remove(&mut self, key: K) -> u64 {
        if let Some(at) = self.live.iter().position(|&live| live == key) {
            self.live.swap_remove(at);
            self.gone.insert(0, key);
            self.gone.truncate(2);
        }
        self.ordinal(key)
    }

    fn ordinal(&self, key: K) -> u64 {
        self.ordinals.get(&key).copied().unwrap_or(u64::MAX)
    }

    fn try_pick(&self, at: u32) -> Option<K> {
        let count = self.live.len() + self.gone.len();
        let at = (at as usize).checked_rem(count)?;
        self.live.iter().chain(&self.gone).nth(at).copied()
    }
}

impl Handles<GroupId> {
    /// The control group never leaves, so there is always one.
    fn pick(&self, at: u32) -> GroupId {
        self.try_pick(at).unwrap_or(Schedule::CONTROL)
    }
}
