//! A datagram: a one-frame group that may be lost (since 05).

use bytes::{Bytes, BytesMut};

use crate::Datagram;
use crate::lite::coding::{DecodeError, EncodeError, Reader, put_varint};

/// What goes before a datagram's payload, which runs to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHeader {
    /// The subscriber's id for the subscription.
    pub subscribe: u64,
    /// Its place in the track's sequence.
    pub sequence: u64,
    /// Its timestamp in the track's timescale.
    pub timestamp: u64,
}

impl DatagramHeader {
    /// A whole datagram of subscription `subscribe`.
    ///
    /// # Errors
    /// [`EncodeError`] if a number doesn't fit a varint.
    pub fn encode(subscribe: u64, datagram: &Datagram) -> Result<Bytes, EncodeError> {
        let mut out = BytesMut::with_capacity(3 * 8 + datagram.payload.len());
        put_varint(&mut out, subscribe)?;
        put_varint(&mut out, datagram.sequence)?;
        put_varint(&mut out, datagram.timestamp.value())?;
        out.extend_from_slice(&datagram.payload);
        Ok(out.freeze())
    }

    /// Reads it off the front; what is left is the payload.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            subscribe: reader.varint()?,
            sequence: reader.varint()?,
            timestamp: reader.varint()?,
        })
    }
}
