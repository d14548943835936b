//! Shares: equals get equal bytes, nobody is starved among equals, and small things don't wait for big ones.

#[path = "support/virtual_pair.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test file uses its part")]
mod virtual_pair;

use std::{collections::BTreeMap, time::Duration};

use moq_quic::{
    GroupConfig, TransportConfig,
    connection::{Event, Frame, SendKey},
    schedule::{GroupId, Schedule},
};
use quinn_proto::Dir;
use virtual_pair::{Pair, bytes, drain};

/// 2 MB/s, 40 ms, a queue of one round trip.
fn slow() -> Pair {
    let mut pair = Pair::new(&TransportConfig::default());
    pair.set_wires(2_000_000, Duration::from_millis(20), 80_000);
    pair
}

fn group(pair: &mut Pair, priority: u16) -> GroupId {
    pair.client.core.open_group(GroupConfig {
        priority,
        ..GroupConfig::default()
    })
}

/// Opens a stream, waiting for the peer to allow it.
fn open(pair: &mut Pair, group: GroupId, order: u64) -> SendKey {
    loop {
        if let Some(key) = pair.client.core.open(Dir::Uni, group, order).unwrap() {
            return key;
        }
        run(pair, Duration::from_millis(10));
    }
}

fn write(pair: &mut Pair, group: GroupId, order: u64, len: usize) -> SendKey {
    let key = open(pair, group, order);
    pair.client.core.write(key, bytes(len)).unwrap();
    key
}

fn run(pair: &mut Pair, span: Duration) {
    pair.run_until(span, |pair| {
        drain(&mut pair.server);
        while pair.server.core.read_datagram().is_some() {}
        false
    });
}

fn id(key: SendKey) -> u64 {
    quinn_proto::VarInt::from(key.id()).into_inner()
}

/// Bytes of each stream, sent first or again.
fn by_stream(frames: &[Frame]) -> BTreeMap<u64, u64> {
    let mut bytes = BTreeMap::new();
    for frame in frames {
        if let Frame::Stream { id, len, .. } = *frame {
            *bytes.entry(id).or_insert(0) += len;
        }
    }
    bytes
}

#[test]
fn three_hundred_equal_streams_get_equal_bytes() {
    let mut pair = slow();
    let group = group(&mut pair, 1);
    for _ in 0..300 {
        let key = open(&mut pair, group, 0);
        // So that the peer sees it and allows the next.
        pair.client.core.write(key, bytes(1)).unwrap();
    }
    run(&mut pair, Duration::from_secs(1));
    let all: Vec<SendKey> = (0..300).map(|_| open(&mut pair, group, 0)).collect();
    for &key in &all {
        pair.client.core.write(key, bytes(100_000)).unwrap();
    }
    pair.client.core.record_wire();
    run(&mut pair, Duration::from_secs(4));
    let sent = by_stream(&pair.client.core.wire());
    let shares: Vec<f64> = all
        .iter()
        .map(|key| sent.get(&id(*key)).copied().unwrap_or(0) as f64)
        .collect();
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let jain = sum * sum / (shares.len() as f64 * squares);
    assert!(sum > 5_000_000.0 && jain >= 0.99, "{jain} of {sum} bytes");
}

#[test]
fn an_unfair_group_sends_small_streams_whole() {
    let mut pair = slow();
    let unfair = pair.client.core.open_group(GroupConfig {
        unfair: true,
        ..GroupConfig::default()
    });
    pair.client.core.record_wire();
    let mut streams = Vec::new();
    for _ in 0..1_000 {
        let key = write(&mut pair, unfair, 0, 200);
        pair.client.core.finish(key).unwrap();
        streams.push(key);
    }
    run(&mut pair, Duration::from_secs(2));
    let mut frames = BTreeMap::new();
    for frame in pair.client.core.wire() {
        if let Frame::Stream { id, .. } = frame {
            *frames.entry(id).or_insert(0) += 1;
        }
    }
    // A stream at the end of a packet may have to be split.
    let split = streams.iter().filter(|key| frames[&id(**key)] > 1).count();
    assert!(split <= 1_000 / 4, "{split} of 1,000 streams were split");
    assert_eq!(frames.len(), 1_000);
}

