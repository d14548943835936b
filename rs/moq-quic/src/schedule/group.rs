//! One send group as the schedule sees it.
//!
//! Owned by `ring`'s slab. May not know its neighbours beyond their indices.

use super::{
    config::{Direction, GroupConfig},
    order::Order,
    slab::{NIL, Slab},
};

/// The place of the control group: the first of every schedule.
pub(super) const CONTROL: u32 = 0;

#[derive(Debug)]
pub(super) struct Group {
    /// Neighbours in the round robin of its priority; `next` is `NIL` when it is in none.
    pub(super) next: u32,
    pub(super) prev: u32,
    /// Bytes it may still send in this turn; negative: bytes it owes.
    pub(super) deficit: i64,
    pub(super) priority: u16,
    pub(super) weight: u8,
    pub(super) direction: Direction,
    pub(super) unfair: bool,
    pub(super) closed: bool,
    /// A stream with fewer bytes left than this is finished first; 0 if the group does not ask for that.
    pub(super) finish_below: u32,
    /// Its entries that have something to send and may.
    pub(super) order: Order,
    /// Its streams and queued datagrams, idle ones too: it is freed when closed and this is 0.
    pub(super) members: u32,
    /// Its streams that flow control holds and that have something to send.
    pub(super) held: u32,
    pub(super) datagrams: Datagrams,
}

/// The datagrams queued in one group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagrams {
    pub(super) bytes: u32,
    pub(super) oldest: u32,
    pub(super) newest: u32,
    /// Where the group stands in the heap of victims; `NIL` if it has no datagram.
    pub(super) place: u32,
}

impl Group {
    pub(super) fn new(config: GroupConfig) -> Self {
        Self {
            next: NIL,
            prev: NIL,
            deficit: 0,
            priority: config.priority,
            weight: config.weight.max(1),
            direction: config.direction,
            unfair: config.unfair,
            closed: false,
            finish_below: config.finish.map_or(0, |most| {
                u32::try_from(most).map_or(u32::MAX, |most| most.saturating_add(1))
            }),
            order: Order::EMPTY,
            members: 0,
            held: 0,
            datagrams: Datagrams {
                bytes: 0,
                oldest: NIL,
                newest: NIL,
                place: NIL,
            },
        }
    }

    pub(super) fn in_round(&self) -> bool {
        self.next != NIL
    }
}

const _: () = assert!(Slab::<Group>::PLACE <= 96);
