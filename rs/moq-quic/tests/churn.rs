//! Nothing is left behind: streams come and go, and what they cost goes with them.

#[path = "support/virtual_pair.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test file uses its part")]
mod virtual_pair;

use std::{collections::BTreeMap, time::Duration};

use moq_quic::{GroupConfig, TransportConfig, connection::Frame};
use quinn_proto::Dir;
use virtual_pair::{Pair, bytes, drain};

fn quick() -> Pair {
    let mut pair = Pair::new(&TransportConfig {
        max_uni_streams: 1_000,
        ..TransportConfig::default()
    });
    pair.set_wires(0, Duration::from_micros(100), 0);
    pair
}

fn settle(pair: &mut Pair) {
    pair.run_until(Duration::from_secs(2), |pair| {
        drain(&mut pair.server);
        false
    });
}

#[test]
fn finished_and_reset_streams_leave_no_state() {
    let mut pair = quick();
    let group = pair.client.core.open_group(GroupConfig::default());
    for round in 0..1_000_u64 {
        let finish = pair
            .client
            .core
            .open(Dir::Uni, group, round)
            .unwrap()
            .unwrap();
        let reset = pair
            .client
            .core
            .open(Dir::Uni, group, round)
            .unwrap()
            .unwrap();
        pair.client.core.write(finish, bytes(300)).unwrap();
        pair.client.core.finish(finish).unwrap();
        pair.client.core.write(reset, bytes(3_000)).unwrap();
        if round % 2 == 0 {
            pair.run_for(Duration::from_micros(50));
        }
        pair.client.core.reset(reset, 1).unwrap();
        pair.client.core.release(finish);
        pair.client.core.release(reset);
        if round % 25 == 24 {
            settle(&mut pair);
        }
    }
    settle(&mut pair);
    assert_eq!(pair.client.core.live_streams(), (0, 0));
    assert_eq!(pair.server.core.live_streams(), (0, 0));
    let stats = pair.client.core.stats();
    assert_eq!((stats.queued, stats.unsent), (0, 0));
}

#[test]
fn fifty_thousand_cancelled_streams_cost_no_later_packet() {
    let mut pair = Pair::new(&TransportConfig {
        max_uni_streams: 60_000,
        ..TransportConfig::default()
    });
    pair.set_wires(2_000_000, Duration::from_millis(20), 80_000);
    let low = pair.client.core.open_group(GroupConfig::default());
    let high = pair.client.core.open_group(GroupConfig {
        priority: 9,
        ..GroupConfig::default()
    });
    let live = pair.client.core.open(Dir::Uni, low, 0).unwrap().unwrap();
    pair.client.core.write(live, bytes(500_000)).unwrap();
    pair.run_for(Duration::from_millis(100));
    let sent_before = pair.client.core.stats().sent_bytes;
    pair.client.core.record_wire();
    for order in 0..50_000 {
        let key = loop {
            if let Some(key) = pair.client.core.open(Dir::Uni, high, order).unwrap() {
                break key;
            }
            pair.run_until(Duration::from_millis(50), |pair| {
                drain(&mut pair.server);
                false
            });
        };
        pair.client.core.write(key, bytes(1_000)).unwrap();
        // Now and then the connection has its turn: some bytes are handed over before the cancel.
        if order % 100 == 0 {
            pair.turn();
        }
        pair.client.core.reset(key, 0).unwrap();
        pair.client.core.release(key);
    }
    let start = cpu();
    settle(&mut pair);
    let spent = cpu() - start;
    let packets = (pair.client.core.stats().sent_bytes - sent_before) / 1_200;
    // With every cancelled stream left in quinn-proto's queue a packet took 15 ms; 200 packets go in that.
    assert!(
        spent < Duration::from_micros(300) * packets as u32,
        "{spent:?} for {packets} packets"
    );
    // Resets tell the peer of no byte that was not sent, but for the residue.
    let wire = pair.client.core.wire();
    let mut resets = BTreeMap::new();
    let mut sent = 0;
    for frame in &wire {
        match *frame {
            Frame::Reset { id, size } => {
                resets.insert(id, size);
            }
            Frame::Stream { len, .. } => sent += len,
            Frame::Datagram { .. } => {}
        }
    }
    assert_eq!(resets.len(), 50_000);
    // At most every 100th had its turn.
    assert!(resets.values().sum::<u64>() <= 500 * 1_000);
    assert!(sent >= 300_000);
    assert_eq!(pair.client.core.live_streams().0, 1);
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}
