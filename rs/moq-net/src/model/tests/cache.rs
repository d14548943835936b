//! What is kept, what goes, and that all of it is given back.

use super::super::group::GROUP_OVERHEAD;
use super::*;
use crate::Error;

/// A pool with room for `groups` groups as [`write`] makes them, and a track that keeps everything by time.
fn small(groups: u64) -> (Pool, Broadcast, Track) {
    let pool = Pool::new(groups * (GROUP_OVERHEAD + super::super::frame::FRAME_OVERHEAD + 10));
    let broadcast = Broadcast::new(pool.clone());
    (pool, broadcast.clone(), long(&broadcast, "video"))
}

fn long(broadcast: &Broadcast, name: &str) -> Track {
    let info = TrackInfo {
        max_age: Duration::from_secs(1 << 40),
        ..TrackInfo::default()
    };
    broadcast.create_track(name, info).unwrap()
}

fn cached(track: &Track) -> Vec<u64> {
    arrived(&mut track.subscribe(everything()))
}

#[test]
fn groups_are_kept_by_media_time() {
    let (_broadcast, track) = track_keeping(300);
    (0..100).for_each(|sequence| write(&track, sequence));
    assert_eq!(cached(&track), [96, 97, 98, 99]);
}

#[test]
fn an_expired_group_gives_its_reader_old() {
    let (_broadcast, track) = track_keeping(300);
    write(&track, 0);
    let mut reader = track.group(0).unwrap();
    (1..6).for_each(|sequence| write(&track, sequence));
    assert_eq!(now(reader.read_frame()), Err(Error::Old));
}

#[test]
fn the_newest_group_is_always_kept() {
    let (pool, _broadcast, track) = small(1);
    let group = track.append_group().unwrap();
    (0..100).for_each(|time| frame(&group, time));
    assert!(pool.used() > pool.capacity());
    group.finish().unwrap();
    assert_eq!(cached(&track), [0]);
    pool.expire(Duration::from_secs(3_600), Duration::ZERO);
    assert_eq!(cached(&track), [0]);
}

#[test]
fn the_budget_holds_over_all_tracks() {
    let (pool, broadcast, video) = small(20);
    let audio = long(&broadcast, "audio");
    for sequence in 0..500 {
        write(&video, sequence);
        write(&audio, sequence);
        assert!(pool.used() <= pool.capacity());
    }
    assert_eq!(cached(&video).len() + cached(&audio).len(), 20);
}

#[test]
fn what_was_superseded_first_goes_first_whichever_track_it_is_of() {
    let (_pool, broadcast, busy) = small(10);
    let idle = long(&broadcast, "idle");
    (0..5).for_each(|sequence| write(&idle, sequence));
    (0..5).for_each(|sequence| write(&busy, sequence));
    (5..8).for_each(|sequence| write(&busy, sequence));
    assert_eq!((cached(&idle), cached(&busy).len()), (vec![3, 4], 8));
}

#[test]
fn an_evicted_group_gives_its_reader_evicted_and_ends_no_subscription() {
    let (_pool, _broadcast, track) = small(3);
    let mut subscriber = track.subscribe(everything());
    write(&track, 0);
    let mut slow = now(subscriber.recv_group()).unwrap().unwrap();
    (1..50).for_each(|sequence| write(&track, sequence));
    assert_eq!(now(slow.read_frame()), Err(Error::Evicted));
    assert_eq!(arrived(&mut subscriber), [47, 48, 49]);
    assert_eq!(subscriber.counts().gone, 46);
}

#[test]
fn one_write_does_a_bounded_number_of_evictions() {
    let (pool, _broadcast, track) = small(1_000);
    (0..1_000).for_each(|sequence| write(&track, sequence));
    let group = track.create_group(1_000).unwrap();
    let before = cached(&track).len();
    group
        .write_frame(Timestamp::ZERO, vec![0; 300_000])
        .unwrap();
    let after = cached(&track).len();
    assert!(before - after <= 8, "{before} - {after}");
    // The writes after it pay the rest back.
    (1_001..1_100).for_each(|sequence| write(&track, sequence));
    assert!(pool.used() <= pool.capacity());
}

#[test]
fn an_append_expires_a_bounded_number_of_groups() {
    let (_broadcast, track) = track_keeping(1_000_000);
    (0..4_096).for_each(|sequence| write(&track, sequence));
    let group = track.append_group().unwrap();
    // All of them are late now; each write lets go of at most four.
    frame(&group, 5_000_000);
    assert_eq!(cached(&track).len(), 4_097 - 4);
}

#[test]
fn empty_groups_are_charged() {
    let (pool, _broadcast, track) = small(10);
    let groups: Vec<_> = (0..1_000).map(|_| track.append_group().unwrap()).collect();
    assert!(pool.used() <= pool.capacity());
    drop(groups);
    assert_eq!(pool.used(), 0, "aborted with nothing in them");
}

#[test]
fn idle_groups_expire_by_the_callers_clock() {
    let pool = Pool::default();
    let broadcast = Broadcast::new(pool.clone());
    let track = long(&broadcast, "video");
    let second = Duration::from_secs(1);
    (0..3).for_each(|sequence| write(&track, sequence));
    pool.expire(10 * second, 30 * second);
    write(&track, 3);
    pool.expire(30 * second, 30 * second);
    // 0 and 1 were superseded at time 0, 2 at 10.
    assert_eq!(cached(&track), [2, 3]);
    pool.expire(40 * second, 30 * second);
    assert_eq!(cached(&track), [3]);
}

