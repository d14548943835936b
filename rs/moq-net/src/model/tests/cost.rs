//! That a delivery seeks and never scans: how many cached groups it looks at, whatever is cached.

use super::super::cache::touched;
use super::*;
use crate::Error;

/// Most groups one delivery, or one append, may look at.
const FEW: u64 = 24;

const DEPTHS: [u64; 3] = [64, 512, 4_096];

/// A track that keeps all it is given, at every `apart`th sequence.
fn filled(depth: u64, apart: u64) -> (Broadcast, Track) {
    let (broadcast, track) = track_keeping(u64::MAX / 2_000);
    (0..depth).for_each(|at| write(&track, at * apart));
    (broadcast, track)
}

/// The most that one of all deliveries looks at.
fn worst(mut deliver: impl FnMut() -> Option<Result<Option<GroupConsumer>>>) -> u64 {
    let mut worst = 0;
    loop {
        let mut delivered = false;
        let touched = touched::during(|| delivered = matches!(deliver(), Some(Ok(Some(_)))));
        worst = worst.max(touched);
        if !delivered {
            return worst;
        }
    }
}

#[test]
fn the_next_group_by_sequence_is_a_seek_at_any_depth() {
    for (depth, apart) in DEPTHS.into_iter().zip([1, 1_000, 7]) {
        let (_broadcast, track) = filled(depth, apart);
        let mut cursor = track.subscribe(everything()).ordered();
        assert!(worst(|| poll(cursor.next_group())) <= FEW);
    }
}

#[test]
fn the_next_group_by_arrival_is_one_step_at_any_depth() {
    for depth in DEPTHS {
        let (_broadcast, track) = filled(depth, 1);
        let mut subscriber = track.subscribe(everything());
        assert!(worst(|| poll(subscriber.recv_group())) <= FEW);
    }
}

#[test]
fn a_cursor_whose_place_has_gone_finds_the_next_without_a_scan() {
    for depth in DEPTHS {
        let (_broadcast, track) = filled(0, 1);
        let mut subscriber = track.subscribe(everything());
        let mut cursor = subscriber.ordered();
        // Every second group will go, always the one a cursor has just passed.
        let mut open: Vec<_> = (0..depth).map(|_| track.append_group().unwrap()).collect();
        (0..depth as usize)
            .step_by(2)
            .for_each(|at| frame(&open[at], at as u64));
        let mut doomed: Vec<_> = open.drain(..).skip(1).step_by(2).collect();
        doomed.reverse();
        let next = || {
            let by_sequence = touched::during(|| drop(poll(cursor.next_group())));
            let by_arrival = touched::during(|| drop(poll(subscriber.recv_group())));
            by_sequence.max(by_arrival)
        };
        let mut next = next;
        while let Some(group) = doomed.pop() {
            next();
            next();
            group.abort(Error::Cancel);
            assert!(next() <= FEW);
        }
    }
}

#[test]
fn runs_of_aborted_groups_cost_a_delivery_nothing() {
    for run in [1, 64, 4_096] {
        let (_broadcast, track) = filled(1, 1);
        let mut subscriber = track.subscribe(everything());
        let mut cursor = subscriber.ordered();
        for _ in 0..4 {
            (0..run).for_each(|_| track.append_group().unwrap().abort(Error::Cancel));
            write(&track, track.latest().unwrap() + 1);
        }
        assert!(worst(|| poll(cursor.next_group())) <= FEW);
        assert!(worst(|| poll(subscriber.recv_group())) <= FEW);
        assert_eq!(subscriber.counts().gone, 4 * run);
    }
}

#[test]
fn an_append_looks_at_a_bounded_number_of_groups() {
    for depth in DEPTHS {
        let (_broadcast, track) = filled(depth, 2);
        assert!(touched::during(|| write(&track, depth * 2)) <= 2 * FEW);
        assert!(touched::during(|| write(&track, depth - 1)) <= 2 * FEW);
    }
}

#[test]
fn an_append_that_expires_and_evicts_looks_at_a_bounded_number_of_groups() {
    let pool = Pool::new(600_000);
    let broadcast = Broadcast::new(pool.clone());
    let info = TrackInfo {
        max_age: Duration::from_secs(20),
        ..TrackInfo::default()
    };
    let track = broadcast.create_track("video", info).unwrap();
    for sequence in 0..4_000 {
        // A leap of the timeline makes everything late at once.
        let time = if sequence < 3_000 {
            sequence * 20
        } else {
            1_000_000 + sequence * 20
        };
        let touched = touched::during(|| {
            let group = track.append_group().unwrap();
            frame(&group, time);
            group.finish().unwrap();
        });
        assert!(touched <= 8 * FEW, "{touched}");
    }
}

#[test]
fn joining_at_the_newest_group_costs_the_same_at_any_depth() {
    for depth in DEPTHS {
        let (_broadcast, track) = filled(depth, 1);
        let join = || drop(arrived(&mut track.subscribe(Subscription::default())));
        assert!(touched::during(join) <= FEW);
        let join = || drop(track.subscribe(Subscription::within(Duration::MAX)));
        assert!(touched::during(join) <= FEW);
    }
}
