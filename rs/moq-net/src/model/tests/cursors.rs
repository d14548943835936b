//! What the two cursors deliver, skip and wait for.

use super::*;
use crate::Error;

#[test]
fn groups_reordered_on_the_network_all_arrive() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    write_all(&track, [0, 2, 1]);
    assert_eq!(arrived(&mut subscriber), [0, 2, 1]);
}

#[test]
fn a_late_joiner_gets_the_order_of_arrival_too() {
    let (_broadcast, track) = track();
    write_all(&track, [0, 2, 1]);
    assert_eq!(arrived(&mut track.subscribe(within(5_000))), [0, 2, 1]);
    assert_eq!(arrived(&mut track.subscribe(everything())), [0, 2, 1]);
}

#[test]
fn ordered_waits_for_no_hole_and_never_goes_back() {
    let (_broadcast, track) = track();
    let mut cursor = track.subscribe(within(5_000)).ordered();
    write_all(&track, [0, 2]);
    assert_eq!(ordered(&mut cursor), [0, 2]);
    write_all(&track, [1, 5, 3, 4]);
    assert_eq!(ordered(&mut cursor), [3, 4, 5]);
}

#[test]
fn the_two_orders_are_two_handles_that_do_not_disturb_each_other() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let mut cursor = subscriber.ordered();
    write_all(&track, [1, 0, 2]);
    assert_eq!(ordered(&mut cursor), [0, 1, 2]);
    assert_eq!(arrived(&mut subscriber), [1, 0, 2]);
}

#[test]
fn without_a_start_and_an_age_the_newest_group_is_the_first() {
    let (_broadcast, track) = track();
    (0..5).for_each(|sequence| write(&track, sequence));
    assert_eq!(arrived(&mut track.subscribe(Subscription::default())), [4]);
}

#[test]
fn a_late_joiner_gets_the_newest_group_at_once_even_unfinished() {
    let (_broadcast, track) = track();
    (0..5).for_each(|sequence| write(&track, sequence));
    let group = track.append_group().unwrap();
    frame(&group, 500);
    let mut reader = now(track.subscribe(Subscription::default()).recv_group())
        .unwrap()
        .unwrap();
    assert_eq!(reader.sequence(), 5);
    assert_eq!(
        now(reader.read_frame())
            .unwrap()
            .unwrap()
            .timestamp
            .as_millis(),
        500
    );
}

#[test]
fn without_a_start_the_oldest_group_that_is_not_late_is_the_first() {
    let (_broadcast, track) = track();
    (0..10).for_each(|sequence| write(&track, sequence));
    // Newest timestamp 900; group 6 ends where 7 starts, 200 before it.
    assert_eq!(arrived(&mut track.subscribe(within(300)))[0], 6);
    assert_eq!(ordered(&mut track.subscribe(within(301)).ordered())[0], 5);
}

#[test]
fn an_explicit_start_is_that_group_or_the_oldest_cached_above_it() {
    let (_broadcast, track) = track();
    write_all(&track, [3, 4, 7, 8]);
    let from = |start| Subscription {
        start: Some(start),
        ..Subscription::default()
    };
    assert_eq!(arrived(&mut track.subscribe(from(4))), [4, 7, 8]);
    let mut subscriber = track.subscribe(from(5));
    assert_eq!(now(subscriber.start()), Ok(Some(7)));
    assert_eq!(arrived(&mut subscriber), [7, 8]);
    assert_eq!(
        ordered(&mut track.subscribe(from(0)).ordered()),
        [3, 4, 7, 8]
    );
}

#[test]
fn what_was_asked_for_by_number_is_not_late() {
    let (_broadcast, track) = track();
    (0..4).for_each(|sequence| write(&track, sequence));
    let mut subscriber = track.subscribe(Subscription {
        start: Some(1),
        ..Subscription::default()
    });
    (4..7).for_each(|sequence| write(&track, sequence));
    // 1 to 3 existed when it asked; of what came later only the newest is not late.
    assert_eq!(arrived(&mut subscriber), [1, 2, 3, 6]);
}

