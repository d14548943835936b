//! What the operations of the send schedule cost.
//!
//! One file, three uses. A test runner runs each case once, at its smallest size; `cargo bench` times them all; and
//! callgrind counts the instructions of the functions named `measured_…`, called once a case (`bench/schedule` prints
//! the table). Those are neither inlined nor generic, so that callgrind finds them.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkGroup, Criterion, measurement::WallTime};
use moq_quic::schedule::{
    Config, DatagramId, GroupConfig, GroupId, Schedule, StreamKey,
    op::{Op, Rng, World},
};

/// Never sent to its end.
const PLENTY: usize = 1 << 40;
const PACKET: usize = 1_200;
/// Two priorities on different pages of the level index.
const LOW: u16 = 0x017f;
const HIGH: u16 = 0x02ff;
/// A third, where nobody else is.
const EMPTY: u16 = 0x0300;

fn main() {
    // Under a test runner `--bench` is absent: the smallest size proves that a case runs.
    let full = std::env::args().any(|arg| arg == "--bench");
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(std::time::Duration::from_millis(100))
        .measurement_time(std::time::Duration::from_millis(300))
        .configure_from_args();
    let some = |sizes: &[usize]| sizes[..if full { sizes.len() } else { 1 }].to_vec();
    let queued = some(&[16, 256, 4_096, 16_384, 65_536]);

    group_moves(&mut criterion, &queued);
    flip(&mut criterion, &queued);
    dispatch(
        &mut criterion,
        &some(&[16, 4_096]),
        if full { 100_000 } else { 100 },
    );
    streams(&mut criterion, &some(&[1, 16, 256, 4_096]));
    usual(&mut criterion, &some(&[16, 256, 4_096]));
    datagrams(&mut criterion, &some(&[100, 10_000]));
    mixed(&mut criterion);
    criterion.final_summary();
}

/// Groups with one backlogged stream each, in one round.
struct Queued {
    schedule: Schedule,
    groups: Vec<(GroupId, StreamKey)>,
}

impl Queued {
    fn new(count: usize) -> Self {
        let mut queued = Self {
            schedule: Schedule::new(Config::default()),
            groups: Vec::with_capacity(count),
        };
        // One that stays where the others are moved to.
        open(&mut queued.schedule, HIGH);
        for _ in 0..count {
            let opened = open(&mut queued.schedule, LOW);
            queued.groups.push(opened);
        }
        queued
    }

    /// `changed` of the groups, each at `position` when those before it have gone.
    fn pick(&self, position: &str, changed: usize) -> Vec<(GroupId, StreamKey)> {
        let all = &self.groups;
        match position {
            "front" => all[..changed].to_vec(),
            "middle" => all[(all.len() - changed) / 2..][..changed].to_vec(),
            "tail" => all.iter().rev().take(changed).copied().collect(),
            _ => {
                let mut shuffled = all.clone();
                let mut rng = Rng::new(all.len() as u64);
                for at in 0..changed {
                    let other = at + rng.below((all.len() - at) as u64) as usize;
                    shuffled.swap(at, other);
                }
                shuffled.truncate(changed);
                shuffled
            }
        }
    }
}

fn open(schedule: &mut Schedule, priority: u16) -> (GroupId, StreamKey) {
    let group = schedule.open_group(GroupConfig {
        priority,
        ..GroupConfig::default()
    });
    let stream = schedule
        .open_stream(group, 0)
        .expect("the group was opened just now");
    schedule.push(stream, PLENTY, false);
    (group, stream)
}

#[inline(never)]
fn measured_group_priority(schedule: &mut Schedule, groups: &[(GroupId, StreamKey)]) {
    for &(group, _) in groups {
        schedule.set_group_priority(group, HIGH);
    }
}

#[inline(never)]
fn measured_group_retire(schedule: &mut Schedule, groups: &[(GroupId, StreamKey)]) {
    for &(group, stream) in groups {
        schedule.close_stream(stream);
        schedule.close_group(group);
    }
}

