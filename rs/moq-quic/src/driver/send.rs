//! The half of a stream that sends.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use tokio::io::AsyncWrite;

use crate::{Error, StreamId};

use super::SendGroup;

/// A stream to write to. Dropped unfinished, it is reset with code 0.
#[derive(Debug)]
pub struct SendStream {}

impl SendStream {
    /// Queues as much of `data` as the high-water mark allows, at least one byte, and says how much. Waits only while
    /// this stream is at its mark, never for other streams.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::StreamClosed`], or why the connection ended.
    pub async fn write(&mut self, data: &[u8]) -> Result<usize, Error> {
        todo!("{data:?}")
    }

    /// Queues all of `data`, waiting at the high-water mark as often as it takes.
    ///
    /// # Errors
    /// As [`SendStream::write`].
    pub async fn write_all(&mut self, data: &[u8]) -> Result<(), Error> {
        todo!("{data:?}")
    }

    /// Queues a chunk without copying it; the last one may go over the high-water mark.
    ///
    /// # Errors
    /// As [`SendStream::write`].
    pub async fn write_chunk(&mut self, data: Bytes) -> Result<(), Error> {
        todo!("{data:?}")
    }

    /// Says that nothing will follow. What is queued is still sent.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::StreamClosed`], or why the connection ended.
    pub fn finish(&mut self) -> Result<(), Error> {
        todo!()
    }

    /// Drops what is unsent and tells the peer that it will not come.
    ///
    /// # Errors
    /// [`Error::StreamClosed`] if all of it has arrived or it was reset before.
    pub fn reset(&mut self, code: u64) -> Result<(), Error> {
        todo!("{code}")
    }

    /// Changes the order inside the group.
    pub fn set_order(&self, order: u64) {
        todo!("{order}")
    }

    /// Moves the stream, with what it has queued, to another group of the same connection.
    ///
    /// # Errors
    /// [`Error::GroupClosed`] if the group belongs to another connection or has gone.
    pub fn set_group(&self, group: &SendGroup, order: u64) -> Result<(), Error> {
        todo!("{group:?} {order}")
    }

    /// Resolves with the peer's code when it stops the stream; with `None` when all of it, finished or reset, has been
    /// acknowledged or the connection has ended.
    pub async fn stopped(&self) -> Option<u64> {
        todo!()
    }

    /// Its id on the wire.
    #[must_use]
    pub fn id(&self) -> StreamId {
        todo!()
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        todo!("{cx:?} {data:?}")
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        todo!("{cx:?}")
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        todo!("{cx:?}")
    }
}
