//! What one group's writer and readers see, and what its trouble means to the track.

use bytes::Bytes;

use super::super::{MAX_FRAME_BYTES, MAX_GROUP_FRAMES};
use super::*;
use crate::{Error, Timescale};

#[test]
fn readers_see_frames_as_they_are_written() {
    let (_broadcast, track) = track();
    let group = track.append_group().unwrap();
    let (mut one, mut other) = (group.consume(), group.consume());
    assert!(poll(one.read_frame()).is_none());
    frame(&group, 1);
    assert!(now(one.read_frame()).unwrap().is_some());
    frame(&group, 2);
    assert_eq!(
        now(other.read_frame())
            .unwrap()
            .unwrap()
            .timestamp
            .as_millis(),
        1
    );
    assert_eq!(
        now(one.read_frame())
            .unwrap()
            .unwrap()
            .timestamp
            .as_millis(),
        2
    );
    assert!(!one.is_finished());
    group.finish().unwrap();
    assert_eq!(now(one.read_frame()), Ok(None));
    assert!(one.is_finished());
}

#[test]
fn payloads_are_never_copied() {
    let (_broadcast, track) = track();
    let payload = Bytes::from(vec![7; 1000]);
    let group = track.append_group().unwrap();
    group.write_frame(Timestamp::ZERO, payload.clone()).unwrap();
    for _ in 0..3 {
        let frame = now(group.consume().read_frame()).unwrap().unwrap();
        assert_eq!(frame.payload.as_ptr(), payload.as_ptr());
    }
}

#[test]
fn timestamps_are_counted_in_the_tracks_scale() {
    let info = TrackInfo {
        timescale: Timescale::new(90_000).unwrap(),
        ..TrackInfo::default()
    };
    let (_broadcast, track) = track_with(info);
    let group = track.append_group().unwrap();
    group.write_frame(Timestamp::from_micros(11), "").unwrap();
    let frame = now(group.consume().read_frame()).unwrap().unwrap();
    assert_eq!(
        (frame.timestamp.value(), frame.timestamp.scale().get()),
        (1, 90_000)
    );
    let beyond = Timestamp::new(u64::MAX, Timescale::MILLIS);
    assert_eq!(group.write_frame(beyond, ""), Err(Error::TimestampMismatch));
}

#[test]
fn an_aborted_group_gives_its_frames_and_then_the_error() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let group = track.append_group().unwrap();
    frame(&group, 1);
    let mut early = now(subscriber.recv_group()).unwrap().unwrap();
    group.abort(Error::App(3));
    let mut late = now(track.subscribe(within(5_000)).recv_group())
        .unwrap()
        .unwrap();
    for reader in [&mut early, &mut late] {
        assert!(now(reader.read_frame()).unwrap().is_some());
        assert_eq!(now(reader.read_frame()), Err(Error::App(3)));
    }
}

#[test]
fn an_aborted_group_with_nothing_in_it_is_stepped_over() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let mut cursor = subscriber.ordered();
    write(&track, 0);
    track.append_group().unwrap().abort(Error::Cancel);
    write(&track, 2);
    assert_eq!(
        (ordered(&mut cursor), arrived(&mut subscriber)),
        (vec![0, 2], vec![0, 2])
    );
    assert_eq!(subscriber.counts().gone, 1);
}

#[test]
fn a_failed_group_does_not_end_the_subscription() {
    let (_broadcast, track) = track();
    let mut cursor = track.subscribe(within(5_000)).ordered();
    let group = track.append_group().unwrap();
    frame(&group, 0);
    group.abort(Error::Lagged);
    write(&track, 1);
    let frames = std::iter::from_fn(|| poll(cursor.read_frame())?.unwrap());
    assert_eq!(
        frames.map(|(sequence, _)| sequence).collect::<Vec<_>>(),
        [0, 1]
    );
}

#[test]
fn a_group_dropped_unfinished_is_aborted() {
    let (_broadcast, track) = track();
    let group = track.append_group().unwrap();
    frame(&group, 1);
    let mut reader = group.consume();
    drop(group);
    assert!(now(reader.read_frame()).unwrap().is_some());
    assert_eq!(now(reader.read_frame()), Err(Error::Dropped));
}

