//! Groups and streams over time: dry, blocked, moved, closed, gone.

use super::*;

/// Three groups of one priority, a stream each, with `ready` bytes.
fn three(bed: &mut Bed, ready: usize) -> ([GroupId; 3], [StreamKey; 3]) {
    let groups = [0; 3].map(|priority| bed.group(priority));
    (groups, groups.map(|group| bed.stream(group, 0, ready)))
}

#[test]
fn a_group_dry_away_from_the_front_keeps_its_place() {
    let mut bed = Bed::new();
    let (groups, [a, b, c]) = three(&mut bed, PLENTY);
    // The second runs dry while the first has the turn, and is filled again before its own.
    bed.schedule.close_stream(b);
    let b = bed.stream(groups[1], 0, PLENTY);
    assert_eq!(bed.send_streams(4), [a, b, c, a]);
}

#[test]
fn a_group_still_dry_at_its_turn_goes_to_the_tail_when_it_is_filled() {
    let mut bed = Bed::new();
    let (groups, [a, b, c]) = three(&mut bed, PLENTY);
    bed.schedule.close_stream(b);
    assert_eq!(bed.send_streams(2), [a, c]);
    let b = bed.stream(groups[1], 0, PLENTY);
    assert_eq!(bed.send_streams(3), [a, c, b]);
}

#[test]
fn a_group_dry_at_the_front_goes_to_the_tail() {
    let mut bed = Bed::new();
    let (_, [a, b, c]) = three(&mut bed, PACKET);
    for stream in [a, b, c] {
        bed.schedule.push(stream, PACKET / 2, false);
    }
    assert_eq!(bed.send_streams(1), [a]);
    assert_eq!(bed.send_streams(1), [b]);
    // The first has half a packet left, the third more. What the first gets now it gets behind the third.
    bed.schedule.push(a, PACKET, false);
    assert_eq!(bed.send_streams(4), [c, a, b, c]);
}

#[test]
fn debt_survives_a_dry_spell() {
    let mut bed = Bed::new();
    let (groups, [a, b, c]) = three(&mut bed, PACKET);
    // Sent again four packets' worth, then dry.
    bed.schedule.charge_retransmit(groups[0], 4 * PACKET);
    assert_eq!(bed.deficit(groups[0]), -4_000);
    bed.schedule.close_stream(a);
    assert_eq!(bed.deficit(groups[0]), -4_000);
    let a = bed.stream(groups[0], 0, PLENTY);
    bed.schedule.push(b, PLENTY, false);
    // Four packets of debt and the one that would be its own: five rounds go by.
    let turns = bed.send_streams(8);
    assert_eq!(turns, [b, c, b, b, b, b, a, b]);
}

#[test]
fn credit_does_not_survive_a_dry_spell() {
    let mut bed = Bed::new();
    let heavy = bed.group_with(GroupConfig {
        weight: 50,
        ..GroupConfig::default()
    });
    let other = bed.group(0);
    let a = bed.stream(heavy, 0, PACKET);
    let b = bed.stream(other, 0, PLENTY);
    assert_eq!(bed.send_streams(2), [a, b]);
    // 49 packets of its turn were left.
    assert_eq!(bed.deficit(heavy), 0);
}

#[test]
fn a_blocked_stream_costs_no_turn() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let [older, newer] = [1, 2].map(|order| bed.stream(group, order, PLENTY));
    bed.schedule.block(newer);
    assert_eq!(bed.send_streams(3), [older; 3]);
    bed.schedule.unblock(newer);
    assert_eq!(bed.send_streams(1), [newer]);
    // More bytes do not unblock it.
    bed.schedule.block(newer);
    bed.schedule.push(newer, PACKET, true);
    assert_eq!(bed.send_streams(1), [older]);
}

#[test]
fn a_group_whose_streams_are_all_blocked_keeps_its_credit() {
    let mut bed = Bed::new();
    let heavy = bed.group_with(GroupConfig {
        weight: 4,
        ..GroupConfig::default()
    });
    let other = bed.group(0);
    let a = bed.stream(heavy, 0, PLENTY);
    let b = bed.stream(other, 0, PLENTY);
    assert_eq!(bed.send_streams(1), [a]);
    bed.schedule.block(a);
    assert_eq!(bed.send_streams(2), [b; 2]);
    assert_eq!(bed.deficit(heavy), 3 * PACKET as i64);
    bed.schedule.unblock(a);
    // Behind who is there, with the three packets that were left.
    assert_eq!(bed.send_streams(5), [b, a, a, a, b]);
}

