//! The schedule, slow and obvious: a `VecDeque` a priority, plain vectors, and a scan for every question.
//!
//! Written from the contract, sharing nothing with the real one but the types of its interface, so that the two can
//! disagree. For tests only.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, VecDeque},
};

use super::{
    Config, DatagramId, Direction, Evicted, Grant, GroupConfig, GroupId, Schedule, StreamKey,
    key::Stamp,
};

mod operations;

#[derive(Debug)]
pub(super) struct Model {
    quantum: i64,
    budget: usize,
    groups: Vec<Group>,
    items: Vec<Item>,
    rounds: BTreeMap<u16, VecDeque<GroupId>>,
    clock: u64,
    pub(super) evicted: Evicted,
    /// How often a group left a round from between two others, not its front nor its tail.
    pub(super) mid_ring: u64,
}

#[derive(Debug)]
struct Group {
    id: GroupId,
    config: GroupConfig,
    closed: bool,
    deficit: i64,
}

#[derive(Debug)]
struct Item {
    /// A stream's key and a datagram's have the same shape, and no two items have the same.
    id: StreamKey,
    is_datagram: bool,
    group: GroupId,
    order: u64,
    came: u64,
    ready: usize,
    turn: usize,
    backlog: bool,
    blocked: bool,
    begun: bool,
    fin: bool,
}

/// Something that could be sent.
#[derive(Debug)]
pub(super) struct Waiting {
    /// What it would be granted in full.
    pub(super) grant: Grant,
    /// Higher goes first.
    pub(super) tier: (bool, u16),
    /// Lower goes first, inside its group.
    pub(super) place: (bool, u64, bool),
}

impl Item {
    fn sendable(&self) -> bool {
        self.backlog && !self.blocked
    }
}

impl Model {
    pub(super) fn new(config: Config) -> Self {
        Self {
            quantum: config.quantum as i64,
            budget: config.datagram_budget,
            groups: vec![Group {
                id: Schedule::CONTROL,
                config: GroupConfig::default(),
                closed: false,
                deficit: 0,
            }],
            items: Vec::new(),
            rounds: BTreeMap::new(),
            clock: 0,
            evicted: Evicted::default(),
            mid_ring: 0,
        }
    }

    /// All that has something to send, and may.
    pub(super) fn waiting(&self) -> Vec<Waiting> {
        let sendable = self.items.iter().filter(|item| item.sendable());
        let waiting = sendable.filter_map(|item| {
            let group = self.groups.iter().find(|group| group.id == item.group)?;
            let order = match group.config.direction {
                Direction::NewestFirst => u64::MAX - item.order,
                Direction::OldestFirst => item.order,
            };
            Some(Waiting {
                grant: grant(item, usize::MAX),
                tier: (item.group == Schedule::CONTROL, group.config.priority),
                place: (!self.finishing(item), order, !item.is_datagram),
            })
        });
        waiting.collect()
    }

    /// The next of a count no two share: time, in effect, and names.
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn new_id(&mut self) -> StreamKey {
        let index = self.tick() as u32;
        StreamKey {
            index,
            stamp: Stamp::MAX,
        }
    }

    fn group(&mut self, id: GroupId) -> Option<&mut Group> {
        self.groups.iter_mut().find(|group| group.id == id)
    }

    fn open(&mut self, id: GroupId) -> bool {
        self.group(id).is_some_and(|group| !group.closed)
    }

    fn item(&mut self, id: StreamKey) -> Option<&mut Item> {
        self.items.iter_mut().find(|item| item.id == id)
    }

    fn sendable(&self, group: GroupId) -> bool {
        self.items
            .iter()
            .any(|item| item.group == group && item.sendable())
    }

    fn held(&self, group: GroupId) -> bool {
        self.items
            .iter()
            .any(|item| item.group == group && item.backlog && item.blocked)
    }

    fn finishing(&self, item: &Item) -> bool {
        let group = self.groups.iter().find(|group| group.id == item.group);
        let most = group.and_then(|group| group.config.finish);
        item.begun && item.fin && most.is_some_and(|most| item.ready <= most)
    }

    fn best(&self, group: GroupId) -> Option<&Item> {
        let direction = self
            .groups
            .iter()
            .find(|known| known.id == group)?
            .config
            .direction;
        let items = self
            .items
            .iter()
            .filter(|item| item.group == group && item.sendable());
        items.min_by_key(|item| {
            let order = match direction {
                Direction::NewestFirst => u64::MAX - item.order,
                Direction::OldestFirst => item.order,
            };
            (!self.finishing(item), order, !item.is_datagram, item.came)
        })
    }

    fn position(&self, group: GroupId) -> Option<(u16, usize)> {
        self.rounds.iter().find_map(|(&priority, round)| {
            let at = round.iter().position(|&member| member == group)?;
            Some((priority, at))
        })
    }

