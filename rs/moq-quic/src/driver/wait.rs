//! Who waits for what: wakers kept beside the state they wait for, under its lock, so no wake-up can be lost.

use std::task::{Context, Waker};

/// Any number of tasks waiting for the same thing.
#[derive(Debug, Default)]
pub(super) struct Waiters(Vec<Waker>);

impl Waiters {
    pub(super) fn wait(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.0.push(cx.waker().clone());
        }
    }

    /// Moves those who wait to `woken`, to be woken once the lock is released.
    pub(super) fn wake(&mut self, woken: &mut Vec<Waker>) {
        woken.append(&mut self.0);
    }
}
