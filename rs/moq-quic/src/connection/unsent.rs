//! What no packet has carried yet: here, and in quinn-proto by tier.
//!
//! Owned by `connection`, kept by `handover`. May not know the schedule.

use std::collections::VecDeque;

use crate::schedule::{GroupId, Schedule};

use super::queue::Stream;

#[derive(Debug, Default)]
pub(super) struct Unsent {
    /// Bytes waiting here: what the schedule decides about.
    pub(super) queued: u64,
    /// Stream bytes in quinn-proto.
    streams: u64,
    /// Streams with something in quinn-proto that was never sent, if only their end.
    frames: u64,
    /// Tiers with something in quinn-proto that goes soon. Few: what quinn-proto may hold is little.
    tiers: Vec<Held>,
    /// Datagrams in quinn-proto, oldest first.
    datagrams: VecDeque<(GroupId, u64)>,
    datagram_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    tier: Tier,
    bytes: u64,
    /// See [`Tier::priority`].
    step: u16,
}

/// What the header of a STREAM or DATAGRAM frame takes, about: no bound depends on it being exact.
const FRAME_HEADER: u64 = 8;

impl Unsent {
    /// Application bytes in quinn-proto.
    pub(super) fn bytes(&self) -> u64 {
        self.streams + self.datagram_bytes
    }

    /// What it takes in packets to send all that quinn-proto has.
    pub(super) fn held(&self) -> u64 {
        self.bytes() + FRAME_HEADER * (self.frames + self.datagrams.len() as u64)
    }

    /// What it takes in packets to send what goes before anything new of this tier. A stream that sends lost bytes again
    /// does not count: its new bytes come after those, and nobody can tell how many they are.
    pub(super) fn ahead(&self, tier: Tier) -> u64 {
        let streams: u64 = self
            .tiers
            .iter()
            .filter(|held| held.tier >= tier)
            .map(|held| held.bytes)
            .sum();
        streams + self.datagram_bytes + FRAME_HEADER * self.datagrams.len() as u64
    }

    /// Books a stream as it is now. Whoever changes it takes it out before.
    pub(super) fn add(&mut self, stream: &Stream) {
        if !stream.waits_in_quinn() {
            return;
        }
        self.streams += stream.unsent();
        self.frames += 1;
        if stream.recovering {
            return;
        }
        let bytes = stream.unsent() + FRAME_HEADER;
        match self.tiers.iter_mut().find(|held| held.tier == stream.tier) {
            Some(held) => held.bytes += bytes,
            None => self.tiers.push(Held {
                tier: stream.tier,
                bytes,
                step: stream.step,
            }),
        }
    }

    pub(super) fn remove(&mut self, stream: &Stream) {
        if !stream.waits_in_quinn() {
            return;
        }
        self.streams -= stream.unsent();
        self.frames -= 1;
        if stream.recovering {
            return;
        }
        if let Some(index) = self.tiers.iter().position(|held| held.tier == stream.tier) {
            let held = &mut self.tiers[index];
            held.bytes -= stream.unsent() + FRAME_HEADER;
            if held.bytes == 0 {
                self.tiers.swap_remove(index);
            }
        }
    }

    /// The step at which a tier hands over now.
    pub(super) fn step(&self, tier: Tier) -> u16 {
        let held = self.tiers.iter().find(|held| held.tier == tier);
        held.map_or(0, |held| held.step)
    }

    pub(super) fn set_step(&mut self, tier: Tier, step: u16) {
        if let Some(held) = self.tiers.iter_mut().find(|held| held.tier == tier) {
            held.step = step;
        }
    }

    pub(super) fn add_datagram(&mut self, group: GroupId, len: u64) {
        self.datagrams.push_back((group, len));
        self.datagram_bytes += len;
    }

    /// The oldest datagram in quinn-proto, taken out.
    pub(super) fn next_datagram(&mut self) -> Option<(GroupId, u64)> {
        let (group, len) = self.datagrams.pop_front()?;
        self.datagram_bytes -= len;
        Some((group, len))
    }
}

/// Where a group stands against others, as quinn-proto is told: higher first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tier(u32);

impl Tier {
    /// Of the control group: above every priority.
    const CONTROL: Self = Self(1 << 16);

    /// Of a stream that was never handed over.
    pub(super) const NONE: Self = Self(u32::MAX);

    pub(super) fn of(group: GroupId, schedule: &Schedule) -> Self {
        if group == Schedule::CONTROL {
            return Self::CONTROL;
        }
        Self(schedule.priority(group).map_or(0, u32::from))
    }

    /// The priority of a stream in quinn-proto: its tier, and below that how many streams of its tier were begun while
    /// one of the same group, which the schedule put before it, was still there. quinn-proto would let equals take turns.
    pub(super) fn priority(self, step: u16) -> i32 {
        let priority =
            (i64::from(self.0) << 15) - (1 << 31) + i64::from(MAX_STEP - step.min(MAX_STEP));
        priority as i32
    }
}

/// At this step a tier hands nothing over until all it has is sent, and begins again.
pub(super) const MAX_STEP: u16 = (1 << 15) - 1;
