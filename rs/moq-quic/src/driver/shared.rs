//! What a connection's handles and its task share: the sans-IO connection under its lock, and who waits for it.
//!
//! One lock a connection. It is held for a turn of the task, a read or a write; wakers are called after it is released.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::Waker,
};

use quinn_proto::{ConnectionEvent, ConnectionHandle, Dir, StreamId};

use crate::{
    Error,
    connection::{self, Event, hash::Map},
};

use super::wait::Waiters;

#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) inbox: Inbox,
    pub(super) handle: ConnectionHandle,
    pub(super) remote: SocketAddr,
    /// Handles of the application; the task's own does not count.
    handles: AtomicUsize,
}

/// What the endpoint and the last handle leave for the task. A lock of its own, never held for long: the endpoint must
/// not wait for a connection's turn.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<Mail>);

#[derive(Debug, Default)]
pub(super) struct Mail {
    pub(super) events: Vec<ConnectionEvent>,
    pub(super) close: Option<(u64, String)>,
    pub(super) failed: Option<Error>,
    pub(super) waker: Option<Waker>,
}

/// Packets that may wait for their connection's turn: some megabytes.
const MOST_MAIL: usize = 4_096;

impl Inbox {
    pub(super) fn mail(&self) -> MutexGuard<'_, Mail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves packets, and takes them. A connection that is that far behind loses them, as if the network had.
    pub(super) fn deliver(&self, events: &mut Vec<ConnectionEvent>) {
        let mut mail = self.mail();
        if mail.events.is_empty() {
            std::mem::swap(&mut mail.events, events);
        } else if mail.events.len() < MOST_MAIL {
            mail.events.append(events);
        } else {
            events.clear();
        }
        let waker = mail.waker.take();
        drop(mail);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn close(&self, code: u64, reason: &str) {
        self.leave(|mail| {
            mail.close.get_or_insert_with(|| (code, reason.to_owned()));
        });
    }

    pub(super) fn fail(&self, error: Error) {
        self.leave(|mail| mail.failed = Some(error));
    }

    fn leave(&self, leave: impl FnOnce(&mut Mail)) {
        let mut mail = self.mail();
        leave(&mut mail);
        let waker = mail.waker.take();
        drop(mail);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) core: connection::Connection,
    /// The task, while it sleeps. Taken by whoever wakes it.
    pub(super) task: Option<Waker>,
    pub(super) connected: bool,
    pub(super) readers: Map<StreamId, Waker>,
    pub(super) writers: Map<StreamId, Waker>,
    pub(super) enders: Map<StreamId, Waiters>,
    pub(super) accepting: [Waiters; 2],
    pub(super) opening: [Waiters; 2],
    pub(super) datagrams: Waiters,
    pub(super) handshake: Waiters,
    pub(super) closed: Waiters,
}

impl Shared {
    pub(super) fn new(handle: ConnectionHandle, core: connection::Connection) -> Self {
        Self {
            handle,
            remote: core.remote_address(),
            inbox: Inbox::default(),
            handles: AtomicUsize::new(0),
            state: Mutex::new(State {
                core,
                task: None,
                connected: false,
                readers: Map::default(),
                writers: Map::default(),
                enders: Map::default(),
                accepting: Default::default(),
                opening: Default::default(),
                datagrams: Waiters::default(),
                handshake: Waiters::default(),
                closed: Waiters::default(),
            }),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something the task has to act on, and wakes it.
    pub(super) fn act<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let result = change(&mut state);
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
        result
    }

    /// Queues bytes. The task is woken only if it could send more than it has: if it can't, an acknowledgement or a
    /// timer will wake it, and then the schedule is asked.
    pub(super) fn queue<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let result = change(&mut state);
        let task = if state.core.is_hungry() {
            state.task.take()
        } else {
            None
        };
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
        result
    }
}

impl State {
    /// Why the connection has ended, if it has.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.core.lost() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Hands what has happened to those who wait for it.
    pub(super) fn dispatch(&mut self, woken: &mut Vec<Waker>) {
        while let Some(event) = self.core.poll() {
            match event {
                Event::Connected => {
                    self.connected = true;
                    self.handshake.wake(woken);
                }
                Event::Readable(id) => woken.extend(self.readers.remove(&id)),
                Event::Writable(id) => woken.extend(self.writers.remove(&id)),
                Event::Done(id) => {
                    if let Some(mut waiters) = self.enders.remove(&id) {
                        waiters.wake(woken);
                    }
                }
                Event::Opened(dir) => self.accepting[dir as usize].wake(woken),
                Event::Available(dir) => self.opening[dir as usize].wake(woken),
                Event::Datagram => self.datagrams.wake(woken),
                Event::Lost(_) => self.wake_all(woken),
            }
        }
    }

    pub(super) fn wake_all(&mut self, woken: &mut Vec<Waker>) {
        woken.extend(self.readers.drain().map(|(_, waker)| waker));
        woken.extend(self.writers.drain().map(|(_, waker)| waker));
        for (_, mut waiters) in self.enders.drain() {
            waiters.wake(woken);
        }
        for dir in [Dir::Bi, Dir::Uni] {
            self.accepting[dir as usize].wake(woken);
            self.opening[dir as usize].wake(woken);
        }
        self.datagrams.wake(woken);
        self.handshake.wake(woken);
        self.closed.wake(woken);
    }
}

/// A counted handle: with the last one the connection is closed.
#[derive(Debug)]
pub(super) struct Handle(Arc<Shared>);

impl Handle {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        shared.handles.fetch_add(1, Ordering::Relaxed);
        Self(shared)
    }

    pub(super) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        Self::new(self.0.clone())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.0.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.inbox.close(0, "");
        }
    }
}

impl std::ops::Deref for Handle {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
