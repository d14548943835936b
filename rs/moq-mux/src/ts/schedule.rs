//! Which packets go into a slot: earliest deadline first, as far as the decoder's buffers allow.
//!
//! Each lane is a PID and keeps its own order. A unit has to be complete before the slot its decode time lies in; it may
//! be sent up to the lead before. Deadlines decide across lanes, ties go to the lower lane, so the outcome depends on
//! decode times and never on who arrived first. Called by the multiplexer once a slot; knows only numbers. Times are
//! ticks of 27 MHz.

use std::collections::VecDeque;

use super::packet::PACKET;
use super::slot::SLOT;
use super::tstd::Limits;

/// Payload of a packet, as the buffers behind the transport buffer count it at most.
const PAYLOAD: u64 = PACKET as u64 - 4;

/// A decoder buffer below this many bytes fills long before the lead is over …
const SMALL: u64 = 64 << 10;

/// … so such a lane is sent this early at most, in ticks of 27 MHz (200 ms): sent as early as video, its first units would
/// fill the buffer at once and the lane fall silent until the first is decoded (700 ms at most: TR 101 290 check 2.5).
const SMALL_LEAD: i64 = 5_400_000;

/// All lanes of a multiplex.
#[derive(Debug)]
pub struct Schedule {
    lanes: Vec<Lane>,
    lead: i64,
    late: u64,
}

/// One PID's queue and what its decoder holds.
#[derive(Debug)]
struct Lane {
    limits: Limits,
    queue: VecDeque<Due>,
    /// Whole units sent and not decoded yet: decode time and bytes.
    held: VecDeque<(i64, u64)>,
    /// Bytes in `held`, and of the unit that is on its way.
    occupied: u64,
    /// Bytes of the unit on its way.
    partial: u64,
    /// Packets left for this slot.
    room: u64,
}

/// A unit waiting.
#[derive(Clone, Copy, Debug)]
struct Due {
    dts: i64,
    packets: u64,
}

impl Schedule {
    /// An empty schedule that sends nothing more than `lead` ticks before its decode time.
    pub fn new(lead: i64) -> Self {
        Self {
            lanes: Vec::new(),
            lead,
            late: 0,
        }
    }

    /// Adds a PID and says its lane.
    pub fn add_lane(&mut self, limits: Limits) -> usize {
        self.lanes.push(Lane {
            limits,
            queue: VecDeque::new(),
            held: VecDeque::new(),
            occupied: 0,
            partial: 0,
            room: 0,
        });
        self.lanes.len() - 1
    }

    /// Changes what a lane's decoder takes.
    pub fn set_limits(&mut self, lane: usize, limits: Limits) {
        self.lanes[lane].limits = limits;
    }

    /// Queues a unit of `packets` packets behind the lane's others.
    pub fn push(&mut self, lane: usize, dts: i64, packets: u64) {
        self.lanes[lane].queue.push_back(Due { dts, packets });
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.queue.is_empty())
    }

    /// Units that were not complete before their slot.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Chooses at most `budget` packets for the slot that starts at `start`: `counts[lane]` of each lane's next ones.
    /// O(units sent × lanes).
    pub fn plan(&mut self, start: i64, budget: usize, counts: &mut Vec<u32>) {
        counts.clear();
        counts.resize(self.lanes.len(), 0);
        for lane in &mut self.lanes {
            lane.begin(start);
        }
        let mut budget = budget as u64;
        while budget > 0 {
            let ready = |(index, lane): (usize, &Lane)| {
                let due = lane.queue.front()?;
                (lane.room > 0 && due.dts - start <= lane.lead(self.lead))
                    .then_some((due.dts, index))
            };
            let Some((_, index)) = self.lanes.iter().enumerate().filter_map(ready).min() else {
                break;
            };
            let sent = self.lanes[index].take(budget, start, &mut self.late);
            counts[index] += sent as u32;
            budget -= sent;
        }
    }
}

impl Lane {
    /// How early its units may be sent, in ticks of 27 MHz.
    fn lead(&self, most: i64) -> i64 {
        let small = self.limits.buffer.is_some_and(|size| size < SMALL);
        if small { most.min(SMALL_LEAD) } else { most }
    }

    /// A new slot: what was decoded before it has left, and the transport buffer takes this many packets in 25 ms.
    fn begin(&mut self, start: i64) {
        while let Some(&(dts, bytes)) = self.held.front()
            && dts <= start
        {
            self.held.pop_front();
            self.occupied -= bytes;
        }
        // One less than the leak allows: packets may bunch where two slots meet.
        let leaks = u128::from(self.limits.leak) * SLOT as u128 / 27_000_000 / (8 * PACKET as u128);
        self.room = (leaks as u64).saturating_sub(1).max(1);
    }

    /// Takes packets of the first unit: as many as fit, and closes the lane for this slot when that was not all.
    fn take(&mut self, budget: u64, start: i64, late: &mut u64) -> u64 {
        let Some(due) = self.queue.front_mut() else {
            return 0;
        };
        let fits = match self.limits.buffer {
            // A unit larger than the buffer is sent all the same, once it is alone.
            Some(_) if self.held.is_empty() => u64::MAX,
            Some(size) => size.saturating_sub(self.occupied) / PAYLOAD,
            None => u64::MAX,
        };
        let sent = due.packets.min(budget).min(self.room).min(fits);
        due.packets -= sent;
        self.room -= sent;
        self.occupied += sent * PAYLOAD;
        self.partial += sent * PAYLOAD;
        if due.packets > 0 {
            self.room = 0;
            return sent;
        }
        if start + SLOT > due.dts {
            *late += 1;
        }
        self.held.push_back((due.dts, self.partial));
        self.partial = 0;
        self.queue.pop_front();
        sent
    }
}

#[cfg(test)]
mod tests;