#[test]
fn datagrams_and_streams_share_by_bytes() {
    let mut pair = slow();
    let streams = group(&mut pair, 7);
    let datagrams = group(&mut pair, 7);
    write(&mut pair, streams, 0, 6_000_000);
    for order in 0..800 {
        pair.client
            .core
            .send_datagram(datagrams, order, bytes(1_000))
            .unwrap();
    }
    run(&mut pair, Duration::from_millis(700));
    let stats = |group| pair.client.core.group_stats(group).unwrap();
    assert!(
        stats(datagrams).queued > 0,
        "both must be backlogged all the time"
    );
    let (a, b) = (stats(streams), stats(datagrams));
    let share = (a.sent + a.retransmitted) as f64 / (a.sent + a.retransmitted + b.sent) as f64;
    assert!((0.47..=0.53).contains(&share), "{share}");
}

#[test]
fn among_equals_lost_bytes_are_sent_again_soon() {
    let mut pair = slow();
    let a = group(&mut pair, 5);
    let b = group(&mut pair, 5);
    write(&mut pair, a, 0, 8_000_000);
    let victim = write(&mut pair, b, 0, 8_000_000);
    run(&mut pair, Duration::from_secs(1));
    // One packet is lost: whose, shows.
    pair.client.core.record_wire();
    let mut lost = false;
    pair.up.lose = Box::new(move |_| !std::mem::replace(&mut lost, true));
    run(&mut pair, Duration::from_secs(1));
    let _ = victim;
    let frames = pair.client.core.wire();
    // From the retransmission on, look back: how much new was sent between the loss being known and the repair?
    let mut high: BTreeMap<u64, u64> = BTreeMap::new();
    let mut first = None;
    let mut sent = 0;
    for frame in &frames {
        let Frame::Stream {
            id, offset, len, ..
        } = *frame
        else {
            continue;
        };
        let end = high.entry(id).or_insert(offset);
        if offset < *end {
            first.get_or_insert(sent);
        }
        *end = (*end).max(offset + len);
        sent += len;
    }
    // A round trip to notice (80 kB and what the queue holds), then at once.
    let first = first.expect("the lost packet was sent again");
    assert!(
        first <= 260_000,
        "{first} bytes before the lost ones went again"
    );
}

#[test]
fn small_messages_beside_bulk_of_the_same_priority_do_not_wait_for_it() {
    let mut pair = slow();
    let bulk = group(&mut pair, 3);
    let small = group(&mut pair, 3);
    write(&mut pair, bulk, 0, 40_000_000);
    run(&mut pair, Duration::from_secs(1));
    let mut waits = Vec::new();
    for order in 0..100 {
        let key = write(&mut pair, small, order, 100);
        pair.client.core.finish(key).unwrap();
        let start = pair.now;
        // Until it is on the wire.
        let sent = pair.client.core.group_stats(small).unwrap().sent;
        pair.run_until(Duration::from_secs(1), |pair| {
            drain(&mut pair.server);
            pair.client.core.group_stats(small).unwrap().sent > sent
        });
        waits.push(pair.now - start);
        run(&mut pair, Duration::from_millis(10));
    }
    waits.sort();
    // The pacer lets ten packets go at a time: 7 ms at this rate.
    assert!(waits[98] <= Duration::from_millis(12), "{:?}", waits[98]);
}

