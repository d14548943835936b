//! Owns how far a publisher may run ahead of whoever reads. Pure: counters in, a verdict out. Called by
//! `publish` when nothing else paces it; knows neither media nor sessions.

use std::collections::BTreeMap;

/// What was written to one track so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) groups: u64,
    pub(crate) bytes: u64,
}

/// How far every subscription has come since it was first seen.
#[derive(Debug)]
pub(crate) struct Window {
    bytes: u64,
    since: BTreeMap<(usize, String), Since>,
}

/// Where a subscription and its track stood then.
#[derive(Clone, Copy, Debug)]
struct Since {
    written: u64,
    done: u64,
    /// What was done when it was last seen.
    last: u64,
}

impl Window {
    /// Lets the slowest subscription of each track lag by about `bytes`.
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            bytes,
            since: BTreeMap::new(),
        }
    }

    /// A subscription (its session and track) has `done` groups behind it, acknowledged or given up,
    /// of a track to which `written` was written: whether more may be. O(log subscriptions).
    ///
    /// Groups count by the mean size of the track's. Two may always be open: one being written, and
    /// one on its way.
    pub(crate) fn allows(
        &mut self,
        session: usize,
        track: &str,
        done: u64,
        written: Written,
    ) -> bool {
        let now = Since {
            written: written.groups,
            done,
            last: done,
        };
        let since = self.since.entry((session, track.to_owned())).or_insert(now);
        if done < since.last {
            // Another subscription has taken its place.
            *since = now;
        }
        since.last = done;
        let lag = (written.groups - since.written).saturating_sub(done - since.done);
        let mean = written.bytes / written.groups.max(1);
        lag <= 2 || lag.saturating_mul(mean) <= self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten bytes a group.
    fn written(groups: u64) -> Written {
        Written {
            groups,
            bytes: groups * 10,
        }
    }

    #[test]
    fn the_lag_is_bounded_in_bytes() {
        let mut window = Window::new(100);
        assert!(window.allows(0, "video", 0, written(0)));
        assert!(window.allows(0, "video", 0, written(10)));
        assert!(!window.allows(0, "video", 0, written(11)));
        assert!(window.allows(0, "video", 1, written(11)));
        assert!(!window.allows(0, "video", 1, written(1000)));
    }

    #[test]
    fn two_groups_may_always_be_open() {
        let mut window = Window::new(100);
        let large = |groups| Written {
            groups,
            bytes: groups * 1_000_000,
        };
        assert!(window.allows(0, "video", 0, large(0)));
        assert!(window.allows(0, "video", 0, large(2)));
        assert!(!window.allows(0, "video", 0, large(3)));
        assert!(window.allows(0, "video", 1, large(3)));
    }

    #[test]
    fn who_joins_late_is_not_waited_for_longer() {
        let mut window = Window::new(100);
        assert!(
            window.allows(0, "video", 0, written(500)),
            "what came before is not owed"
        );
        assert!(window.allows(0, "video", 0, written(510)));
        assert!(!window.allows(0, "video", 0, written(511)));
        assert!(
            window.allows(0, "video", 400, written(511)),
            "nor minded if it was sent"
        );
    }

    #[test]
    fn each_subscription_lags_by_itself() {
        let mut window = Window::new(100);
        for (session, track) in [(0, "video"), (0, "audio"), (1, "video")] {
            assert!(window.allows(session, track, 0, written(0)));
        }
        assert!(window.allows(0, "video", 20, written(20)));
        assert!(window.allows(0, "audio", 20, written(20)));
        assert!(!window.allows(1, "video", 0, written(20)));
    }

    #[test]
    fn a_subscription_that_starts_over_is_measured_anew() {
        let mut window = Window::new(100);
        window.allows(0, "video", 0, written(0));
        assert!(window.allows(0, "video", 90, written(100)));
        assert!(
            window.allows(0, "video", 3, written(100)),
            "another one now"
        );
        assert!(!window.allows(0, "video", 3, written(111)));
    }
}