#[test]
fn credit_kept_for_a_blocked_stream_is_lost_with_it() {
    let mut bed = Bed::new();
    let heavy = bed.group_with(GroupConfig {
        weight: 4,
        ..GroupConfig::default()
    });
    let a = bed.stream(heavy, 0, PLENTY);
    assert_eq!(bed.send_streams(1), [a]);
    bed.schedule.block(a);
    bed.schedule.close_stream(a);
    assert_eq!(bed.deficit(heavy), 0);
}

#[test]
fn a_blocked_stream_keeps_its_place_among_equals() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let [a, b, c] = [0; 3].map(|order| bed.stream(group, order, PLENTY));
    bed.schedule.block(b);
    assert_eq!(bed.send_streams(2), [a, c]);
    bed.schedule.unblock(b);
    assert_eq!(bed.send_streams(3), [b, a, c]);
}

#[test]
fn another_priority_takes_effect_at_the_next_grant_at_the_tail_with_the_debt() {
    let mut bed = Bed::new();
    let (groups, [a, b, c]) = three(&mut bed, PLENTY);
    let high = bed.group(8);
    let high = bed.stream(high, 0, PLENTY);
    bed.schedule.charge_retransmit(groups[2], 500);
    bed.schedule.set_group_priority(groups[2], 8);
    assert_eq!(bed.schedule.priority(groups[2]), Some(8));
    assert_eq!(bed.deficit(groups[2]), -500);
    // The one that was there first; then half a packet of credit, which a whole packet overdraws.
    assert_eq!(bed.send_streams(4), [high, c, high, c]);
    bed.schedule.close_stream(high);
    bed.schedule.set_group_priority(groups[2], 0);
    assert_eq!(bed.send_streams(4), [a, b, c, a]);
}

#[test]
fn the_same_priority_again_keeps_the_place() {
    let mut bed = Bed::new();
    let (groups, [a, b, c]) = three(&mut bed, PLENTY);
    bed.schedule.set_group_priority(groups[0], 0);
    assert_eq!(bed.send_streams(3), [a, b, c]);
}

#[test]
fn a_group_moves_while_dry_and_while_blocked() {
    let mut bed = Bed::new();
    let (groups, [a, b, c]) = three(&mut bed, 0);
    assert_eq!(bed.send_streams(3), [a, b, c]);
    bed.schedule.set_group_priority(groups[0], 2);
    bed.schedule.push(b, PACKET, false);
    bed.schedule.block(b);
    bed.schedule.set_group_priority(groups[1], 1);
    for stream in [c, a] {
        bed.schedule.push(stream, PACKET, false);
    }
    bed.schedule.unblock(b);
    assert_eq!(bed.send_streams(3), [a, b, c]);
}

#[test]
fn a_group_that_leaves_from_mid_ring_leaves_the_others_in_order() {
    let mut bed = Bed::new();
    let groups = [0; 6].map(|priority| bed.group(priority));
    let streams = groups.map(|group| bed.stream(group, 0, PLENTY));
    let [a, b, c, d, e, f] = streams;
    assert_eq!(bed.send_streams(2), [a, b]);
    bed.schedule.set_group_priority(groups[3], 1);
    bed.schedule.close_stream(d);
    bed.schedule.close_stream(f);
    bed.schedule.close_group(groups[5]);
    assert_eq!(bed.send_streams(5), [c, e, a, b, c]);
}

#[test]
fn closing_a_group_frees_it_when_its_last_stream_has_left() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let [a, b] = [0, 1].map(|order| bed.stream(group, order, PACKET));
    bed.schedule.close_group(group);
    assert_eq!(bed.schedule.open_stream(group, 2), None);
    assert!(!bed.schedule.move_stream(a, group, 2));
    assert_eq!(bed.send_streams(1), [b]);
    bed.schedule.close_stream(b);
    assert_eq!(bed.schedule.priority(group), Some(0));
    assert_eq!(bed.send_streams(1), [a]);
    bed.schedule.close_stream(a);
    assert_eq!(bed.schedule.priority(group), None);
    assert!(bed.is_idle());
}

