//! One PID: what waits, what its decoder holds, and what it may send in a slot.

use std::collections::VecDeque;

use crate::ts::layout::Share;
use crate::ts::packet::PACKET;
use crate::ts::slot::{SLOT, Slot};
use crate::ts::tstd::{Limits, TransportBuffer};

/// Payload of a packet, as the buffers behind the transport buffer count it at most.
pub(super) const PAYLOAD: u64 = PACKET as u64 - 4;

/// A lane.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) pid: u16,
    pub(super) limits: Limits,
    pub(super) goes_first: bool,
    /// Number of the first slot it may send in.
    opens: i64,
    queue: VecDeque<Unit>,
    /// Whole units sent and not decoded yet.
    held: VecDeque<Unit>,
    /// Packets of those and of the unit that is on its way.
    inside: u32,
    transport: TransportBuffer,
    /// What the slot being planned may still take, and has.
    room: u32,
    count: u32,
    /// Units completed in this slot that are decoded before the next one ends: their last packet, and when.
    due: Vec<(u32, i64)>,
}

/// An access unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) dts: i64,
    pub(super) packets: u32,
    pub(super) left: u32,
}

impl Lane {
    pub(super) fn new(pid: u16, limits: Limits, opens: i64) -> Self {
        Self {
            pid,
            limits,
            goes_first: false,
            opens,
            queue: VecDeque::new(),
            held: VecDeque::new(),
            inside: 0,
            transport: TransportBuffer::default(),
            room: 0,
            count: 0,
            due: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, dts: i64, packets: u32) {
        self.queue.push_back(Unit {
            dts,
            packets,
            left: packets,
        });
    }

    /// Decode time of the first unit.
    pub(super) fn head(&self) -> Option<i64> {
        self.queue.front().map(|unit| unit.dts)
    }

    /// What waits.
    pub(super) fn queue(&self) -> impl Iterator<Item = &Unit> {
        self.queue.iter()
    }

    /// What competes for the next packet: the time of the first unit, when it may go.
    pub(super) fn ready(&self, slot: Slot, lead: i64) -> Option<i64> {
        let dts = self.head().filter(|_| self.room > 0)?;
        if self.goes_first {
            return Some(i64::MIN);
        }
        let starts = dts.saturating_sub(self.limits.lead.min(lead));
        (starts <= slot.number * SLOT && self.opens <= slot.number).then_some(dts)
    }

    /// A new slot: what was decoded by its start has left. True when the first unit has to go beyond the limits.
    pub(super) fn begin(&mut self, slot: Slot, is_clock: bool) -> bool {
        let start = slot.start();
        while let Some(unit) = self.held.front().filter(|unit| unit.dts <= start) {
            self.inside = self.inside.saturating_sub(unit.packets);
            self.held.pop_front();
        }
        self.count = 0;
        self.due.clear();
        self.room = 0;
        let Some(&head) = self.queue.front() else {
            return false;
        };
        let reserve = if head.dts < slot.end() + SLOT {
            self.limits.reserve
        } else {
            0
        };
        self.room = self
            .transport_room(slot, is_clock)
            .min(self.buffer_room(slot, reserve));
        let last_chance = head.dts < slot.end() && self.room < head.left && !self.goes_first;
        if last_chance {
            self.room = head.left;
        }
        last_chance
    }

    fn transport_room(&self, slot: Slot, is_clock: bool) -> u32 {
        if self.limits.leak >= slot.rate.bits() {
            return u32::MAX;
        }
        let leaves = slot.leaves(self.limits.leak, slot.packets);
        self.transport
            .room(leaves)
            .saturating_sub(u32::from(is_clock))
    }

    /// How many packets the main buffer takes if they come as early as an even layout may place them.
    ///
    /// Of c packets in a slot of n at most ⌈x·c/n⌉ begin before position x, so where r have room before the unit decoded at
    /// x leaves, c may be at most r·n/x.
    fn buffer_room(&self, slot: Slot, reserve: u64) -> u32 {
        let Some(bytes) = self.limits.buffer else {
            return u32::MAX;
        };
        let whole = |bytes: u64| u32::try_from(bytes / PAYLOAD).unwrap_or(u32::MAX);
        let head = self.queue.front().map_or(0, |unit| unit.packets);
        // A unit larger than the buffer is sent all the same, once it is alone.
        let size = whole(bytes.saturating_add(reserve)).max(head);
        let end = slot.end();
        let mut room = i64::from(size) - i64::from(self.inside);
        let mut most = i64::MAX;
        let leaving = self
            .held
            .iter()
            .chain(&self.queue)
            .take_while(|unit| unit.dts < end);
        for unit in leaving {
            let before = i64::from(slot.begun_before(unit.dts));
            if before > 0 {
                most = most.min(room.max(0) * i64::from(slot.packets) / before);
            }
            room += i64::from(unit.packets);
        }
        u32::try_from(most.min(room).max(0)).unwrap_or(u32::MAX)
    }

    /// Takes packets of the first unit: as many as fit.
    pub(super) fn take(&mut self, budget: u32, slot: Slot, late: &mut u64) -> u32 {
        let Some(unit) = self.queue.front_mut() else {
            return 0;
        };
        let sent = unit.left.min(budget).min(self.room);
        unit.left -= sent;
        self.room -= sent;
        self.inside += sent;
        self.count += sent;
        if unit.left > 0 {
            return sent;
        }
        let unit = *unit;
        self.queue.pop_front();
        self.held.push_back(unit);
        if !self.goes_first {
            if unit.dts < slot.start() {
                *late += 1;
            } else if unit.dts < slot.end() {
                self.due.push((self.count - 1, unit.dts));
            }
        }
        sent
    }

    /// Ends the planning of a slot: how many packets the lane has in it and how they are spread. `doubt` is called with
    /// the index of a packet, and by how many positions it must be through, for units that may be late nonetheless.
    pub(super) fn close(
        &mut self,
        slot: Slot,
        is_clock: bool,
        mut doubt: impl FnMut(u32, u32),
    ) -> Share {
        let clock = u32::from(is_clock);
        let count = self.count + clock;
        let mut span = slot.packets;
        for &(index, dts) in &self.due {
            let by = u64::from(slot.through_by(dts));
            let nth = u64::from(index + clock) + 1;
            // The window of the n-th packet ends at ⌈n·s/c⌉.
            if (nth * u64::from(span)).div_ceil(u64::from(count)) > by {
                let narrow = (by * u64::from(count) / nth) as u32;
                if narrow >= count && self.may_bunch(slot, count, narrow) {
                    span = narrow;
                }
                doubt(index + clock, by as u32);
            }
        }
        let leaves = slot.leaves(self.limits.leak, slot.packets);
        self.transport.pass(count, leaves);
        Share { count, span }
    }

    /// Whether the transport buffer takes `count` packets within `span` positions.
    fn may_bunch(&self, slot: Slot, count: u32, span: u32) -> bool {
        self.limits.leak >= slot.rate.bits()
            || self.transport.room(slot.leaves(self.limits.leak, span)) >= count
    }
}
