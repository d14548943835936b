//! Whatever an application does, in whatever order, and whatever the link loses: the books balance, quinn-proto never
//! holds more than it may, what was finished arrives, and nothing is left behind.

#[path = "support/virtual_pair.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test file uses its part")]
mod virtual_pair;

use std::time::Duration;

use moq_quic::{
    Direction, GroupConfig, TransportConfig,
    connection::SendKey,
    schedule::{GroupId, Schedule},
};
use proptest::prelude::*;
use quinn_proto::Dir;
use virtual_pair::{Pair, bytes, drain};

#[derive(Clone, Debug)]
enum Op {
    OpenGroup(u16, bool, bool, Option<usize>),
    CloseGroup(usize),
    SetPriority(usize, u16),
    Open(usize, u64),
    Write(usize, usize),
    Finish(usize),
    Reset(usize),
    Release(usize),
    SetOrder(usize, u64),
    SetGroup(usize, usize, u64),
    Datagram(usize, u64, usize),
    Run(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let index = 0..64_usize;
    let order = prop_oneof![0..4_u64, any::<u64>()];
    prop_oneof![
        2 => (0..4_u16, any::<bool>(), any::<bool>(), prop::option::of(1..5_000_usize))
            .prop_map(|(priority, oldest, unfair, finish)| Op::OpenGroup(priority, oldest, unfair, finish)),
        1 => index.clone().prop_map(Op::CloseGroup),
        2 => (index.clone(), 0..4_u16).prop_map(|(group, priority)| Op::SetPriority(group, priority)),
        6 => (index.clone(), order.clone()).prop_map(|(group, order)| Op::Open(group, order)),
        12 => (index.clone(), 0..40_000_usize).prop_map(|(stream, len)| Op::Write(stream, len)),
        4 => index.clone().prop_map(Op::Finish),
        2 => index.clone().prop_map(Op::Reset),
        2 => index.clone().prop_map(Op::Release),
        2 => (index.clone(), order.clone()).prop_map(|(stream, order)| Op::SetOrder(stream, order)),
        3 => (index.clone(), index.clone(), order.clone())
            .prop_map(|(stream, group, order)| Op::SetGroup(stream, group, order)),
        3 => (index, order, 0..1_400_usize)
            .prop_map(|(group, order, len)| Op::Datagram(group, order, len)),
        8 => (1..30_000_u64).prop_map(Op::Run),
    ]
}

/// The application, and what it knows.
struct World {
    pair: Pair,
    groups: Vec<GroupId>,
    /// Closed ones whose streams still count.
    closed: Vec<GroupId>,
    streams: Vec<SendKey>,
}

impl World {
    fn new(rate: u64, loss: u64) -> Self {
        let config = TransportConfig {
            datagram_budget: 6_000,
            ..TransportConfig::default()
        };
        let mut pair = Pair::new(&config);
        pair.set_wires(rate, Duration::from_millis(10), 60_000);
        let mut count = 0_u64;
        pair.up.lose = Box::new(move |_| {
            count += 1;
            loss > 0 && count.is_multiple_of(loss)
        });
        let groups = vec![Schedule::CONTROL, pair.client.core.default_group()];
        Self {
            pair,
            groups,
            closed: Vec::new(),
            streams: Vec::new(),
        }
    }

    fn apply(&mut self, op: Op) {
        let core = &mut self.pair.client.core;
        let group = |at: usize| self.groups[at % self.groups.len()];
        let stream = |at: usize| match self.streams.len() {
            0 => None,
            len => Some(self.streams[at % len]),
        };
        // What comes too late is refused, never worse.
        match op {
            Op::OpenGroup(priority, oldest, unfair, finish) => {
                let direction = match oldest {
                    true => Direction::OldestFirst,
                    false => Direction::NewestFirst,
                };
                let config = GroupConfig {
                    priority,
                    direction,
                    unfair,
                    finish,
                    ..GroupConfig::default()
                };
                self.groups.push(core.open_group(config));
            }
            Op::CloseGroup(at) if self.groups.len() > 2 => {
                let group = self.groups.remove(2 + at % (self.groups.len() - 2));
                core.close_group(group);
                self.closed.push(group);
            }
            Op::CloseGroup(_) => {}
            Op::SetPriority(at, priority) => core.set_group_priority(group(at), priority),
            Op::Open(at, order) => {
                if let Ok(Some(key)) = core.open(Dir::Uni, group(at), order) {
                    self.streams.push(key);
                }
            }
            Op::Write(at, len) => {
                if let Some(key) = stream(at) {
                    let _ = core.write(key, bytes(len));
                }
            }
            Op::Finish(at) => {
                if let Some(key) = stream(at) {
                    let _ = core.finish(key);
                }
            }
            Op::Reset(at) => {
                if let Some(key) = stream(at) {
                    let _ = core.reset(key, 1);
                }
            }
            Op::Release(at) => {
                if let Some(key) = stream(at) {
                    core.release(key);
                }
            }
            Op::SetOrder(at, order) => {
                if let Some(key) = stream(at) {
                    core.set_order(key, order);
                }
            }
            Op::SetGroup(at, to, order) => {
                if let Some(key) = stream(at) {
                    let _ = core.set_group(key, group(to), order);
                }
            }
            Op::Datagram(at, order, len) => {
                let _ = core.send_datagram(group(at), order, bytes(len));
            }
            Op::Run(micros) => {
                self.pair.run_until(Duration::from_micros(micros), |pair| {
                    drain(&mut pair.server);
                    while pair.server.core.read_datagram().is_some() {}
                    false
                });
            }
        }
    }

