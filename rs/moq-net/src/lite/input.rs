//! Reading messages off a stream.
//!
//! Owns what has arrived and is not understood yet. Called by every task that reads; each function may be dropped while
//! it waits and called again. May not know what messages mean. Memory: a message is read only after its length was
//! checked against its cap, and space for a frame grows with the bytes that have come, never with those promised.

use bytes::{Buf, Bytes, BytesMut};

use super::coding::{DecodeError, Reader};
use super::message::{FrameHeader, Message, Typed};
use super::transport::{self, RecvStream};
use super::version::Version;
use crate::model::MAX_FRAME_BYTES;
use crate::{Error, Result};

/// The most taken from the stream at once.
const CHUNK: usize = 64 << 10;

/// A receiving stream and what was read ahead of it.
#[derive(Debug)]
pub(crate) struct Input {
    stream: RecvStream,
    ahead: Bytes,
    version: Version,
}

/// What is left to read of a frame.
#[derive(Debug)]
pub(crate) struct Payload {
    bytes: Vec<u8>,
    size: usize,
}

impl Input {
    pub(crate) fn new(stream: RecvStream, version: Version) -> Self {
        Self {
            stream,
            ahead: Bytes::new(),
            version,
        }
    }

    /// Tells the peer that nothing more is wanted.
    pub(crate) fn stop(&mut self, error: &Error) {
        transport::stop(&mut self.stream, error);
    }

    /// Whether frames on the stream say their time.
    pub(crate) fn has_timestamps(&self) -> bool {
        self.version.has_setup()
    }

    /// A varint, or `None` if the stream ends before it.
    pub(crate) async fn varint(&mut self) -> Result<Option<u64>> {
        self.decode(|reader, _| reader.varint()).await
    }

    /// A message, or `None` if the stream ends before it.
    pub(crate) async fn message<M: Message>(&mut self) -> Result<Option<M>> {
        self.decode(|reader, version| {
            let body = reader.bytes(M::NAME, M::CAP)?;
            M::decode(body, version).map_err(|error| whole(error, M::NAME))
        })
        .await
    }

    /// A message that must come.
    pub(crate) async fn expect<M: Message>(&mut self) -> Result<M> {
        self.message().await?.ok_or(Error::Decode(M::NAME))
    }

    /// The next message of a known type, or `None` if the stream ends before it.
    pub(crate) async fn typed<M: Typed>(&mut self) -> Result<Option<M>> {
        loop {
            let next = self.decode(|reader, version| {
                let kind = reader.varint()?;
                let body = reader.bytes(M::NAME, M::CAP)?;
                M::decode(kind, body, version).map_err(|error| whole(error, M::NAME))
            });
            match next.await? {
                None => return Ok(None),
                Some(None) => {}
                Some(Some(message)) => return Ok(Some(message)),
            }
        }
    }

    /// What goes before a frame, or `None` if the stream ends before it.
    pub(crate) async fn frame_header(&mut self) -> Result<Option<FrameHeader>> {
        self.decode(FrameHeader::decode).await
    }

    /// Starts on a frame's payload.
    pub(crate) fn payload(size: u64) -> Result<Payload> {
        match usize::try_from(size) {
            Ok(size) if size <= MAX_FRAME_BYTES => Ok(Payload {
                bytes: Vec::new(),
                size,
            }),
            _ => Err(Error::FrameTooLarge),
        }
    }

    /// Reads on until the payload is whole; it occupies exactly its size.
    pub(crate) async fn fill(&mut self, payload: &mut Payload) -> Result<Bytes> {
        while payload.bytes.len() < payload.size {
            if self.ahead.is_empty() && !self.more().await? {
                return Err(Error::Decode("a frame is cut short"));
            }
            let missing = payload.size - payload.bytes.len();
            let take = missing.min(self.ahead.len());
            if payload.bytes.capacity() - payload.bytes.len() < take {
                let room = missing.min(payload.bytes.len().max(CHUNK)).max(take);
                payload.bytes.reserve_exact(room);
            }
            payload.bytes.extend_from_slice(&self.ahead[..take]);
            self.ahead.advance(take);
        }
        Ok(std::mem::take(&mut payload.bytes).into())
    }

    /// Waits for the stream to end; whatever comes before is dropped.
    pub(crate) async fn end(&mut self) -> Result<()> {
        while self.more().await? {
            self.ahead.clear();
        }
        Ok(())
    }

    /// Decodes from what is there, reading on while it is too little. `None` if the stream ends with nothing left over.
    async fn decode<T>(
        &mut self,
        decode: impl Fn(&mut Reader<'_>, Version) -> Result<T, DecodeError>,
    ) -> Result<Option<T>> {
        loop {
            let mut reader = Reader::new(&self.ahead);
            match decode(&mut reader, self.version) {
                Ok(value) => {
                    self.ahead.advance(self.ahead.len() - reader.remaining());
                    return Ok(Some(value));
                }
                Err(DecodeError::Truncated) => {}
                Err(error) => return Err(error.into()),
            }
            if !self.more().await? {
                return if self.ahead.is_empty() {
                    Ok(None)
                } else {
                    Err(DecodeError::Truncated.into())
                };
            }
        }
    }

    /// Adds what comes next to what is there; false at the end of the stream.
    async fn more(&mut self) -> Result<bool> {
        let Some(chunk) = self.stream.read_chunk(CHUNK).await? else {
            return Ok(false);
        };
        if self.ahead.is_empty() {
            self.ahead = chunk;
        } else {
            let mut joined = BytesMut::with_capacity(self.ahead.len() + chunk.len());
            joined.extend_from_slice(&self.ahead);
            joined.extend_from_slice(&chunk);
            self.ahead = joined.freeze();
        }
        Ok(true)
    }
}

/// A body that is all here and still too short won't get better by reading on.
fn whole(error: DecodeError, name: &'static str) -> DecodeError {
    match error {
        DecodeError::Truncated => DecodeError::Invalid(name),
        error => error,
    }
}
