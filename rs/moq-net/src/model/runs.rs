//! An ordered map for keys that mostly come in order and leave in order.
//!
//! Owns the indexes of the cache and the pool. Called by both. May not know what it maps to.
//!
//! Keys are held in sorted runs, the last of them apart: adding a key above all others is one write at its end, whatever
//! the map holds, where a search tree would go down its height each time. Everything else is O(log runs), plus moving
//! at most half a run.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

/// Most keys in a run.
const RUN: usize = 64;

/// See the file's head.
#[derive(Debug)]
pub(super) struct Runs<V> {
    /// All runs but the last, by a key that is at most their first and above all before. None is empty.
    full: BTreeMap<u64, VecDeque<(u64, V)>>,
    /// Empty only if the map is.
    last: VecDeque<(u64, V)>,
}

impl<V> Runs<V> {
    pub(super) const fn new() -> Self {
        Self {
            full: BTreeMap::new(),
            last: VecDeque::new(),
        }
    }

    /// Adds a key that isn't there.
    pub(super) fn insert(&mut self, key: u64, value: V) {
        if self.last.back().is_none_or(|(last, _)| *last < key) {
            if self.last.len() == RUN {
                let full = std::mem::take(&mut self.last);
                self.full.insert(full[0].0, full);
            }
            self.last.push_back((key, value));
            return;
        }
        let mut bound = self.bound(key);
        if let Some(first) = bound.filter(|bound| *bound > key)
            && let Some(run) = self.full.remove(&first)
        {
            // Below everything: the first run begins here now.
            self.full.insert(key, run);
            bound = Some(key);
        }
        let Some(run) = self.run_mut(bound) else {
            return;
        };
        let at = run.partition_point(|(other, _)| *other < key);
        run.insert(at, (key, value));
        if run.len() > RUN {
            let upper = run.split_off(RUN / 2);
            let full = match bound {
                Some(_) => upper,
                None => std::mem::replace(&mut self.last, upper),
            };
            self.full.insert(full[0].0, full);
        }
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<V> {
        let bound = self.bound(key);
        let run = self.run_mut(bound)?;
        let at = run.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        let (_, value) = run.remove(at)?;
        if run.len() < run.capacity() / 4 {
            run.shrink_to(run.len() * 2);
        }
        if run.is_empty() {
            match bound {
                Some(bound) => drop(self.full.remove(&bound)),
                None => self.last = self.full.pop_last().map(|(_, run)| run).unwrap_or_default(),
            }
        }
        Some(value)
    }

    pub(super) fn get(&self, key: u64) -> Option<&V> {
        let run = self.run(self.bound(key))?;
        let at = run.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        run.get(at).map(|(_, value)| value)
    }

    /// The smallest key.
    pub(super) fn first(&self) -> Option<(u64, &V)> {
        let run = self
            .full
            .first_key_value()
            .map_or(&self.last, |(_, run)| run);
        run.front().map(|(key, value)| (*key, value))
    }

    /// The smallest key at or above `key`.
    pub(super) fn at_or_above(&self, key: u64) -> Option<(u64, &V)> {
        let bound = self.bound(key);
        let run = self.run(bound)?;
        let at = run.partition_point(|(other, _)| *other < key);
        let found = run.get(at).or_else(|| {
            // All of this run is below: the next, if there is one, is all above.
            let after = self.full.range((Excluded(bound?), Unbounded)).next();
            after.map_or(&self.last, |(_, run)| run).front()
        });
        found.map(|(key, value)| (*key, value))
    }

    /// The largest key below `key`.
    pub(super) fn below(&self, key: u64) -> Option<(u64, &V)> {
        let bound = self.bound(key);
        let run = self.run(bound)?;
        let at = run.partition_point(|(other, _)| *other < key);
        let found = match (at.checked_sub(1), bound) {
            (Some(at), _) => run.get(at),
            (None, Some(bound)) => self
                .full
                .range(..bound)
                .next_back()
                .and_then(|(_, run)| run.back()),
            (None, None) => self.full.last_key_value().and_then(|(_, run)| run.back()),
        };
        found.map(|(key, value)| (*key, value))
    }

    /// The bound of the run where `key` is or belongs; `None`: the last.
    fn bound(&self, key: u64) -> Option<u64> {
        if self.full.is_empty() || self.last.front().is_some_and(|(first, _)| *first <= key) {
            return None;
        }
        let at = self
            .full
            .range(..=key)
            .next_back()
            .or_else(|| self.full.first_key_value());
        at.map(|(bound, _)| *bound)
    }

    fn run(&self, bound: Option<u64>) -> Option<&VecDeque<(u64, V)>> {
        match bound {
            Some(bound) => self.full.get(&bound),
            None => Some(&self.last),
        }
    }

    fn run_mut(&mut self, bound: Option<u64>) -> Option<&mut VecDeque<(u64, V)>> {
        match bound {
            Some(bound) => self.full.get_mut(&bound),
            None => Some(&mut self.last),
        }
    }
}

#[cfg(test)]
impl<V> Runs<V> {
    pub(super) fn len(&self) -> usize {
        self.full.values().map(VecDeque::len).sum::<usize>() + self.last.len()
    }

