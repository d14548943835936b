//! A track as slow and obvious as it can be: one list of all groups ever created, searched from end to end.
//!
//! Owns what `tests/trace.rs` holds the real track against. Shares no code with it but the constants of the contract.

use super::Counts;
use super::frame::FRAME_OVERHEAD;
use super::group::GROUP_OVERHEAD;

/// What a write or a read comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A group of this sequence with this many frames.
    Group(u64, usize),
    Done,
    End,
    Failed,
    Pending,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Open,
    Finished,
    Aborted,
}

struct Group {
    sequence: u64,
    frames: Vec<u64>,
    status: Status,
    cached: bool,
}

/// What one subscription asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) max_age: u64,
    pub(super) start: Option<u64>,
    pub(super) end: Option<u64>,
}

/// A subscription and its two cursors.
struct Subscription {
    wanted: Wanted,
    floor: u64,
    asked: Option<u64>,
    /// Groups before this index were passed in arrival order.
    passed: usize,
    /// Groups passed but within limits that moved since, by sequence.
    replay: Vec<usize>,
    limits: Option<(u64, u64)>,
    window_end: u64,
    seen: u64,
    counts: Counts,
    next: u64,
}

/// See the file's head. A group's index in `groups` is its place in the order of arrival.
pub(super) struct Oracle {
    max_age: u64,
    capacity: u64,
    payload: u64,
    groups: Vec<Group>,
    /// Superseded groups, first the one that was superseded first.
    listed: Vec<usize>,
    subscriptions: Vec<Subscription>,
    end: Option<u64>,
    failed: bool,
    sealed: bool,
}

impl Oracle {
    pub(super) fn new(max_age: u64, capacity: u64, payload: u64) -> Self {
        Self {
            max_age,
            capacity,
            payload,
            groups: Vec::new(),
            listed: Vec::new(),
            subscriptions: Vec::new(),
            end: None,
            failed: false,
            sealed: false,
        }
    }

    pub(super) fn used(&self) -> u64 {
        let bytes = |group: &Group| {
            GROUP_OVERHEAD + group.frames.len() as u64 * (self.payload + FRAME_OVERHEAD)
        };
        self.groups
            .iter()
            .filter(|group| group.cached)
            .map(bytes)
            .sum()
    }

    pub(super) fn create(&mut self, sequence: Option<u64>) -> Outcome {
        let sequence = sequence
            .or(self.latest().map(|latest| latest + 1))
            .unwrap_or(0);
        if self.sealed || self.end.is_some_and(|end| sequence >= end) {
            return Outcome::Failed;
        }
        if let Some(old) = self
            .order()
            .into_iter()
            .find(|&at| self.groups[at].sequence == sequence)
        {
            if self.groups[old].status != Status::Aborted {
                return Outcome::Failed;
            }
            self.remove(old);
        }
        let newest = self.order().last().copied();
        let at = self.groups.len();
        self.groups.push(Group {
            sequence,
            frames: Vec::new(),
            status: Status::Open,
            cached: true,
        });
        match newest {
            Some(newest) if self.groups[newest].sequence > sequence => self.listed.push(at),
            Some(newest) if !self.listed.contains(&newest) => self.listed.push(newest),
            _ => {}
        }
        self.expire();
        self.settle();
        Outcome::Done
    }

    pub(super) fn frame(&mut self, at: usize, time: u64) -> Outcome {
        if self.groups[at].status != Status::Open {
            return Outcome::Failed;
        }
        self.groups[at].frames.push(time);
        if self.groups[at].frames.len() == 1 {
            self.expire();
        }
        self.settle();
        Outcome::Done
    }

    pub(super) fn finish_group(&mut self, at: usize) {
        if self.groups[at].status == Status::Open {
            self.groups[at].status = Status::Finished;
        }
    }

    pub(super) fn abort_group(&mut self, at: usize) {
        if self.groups[at].status == Status::Open {
            self.groups[at].status = Status::Aborted;
            if self.groups[at].frames.is_empty() {
                self.remove(at);
            }
        }
    }