    fn check(&mut self) {
        let core = &self.pair.client.core;
        let stats = core.stats();
        let bound = (TransportConfig::default().batch as u64 + 1) * u64::from(stats.mtu);
        assert!(
            self.pair.client.most_unsent <= bound,
            "{} > {bound}",
            self.pair.client.most_unsent
        );
        let mut queued = 0;
        for &group in self.groups.iter().chain(&self.closed) {
            if let Some(group) = core.group_stats(group) {
                queued += group.queued;
            }
        }
        // Datagrams of a closed group are in nobody's book.
        assert!(queued <= stats.queued && stats.queued <= queued + 6_000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_books_balance_whatever_happens(
        ops in prop::collection::vec(op(), 1..120),
        rate in prop_oneof![Just(0_u64), Just(100_000), Just(2_000_000)],
        loss in prop_oneof![Just(0_u64), Just(7), Just(30)],
    ) {
        let mut world = World::new(rate, loss);
        for op in ops {
            world.apply(op);
            world.check();
        }
        // Everything is let go of, then nothing may be left.
        for key in world.streams.clone() {
            world.pair.client.core.release(key);
        }
        world.pair.set_wires(20_000_000, Duration::from_millis(1), 200_000);
        world.pair.up.lose = Box::new(|_| false);
        world.apply(Op::Run(60_000_000));
        world.check();
        let stats = world.pair.client.core.stats();
        prop_assert_eq!((stats.queued, stats.unsent), (0, 0));
        prop_assert_eq!(world.pair.client.core.live_streams(), (0, 0));
        for group in world.closed {
            prop_assert_eq!(world.pair.client.core.group_stats(group), None);
        }
    }
}

#[test]
fn an_accepted_stream_moved_to_control_then_finished_or_reset_leaves_every_group() {
    let mut pair = Pair::new(&TransportConfig::default());
    for reset in [false, true] {
        let ask = pair
            .server
            .core
            .open(Dir::Bi, Schedule::CONTROL, 0)
            .unwrap()
            .unwrap();
        pair.server.core.write(ask, bytes(3)).unwrap();
        pair.server.core.finish(ask).unwrap();
        pair.run_for(Duration::from_millis(10));
        let id = pair.client.core.accept(Dir::Bi).unwrap();
        let answer = pair.client.core.adopt(id).unwrap();
        pair.client.core.write(answer, bytes(2_000)).unwrap();
        pair.client
            .core
            .set_group(answer, Schedule::CONTROL, 0)
            .unwrap();
        assert_eq!(
            pair.client
                .core
                .group_stats(Schedule::CONTROL)
                .unwrap()
                .queued,
            2_000
        );
        let default = pair.client.core.default_group();
        assert_eq!(pair.client.core.group_stats(default).unwrap().queued, 0);
        match reset {
            true => pair.client.core.reset(answer, 0).unwrap(),
            false => pair.client.core.finish(answer).unwrap(),
        }
        pair.client.core.release(answer);
        pair.server.core.release(ask);
        while pair.client.core.read(id, 100).unwrap().0 != moq_quic::connection::Read::End {}
        pair.run_until(Duration::from_secs(1), |pair| {
            drain(&mut pair.server);
            false
        });
        assert_eq!(pair.client.core.live_streams(), (0, 0));
    }
}

#[test]
fn a_stream_moved_between_groups_keeps_both_until_it_is_over() {
    let mut pair = Pair::new(&TransportConfig::default());
    let core = &mut pair.client.core;
    let from = core.open_group(GroupConfig::default());
    let to = core.open_group(GroupConfig::default());
    let key = core.open(Dir::Uni, from, 0).unwrap().unwrap();
    core.write(key, bytes(500)).unwrap();
    core.set_group(key, to, 7).unwrap();
    core.close_group(from);
    core.close_group(to);
    assert_eq!(core.group_stats(from), None);
    assert_eq!(core.group_stats(to).unwrap().queued, 500);
    core.reset(key, 0).unwrap();
    assert_eq!(core.group_stats(to), None);
}
