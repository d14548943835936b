//! Storage with stable places: links inside the schedule are plain `u32` indices, keys outside carry a stamp as well.
//!
//! Owns the memory of groups and entries; every other file of the schedule stands on it. May not know what it stores.

use std::ops::{Index, IndexMut};

use super::key::Stamp;

/// No place: the end of a list, an empty tree, a level without groups.
pub(super) const NIL: u32 = u32::MAX;

/// Places not given back, so that a little coming and going allocates nothing.
const KEEP: usize = 64;

/// Room for growth: an eighth, so that memory stays close to what is used, but at least this many places.
const fn slack(len: usize) -> usize {
    if len < 64 { 8 } else { len / 8 }
}

/// What a place holds besides its value: the stamp of a live one; of a vacant one this bit, which no stamp has, and the
/// next vacant place below it.
const VACANT: u32 = 1 << 31;
const LAST: u32 = u32::MAX;

#[derive(Debug)]
struct Place<T> {
    value: T,
    stamp: Stamp,
}

/// A table of `T` that reuses its vacant places.
///
/// Stamps count insertions over the whole table, not over one place, so the table may shrink and an old key still finds
/// nothing (until 2³¹ insertions later it meets its own stamp in its own place again).
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    /// The first vacant place, `VACANT` set.
    vacant: u32,
    next_stamp: Stamp,
    /// Removals since the last look at what could be given back.
    removed: usize,
}

impl<T> Slab<T> {
    /// Bytes of a place.
    pub(super) const PLACE: usize = size_of::<Place<T>>();

    pub(super) const fn new() -> Self {
        Self {
            places: Vec::new(),
            vacant: LAST,
            next_stamp: Stamp::MIN,
            removed: 0,
        }
    }

    /// A place to `insert` at, if there is one; if not, `make_room` and ask again.
    #[inline]
    pub(super) fn room(&self) -> Option<u32> {
        (self.vacant != LAST).then_some(self.vacant & !VACANT)
    }

    /// Makes a place, with anything in it. Apart from `insert`, so that that is short. O(1) amortised.
    pub(super) fn make_room(&mut self, filling: T) {
        let len = self.places.len();
        if len == self.places.capacity() {
            self.places.reserve_exact(slack(len));
        }
        let index = len as u32;
        self.places.push(Place {
            value: filling,
            stamp: Stamp::MIN,
        });
        self.vacate(index);
    }

    /// Stores `value` at the place `room` has told of; gives its stamp. O(1).
    #[inline]
    pub(super) fn insert(&mut self, index: u32, value: T) -> Stamp {
        let stamp = self.next_stamp;
        self.next_stamp = Stamp::new((stamp.get() + 1) & !VACANT).unwrap_or(Stamp::MIN);
        let place = &mut self.places[index as usize];
        self.vacant = place.stamp.get();
        *place = Place { value, stamp };
        stamp
    }

    /// Vacates a place. What was there may stay until the place is reused, so `T` should own nothing. O(1).
    #[inline]
    pub(super) fn remove(&mut self, index: u32) {
        self.removed += 1;
        self.vacate(index);
    }

    #[inline]
    fn vacate(&mut self, index: u32) {
        self.places[index as usize].stamp = Stamp::new(self.vacant).unwrap_or(Stamp::MAX);
        self.vacant = index | VACANT;
    }

    /// Gives back the memory of vacant places at the end, and has the lowest of the others reused first, so that the end
    /// will be vacant. Looks at all places, but only after as many removals as half of them: O(1) amortised.
    pub(super) fn trim(&mut self) {
        if self.places.len() <= KEEP || self.removed < self.places.len() / 2 {
            return;
        }
        self.removed = 0;
        let is_live = |place: &Place<T>| place.stamp.get() & VACANT == 0;
        let len = self
            .places
            .iter()
            .rposition(is_live)
            .map_or(0, |last| last + 1);
        self.places.truncate(len);
        self.places.shrink_to(KEEP.max(len + slack(len)));
        self.vacant = LAST;
        for index in (0..len).rev() {
            if !is_live(&self.places[index]) {
                self.vacate(index as u32);
            }
        }
    }

    /// Whether the key (`index`, `stamp`) still names what it was made for.
    #[inline]
    pub(super) fn holds(&self, index: u32, stamp: Stamp) -> bool {
        match self.places.get(index as usize) {
            Some(place) => place.stamp == stamp,
            None => false,
        }
    }

    /// The stamp of a live place.
    #[inline]
    pub(super) fn stamp(&self, index: u32) -> Stamp {
        self.places[index as usize].stamp
    }

    /// All places, for a run of accesses: the compiler need not suppose that writing to one moves the others.
    #[inline]
    pub(super) fn places(&mut self) -> Places<'_, T> {
        Places(&mut self.places)
    }

    /// Bytes of memory held.
    pub(super) fn allocated(&self) -> usize {
        self.places.capacity() * Self::PLACE
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.places[index as usize].value
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.places[index as usize].value
    }
}

/// See [`Slab::places`].
pub(super) struct Places<'a, T>(&'a mut [Place<T>]);

impl<T> Index<u32> for Places<'_, T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.0[index as usize].value
    }
}

impl<T> IndexMut<u32> for Places<'_, T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.0[index as usize].value
    }
}
