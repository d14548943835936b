//! Service information: collects the sections of each table until a sub-table is whole.
//!
//! A sub-table is taken over at once or not at all, so that the far end never repeats half an old and half a new one.
//! Sparse tables (the schedule of an EIT skips section numbers) are whole when a section comes round again. Bounded:
//! what exceeds [`MAX_TABLE`] bytes a table is refused.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::ts::psi::Section;

/// The most bytes kept for one table id on one PID: an EIT schedule of a large network.
const MAX_TABLE: usize = 4 << 20;

/// The most tables kept.
const MAX_TABLES: usize = 64;

/// A table that changes often is handed out this often at most, in ticks of 90 kHz: once a second. On the hour every
/// service of an EIT changes.
const PAUSE: i64 = 90_000;

/// Where a table comes from: PID and table id.
pub(super) type Key = (u16, u8);

/// All tables of a multiplex.
#[derive(Debug, Default)]
pub(super) struct Tables {
    tables: BTreeMap<Key, Table>,
    refused: u64,
}

/// The sub-tables of one table id.
#[derive(Debug, Default)]
struct Table {
    subs: BTreeMap<[u8; 6], Sub>,
    bytes: usize,
    changed: bool,
    /// When it was handed out last.
    taken: Option<i64>,
}

/// One sub-table: what is in force and what is being collected.
#[derive(Debug, Default)]
struct Sub {
    sections: BTreeMap<u8, Bytes>,
    /// Version in collection, and its sections.
    version: u8,
    coming: BTreeMap<u8, Bytes>,
}

impl Tables {
    /// Takes a section.
    pub(super) fn section(&mut self, pid: u16, section: Section<'_>) {
        if !section.is_current() {
            return;
        }
        let key = (pid, section.table_id());
        if !self.tables.contains_key(&key) && self.tables.len() == MAX_TABLES {
            self.refused += 1;
            return;
        }
        let table = self.tables.entry(key).or_default();
        if table.bytes + section.bytes().len() > MAX_TABLE {
            self.refused += 1;
            return;
        }
        let sub = table.subs.entry(identity(section)).or_default();
        let before = sub.bytes();
        table.changed |= sub.take(section);
        table.bytes = table.bytes + sub.bytes() - before;
    }

    /// The tables that changed and are due at `now`, in ticks of 90 kHz: one payload a sub-table. With `all`, those that
    /// would have to wait too.
    pub(super) fn take(&mut self, now: i64, all: bool) -> impl Iterator<Item = (Key, Vec<Bytes>)> {
        self.tables.iter_mut().filter_map(move |(&key, table)| {
            let due = all || table.taken.is_none_or(|taken| (now - taken).abs() >= PAUSE);
            if !table.changed || !due {
                return None;
            }
            table.changed = false;
            table.taken = Some(now);
            let subs = table.subs.values().filter(|sub| !sub.sections.is_empty());
            Some((key, subs.map(Sub::payload).collect()))
        })
    }

    /// The tables that were handed out at least once.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.tables
            .iter()
            .filter(|(_, table)| table.taken.is_some())
            .map(|(&key, _)| key)
    }

    /// Sections refused because their table, or the number of tables, was over its bound.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }
}

impl Sub {
    /// Whether the section changed what is in force.
    fn take(&mut self, section: Section<'_>) -> bool {
        let (number, last) = section.number();
        if self
            .sections
            .get(&number)
            .is_some_and(|known| known == section.bytes())
        {
            return false;
        }
        let bytes = Bytes::copy_from_slice(section.bytes());
        if !section.is_long() {
            // No numbers, no versions: the latest counts.
            self.sections = BTreeMap::from([(0, bytes)]);
            return true;
        }
        if self.version != section.version() {
            self.version = section.version();
            self.coming.clear();
        }
        let again = self
            .coming
            .insert(number, bytes.clone())
            .is_some_and(|known| known == bytes);
        if !again && self.coming.len() <= usize::from(last) {
            return false;
        }
        let mut coming = std::mem::take(&mut self.coming);
        if again {
            // Sections in force of the same version were not collected a second time.
            let version = section.version();
            let kept = |known: &Bytes| Section::new(known).is_some_and(|s| s.version() == version);
            for (&number, known) in self
                .sections
                .range(..=last)
                .filter(|(_, known)| kept(known))
            {
                coming.entry(number).or_insert_with(|| known.clone());
            }
        }
        let changed = coming != self.sections;
        self.sections = coming;
        changed
    }

    fn bytes(&self) -> usize {
        self.sections
            .values()
            .chain(self.coming.values())
            .map(Bytes::len)
            .sum()
    }

    fn payload(&self) -> Bytes {
        self.sections.values().flatten().copied().collect()
    }
}

/// What tells one sub-table from another (EN 300 468 §5.1.1): the extension, and the identifiers behind the header for
/// the tables of other networks and services.
fn identity(section: Section<'_>) -> [u8; 6] {
    let mut identity = [0; 6];
    if section.is_long() {
        identity[..2].copy_from_slice(&section.extension().to_be_bytes());
        let scope = match section.table_id() {
            0x46 => 2,
            0x4e..=0x6f => 4,
            _ => 0,
        };
        if let Some(bytes) = section.body().get(..scope) {
            identity[2..2 + scope].copy_from_slice(bytes);
        }
    }
    identity
}

/// How often a table is repeated, in ms (EN 300 468, TR 101 211 §4.4); `None` for the clock tables, which are true only
/// when they come.
pub(super) fn interval(pid: u16, table_id: u8) -> Option<u32> {
    match table_id {
        0x70 | 0x73 => None,
        0x40 | 0x41 | 0x4a | 0x46 => Some(10_000),
        0x42 | 0x4e => Some(2_000),
        0x4f => Some(10_000),
        0x50..=0x6f => Some(10_000),
        // ATSC A/65 §7.1: MGT, and the virtual channel tables.
        0xc7 if pid == 0x1ffb => Some(150),
        0xc8 | 0xc9 if pid == 0x1ffb => Some(400),
        0xcd if pid == 0x1ffb => None,
        _ => Some(500),
    }
}

#[cfg(test)]
mod tests;
