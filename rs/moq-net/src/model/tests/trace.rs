//! Random operations on the real track and on the slow one: each answer must be the same.

use proptest::prelude::*;

use super::super::oracle::{Oracle, Outcome, Wanted};
use super::*;
use crate::Error;

const PAYLOAD: u64 = 10;
const MAX_AGE: u64 = 1_000;

#[derive(Clone, Debug)]
enum Op {
    Append,
    Create(u64),
    /// To the open group of this number, modulo; the time is around its sequence × 100.
    Frame(usize, u64),
    FinishGroup(usize),
    AbortGroup(usize),
    Subscribe(Wanted),
    Receive(usize),
    Next(usize),
    /// Caps both cursors, relative to the newest sequence.
    Cap(usize, Option<u64>),
    Finish,
    FinishAt(u64),
    Abort,
    DropProducer,
}

fn op() -> impl Strategy<Value = Op> {
    let wanted = (
        prop_oneof![Just(0), 1..400u64, Just(u64::MAX)],
        prop::option::of(0..40u64),
        prop::option::of(0..60u64),
    );
    prop_oneof![
        12 => Just(Op::Append),
        6 => (0..60u64).prop_map(Op::Create),
        20 => (0..8usize, 0..120u64).prop_map(|(at, time)| Op::Frame(at, time)),
        6 => (0..8usize).prop_map(Op::FinishGroup),
        4 => (0..8usize).prop_map(Op::AbortGroup),
        3 => wanted.prop_map(|(max_age, start, end)| Op::Subscribe(Wanted { max_age, start, end })),
        20 => (0..6usize).prop_map(Op::Receive),
        20 => (0..6usize).prop_map(Op::Next),
        3 => (0..6usize, prop::option::of(0..20u64)).prop_map(|(of, cap)| Op::Cap(of, cap)),
        1 => Just(Op::Finish),
        1 => (0..80u64).prop_map(Op::FinishAt),
        1 => Just(Op::Abort),
        1 => Just(Op::DropProducer),
    ]
}

/// The real track beside the slow one.
struct Pair {
    oracle: Oracle,
    pool: Pool,
    _broadcast: Broadcast,
    track: Option<Track>,
    /// Groups being written, with their index in the oracle.
    open: Vec<(usize, Group)>,
    created: usize,
    latest: u64,
    readers: Vec<(Subscriber, Ordered)>,
}

impl Pair {
    fn new(room: u64) -> Self {
        let pool = Pool::new(room * 700);
        let broadcast = Broadcast::new(pool.clone());
        let info = TrackInfo {
            max_age: Duration::from_millis(MAX_AGE),
            ..TrackInfo::default()
        };
        Self {
            oracle: Oracle::new(MAX_AGE, room * 700, PAYLOAD),
            track: Some(broadcast.create_track("video", info).unwrap()),
            pool,
            _broadcast: broadcast,
            open: Vec::new(),
            created: 0,
            latest: 0,
            readers: Vec::new(),
        }
    }

    fn create(&mut self, sequence: Option<u64>) {
        let Some(track) = &self.track else { return };
        let group = match sequence {
            Some(sequence) => track.create_group(sequence),
            None => track.append_group(),
        };
        let expected = self.oracle.create(sequence);
        match group {
            Ok(group) => {
                assert_eq!(expected, Outcome::Done);
                self.latest = self.latest.max(group.sequence());
                self.open.push((self.created, group));
                self.created += 1;
            }
            Err(_) => assert_eq!(expected, Outcome::Failed),
        }
    }

