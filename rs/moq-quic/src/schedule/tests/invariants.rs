//! The invariants, as properties, by number.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::{
    super::{
        model::{Model, Waiting},
        op::{Op, World},
    },
    strategy::{operations, order},
    *,
};

const CONFIG: Config = Config {
    quantum: PACKET,
    datagram_budget: 10 * PACKET,
};

/// Does the operations in the schedule and in its model; before each that sends, `check` sees what the schedule grants and
/// what, by the model's books, could be sent.
fn watch(operations: Vec<Op>, mut check: impl FnMut(Option<&Waiting>, &[Waiting])) {
    let mut real = World::new(Schedule::new(CONFIG));
    let mut model = World::new(Model::new(CONFIG));
    for op in operations {
        if let Op::Serve { budget, .. } | Op::ServeLate { budget } = op {
            let granted = real.schedule.pop(budget.into());
            let waiting = model.schedule.waiting();
            let same = |waiting: &&Waiting| match (waiting.grant, granted) {
                (Grant::Stream { key: a, .. }, Some(Grant::Stream { key: b, .. })) => {
                    model.stream_number(a) == real.stream_number(b)
                }
                (Grant::Datagram { id: a, .. }, Some(Grant::Datagram { id: b, .. })) => {
                    model.datagram_number(a) == real.datagram_number(b)
                }
                _ => false,
            };
            let of = waiting.iter().find(same);
            // Also I5 and I11: what is blocked, reset or gone is not waiting.
            assert_eq!(of.is_some(), granted.is_some(), "{granted:?} does not wait");
            assert!(
                granted.is_some() || budget == 0 || waiting.is_empty(),
                "{waiting:?} was not granted"
            );
            check(of, &waiting);
        }
        real.apply(op);
        model.apply(op);
    }
    assert_eq!(real.hash(), model.hash());
}

/// How far two sums get apart: since the start, and over any interval.
#[derive(Default)]
struct Gap {
    now: i64,
    least: i64,
    most: i64,
}

impl Gap {
    fn add(&mut self, difference: i64) {
        self.now += difference;
        self.least = self.least.min(self.now);
        self.most = self.most.max(self.now);
    }

    fn since_start(&self) -> i64 {
        self.most.max(-self.least)
    }

    fn over_any_interval(&self) -> i64 {
        self.most - self.least
    }

    /// A turn may end up to a grant late, which the next one makes up for: since two groups began, that is one grant; an
    /// interval may begin with it, too. The quantum is a packet, and so is the largest grant.
    fn is_fair(&self) -> bool {
        let (quantum, grant) = (PACKET as i64, PACKET as i64);
        self.since_start() <= quantum + grant && self.over_any_interval() < quantum + 2 * grant
    }
}

