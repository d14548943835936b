//! What the schedule costs among everything else: real packets between two sans-IO connections, no sockets.
//!
//! `group_churn/MOVED/GROUPS`: in each round every group has 256 bytes to send, MOVED groups are moved to another priority
//! and back, as many others have their stream cancelled and a new one opened, and all packets are exchanged until the peer
//! has everything. `bench/streams` counts the instructions of a round, and the share of them spent in `schedule`.

#[path = "../tests/support/virtual_pair.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests use the rest")]
mod virtual_pair;

use std::time::Duration;

use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion};
use moq_quic::{
    GroupConfig, TransportConfig,
    connection::SendKey,
    schedule::{GroupId, op::Rng},
};
use quinn_proto::Dir;
use virtual_pair::{Pair, drain};

const PRIORITY: u16 = 0x017f;
const OTHER: u16 = 0x02ff;
const LEN: usize = 256;

fn main() {
    // Under a test runner `--bench` is absent: the smallest size proves that a case runs.
    let full = std::env::args().any(|arg| arg == "--bench");
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    let sizes = [(16, 4), (256, 16), (4_096, 16), (4_096, 256)];
    let mut group = criterion.benchmark_group("group_churn");
    for (groups, moved) in &sizes[..if full { sizes.len() } else { 1 }] {
        let id = BenchmarkId::new(moved.to_string(), groups);
        group.bench_function(id, |bencher| {
            bencher.iter_batched_ref(
                || Subscriptions::new(*groups, *moved),
                measured_group_churn,
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
    criterion.final_summary();
}

/// One group with one live stream each, as a relay has them for one subscriber.
struct Subscriptions {
    pair: Pair,
    groups: Vec<(GroupId, SendKey)>,
    moved: usize,
    data: Bytes,
    /// Bytes written that the peer has not read.
    owed: usize,
    rng: Rng,
}

impl Subscriptions {
    fn new(count: usize, moved: usize) -> Self {
        let config = TransportConfig {
            max_uni_streams: 10_000,
            ..TransportConfig::default()
        };
        let mut pair = Pair::new(&config);
        pair.set_wires(0, Duration::from_micros(100), 0);
        let mut subscriptions = Self {
            pair,
            groups: Vec::with_capacity(count),
            moved,
            data: Bytes::from(vec![0x55; LEN]),
            owed: 0,
            rng: Rng::new(count as u64),
        };
        for _ in 0..count {
            let config = GroupConfig {
                priority: PRIORITY,
                ..GroupConfig::default()
            };
            let group = subscriptions.pair.client.core.open_group(config);
            let stream = subscriptions.open(group);
            subscriptions.groups.push((group, stream));
            subscriptions.write(stream);
        }
        subscriptions.deliver();
        // The congestion window opens, tables grow to their size.
        for _ in 0..3 {
            subscriptions.round();
        }
        subscriptions
    }

    fn open(&mut self, group: GroupId) -> SendKey {
        loop {
            let opened = self.pair.client.core.open(Dir::Uni, group, 0);
            if let Some(stream) = opened.expect("an open group") {
                return stream;
            }
            // Only at first: the peer allows more when it sees that they are used.
            self.open_to_peer();
        }
    }

    /// Lets the peer see every stream.
    fn open_to_peer(&mut self) {
        for at in 0..self.groups.len() {
            self.write(self.groups[at].1);
        }
        self.pair.run_for(Duration::from_millis(10));
        self.owed -= drain(&mut self.pair.server).0;
    }

    /// Runs until the peer has read everything.
    fn deliver(&mut self) {
        let owed = &mut self.owed;
        let done = self.pair.run_until(Duration::from_secs(10), |pair| {
            *owed -= drain(&mut pair.server).0;
            *owed == 0
        });
        assert!(done, "everything written arrives");
    }

    fn write(&mut self, stream: SendKey) {
        let written = self.pair.client.core.write(stream, self.data.clone());
        written.expect("an open stream");
        self.owed += LEN;
    }

    fn round(&mut self) {
        let count = self.groups.len();
        for at in 0..count {
            self.write(self.groups[at].1);
        }
        let start = self.rng.below(count as u64) as usize;
        let churned = |offset| (0..self.moved).map(move |at| (start + offset + at) % count);
        for at in churned(0) {
            let (group, _) = self.groups[at];
            let core = &mut self.pair.client.core;
            core.set_group_priority(group, OTHER);
            core.set_group_priority(group, PRIORITY);
        }
        for at in churned(self.moved).collect::<Vec<_>>() {
            let (group, stream) = self.groups[at];
            // Nothing of it was handed over yet: all of it is dropped.
            self.pair.client.core.release(stream);
            self.owed -= LEN;
            let stream = self.open(group);
            self.write(stream);
            self.groups[at].1 = stream;
        }
        self.deliver();
    }
}

#[inline(never)]
fn measured_group_churn(subscriptions: &mut Subscriptions) {
    subscriptions.round();
}
