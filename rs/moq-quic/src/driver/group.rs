//! Handles on send groups.
//!
//! Made by `connection`. Its key stays here: an application cannot name a group it has no handle on.

use std::{future::poll_fn, sync::Arc};

use bytes::Bytes;
use quinn_proto::Dir;

use crate::{
    Error, GroupStats,
    schedule::{GroupId, Schedule},
};

use super::{
    RecvStream, SendStream,
    connection::{poll_open, send_datagram},
    shared::Handle,
};

/// A send group. Cheap to clone; it is closed when its last handle is dropped, and freed when its last stream has left.
#[derive(Clone, Debug)]
pub struct SendGroup {
    inner: Arc<Owned>,
}

#[derive(Debug)]
struct Owned {
    handle: Handle,
    group: GroupId,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.group != Schedule::CONTROL {
            self.handle.lock().core.close_group(self.group);
        }
    }
}

impl SendGroup {
    pub(super) fn new(handle: Handle, group: GroupId) -> Self {
        Self {
            inner: Arc::new(Owned { handle, group }),
        }
    }

    /// Opens a unidirectional stream in this group. Waits while the peer allows no more.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn open_uni(&self, order: u64) -> Result<SendStream, Error> {
        let Owned { handle, group } = &*self.inner;
        poll_fn(|cx| poll_open(handle, cx, Dir::Uni, *group, order)).await
    }

    /// Opens a bidirectional stream in this group. Waits while the peer allows no more.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn open_bi(&self, order: u64) -> Result<(SendStream, RecvStream), Error> {
        let Owned { handle, group } = &*self.inner;
        let send = poll_fn(|cx| poll_open(handle, cx, Dir::Bi, *group, order)).await?;
        let recv = RecvStream::new(handle.clone(), send.id());
        Ok((send, recv))
    }

    /// Queues a datagram. Never waits.
    ///
    /// # Errors
    /// [`Error::DatagramTooLarge`], [`Error::DatagramsUnsupported`], [`Error::DatagramDropped`], or why the connection
    /// ended.
    pub fn send_datagram(&self, order: u64, data: Bytes) -> Result<(), Error> {
        send_datagram(&self.inner.handle, self.inner.group, order, data)
    }

    /// Moves the group to the tail of another priority: higher first. Takes effect at the next packet.
    pub fn set_priority(&self, priority: u16) {
        let mut state = self.inner.handle.lock();
        state.core.set_group_priority(self.inner.group, priority);
    }

    /// The group in numbers.
    #[must_use]
    pub fn stats(&self) -> GroupStats {
        let state = self.inner.handle.lock();
        state.core.group_stats(self.inner.group).unwrap_or_default()
    }

    pub(super) fn id_in(&self, handle: &Handle) -> Option<GroupId> {
        self.inner.handle.same(handle).then_some(self.inner.group)
    }
}
