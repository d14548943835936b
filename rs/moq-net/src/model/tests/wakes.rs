//! Who is woken, by what, and who isn't.

use super::*;
use crate::Error;

/// Polls both cursors of a fresh subscription until they wait; returns their wake counters.
fn waiting(subscriber: &mut Subscriber, cursor: &mut Ordered) -> (Arc<Count>, Arc<Count>) {
    let (arrival, waker) = Count::new();
    while subscriber
        .poll_recv_group(&mut Context::from_waker(&waker))
        .is_ready()
    {}
    let (sequence, waker) = Count::new();
    while cursor
        .poll_next_group(&mut Context::from_waker(&waker))
        .is_ready()
    {}
    (arrival, sequence)
}

/// That `act` wakes both cursors of a subscription that waits.
#[track_caller]
fn wakes(act: impl FnOnce(&Track, &Subscriber)) {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let mut cursor = subscriber.ordered();
    let (arrival, sequence) = waiting(&mut subscriber, &mut cursor);
    act(&track, &subscriber);
    assert_eq!((arrival.get(), sequence.get()), (1, 1));
}

#[test]
fn an_append_wakes_who_waits_for_a_group() {
    wakes(|track, _| drop(track.append_group()));
}

#[test]
fn the_end_wakes_who_waits_for_a_group() {
    wakes(|track, _| track.finish().unwrap());
    wakes(|track, _| track.finish_at(4).unwrap());
    wakes(|track, _| track.abort(Error::Cancel));
}

#[test]
fn new_preferences_wake_who_waits_for_a_group() {
    wakes(|_, subscriber| subscriber.control().update(within(9)));
}

#[test]
fn an_append_wakes_each_waiter_once_and_nobody_else() {
    let (_broadcast, track) = track();
    let mut waiters: Vec<_> = (0..50).map(|_| track.subscribe(within(5_000))).collect();
    let counts: Vec<_> = waiters
        .iter_mut()
        .map(|waiter| {
            let (count, waker) = Count::new();
            assert!(
                waiter
                    .poll_recv_group(&mut Context::from_waker(&waker))
                    .is_pending()
            );
            count
        })
        .collect();
    let (datagrams, waker) = Count::new();
    let mut reader = track.subscribe(within(5_000));
    assert!(
        reader
            .poll_recv_datagram(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let mut demand = track.demand();
    now(demand.changed());
    assert!(
        demand
            .poll_changed(&mut Context::from_waker(&waker))
            .is_pending()
    );
    write(&track, 0);
    write(&track, 1);
    assert!(counts.iter().all(|count| count.get() == 1));
    assert_eq!(datagrams.get(), 0);
    track.append_datagram(Timestamp::ZERO, "").unwrap();
    assert_eq!(datagrams.get(), 1);
}

#[test]
fn a_frame_wakes_the_readers_of_its_group_only() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    let (one, two) = (track.append_group().unwrap(), track.append_group().unwrap());
    let (of_one, waker) = Count::new();
    let mut reader = one.consume();
    assert!(
        reader
            .poll_read_frame(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let mut other = two.consume();
    let (of_two, waker) = Count::new();
    assert!(
        other
            .poll_read_frame(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let (of_track, waker) = Count::new();
    while subscriber
        .poll_recv_group(&mut Context::from_waker(&waker))
        .is_ready()
    {}
    frame(&two, 0);
    assert_eq!((of_one.get(), of_two.get(), of_track.get()), (0, 1, 0));
    one.finish().unwrap();
    assert_eq!((of_one.get(), of_two.get(), of_track.get()), (1, 1, 0));
}

#[test]
fn a_parked_cursor_wakes_when_eviction_makes_its_wait_pointless() {
    let pool = Pool::default();
    let broadcast = Broadcast::new(pool.clone());
    let track = broadcast
        .create_track("video", TrackInfo::default())
        .unwrap();
    let mut subscriber = track.subscribe(everything());
    let mut cursor = subscriber.ordered();
    subscriber.set_groups(..2);
    cursor.set_groups(..2);
    (0..3).for_each(|sequence| write(&track, sequence));
    // Held back by the window is 2; 3 is the newest, which aborts with nothing in it.
    let newest = track.append_group().unwrap();
    track.finish().unwrap();
    let (arrival, sequence) = waiting(&mut subscriber, &mut cursor);
    pool.expire(Duration::from_secs(60), Duration::from_secs(30));
    assert_eq!((arrival.get(), sequence.get()), (1, 1));
    assert!(
        poll(subscriber.recv_group()).is_none(),
        "3 is still held back"
    );
    drop(newest);
    assert!(now(subscriber.recv_group()).unwrap().is_none());
    assert!(now(cursor.next_group()).unwrap().is_none());
}

#[test]
fn a_cancelled_read_poisons_nothing() {
    let (_broadcast, track) = track();
    let mut subscriber = track.subscribe(within(5_000));
    for _ in 0..100 {
        assert!(poll(subscriber.recv_group()).is_none());
    }
    write(&track, 0);
    assert_eq!(arrived(&mut subscriber), [0]);
}

#[test]
fn a_slow_reader_blocks_neither_the_writer_nor_another_reader() {
    let (_broadcast, track) = track_keeping(1_000);
    let mut slow = track.subscribe(everything());
    let mut fast = track.subscribe(everything());
    write(&track, 0);
    let mut stuck = now(slow.recv_group()).unwrap().unwrap();
    for sequence in 1..1_000 {
        write(&track, sequence);
        assert_eq!(arrived(&mut fast).last(), Some(&sequence));
    }
    assert_eq!(now(stuck.read_frame()), Err(Error::Old));
    assert_eq!(arrived(&mut slow).last(), Some(&999));
}
