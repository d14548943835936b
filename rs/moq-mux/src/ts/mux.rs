//! Slots into bytes: units from lanes, tables, the clock and nulls, at a constant rate.
//!
//! Joins the grid ([`super::slot`]), the choice ([`super::schedule`]), the order ([`super::layout`]) and the packets
//! ([`super::writer`]). Called by the exporter; knows PIDs and times, no tracks and no codecs. The caller's buffer is
//! the only one: nothing is allocated a slot once warm.

use std::collections::VecDeque;

use super::layout::{Layout, Share};
use super::packet::{PACKET, PID_PAT};
use super::psi::{Pat, Pmt};
use super::schedule::Schedule;
use super::slot::{Rate, SLOT};
use super::tstd::Limits;
use super::writer::{Unit, clock_packet, null_packet};

/// Slots from one PAT and PMT to the next: 75 ms, so that 100 ms (TS 101 154) are kept wherever in a slot they lie.
const TABLES_EVERY: i64 = 3;

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
    first: bool,
    schedule: Schedule,
    layout: Layout,
    lanes: Vec<Lane>,
    counts: Vec<u32>,
    shares: Vec<Share>,
    tables: Tables,
    described: Option<(Pat, Pmt)>,
    /// Counters of an earlier multiplex on the same output.
    resumed: Vec<(u16, u8)>,
    clock_pid: u16,
    discontinuity: bool,
}

#[derive(Debug)]
struct Lane {
    pid: u16,
    /// Counter of the next packet with payload.
    counter: u8,
    units: VecDeque<Unit>,
    /// Packets of the first unit that are out.
    written: u32,
}

/// PAT and PMT as they are repeated.
#[derive(Debug)]
struct Tables {
    units: [Unit; 2],
    pids: [u16; 2],
    /// Which unit, and which packet of it, comes next; past the end when nothing is due.
    next: (usize, u32),
    counters: [u8; 2],
    /// What the counters of an earlier multiplex on the same output are ahead by.
    ahead: [u8; 2],
}