#[test]
fn the_declared_start_lets_a_first_group_that_was_overtaken_in() {
    let (_broadcast, track) = track();
    track.start_at(5).unwrap();
    write(&track, 6);
    let mut subscriber = track.subscribe(within(5_000));
    assert_eq!(now(subscriber.start()), Ok(Some(5)));
    write(&track, 5);
    assert_eq!(arrived(&mut subscriber), [6, 5]);
}

#[test]
fn groups_below_the_start_are_not_delivered() {
    let (_broadcast, track) = track();
    write(&track, 6);
    let mut subscriber = track.subscribe(within(5_000));
    assert_eq!(now(subscriber.start()), Ok(Some(6)));
    write_all(&track, [5, 7]);
    assert_eq!(arrived(&mut subscriber), [6, 7]);
    assert_eq!(subscriber.counts().outside, 1);
}

#[test]
fn a_late_group_is_skipped_by_media_time() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(300));
    let mut cursor = subscriber.ordered();
    (0..10).for_each(|sequence| write(&track, sequence));
    assert_eq!(arrived(&mut subscriber), [6, 7, 8, 9]);
    assert_eq!(ordered(&mut cursor), [6, 7, 8, 9]);
    assert_eq!((subscriber.counts().late, cursor.counts().late), (6, 6));
}

#[test]
fn the_newest_group_is_never_late() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(Subscription::default());
    let group = track.append_group().unwrap();
    (0..100).for_each(|second| frame(&group, second * 1_000));
    assert_eq!(arrived(&mut subscriber), [0]);
}

#[test]
fn a_reader_that_stalls_goes_on_with_what_is_not_late() {
    let (_broadcast, track) = track_keeping(500);
    let mut subscriber = track.subscribe(within(500));
    write(&track, 0);
    assert_eq!(arrived(&mut subscriber), [0]);
    (1..1_000).for_each(|sequence| write(&track, sequence));
    let rest = arrived(&mut subscriber);
    assert_eq!(rest.last(), Some(&999));
    assert!(rest.len() <= 6, "{rest:?}");
}

#[test]
fn at_the_cap_the_cursor_parks_until_it_is_raised() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let mut cursor = subscriber.ordered();
    cursor.set_groups(..3);
    subscriber.set_groups(..3);
    (0..6).for_each(|sequence| write(&track, sequence));
    assert_eq!(ordered(&mut cursor), [0, 1, 2]);
    assert_eq!(arrived(&mut subscriber), [0, 1, 2]);
    assert!(poll(cursor.next_group()).is_none());
    cursor.set_groups(..5);
    subscriber.set_groups(..5);
    assert_eq!(ordered(&mut cursor), [3, 4]);
    assert_eq!(arrived(&mut subscriber), [3, 4]);
}

#[test]
fn a_parked_cursor_does_not_end_with_the_track_while_groups_are_held_back() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let mut cursor = subscriber.ordered();
    cursor.set_groups(..1);
    subscriber.set_groups(..1);
    (0..3).for_each(|sequence| write(&track, sequence));
    track.finish().unwrap();
    assert_eq!(
        (ordered(&mut cursor), arrived(&mut subscriber)),
        (vec![0], vec![0])
    );
    assert!(poll(cursor.next_group()).is_none());
    assert!(poll(subscriber.recv_group()).is_none());
    cursor.set_groups(..);
    subscriber.set_groups(..);
    assert_eq!(
        (ordered(&mut cursor), arrived(&mut subscriber)),
        (vec![1, 2], vec![1, 2])
    );
    assert_eq!(now(cursor.next_group()).unwrap().map(|_| ()), None);
}

#[test]
fn a_window_can_be_moved_back() {
    let (_broadcast, track) = track();
    let mut cursor = track.subscribe(within(5_000)).ordered();
    (0..4).for_each(|sequence| write(&track, sequence));
    assert_eq!(ordered(&mut cursor), [0, 1, 2, 3]);
    cursor.set_groups(2..);
    assert_eq!(ordered(&mut cursor), [2, 3]);
}

