//! What a group and a stream cost, and I17: memory is given back, and an empty schedule does nothing.

use super::{super::op::Rng, *};

#[test]
fn what_is_held_is_what_they_cost_and_an_eighth() {
    const COUNT: usize = 10_007;
    let mut bed = Bed::new();
    let empty = bed.schedule.allocated();
    let group = bed.group(0);
    for order in 0..COUNT as u64 {
        bed.schedule.open_stream(group, order);
    }
    let streams = bed.schedule.allocated();
    assert!(
        streams - empty <= COUNT * 64 * 9 / 8,
        "{} a stream",
        (streams - empty) / COUNT
    );
    for _ in 0..COUNT {
        bed.group(0);
    }
    let groups = bed.schedule.allocated();
    assert!(
        groups - streams <= COUNT * 96,
        "{} a group",
        (groups - streams) / COUNT
    );
}

#[test]
fn an_idle_schedule_is_small() {
    let mut bed = Bed::new();
    let group = bed.group(0);
    bed.schedule.open_stream(group, 0);
    bed.schedule.open_stream(Schedule::CONTROL, 0);
    let size = size_of::<Schedule>() + bed.schedule.allocated();
    assert!(size <= 4_096, "{size} bytes");
}

/// Opens, fills and closes `count` groups of all priorities, with streams and datagrams, in no order.
fn burst(bed: &mut Bed, count: usize, rng: &mut Rng) {
    let mut open = Vec::new();
    for _ in 0..count {
        let group = bed.group(rng.next() as u16);
        let stream = bed.stream(group, rng.next(), PACKET);
        bed.schedule.push_datagram(group, rng.next(), 10, |_| {});
        open.push((group, stream));
    }
    while !open.is_empty() {
        let (group, stream) = open.swap_remove(rng.below(open.len() as u64) as usize);
        bed.schedule.close_group(group);
        bed.schedule.close_stream(stream);
    }
    while bed.send().is_some() {}
}

#[test]
fn i17_memory_returns_to_where_it_was() {
    let mut bed = Bed::new();
    let mut rng = Rng::new(0);
    // Some that stay, as in any connection.
    let stays = bed.group(0);
    let stays = bed.stream(stays, 0, 0);
    burst(&mut bed, 10, &mut rng);
    let before = bed.schedule.allocated();
    for count in [100, 20_000, 1_000] {
        burst(&mut bed, count, &mut rng);
        assert!(
            bed.schedule.allocated() <= before.max(32_768),
            "after {count}: {}",
            bed.schedule.allocated()
        );
    }
    for _ in 0..100_000 {
        burst(&mut bed, 1, &mut rng);
    }
    assert!(
        bed.schedule.allocated() <= before.max(32_768),
        "{}",
        bed.schedule.allocated()
    );
    bed.schedule.push(stays, 1, false);
    assert_eq!(bed.send(), Some(Sent::Stream(stays, 1)));
}

#[test]
fn i17_an_empty_schedule_does_no_work() {
    let mut bed = Bed::new();
    let mut rng = Rng::new(0);
    burst(&mut bed, 1_000, &mut rng);
    let state = format!("{:?}", bed.schedule);
    for _ in 0..3 {
        assert!(bed.is_idle());
        assert_eq!(format!("{:?}", bed.schedule), state);
    }
}
