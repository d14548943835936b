//! A track's subscriptions.
//!
//! Owns each subscription's preferences, where it starts, and their sum. Called by cursors with the track's lock held,
//! and by handles that join, change and leave. May not know where a cursor is.

use std::future::poll_fn;
use std::task::Poll;

use slab::Slab;

use super::cache::{Cache, Node, Place};
use super::demand::Sum;
use super::state::{TrackShared, TrackState};
use super::track::TrackInfo;
use super::wait::{Waiters, wake};
use super::{GroupConsumer, Subscription};

/// See the file's head.
#[derive(Debug, Default)]
pub(super) struct Audience {
    subscriptions: Slab<Subscribed>,
    sum: Sum,
    /// How many wait for the track's info without subscribing.
    pub(super) queries: usize,
}

/// One subscription.
#[derive(Debug)]
pub(super) struct Subscribed {
    wanted: Subscription,
    /// Groups below are not delivered.
    pub(super) floor: u64,
    /// Groups from here on are not delivered.
    pub(super) end: u64,
    /// `wanted.max_age` in the track's timescale, clamped by the track's own.
    pub(super) age: u64,
    /// Groups below were asked for by number, so they are not skipped for their age. `None`: nothing was asked for so,
    /// or no group existed yet.
    asked: Option<u64>,
    /// Tasks of this subscription's cursors, woken when the preferences change.
    pub(super) waiters: Waiters,
}

impl Subscribed {
    /// A subscription asks by number for what exists when it is made; if that is nothing, for what exists when it is
    /// first polled.
    pub(super) fn note_asked(&mut self, latest: Option<u64>) {
        if self.asked.is_none() && self.wanted.start.is_some() {
            self.asked = latest.map(|latest| latest + 1);
        }
    }

    /// Whether the group is to be skipped for its age. O(1).
    pub(super) fn skips(&self, cache: &Cache, node: &Node) -> bool {
        cache.is_late(node, self.age) && self.asked.is_none_or(|asked| node.sequence >= asked)
    }

    /// A reader of the group, within the frames wanted of it.
    pub(super) fn reader(&self, node: &Node) -> GroupConsumer {
        let wanted = &self.wanted;
        let is_first = wanted.start == Some(node.sequence);
        let is_last = self.end == node.sequence + 1;
        let start = if is_first { wanted.frame_start } else { 0 };
        let limit = wanted.frame_end.filter(|_| is_last).unwrap_or(u64::MAX);
        GroupConsumer::new(node.group.clone(), start, limit)
    }
}

impl Audience {
    pub(super) fn is_empty(&self) -> bool {
        self.subscriptions.is_empty()
    }

    /// What all subscriptions together ask for; `None` when there is none.
    pub(super) fn demand(&self) -> Option<Subscription> {
        self.sum.total()
    }

    pub(super) fn get(&self, id: usize) -> &Subscribed {
        &self.subscriptions[id]
    }

    pub(super) fn get_mut(&mut self, id: usize) -> &mut Subscribed {
        &mut self.subscriptions[id]
    }

    pub(super) fn wanted(&self, id: usize) -> Subscription {
        self.subscriptions[id].wanted.clone()
    }

    /// The track's info came: ages can be counted in its timescale.
    pub(super) fn scale(&mut self, info: &TrackInfo) {
        for (_, subscribed) in &mut self.subscriptions {
            subscribed.age = age(&subscribed.wanted, Some(info));
        }
    }
}

impl TrackState {
    /// Where a new subscription starts: its floor, and the arrival place before all it may deliver. O(groups that
    /// aren't late) at worst; O(1) for the newest group, and where nothing cached is late.
    fn start(&self, wanted: &Subscription, age: u64) -> (u64, Place) {
        if let Some(start) = wanted.start {
            return (start, Place::START);
        }
        let cache = &self.cache;
        let (Some(newest), Some(oldest)) = (cache.newest(), cache.oldest()) else {
            // Nothing has passed yet, so nothing is to be left out.
            return (0, Place::START);
        };
        if age == 0 {
            return (newest.sequence, Place::before(newest.stamp));
        }
        if !cache.is_late(oldest, age) {
            let floor = match self.started_at {
                Some(start) if !self.lost => start.min(oldest.sequence),
                _ => oldest.sequence,
            };
            return (floor, Place::START);
        }
        let (mut first, mut stamp) = (newest, newest.stamp);
        while let Some(node) = cache.predecessor(first) {
            if cache.is_late(node, age) {
                break;
            }
            first = node;
            stamp = stamp.min(node.stamp);
        }
        (first.sequence, Place::before(stamp))
    }
}

impl TrackShared {
    /// Adds a subscription; returns its id and where its arrival cursor starts.
    pub(super) fn subscribe(&self, wanted: Subscription) -> (usize, Place) {
        let (id, place, first, changed) = {
            let mut state = self.lock();
            let age = age(&wanted, self.info.get());
            let (floor, place) = state.start(&wanted, age);
            let latest = state.latest;
            let audience = &mut state.audience;
            let first = audience.is_empty();
            let before = audience.demand();
            audience.sum.add(&wanted);
            let changed = before != audience.demand();
            let mut entry = Subscribed {
                end: wanted.end.unwrap_or(u64::MAX),
                wanted,
                floor,
                age,
                asked: None,
                waiters: Waiters::default(),
            };
            entry.note_asked(latest);
            (audience.subscriptions.insert(entry), place, first, changed)
        };
        if first {
            self.usage.gained();
        }
        if changed {
            self.demand.wake();
        }
        (id, place)
    }

    pub(super) fn unsubscribe(&self, id: usize) {
        let (changed, last) = {
            let mut state = self.lock();
            let audience = &mut state.audience;
            let before = audience.demand();
            let gone = audience.subscriptions.remove(id);
            audience.sum.remove(&gone.wanted);
            let last = audience.is_empty();
            if last {
                audience.subscriptions = Slab::new();
            }
            (before != audience.demand(), last)
        };
        if last {
            self.usage.lost();
        }
        if changed {
            self.demand.wake();
        }
    }

    /// Replaces a subscription's preferences.
    pub(super) fn update(&self, id: usize, wanted: Subscription) {
        let (changed, waiters) = {
            let mut state = self.lock();
            let latest = state.latest;
            let audience = &mut state.audience;
            let before = audience.demand();
            let entry = &mut audience.subscriptions[id];
            entry.age = age(&wanted, self.info.get());
            entry.end = wanted.end.unwrap_or(u64::MAX);
            audience.sum.remove(&entry.wanted);
            audience.sum.add(&wanted);
            if let Some(start) = wanted.start.filter(|_| wanted.start != entry.wanted.start) {
                entry.floor = start;
                entry.asked = None;
            }
            entry.wanted = wanted;
            entry.note_asked(latest);
            let waiters = entry.waiters.take();
            (before != audience.demand(), waiters)
        };
        wake(waiters);
        if changed {
            self.demand.wake();
        }
    }

    /// Waits until `ready`, which depends on who asks for the track.
    pub(super) async fn wait_demand(&self, ready: impl Fn(&TrackState) -> bool) {
        let mut waiter = self.demand.waiter();
        poll_fn(|cx| {
            let state = self.lock();
            if ready(&state) {
                return Poll::Ready(());
            }
            waiter.register(cx);
            Poll::Pending
        })
        .await;
    }
}

/// A subscription's age in units of the track.
fn age(wanted: &Subscription, info: Option<&TrackInfo>) -> u64 {
    match info {
        Some(info) => info.timescale.units(wanted.max_age.min(info.max_age)),
        // Counted again when the info comes; until then there is no group.
        None => u64::MAX,
    }
}
