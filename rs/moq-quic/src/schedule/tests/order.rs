//! What goes first inside a group.

use super::*;

fn directed(bed: &mut Bed, direction: Direction) -> GroupId {
    bed.group_with(GroupConfig {
        direction,
        ..GroupConfig::default()
    })
}

#[test]
fn newest_first_by_default() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let [b, a, c] = [2, 1, 3].map(|order| bed.stream(group, order, 2 * PACKET));
    assert_eq!(bed.send_streams(5), [c, c, b, b, a]);
}

#[test]
fn oldest_first_if_the_group_says_so() {
    let mut bed = Bed::new();
    let group = directed(&mut bed, Direction::OldestFirst);
    let [b, a, c] = [2, 1, 3].map(|order| bed.stream(group, order, 2 * PACKET));
    assert_eq!(bed.send_streams(5), [a, a, b, b, c]);
}

#[test]
fn a_newer_stream_preempts_an_older_one() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let old = bed.stream(group, 7, PLENTY);
    assert_eq!(bed.send_streams(2), [old; 2]);
    let new = bed.stream(group, 8, PACKET);
    assert_eq!(bed.send_streams(2), [new, old]);
}

#[test]
fn orders_are_compared_in_all_64_bits() {
    let orders = [
        0,
        1,
        (1 << 24) - 1,
        1 << 24,
        (1 << 32) - 1,
        1 << 32,
        1 << 53,
        u64::MAX - 1,
        u64::MAX,
    ];
    for direction in [Direction::NewestFirst, Direction::OldestFirst] {
        let mut bed = Bed::new();
        let group = directed(&mut bed, direction);
        let mut streams = orders.map(|order| bed.stream(group, order, PACKET));
        if direction == Direction::NewestFirst {
            streams.reverse();
        }
        assert_eq!(bed.send_streams(orders.len()), streams);
    }
}

#[test]
fn on_a_tie_a_datagram_goes_before_a_stream() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let stream = bed.stream(group, 10, PACKET);
    let datagrams = [0, 1].map(|_| bed.datagram(group, 10, 100));
    assert_eq!(bed.send(), Some(Sent::Datagram(datagrams[0], 100)));
    assert_eq!(bed.send(), Some(Sent::Datagram(datagrams[1], 100)));
    assert_eq!(bed.send_streams(1), [stream]);
}

#[test]
fn a_datagram_waits_behind_a_stream_that_goes_first() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let datagram = bed.datagram(group, 10, 100);
    let newer = bed.stream(group, 11, 2 * PACKET);
    assert_eq!(bed.send_streams(2), [newer; 2]);
    assert_eq!(bed.send(), Some(Sent::Datagram(datagram, 100)));
}

#[test]
fn equal_orders_take_turns_of_a_packet_by_bytes() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let [a, b, c] = [0; 3].map(|order| bed.stream(group, order, PLENTY));
    assert_eq!(bed.send_streams(6), [a, b, c, a, b, c]);
    // Half packets: two of them are a turn.
    let mut turns = Vec::new();
    for _ in 0..6 {
        let grant = bed.schedule.pop(PACKET / 2).unwrap();
        bed.schedule.sent(grant, PACKET / 2);
        turns.push(grant);
    }
    let key = |grant: &Grant| match grant {
        Grant::Stream { key, .. } => *key,
        Grant::Datagram { .. } => panic!("{grant:?}"),
    };
    assert_eq!(
        turns.iter().map(key).collect::<Vec<_>>(),
        [a, a, b, b, c, c]
    );
}

#[test]
fn equal_orders_of_an_unfair_group_run_to_completion_first_come_first() {
    let mut bed = Bed::new();
    let group = bed.group_with(GroupConfig {
        unfair: true,
        ..GroupConfig::default()
    });
    let [a, b] = [0; 2].map(|order| bed.stream(group, order, 3 * PACKET));
    assert_eq!(bed.send_streams(6), [a, a, a, b, b, b]);
    // It keeps its place while it waits for more to send.
    bed.schedule.push(b, PACKET, false);
    bed.schedule.push(a, PACKET, false);
    assert_eq!(bed.send_streams(2), [a, b]);
}

#[test]
fn an_unfair_group_yields_to_a_higher_priority() {
    let mut bed = Bed::new();
    let unfair = bed.group_with(GroupConfig {
        unfair: true,
        ..GroupConfig::default()
    });
    let low = bed.stream(unfair, 0, PLENTY);
    assert_eq!(bed.send_streams(1), [low]);
    let high = bed.group(1);
    let high = bed.stream(high, 0, PACKET);
    assert_eq!(bed.send_streams(2), [high, low]);
}

