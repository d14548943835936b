//! Control above all, strict priorities, and equal shares of what is left.

use super::*;

#[test]
fn control_is_above_every_priority() {
    let mut bed = Bed::new();
    let top = bed.group(u16::MAX);
    bed.stream(top, u64::MAX, PLENTY);
    let control = bed.stream(Schedule::CONTROL, 0, 2 * PACKET);
    assert_eq!(bed.send_streams(2), [control; 2]);
    // And in one grant as much as fits, whatever the quantum.
    bed.schedule.push(control, 5 * PACKET, false);
    let Some(Grant::Stream { key, max_bytes, .. }) = bed.schedule.pop(PLENTY) else {
        panic!("no stream was granted");
    };
    assert_eq!((key, max_bytes), (control, 5 * PACKET));
}

#[test]
fn control_can_be_neither_closed_nor_moved() {
    let mut bed = Bed::new();
    let media = bed.group(9);
    let media = bed.stream(media, 0, PLENTY);
    bed.schedule.close_group(Schedule::CONTROL);
    bed.schedule.set_group_priority(Schedule::CONTROL, 3);
    let control = bed.stream(Schedule::CONTROL, 0, PACKET);
    assert_eq!(bed.send_streams(2), [control, media]);
    bed.schedule.close_stream(control);
    assert!(bed.schedule.open_stream(Schedule::CONTROL, 0).is_some());
}

#[test]
fn a_higher_priority_preempts_at_the_next_grant_and_starves_the_rest() {
    let mut bed = Bed::new();
    let (low, high) = (bed.group(100), bed.group(101));
    let low = bed.stream(low, 0, PLENTY);
    assert_eq!(bed.send_streams(2), [low; 2]);
    let high = bed.stream(high, 0, 1_000 * PACKET);
    assert_eq!(bed.send_streams(1_000), [high; 1_000]);
    assert_eq!(bed.send_streams(1), [low]);
}

#[test]
fn every_priority_of_u16_is_its_own() {
    let mut bed = Bed::new();
    let priorities = [
        0, 1, 63, 64, 127, 128, 255, 256, 257, 4_095, 4_096, 65_280, 65_535,
    ];
    let mut streams = Vec::new();
    for priority in priorities {
        let group = bed.group(priority);
        streams.push(bed.stream(group, 0, PACKET));
    }
    streams.reverse();
    assert_eq!(bed.send_streams(priorities.len()), streams);
    assert!(bed.is_idle());
}

#[test]
fn equal_priorities_share_bytes_not_frames() {
    let mut bed = Bed::new();
    let groups = [bed.group(5), bed.group(5)];
    let [small, large] = groups.map(|group| bed.stream(group, 0, 0));
    let mut bytes = [0, 0];
    for _ in 0..10_000 {
        // Neither runs dry; one is written to 640 times as often.
        (0..10).for_each(|_| bed.schedule.push(small, 100, false));
        if bytes[1] % 64_000 == 0 {
            bed.schedule.push(large, 64_000, false);
        }
        let sent = bed.share(1, [small, large]);
        bytes = [bytes[0] + sent[0], bytes[1] + sent[1]];
    }
    assert!(bytes[0].abs_diff(bytes[1]) <= 2 * PACKET, "{bytes:?}");
}

#[test]
fn weight_multiplies_the_share() {
    let mut bed = Bed::new();
    let groups = [1, 2, 7].map(|weight| {
        bed.group_with(GroupConfig {
            priority: 5,
            weight,
            ..GroupConfig::default()
        })
    });
    let streams = groups.map(|group| bed.stream(group, 0, PLENTY));
    let packets = bed.share(1_000, streams).map(|bytes| bytes / PACKET);
    assert_eq!(packets, [100, 200, 700]);
}

#[test]
fn a_weight_of_zero_counts_as_one() {
    let mut bed = Bed::new();
    let groups = [0, 1].map(|weight| {
        bed.group_with(GroupConfig {
            weight,
            ..GroupConfig::default()
        })
    });
    let streams = groups.map(|group| bed.stream(group, 0, PLENTY));
    assert_eq!(bed.share(100, streams), [50 * PACKET; 2]);
}

#[test]
fn opening_more_streams_does_not_get_a_group_more() {
    let mut bed = Bed::new();
    let (one, many) = (bed.group(5), bed.group(5));
    let one = bed.stream(one, 0, PLENTY);
    for _ in 0..50 {
        bed.stream(many, 0, PLENTY);
    }
    assert_eq!(bed.share(1_000, [one]), [500 * PACKET]);
}

