//! What a caller chooses: for the schedule, and for each group.

/// What a schedule is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes one packet carries; what a group of weight 1 may send in a turn. At least 1, at most 65,535.
    pub quantum: usize,
    /// Bytes of datagrams that may wait, over all groups.
    pub datagram_budget: usize,
}

impl Default for Config {
    /// A 1,200-byte quantum (the smallest packet QUIC promises) and 1 MiB of datagrams.
    fn default() -> Self {
        Self {
            quantum: 1_200,
            datagram_budget: 1 << 20,
        }
    }
}

/// Which end of a group's `u64` order is sent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The highest order first: live media, where the newest is worth most.
    #[default]
    NewestFirst,
    /// The lowest order first: everything, in sequence.
    OldestFirst,
}

/// What a send group is opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// Higher is served first, strictly. Default 0.
    pub priority: u16,
    /// Share among backlogged groups of the same priority. 0 counts as 1. Default 1.
    pub weight: u8,
    /// Which end of the order goes first.
    pub direction: Direction,
    /// Streams of equal order run to completion, first opened first, instead of taking turns. Default false.
    pub unfair: bool,
    /// A stream that has begun, whose end is queued and which has no more than this many bytes left, is finished before
    /// any other stream of the group is served. Without it newest-first at twice the link's rate completes no stream at
    /// all: each one is preempted half way. A good value is a little more than half of what one stream
    /// carries (60 % completes every other one). Default `None`.
    pub finish: Option<usize>,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            priority: 0,
            weight: 1,
            direction: Direction::NewestFirst,
            unfair: false,
            finish: None,
        }
    }
}
