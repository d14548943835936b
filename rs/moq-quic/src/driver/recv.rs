//! The half of a stream that receives.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use tokio::io::{AsyncRead, ReadBuf};

use crate::{Error, StreamId};

/// A stream to read from. Dropped before its end, the peer is told to stop with code 0.
#[derive(Debug)]
pub struct RecvStream {}

impl RecvStream {
    /// Reads what is there, at least one byte, into `buffer`. `None` at the end of the stream.
    ///
    /// # Errors
    /// [`Error::Reset`], [`Error::StreamClosed`], or why the connection ended.
    pub async fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        todo!("{buffer:?}")
    }

    /// Reads up to `max` bytes without copying them. `None` at the end of the stream.
    ///
    /// # Errors
    /// As [`RecvStream::read`].
    pub async fn read_chunk(&mut self, max: usize) -> Result<Option<Bytes>, Error> {
        todo!("{max}")
    }

    /// Fills `buffer`.
    ///
    /// # Errors
    /// [`Error::UnexpectedEnd`], or as [`RecvStream::read`].
    pub async fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), Error> {
        todo!("{buffer:?}")
    }

    /// Tells the peer that nothing more is wanted, and drops what has come.
    ///
    /// # Errors
    /// [`Error::StreamClosed`] if it has ended or was stopped before.
    pub fn stop(&mut self, code: u64) -> Result<(), Error> {
        todo!("{code}")
    }

    /// Its id on the wire.
    #[must_use]
    pub fn id(&self) -> StreamId {
        todo!()
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        todo!("{cx:?} {buffer:?}")
    }
}