/// Moves queued groups to another priority, or takes them out, at every place of the round.
fn group_moves(criterion: &mut Criterion, queued: &[usize]) {
    type Measured = fn(&mut Schedule, &[(GroupId, StreamKey)]);
    let kinds: [(&str, Measured); 2] = [
        ("group_priority", measured_group_priority),
        ("group_retire", measured_group_retire),
    ];
    for (name, measured) in kinds {
        let mut group = criterion.benchmark_group(name);
        for &n in queued {
            for m in [1, 16, 256, 4_096]
                .into_iter()
                .filter(|&m| m <= n / 4 || m == 1)
            {
                for position in ["front", "middle", "tail", "mixed"] {
                    let case = format!("{position}-m{m}/{n}");
                    let setup = || {
                        let queued = Queued::new(n);
                        let picked = queued.pick(position, m);
                        (queued.schedule, picked)
                    };
                    once(&mut group, &case, setup, |(schedule, picked)| {
                        measured(schedule, picked)
                    });
                }
            }
        }
        group.finish();
    }
}

/// Times `routine` on what `setup` makes, each time anew.
fn once<T>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    case: &str,
    mut setup: impl FnMut() -> T,
    mut routine: impl FnMut(&mut T),
) {
    group.bench_function(case, |bencher| {
        bencher.iter_batched_ref(&mut setup, &mut routine, BatchSize::PerIteration);
    });
}

#[inline(never)]
fn measured_flip(schedule: &mut Schedule, group: GroupId, times: usize) {
    for _ in 0..times / 2 {
        schedule.set_group_priority(group, EMPTY);
        schedule.set_group_priority(group, LOW);
    }
}

/// One group at the tail, to another priority and back, over and over.
fn flip(criterion: &mut Criterion, queued: &[usize]) {
    let mut group = criterion.benchmark_group("flip");
    for &n in queued {
        let case = format!("m1000/{n}");
        let setup = || {
            let mut queued = Queued::new(n);
            let tail = queued.groups[n - 1].0;
            // The page of the level index is made now.
            queued.schedule.set_group_priority(tail, EMPTY);
            queued.schedule.set_group_priority(tail, LOW);
            (queued.schedule, tail)
        };
        once(&mut group, &case, setup, |(schedule, tail)| {
            measured_flip(schedule, *tail, 1_000)
        });
    }
    group.finish();
}

/// What one step of the dispatch case does beside sending a packet.
struct Step {
    cancel: Option<usize>,
    change: Option<(usize, u16)>,
    priority: u16,
}

impl Step {
    fn random(at: usize, groups: usize, rng: &mut Rng) -> Self {
        let mut pick = || rng.below(groups as u64) as usize;
        let cancel = at.is_multiple_of(8).then(&mut pick);
        let change = (at % 8 == 4).then(&mut pick);
        let mut priority = || [LOW, HIGH][rng.below(2) as usize];
        Self {
            cancel,
            change: change.map(|group| (group, priority())),
            priority: priority(),
        }
    }
}

#[inline(never)]
fn measured_dispatch(queued: &mut Queued, step: &Step) {
    let Queued { schedule, groups } = queued;
    if let Some(grant) = schedule.pop(PACKET) {
        schedule.sent(grant, PACKET);
    }
    if let Some(at) = step.cancel {
        let (group, stream) = groups[at];
        schedule.close_stream(stream);
        schedule.close_group(group);
        groups[at] = open(schedule, step.priority);
    }
    if let Some((at, priority)) = step.change {
        schedule.set_group_priority(groups[at].0, priority);
    }
}