    pub(super) fn finish_at(&mut self, sequence: Option<u64>) -> Outcome {
        let next = self.latest().map_or(0, |latest| latest + 1);
        match sequence {
            Some(sequence) if self.sealed || self.end.is_some() || sequence < next => {
                return Outcome::Failed;
            }
            Some(sequence) => self.end = Some(sequence),
            None if self.sealed => return Outcome::Failed,
            None => {
                self.end = self.end.or(Some(next));
                self.sealed = true;
            }
        }
        Outcome::Done
    }

    pub(super) fn abort(&mut self) {
        if !self.sealed {
            self.sealed = true;
            self.failed = self.end.is_none();
        }
        for at in self.order() {
            self.abort_group(at);
        }
    }

    pub(super) fn subscribe(&mut self, wanted: Wanted) {
        let age = wanted.max_age.min(self.max_age);
        let order = self.order();
        let (mut floor, mut passed) = (0, 0);
        if let Some(start) = wanted.start {
            floor = start;
        } else if !order.is_empty() {
            // From the newest back to the first that is late; from the oldest if that isn't late.
            let mut first = order.len() - 1;
            if age > 0 {
                while first > 0 && !self.is_late(order[first - 1], age) {
                    first -= 1;
                }
                if !self.is_late(order[0], age) {
                    first = 0;
                }
            }
            floor = self.groups[order[first]].sequence;
            passed = order[first..].iter().copied().min().unwrap_or(0);
            if age > 0 && first == 0 {
                passed = 0;
            }
        }
        let asked = wanted.start.and(self.latest());
        self.subscriptions.push(Subscription {
            wanted,
            floor,
            asked,
            passed,
            replay: Vec::new(),
            limits: None,
            window_end: u64::MAX,
            seen: 0,
            counts: Counts::default(),
            next: 0,
        });
    }

    pub(super) fn set_window_end(&mut self, of: usize, end: u64) {
        self.subscriptions[of].window_end = end;
    }

    /// The next group in arrival order.
    pub(super) fn receive(&mut self, of: usize) -> Outcome {
        self.note_asked(of);
        let subscription = &self.subscriptions[of];
        let end = subscription.wanted.end.unwrap_or(u64::MAX);
        let limit = (
            subscription.floor,
            end.min(subscription.window_end).max(subscription.floor),
        );
        self.move_limits(of, limit);
        while let Some((at, again)) = self.take_next(of) {
            let sequence = self.groups[at].sequence;
            let counts = &mut self.subscriptions[of].counts;
            if !again && !(limit.0..limit.1).contains(&sequence) {
                counts.outside += 1;
                continue;
            }
            self.subscriptions[of].seen += 1;
            if self.skips(of, at) {
                self.subscriptions[of].counts.late += 1;
                continue;
            }
            self.subscriptions[of].counts.delivered += 1;
            return Outcome::Group(sequence, self.groups[at].frames.len());
        }
        let subscription = &self.subscriptions[of];
        let order = self.order();
        if self.sealed {
            let held =
                |at: &usize| (subscription.window_end..end).contains(&self.groups[*at].sequence);
            return if order.iter().any(held) {
                Outcome::Pending
            } else {
                self.outcome()
            };
        }
        let end = end.min(self.end.unwrap_or(u64::MAX));
        if end == u64::MAX || subscription.window_end < end {
            return Outcome::Pending;
        }
        let age = subscription.wanted.max_age.min(self.max_age);
        let pointless = match order.iter().position(|&at| self.groups[at].sequence >= end) {
            Some(above) => above == 0 || self.is_late(order[above], age),
            None => false,
        };
        let complete = subscription.seen >= end.saturating_sub(subscription.floor);
        if complete || pointless {
            Outcome::End
        } else {
            Outcome::Pending
        }
    }

    /// The next group in sequence order.
    pub(super) fn next(&mut self, of: usize) -> Outcome {
        self.note_asked(of);
        let subscription = &mut self.subscriptions[of];
        subscription.next = subscription.next.max(subscription.floor);
        let end = subscription.wanted.end.unwrap_or(u64::MAX);
        let limit = end.min(subscription.window_end);
        for at in self.order() {
            let sequence = self.groups[at].sequence;
            if sequence < self.subscriptions[of].next || sequence >= limit {
                continue;
            }
            self.subscriptions[of].next = sequence + 1;
            if !self.skips(of, at) {
                return Outcome::Group(sequence, self.groups[at].frames.len());
            }
        }
        let next = self.subscriptions[of].next;
        if next >= end.min(self.end.unwrap_or(u64::MAX)) {
            return Outcome::End;
        }
        let above = self
            .order()
            .into_iter()
            .find(|&at| self.groups[at].sequence >= next);
        match above {
            Some(at) if self.groups[at].sequence >= end => Outcome::End,
            None if self.sealed => self.outcome(),
            _ => Outcome::Pending,
        }
    }