    /// Places there is memory for.
    fn capacity(&self) -> usize {
        self.full.values().map(VecDeque::capacity).sum::<usize>() + self.last.capacity()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Op {
        Append(u64),
        Insert(u64),
        RemoveFirst,
        Remove(u64),
        Look(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            4 => (1..4u64).prop_map(Op::Append),
            3 => (0..3_000u64).prop_map(Op::Insert),
            2 => Just(Op::RemoveFirst),
            2 => (0..3_000u64).prop_map(Op::Remove),
            2 => (0..3_000u64).prop_map(Op::Look),
        ]
    }

    proptest! {
        #[test]
        fn runs_are_an_ordered_map(ops in prop::collection::vec(op(), 0..3_000)) {
            let (mut runs, mut map) = (Runs::new(), BTreeMap::new());
            for (serial, op) in ops.into_iter().enumerate() {
                match op {
                    Op::Append(step) => {
                        let key = map.last_key_value().map_or(1_000, |(key, _)| key + step);
                        runs.insert(key, serial);
                        map.insert(key, serial);
                    }
                    Op::Insert(key) if !map.contains_key(&key) => {
                        runs.insert(key, serial);
                        map.insert(key, serial);
                    }
                    Op::RemoveFirst => {
                        if let Some((key, value)) = map.pop_first() {
                            prop_assert_eq!(runs.first(), Some((key, &value)));
                            prop_assert_eq!(runs.remove(key), Some(value));
                        }
                    }
                    Op::Remove(key) => prop_assert_eq!(runs.remove(key), map.remove(&key)),
                    Op::Insert(key) | Op::Look(key) => {
                        let above = map.range(key..).next().map(|(key, value)| (*key, value));
                        let below = map.range(..key).next_back().map(|(key, value)| (*key, value));
                        prop_assert_eq!(runs.get(key), map.get(&key));
                        prop_assert_eq!(runs.at_or_above(key), above);
                        prop_assert_eq!(runs.below(key), below);
                    }
                }
                prop_assert_eq!(runs.first(), map.first_key_value().map(|(key, value)| (*key, value)));
            }
            prop_assert_eq!(runs.len(), map.len());
        }
    }

    #[test]
    fn memory_follows_what_is_held() {
        let mut runs = Runs::new();
        (0..10_000).for_each(|key| runs.insert(key, ()));
        assert!(runs.capacity() <= 10_000 + RUN);
        // One of a hundred stays.
        for key in (0..10_000).filter(|key| key % 100 > 0) {
            assert!(runs.remove(key).is_some());
        }
        assert!(
            runs.capacity() <= 4 * runs.len() + RUN,
            "{}",
            runs.capacity()
        );
        for key in (0..10_000).step_by(100) {
            assert!(runs.remove(key).is_some());
        }
        assert!(runs.capacity() <= RUN);
        assert_eq!(runs.first(), None);
    }
}