/// Packets of backlogged groups, while groups come, go and move.
fn dispatch(criterion: &mut Criterion, queued: &[usize], steps: usize) {
    let mut group = criterion.benchmark_group("dispatch");
    for &n in queued {
        let setup = || {
            let mut rng = Rng::new(n as u64);
            let steps: Vec<_> = (0..steps).map(|at| Step::random(at, n, &mut rng)).collect();
            (Queued::new(n), steps)
        };
        once(
            &mut group,
            &format!("churn/{n}"),
            setup,
            |(queued, steps)| {
                for step in &*steps {
                    measured_dispatch(queued, step);
                }
            },
        );
    }
    group.finish();
}

/// A group of ready streams, and those among them that a case is about.
struct Crowd {
    schedule: Schedule,
    group: GroupId,
    chosen: Vec<StreamKey>,
    orders: Vec<u64>,
}

impl Crowd {
    /// `n` streams nobody touches and `chosen` more.
    fn new(n: usize, chosen: usize) -> Self {
        let mut rng = Rng::new(n as u64);
        let mut schedule = Schedule::new(Config::default());
        let group = schedule.open_group(GroupConfig::default());
        let mut keys = Vec::new();
        for _ in 0..n + chosen {
            open_stream(&mut schedule, group, rng.next(), &mut keys);
        }
        let mut chosen = keys.split_off(n);
        chosen.reserve(CHANGED);
        Self {
            schedule,
            group,
            chosen,
            orders: (0..CHANGED).map(|_| rng.next()).collect(),
        }
    }
}

const CHANGED: usize = 64;

fn open_stream(schedule: &mut Schedule, group: GroupId, order: u64, keys: &mut Vec<StreamKey>) {
    if let Some(stream) = schedule.open_stream(group, order) {
        schedule.push(stream, PACKET, true);
        keys.push(stream);
    }
}

#[inline(never)]
fn measured_stream_open(crowd: &mut Crowd) {
    for &order in &crowd.orders {
        open_stream(&mut crowd.schedule, crowd.group, order, &mut crowd.chosen);
    }
}

#[inline(never)]
fn measured_stream_order(crowd: &mut Crowd) {
    for (&stream, &order) in crowd.chosen.iter().zip(&crowd.orders) {
        crowd.schedule.set_stream_order(stream, order);
    }
}

#[inline(never)]
fn measured_stream_close(crowd: &mut Crowd) {
    for &stream in &crowd.chosen {
        crowd.schedule.close_stream(stream);
    }
}

/// Opens, re-orders and closes streams in a group that has `n` others, all ready.
fn streams(criterion: &mut Criterion, sizes: &[usize]) {
    type Measured = fn(&mut Crowd);
    let kinds: [(&str, usize, Measured); 3] = [
        ("stream_open", 0, measured_stream_open),
        ("stream_order", CHANGED, measured_stream_order),
        ("stream_close", CHANGED, measured_stream_close),
    ];
    for (name, chosen, measured) in kinds {
        let mut group = criterion.benchmark_group(name);
        for &n in sizes {
            let case = format!("m{CHANGED}/{n}");
            once(&mut group, &case, || Crowd::new(n, chosen), measured);
        }
        group.finish();
    }
}

#[inline(never)]
fn measured_serve(schedule: &mut Schedule) {
    for _ in 0..CHANGED {
        if let Some(grant) = schedule.pop(PACKET) {
            schedule.sent(grant, PACKET);
        }
    }
}

#[inline(never)]
fn measured_stream_newer(schedule: &mut Schedule, group: GroupId, first: u64) {
    for order in first..first + CHANGED as u64 {
        if let Some(stream) = schedule.open_stream(group, order) {
            schedule.push(stream, PACKET, true);
        }
        if let Some(grant) = schedule.pop(PACKET) {
            schedule.sent(grant, PACKET);
        }
    }
}

