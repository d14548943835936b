//! Storage whose places keep their numbers, in pages.
//!
//! Owns memory for the cache's nodes. Called by the cache. May not know what it stores.
//!
//! A page that empties is given back, and growing copies no element: so one insert never costs more than one page, and
//! after a burst memory returns to what is used. (A vector would double, and stay.)

use std::collections::BTreeSet;

/// Places in a page.
const PAGE: usize = 16;

#[derive(Debug)]
struct Page<T> {
    /// A bit for each free place.
    vacant: u16,
    places: [Option<T>; PAGE],
}

/// See the file's head. Every operation is O(log pages) at worst, reading O(1).
#[derive(Debug)]
pub(super) struct Slots<T> {
    pages: Vec<Option<Box<Page<T>>>>,
    /// Pages with a free place.
    open: BTreeSet<u32>,
    /// Numbers of pages that were given back.
    gone: BTreeSet<u32>,
}

impl<T> Slots<T> {
    pub(super) const fn new() -> Self {
        Self {
            pages: Vec::new(),
            open: BTreeSet::new(),
            gone: BTreeSet::new(),
        }
    }

    /// The number the next [`Self::insert`] will return.
    pub(super) fn next(&self) -> u32 {
        let (page, place) = match self.open.first() {
            Some(&page) => (
                page,
                self.page(page)
                    .map_or(0, |page| page.vacant.trailing_zeros()),
            ),
            None => (
                self.gone
                    .first()
                    .copied()
                    .unwrap_or(self.pages.len() as u32),
                0,
            ),
        };
        page * PAGE as u32 + place
    }

    pub(super) fn insert(&mut self, value: T) -> u32 {
        let index = self.next();
        let (number, place) = split(index);
        if number == self.pages.len() {
            self.pages.push(None);
        }
        let page = self.pages[number].get_or_insert_with(|| {
            self.gone.remove(&(number as u32));
            self.open.insert(number as u32);
            Box::new(Page {
                vacant: u16::MAX,
                places: [const { None }; PAGE],
            })
        });
        page.vacant &= !(1 << place);
        page.places[place] = Some(value);
        if page.vacant == 0 {
            self.open.remove(&(number as u32));
        }
        index
    }

    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let (number, place) = split(index);
        let page = self.pages.get_mut(number)?.as_mut()?;
        let value = page.places[place].take()?;
        if page.vacant == 0 {
            self.open.insert(number as u32);
        }
        page.vacant |= 1 << place;
        // One page stays open, so that a single element that comes and goes allocates nothing.
        if page.vacant == u16::MAX && self.open.len() > 1 {
            self.pages[number] = None;
            self.open.remove(&(number as u32));
            self.gone.insert(number as u32);
            while self.pages.pop_if(|page| page.is_none()).is_some() {
                self.gone.remove(&(self.pages.len() as u32));
            }
        }
        Some(value)
    }

    pub(super) fn get(&self, index: u32) -> Option<&T> {
        let (number, place) = split(index);
        self.pages.get(number)?.as_ref()?.places[place].as_ref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        let (number, place) = split(index);
        self.pages.get_mut(number)?.as_mut()?.places[place].as_mut()
    }

    fn page(&self, number: u32) -> Option<&Page<T>> {
        self.pages.get(number as usize)?.as_deref()
    }
}

const fn split(index: u32) -> (usize, usize) {
    (index as usize / PAGE, index as usize % PAGE)
}

#[cfg(test)]
impl<T> Slots<T> {
    /// Places there is memory for.
    pub(super) fn capacity(&self) -> usize {
        self.pages.iter().flatten().count() * PAGE
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_keep_their_numbers(ops in prop::collection::vec((any::<bool>(), 0..200usize), 0..2_000)) {
            let (mut slots, mut model) = (Slots::new(), BTreeMap::new());
            for (serial, (insert, pick)) in ops.into_iter().enumerate() {
                if insert {
                    let next = slots.next();
                    let index = slots.insert(serial);
                    prop_assert_eq!(index, next);
                    prop_assert_eq!(model.insert(index, serial), None);
                } else if let Some((&index, _)) = model.iter().nth(pick % model.len().max(1)) {
                    prop_assert_eq!(slots.remove(index), model.remove(&index));
                    prop_assert_eq!(slots.remove(index), None);
                }
                prop_assert!(model.iter().all(|(&index, value)| slots.get(index) == Some(value)));
                prop_assert!(slots.capacity() <= (model.len() + 1) * PAGE);
            }
        }
    }

    #[test]
    fn memory_returns_after_a_burst() {
        let mut slots = Slots::new();
        let all: Vec<_> = (0..10_000).map(|value| slots.insert(value)).collect();
        assert!(slots.capacity() < 10_000 + PAGE);
        for index in all {
            slots.remove(index);
        }
        assert_eq!(slots.capacity(), PAGE);
        assert!(slots.pages.len() <= 10_000 / PAGE + 1);
    }
}