#[test]
fn an_empty_group_is_freed_at_once_and_a_moved_stream_frees_the_one_it_leaves() {
    let mut bed = Bed::new();
    let (empty, left, to) = (bed.group(0), bed.group(0), bed.group(0));
    bed.schedule.close_group(empty);
    assert_eq!(bed.schedule.priority(empty), None);
    let stream = bed.stream(left, 0, PACKET);
    bed.schedule.close_group(left);
    assert!(bed.schedule.move_stream(stream, to, 0));
    assert_eq!(bed.schedule.priority(left), None);
    assert_eq!(bed.send_streams(1), [stream]);
}

#[test]
fn a_closed_stream_is_granted_no_more_but_pays_for_what_it_was_granted() {
    let mut bed = Bed::new();
    let (groups, [a, b, c]) = three(&mut bed, PLENTY);
    let late = bed.schedule.pop(PACKET).unwrap();
    bed.schedule.close_stream(a);
    bed.schedule.sent(late, PACKET);
    assert_eq!(bed.deficit(groups[0]), -(PACKET as i64));
    assert_eq!(bed.send_streams(3), [b, c, b]);
}

#[test]
fn an_empty_push_asks_for_an_empty_frame() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let stream = bed.schedule.open_stream(group, 0).unwrap();
    assert!(bed.is_idle());
    bed.schedule.push(stream, 0, true);
    assert_eq!(bed.send(), Some(Sent::Stream(stream, 0)));
    assert!(bed.is_idle());
}

#[test]
fn empty_frames_do_not_hold_the_turn_for_ever() {
    let mut bed = Bed::new();
    let (empty, full) = (bed.group(0), bed.group(0));
    for _ in 0..1_000 {
        bed.stream(empty, 0, 0);
    }
    let full = bed.stream(full, 0, PLENTY);
    let first = bed.send_streams(1_000).iter().position(|&key| key == full);
    assert!(first.is_some_and(|first| first <= PACKET / super::super::EMPTY_FRAME));
}

#[test]
fn an_empty_frame_filled_before_it_is_sent_keeps_what_came() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let stream = bed.stream(group, 0, 0);
    let empty = bed.schedule.pop(PACKET).unwrap();
    bed.schedule.push(stream, 300, true);
    bed.schedule.sent(empty, 0);
    assert_eq!(bed.send(), Some(Sent::Stream(stream, 300)));
    assert!(bed.is_idle());
}

#[test]
fn late_keys_do_nothing() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    let stream = bed.stream(group, 0, PACKET);
    let datagram = bed.datagram(group, 0, 100);
    bed.schedule.remove_datagram(datagram);
    bed.schedule.close_stream(stream);
    bed.schedule.close_group(group);
    // Others in their places now.
    let group_now = bed.group(3);
    let stream_now = bed.stream(group_now, 0, PACKET);
    assert_eq!(group.index(), group_now.index());
    bed.schedule.close_stream(stream);
    bed.schedule.remove_datagram(datagram);
    bed.schedule.set_group_priority(group, 9);
    bed.schedule.close_group(group);
    bed.schedule.charge_retransmit(group, 5_000);
    bed.schedule.push(stream, PACKET, true);
    bed.schedule.block(stream);
    bed.schedule.set_stream_order(stream, 1);
    assert!(!bed.schedule.move_stream(stream, group_now, 0));
    assert!(!bed.schedule.move_stream(stream_now, group, 0));
    assert_eq!(bed.schedule.open_stream(group, 0), None);
    assert_eq!(bed.schedule.push_datagram(group, 0, 1, |_| {}), None);
    assert_eq!(bed.schedule.evicted(), Evicted::default());
    assert_eq!(
        (bed.schedule.priority(group_now), bed.deficit(group_now)),
        (Some(3), 0)
    );
    assert_eq!(bed.send(), Some(Sent::Stream(stream_now, PACKET)));
    assert!(bed.is_idle());
}