#[test]
fn a_cap_that_is_raised_brings_back_what_arrived_beyond_it() {
    let (_broadcast, track) = track();
    let ends = |end| Subscription {
        end: Some(end),
        ..within(5_000)
    };
    let mut subscriber = track.subscribe(ends(2));
    write_all(&track, [0, 3, 4, 9]);
    assert_eq!(arrived(&mut subscriber), [0]);
    subscriber.update(ends(5));
    write(&track, 1);
    assert_eq!(arrived(&mut subscriber), [3, 4, 1]);
}

#[test]
fn a_raised_range_ends_when_all_of_it_was_delivered() {
    let (_broadcast, track) = track();
    let ends = |end| Subscription {
        start: Some(0),
        end: Some(end),
        ..within(5_000)
    };
    let mut subscriber = track.subscribe(ends(2));
    (0..6).for_each(|sequence| write(&track, sequence));
    assert_eq!(arrived(&mut subscriber), [0, 1]);
    assert!(now(subscriber.recv_group()).unwrap().is_none());
    subscriber.update(ends(4));
    assert_eq!(arrived(&mut subscriber), [2, 3]);
    assert!(now(subscriber.recv_group()).unwrap().is_none());
}

#[test]
fn finish_ends_both_cursors_after_the_last_group() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let mut cursor = subscriber.ordered();
    write_all(&track, [0, 2]);
    track.finish().unwrap();
    assert_eq!(arrived(&mut subscriber), [0, 2]);
    assert_eq!(ordered(&mut cursor), [0, 2]);
    assert_eq!(now(subscriber.recv_group()).unwrap().map(|_| ()), None);
    assert_eq!(now(cursor.next_group()).unwrap().map(|_| ()), None);
    assert_eq!(now(subscriber.finished()), Ok(3));
}

#[test]
fn finish_at_ends_exactly_at_that_sequence() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let mut cursor = subscriber.ordered();
    write_all(&track, [0, 2]);
    assert_eq!(
        track.finish_at(2),
        Err(Error::ProtocolViolation(
            "a track's declared end is below a group it has"
        ))
    );
    track.finish_at(4).unwrap();
    assert_eq!(track.create_group(4).unwrap_err(), Error::Closed);
    assert_eq!(
        (ordered(&mut cursor), arrived(&mut subscriber)),
        (vec![0, 2], vec![0, 2])
    );
    assert!(poll(cursor.next_group()).is_none() && poll(subscriber.recv_group()).is_none());
    write(&track, 3);
    assert_eq!(ordered(&mut cursor), [3]);
    assert_eq!(now(cursor.next_group()).unwrap().map(|_| ()), None);
    // In arrival order 1 may still come.
    assert_eq!(arrived(&mut subscriber), [3]);
    assert!(poll(subscriber.recv_group()).is_none());
    write(&track, 1);
    assert_eq!(arrived(&mut subscriber), [1]);
    assert_eq!(now(subscriber.recv_group()).unwrap().map(|_| ()), None);
}

#[test]
fn a_declared_end_wins_over_a_later_error() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    write(&track, 0);
    track.finish_at(9).unwrap();
    track.abort(Error::App(1));
    assert_eq!(arrived(&mut subscriber), [0]);
    assert_eq!(now(subscriber.recv_group()).unwrap().map(|_| ()), None);
}

#[test]
fn an_aborted_track_gives_what_is_cached_and_then_its_error() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let mut cursor = subscriber.ordered();
    (0..2).for_each(|sequence| write(&track, sequence));
    track.abort(Error::App(7));
    assert_eq!(
        (ordered(&mut cursor), arrived(&mut subscriber)),
        (vec![0, 1], vec![0, 1])
    );
    assert_eq!(now(subscriber.recv_group()).unwrap_err(), Error::App(7));
    assert_eq!(now(cursor.next_group()).unwrap_err(), Error::App(7));
    assert_eq!(track.append_group().unwrap_err(), Error::App(7));
}

