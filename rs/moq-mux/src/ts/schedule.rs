//! Which packets go into a slot: earliest deadline first across PIDs, as far as the decoder's buffers allow.
//!
//! Each lane is a PID and keeps its own order. Deadlines decide across lanes, ties go to the lower PID, so the outcome
//! follows from decode times and never from who arrived first or who was added first. A lane is admitted as far as
//! - its transport buffer drains (`tstd::TransportBuffer`; the clock packet counts),
//! - its main buffer has room at the moment each packet may arrive at the earliest, units leaving at their decode times
//!   inside the slot included,
//! - its units are within their lead, before which they are not sent.
//!
//! A unit that would miss its time otherwise is sent beyond those limits: a decoder with a buffer to spare plays it, none
//! plays what is late. Units due inside the slot they are sent in narrow the span their lane is spread over.
//!
//! Called by the multiplexer once a slot; knows only numbers. Times are ticks of 27 MHz. O(units sent × log lanes), no
//! allocation once warm.

mod demand;
mod lane;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::layout::Share;
use super::slot::Slot;
use super::tstd::Limits;
use demand::Demand;
use lane::Lane;

/// All lanes of a multiplex.
#[derive(Debug)]
pub struct Schedule {
    lanes: Vec<Lane>,
    /// Lanes by PID.
    order: Vec<u16>,
    lead: i64,
    heads: BinaryHeap<Reverse<(i64, u16)>>,
    shares: Vec<Share>,
    doubts: Vec<Doubt>,
    demand: Demand,
    /// Packets that wait.
    waiting: u64,
    late: u64,
    forced: u64,
}

/// A unit that is late unless the layout happens to place its last packet early in its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Its lane's place in [`Schedule::shares`].
    pub place: usize,
    /// Which packet of the lane's in this slot is its last.
    pub index: u32,
    /// Packets of the slot that are through by its decode time.
    pub by: u32,
}

impl Schedule {
    /// An empty schedule that sends nothing more than `lead` ticks before its decode time.
    pub fn new(lead: i64) -> Self {
        Self {
            lanes: Vec::new(),
            order: Vec::new(),
            lead,
            heads: BinaryHeap::new(),
            shares: Vec::new(),
            doubts: Vec::new(),
            demand: Demand::default(),
            waiting: 0,
            late: 0,
            forced: 0,
        }
    }

    /// Adds a PID that sends from slot `opens` on, and says its lane. At most 65,535.
    pub fn add_lane(&mut self, pid: u16, limits: Limits, opens: i64) -> usize {
        let lane = self.lanes.len();
        self.lanes.push(Lane::new(pid, limits, opens));
        let at = self
            .order
            .partition_point(|&other| self.lanes[usize::from(other)].pid <= pid);
        self.order.insert(at, lane as u16);
        lane
    }

    /// Changes what a lane's decoder takes.
    pub fn set_limits(&mut self, lane: usize, limits: Limits) {
        self.lanes[lane].limits = limits;
    }

    /// The lane's units go before those of others whatever their times, and at once: programme tables.
    pub fn set_first(&mut self, lane: usize) {
        self.lanes[lane].goes_first = true;
    }

    /// Queues a unit of `packets` packets, decoded at `dts`, behind the lane's others.
    pub fn push(&mut self, lane: usize, dts: i64, packets: u32) {
        self.waiting += u64::from(packets);
        self.lanes[lane].push(dts, packets);
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Units that were not complete at their decode time.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Units sent beyond what a decoder's buffers are sure to take, as they would have been late otherwise.
    pub fn forced(&self) -> u64 {
        self.forced
    }

    /// Counts units in doubt that turned out late.
    pub fn add_late(&mut self, units: u64) {
        self.late += units;
    }

    /// Decode time of the unit that waits longest beyond its time in slot `slot`, if one does.
    pub fn overdue(&self, slot: Slot) -> Option<i64> {
        let heads = self.lanes.iter().filter(|lane| !lane.goes_first);
        let heads = heads.filter_map(|lane| lane.head());
        heads.min().filter(|&dts| dts < slot.start())
    }

    /// Chooses the packets of `slot`, whose first is the clock of lane `clock`: [`Schedule::shares`].
    pub fn plan(&mut self, slot: Slot, clock: usize) {
        let mut budget = slot.packets.saturating_sub(1);
        let lead = self.lead;
        self.heads.clear();
        for (place, &lane) in self.order.iter().enumerate() {
            let is_clock = usize::from(lane) == clock;
            let lane = &mut self.lanes[usize::from(lane)];
            self.forced += u64::from(lane.begin(slot, is_clock));
            if let Some(key) = lane.ready(slot, lead) {
                self.heads.push(Reverse((key, place as u16)));
            }
        }
        while budget > 0
            && let Some(Reverse((_, place))) = self.heads.pop()
        {
            let lane = &mut self.lanes[usize::from(self.order[usize::from(place)])];
            let sent = lane.take(budget, slot, &mut self.late);
            budget -= sent;
            self.waiting -= u64::from(sent);
            if let Some(key) = lane.ready(slot, lead) {
                self.heads.push(Reverse((key, place)));
            }
        }
        self.shares.clear();
        self.doubts.clear();
        for (place, &lane) in self.order.iter().enumerate() {
            let is_clock = usize::from(lane) == clock;
            let lane = &mut self.lanes[usize::from(lane)];
            let share = lane.close(slot, is_clock, |index, by| {
                self.doubts.push(Doubt { place, index, by });
            });
            self.shares.push(share);
        }
    }

    /// What each lane sends in the planned slot, by PID, the clock packet included.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// The lane at a place among the shares.
    pub fn lane_at(&self, place: usize) -> usize {
        usize::from(self.order[place])
    }

    /// The place of a lane among the shares.
    pub fn place_of(&self, lane: usize) -> usize {
        let found = self
            .order
            .iter()
            .position(|&other| usize::from(other) == lane);
        found.unwrap_or(0)
    }

    /// Units of the planned slot whose lateness only the layout can tell.
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// The lowest rate in bit/s at which everything that waits can be complete in time from slot `slot` on, when that is
    /// more than its rate; `overhead` packets a second go to the clock and the tables. O(units log units), and only when
    /// more waits than a slot carries.
    pub fn needed(&mut self, slot: Slot, overhead: u64) -> Option<u64> {
        if self.waiting < u64::from(slot.packets) {
            return None;
        }
        self.demand.needed(&self.lanes, slot, overhead)
    }
}

#[cfg(test)]
mod tests;
