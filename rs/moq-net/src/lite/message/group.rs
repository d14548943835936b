//! The group stream: a header, then frames to the end of the stream.

use bytes::BytesMut;

use super::Message;
use crate::lite::coding::{DecodeError, EncodeError, Reader, Writer, put_varint, zigzag};
use crate::lite::version::Version;

/// GROUP: whose group this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupHeader {
    /// The subscriber's id for the subscription.
    pub subscribe: u64,
    /// The group's sequence in its track.
    pub sequence: u64,
    /// Index of the first frame on the stream (06; else 0).
    pub frame_start: u64,
}

impl Message for GroupHeader {
    const NAME: &'static str = "GROUP";
    const CAP: usize = 64;

    fn encode_body(&self, body: &mut Writer, version: Version) {
        body.varint(self.subscribe).varint(self.sequence);
        if version >= Version::Lite06 {
            body.varint(self.frame_start);
        }
    }

    fn decode_body(body: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError> {
        let (subscribe, sequence) = (body.varint()?, body.varint()?);
        let frame_start = if version >= Version::Lite06 {
            body.varint()?
        } else {
            0
        };
        Ok(Self {
            subscribe,
            sequence,
            frame_start,
        })
    }
}

/// What goes before a frame's payload; it has no length of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The frame's timestamp less the one before it on the stream (0 before the first), in the track's timescale.
    /// Since 05; else 0.
    pub delta: i64,
    /// Bytes of payload.
    pub size: u64,
}

impl FrameHeader {
    /// Appends it. Called once a frame, so it writes straight into the caller's buffer.
    ///
    /// # Errors
    /// [`EncodeError`] if the delta doesn't fit in 61 bits and a sign.
    pub fn encode(&self, out: &mut BytesMut, version: Version) -> Result<(), EncodeError> {
        if version.has_setup() {
            put_varint(out, zigzag(self.delta))?;
        }
        put_varint(out, self.size)
    }

    /// Reads it off the front.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn decode(reader: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError> {
        let delta = if version.has_setup() {
            reader.zigzag()?
        } else {
            0
        };
        Ok(Self {
            delta,
            size: reader.varint()?,
        })
    }
}
