//! Whether any track of a broadcast is subscribed to.
//!
//! Owns a count of tracks in use. Called by tracks when their first subscriber comes and their last leaves, and by
//! broadcasts that wait for either.

use std::future::poll_fn;
use std::sync::Mutex;
use std::task::Poll;

use super::lock;
use super::wait::WaitList;

/// See the file's head.
#[derive(Debug)]
pub(super) struct Usage {
    tracks: Mutex<usize>,
    waiters: WaitList,
}

impl Usage {
    pub(super) const fn new() -> Self {
        Self {
            tracks: Mutex::new(0),
            waiters: WaitList::new(),
        }
    }

    pub(super) fn gained(&self) {
        *lock(&self.tracks) += 1;
        self.waiters.wake();
    }

    pub(super) fn lost(&self) {
        *lock(&self.tracks) -= 1;
        self.waiters.wake();
    }

    /// Waits until the broadcast is in use, or until it isn't.
    pub(super) async fn wait(&self, used: bool) {
        let mut waiter = self.waiters.waiter();
        poll_fn(|cx| {
            let tracks = lock(&self.tracks);
            if (*tracks > 0) == used {
                return Poll::Ready(());
            }
            waiter.register(cx);
            Poll::Pending
        })
        .await;
    }
}
