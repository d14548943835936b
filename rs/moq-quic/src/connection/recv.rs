//! Receive streams and datagrams: quinn-proto keeps them; this asks it.

use bytes::Bytes;
use quinn_proto::{Dir, ReadError, StreamId};

use crate::Error;

use super::{Connection, varint};

/// What a read found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The next bytes.
    Chunk(Bytes),
    /// The end.
    End,
    /// Nothing yet: wait for [`Event::Readable`](super::Event::Readable).
    Blocked,
}

impl Connection {
    /// The next stream the peer opened. Our half of a bidirectional one is entered with [`Connection::adopt`].
    pub fn accept(&mut self, dir: Dir) -> Option<StreamId> {
        self.inner.streams().accept(dir)
    }

    /// Reads up to `max` bytes, and says whether there is now something to send (credit for the peer).
    ///
    /// # Errors
    /// [`Error::Reset`], or [`Error::StreamClosed`] if the end was read or the stream stopped before.
    pub fn read(&mut self, id: StreamId, max: usize) -> Result<(Read, bool), Error> {
        let mut stream = self.inner.recv_stream(id);
        let mut chunks = stream.read(true).map_err(|_| Error::StreamClosed)?;
        let read = match chunks.next(max) {
            Ok(Some(chunk)) => Ok(Read::Chunk(chunk.bytes)),
            Ok(None) => Ok(Read::End),
            Err(ReadError::Blocked) => Ok(Read::Blocked),
            Err(ReadError::Reset(code)) => Err(Error::Reset(code.into_inner())),
        };
        let transmit = chunks.finalize().should_transmit();
        read.map(|read| (read, transmit))
    }

    /// Reads into `buffer` until it is full or nothing is left: how many bytes, what stopped it, and whether there is
    /// now something to send.
    ///
    /// # Errors
    /// As [`Connection::read`].
    pub fn read_into(
        &mut self,
        id: StreamId,
        buffer: &mut [u8],
    ) -> Result<(usize, Read, bool), Error> {
        let mut stream = self.inner.recv_stream(id);
        let mut chunks = stream.read(true).map_err(|_| Error::StreamClosed)?;
        let mut filled = 0;
        let stopped = loop {
            if filled == buffer.len() {
                break Ok(Read::Blocked);
            }
            match chunks.next(buffer.len() - filled) {
                Ok(Some(chunk)) => {
                    let end = filled + chunk.bytes.len();
                    buffer[filled..end].copy_from_slice(&chunk.bytes);
                    filled = end;
                }
                Ok(None) => break Ok(Read::End),
                Err(ReadError::Blocked) => break Ok(Read::Blocked),
                Err(ReadError::Reset(code)) => break Err(Error::Reset(code.into_inner())),
            }
        };
        let transmit = chunks.finalize().should_transmit();
        stopped.map(|stopped| (filled, stopped, transmit))
    }

    /// Tells the peer that nothing more is wanted of a stream.
    ///
    /// # Errors
    /// [`Error::StreamClosed`] if the end was read or the stream stopped before.
    pub fn stop(&mut self, id: StreamId, code: u64) -> Result<(), Error> {
        self.inner
            .recv_stream(id)
            .stop(varint(code))
            .map_err(|_| Error::StreamClosed)
    }

    /// The next datagram from the peer.
    pub fn read_datagram(&mut self) -> Option<Bytes> {
        self.inner.datagrams().recv()
    }
}
