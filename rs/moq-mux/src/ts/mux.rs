//! Slots into bytes: units from lanes, tables, the clock and nulls, at a constant rate.
//!
//! Joins the grid ([`super::slot`]), the choice ([`super::schedule`]), the order ([`super::layout`]) and the packets
//! ([`super::writer`]). Called by the exporter; knows PIDs and times, no tracks and no codecs. The caller's buffer is
//! the only one: nothing is allocated a slot once warm.

use std::collections::VecDeque;

use super::layout::Layout;
use super::packet::{PACKET, PID_NULL, PID_PAT};
use super::psi::{Pat, Pmt};
use super::schedule::Schedule;
use super::slot::{Rate, SLOT, SLOTS_A_SECOND, Slot};
use super::tstd::Limits;
use super::writer::{Unit, clock_packet, jump_packet, null_packet};

/// Slots from one PAT and PMT to the next: 75 ms, so that 100 ms (TS 101 154) are kept wherever in a slot they lie.
const TABLES_EVERY: i64 = 3;

/// Bytes of tables a decoder reads in a slot at the least: 80 kb/s (ISO/IEC 13818-1 §2.4.2.4).
const TABLE_BYTES: i64 = 250;

/// What a slot came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotInfo {
    /// Number of the slot on the absolute grid.
    pub slot: i64,
    /// Its clock (the PCR of its first packet), unwrapped, in ticks of 27 MHz.
    pub clock: i64,
    /// Rate in bit/s.
    pub rate: u64,
    /// Packets in all.
    pub packets: usize,
    /// Packets that only fill.
    pub nulls: usize,
}

/// A multiplex of one programme.
#[derive(Debug)]
pub struct Mux {
    rate: Rate,
    slot: i64,
    schedule: Schedule,
    layout: Layout,
    lanes: Vec<Lane>,
    tables: Option<Tables>,
    /// Lane of the clock's PID.
    clock: Option<usize>,
    discontinuity: bool,
    /// Counters of an earlier multiplex on the same output.
    inherited: Vec<(u16, u8)>,
}

/// One PID's packets.
#[derive(Debug)]
struct Lane {
    pid: u16,
    /// Counter of the next packet with payload.
    counter: u8,
    /// Counter once all that waits is out.
    promised: u8,
    /// Whether any packet of the PID has been sent or waits.
    begun: bool,
    waiting: VecDeque<Content>,
    /// Packets of the first that are out.
    written: u32,
}

#[derive(Debug)]
enum Content {
    Unit(Unit),
    /// A packet that announces another counter.
    Jump(u8),
}

/// PAT and PMT as they are repeated.
#[derive(Debug)]
struct Tables {
    pat: Pat,
    pmt: Pmt,
    units: [Unit; 2],
    lanes: [usize; 2],
    every: i64,
}

impl Mux {
    /// A multiplex at `rate` bit/s whose first slot is the last one at or before `slot` that tables are due in. Units are
    /// sent at most `lead` ticks of 27 MHz before they are decoded. The first slot carries tables only, so that a reader
    /// knows the streams before they start.
    pub fn new(rate: u64, slot: i64, lead: i64) -> Self {
        Self {
            rate: Rate::clamped(rate),
            slot: slot.div_euclid(TABLES_EVERY) * TABLES_EVERY,
            schedule: Schedule::new(lead),
            layout: Layout::default(),
            lanes: Vec::new(),
            tables: None,
            clock: None,
            discontinuity: false,
            inherited: Vec::new(),
        }
    }

    /// The slot that is written next.
    pub fn slot(&self) -> i64 {
        self.slot
    }

    /// The rate in bit/s.
    pub fn rate(&self) -> u64 {
        self.rate.bits()
    }

    /// Another rate from the next slot on.
    pub fn set_rate(&mut self, rate: u64) {
        self.rate = Rate::clamped(rate);
    }

    /// The tables from their next turn on; whether others were in force. The PMT must lie on the PID the PAT says.
    pub fn set_tables(&mut self, pat: &Pat, pmt: &Pmt) -> bool {
        let known = self.tables.as_ref();
        if known.is_some_and(|known| (&known.pat, &known.pmt) == (pat, pmt)) {
            return false;
        }
        let changed = known.is_some();
        let pmt_pid = pat.programs.first().map_or(PID_NULL, |&(_, pid)| pid);
        let lanes = [PID_PAT, pmt_pid].map(|pid| {
            let lane = self.lane_of(pid, Limits::SYSTEMS);
            self.schedule.set_first(lane);
            lane
        });
        self.clock = Some(self.lane_of(pmt.pcr_pid, Limits::SYSTEMS));
        let units = [pat.section(), pmt.section()].map(|section| Unit::section(section.into()));
        let packets: i64 = units.iter().map(|unit| i64::from(unit.packets())).sum();
        let slots = (packets * PACKET as i64).div_euclid(TABLE_BYTES) + 1;
        self.tables = Some(Tables {
            pat: pat.clone(),
            pmt: pmt.clone(),
            units,
            lanes,
            every: slots.max(TABLES_EVERY),
        });
        changed
    }

