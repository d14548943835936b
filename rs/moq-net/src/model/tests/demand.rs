//! N subscribers, one upstream.

use super::*;

#[test]
fn the_sum_follows_those_who_come_and_go() {
    let (_broadcast, track) = track();
    let mut demand = track.demand();
    assert_eq!(now(demand.changed()), None);
    assert!(poll(demand.changed()).is_none());
    let one = track.subscribe(Subscription {
        priority: 3,
        ..within(100)
    });
    assert_eq!(
        now(demand.changed()),
        Some(Subscription {
            priority: 3,
            ..within(100)
        })
    );
    let two = track.subscribe(Subscription {
        priority: 1,
        start: Some(4),
        ..within(200)
    });
    let both = Subscription {
        priority: 3,
        ..within(200)
    };
    assert_eq!(now(demand.changed()), Some(both));
    drop(one);
    let last = Subscription {
        priority: 1,
        start: Some(4),
        ..within(200)
    };
    assert_eq!(now(demand.changed()), Some(last));
    two.update(within(50));
    assert_eq!(now(demand.changed()), Some(within(50)));
    drop(two);
    assert_eq!(now(demand.changed()), None);
}

#[test]
fn a_subscriber_that_changes_nothing_wakes_nobody() {
    let (_broadcast, track) = track();
    let _first = track.subscribe(within(100));
    let mut demand = track.demand();
    now(demand.changed());
    let (count, waker) = Count::new();
    assert!(
        pin!(demand.changed())
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    drop(track.subscribe(within(100)));
    assert_eq!(count.get(), 0);
}

#[test]
fn used_and_unused_follow_the_first_and_the_last() {
    let (broadcast, track) = track();
    assert!(poll(track.used()).is_none());
    now(track.unused());
    assert!(poll(broadcast.used()).is_none());
    let subscriber = track.subscribe(within(100));
    let cursor = subscriber.ordered();
    drop(subscriber);
    now(track.used());
    now(broadcast.used());
    assert!(
        poll(track.unused()).is_none(),
        "the cursor keeps the subscription"
    );
    drop(cursor);
    now(track.unused());
    now(broadcast.unused());
}

#[test]
fn ten_thousand_subscribers_that_leave_leave_nothing() {
    let (_broadcast, track) = track();
    write(&track, 0);
    for priority in (0..=255).cycle().take(10_000) {
        let mut subscriber = track.subscribe(Subscription {
            priority,
            ..within(100)
        });
        assert_eq!(arrived(&mut subscriber), [0]);
        assert!(poll(subscriber.recv_group()).is_none());
    }
    assert_eq!(track.demand().current(), None);
    assert!(!track.is_used());
    track.assert_nobody_waits();
}
