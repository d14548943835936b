//! Storage with stable places: links inside the schedule are plain `u32` indices, keys outside carry a stamp as well.
//!
//! Owns the memory of groups and entries; every other file of the schedule stands on it. May not know what it stores.

use std::ops::{Index, IndexMut};

/// No place: the end of a list, an empty tree, a level without groups.
pub(super) const NIL: u32 = u32::MAX;

/// The stamp of a vacant place. No key carries it.
const VACANT: u32 = u32::MAX;

/// Places kept for the next burst when everything has left.
const KEEP: usize = 64;

#[derive(Debug)]
struct Place<T> {
    value: T,
    stamp: u32,
    next_free: u32,
}

/// A growing table of `T` with reused places.
///
/// Stamps count insertions over the whole table, not over one place, so the table may shrink and an old key still finds
/// nothing (until 2³² insertions later it meets its own stamp in its own place again).
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    free: u32,
    live: usize,
    next_stamp: u32,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: NIL,
            live: 0,
            next_stamp: 0,
        }
    }

    /// Stores `value`; gives its place and stamp. O(1) amortised.
    pub(super) fn insert(&mut self, value: T) -> (u32, u32) {
        let stamp = self.next_stamp;
        self.next_stamp = match stamp + 1 {
            VACANT => 0,
            next => next,
        };
        self.live += 1;
        let index = self.free;
        if let Some(place) = self.places.get_mut(index as usize) {
            self.free = place.next_free;
            place.value = value;
            place.stamp = stamp;
            (index, stamp)
        } else {
            let index = self.places.len() as u32;
            self.places.push(Place {
                value,
                stamp,
                next_free: NIL,
            });
            (index, stamp)
        }
    }

    /// Vacates a place. What was there stays until the place is reused, so `T` should own nothing.
    pub(super) fn remove(&mut self, index: u32) {
        let place = &mut self.places[index as usize];
        place.stamp = VACANT;
        place.next_free = self.free;
        self.free = index;
        self.live -= 1;
    }

    /// Gives memory back once no more than the first `permanent` places are live. The caller says when.
    pub(super) fn shrink(&mut self, permanent: usize) {
        if self.live == permanent && self.places.len() > KEEP {
            self.places.truncate(permanent);
            self.places.shrink_to(KEEP);
            self.free = NIL;
        }
    }

    /// Whether the key (`index`, `stamp`) still names what it was made for.
    pub(super) fn holds(&self, index: u32, stamp: u32) -> bool {
        self.places
            .get(index as usize)
            .is_some_and(|place| place.stamp == stamp)
    }

    /// The stamp of a live place.
    pub(super) fn stamp(&self, index: u32) -> u32 {
        self.places[index as usize].stamp
    }

    pub(super) const fn live(&self) -> usize {
        self.live
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, index: u32) -> &T {
        &self.places[index as usize].value
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.places[index as usize].value
    }
}
