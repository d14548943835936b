//! The order on the wire is what the schedule says, and quinn-proto never holds more than the next packets.
//!
//! Two sans-IO connections in virtual time; every frame is seen as it is encrypted.

#[path = "support/virtual_pair.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test file uses its part")]
mod virtual_pair;

use std::time::Duration;

use moq_quic::{
    Direction, GroupConfig, TransportConfig,
    connection::{Frame, SendKey},
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

fn open(pair: &mut Pair, group: GroupId, order: u64) -> SendKey {
    pair.client
        .core
        .open(Dir::Uni, group, order)
        .unwrap()
        .unwrap()
}

fn write(pair: &mut Pair, group: GroupId, order: u64, len: usize) -> SendKey {
    let key = open(pair, group, order);
    pair.client.core.write(key, bytes(len)).unwrap();
    key
}

/// Runs, with the server reading everything.
fn run(pair: &mut Pair, span: Duration) {
    pair.run_until(span, |pair| {
        drain(&mut pair.server);
        false
    });
}

/// First transmissions: (stream, offset, bytes), in order.
fn fresh(frames: &[Frame]) -> Vec<(u64, u64, u64)> {
    let mut high = std::collections::BTreeMap::new();
    let mut fresh = Vec::new();
    for frame in frames {
        if let Frame::Stream {
            id, offset, len, ..
        } = *frame
        {
            let high = high.entry(id).or_insert(0);
            if offset >= *high {
                *high = offset + len;
                fresh.push((id, offset, len));
            }
        }
    }
    fresh
}

fn id(key: SendKey) -> u64 {
    quinn_proto::VarInt::from(key.id()).into_inner()
}

/// Batch + 1 packets, at the largest size of packets.
fn residue_bound(pair: &Pair) -> u64 {
    let mtu = u64::from(pair.client.core.stats().mtu);
    (TransportConfig::default().batch as u64 + 1) * mtu
}

#[test]
fn unsent_bytes_in_quinn_are_bounded() {
    for rate in [200_000, 2_000_000, 50_000_000, 0] {
        let mut pair = Pair::new(&TransportConfig::default());
        pair.set_wires(rate, Duration::from_millis(5), 100_000);
        let low = group(&mut pair, 1);
        for order in 0..20 {
            write(&mut pair, low, order, 200_000);
        }
        run(&mut pair, Duration::from_secs(2));
        let bound = residue_bound(&pair);
        assert!(pair.client.most_unsent > 0);
        assert!(
            pair.client.most_unsent <= bound,
            "{} > {bound} at {rate} B/s",
            pair.client.most_unsent
        );
    }
}

#[test]
fn a_slow_path_is_given_less_at_once() {
    let mut pair = slow();
    let low = group(&mut pair, 1);
    write(&mut pair, low, 0, 5_000_000);
    run(&mut pair, Duration::from_secs(1));
    pair.client.most_unsent = 0;
    run(&mut pair, Duration::from_secs(1));
    let mtu = u64::from(pair.client.core.stats().mtu);
    assert!(
        pair.client.most_unsent <= 3 * mtu,
        "{}",
        pair.client.most_unsent
    );
}

#[test]
fn higher_priority_is_never_behind_by_more_than_the_residue() {
    let mut pair = slow();
    let low = group(&mut pair, 10);
    let high = group(&mut pair, 255);
    write(&mut pair, low, 0, 4_000_000);
    run(&mut pair, Duration::from_millis(700));
    for _ in 0..20 {
        pair.client.core.record_wire();
        let unsent = pair.client.core.stats().unsent;
        let key = write(&mut pair, high, 0, 20_000);
        pair.client.core.finish(key).unwrap();
        run(&mut pair, Duration::from_millis(50));
        let mut before = 0;
        let mut seen = 0;
        for (stream, _, len) in fresh(&pair.client.core.wire()) {
            if stream == id(key) {
                seen += len;
            } else if seen < 20_000 {
                before += len;
            }
        }
        assert_eq!(seen, 20_000);
        assert!(
            before <= unsent,
            "{before} bytes went before, {unsent} had been handed over"
        );
    }
}

#[test]
fn a_raised_priority_takes_effect_at_the_next_packet() {
    let mut pair = slow();
    let a = group(&mut pair, 5);
    let b = group(&mut pair, 1);
    write(&mut pair, a, 0, 2_000_000);
    let starved = write(&mut pair, b, 0, 300_000);
    run(&mut pair, Duration::from_millis(300));
    assert_eq!(pair.client.core.group_stats(b).unwrap().sent, 0);
    let unsent = pair.client.core.stats().unsent;
    pair.client.core.set_group_priority(b, 9);
    pair.client.core.record_wire();
    run(&mut pair, Duration::from_millis(400));
    let mut before = 0;
    let mut seen = 0;
    for (stream, _, len) in fresh(&pair.client.core.wire()) {
        if stream == id(starved) {
            seen += len;
        } else if seen < 300_000 {
            before += len;
        }
    }
    assert_eq!(seen, 300_000);
    assert!(before <= unsent, "{before} > {unsent}");
}

#[test]
fn order_inside_a_group_is_the_order_on_the_wire() {
    for direction in [Direction::NewestFirst, Direction::OldestFirst] {
        let mut pair = slow();
        let group = pair.client.core.open_group(GroupConfig {
            direction,
            ..GroupConfig::default()
        });
        let orders = [7_u64, u64::MAX, 1 << 32, 0, 1 << 24, 9];
        let mut streams = Vec::new();
        for order in orders {
            let key = write(&mut pair, group, order, 5_000);
            pair.client.core.finish(key).unwrap();
            streams.push((order, id(key)));
        }
        streams.sort_unstable();
        if direction == Direction::NewestFirst {
            streams.reverse();
        }
        pair.client.core.record_wire();
        run(&mut pair, Duration::from_secs(1));
        let mut seen: Vec<u64> = fresh(&pair.client.core.wire())
            .iter()
            .map(|f| f.0)
            .collect();
        seen.dedup();
        let expected: Vec<u64> = streams.iter().map(|stream| stream.1).collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn equal_groups_share_by_bytes_whatever_their_backlog_and_frames() {
    let mut pair = slow();
    let a = group(&mut pair, 100);
    let b = group(&mut pair, 100);
    // Ten times the backlog in one stream, against many small streams with far larger orders.
    let big = write(&mut pair, a, 0, 10_000_000);
    for order in 0..60 {
        let key = write(&mut pair, b, u64::MAX - order, 16_000);
        pair.client.core.finish(key).unwrap();
    }
    let _ = big;
    run(&mut pair, Duration::from_millis(900));
    let (a, b) = (
        pair.client.core.group_stats(a).unwrap(),
        pair.client.core.group_stats(b).unwrap(),
    );
    assert!(b.queued > 0, "both must be backlogged all the time");
    let share = a.sent as f64 / (a.sent + b.sent) as f64;
    assert!((0.48..=0.52).contains(&share), "{share}");
}

#[test]
fn retransmitted_bytes_spend_the_share() {
    let mut pair = slow();
    let a = group(&mut pair, 100);
    let b = group(&mut pair, 100);
    write(&mut pair, a, 0, 20_000_000);
    write(&mut pair, b, 0, 20_000_000);
    let mut count = 0_u64;
    pair.up.lose = Box::new(move |_| {
        count += 1;
        count.is_multiple_of(25)
    });
    run(&mut pair, Duration::from_secs(8));
    let (a, b) = (
        pair.client.core.group_stats(a).unwrap(),
        pair.client.core.group_stats(b).unwrap(),
    );
    assert!(a.retransmitted > 0 && b.retransmitted > 0);
    let total = |stats: moq_quic::GroupStats| (stats.sent + stats.retransmitted) as f64;
    let share = total(a) / (total(a) + total(b));
    assert!((0.48..=0.52).contains(&share), "{share}");
}

#[test]
fn retransmissions_obey_priority() {
    let mut pair = slow();
    let low = group(&mut pair, 1);
    let high = group(&mut pair, 200);
    let lost = write(&mut pair, low, 0, 60_000);
    pair.client.core.finish(lost).unwrap();
    // All of the low stream's packets from here on are lost, then the high group gets busy.
    pair.up.lose = Box::new(|_| true);
    pair.run_for(Duration::from_millis(30));
    pair.up.lose = Box::new(|_| false);
    let key = write(&mut pair, high, 0, 400_000);
    pair.client.core.finish(key).unwrap();
    pair.client.core.record_wire();
    run(&mut pair, Duration::from_secs(4));
    let frames = pair.client.core.wire();
    let last_high = frames
        .iter()
        .rposition(|frame| matches!(frame, Frame::Stream { id: stream, .. } if *stream == id(key)))
        .unwrap();
    // What carries low bytes before the high stream is through: residue, and what loss probes take along.
    let mut low_bytes = 0;
    for frame in &frames[..last_high] {
        if let Frame::Stream {
            id: stream, len, ..
        } = *frame
            && stream == id(lost)
        {
            low_bytes += len;
        }
    }
    let mtu = u64::from(pair.client.core.stats().mtu);
    assert!(
        low_bytes <= 4 * mtu,
        "{low_bytes} low bytes went before the high stream was through"
    );
    assert!(pair.client.core.group_stats(low).unwrap().retransmitted > 0);
}

#[test]
fn a_reset_takes_back_all_but_the_residue() {
    let mut pair = slow();
    let group = group(&mut pair, 1);
    let key = write(&mut pair, group, 0, 3_000_000);
    run(&mut pair, Duration::from_millis(300));
    let sent = pair.client.core.group_stats(group).unwrap().sent;
    pair.client.core.record_wire();
    let bound = sent + residue_bound(&pair);
    pair.client.core.reset(key, 9).unwrap();
    let stats = pair.client.core.group_stats(group).unwrap();
    assert_eq!(stats.queued, 0);
    assert_eq!(stats.handed_over + stats.dropped, 3_000_000);
    run(&mut pair, Duration::from_millis(300));
    let size = pair
        .client
        .core
        .wire()
        .iter()
        .find_map(|frame| match frame {
            Frame::Reset { id: stream, size } if *stream == id(key) => Some(*size),
            _ => None,
        });
    let size = size.expect("a RESET_STREAM went out");
    assert!(
        size >= sent && size <= bound,
        "final size {size}, sent {sent}"
    );
    assert_eq!(size, stats.handed_over);
}

#[test]
fn datagrams_obey_tiers_and_order() {
    let mut pair = slow();
    let low = group(&mut pair, 1);
    let high = group(&mut pair, 9);
    write(&mut pair, high, 5, 30_000);
    for order in 0..10 {
        pair.client
            .core
            .send_datagram(low, order, bytes(500))
            .unwrap();
    }
    // In one group: before the stream of its own order, behind a newer one.
    let mid = group(&mut pair, 5);
    let newer = write(&mut pair, mid, 11, 10_000);
    let older = write(&mut pair, mid, 10, 10_000);
    pair.client.core.send_datagram(mid, 10, bytes(700)).unwrap();
    pair.client.core.record_wire();
    run(&mut pair, Duration::from_secs(1));
    let frames = pair.client.core.wire();
    // Bytes of a stream that went after the frame at this place.
    let after = |key: SendKey, at: usize| -> u64 {
        let frames = fresh(&frames[at..]);
        frames
            .iter()
            .filter(|frame| frame.0 == id(key))
            .map(|frame| frame.2)
            .sum()
    };
    let at = |len| {
        frames
            .iter()
            .position(|frame| *frame == Frame::Datagram { len })
            .unwrap()
    };
    // Within a packet datagrams come first, so it may be off by the packet it is in.
    let mtu = u64::from(pair.client.core.stats().mtu);
    assert!(
        after(newer, at(700)) <= 2 * mtu,
        "{}",
        after(newer, at(700))
    );
    assert_eq!(after(older, at(700)), 10_000);
    assert!(
        after(older, at(500)) <= 2 * mtu,
        "{}",
        after(older, at(500))
    );
}

#[test]
fn control_goes_before_everything() {
    let mut pair = slow();
    let media = group(&mut pair, u16::MAX);
    write(&mut pair, media, u64::MAX, 4_000_000);
    run(&mut pair, Duration::from_millis(500));
    let unsent = pair.client.core.stats().unsent;
    pair.client.core.record_wire();
    let key = pair
        .client
        .core
        .open(Dir::Bi, Schedule::CONTROL, 0)
        .unwrap()
        .unwrap();
    pair.client.core.write(key, bytes(100)).unwrap();
    run(&mut pair, Duration::from_millis(100));
    let mut before = 0;
    for (stream, _, len) in fresh(&pair.client.core.wire()) {
        if stream == id(key) {
            break;
        }
        before += len;
    }
    assert!(before <= unsent, "{before} > {unsent}");
}

#[test]
fn the_books_balance() {
    let mut pair = slow();
    let group = group(&mut pair, 1);
    let mut written = 0_u64;
    let mut count = 0_u64;
    pair.up.lose = Box::new(move |_| {
        count += 1;
        count.is_multiple_of(10)
    });
    for order in 0..30 {
        let key = write(&mut pair, group, order, 10_000 + order as usize);
        written += 10_000 + order;
        if order % 7 == 0 {
            pair.client.core.reset(key, 0).unwrap();
        } else {
            pair.client.core.finish(key).unwrap();
        }
        run(&mut pair, Duration::from_millis(3));
    }
    let stats = pair.client.core.group_stats(group).unwrap();
    assert_eq!(stats.queued + stats.handed_over + stats.dropped, written);
    run(&mut pair, Duration::from_secs(5));
    let stats = pair.client.core.group_stats(group).unwrap();
    assert_eq!(stats.queued, 0);
    assert_eq!(stats.handed_over + stats.dropped, written);
    assert!(stats.sent <= stats.handed_over);
    assert!(stats.retransmitted > 0);
    assert_eq!(pair.client.core.stats().unsent, 0);
    assert_eq!(pair.client.core.stats().retransmitted, stats.retransmitted);
}

#[test]
fn taking_turns_costs_few_more_frames_than_packets() {
    let mut pair = Pair::new(&TransportConfig::default());
    pair.set_wires(0, Duration::from_micros(100), 0);
    let group = group(&mut pair, 1);
    for _ in 0..20 {
        write(&mut pair, group, 0, 200_000);
    }
    let packets = pair.client.core.stats().sent_packets;
    pair.client.core.record_wire();
    run(&mut pair, Duration::from_secs(2));
    let packets = pair.client.core.stats().sent_packets - packets;
    let frames = fresh(&pair.client.core.wire()).len() as u64;
    assert_eq!(pair.client.core.group_stats(group).unwrap().sent, 4_000_000);
    assert!(
        frames <= packets + packets / 5,
        "{frames} frames in {packets} packets"
    );
}