proptest! {
    #[test]
    fn any_operations_equal_the_model(operations in operations(400)) {
        watch(operations, |_, _| {});
    }

    #[test]
    fn i01_no_lower_priority_byte_while_a_higher_one_waits(operations in operations(300)) {
        watch(operations, |granted, waiting| {
            if let Some(granted) = granted {
                assert_eq!(Some(granted.tier), waiting.iter().map(|other| other.tier).max());
            }
        });
    }

    #[test]
    fn i02_equal_groups_differ_by_no_more_than_a_quantum_and_a_grant(
        writes in vec(prop_oneof![Just(100), Just(1_000), Just(64_000)], 2..5),
        budgets in vec(1..2 * PACKET, 1..400),
    ) {
        let mut bed = Bed::new();
        let streams: Vec<_> = writes.iter().map(|&write| {
            let group = bed.group(7);
            bed.stream(group, 0, write)
        }).collect();
        let mut gaps: BTreeMap<(usize, usize), Gap> = BTreeMap::new();
        for budget in budgets {
            for (&stream, &write) in streams.iter().zip(&writes) {
                let ready = bed.schedule.entries[stream.index].ready;
                (ready..2 * PACKET).step_by(write).for_each(|_| bed.schedule.push(stream, write, false));
            }
            let grant = bed.schedule.pop(budget).unwrap();
            let Grant::Stream { key, max_bytes, .. } = grant else { panic!("{grant:?}") };
            bed.schedule.sent(grant, max_bytes);
            let at = streams.iter().position(|&stream| stream == key).unwrap();
            for other in (0..streams.len()).filter(|&other| other != at) {
                gaps.entry((at, other)).or_default().add(max_bytes as i64);
                gaps.entry((other, at)).or_default().add(-(max_bytes as i64));
            }
        }
        for gap in gaps.values() {
            prop_assert!(gap.is_fair());
        }
    }

    #[test]
    fn i04_the_grant_is_the_best_of_its_group(operations in operations(300)) {
        watch(operations, |granted, waiting| {
            if let Some(granted) = granted {
                let group = |waiting: &Waiting| match waiting.grant {
                    Grant::Stream { group, .. } | Grant::Datagram { group, .. } => group,
                };
                let own = waiting.iter().filter(|other| group(other) == group(granted));
                assert_eq!(Some(granted.place), own.map(|other| other.place).min());
            }
        });
    }

    #[test]
    fn i05_blocking_and_unblocking_costs_no_share(blocks in vec(any::<bool>(), 1..300)) {
        let mut bed = Bed::new();
        let groups = [bed.group(7), bed.group(7)];
        let [a, _] = groups.map(|group| bed.stream(group, 1, PLENTY));
        let spare = bed.stream(groups[0], 0, PLENTY);
        let mut gap = Gap::default();
        for block in blocks {
            // The best stream of the first group may be blocked; its spare sends instead.
            if block { bed.schedule.block(a) } else { bed.schedule.unblock(a) }
            let Some(Sent::Stream(key, bytes)) = bed.send() else { panic!("nothing sent") };
            let first = key == a || key == spare;
            prop_assert!(!block || key != a);
            gap.add(if first { bytes as i64 } else { -(bytes as i64) });
        }
        prop_assert!(gap.is_fair());
    }

    #[test]
    fn i06_opening_closing_and_pushing_leave_the_deficit(
        owed in 0..50_000_usize,
        orders in vec((order(), 0..5_000_usize, any::<bool>()), 1..50),
    ) {
        let mut bed = Bed::new();
        let group = bed.group(7);
        bed.stream(group, 0, PLENTY);
        bed.schedule.charge_retransmit(group, owed);
        for (order, bytes, reset) in orders {
            let stream = bed.stream(group, order, bytes);
            bed.schedule.push(stream, bytes, true);
            if reset {
                bed.schedule.close_stream(stream);
            }
        }
        prop_assert_eq!(bed.deficit(group), -(owed as i64));
    }

    #[test]
    fn i07_what_is_charged_is_what_was_sent(
        steps in vec((1..2_000_usize, 0..2_000_usize, any::<bool>(), any::<bool>()), 1..200),
    ) {
        let mut bed = Bed::new();
        let groups = [bed.group(7), bed.group(7)];
        // Never dry and never alone, so that credit is given in whole quanta and none is lost.
        let mut charged = [0, 0];
        let mut resets = groups.map(|group| {
            bed.stream(group, 0, PLENTY);
            bed.stream(group, 1, PLENTY)
        });
        for (bytes, again, reset, which) in steps {
            let which = usize::from(which);
            bed.schedule.charge_retransmit(groups[which], again);
            charged[which] += again;
            let grant = bed.schedule.pop(bytes).unwrap();
            let Grant::Stream { group, max_bytes, .. } = grant else { panic!("{grant:?}") };
            if reset {
                // Even if it was reset since.
                bed.schedule.close_stream(resets[which]);
                resets[which] = bed.stream(groups[which], 1, PLENTY);
            }
            bed.schedule.sent(grant, max_bytes);
            charged[usize::from(group == groups[1])] += max_bytes;
        }
        for (group, charged) in groups.into_iter().zip(charged) {
            prop_assert_eq!((bed.deficit(group) + charged as i64) % PACKET as i64, 0);
        }
    }

    #[test]
    fn i08_running_dry_and_coming_back_gains_nothing(
        pulses in vec((0..3 * PACKET, 1..6_usize, any::<bool>()), 1..150),
    ) {
        let mut bed = Bed::new();
        let groups = [bed.group(7), bed.group(7)];
        let steady = bed.stream(groups[0], 0, PLENTY);
        let mut gap = Gap::default();
        for (bytes, packets, reset) in pulses {
            let pulse = bed.stream(groups[1], 0, bytes);
            for _ in 0..packets {
                let Some(Sent::Stream(key, bytes)) = bed.send() else { panic!("nothing sent") };
                gap.now += if key == steady { -(bytes as i64) } else { bytes as i64 };
                gap.least = gap.least.min(gap.now);
                prop_assert!(gap.now - gap.least <= 2 * PACKET as i64, "gained {}", gap.now - gap.least);
            }
            if reset {
                bed.schedule.close_stream(pulse);
            }
        }
    }

    #[test]
    fn i09_every_group_is_served_within_the_quanta_of_its_peers(
        weights in vec(1..8_u8, 1..10),
        before in 0..50_usize,
    ) {
        let mut bed = Bed::new();
        let mut bound = 0;
        for &weight in &weights {
            let group = bed.group_with(GroupConfig { weight, ..GroupConfig::default() });
            bed.stream(group, 0, PLENTY);
            bound += usize::from(weight) * PACKET + PACKET;
        }
        bed.share(before, []);
        let late = bed.group(0);
        let late = bed.stream(late, 0, PACKET);
        let mut waited = 0;
        while let Some(Sent::Stream(key, bytes)) = bed.send() && key != late {
            waited += bytes;
            prop_assert!(waited <= bound, "{waited} bytes of others first");
        }
    }

    #[test]
    fn i10_another_priority_takes_effect_at_the_next_grant(
        priorities in vec(0..100_u16, 1..20),
        changes in vec((any::<prop::sample::Index>(), 0..100_u16), 1..50),
    ) {
        let mut bed = Bed::new();
        let mut groups = Vec::new();
        for priority in priorities {
            let group = bed.group(priority);
            for order in 0..5 {
                bed.stream(group, order, PLENTY);
            }
            groups.push((group, priority));
        }
        for (which, priority) in changes {
            let which = which.index(groups.len());
            groups[which].1 = priority;
            bed.schedule.set_group_priority(groups[which].0, priority);
            let Some(Grant::Stream { group, .. }) = bed.schedule.pop(PACKET) else { panic!("nothing granted") };
            let of = groups.iter().find(|&&(known, _)| known == group);
            prop_assert_eq!(of.map(|of| of.1), groups.iter().map(|of| of.1).max());
        }
    }

    #[test]
    fn i11_a_reset_stream_is_granted_no_more_and_a_closed_group_is_freed(
        streams in vec((order(), 0..3 * PACKET, any::<bool>()), 1..40),
    ) {
        let mut bed = Bed::new();
        let group = bed.group(7);
        let mut reset = Vec::new();
        let mut kept = Vec::new();
        for (order, bytes, closes) in streams {
            let stream = bed.stream(group, order, bytes);
            if closes { &mut reset } else { &mut kept }.push(stream);
        }
        reset.iter().for_each(|&stream| bed.schedule.close_stream(stream));
        bed.schedule.close_group(group);
        while let Some(Sent::Stream(key, _)) = bed.send() {
            prop_assert!(kept.contains(&key));
        }
        prop_assert_eq!(bed.schedule.priority(group).is_some(), !kept.is_empty());
        kept.iter().for_each(|&stream| bed.schedule.close_stream(stream));
        prop_assert_eq!(bed.schedule.priority(group), None);
    }

    #[test]
    fn i12_and_i18_a_single_group_sends_as_a_plain_priority_queue(
        orders in vec(order(), 1..60),
        oldest_first: bool,
    ) {
        let mut bed = Bed::new();
        let direction = if oldest_first { Direction::OldestFirst } else { Direction::NewestFirst };
        let group = bed.group_with(GroupConfig { direction, ..GroupConfig::default() });
        let mut expected: Vec<_> = orders.iter().map(|&order| (order, bed.stream(group, order, PACKET))).collect();
        // Stable: equals in the order they came.
        expected.sort_by(|(a, _), (b, _)| if oldest_first { a.cmp(b) } else { b.cmp(a) });
        let expected: Vec<_> = expected.into_iter().map(|(_, stream)| stream).collect();
        prop_assert_eq!(bed.send_streams(expected.len()), expected);
        prop_assert!(bed.is_idle());
    }

    #[test]
    fn i13_the_datagram_that_goes_is_the_one_the_rule_names(
        priorities in vec(0..3_u16, 1..6),
        pushes in vec((any::<prop::sample::Index>(), 0..4 * PACKET), 1..120),
    ) {
        let mut bed = Bed::new();
        let groups: Vec<_> = priorities.iter().map(|&priority| (bed.group(priority), priority)).collect();
        // Oldest first.
        let mut queued: Vec<(GroupId, u16, usize, Option<DatagramId>)> = Vec::new();
        let mut evicted = 0;
        for (which, len) in pushes {
            let (group, priority) = groups[which.index(groups.len())];
            queued.push((group, priority, len, None));
            let mut expected = Vec::new();
            while queued.iter().map(|of| of.2).sum::<usize>() > CONFIG.datagram_budget {
                let bytes = |group| queued.iter().filter(|of| of.0 == group).map(|of| of.2).sum::<usize>();
                let victim = (0..queued.len()).min_by_key(|&at| {
                    let oldest = queued.iter().position(|of| of.0 == queued[at].0);
                    (queued[at].1, usize::MAX - bytes(queued[at].0), oldest, at)
                });
                expected.push(queued.remove(victim.unwrap()).3);
            }
            evicted += expected.len() as u64;
            let mut gone = Vec::new();
            let new = bed.schedule.push_datagram(group, 0, len, |id| gone.push(Some(id)));
            match expected.last() {
                // The new one was the victim.
                Some(None) => {
                    expected.pop();
                    prop_assert_eq!(new, None);
                }
                _ => queued.last_mut().unwrap().3 = new,
            }
            prop_assert_eq!(gone, expected);
            prop_assert_eq!(bed.schedule.evicted().datagrams, evicted);
        }
    }

    #[test]
    fn i14_datagrams_and_streams_share_one_deficit(lengths in vec((1..PACKET, 1..PACKET), 1..300)) {
        let mut bed = Bed::new();
        let groups = [bed.group(7), bed.group(7)];
        let stream = bed.stream(groups[0], 0, PLENTY);
        let mut gap = Gap::default();
        for (len, room) in lengths {
            // Two are always queued, so that the group of datagrams does not run dry.
            while bed.schedule.datagram_bytes() < 2 * PACKET {
                bed.datagram(groups[1], 0, len);
            }
            let grant = bed.schedule.pop(room).unwrap();
            match grant {
                Grant::Stream { key, max_bytes, .. } => {
                    prop_assert_eq!(key, stream);
                    bed.schedule.sent(grant, max_bytes);
                    gap.add(max_bytes as i64);
                }
                Grant::Datagram { len, .. } => {
                    bed.schedule.sent(grant, len);
                    gap.add(-(len as i64));
                }
            }
        }
        prop_assert!(gap.is_fair());
    }

    #[test]
    fn i15_a_retransmission_holds_its_group_back_by_no_more_than_it_was(
        peers in 1..6_usize,
        again in 0..20 * PACKET,
    ) {
        let mut bed = Bed::new();
        for _ in 0..peers {
            let group = bed.group(7);
            bed.stream(group, 0, PLENTY);
        }
        let lossy = bed.group(7);
        let stream = bed.stream(lossy, 0, PLENTY);
        bed.schedule.charge_retransmit(lossy, again);
        let mut others = 0;
        while let Some(Sent::Stream(key, bytes)) = bed.send() && key != stream {
            others += bytes;
            prop_assert!(others <= peers * (again + 2 * PACKET));
        }
    }

    #[test]
    fn i16_every_empty_push_is_granted_once(streams in vec((order(), prop::option::of(1..2 * PACKET)), 1..50)) {
        let mut bed = Bed::new();
        let group = bed.group(7);
        let mut left = BTreeMap::new();
        for (order, bytes) in streams {
            let stream = bed.stream(group, order, bytes.unwrap_or(0));
            bed.schedule.push(stream, 0, true);
            left.insert(stream, bytes.unwrap_or(0));
        }
        let mut empty = 0;
        while let Some(Sent::Stream(key, bytes)) = bed.send() {
            empty += usize::from(bytes == 0);
            let left = left.get_mut(&key).unwrap();
            *left = left.checked_sub(bytes.max(1)).unwrap_or(usize::MAX);
        }
        // Empty ones were taken once too often, by one; the others to the byte.
        let done = left.values().all(|&left| left == 0 || left == usize::MAX);
        prop_assert!(done);
        prop_assert_eq!(empty, left.values().filter(|&&left| left == usize::MAX).count());
    }

    #[test]
    fn i19_the_same_operations_give_the_same_grants(operations in operations(300)) {
        let run = || {
            let mut world = World::new(Schedule::new(CONFIG));
            operations.iter().for_each(|&op| world.apply(op));
            world.hash()
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn i20_nothing_overflows_after_two_to_the_forty_bytes() {
    const BYTES: usize = 1 << 40;
    let mut bed = Bed::new();
    bed.schedule.set_quantum(usize::MAX);
    let control = bed.stream(Schedule::CONTROL, 0, BYTES);
    let media = bed.group_with(GroupConfig {
        weight: u8::MAX,
        ..GroupConfig::default()
    });
    let other = bed.group_with(GroupConfig {
        weight: u8::MAX,
        ..GroupConfig::default()
    });
    let streams = [media, other].map(|group| bed.stream(group, 0, BYTES));
    let mut sent = BTreeMap::new();
    while let Some(grant) = bed.schedule.pop(usize::MAX) {
        let Grant::Stream { key, max_bytes, .. } = grant else {
            panic!("{grant:?}");
        };
        bed.schedule.sent(grant, max_bytes);
        *sent.entry(key).or_insert(0) += max_bytes;
    }
    assert_eq!(
        [control, streams[0], streams[1]].map(|stream| sent[&stream]),
        [BYTES; 3]
    );
    // More than there can be, over and over.
    for _ in 0..100_000 {
        bed.schedule.charge_retransmit(media, usize::MAX);
    }
    for _ in 0..3 {
        bed.schedule.push(control, usize::MAX, false);
    }
    assert!(bed.send().is_some());
    // Alone, any debt is over at once.
    bed.schedule.close_stream(control);
    bed.schedule.push(streams[0], PACKET, false);
    assert_eq!(bed.send(), Some(Sent::Stream(streams[0], PACKET)));
}