    /// The lane of a PID, added if there is none.
    pub fn lane_of(&mut self, pid: u16, limits: Limits) -> usize {
        let known = self.lanes.iter().position(|lane| lane.pid == pid);
        known.unwrap_or_else(|| self.add_lane(pid, limits))
    }

    /// Adds a PID and says its lane. Nothing of it is sent before the next turn of the tables is through.
    fn add_lane(&mut self, pid: u16, limits: Limits) -> usize {
        let inherited = self.inherited.iter().find(|&&(other, _)| other == pid);
        let counter = inherited.map_or(0, |&(_, counter)| counter);
        self.lanes.push(Lane {
            pid,
            counter,
            promised: counter,
            begun: inherited.is_some(),
            waiting: VecDeque::new(),
            written: 0,
        });
        let every = self
            .tables
            .as_ref()
            .map_or(TABLES_EVERY, |tables| tables.every);
        let turn = self.slot + (-self.slot).rem_euclid(every);
        self.schedule.add_lane(pid, limits, turn + 1)
    }

    /// Changes what a lane's decoder takes.
    pub fn set_limits(&mut self, lane: usize, limits: Limits) {
        self.schedule.set_limits(lane, limits);
    }

    /// Queues a unit that is decoded at `dts`, in ticks of 27 MHz. `counter` is that of its first packet where it is
    /// known; if the lane is elsewhere (units before it never came), a packet goes first that announces the jump.
    pub fn push(&mut self, lane: usize, dts: i64, unit: Unit, counter: Option<u8>) {
        let queue = &mut self.lanes[lane];
        if let Some(counter) = counter.map(|counter| counter & 0x0f)
            && counter != queue.promised
        {
            queue.promised = counter;
            if queue.begun {
                queue.waiting.push_back(Content::Jump(counter));
                self.schedule.push(lane, dts, 1);
            } else {
                queue.counter = counter;
            }
        }
        let packets = unit.packets();
        queue.begun = true;
        queue.promised = (queue.promised + (packets & 0x0f) as u8) & 0x0f;
        queue.waiting.push_back(Content::Unit(unit));
        self.schedule.push(lane, dts, packets);
    }

    /// The next clock packet starts a new time base.
    pub fn mark_discontinuity(&mut self) {
        self.discontinuity = true;
    }

    /// Sets the clock back by `slots`, as a new time base: what waits has that much longer.
    pub fn set_back(&mut self, slots: i64) {
        self.slot -= slots;
        self.discontinuity = true;
    }

    /// The counters of all PIDs so far, to go on from.
    pub fn counters(&self) -> Vec<(u16, u8)> {
        let begun = self.lanes.iter().filter(|lane| lane.begun);
        let counters = begun.map(|lane| (lane.pid, lane.counter));
        let known: Vec<_> = counters.collect();
        let dropped = self
            .inherited
            .iter()
            .filter(|(pid, _)| known.iter().all(|(k, _)| k != pid));
        known.iter().chain(dropped).copied().collect()
    }

    /// Goes on from the counters of an earlier multiplex on the same output. Before any lane is added.
    pub fn set_counters(&mut self, counters: Vec<(u16, u8)>) {
        self.inherited = counters;
    }

    /// Whether no unit waits.
    pub fn is_empty(&self) -> bool {
        self.schedule.is_empty()
    }

    /// Units that were not complete at their decode time.
    pub fn late(&self) -> u64 {
        self.schedule.late()
    }

    /// Units sent beyond what a decoder's buffers are sure to take, as they would have been late otherwise.
    pub fn forced(&self) -> u64 {
        self.schedule.forced()
    }

    /// Decode time of the unit that is most overdue, if one is.
    pub fn overdue(&self) -> Option<i64> {
        self.schedule.overdue(Slot::new(self.slot, self.rate))
    }