    fn join(&mut self, group: GroupId) {
        if group == Schedule::CONTROL || self.position(group).is_some() {
            return;
        }
        if let Some(known) = self.group(group) {
            let priority = known.config.priority;
            self.rounds.entry(priority).or_default().push_back(group);
        }
    }

    fn leave(&mut self, group: GroupId) {
        let Some((priority, at)) = self.position(group) else {
            return;
        };
        let round = self.rounds.entry(priority).or_default();
        if at > 0 && at + 1 < round.len() {
            self.mid_ring += 1;
        }
        round.remove(at);
        if round.is_empty() {
            self.rounds.remove(&priority);
        }
    }

    fn is_front(&self, group: GroupId) -> bool {
        matches!(self.position(group), Some((_, 0)))
    }

    /// Something of `group` has changed that could be sent until now, if `was_sendable`.
    fn after(&mut self, group: GroupId, was_sendable: bool) {
        let sendable = self.sendable(group);
        let held = self.held(group);
        let members = self.items.iter().filter(|item| item.group == group).count();
        let Some(known) = self.group(group) else {
            return;
        };
        if !sendable && !held {
            known.deficit = known.deficit.min(0);
        }
        let done = known.closed && members == 0;
        if !sendable && was_sendable && self.is_front(group) {
            self.leave(group);
        }
        if done {
            self.leave(group);
            self.groups.retain(|known| known.id != group);
        }
    }

    fn charge(&mut self, group: GroupId, bytes: usize) -> bool {
        let Some(group) = self.group(group) else {
            return false;
        };
        let before = group.deficit;
        group.deficit -= bytes as i64;
        before > 0 && group.deficit <= 0
    }

    fn end_turn(&mut self, group: GroupId, spent: bool) {
        if spent && self.is_front(group) {
            for round in self.rounds.values_mut() {
                if round.front() == Some(&group) {
                    round.rotate_left(1);
                }
            }
        }
    }

    fn remove(&mut self, id: StreamKey) {
        if let Some(at) = self.items.iter().position(|item| item.id == id) {
            let item = self.items.remove(at);
            self.after(item.group, item.sendable());
        }
    }

    fn datagram_bytes_of(&self, group: GroupId) -> usize {
        let datagrams = self.items.iter().filter(|item| item.is_datagram);
        datagrams
            .filter(|item| item.group == group)
            .map(|item| item.ready)
            .sum()
    }

    pub(super) fn datagram_bytes(&self) -> usize {
        self.items
            .iter()
            .filter(|item| item.is_datagram)
            .map(|item| item.ready)
            .sum()
    }

    fn victim(&self) -> Option<StreamKey> {
        let datagrams = self.items.iter().filter(|item| item.is_datagram);
        let victim = datagrams.min_by_key(|item| {
            let group = self.groups.iter().find(|group| group.id == item.group);
            let priority = group.map_or(0, |group| group.config.priority);
            let is_control = item.group == Schedule::CONTROL;
            let oldest = self
                .items
                .iter()
                .filter(|other| other.is_datagram && other.group == item.group);
            let oldest = oldest.map(|other| other.came).min();
            (
                is_control,
                priority,
                Reverse(self.datagram_bytes_of(item.group)),
                oldest,
                item.came,
            )
        });
        victim.map(|item| item.id)
    }
}

const fn datagram(id: StreamKey) -> DatagramId {
    DatagramId {
        index: id.index,
        stamp: id.stamp,
    }
}

const fn stream(id: DatagramId) -> StreamKey {
    StreamKey {
        index: id.index,
        stamp: id.stamp,
    }
}

impl Model {
    /// Takes `bytes` of what an item has ready; a datagram whole.
    fn take(&mut self, id: StreamKey, bytes: usize) {
        let came = self.tick();
        let quantum = self.quantum as usize;
        let Some(item) = self.item(id) else {
            return;
        };
        if item.is_datagram {
            self.remove(id);
            return;
        }
        let (group, sendable) = (item.group, item.sendable());
        item.begun = true;
        item.ready = item.ready.saturating_sub(bytes);
        item.turn += bytes;
        if item.ready == 0 {
            item.backlog = false;
            self.after(group, sendable);
            return;
        }
        let turn_over = item.turn >= quantum;
        let unfair = self.group(group).is_some_and(|group| group.config.unfair);
        if turn_over
            && !unfair
            && let Some(item) = self.item(id)
        {
            item.turn = 0;
            item.came = came;
        }
    }
}

fn grant(item: &Item, most: usize) -> Grant {
    match item.is_datagram {
        false => Grant::Stream {
            key: item.id,
            group: item.group,
            max_bytes: item.ready.min(most),
        },
        true => Grant::Datagram {
            id: datagram(item.id),
            group: item.group,
            len: item.ready,
        },
    }
}
