//! The half of a stream that sends.
//!
//! Made by `connection` and `group`. Queues bytes under the connection's lock; the schedule decides when they go.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use tokio::io::AsyncWrite;

use crate::{Error, StreamId, connection::SendKey};

use super::{SendGroup, shared::Handle};

/// A stream to write to. Dropped unfinished, it is reset with code 0.
#[derive(Debug)]
pub struct SendStream {
    handle: Handle,
    key: SendKey,
}

impl SendStream {
    pub(super) fn new(handle: Handle, key: SendKey) -> Self {
        Self { handle, key }
    }

    /// Queues as much of `data` as the high-water mark allows, at least one byte unless it is empty, and says how much.
    /// Waits only while this stream is at its mark, never for other streams. Cancel safe.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::StreamClosed`], or why the connection ended.
    pub async fn write(&mut self, data: &[u8]) -> Result<usize, Error> {
        poll_fn(|cx| self.poll_queue(cx, data)).await
    }

    /// Queues all of `data`, waiting at the high-water mark as often as it takes.
    ///
    /// # Errors
    /// As [`SendStream::write`].
    pub async fn write_all(&mut self, mut data: &[u8]) -> Result<(), Error> {
        while !data.is_empty() {
            let written = self.write(data).await?;
            data = &data[written..];
        }
        Ok(())
    }

    /// Queues a chunk without copying it; the last one may go over the high-water mark. Cancel safe.
    ///
    /// # Errors
    /// As [`SendStream::write`].
    pub async fn write_chunk(&mut self, data: Bytes) -> Result<(), Error> {
        let mut data = Some(data);
        poll_fn(|cx| {
            self.poll_room(cx, |handle, key, _| {
                handle.core.write(key, data.take().unwrap_or_default())
            })
        })
        .await
    }

    /// Says that nothing will follow. What is queued is still sent.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::StreamClosed`], or why the connection ended.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.handle.queue(|state| {
            state.check()?;
            state.core.finish(self.key)
        })
    }

    /// Drops what is unsent and tells the peer that it will not come.
    ///
    /// # Errors
    /// [`Error::StreamClosed`] if all of it has arrived or it was reset before.
    pub fn reset(&mut self, code: u64) -> Result<(), Error> {
        self.handle.act(|state| state.core.reset(self.key, code))
    }

    /// Changes the order inside the group.
    pub fn set_order(&self, order: u64) {
        self.handle.lock().core.set_order(self.key, order);
    }

    /// Moves the stream, with what it has queued, to another group of the same connection.
    ///
    /// # Errors
    /// [`Error::GroupClosed`] if the group belongs to another connection or has gone.
    pub fn set_group(&self, group: &SendGroup, order: u64) -> Result<(), Error> {
        let group = group.id_in(&self.handle).ok_or(Error::GroupClosed)?;
        self.handle.lock().core.set_group(self.key, group, order)
    }

    /// Resolves with the peer's code when it stops the stream; with `None` when all of it has been acknowledged, it was
    /// reset, or the connection has ended.
    pub async fn stopped(&self) -> Option<u64> {
        poll_fn(|cx| {
            let mut state = self.handle.lock();
            if let Some(end) = state.core.ended(self.key) {
                return Poll::Ready(end);
            }
            if state.check().is_err() {
                return Poll::Ready(None);
            }
            state.enders.entry(self.key.id()).or_default().wait(cx);
            Poll::Pending
        })
        .await
    }

    /// Its id on the wire.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.key.id()
    }

    fn poll_queue(&mut self, cx: &Context<'_>, data: &[u8]) -> Poll<Result<usize, Error>> {
        self.poll_room(cx, |state, key, room| {
            let data = &data[..data.len().min(room)];
            state.core.write(key, Bytes::copy_from_slice(data))?;
            Ok(data.len())
        })
    }

    /// Waits until the stream is under its mark, and then writes.
    fn poll_room<R>(
        &mut self,
        cx: &Context<'_>,
        write: impl FnOnce(&mut super::shared::State, SendKey, usize) -> Result<R, Error>,
    ) -> Poll<Result<R, Error>> {
        self.handle.queue(|state| {
            state.check()?;
            match state.core.room(self.key)? {
                0 => {
                    state.writers.insert(self.key.id(), cx.waker().clone());
                    Poll::Pending
                }
                room => Poll::Ready(write(state, self.key, room)),
            }
        })
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        self.handle.act(|state| {
            state.writers.remove(&self.key.id());
            state.enders.remove(&self.key.id());
            state.core.release(self.key);
        });
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(ready!(self.poll_queue(cx, data))?))
    }

    /// Bytes are never held back: there is nothing to flush.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(self.finish()?))
    }
}