#[test]
fn reading_keeps_nothing_alive() {
    let pool = Pool::default();
    let broadcast = Broadcast::new(pool.clone());
    let track = long(&broadcast, "video");
    (0..3).for_each(|sequence| write(&track, sequence));
    let mut subscriber = track.subscribe(everything());
    let mut reader = now(subscriber.recv_group()).unwrap().unwrap();
    for second in 0..31 {
        reader.skip_to(0);
        let _ = now(reader.read_frame());
        pool.expire(Duration::from_secs(second), Duration::from_secs(30));
    }
    assert_eq!(now(reader.read_frame()), Err(Error::Old));
    assert_eq!(cached(&track), [2]);
}

#[test]
fn memory_is_flat_over_a_hundred_thousand_groups() {
    let (pool, broadcast) = (Pool::default(), Broadcast::new(Pool::default()));
    drop(broadcast);
    let broadcast = Broadcast::new(pool.clone());
    let track = broadcast
        .create_track("video", TrackInfo::default())
        .unwrap();
    let mut subscriber = track.subscribe(within(1_000));
    let mut peak = 0;
    for sequence in 0..100_000 {
        write(&track, sequence);
        arrived(&mut subscriber);
        peak = peak.max(pool.used());
    }
    // 5 s of media are 50 groups.
    assert!(peak <= 52 * 1_024, "{peak}");
    assert!(pool.listed() <= 51);
    drop((subscriber, track, broadcast));
    assert_eq!((pool.used(), pool.listed()), (0, 0));
}

#[test]
fn memory_is_back_where_it_was_after_churn() {
    let pool = Pool::new(100_000);
    let broadcast = Broadcast::new(pool.clone());
    let kept = broadcast
        .create_track("kept", TrackInfo::default())
        .unwrap();
    write(&kept, 0);
    let baseline = pool.used();
    for round in 0..200 {
        let track = broadcast
            .create_track("churn", TrackInfo::default())
            .unwrap();
        let mut subscribers: Vec<_> = (0..5).map(|_| track.subscribe(within(500))).collect();
        for sequence in 0..20 {
            let group = track.create_group(sequence * (round % 7 + 1)).unwrap();
            (0..sequence % 3).for_each(|index| frame(&group, sequence * 100 + index));
            match sequence % 4 {
                0 => group.abort(Error::Cancel),
                1 => drop(group),
                _ => group.finish().unwrap(),
            }
            subscribers
                .iter_mut()
                .for_each(|subscriber| drop(arrived(subscriber)));
        }
        match round % 3 {
            0 => track.abort(Error::Cancel),
            1 => track.finish().unwrap(),
            _ => {}
        }
        drop(track);
        broadcast.remove_track("churn");
    }
    assert_eq!((pool.used(), pool.listed()), (baseline, 0));
}

#[test]
fn a_reader_of_a_track_that_went_away_holds_only_its_group() {
    let pool = Pool::default();
    let broadcast = Broadcast::new(pool.clone());
    let track = broadcast
        .create_track("video", TrackInfo::default())
        .unwrap();
    (0..3).for_each(|sequence| write(&track, sequence));
    let mut reader = track.group(1).unwrap();
    drop((track, broadcast));
    assert!(pool.used() < 2 * GROUP_OVERHEAD);
    assert!(now(reader.read_frame()).unwrap().is_some());
    drop(reader);
    assert_eq!(pool.used(), 0);
}

#[test]
fn a_burst_gives_its_index_back() {
    let (_broadcast, track) = track_keeping(1_000_000_000);
    (0..20_000).for_each(|sequence| write(&track, sequence));
    let mut cursor = track.subscribe(everything()).ordered();
    assert_eq!(now(cursor.next_group()).unwrap().unwrap().sequence(), 0);
    let far = 20_000_000;
    (far..far + 6_000).for_each(|sequence| write(&track, sequence));
    // All but the last of the burst are late; they went, and the index was compacted under the cursor.
    assert!(track.index_capacity() <= 4 * 6_001);
    assert_eq!(ordered(&mut cursor)[..2], [19_999, far]);
}

#[test]
fn the_overheads_cover_what_a_group_and_a_frame_take() {
    use super::super::{cache::Node, frame::Stored, group::GroupShared, pool::PoolKey};
    use std::mem::size_of;
    // Beside the structures: two counts of the Arc, three map entries (maps may be half empty), a word a malloc.
    let index = 2 * (size_of::<[u64; 2]>() * 2 + size_of::<PoolKey>() + size_of::<[u64; 4]>());
    let group = size_of::<GroupShared>() + 16 + size_of::<Option<Node>>() + index + 8;
    assert!(GROUP_OVERHEAD as usize >= group, "{group}");
    // Vectors may be half empty; a payload of its own has a reference count.
    let frame = 2 * size_of::<Stored>() + 16;
    assert!(
        super::super::frame::FRAME_OVERHEAD as usize >= frame,
        "{frame}"
    );
}