#[test]
fn a_flood_of_datagrams_does_not_hold_up_control() {
    let mut pair = slow();
    let flood = group(&mut pair, u16::MAX);
    write(&mut pair, flood, 0, 100_000);
    run(&mut pair, Duration::from_secs(1));
    for _ in 0..40 {
        for order in 0..200 {
            let _ = pair.client.core.send_datagram(flood, order, bytes(1_000));
        }
        let key = pair
            .client
            .core
            .open(Dir::Bi, Schedule::CONTROL, 0)
            .unwrap()
            .unwrap();
        pair.client.core.write(key, bytes(50)).unwrap();
        pair.client.core.finish(key).unwrap();
        let start = pair.now;
        let arrived = pair.run_until(Duration::from_secs(1), |pair| {
            pair.server
                .events
                .iter()
                .any(|event| matches!(event, Event::Opened(Dir::Bi)))
        });
        let rtt = pair.client.core.stats().rtt;
        assert!(
            arrived && pair.now - start <= rtt + Duration::from_millis(12),
            "{:?}",
            pair.now - start
        );
        run(&mut pair, Duration::from_millis(20));
        pair.server.events.clear();
    }
}

#[test]
fn datagrams_at_twice_the_rate_are_never_older_than_the_budget_allows() {
    let mut pair = Pair::new(&TransportConfig {
        datagram_budget: 100_000,
        ..TransportConfig::default()
    });
    pair.set_wires(1_000_000, Duration::from_millis(20), 40_000);
    let group = group(&mut pair, 0);
    let start = pair.now;
    let mut ages = Vec::new();
    for number in 0..2_000_u64 {
        let mut data = vec![0; 1_000];
        data[..8].copy_from_slice(&((pair.now - start).as_micros() as u64).to_be_bytes());
        let _ = pair.client.core.send_datagram(group, number, data.into());
        pair.run_until(Duration::from_micros(500), |pair| {
            while let Some(data) = pair.server.core.read_datagram() {
                let sent = u64::from_be_bytes(data[..8].try_into().unwrap());
                ages.push((pair.now - start).as_micros() as u64 - sent);
            }
            false
        });
    }
    ages.sort_unstable();
    assert!(ages.len() > 700, "{}", ages.len());
    // 100 kB at 1 MB/s, the way there, and what the link's own queue holds.
    let worst = ages[ages.len() * 99 / 100];
    assert!(worst <= 100_000 + 20_000 + 45_000, "{worst} µs");
    assert!(pair.client.core.stats().evicted_datagrams > 500);
}

#[test]
fn a_raised_group_with_bytes_handed_over_before_waits_for_the_residue_only() {
    let mut pair = slow();
    let a = group(&mut pair, 5);
    let b = group(&mut pair, 1);
    // Some of b is in quinn-proto, at its old priority, when a takes over.
    let starved = write(&mut pair, b, 0, 400_000);
    run(&mut pair, Duration::from_millis(100));
    write(&mut pair, a, 0, 4_000_000);
    run(&mut pair, Duration::from_millis(300));
    let unsent = pair.client.core.stats().unsent;
    let sent = pair.client.core.group_stats(b).unwrap().sent;
    pair.client.core.set_group_priority(b, 9);
    pair.client.core.record_wire();
    run(&mut pair, Duration::from_millis(100));
    let mut before = 0;
    let mut seen = 0;
    for frame in pair.client.core.wire() {
        let Frame::Stream {
            id: stream, len, ..
        } = frame
        else {
            continue;
        };
        match stream == id(starved) {
            true => seen += len,
            false if seen < 50_000 => before += len,
            false => {}
        }
    }
    assert!(pair.client.core.group_stats(b).unwrap().sent >= sent + 50_000);
    assert!(before <= unsent + 3_000, "{before} > {unsent}");
}

#[test]
fn a_saturated_minute_does_not_time_out() {
    let mut pair = Pair::new(&TransportConfig {
        idle_timeout: Duration::from_secs(5),
        ..TransportConfig::default()
    });
    pair.set_wires(200_000, Duration::from_millis(100), 30_000);
    let group = group(&mut pair, 0);
    write(&mut pair, group, 0, 40_000_000);
    let lost = pair.run_until(Duration::from_secs(60), |pair| {
        drain(&mut pair.server);
        pair.client.core.lost().is_some()
    });
    assert!(!lost);
    assert!(pair.client.core.group_stats(group).unwrap().sent > 8_000_000);
}
