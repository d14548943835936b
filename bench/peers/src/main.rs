//! Our moq-net beside the published one, on the same work, in one run: ns for each operation and the ratio.
//!
//! The two sides alternate, and the first of a round changes. A round in which the host took more than 2 % of the CPU
//! (`/proc/stat`, field 8) is repeated, a few times at most. What is printed is each side's best and the median of the
//! rounds' ratios.

mod ours;
mod theirs;
mod work;

use std::time::Duration;

use ours::Ours;
use theirs::Theirs;
use work::{ALWAYS, Order, Peer, timed};

const ROUNDS: usize = 9;
const RETRIES: usize = 20;
const MAX_STEAL: f64 = 0.02;
/// Each sample is at least this long.
const SAMPLE: Duration = Duration::from_millis(20);
const BUDGET: u64 = 4 << 30;

/// A case: its name, how many operations one run does, and a run of either side, built anew for every sample.
struct Case {
    name: String,
    operations: u64,
    ours: Box<dyn Fn() -> Run>,
    theirs: Box<dyn Fn() -> Run>,
}

type Run = Box<dyn FnMut() -> Duration>;

fn main() {
    let wanted: Vec<_> = std::env::args().skip(1).collect();
    println!(
        "{:<34} {:>10} {:>10} {:>8}  steal",
        "case", "ours ns", "theirs ns", "ratio"
    );
    for case in cases() {
        if wanted.is_empty() || wanted.iter().any(|part| case.name.contains(part.as_str())) {
            measure(&case);
        }
    }
}

fn measure(case: &Case) {
    let (mut ours, mut theirs, mut ratios) = (f64::MAX, f64::MAX, Vec::new());
    let (mut worst, mut retries) = (0.0f64, RETRIES);
    while ratios.len() < ROUNDS {
        let before = cpu_ticks();
        let first = ratios.len() % 2 == 0;
        let sample = |run: &dyn Fn() -> Run| sample(run()) / case.operations as f64;
        let (a, b) = match first {
            true => (sample(&case.ours), sample(&case.theirs)),
            false => {
                let b = sample(&case.theirs);
                (sample(&case.ours), b)
            }
        };
        let steal = steal(before, cpu_ticks());
        if steal > MAX_STEAL && retries > 0 {
            retries -= 1;
            continue;
        }
        worst = worst.max(steal);
        (ours, theirs) = (ours.min(a), theirs.min(b));
        ratios.push(b / a);
    }
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios[ratios.len() / 2];
    println!(
        "{:<34} {ours:>10.1} {theirs:>10.1} {ratio:>7.2}x  {:.1} %",
        case.name,
        worst * 100.0
    );
}

/// The time one run takes, in ns: the mean over a sample, after one run to warm up.
fn sample(mut run: Run) -> f64 {
    run();
    let (mut total, mut runs) = (Duration::ZERO, 0u32);
    while total < SAMPLE {
        total += run();
        runs += 1;
    }
    total.as_nanos() as f64 / f64::from(runs)
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, order) in [("sequence", Order::Sequence), ("arrival", Order::Arrival)] {
        for depth in [64, 512, 4_096, 65_536] {
            let ours = move || drain::<Ours>(order, depth);
            let theirs = move || drain::<Theirs>(order, depth);
            cases.push(case(
                format!("track_recv_groups/{name}/{depth}"),
                depth,
                ours,
                theirs,
            ));
        }
    }
    for keep in [64, 250, 4_096] {
        let (ours, theirs) = (
            move || caught_up::<Ours>(keep),
            move || caught_up::<Theirs>(keep),
        );
        cases.push(case(
            format!("track_recv_groups/caught_up/{keep}"),
            128,
            ours,
            theirs,
        ));
    }
    for (name, read) in [("group", false), ("frame", true)] {
        for subscribers in [1, 8, 64, 512] {
            let ours = move || fanout::<Ours>(subscribers, read);
            let theirs = move || fanout::<Theirs>(subscribers, read);
            let operations = 16 * subscribers as u64;
            cases.push(case(
                format!("fanout/{name}/{subscribers}"),
                operations,
                ours,
                theirs,
            ));
        }
    }
    for others in [1, 64, 512] {
        let (ours, theirs) = (
            move || churn::<Ours>(others),
            move || churn::<Theirs>(others),
        );
        cases.push(case(
            format!("subscriber_churn/{others}"),
            128,
            ours,
            theirs,
        ));
    }
    for frames in [1, 64, 8_192] {
        let (ours, theirs) = (
            move || write::<Ours>(frames),
            move || write::<Theirs>(frames),
        );
        cases.push(case(format!("group_write/{frames}"), frames, ours, theirs));
        let (ours, theirs) = (move || read::<Ours>(frames), move || read::<Theirs>(frames));
        cases.push(case(format!("group_read/{frames}"), frames, ours, theirs));
    }
    cases
}

fn case(
    name: String,
    operations: u64,
    ours: impl Fn() -> Run + 'static,
    theirs: impl Fn() -> Run + 'static,
) -> Case {
    Case {
        name,
        operations,
        ours: Box::new(ours),
        theirs: Box::new(theirs),
    }
}

fn drain<P: Peer>(order: Order, depth: u64) -> Run
where
    P::Feed: 'static,
{
    let mut feed = P::feed(ALWAYS, BUDGET);
    (0..depth).for_each(|_| P::write(&mut feed, 1));
    Box::new(move || P::drain(&feed, order, depth))
}

/// At the live edge of a track that holds `keep` groups.
fn caught_up<P: Peer>(keep: u64) -> Run
where
    P::Audience: 'static,
{
    let mut feed = P::feed(Duration::from_millis(keep * work::GROUP_MILLIS), BUDGET);
    (0..keep).for_each(|_| P::write(&mut feed, 1));
    let mut audience = P::audience(feed, 1);
    Box::new(move || timed(|| (0..128).for_each(|_| P::deliver(&mut audience, false))))
}

fn fanout<P: Peer>(subscribers: usize, read: bool) -> Run
where
    P::Audience: 'static,
{
    let mut audience = P::audience(P::feed(Duration::from_secs(5), BUDGET), subscribers);
    Box::new(move || timed(|| (0..16).for_each(|_| P::deliver(&mut audience, read))))
}

fn churn<P: Peer>(others: usize) -> Run
where
    P::Churn: 'static,
{
    let mut feed = P::feed(Duration::from_secs(5), BUDGET);
    (0..64).for_each(|_| P::write(&mut feed, 1));
    let mut churn = P::churn(feed, others);
    Box::new(move || timed(|| (0..128).for_each(|_| P::join_and_leave(&mut churn))))
}

fn write<P: Peer>(frames: u64) -> Run
where
    P::Feed: 'static,
{
    let mut feed = P::feed(Duration::from_secs(5), BUDGET);
    Box::new(move || timed(|| P::write(&mut feed, frames)))
}

fn read<P: Peer>(frames: u64) -> Run
where
    P::Feed: 'static,
{
    let mut feed = P::feed(Duration::from_secs(5), BUDGET);
    P::write(&mut feed, frames);
    Box::new(move || timed(|| P::read(&feed, frames)))
}

/// (stolen, all) ticks of all CPUs since boot; zeros where there is no `/proc/stat`.
fn cpu_ticks() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .flat_map(str::parse)
        .collect();
    (
        fields.get(7).copied().unwrap_or(0),
        fields.iter().take(8).sum(),
    )
}

fn steal(before: (u64, u64), after: (u64, u64)) -> f64 {
    match after.1 - before.1 {
        0 => 0.0,
        ticks => (after.0 - before.0) as f64 / ticks as f64,
    }
}
