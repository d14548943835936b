//! What became of the groups a cursor passed.

/// What became of the groups a cursor passed. Lagging is a number here, never an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Handed to the reader.
    pub delivered: u64,
    /// Skipped because newer media had passed them by the age allowed.
    pub late: u64,
    /// Evicted, or aborted with nothing in them, before the cursor came to them.
    pub gone: u64,
    /// Outside the subscription's range or the cursor's window.
    pub outside: u64,
}