#[test]
fn a_new_order_takes_effect_at_the_next_grant_behind_equals() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let [a, b, c] = [1, 2, 3].map(|order| bed.stream(group, order, PLENTY));
    assert_eq!(bed.send_streams(1), [c]);
    bed.schedule.set_stream_order(a, 4);
    assert_eq!(bed.send_streams(1), [a]);
    bed.schedule.set_stream_order(a, 2);
    bed.schedule.set_stream_order(c, 0);
    assert_eq!(bed.send_streams(3), [b, a, b]);
    // The order it has already: it keeps its turn.
    bed.schedule.set_stream_order(a, 2);
    assert_eq!(bed.send_streams(2), [a, b]);
}

#[test]
fn a_moved_stream_takes_its_bytes_along() {
    let mut bed = Bed::new();
    let (low, high) = (bed.group(1), bed.group(2));
    let stays = bed.stream(low, 0, PACKET);
    let moves = bed.stream(low, 9, 2 * PACKET);
    assert!(bed.schedule.move_stream(stays, high, 0));
    assert_eq!(bed.schedule.group_of(stays), Some(high));
    assert_eq!(bed.send_streams(3), [stays, moves, moves]);
    assert!(bed.is_idle());
    assert!(bed.schedule.move_stream(moves, Schedule::CONTROL, 0));
    bed.schedule.push(stays, PACKET, false);
    bed.schedule.push(moves, PACKET, false);
    assert_eq!(bed.send_streams(2), [moves, stays]);
}

/// A stream each period of one order more, `len` bytes and a FIN, on a link that carries half of that in a period. Tells
/// how many of 200 were sent whole, having given those that were late by two periods up.
fn completed_at_twice_the_rate(finish: Option<usize>) -> usize {
    const LEN: usize = 20 * PACKET;
    let mut bed = Bed::new();
    let group = bed.group_with(GroupConfig {
        finish,
        ..GroupConfig::default()
    });
    let mut open = Vec::new();
    let mut completed = 0;
    for order in 0..200 {
        let stream = bed.schedule.open_stream(group, order).unwrap();
        bed.schedule.push(stream, LEN, true);
        open.push((stream, order, LEN));
        for _ in 0..LEN / PACKET / 2 {
            let Some(Sent::Stream(key, sent)) = bed.send() else {
                break;
            };
            let at = open.iter().position(|&(stream, ..)| stream == key).unwrap();
            open[at].2 -= sent;
            if open[at].2 == 0 {
                completed += 1;
                open.remove(at);
                bed.schedule.close_stream(key);
            }
        }
        open.retain(|&(stream, since, _)| {
            let keep = since + 2 > order;
            if !keep {
                bed.schedule.close_stream(stream);
            }
            keep
        });
    }
    completed
}

#[test]
fn strict_newest_first_at_twice_the_rate_completes_nothing() {
    assert_eq!(completed_at_twice_the_rate(None), 0);
}

#[test]
fn finishing_what_is_nearly_done_completes_every_other_stream() {
    assert_eq!(completed_at_twice_the_rate(Some(12 * PACKET)), 100);
}

#[test]
fn only_a_stream_that_has_begun_and_whose_end_is_queued_is_finished_first() {
    let mut bed = Bed::new();
    let group = bed.group_with(GroupConfig {
        finish: Some(PACKET),
        ..GroupConfig::default()
    });
    let begun = bed.stream(group, 1, 2 * PACKET);
    assert_eq!(bed.send_streams(1), [begun]);
    // Little is left, but more may follow.
    let newer = bed.stream(group, 2, 3 * PACKET);
    assert_eq!(bed.send_streams(1), [newer]);
    // Its end is queued now.
    bed.schedule.push(begun, 0, true);
    let short = bed.schedule.open_stream(group, 0).unwrap();
    bed.schedule.push(short, 10, true);
    // The short one has not begun: its order counts.
    assert_eq!(bed.send_streams(4), [begun, newer, newer, short]);
    assert!(bed.is_idle());
}

#[test]
fn a_finishing_stream_goes_before_newer_datagrams_too() {
    let mut bed = Bed::new();
    let group = bed.group_with(GroupConfig {
        finish: Some(PACKET),
        ..GroupConfig::default()
    });
    let stream = bed.schedule.open_stream(group, 0).unwrap();
    bed.schedule.push(stream, 2 * PACKET, true);
    assert_eq!(bed.send_streams(1), [stream]);
    let datagram = bed.datagram(group, 1, 100);
    assert_eq!(bed.send_streams(1), [stream]);
    assert_eq!(bed.send(), Some(Sent::Datagram(datagram, 100)));
}
