//! The keys the schedule hands out: a place in a slab and the stamp of what sits there, so that a late key finds nothing.
//!
//! Made by `slab`; callers may use `index` to address tables of their own.

use std::num::NonZero;

/// Tells what is in a place from what was there before.
pub(super) type Stamp = NonZero<u32>;

macro_rules! key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            pub(super) index: u32,
            pub(super) stamp: Stamp,
        }

        impl $name {
            /// A small number no other live key of this kind has; reused after it has left.
            #[must_use]
            pub fn index(self) -> usize {
                self.index as usize
            }
        }
    };
}

key!(
    /// A send group.
    GroupId
);
key!(
    /// A stream in the schedule. Shares its index space with [`DatagramId`].
    StreamKey
);
key!(
    /// A queued datagram. Shares its index space with [`StreamKey`].
    DatagramId
);

impl GroupId {
    /// The first group of every schedule.
    pub(super) const CONTROL: Self = Self {
        index: 0,
        stamp: Stamp::MIN,
    };
}