    pub(super) fn counts(&self, of: usize) -> Counts {
        self.subscriptions[of].counts
    }

    /// The next group the arrival cursor looks at, and whether it looks again.
    fn take_next(&mut self, of: usize) -> Option<(usize, bool)> {
        let groups = &self.groups;
        let subscription = &mut self.subscriptions[of];
        while !subscription.replay.is_empty() {
            let at = subscription.replay.remove(0);
            if groups[at].cached {
                return Some((at, true));
            }
        }
        let at = (subscription.passed..groups.len()).find(|&at| groups[at].cached)?;
        subscription.counts.gone += (at - subscription.passed) as u64;
        subscription.passed = at + 1;
        Some((at, false))
    }

    /// What came into the limits after it was passed is looked at again.
    fn move_limits(&mut self, of: usize, now: (u64, u64)) {
        let order = self.order();
        let groups = &self.groups;
        let subscription = &mut self.subscriptions[of];
        if let Some(before) = subscription
            .limits
            .replace(now)
            .filter(|&before| before != now)
        {
            let within =
                |at: usize, (start, end): (u64, u64)| (start..end).contains(&groups[at].sequence);
            let again = |at: usize| {
                let passed = at < subscription.passed;
                within(at, now)
                    && passed
                    && (!within(at, before) || subscription.replay.contains(&at))
            };
            subscription.replay = order.into_iter().filter(|&at| again(at)).collect();
            if now.0 != before.0 || now.1 < before.1 {
                subscription.seen = 0;
            }
        }
    }

    fn note_asked(&mut self, of: usize) {
        let latest = self.latest();
        let subscription = &mut self.subscriptions[of];
        if subscription.wanted.start.is_some() {
            subscription.asked = subscription.asked.or(latest);
        }
    }

    fn skips(&self, of: usize, at: usize) -> bool {
        let subscription = &self.subscriptions[of];
        let asked = subscription
            .asked
            .is_some_and(|asked| self.groups[at].sequence <= asked);
        !asked && self.is_late(at, subscription.wanted.max_age.min(self.max_age))
    }

    fn outcome(&self) -> Outcome {
        if self.failed {
            Outcome::Failed
        } else {
            Outcome::End
        }
    }

    fn latest(&self) -> Option<u64> {
        self.groups.iter().map(|group| group.sequence).max()
    }

    /// Cached groups by sequence.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.groups.len())
            .filter(|&at| self.groups[at].cached)
            .collect();
        order.sort_by_key(|&at| self.groups[at].sequence);
        order
    }

    /// Newest timestamp − where the successor starts ≥ age, each looked for in at most four groups.
    fn is_late(&self, at: usize, age: u64) -> bool {
        let order = self.order();
        let Some(place) = order.iter().position(|&other| other == at) else {
            return true;
        };
        let after = order[place + 1..].iter().take(4);
        let reach = after
            .filter_map(|&at| self.groups[at].frames.first())
            .next();
        let last = order.iter().rev().take(4);
        let newest = last
            .filter_map(|&at| self.groups[at].frames.iter().max())
            .next();
        matches!((newest, reach), (Some(newest), Some(reach)) if *newest >= reach.saturating_add(age))
    }

    fn remove(&mut self, at: usize) {
        self.groups[at].cached = false;
        self.groups[at].status = Status::Aborted;
        self.listed.retain(|&other| other != at);
    }

    fn expire(&mut self) {
        for _ in 0..4 {
            match self.order().first() {
                Some(&oldest) if self.is_late(oldest, self.max_age) => self.remove(oldest),
                _ => return,
            }
        }
    }

    fn settle(&mut self) {
        for _ in 0..8 {
            if self.used() <= self.capacity || self.listed.is_empty() {
                return;
            }
            let first = self.listed.remove(0);
            if self.order().last() != Some(&first) {
                self.remove(first);
            }
        }
    }
}
