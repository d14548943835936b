//! The index of non-empty priorities: which is the highest, and which group is at the front of each.
//!
//! Two levels of 256: a page a high byte, made when a priority of that page is first used, and a bit for every page and
//! every priority that has groups. Finding the highest priority, and the front of any, is O(1) however many there are.
//! Called by `ring`. May not know what a group is.

use super::slab::NIL;

#[derive(Debug)]
pub(super) struct Levels {
    used: Bits,
    pages: [Option<Box<Page>>; 256],
}

#[derive(Debug)]
struct Page {
    used: Bits,
    fronts: [u32; 256],
}

impl Levels {
    pub(super) const fn new() -> Self {
        Self {
            used: Bits::EMPTY,
            pages: [const { None }; 256],
        }
    }

    /// The front of the highest priority that has groups.
    pub(super) fn highest(&self) -> Option<u32> {
        let high = self.used.highest()?;
        let page = self.pages[usize::from(high)].as_ref()?;
        let low = page.used.highest()?;
        Some(page.fronts[usize::from(low)])
    }

    /// The front of a priority, `NIL` if it has no groups.
    pub(super) fn front(&self, priority: u16) -> u32 {
        let [high, low] = priority.to_be_bytes();
        match &self.pages[usize::from(high)] {
            Some(page) => page.fronts[usize::from(low)],
            None => NIL,
        }
    }

    /// Makes `group` the front of a priority.
    pub(super) fn set_front(&mut self, priority: u16, group: u32) {
        let [high, low] = priority.to_be_bytes();
        let page = self.pages[usize::from(high)].get_or_insert_with(|| {
            Box::new(Page {
                used: Bits::EMPTY,
                fronts: [NIL; 256],
            })
        });
        page.fronts[usize::from(low)] = group;
        page.used.insert(low);
        self.used.insert(high);
    }

    /// Says that a priority has no groups any more.
    pub(super) fn clear(&mut self, priority: u16) {
        let [high, low] = priority.to_be_bytes();
        if let Some(page) = &mut self.pages[usize::from(high)] {
            page.fronts[usize::from(low)] = NIL;
            page.used.remove(low);
            if page.used.is_empty() {
                self.used.remove(high);
            }
        }
    }
}

/// A set of bytes.
#[derive(Debug)]
struct Bits([u64; 4]);

impl Bits {
    const EMPTY: Self = Self([0; 4]);

    fn insert(&mut self, bit: u8) {
        self.0[usize::from(bit >> 6)] |= 1 << (bit & 63);
    }

    fn remove(&mut self, bit: u8) {
        self.0[usize::from(bit >> 6)] &= !(1 << (bit & 63));
    }

    fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    fn highest(&self) -> Option<u8> {
        let word = self.0.iter().rposition(|&word| word != 0)?;
        Some((word * 64) as u8 + 63 - self.0[word].leading_zeros() as u8)
    }
}
