//! Which stream's bytes go next: the send schedule of one connection.
//!
//! Owns the order in which groups, streams and datagrams get the wire. Called by `connection`, once per packet it is
//! about to build. May not know QUIC, sockets, clocks or what the bytes are: streams are keys and bytes are numbers.
//!
//! First difference decides:
//!
//! | tier | rule |
//! |---|---|
//! | 1 control | [`Schedule::CONTROL`] is above every other group |
//! | 2 priority | of the group, `u16`, higher first, strict: preempts at the next grant |
//! | 3 fair share | groups of equal priority: deficit round robin by bytes, quantum = one packet payload × weight |
//! | 4 order | inside a group: nearly finished (if the group says so), then `u64` order in the group's direction, then datagram before stream, then turns (or first come, if the group is unfair) |

mod config;
mod key;

pub use config::{Config, Direction, GroupConfig};
pub use key::{DatagramId, GroupId, StreamKey};

/// The turn [`Schedule::pop`] gives; [`Schedule::sent`] takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Up to `max_bytes` of a stream. Zero means an empty frame: one that only opens or finishes the stream.
    Stream {
        /// Whose bytes.
        key: StreamKey,
        /// The group that pays.
        group: GroupId,
        /// How many bytes, at most.
        max_bytes: usize,
    },
    /// A whole datagram. It may be longer than the budget that was asked for: the caller sends it, waits for a packet
    /// with more room, or drops it with [`Schedule::remove_datagram`].
    Datagram {
        /// Which one.
        id: DatagramId,
        /// The group that pays.
        group: GroupId,
        /// Its length in bytes.
        len: usize,
    },
}

/// What the datagram budget has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Datagrams taken back or refused.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The send schedule of one connection.
///
/// Keys of what has left are ignored (no operation panics on one): a caller may be late, never wrong.
#[derive(Debug)]
pub struct Schedule {}

impl Schedule {
    /// The group above all others. Always open, never closed, in no round robin.
    pub const CONTROL: GroupId = GroupId::CONTROL;

    /// An empty schedule.
    #[must_use]
    pub fn new(config: Config) -> Self {
        todo!("{config:?}")
    }

    /// Sets the quantum, in bytes: what one packet carries. Call it when the path's MTU changes. O(1).
    pub fn set_quantum(&mut self, bytes: usize) {
        todo!("{bytes}")
    }

    /// Opens a group. O(1).
    pub fn open_group(&mut self, config: GroupConfig) -> GroupId {
        todo!("{config:?}")
    }

    /// Says that no stream or datagram will join the group any more; it is freed when the last one has left. O(1).
    pub fn close_group(&mut self, group: GroupId) {
        todo!("{group:?}")
    }

    /// Moves a group to the tail of another priority, with its deficit. Takes effect at the next grant; its streams are
    /// not touched. The same priority again changes nothing, and neither does moving [`Schedule::CONTROL`].
    /// O(1), and O(log groups with datagrams) if it has datagrams queued.
    pub fn set_group_priority(&mut self, group: GroupId, priority: u16) {
        todo!("{group:?} {priority}")
    }

    /// The priority of a group; [`Schedule::CONTROL`]'s means nothing.
    #[must_use]
    pub fn priority(&self, group: GroupId) -> Option<u16> {
        todo!("{group:?}")
    }

    /// Opens an idle stream. `None` if the group is closed. O(1).
    pub fn open_stream(&mut self, group: GroupId, order: u64) -> Option<StreamKey> {
        todo!("{group:?} {order}")
    }

    /// The group a stream is in.
    #[must_use]
    pub fn group_of(&self, stream: StreamKey) -> Option<GroupId> {
        todo!("{stream:?}")
    }

    /// Takes a stream out, whatever it has queued: it was reset, or all of it was handed over. O(log streams ready).
    pub fn close_stream(&mut self, stream: StreamKey) {
        todo!("{stream:?}")
    }

    /// Changes a stream's order; it goes behind those that already have it. O(log streams ready).
    pub fn set_stream_order(&mut self, stream: StreamKey, order: u64) {
        todo!("{stream:?} {order}")
    }

    /// Moves a stream with what it has queued to another group. False, and nothing happens, if that group is closed.
    /// O(log streams ready).
    pub fn move_stream(&mut self, stream: StreamKey, group: GroupId, order: u64) -> bool {
        todo!("{stream:?} {group:?} {order}")
    }

    /// Adds `bytes` to what the stream has ready; `fin` says that nothing will follow. Neither is needed: an empty push
    /// asks for an empty frame. O(log streams ready).
    pub fn push(&mut self, stream: StreamKey, bytes: usize, fin: bool) {
        todo!("{stream:?} {bytes} {fin}")
    }

    /// Queues a datagram of `len` bytes. Over the budget, the oldest datagram of the group of lowest priority (of those,
    /// the one with most datagram bytes queued; of those, the one whose oldest is oldest) goes: each is given to `evict`.
    /// `None` if the new one is that victim, is longer than the whole budget, or the group is closed.
    /// O(log streams ready + log groups with datagrams) each.
    pub fn push_datagram(
        &mut self,
        group: GroupId,
        order: u64,
        len: usize,
        evict: impl FnMut(DatagramId),
    ) -> Option<DatagramId> {
        let _ = evict;
        todo!("{group:?} {order} {len}")
    }

    /// Takes a datagram out unsent. O(log streams ready + log groups with datagrams).
    pub fn remove_datagram(&mut self, datagram: DatagramId) {
        todo!("{datagram:?}")
    }

    /// What goes next into a packet with `budget` bytes left; `None` if there is nothing, or no budget.
    ///
    /// Nothing leaves the schedule before [`Schedule::sent`]: a grant that does not fit is simply let go, and keeps its
    /// turn. O(1) amortised.
    pub fn pop(&mut self, budget: usize) -> Option<Grant> {
        todo!("{budget}")
    }

    /// Says that `bytes` of a grant were taken (an empty frame, a datagram: all of it). Charges its group. A stream with
    /// bytes left stays queued, behind its equals once it has had a packet's worth; one without, leaves the queue (its
    /// FIN, if there is one, went with them). O(log streams ready).
    pub fn sent(&mut self, grant: Grant, bytes: usize) {
        todo!("{grant:?} {bytes}")
    }

    /// Charges bytes that were sent again to the group. O(1).
    pub fn charge_retransmit(&mut self, group: GroupId, bytes: usize) {
        todo!("{group:?} {bytes}")
    }

    /// Keeps a stream from being granted (flow control). Its group spends no turn on it and keeps its credit.
    /// O(log streams ready).
    pub fn block(&mut self, stream: StreamKey) {
        todo!("{stream:?}")
    }

    /// Lets a blocked stream be granted again, at its old place among its equals. O(log streams ready).
    pub fn unblock(&mut self, stream: StreamKey) {
        todo!("{stream:?}")
    }

    /// Bytes of datagrams queued now.
    #[must_use]
    pub fn datagram_bytes(&self) -> usize {
        todo!()
    }

    /// Datagrams the budget has taken back or refused since the start.
    #[must_use]
    pub fn evicted(&self) -> Evicted {
        todo!()
    }
}
