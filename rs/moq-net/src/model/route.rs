//! How a broadcast is reached, and which of several ways is best.
//!
//! Owns the hop list's rules and the order of routes. Called by the origin. May not know sessions or paths.

use std::cmp::Reverse;

use crate::{Error, Result};

/// Most hops a route may have.
pub const MAX_HOPS: usize = 32;

/// A hop that didn't say who it is.
const UNKNOWN: u64 = 0;

/// How a broadcast is reached. The default is a local one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Route {
    /// The nodes it passed, first the one that publishes it. 0 = unknown. Empty: local.
    pub hops: Vec<u64>,
    /// Cost while somebody subscribes already; the largest varint means the route is draining.
    pub warm: u64,
    /// Cost when it would have to be started.
    pub cold: u64,
}

impl Route {
    /// Checks the hop list as the node `own` receives it.
    ///
    /// # Errors
    /// [`Error::Unroutable`] if it holds `own`, repeats a known node or is longer than [`MAX_HOPS`].
    pub(super) fn check(&self, own: Option<u64>) -> Result<()> {
        if self.hops.len() > MAX_HOPS || own.is_some_and(|own| self.passes(own)) {
            return Err(Error::Unroutable);
        }
        let mut known: Vec<_> = self.hops.iter().filter(|&&hop| hop != UNKNOWN).collect();
        known.sort_unstable();
        match known.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(Error::Unroutable),
            false => Ok(()),
        }
    }

    /// Whether the route leads through the node `hop`.
    #[must_use]
    pub fn passes(&self, hop: u64) -> bool {
        hop != UNKNOWN && self.hops.contains(&hop)
    }

    /// Larger is better: hops that say who they are, then the lower cost, then the shorter way (so local before all).
    /// Of equals the caller takes the newest.
    pub(super) fn rank(&self) -> impl Ord + use<> {
        let known = !self.hops.contains(&UNKNOWN);
        (
            known,
            Reverse((self.warm, self.cold)),
            Reverse(self.hops.len()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn via(hops: &[u64]) -> Route {
        Route {
            hops: hops.to_vec(),
            ..Route::default()
        }
    }

    #[test]
    fn loops_repeats_and_long_ways_are_unroutable() {
        assert_eq!(via(&[1, 2]).check(Some(3)), Ok(()));
        assert_eq!(via(&[1, 2]).check(Some(2)), Err(Error::Unroutable));
        assert_eq!(via(&[1, 2, 1]).check(None), Err(Error::Unroutable));
        assert_eq!(via(&[0, 0]).check(None), Ok(()));
        assert_eq!(via(&[0; MAX_HOPS + 1]).check(None), Err(Error::Unroutable));
    }

    #[test]
    fn local_beats_remote_and_short_beats_long() {
        assert!(via(&[]).rank() > via(&[1]).rank());
        assert!(via(&[1]).rank() > via(&[1, 2]).rank());
    }

    #[test]
    fn cost_counts_before_length() {
        let dear = Route {
            warm: 2,
            ..via(&[1])
        };
        assert!(via(&[1, 2]).rank() > dear.rank());
    }

    #[test]
    fn known_hops_beat_unknown_ones() {
        let dear = Route {
            warm: 9,
            cold: 9,
            ..via(&[1, 2, 3])
        };
        assert!(dear.rank() > via(&[0]).rank());
    }
}