    /// The lowest rate in bit/s at which all that waits can be in time, when that is above the rate.
    pub fn needed(&mut self) -> Option<u64> {
        let tables = self.tables.as_ref().map_or(0, |tables| {
            let packets: u64 = tables
                .units
                .iter()
                .map(|unit| u64::from(unit.packets()))
                .sum();
            packets * SLOTS_A_SECOND / tables.every as u64
        });
        let slot = Slot::new(self.slot, self.rate);
        self.schedule.needed(slot, SLOTS_A_SECOND + tables)
    }

    /// Packets of the next slot: what [`Mux::fill`] needs room for.
    pub fn packets(&self) -> usize {
        self.rate.packets_in(self.slot)
    }

    /// Appends the next slot's packets to `out`. O(packets + units × log lanes).
    pub fn next_slot(&mut self, out: &mut Vec<u8>) -> SlotInfo {
        let from = out.len();
        out.resize(from + self.packets() * PACKET, 0);
        self.fill(&mut out[from..])
    }

    /// Writes the next slot into `out`, which is as long as [`Mux::packets`] says; what is longer stays as it is.
    pub fn fill(&mut self, out: &mut [u8]) -> SlotInfo {
        let slot = Slot::new(self.slot, self.rate);
        self.slot += 1;
        self.repeat_tables(slot.number);
        let clock_lane = self
            .clock
            .unwrap_or_else(|| self.lane_of(PID_NULL, Limits::SYSTEMS));
        self.schedule.plan(slot, clock_lane);
        let clock = self.schedule.place_of(clock_lane);
        let shares = self.schedule.shares();
        let order = self
            .layout
            .place(slot.packets as usize, shares, Some(clock));

        let mut info = SlotInfo {
            slot: slot.number,
            clock: self.rate.pcr(slot.number),
            rate: self.rate.bits(),
            packets: slot.packets as usize,
            nulls: 0,
        };
        let (places, _) = out.as_chunks_mut::<PACKET>();
        for (at, (out, &place)) in places.iter_mut().zip(order).enumerate() {
            if place == Layout::FREE {
                null_packet(out);
                info.nulls += 1;
                continue;
            }
            let lane = &mut self.lanes[self.schedule.lane_at(usize::from(place))];
            if at == 0 {
                let flag = std::mem::take(&mut self.discontinuity);
                let repeated = lane.counter.wrapping_sub(1);
                clock_packet(lane.pid, repeated, info.clock, flag, out);
            } else {
                lane.write(out);
            }
        }
        let late = late(order, self.schedule.doubts());
        self.schedule.add_late(late);
        info
    }

    /// Queues the tables when their turn falls into slot `slot`. Their counters follow from the turn, so every exporter
    /// has the same.
    fn repeat_tables(&mut self, slot: i64) {
        let Some(tables) = self
            .tables
            .as_ref()
            .filter(|tables| slot % tables.every == 0)
        else {
            return;
        };
        let turn = slot.div_euclid(tables.every);
        let counter = |unit: &Unit| (turn * i64::from(unit.packets())).rem_euclid(16) as u8;
        let [pat, pmt] = tables.units.clone();
        let [pat_lane, pmt_lane] = tables.lanes;
        let counters = [counter(&pat), counter(&pmt)];
        self.push(pat_lane, slot * SLOT, pat, Some(counters[0]));
        self.push(pmt_lane, slot * SLOT, pmt, Some(counters[1]));
    }
}

/// How many of the units in doubt have their last packet after they are decoded.
fn late(order: &[u16], doubts: &[super::schedule::Doubt]) -> u64 {
    let is_late = |doubt: &&super::schedule::Doubt| {
        let mut of_lane = (0u32..)
            .zip(order)
            .filter(|&(_, &place)| usize::from(place) == doubt.place);
        let last = of_lane.nth(doubt.index as usize);
        last.is_none_or(|(at, _)| at + 1 > doubt.by)
    };
    doubts.iter().filter(is_late).count() as u64
}

impl Lane {
    fn write(&mut self, out: &mut [u8; PACKET]) {
        match self.waiting.front() {
            None => return null_packet(out),
            Some(&Content::Jump(counter)) => {
                jump_packet(self.pid, counter.wrapping_sub(1), out);
                self.counter = counter;
                self.waiting.pop_front();
                return;
            }
            Some(Content::Unit(unit)) => {
                unit.write(self.written, self.pid, self.counter, out);
                self.written += 1;
                self.counter = (self.counter + 1) & 0x0f;
                if self.written < unit.packets() {
                    return;
                }
            }
        }
        self.waiting.pop_front();
        self.written = 0;
    }
}