impl Mux {
    /// A multiplex at `rate` bit/s whose first slot is the last one at or before `slot` that tables are due in. Units are
    /// sent at most `lead` ticks of 27 MHz before they are decoded. The first slot carries tables only, so that a reader
    /// knows the streams before they start.
    pub fn new(rate: u64, slot: i64, lead: i64) -> Self {
        let empty = || Unit::section(bytes::Bytes::new());
        Self {
            rate: Rate::clamped(rate),
            slot: slot.div_euclid(TABLES_EVERY) * TABLES_EVERY,
            first: true,
            schedule: Schedule::new(lead),
            layout: Layout::default(),
            lanes: Vec::new(),
            counts: Vec::new(),
            shares: Vec::new(),
            tables: Tables {
                units: [empty(), empty()],
                pids: [PID_PAT, 0],
                next: (2, 0),
                counters: [0, 0],
                ahead: [0, 0],
            },
            described: None,
            resumed: Vec::new(),
            clock_pid: super::packet::PID_NULL,
            discontinuity: false,
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
        let changed = self
            .described
            .as_ref()
            .is_some_and(|known| (&known.0, &known.1) != (pat, pmt));
        self.described = Some((pat.clone(), pmt.clone()));
        self.tables.units = [
            Unit::section(pat.section().into()),
            Unit::section(pmt.section().into()),
        ];
        self.tables.pids[1] = pat.programs.first().map_or(0, |&(_, pid)| pid);
        self.clock_pid = pmt.pcr_pid;
        changed
    }

    /// The lane of a PID, added if there is none.
    pub fn lane_of(&mut self, pid: u16, limits: Limits) -> usize {
        let known = self.lanes.iter().position(|lane| lane.pid == pid);
        known.unwrap_or_else(|| self.add_lane(pid, limits))
    }

    /// Adds a PID and says its lane.
    pub fn add_lane(&mut self, pid: u16, limits: Limits) -> usize {
        self.lanes.push(Lane {
            pid,
            counter: self.counter_of(pid),
            units: VecDeque::new(),
            written: 0,
        });
        self.schedule.add_lane(limits)
    }

    /// Changes what a lane's decoder takes.
    pub fn set_limits(&mut self, lane: usize, limits: Limits) {
        self.schedule.set_limits(lane, limits);
    }

    /// Queues a unit that is decoded at `dts`, in ticks of 27 MHz.
    pub fn push(&mut self, lane: usize, dts: i64, unit: Unit) {
        self.schedule.push(lane, dts, u64::from(unit.packets()));
        self.lanes[lane].units.push_back(unit);
    }

    /// The counters of all PIDs so far, to go on from.
    pub fn counters(&self) -> Vec<(u16, u8)> {
        let lanes = self.lanes.iter().map(|lane| (lane.pid, lane.counter));
        let tables = self.tables.pids.into_iter().zip(self.tables.counters);
        lanes.chain(tables).collect()
    }

    /// Goes on from the counters of an earlier multiplex on the same output, on a new time base. Call it once the tables
    /// are set and before the first lane is added.
    pub fn resume(&mut self, counters: Vec<(u16, u8)>) {
        let known = |pid| counters.iter().find(|(other, _)| *other == pid);
        // The first turn of the tables goes on from theirs.
        let turn = self.slot.div_euclid(TABLES_EVERY);
        for (table, ahead) in self.tables.ahead.iter_mut().enumerate() {
            if let Some(&(_, counter)) = known(self.tables.pids[table]) {
                let own = turn * i64::from(self.tables.units[table].packets());
                *ahead = (i64::from(counter) - own).rem_euclid(16) as u8;
            }
        }
        self.resumed = counters;
        self.discontinuity = true;
    }

    /// Whether no unit waits.
    pub fn is_empty(&self) -> bool {
        self.schedule.is_empty()
    }

    /// Units that were not complete before their decode time.
    pub fn late(&self) -> u64 {
        self.schedule.late()
    }

    /// Appends the next slot's packets to `out`. O(packets + units × lanes).
    pub fn next_slot(&mut self, out: &mut Vec<u8>) -> SlotInfo {
        let (slot, clock, packets) = (
            self.slot,
            self.rate.pcr(self.slot),
            self.rate.packets_in(self.slot),
        );
        self.slot += 1;
        if slot % TABLES_EVERY == 0 {
            self.tables.begin(slot.div_euclid(TABLES_EVERY));
        }
        let from = out.len();
        out.resize(from + packets * PACKET, 0);
        let (places, _) = out[from..].as_chunks_mut::<PACKET>();
        let Some((first, places)) = places.split_first_mut() else {
            return SlotInfo {
                slot,
                clock,
                rate: self.rate.bits(),
                packets: 0,
                nulls: 0,
            };
        };
        let flag = std::mem::take(&mut self.discontinuity);
        clock_packet(self.clock_pid, self.last_counter(), clock, flag, first);
        let tables = self.tables.write(places);
        let places = &mut places[tables..];
        let budget = if std::mem::take(&mut self.first) {
            0
        } else {
            places.len()
        };
        self.schedule.plan(slot * SLOT, budget, &mut self.counts);
        let mut nulls = 0;
        let span = places.len() as u32;
        self.shares.clear();
        let counts = self.counts.iter();
        self.shares
            .extend(counts.map(|&count| Share { count, span }));
        let order = self.layout.place(span as usize, &self.shares, None);
        for (place, &lane) in places.iter_mut().zip(order) {
            match self.lanes.get_mut(usize::from(lane)) {
                Some(lane) => lane.write(place),
                None => {
                    null_packet(place);
                    nulls += 1;
                }
            }
        }
        SlotInfo {
            slot,
            clock,
            rate: self.rate.bits(),
            packets,
            nulls,
        }
    }

    /// The counter a PID starts with.
    fn counter_of(&self, pid: u16) -> u8 {
        let resumed = self.resumed.iter().find(|(other, _)| *other == pid);
        resumed.map_or(0, |&(_, counter)| counter)
    }

    /// The counter a packet without payload repeats on the clock's PID.
    fn last_counter(&self) -> u8 {
        let lane = self.lanes.iter().find(|lane| lane.pid == self.clock_pid);
        lane.map_or(0, |lane| lane.counter.wrapping_sub(1) & 0x0f)
    }
}

impl Lane {
    fn write(&mut self, out: &mut [u8; PACKET]) {
        let Some(unit) = self.units.front() else {
            return null_packet(out);
        };
        unit.write(self.written, self.pid, self.counter, out);
        self.counter = (self.counter + 1) & 0x0f;
        self.written += 1;
        if self.written == unit.packets() {
            self.units.pop_front();
            self.written = 0;
        }
    }
}

impl Tables {
    /// Turn number `turn` since time zero: counters follow from it, so every exporter has the same.
    fn begin(&mut self, turn: i64) {
        self.next = (0, 0);
        for ((counter, unit), ahead) in self.counters.iter_mut().zip(&self.units).zip(self.ahead) {
            *counter = (turn * i64::from(unit.packets()) + i64::from(ahead)).rem_euclid(16) as u8;
        }
    }

    /// Writes what is due and fits; how many packets that were.
    fn write(&mut self, places: &mut [[u8; PACKET]]) -> usize {
        let mut used = 0;
        while let (Some(unit), Some(place)) = (self.units.get(self.next.0), places.get_mut(used)) {
            let (table, index) = self.next;
            unit.write(index, self.pids[table], self.counters[table], place);
            self.counters[table] = (self.counters[table] + 1) & 0x0f;
            self.next = if index + 1 == unit.packets() {
                (table + 1, 0)
            } else {
                (table, index + 1)
            };
            used += 1;
        }
        used
    }
}
