//! A connection's handle.
//!
//! Made by `endpoint` when the handshake is complete. May not know the task: it leaves things in the shared state.

use std::{
    future::poll_fn,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use quinn_proto::Dir;

use crate::{
    Error, GroupConfig, Stats,
    schedule::{GroupId, Schedule},
};

use super::{
    RecvStream, SendGroup, SendStream,
    shared::{Handle, Shared},
};

/// A connection. Cheap to clone; it is closed with code 0 when its last handle (streams and groups count) is dropped.
#[derive(Clone, Debug)]
pub struct Connection {
    handle: Handle,
}

impl Connection {
    /// Waits for the end of the handshake.
    pub(super) async fn established(shared: Arc<Shared>) -> Result<Self, Error> {
        // Counted from now on: a caller that gives up closes it.
        let handle = Handle::new(shared);
        poll_fn(|cx| {
            let mut state = handle.lock();
            if state.connected {
                return Poll::Ready(Ok(()));
            }
            state.check()?;
            state.handshake.wait(cx);
            Poll::Pending
        })
        .await
        .map(|()| Self { handle })
    }

    /// Opens a unidirectional stream in the default group. Waits while the peer allows no more.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn open_uni(&self) -> Result<SendStream, Error> {
        let group = self.handle.lock().core.default_group();
        poll_fn(|cx| poll_open(&self.handle, cx, Dir::Uni, group, 0)).await
    }

    /// Opens a bidirectional stream in the default group. Waits while the peer allows no more.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), Error> {
        let group = self.handle.lock().core.default_group();
        let send = poll_fn(|cx| poll_open(&self.handle, cx, Dir::Bi, group, 0)).await?;
        let recv = RecvStream::new(self.handle.clone(), send.id());
        Ok((send, recv))
    }

    /// The next unidirectional stream the peer opened.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn accept_uni(&self) -> Result<RecvStream, Error> {
        poll_fn(|cx| {
            let mut state = self.handle.lock();
            if let Some(id) = state.core.accept(Dir::Uni) {
                return Poll::Ready(Ok(RecvStream::new(self.handle.clone(), id)));
            }
            state.check()?;
            state.accepting[Dir::Uni as usize].wait(cx);
            Poll::Pending
        })
        .await
    }

    /// The next bidirectional stream the peer opened; our half is in the default group.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), Error> {
        poll_fn(|cx| {
            let mut state = self.handle.lock();
            if let Some(id) = state.core.accept(Dir::Bi) {
                let key = state.core.adopt(id)?;
                let send = SendStream::new(self.handle.clone(), key);
                let recv = RecvStream::new(self.handle.clone(), id);
                return Poll::Ready(Ok((send, recv)));
            }
            state.check()?;
            state.accepting[Dir::Bi as usize].wait(cx);
            Poll::Pending
        })
        .await
    }

    /// The group above all others, for what must never wait behind media.
    #[must_use]
    pub fn control(&self) -> SendGroup {
        SendGroup::new(self.handle.clone(), Schedule::CONTROL)
    }

    /// Opens a send group.
    #[must_use]
    pub fn open_group(&self, config: GroupConfig) -> SendGroup {
        let group = self.handle.lock().core.open_group(config);
        SendGroup::new(self.handle.clone(), group)
    }

    /// Queues a datagram in the default group. Never waits.
    ///
    /// # Errors
    /// [`Error::DatagramTooLarge`], [`Error::DatagramsUnsupported`], [`Error::DatagramDropped`], or why the connection
    /// ended.
    pub fn send_datagram(&self, data: Bytes) -> Result<(), Error> {
        let group = self.handle.lock().core.default_group();
        send_datagram(&self.handle, group, 0, data)
    }

    /// The next datagram from the peer.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn read_datagram(&self) -> Result<Bytes, Error> {
        poll_fn(|cx| {
            let mut state = self.handle.lock();
            if let Some(data) = state.core.read_datagram() {
                return Poll::Ready(Ok(data));
            }
            state.check()?;
            state.datagrams.wait(cx);
            Poll::Pending
        })
        .await
    }

    /// The longest datagram the path takes now, in bytes. `None` if the peer takes none.
    #[must_use]
    pub fn max_datagram_size(&self) -> Option<usize> {
        self.handle.lock().core.max_datagram_size()
    }

    /// The connection in numbers.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.handle.lock().core.stats()
    }

    /// Closes it now, whatever is unsent. The peer gets the code and the reason.
    pub fn close(&self, code: u64, reason: &str) {
        let now = tokio::time::Instant::now().into_std();
        self.handle.act(|state| state.core.close(now, code, reason));
    }

    /// Resolves when it has ended, with why.
    pub async fn closed(&self) -> Error {
        poll_fn(|cx| {
            let mut state = self.handle.lock();
            match state.check() {
                Err(error) => Poll::Ready(error),
                Ok(()) => {
                    state.closed.wait(cx);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// The application protocol both sides agreed on.
    #[must_use]
    pub fn alpn(&self) -> Option<Vec<u8>> {
        self.handle.lock().core.alpn()
    }

    /// Where the peer is.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        let addr = self.handle.remote;
        SocketAddr::new(addr.ip().to_canonical(), addr.port())
    }
}

pub(super) fn poll_open(
    handle: &Handle,
    cx: &Context<'_>,
    dir: Dir,
    group: GroupId,
    order: u64,
) -> Poll<Result<SendStream, Error>> {
    let mut state = handle.lock();
    state.check()?;
    match state.core.open(dir, group, order)? {
        Some(key) => Poll::Ready(Ok(SendStream::new(handle.clone(), key))),
        None => {
            state.opening[dir as usize].wait(cx);
            Poll::Pending
        }
    }
}

pub(super) fn send_datagram(
    handle: &Handle,
    group: GroupId,
    order: u64,
    data: Bytes,
) -> Result<(), Error> {
    handle.queue(|state| {
        state.check()?;
        state.core.send_datagram(group, order, data)
    })
}