#[test]
fn datagrams_spend_the_same_deficit_as_streams() {
    let mut bed = Bed::new();
    let (mixed, other) = (bed.group(5), bed.group(5));
    let other = bed.stream(other, 0, PLENTY);
    let mut datagrams = 0;
    let mut streams = 0;
    for _ in 0..1_000 {
        bed.schedule.push_datagram(mixed, 0, 700, |_| {});
        match bed.send() {
            Some(Sent::Datagram(_, sent)) => datagrams += sent,
            Some(Sent::Stream(key, sent)) if key == other => streams += sent,
            sent => panic!("{sent:?}"),
        }
    }
    assert!(
        datagrams.abs_diff(streams) <= 2 * PACKET,
        "{datagrams} {streams}"
    );
}

#[test]
fn retransmitted_bytes_spend_the_deficit() {
    let mut bed = Bed::new();
    let (lossy, clean) = (bed.group(5), bed.group(5));
    let streams = [lossy, clean].map(|group| bed.stream(group, 0, PLENTY));
    let mut again = 0;
    let mut bytes = [0, 0];
    for round in 0..1_000 {
        if round % 4 == 0 {
            bed.schedule.charge_retransmit(lossy, 500);
            again += 500;
        }
        let sent = bed.share(1, streams);
        bytes = [bytes[0] + sent[0], bytes[1] + sent[1]];
    }
    assert!(
        (bytes[0] + again).abs_diff(bytes[1]) <= 2 * PACKET,
        "{bytes:?} and {again} again"
    );
}

#[test]
fn a_turn_may_take_more_than_was_granted_and_pays_for_it() {
    let mut bed = Bed::new();
    let groups = [bed.group(5), bed.group(5)];
    let streams = groups.map(|group| bed.stream(group, 0, PLENTY));
    let mut bytes = [0, 0];
    for _ in 0..1_000 {
        let grant = bed.schedule.pop(PACKET).unwrap();
        let Grant::Stream { key, max_bytes, .. } = grant else {
            panic!("{grant:?}");
        };
        let extra = if key == streams[0] { 300 } else { 0 };
        bed.schedule.sent(grant, max_bytes + extra);
        bytes[usize::from(key == streams[1])] += max_bytes + extra;
    }
    assert!(
        bytes[0].abs_diff(bytes[1]) <= 2 * (PACKET + 300),
        "{bytes:?}"
    );
}

#[test]
fn a_grant_that_is_let_go_keeps_its_turn() {
    let mut bed = Bed::new();
    let (first, second) = (bed.group(5), bed.group(5));
    let first = bed.stream(first, 0, PLENTY);
    bed.stream(second, 0, PLENTY);
    let granted = bed.schedule.pop(PACKET);
    for _ in 0..10 {
        assert_eq!(bed.schedule.pop(PACKET), granted);
        // Nothing of it fitted.
        bed.schedule.sent(granted.unwrap(), 0);
    }
    assert_eq!(bed.send_streams(1), [first]);
}

#[test]
fn a_packet_s_last_bytes_do_not_end_a_turn() {
    let mut bed = Bed::new();
    let (first, second) = (bed.group(5), bed.group(5));
    let first = bed.stream(first, 0, PLENTY);
    let second = bed.stream(second, 0, PLENTY);
    let mut turns = Vec::new();
    for _ in 0..8 {
        // A quarter of a packet each time.
        let grant = bed.schedule.pop(PACKET / 4).unwrap();
        let Grant::Stream { key, max_bytes, .. } = grant else {
            panic!("{grant:?}");
        };
        assert_eq!(max_bytes, PACKET / 4);
        bed.schedule.sent(grant, max_bytes);
        turns.push(key);
    }
    assert_eq!(turns, [[first; 4], [second; 4]].concat());
}

#[test]
fn without_budget_nothing_is_granted() {
    let mut bed = Bed::new();
    let group = bed.group(5);
    bed.stream(group, 0, PACKET);
    assert_eq!(bed.schedule.pop(0), None);
    assert!(bed.schedule.pop(1).is_some());
}

#[test]
fn the_quantum_can_change() {
    let mut bed = Bed::new();
    let groups = [bed.group(5), bed.group(5)];
    let streams = groups.map(|group| bed.stream(group, 0, PLENTY));
    bed.schedule.set_quantum(3 * PACKET);
    let turns = bed.send_streams(12);
    assert_eq!(turns, [[streams[0]; 3], [streams[1]; 3]].concat().repeat(2));
}
