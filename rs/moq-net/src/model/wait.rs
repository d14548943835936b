//! Wake lists: who is to be polled again when something changes.
//!
//! Owns wakers, nothing else. Called by every pollable type of the model. May not know what is waited for: a waiter
//! registers while it holds the lock of the state it just looked at, and whoever changes that state wakes the list
//! afterwards, so no wake-up is lost.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};

use super::lock;

/// A waiter's place in a list. The default is no place; it becomes stale when the list is woken.
#[derive(Debug, Default)]
pub(super) struct WaitKey {
    /// 0 = never registered.
    epoch: u64,
    index: usize,
}

impl WaitKey {
    /// Whether it was ever registered and hasn't left.
    pub(super) const fn is_registered(&self) -> bool {
        self.epoch != 0
    }
}

/// The plain list, for state that has a lock already. Registering, leaving: O(1). Waking: O(waiters).
#[derive(Debug)]
pub(super) struct Waiters {
    /// Counts wakes: a key from an earlier epoch is no longer registered.
    epoch: u64,
    slots: Vec<Option<Waker>>,
    free: Vec<usize>,
}

impl Waiters {
    const fn new() -> Self {
        Self {
            epoch: 1,
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Registers `waker`, or replaces the one registered under `key`.
    pub(super) fn register(&mut self, key: &mut WaitKey, waker: &Waker) {
        if key.epoch == self.epoch {
            match &mut self.slots[key.index] {
                Some(old) => old.clone_from(waker),
                empty => *empty = Some(waker.clone()),
            }
            return;
        }
        key.epoch = self.epoch;
        key.index = match self.free.pop() {
            Some(index) => {
                self.slots[index] = Some(waker.clone());
                index
            }
            None => {
                self.slots.push(Some(waker.clone()));
                self.slots.len() - 1
            }
        };
    }

    /// Leaves the list.
    pub(super) fn remove(&mut self, key: &mut WaitKey) {
        if key.epoch == self.epoch {
            self.slots[key.index] = None;
            self.free.push(key.index);
        }
        key.epoch = 0;
    }

    /// Takes everybody who waits; wake them once no lock is held.
    pub(super) fn take(&mut self) -> Vec<Option<Waker>> {
        self.epoch += 1;
        self.free.clear();
        std::mem::take(&mut self.slots)
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }
}

impl Default for Waiters {
    fn default() -> Self {
        Self::new()
    }
}

/// Wakes what [`Waiters::take`] returned.
pub(super) fn wake(waiters: Vec<Option<Waker>>) {
    for waker in waiters.into_iter().flatten() {
        waker.wake();
    }
}

/// A list with a lock of its own, so that a waiter can leave without the lock of the state it waited on.
#[derive(Debug)]
pub(super) struct WaitList {
    /// Whether anybody may wait: lets a wake of nobody cost one load. Written under the lock; a waiter registers under
    /// its state's lock, which orders this store before the waker's load.
    any: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    waiters: Waiters,
    /// A drained buffer kept for the next round, so that steady waiting allocates nothing.
    spare: Vec<Option<Waker>>,
}

impl WaitList {
    pub(super) const fn new() -> Self {
        Self {
            any: AtomicBool::new(false),
            inner: Mutex::new(Inner {
                waiters: Waiters::new(),
                spare: Vec::new(),
            }),
        }
    }

    /// Registers the task of `cx`. Call while holding the lock of the state that was found wanting.
    pub(super) fn register(&self, key: &mut WaitKey, cx: &Context<'_>) {
        let mut inner = lock(&self.inner);
        inner.waiters.register(key, cx.waker());
        self.any.store(true, Ordering::Relaxed);
    }

    /// Leaves the list; for a waiter that is dropped.
    pub(super) fn remove(&self, key: &mut WaitKey) {
        if key.epoch != 0 {
            lock(&self.inner).waiters.remove(key);
        }
    }

    /// Wakes everybody and empties the list. Call after the state changed, holding no lock.
    pub(super) fn wake(&self) {
        if !self.any.load(Ordering::Relaxed) {
            return;
        }
        let mut waiters = {
            let mut inner = lock(&self.inner);
            self.any.store(false, Ordering::Relaxed);
            let spare = std::mem::take(&mut inner.spare);
            let waiters = inner.waiters.take();
            inner.waiters.slots = spare;
            waiters
        };
        for waker in waiters.drain(..).flatten() {
            waker.wake();
        }
        let mut inner = lock(&self.inner);
        if inner.spare.capacity() < waiters.capacity() {
            inner.spare = waiters;
        }
    }

    /// Wakes everybody for the last time and gives the buffers back.
    pub(super) fn wake_last(&self) {
        if !self.any.load(Ordering::Relaxed) {
            return;
        }
        let waiters = {
            let mut inner = lock(&self.inner);
            self.any.store(false, Ordering::Relaxed);
            inner.spare = Vec::new();
            inner.waiters.free = Vec::new();
            inner.waiters.take()
        };
        wake(waiters);
    }

    /// A waiter for the time of one borrowed future; leaves the list when dropped.
    pub(super) const fn waiter(&self) -> Waiter<'_> {
        Waiter {
            list: self,
            key: WaitKey { epoch: 0, index: 0 },
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.inner).waiters.is_empty()
    }
}

impl Default for WaitList {
    fn default() -> Self {
        Self::new()
    }
}

/// See [`WaitList::waiter`].
#[derive(Debug)]
pub(super) struct Waiter<'a> {
    list: &'a WaitList,
    key: WaitKey,
}

impl Waiter<'_> {
    pub(super) fn register(&mut self, cx: &Context<'_>) {
        self.list.register(&mut self.key, cx);
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.list.remove(&mut self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counter() -> (Arc<Count>, Waker) {
        let count = Arc::<Count>::default();
        (count.clone(), count.into())
    }

    #[test]
    fn a_waiter_is_woken_once_a_registration() {
        let list = WaitList::new();
        let (count, waker) = counter();
        let mut key = WaitKey::default();
        list.register(&mut key, &Context::from_waker(&waker));
        list.register(&mut key, &Context::from_waker(&waker));
        list.wake();
        list.wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        list.register(&mut key, &Context::from_waker(&waker));
        list.wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_stale_key_removes_nobody_else() {
        let list = WaitList::new();
        let (count, waker) = counter();
        let (mut stale, mut fresh) = (WaitKey::default(), WaitKey::default());
        list.register(&mut stale, &Context::from_waker(&waker));
        list.wake();
        list.register(&mut fresh, &Context::from_waker(&waker));
        list.remove(&mut stale);
        list.wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn ten_thousand_waiters_that_leave_leave_nothing() {
        let list = WaitList::new();
        let (count, waker) = counter();
        for _ in 0..10_000 {
            let mut waiter = list.waiter();
            waiter.register(&Context::from_waker(&waker));
        }
        assert!(list.is_empty());
        assert!(lock(&list.inner).waiters.slots.capacity() <= 4);
        list.wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
    }
}
