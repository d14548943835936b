//! The half of a stream that receives.
//!
//! Made by `connection` and `group`.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use tokio::io::{AsyncRead, ReadBuf};

use crate::{Error, StreamId, connection::Read};

use super::shared::{Handle, State};

/// A stream to read from. Dropped before its end, the peer is told to stop with code 0.
#[derive(Debug)]
pub struct RecvStream {
    handle: Handle,
    id: StreamId,
    end: Option<End>,
}

/// Why there is nothing more to read.
#[derive(Clone, Copy, Debug)]
enum End {
    Finished,
    Reset(u64),
    Stopped,
}

impl RecvStream {
    pub(super) fn new(handle: Handle, id: StreamId) -> Self {
        Self {
            handle,
            id,
            end: None,
        }
    }

    /// Reads what is there, at least one byte unless `buffer` is empty. `None` at the end of the stream. Cancel safe.
    ///
    /// # Errors
    /// [`Error::Reset`], [`Error::StreamClosed`], or why the connection ended.
    pub async fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        poll_fn(|cx| self.poll_fill(cx, buffer)).await
    }

    /// Reads up to `max` bytes without copying them. `None` at the end of the stream. Cancel safe.
    ///
    /// # Errors
    /// As [`RecvStream::read`].
    pub async fn read_chunk(&mut self, max: usize) -> Result<Option<Bytes>, Error> {
        poll_fn(|cx| {
            self.poll_with(cx, |state, id| {
                let (read, transmit) = state.core.read(id, max)?;
                Ok(match read {
                    Read::Chunk(chunk) => (Some(chunk), Read::Blocked, transmit),
                    other => (None, other, transmit),
                })
            })
        })
        .await
    }

    /// Fills `buffer`.
    ///
    /// # Errors
    /// [`Error::UnexpectedEnd`], or as [`RecvStream::read`].
    pub async fn read_exact(&mut self, mut buffer: &mut [u8]) -> Result<(), Error> {
        while !buffer.is_empty() {
            let read = self.read(buffer).await?.ok_or(Error::UnexpectedEnd)?;
            buffer = &mut buffer[read..];
        }
        Ok(())
    }

    /// Tells the peer that nothing more is wanted, and drops what has come.
    ///
    /// # Errors
    /// [`Error::StreamClosed`] if it has ended or was stopped before.
    pub fn stop(&mut self, code: u64) -> Result<(), Error> {
        if self.end.is_some() {
            return Err(Error::StreamClosed);
        }
        self.end = Some(End::Stopped);
        self.handle.act(|state| state.core.stop(self.id, code))
    }

    /// Its id on the wire.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    fn poll_fill(
        &mut self,
        cx: &Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<Option<usize>, Error>> {
        if buffer.is_empty() {
            return Poll::Ready(Ok(Some(0)));
        }
        self.poll_with(cx, |state, id| {
            let (filled, stopped, transmit) = state.core.read_into(id, buffer)?;
            Ok(((filled > 0).then_some(filled), stopped, transmit))
        })
    }

    /// Reads, and waits if there is nothing. `read` tells what it read, what stopped it, and whether the peer gets credit.
    fn poll_with<R>(
        &mut self,
        cx: &Context<'_>,
        read: impl FnOnce(&mut State, StreamId) -> Result<(Option<R>, Read, bool), Error>,
    ) -> Poll<Result<Option<R>, Error>> {
        match self.end {
            Some(End::Finished) => return Poll::Ready(Ok(None)),
            Some(End::Reset(code)) => return Poll::Ready(Err(Error::Reset(code))),
            Some(End::Stopped) => return Poll::Ready(Err(Error::StreamClosed)),
            None => {}
        }
        let mut state = self.handle.lock();
        let (data, stopped, transmit) = match read(&mut state, self.id) {
            Ok(read) => read,
            Err(Error::Reset(code)) => {
                self.end = Some(End::Reset(code));
                // The peer may open another stream.
                (None, Read::End, true)
            }
            Err(error) => return Poll::Ready(Err(error)),
        };
        if stopped == Read::End && self.end.is_none() {
            self.end = Some(End::Finished);
        }
        let result = match (data, self.end) {
            (Some(data), _) => Poll::Ready(Ok(Some(data))),
            (None, Some(End::Reset(code))) => Poll::Ready(Err(Error::Reset(code))),
            (None, Some(_)) => Poll::Ready(Ok(None)),
            (None, None) => {
                state.check()?;
                state.readers.insert(self.id, cx.waker().clone());
                Poll::Pending
            }
        };
        let task = if transmit { state.task.take() } else { None };
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
        result
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        let mut state = self.handle.lock();
        state.readers.remove(&self.id);
        if self.end.is_none() {
            drop(state);
            // Its only error is that the stream is over.
            let _ = self.stop(0);
        }
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = ready!(self.poll_fill(cx, buffer.initialize_unfilled()))?;
        buffer.advance(filled.unwrap_or(0));
        Poll::Ready(Ok(()))
    }
}
