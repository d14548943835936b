//! One stream, or one queued datagram, as the schedule sees it.
//!
//! Owned by the schedule's slab of entries; `order` threads its links. May not know rounds or priorities.

use super::{
    config::Direction,
    slab::{NIL, Slab},
};

/// What decides inside a group: the lower rank goes first.
///
/// From the highest bit: not nearly finished, the order (counted so that lower goes first), stream rather than datagram,
/// and when it came. In two halves, since one `u128` would align every entry to 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u64, u64);

const SEQUENCE_BITS: u32 = 62;
const DATAGRAM_BEFORE_STREAM: u128 = 1 << SEQUENCE_BITS;
const ORDER_SHIFT: u32 = SEQUENCE_BITS + 1;
const NOT_FINISHING: u128 = 1 << 127;

impl Rank {
    pub(super) fn stream(direction: Direction, order: u64, sequence: u64) -> Self {
        Self::pack(NOT_FINISHING | Self::order_bits(direction, order) | DATAGRAM_BEFORE_STREAM)
            .with_sequence(sequence)
    }

    pub(super) fn datagram(direction: Direction, order: u64, sequence: u64) -> Self {
        Self::pack(NOT_FINISHING | Self::order_bits(direction, order)).with_sequence(sequence)
    }

    fn order_bits(direction: Direction, order: u64) -> u128 {
        let order = match direction {
            Direction::NewestFirst => !order,
            Direction::OldestFirst => order,
        };
        u128::from(order) << ORDER_SHIFT
    }

    /// The same behind everything that came before `sequence`, among its equals.
    pub(super) fn with_sequence(self, sequence: u64) -> Self {
        let mask = (1 << SEQUENCE_BITS) - 1;
        Self(self.0, self.1 & !mask | sequence & mask)
    }

    pub(super) fn with_finishing(self, finishing: bool) -> Self {
        let bit = 1 << 63;
        Self(
            if finishing {
                self.0 & !bit
            } else {
                self.0 | bit
            },
            self.1,
        )
    }

    /// Whether both ask for the same place, whenever they came.
    pub(super) fn same_order(self, other: Self) -> bool {
        self.with_sequence(0) == other.with_sequence(0)
    }

    pub(super) fn sequence(self) -> u64 {
        self.1 & ((1 << SEQUENCE_BITS) - 1)
    }

    fn pack(bits: u128) -> Self {
        Self((bits >> 64) as u64, bits as u64)
    }
}

/// Facts about an entry, one bit each: an entry and its place in the slab are one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(u8);

impl Flags {
    /// Has something to send, be it an empty frame.
    pub(super) const BACKLOG: Self = Self(1);
    /// Flow control holds it.
    pub(super) const BLOCKED: Self = Self(1 << 1);
    /// Has been sent from.
    pub(super) const BEGUN: Self = Self(1 << 2);
    /// Its end is queued: nothing will follow.
    pub(super) const FIN: Self = Self(1 << 3);
    /// Is a datagram, not a stream.
    pub(super) const DATAGRAM: Self = Self(1 << 4);

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, all: Self) -> bool {
        self.0 & all.0 == all.0
    }

    pub(super) fn set(&mut self, flag: Self) {
        self.0 |= flag.0;
    }

    pub(super) fn clear(&mut self, flag: Self) {
        self.0 &= !flag.0;
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) rank: Rank,
    /// Bytes ready to go; a datagram's length.
    pub(super) ready: usize,
    pub(super) group: u32,
    /// Links and height in the group's order, for `order` alone.
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) parent: u32,
    pub(super) height: u8,
    pub(super) flags: Flags,
    /// Of a stream: bytes sent since it came to the front of its equals.
    pub(super) turn: u32,
    /// Of a datagram: its neighbours in the order of arrival, within the group.
    pub(super) older: u32,
    pub(super) newer: u32,
}

impl Entry {
    pub(super) fn stream(group: u32, rank: Rank) -> Self {
        Self {
            rank,
            ready: 0,
            group,
            left: NIL,
            right: NIL,
            parent: NIL,
            height: 1,
            flags: Flags::default(),
            turn: 0,
            older: NIL,
            newer: NIL,
        }
    }

    pub(super) fn datagram(group: u32, rank: Rank, len: usize) -> Self {
        Self {
            ready: len,
            flags: Flags::DATAGRAM.or(Flags::BACKLOG),
            ..Self::stream(group, rank)
        }
    }

    /// Has something to send and may: is in its group's order.
    pub(super) fn queued(&self) -> bool {
        self.flags.has(Flags::BACKLOG) && !self.flags.has(Flags::BLOCKED)
    }

    /// Has something to send and may not.
    pub(super) fn held(&self) -> bool {
        self.flags.has(Flags::BACKLOG.or(Flags::BLOCKED))
    }
}

/// With its stamp, an entry is one cache line.
const _: () = assert!(Slab::<Entry>::PLACE <= 64);