#[test]
fn a_duplicate_group_is_refused_and_the_first_stays() {
    let (_broadcast, track) = track();
    let first = track.create_group(4).unwrap();
    assert_eq!(track.create_group(4).unwrap_err(), Error::Duplicate);
    frame(&first, 1);
    first.finish().unwrap();
    assert_eq!(track.create_group(4).unwrap_err(), Error::Duplicate);
    assert!(now(track.group(4).unwrap().read_frame()).unwrap().is_some());
}

#[test]
fn an_aborted_sequence_may_be_created_again() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let group = track.create_group(4).unwrap();
    frame(&group, 1);
    let mut old = group.consume();
    group.abort(Error::Cancel);
    assert_eq!(arrived(&mut subscriber), [4]);
    let group = track.create_group(4).unwrap();
    frame(&group, 2);
    group.finish().unwrap();
    let mut new = now(subscriber.recv_group()).unwrap().unwrap();
    assert_eq!(
        now(new.read_frame())
            .unwrap()
            .unwrap()
            .timestamp
            .as_millis(),
        2
    );
    assert!(now(old.read_frame()).is_err());
}

#[test]
fn an_evicted_sequence_may_be_created_again() {
    let (_broadcast, track) = track_keeping(100);
    (0..5).for_each(|sequence| write(&track, sequence));
    assert!(track.group(1).is_none());
    assert!(track.create_group(1).is_ok());
}

#[test]
fn groups_have_a_largest_count_and_size() {
    let (_broadcast, track) = track();
    let group = track.append_group().unwrap();
    (0..MAX_GROUP_FRAMES).for_each(|_| group.write_frame(Timestamp::ZERO, "").unwrap());
    assert_eq!(
        group.write_frame(Timestamp::ZERO, ""),
        Err(Error::GroupTooLarge)
    );
    assert_eq!(
        group.write_frame(Timestamp::ZERO, ""),
        Err(Error::GroupTooLarge)
    );

    let large = Bytes::from(vec![0; MAX_FRAME_BYTES + 1]);
    let group = track.append_group().unwrap();
    assert_eq!(
        group.write_frame(Timestamp::ZERO, large.clone()),
        Err(Error::FrameTooLarge)
    );
    group
        .write_frame(Timestamp::ZERO, large.slice(1..))
        .unwrap();
    assert_eq!(
        group.write_frame(Timestamp::ZERO, "x"),
        Err(Error::GroupTooLarge)
    );
}

#[test]
fn a_tail_of_a_group_keeps_its_frame_numbers() {
    let (_broadcast, track) = track();
    let group = track.append_group().unwrap();
    group.start_at(7).unwrap();
    frame(&group, 1);
    assert!(group.start_at(8).is_err());
    let mut reader = group.consume();
    assert_eq!(reader.frame_index(), 7);
    assert!(now(reader.read_frame()).unwrap().is_some());
    assert_eq!(reader.frame_index(), 8);
    reader.skip_to(7);
    assert!(now(reader.read_frame()).unwrap().is_some());
}

#[test]
fn a_reader_in_a_group_learns_that_it_is_late() {
    let (_broadcast, track) = track_keeping(60_000);
    let group = track.append_group().unwrap();
    frame(&group, 0);
    let reader = group.consume();
    let age = Duration::from_millis(300);
    let (count, waker) = Count::new();
    let mut late = pin!(reader.late(age));
    let mut is_late = || {
        late.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready()
    };
    assert!(!is_late());
    let next = track.append_group().unwrap();
    frame(&next, 100);
    assert!(!is_late());
    let before = count.get();
    (101..400).for_each(|millis| frame(&next, millis));
    assert_eq!(count.get(), before, "not woken before it can be late");
    assert!(!reader.is_late(age));
    frame(&next, 400);
    assert!(count.get() > before && reader.is_late(age) && is_late());
}

#[test]
fn a_writer_learns_that_its_group_is_gone() {
    let (_broadcast, track) = track_keeping(100);
    let group = track.append_group().unwrap();
    frame(&group, 0);
    assert!(poll(group.closed()).is_none());
    (1..5).for_each(|sequence| write(&track, sequence));
    assert_eq!(now(group.closed()), Error::Old);
    assert_eq!(group.write_frame(Timestamp::ZERO, ""), Err(Error::Old));
}
