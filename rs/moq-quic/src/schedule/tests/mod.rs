//! One test a rule of the contract, and the invariants I1 … I20 as properties.
//!
//! | file | what it holds |
//! |---|---|
//! | `tiers` | control, priority, fair share |
//! | `order` | order inside a group, turns, finishing |
//! | `life` | groups that run dry, wait, move, close; keys that come late |
//! | `datagrams` | the budget and who pays for it |
//! | `invariants` | properties over generated operations, by number |
//! | `memory` | what a group and a stream cost, and that it is given back |
//!
//! I3 (fair share between domains) has no test: there are no domains above priorities.

mod datagrams;
mod invariants;
mod life;
mod memory;
mod order;
mod strategy;
mod tiers;

use super::{
    Config, DatagramId, Direction, Evicted, Grant, GroupConfig, GroupId, Schedule, StreamKey,
};

/// One packet of these tests, in bytes.
const PACKET: usize = 1_000;
const PLENTY: usize = 1 << 30;

/// A schedule whose quantum is one packet.
struct Bed {
    schedule: Schedule,
}

/// What one packet carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Stream(StreamKey, usize),
    Datagram(DatagramId, usize),
}

impl Bed {
    fn new() -> Self {
        Self {
            schedule: Schedule::new(Config {
                quantum: PACKET,
                datagram_budget: 10 * PACKET,
            }),
        }
    }

    fn group(&mut self, priority: u16) -> GroupId {
        self.group_with(GroupConfig {
            priority,
            ..GroupConfig::default()
        })
    }

    fn group_with(&mut self, config: GroupConfig) -> GroupId {
        self.schedule.open_group(config)
    }

    /// A stream with `bytes` ready.
    fn stream(&mut self, group: GroupId, order: u64, bytes: usize) -> StreamKey {
        let stream = self.schedule.open_stream(group, order).unwrap();
        self.schedule.push(stream, bytes, false);
        stream
    }

    fn datagram(&mut self, group: GroupId, order: u64, len: usize) -> DatagramId {
        let evict = |id| panic!("{id:?} was evicted");
        self.schedule
            .push_datagram(group, order, len, evict)
            .unwrap()
    }

    /// Sends what is granted for one packet.
    fn send(&mut self) -> Option<Sent> {
        let grant = self.schedule.pop(PACKET)?;
        match grant {
            Grant::Stream { key, max_bytes, .. } => {
                self.schedule.sent(grant, max_bytes);
                Some(Sent::Stream(key, max_bytes))
            }
            Grant::Datagram { id, len, .. } => {
                self.schedule.sent(grant, len);
                Some(Sent::Datagram(id, len))
            }
        }
    }

    /// Sends `count` packets of streams; tells which.
    fn send_streams(&mut self, count: usize) -> Vec<StreamKey> {
        let stream = |sent| match sent {
            Sent::Stream(key, _) => key,
            Sent::Datagram(id, _) => panic!("{id:?} instead of a stream"),
        };
        (0..count).map(|_| stream(self.send().unwrap())).collect()
    }

    /// Sends `count` packets; tells how many bytes each of `streams` had of them.
    fn share<const N: usize>(&mut self, count: usize, streams: [StreamKey; N]) -> [usize; N] {
        let mut bytes = [0; N];
        for _ in 0..count {
            if let Some(Sent::Stream(key, sent)) = self.send()
                && let Some(at) = streams.iter().position(|&stream| stream == key)
            {
                bytes[at] += sent;
            }
        }
        bytes
    }

    fn deficit(&self, group: GroupId) -> i64 {
        self.schedule.rings.groups[self.schedule.group(group).unwrap()].deficit
    }

    fn is_idle(&mut self) -> bool {
        self.schedule.pop(PACKET).is_none()
    }
}
