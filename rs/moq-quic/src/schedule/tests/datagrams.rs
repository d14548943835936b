//! The datagram budget: who has to go.

use super::*;

/// Queues a datagram; gives it, if it was taken, and those that went for it.
fn push(bed: &mut Bed, group: GroupId, len: usize) -> (Option<DatagramId>, Vec<DatagramId>) {
    let mut gone = Vec::new();
    let queued = bed
        .schedule
        .push_datagram(group, 0, len, |id| gone.push(id));
    (queued, gone)
}

#[test]
fn the_oldest_of_the_lowest_priority_goes() {
    let mut bed = Bed::new();
    let (low, high) = (bed.group(1), bed.group(2));
    let oldest = bed.datagram(low, 9, 4 * PACKET);
    let newer = bed.datagram(low, 1, 2 * PACKET);
    bed.datagram(high, 0, 4 * PACKET);
    let (queued, gone) = push(&mut bed, high, 5 * PACKET);
    assert!(queued.is_some());
    assert_eq!(gone, [oldest, newer]);
    assert_eq!(bed.schedule.datagram_bytes(), 9 * PACKET);
    assert_eq!(
        bed.schedule.evicted(),
        Evicted {
            datagrams: 2,
            bytes: 6 * PACKET as u64,
        }
    );
}

#[test]
fn of_equal_priorities_the_group_with_most_bytes_pays() {
    let mut bed = Bed::new();
    let (little, much) = (bed.group(1), bed.group(1));
    bed.datagram(little, 0, 4 * PACKET);
    let victim = bed.datagram(much, 0, PACKET);
    bed.datagram(much, 0, 5 * PACKET);
    assert_eq!(push(&mut bed, little, PACKET).1, [victim]);
}

#[test]
fn of_equal_bytes_the_group_with_the_oldest_pays() {
    let mut bed = Bed::new();
    let (first, second) = (bed.group(1), bed.group(1));
    let victim = bed.datagram(first, 0, 5 * PACKET);
    bed.datagram(second, 0, 5 * PACKET);
    let third = bed.group(1);
    assert_eq!(push(&mut bed, third, PACKET).1, [victim]);
}

#[test]
fn the_new_one_is_refused_if_it_is_the_victim() {
    let mut bed = Bed::new();
    let (low, high) = (bed.group(1), bed.group(2));
    bed.datagram(high, 0, 10 * PACKET);
    assert_eq!(push(&mut bed, low, PACKET), (None, Vec::new()));
    assert_eq!(bed.schedule.datagram_bytes(), 10 * PACKET);
    assert_eq!(
        bed.schedule.evicted(),
        Evicted {
            datagrams: 1,
            bytes: PACKET as u64,
        }
    );
}

#[test]
fn one_longer_than_the_budget_is_refused_and_costs_nobody_anything() {
    let mut bed = Bed::new();
    let group = bed.group(1);
    let kept = bed.datagram(group, 0, PACKET);
    assert_eq!(push(&mut bed, group, 10 * PACKET + 1), (None, Vec::new()));
    assert_eq!(bed.schedule.evicted().datagrams, 1);
    assert_eq!(bed.send(), Some(Sent::Datagram(kept, PACKET)));
}

#[test]
fn control_pays_last() {
    let mut bed = Bed::new();
    let top = bed.group(u16::MAX);
    bed.datagram(Schedule::CONTROL, 0, 6 * PACKET);
    let victim = bed.datagram(top, 0, 4 * PACKET);
    assert_eq!(push(&mut bed, Schedule::CONTROL, 3 * PACKET).1, [victim]);
}

#[test]
fn a_priority_changed_later_counts() {
    let mut bed = Bed::new();
    let (a, b) = (bed.group(1), bed.group(2));
    bed.datagram(a, 0, 5 * PACKET);
    let victim = bed.datagram(b, 0, 5 * PACKET);
    bed.schedule.set_group_priority(a, 3);
    assert_eq!(push(&mut bed, a, PACKET).1, [victim]);
}

#[test]
fn what_is_sent_or_removed_makes_room() {
    let mut bed = Bed::new();
    let group = bed.group(1);
    let datagrams = [1, 2, 3].map(|order| bed.datagram(group, order, 3 * PACKET));
    assert_eq!(bed.send(), Some(Sent::Datagram(datagrams[2], 3 * PACKET)));
    bed.schedule.remove_datagram(datagrams[0]);
    assert_eq!(bed.schedule.datagram_bytes(), 3 * PACKET);
    assert_eq!(push(&mut bed, group, 7 * PACKET).1, []);
    assert_eq!(bed.schedule.evicted(), Evicted::default());
}

#[test]
fn evicting_from_the_group_that_has_the_turn_keeps_it_the_turn() {
    let mut bed = Bed::new();
    let (first, second) = (bed.group(1), bed.group(1));
    bed.datagram(first, 0, 10 * PACKET);
    bed.stream(second, 0, PLENTY);
    let (queued, gone) = push(&mut bed, first, PACKET);
    assert_eq!(gone.len(), 1);
    assert_eq!(bed.send(), queued.map(|id| Sent::Datagram(id, PACKET)));
}

#[test]
fn a_refused_datagram_gets_its_group_no_place() {
    let mut bed = Bed::new();
    let (high, dry, other) = (bed.group(2), bed.group(1), bed.group(1));
    bed.datagram(high, 0, 10 * PACKET);
    assert_eq!(push(&mut bed, dry, PACKET).0, None);
    let b = bed.stream(other, 0, PLENTY);
    let a = bed.stream(dry, 0, PLENTY);
    bed.send();
    assert_eq!(bed.send_streams(2), [b, a]);
}

#[test]
fn a_datagram_may_exceed_the_budget_that_was_asked_for() {
    let mut bed = Bed::new();
    let group = bed.group(1);
    let id = bed.datagram(group, 0, 800);
    assert_eq!(
        bed.schedule.pop(10),
        Some(Grant::Datagram {
            id,
            group,
            len: 800
        })
    );
    // It does not fit: it keeps its turn.
    assert_eq!(bed.send(), Some(Sent::Datagram(id, 800)));
}

#[test]
fn datagrams_hold_a_closed_group_until_they_are_sent() {
    let mut bed = Bed::new();
    let group = bed.group(1);
    let id = bed.datagram(group, 0, 100);
    bed.schedule.close_group(group);
    assert_eq!(bed.schedule.push_datagram(group, 0, 100, |_| {}), None);
    assert_eq!(bed.send(), Some(Sent::Datagram(id, 100)));
    assert_eq!(bed.schedule.priority(group), None);
}

#[test]
fn a_datagram_evicted_between_grant_and_sending_is_still_paid_for() {
    let mut bed = Bed::new();
    let (low, high) = (bed.group(1), bed.group(2));
    bed.datagram(low, 0, 4 * PACKET);
    let grant = bed.schedule.pop(PACKET).unwrap();
    assert_eq!(push(&mut bed, high, 10 * PACKET).1.len(), 1);
    bed.schedule.sent(grant, 4 * PACKET);
    assert_eq!(bed.deficit(low), -4 * PACKET as i64);
    assert_eq!(bed.schedule.datagram_bytes(), 10 * PACKET);
}