#[test]
fn a_producer_dropped_unfinished_is_an_error_after_what_is_cached() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    write(&track, 0);
    drop(track.clone());
    assert_eq!(arrived(&mut subscriber), [0]);
    assert!(poll(subscriber.recv_group()).is_none());
    drop(track);
    assert_eq!(now(subscriber.recv_group()).unwrap_err(), Error::Dropped);
}

#[test]
fn a_range_ends_when_all_of_it_was_delivered() {
    let (_broadcast, track) = track();
    let range = Subscription {
        start: Some(1),
        end: Some(3),
        ..within(5_000)
    };
    let mut subscriber = track.subscribe(range);
    let mut cursor = subscriber.ordered();
    write_all(&track, [0, 2, 3]);
    assert_eq!(arrived(&mut subscriber), [2]);
    assert!(poll(subscriber.recv_group()).is_none());
    write(&track, 1);
    assert_eq!(arrived(&mut subscriber), [1]);
    assert_eq!(now(subscriber.recv_group()).unwrap().map(|_| ()), None);
    assert_eq!(ordered(&mut cursor), [1, 2]);
    assert_eq!(now(cursor.next_group()).unwrap().map(|_| ()), None);
}

#[test]
fn a_range_with_a_hole_ends_when_the_hole_can_only_be_late() {
    let (_broadcast, track) = track_keeping(300);
    let range = Subscription {
        start: Some(0),
        end: Some(3),
        ..within(300)
    };
    let mut subscriber = track.subscribe(range);
    write_all(&track, [0, 2, 3, 4]);
    assert_eq!(arrived(&mut subscriber), [0, 2]);
    assert!(poll(subscriber.recv_group()).is_none());
    (5..9).for_each(|sequence| write(&track, sequence));
    assert_eq!(now(subscriber.recv_group()).unwrap().map(|_| ()), None);
}

#[test]
fn a_range_that_is_wholly_gone_ends_at_once() {
    let (_broadcast, track) = track_keeping(200);
    (0..20).for_each(|sequence| write(&track, sequence));
    let range = Subscription {
        start: Some(0),
        end: Some(3),
        ..Subscription::default()
    };
    let mut subscriber = track.subscribe(range);
    assert_eq!(now(subscriber.recv_group()).unwrap().map(|_| ()), None);
    assert_eq!(
        now(subscriber.ordered().next_group()).unwrap().map(|_| ()),
        None
    );
}

#[test]
fn frames_are_limited_in_the_first_and_last_group_of_a_range() {
    let (_broadcast, track) = track();
    for sequence in 0..3 {
        let group = track.append_group().unwrap();
        (0..4).for_each(|index| frame(&group, sequence * 100 + index));
        group.finish().unwrap();
    }
    let range = Subscription {
        start: Some(0),
        end: Some(3),
        frame_start: 3,
        frame_end: Some(2),
        ..within(5_000)
    };
    let mut cursor = track.subscribe(range).ordered();
    let times = std::iter::from_fn(|| poll(cursor.read_frame())?.unwrap())
        .map(|(_, frame)| frame.timestamp.as_millis());
    assert_eq!(times.collect::<Vec<_>>(), [3, 100, 101, 102, 103, 200, 201]);
}

#[test]
fn datagrams_share_the_sequence_space() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    write(&track, 0);
    assert_eq!(track.append_datagram(Timestamp::ZERO, "one"), Ok(1));
    let group = track.append_group().unwrap();
    assert_eq!(group.sequence(), 2);
    let datagram = now(subscriber.recv_datagram()).unwrap().unwrap();
    assert_eq!((datagram.sequence, &datagram.payload[..]), (1, &b"one"[..]));
    assert!(poll(subscriber.recv_datagram()).is_none());
    assert_eq!(
        track.append_datagram(Timestamp::ZERO, vec![0; 1201]),
        Err(Error::DatagramTooLarge)
    );
    track.finish().unwrap();
    assert_eq!(now(subscriber.recv_datagram()), Ok(None));
}
