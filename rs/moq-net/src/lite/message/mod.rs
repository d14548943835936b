//! The messages of moq-lite: one struct or enum each, one file a kind of stream.
//!
//! | file | stream | messages |
//! |---|---|---|
//! | `setup` | uni 1 | [`Setup`] |
//! | `announce` | bidi 1 | [`AnnounceRequest`], [`AnnounceOk`], [`Announce`] (06), [`AnnounceStatus`] (03 to 05) |
//! | `subscribe` | bidi 2 | [`Subscribe`], [`Subscription`](crate::Subscription) as SUBSCRIBE_UPDATE, [`Response`] |
//! | `fetch` | bidi 3 | [`Fetch`] |
//! | `probe` | bidi 4 | [`Probe`] |
//! | `goaway` | bidi 5 | [`Goaway`] |
//! | `track` | bidi 6 | [`TrackRequest`], [`TrackInfo`](crate::TrackInfo) |
//! | `group` | uni 0 | [`GroupHeader`], [`FrameHeader`] |
//! | `datagram` | – | [`DatagramHeader`] |
//!
//! Owns the bytes of each message in every version. Called by the session's tasks. May not know streams: a message is
//! decoded from a whole body, whose length was checked against [`Message::CAP`] before it was read.

mod announce;
mod datagram;
mod fetch;
mod goaway;
mod group;
mod probe;
mod setup;
mod subscribe;
#[cfg(test)]
mod tests;
mod track;

use bytes::Bytes;

pub use announce::{Announce, AnnounceOk, AnnounceRequest, AnnounceStatus, Status};
pub use datagram::DatagramHeader;
pub use fetch::Fetch;
pub use goaway::{Goaway, MAX_URI};
pub use group::{FrameHeader, GroupHeader};
pub use probe::Probe;
pub use setup::{ProbeLevel, Role, Setup};
pub use subscribe::{Response, Subscribe};
pub use track::TrackRequest;

use super::coding::{DecodeError, EncodeError, Reader, Writer};
use super::version::Version;

/// What the first varint of a bidirectional stream says.
pub mod bidi {
    /// The subscriber asks what is announced below a prefix.
    pub const ANNOUNCE: u64 = 1;
    /// The subscriber asks for a track's groups.
    pub const SUBSCRIBE: u64 = 2;
    /// The subscriber asks for one cached group.
    pub const FETCH: u64 = 3;
    /// The subscriber asks how fast the path is.
    pub const PROBE: u64 = 4;
    /// Either side says that it will close soon.
    pub const GOAWAY: u64 = 5;
    /// The subscriber asks what a track says of itself.
    pub const TRACK: u64 = 6;
}

/// What the first varint of a unidirectional stream says.
pub mod uni {
    /// A group of a subscription.
    pub const GROUP: u64 = 0;
    /// The parameters of the session.
    pub const SETUP: u64 = 1;
}

/// A message that travels as a varint length and a body.
pub trait Message: Sized {
    /// What it is called in errors.
    const NAME: &'static str;
    /// Longest body accepted, in bytes.
    const CAP: usize = 64 << 10;

    /// Writes the body.
    fn encode_body(&self, body: &mut Writer, version: Version);

    /// Reads the body; what is left over is the caller's to refuse.
    ///
    /// # Errors
    /// [`DecodeError`] for anything the version doesn't allow.
    fn decode_body(body: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError>;

    /// Reads a whole body.
    ///
    /// # Errors
    /// As [`Self::decode_body`], and [`DecodeError::Trailing`].
    fn decode(body: &[u8], version: Version) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let message = Self::decode_body(&mut reader, version)?;
        reader.finish()?;
        Ok(message)
    }

    /// Length and body.
    ///
    /// # Errors
    /// [`EncodeError`] if a number doesn't fit a varint.
    fn encode(&self, version: Version) -> Result<Bytes, EncodeError> {
        let mut writer = Writer::new();
        writer.nested(|body| self.encode_body(body, version));
        writer.finish()
    }

    /// Stream type, length and body: the first bytes of a stream.
    ///
    /// # Errors
    /// As [`Self::encode`].
    fn encode_first(&self, stream: u64, version: Version) -> Result<Bytes, EncodeError> {
        let mut writer = Writer::new();
        writer
            .varint(stream)
            .nested(|body| self.encode_body(body, version));
        writer.finish()
    }
}

/// A message that travels as a varint type, a varint length and a body; types not known are skipped by their length.
pub trait Typed: Sized {
    /// What it is called in errors.
    const NAME: &'static str;
    /// Longest body accepted, in bytes.
    const CAP: usize = 64 << 10;

    /// The type in this version.
    fn kind(&self, version: Version) -> u64;

    /// Writes the body.
    fn encode_body(&self, body: &mut Writer, version: Version);

    /// Reads the body of a message of type `kind`; `None` for a type this version doesn't know.
    ///
    /// # Errors
    /// [`DecodeError`] for anything the version doesn't allow.
    fn decode_body(
        kind: u64,
        body: &mut Reader<'_>,
        version: Version,
    ) -> Result<Option<Self>, DecodeError>;

    /// Reads a whole body.
    ///
    /// # Errors
    /// As [`Self::decode_body`], and [`DecodeError::Trailing`].
    fn decode(kind: u64, body: &[u8], version: Version) -> Result<Option<Self>, DecodeError> {
        let mut reader = Reader::new(body);
        match Self::decode_body(kind, &mut reader, version)? {
            None => Ok(None),
            Some(message) => reader.finish().map(|()| Some(message)),
        }
    }

    /// Type, length and body.
    ///
    /// # Errors
    /// [`EncodeError`] if a number doesn't fit a varint.
    fn encode(&self, version: Version) -> Result<Bytes, EncodeError> {
        let mut writer = Writer::new();
        writer
            .varint(self.kind(version))
            .nested(|body| self.encode_body(body, version));
        writer.finish()
    }
}