/// What groups usually do: streams of equal order take turns, and ever newer ones come and are sent first.
fn usual(criterion: &mut Criterion, sizes: &[usize]) {
    let setup = |n: usize, order: fn(u64) -> u64| {
        let mut schedule = Schedule::new(Config::default());
        let group = schedule.open_group(GroupConfig::default());
        for at in 0..n as u64 {
            if let Some(stream) = schedule.open_stream(group, order(at)) {
                schedule.push(stream, PLENTY, false);
            }
        }
        // So that new streams find their places made.
        let spare: Vec<_> = (0..CHANGED)
            .map(|_| schedule.open_stream(group, 0))
            .collect();
        for stream in spare.into_iter().flatten() {
            schedule.close_stream(stream);
        }
        (schedule, group)
    };
    let mut group = criterion.benchmark_group("stream_turns");
    for &n in sizes {
        let case = format!("equal-m{CHANGED}/{n}");
        once(
            &mut group,
            &case,
            || setup(n, |_| 7),
            |(schedule, _)| measured_serve(schedule),
        );
    }
    group.finish();
    let mut group = criterion.benchmark_group("stream_newer");
    for &n in sizes {
        let case = format!("m{CHANGED}/{n}");
        once(
            &mut group,
            &case,
            || setup(n, |at| at),
            |(schedule, group)| {
                measured_stream_newer(schedule, *group, n as u64);
            },
        );
    }
    group.finish();
}

#[inline(never)]
fn measured_datagram_evict(
    schedule: &mut Schedule,
    groups: &[GroupId],
    gone: &mut Vec<DatagramId>,
) {
    for (order, &group) in groups.iter().cycle().take(CHANGED).enumerate() {
        schedule.push_datagram(group, order as u64, PACKET, |id| gone.push(id));
    }
}

/// Datagrams into and out of a full budget of `n` in 100 groups of ten priorities.
fn datagrams(criterion: &mut Criterion, sizes: &[usize]) {
    let setup = |n: usize| {
        let mut schedule = Schedule::new(Config {
            datagram_budget: n * PACKET,
            ..Config::default()
        });
        let groups: Vec<_> = (0..100)
            .map(|at| {
                schedule.open_group(GroupConfig {
                    priority: at % 10,
                    ..GroupConfig::default()
                })
            })
            .collect();
        let mut rng = Rng::new(n as u64);
        for at in 0..n {
            schedule.push_datagram(groups[at % 100], rng.next(), PACKET, |_| ());
        }
        (schedule, groups, Vec::with_capacity(CHANGED))
    };
    let mut group = criterion.benchmark_group("datagram_evict");
    for &n in sizes {
        let case = format!("m{CHANGED}/{n}");
        once(
            &mut group,
            &case,
            || setup(n),
            |(schedule, groups, gone)| {
                measured_datagram_evict(schedule, groups, gone);
            },
        );
    }
    group.finish();
    let mut group = criterion.benchmark_group("datagram_send");
    for &n in sizes {
        let case = format!("m{CHANGED}/{n}");
        once(
            &mut group,
            &case,
            || setup(n),
            |(schedule, ..)| measured_serve(schedule),
        );
    }
    group.finish();
}

#[inline(never)]
fn measured_mixed(world: &mut World<Schedule>, operations: &[Op]) -> u64 {
    for &op in operations {
        world.apply(op);
    }
    world.hash()
}

/// The operations of the differential traces, with what it takes to name their targets.
fn mixed(criterion: &mut Criterion) {
    const OPERATIONS: usize = 10_000;
    let setup = || {
        let mut rng = Rng::new(0);
        let mut world = World::new(Schedule::new(Config::default()));
        let mut operations = Vec::new();
        for _ in 0..OPERATIONS {
            let op = Op::random(&mut rng, world.live());
            world.apply(op);
            operations.push(op);
        }
        (World::new(Schedule::new(Config::default())), operations)
    };
    let mut group = criterion.benchmark_group("mixed");
    once(
        &mut group,
        &format!("m{OPERATIONS}/48"),
        setup,
        |(world, operations)| {
            black_box(measured_mixed(world, operations));
        },
    );
    group.finish();
}
