//! The index of non-empty priorities: which is the highest, and which group is at the front of each.
//!
//! Two levels of 256: a page for every high byte in use, and a bit for every page and every priority that has groups.
//! Whatever their number, finding the highest priority or the front of any is O(1), and so is coming and going. That a page
//! has no groups left is seen when it would be the highest. Called by `ring`. May not know what a group is.
//!
//! Chosen by count (`bench/schedule group_priority flip`, in place of this file, instructions a move): a `BTreeMap` 148 to
//! 168 and 267 for a flip, a sorted `Vec` 124 to 144 and 168, this 72 to 93 and 79; flat over 16 to 65,536 groups all three.

use super::slab::NIL;

/// Pages, of a kilobyte each, that an idle schedule keeps.
const KEEP: usize = 16;

#[derive(Debug)]
pub(super) struct Levels {
    /// No higher priority has groups.
    bound: u16,
    /// Which pages may have groups; those that have are among them.
    used: Bits,
    pages: [Option<Box<Page>>; 256],
    count: usize,
}

#[derive(Debug)]
struct Page {
    used: Bits,
    fronts: [u32; 256],
}

impl Levels {
    pub(super) const fn new() -> Self {
        Self {
            bound: 0,
            used: Bits::EMPTY,
            pages: [const { None }; 256],
            count: 0,
        }
    }

    /// The front of the highest priority that has groups, if that is the one it was last; else `NIL`, and `highest` knows.
    #[inline]
    pub(super) fn likely_highest(&self) -> u32 {
        self.front(self.bound)
    }

    /// The front of the highest priority that has groups, `NIL` if none has.
    pub(super) fn highest(&mut self) -> u32 {
        while let Some(high) = self.used.highest() {
            if let Some(page) = &self.pages[high]
                && let Some(low) = page.used.highest()
            {
                self.bound = (high * 256 + low) as u16;
                return page.fronts[low];
            }
            self.used.remove(high);
        }
        self.bound = 0;
        NIL
    }

    /// Gives memory back, if there is much. To be called when no priority has groups.
    pub(super) fn trim(&mut self) {
        if self.count > KEEP {
            self.pages.fill_with(|| None);
            self.count = 0;
        }
    }

    /// The front of a priority, `NIL` if it has no groups.
    #[inline]
    pub(super) fn front(&self, priority: u16) -> u32 {
        let (high, low) = split(priority);
        match &self.pages[high] {
            Some(page) => page.fronts[low],
            None => NIL,
        }
    }

    /// Makes `group` the front of a priority that had none. False if it needs a page first.
    #[inline]
    pub(super) fn fill(&mut self, priority: u16, group: u32) -> bool {
        let (high, low) = split(priority);
        let Some(page) = &mut self.pages[high] else {
            return false;
        };
        page.fronts[low] = group;
        page.used.insert(low);
        self.used.insert(high);
        self.bound = self.bound.max(priority);
        true
    }

    /// Makes the page of a priority.
    pub(super) fn add_page(&mut self, priority: u16) {
        let (high, _) = split(priority);
        self.count += 1;
        self.pages[high] = Some(Box::new(Page {
            used: Bits::EMPTY,
            fronts: [NIL; 256],
        }));
    }

    /// Makes `next` the front of a priority if `group` is.
    #[inline]
    pub(super) fn replace(&mut self, priority: u16, group: u32, next: u32) {
        let (high, low) = split(priority);
        if let Some(page) = &mut self.pages[high] {
            let front = &mut page.fronts[low];
            if *front == group {
                *front = next;
            }
        }
    }

    /// Says that a priority has no groups any more.
    #[inline]
    pub(super) fn clear(&mut self, priority: u16) {
        let (high, low) = split(priority);
        if let Some(page) = &mut self.pages[high] {
            page.fronts[low] = NIL;
            page.used.remove(low);
        }
    }

    /// Bytes of memory held beyond itself.
    pub(super) fn allocated(&self) -> usize {
        self.count * size_of::<Page>()
    }
}

/// The page of a priority and its place there, both below 256.
#[inline]
fn split(priority: u16) -> (usize, usize) {
    (usize::from(priority >> 8), usize::from(priority & 0xff))
}

/// A set of numbers below 256.
#[derive(Debug)]
struct Bits([u64; 4]);

impl Bits {
    const EMPTY: Self = Self([0; 4]);

    fn insert(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn remove(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    fn highest(&self) -> Option<usize> {
        let word = self.0.iter().rposition(|&word| word != 0)?;
        Some(word * 64 + 63 - self.0[word].leading_zeros() as usize)
    }
}