    fn with_open(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Oracle, usize, Group) -> Option<Group>,
    ) {
        if self.open.is_empty() {
            return;
        }
        let at = at % self.open.len();
        let (index, group) = self.open.remove(at);
        if let Some(group) = act(&mut self.oracle, index, group) {
            self.open.push((index, group));
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Append => self.create(None),
            Op::Create(sequence) => self.create(Some(sequence)),
            Op::Frame(at, time) => self.with_open(at, |oracle, index, group| {
                let time = group.sequence() * 100 + time;
                let payload = vec![0; PAYLOAD as usize];
                let wrote = group
                    .write_frame(Timestamp::from_millis(time), payload)
                    .is_ok();
                assert_eq!(oracle.frame(index, time) == Outcome::Done, wrote);
                Some(group)
            }),
            Op::FinishGroup(at) => self.with_open(at, |oracle, index, group| {
                oracle.finish_group(index);
                let _ = group.finish();
                None
            }),
            Op::AbortGroup(at) => self.with_open(at, |oracle, index, group| {
                oracle.abort_group(index);
                group.abort(Error::Cancel);
                None
            }),
            Op::Subscribe(wanted) => {
                let Some(track) = &self.track else { return };
                let max_age = match wanted.max_age {
                    u64::MAX => Duration::MAX,
                    millis => Duration::from_millis(millis),
                };
                let Wanted { start, end, .. } = wanted;
                let subscriber = track.subscribe(Subscription {
                    max_age,
                    start,
                    end,
                    ..Subscription::default()
                });
                let cursor = subscriber.ordered();
                self.readers.push((subscriber, cursor));
                self.oracle.subscribe(wanted);
            }
            Op::Receive(of) => self.with_reader(of, |oracle, of, (subscriber, _)| {
                assert_eq!(outcome(poll(subscriber.recv_group())), oracle.receive(of));
                assert_eq!(subscriber.counts(), oracle.counts(of));
            }),
            Op::Next(of) => self.with_reader(of, |oracle, of, (_, cursor)| {
                assert_eq!(outcome(poll(cursor.next_group())), oracle.next(of));
            }),
            Op::Cap(of, below) => {
                let end = below.map_or(u64::MAX, |below| self.latest.saturating_sub(below));
                self.with_reader(of, |oracle, of, (subscriber, cursor)| {
                    subscriber.set_groups(..end);
                    cursor.set_groups(..end);
                    oracle.set_window_end(of, end);
                });
            }
            Op::Finish => self.end(|track| track.finish(), None),
            Op::FinishAt(sequence) => self.end(|track| track.finish_at(sequence), Some(sequence)),
            Op::Abort => {
                let Some(track) = &self.track else { return };
                track.abort(Error::App(1));
                self.oracle.abort();
            }
            Op::DropProducer => {
                if self.open.is_empty() && self.track.take().is_some() {
                    self.oracle.abort();
                }
            }
        }
    }

    fn with_reader(
        &mut self,
        of: usize,
        act: impl FnOnce(&mut Oracle, usize, &mut (Subscriber, Ordered)),
    ) {
        if !self.readers.is_empty() {
            let of = of % self.readers.len();
            act(&mut self.oracle, of, &mut self.readers[of]);
        }
    }

    fn end(&mut self, end: impl FnOnce(&Track) -> Result<()>, sequence: Option<u64>) {
        let Some(track) = &self.track else { return };
        let ended = end(track).is_ok();
        assert_eq!(self.oracle.finish_at(sequence) == Outcome::Done, ended);
    }
}

fn outcome(read: Option<Result<Option<GroupConsumer>>>) -> Outcome {
    match read {
        None => Outcome::Pending,
        Some(Err(_)) => Outcome::Failed,
        Some(Ok(None)) => Outcome::End,
        Some(Ok(Some(mut group))) => {
            let frames = std::iter::from_fn(|| poll(group.read_frame())?.ok()?).count();
            Outcome::Group(group.sequence(), frames)
        }
    }
}

proptest! {
    #[test]
    fn the_track_does_what_the_slow_one_does(
        ops in prop::collection::vec(op(), 1..300),
        room in prop_oneof![3..12u64, Just(1_000)],
    ) {
        let mut pair = Pair::new(room);
        for op in ops {
            pair.apply(op);
            if pair.track.is_some() && !pair.open.iter().any(|(_, group)| poll(group.closed()).is_some()) {
                prop_assert_eq!(pair.pool.used(), pair.oracle.used());
            }
        }
    }
}
