//! The `legacy` frame container: presentation time in front of an access unit.
//!
//! Called by the importer and the exporter. Knows nothing of codecs or of transport streams.
//! Layout: QUIC variable-length integer (RFC 9000 §16) of the time in µs, then the bytes of the unit.

use bytes::{Bytes, BytesMut};

use crate::{Error, Result};

/// Units per second of the timestamps in the container and on the wire.
pub const TIMESCALE: u64 = 1_000_000;

/// The highest time that fits, in µs: a QUIC integer has 62 bits.
pub const MAX_TIME: u64 = (1 << 62) - 1;

/// Room a [`Builder`] leaves in front of the unit: the longest header.
pub const HEADROOM: usize = 8;

/// Splits a frame payload into its presentation time in µs and the access unit, copying nothing.
///
/// # Errors
/// [`Error::Container`] when the payload ends inside the header.
pub fn split(mut payload: Bytes) -> Result<(u64, Bytes)> {
    let cut = Error::Container(payload.len());
    let Some(&first) = payload.first() else {
        return Err(cut);
    };
    let len = 1 << (first >> 6);
    if payload.len() < len {
        return Err(cut);
    }
    let mut time = u64::from(first & 0x3f);
    for &byte in &payload[1..len] {
        time = time << 8 | u64::from(byte);
    }
    let unit = payload.split_off(len);
    Ok((time, unit))
}

/// Puts `micros` in front of `unit`, copying the unit once.
///
/// Times above [`MAX_TIME`] are clamped to it.
pub fn join(micros: u64, unit: &[u8]) -> Bytes {
    let mut builder = Builder::with_capacity(unit.len());
    builder.extend(unit);
    builder.finish(micros)
}

/// Collects an access unit behind room for the header, so that the time may be known last and nothing is moved.
#[derive(Debug, Default)]
pub struct Builder {
    buffer: BytesMut,
}

impl Builder {
    /// A builder that takes `unit` bytes without growing.
    pub fn with_capacity(unit: usize) -> Self {
        let mut buffer = BytesMut::with_capacity(HEADROOM + unit);
        buffer.extend_from_slice(&[0; HEADROOM]);
        Self { buffer }
    }

    /// The reserved bytes and the unit, to go on with elsewhere.
    pub fn into_inner(self) -> BytesMut {
        self.buffer
    }

    /// Appends bytes of the unit.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The unit so far.
    pub fn unit(&self) -> &[u8] {
        self.buffer.get(HEADROOM..).unwrap_or_default()
    }

    /// Length of the unit so far, in bytes.
    pub fn len(&self) -> usize {
        self.buffer.len().saturating_sub(HEADROOM)
    }

    /// Whether nothing has been appended yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The payload with `micros` in front, in the shortest form; above [`MAX_TIME`] it is clamped.
    pub fn finish(mut self, micros: u64) -> Bytes {
        let micros = micros.min(MAX_TIME);
        if self.buffer.len() < HEADROOM {
            self.buffer.resize(HEADROOM, 0);
        }
        let (len, tag) = match micros {
            0..0x40 => (1, 0x00),
            0x40..0x4000 => (2, 0x40),
            0x4000..0x4000_0000 => (4, 0x80),
            _ => (8, 0xc0),
        };
        let start = HEADROOM - len;
        self.buffer[start..HEADROOM].copy_from_slice(&micros.to_be_bytes()[8 - len..]);
        self.buffer[start] |= tag;
        self.buffer.freeze().slice(start..)
    }
}

/// A unit collected elsewhere, behind [`HEADROOM`] reserved bytes.
impl From<BytesMut> for Builder {
    fn from(buffer: BytesMut) -> Self {
        Self { buffer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_joined_splits_again(micros in 0..=MAX_TIME, shift in 0u32..62, unit: Vec<u8>) {
            let micros = micros >> shift;
            let (time, bytes) = split(join(micros, &unit)).unwrap();
            prop_assert_eq!(time, micros);
            prop_assert_eq!(&bytes[..], &unit[..]);
        }

        #[test]
        fn hostile_payloads_never_panic(payload: Vec<u8>) {
            let _ = split(Bytes::from(payload));
        }
    }

    #[test]
    fn headers_take_the_shortest_form() {
        for (micros, len) in [
            (0, 1),
            (63, 1),
            (64, 2),
            (16_383, 2),
            (16_384, 4),
            (1 << 30, 8),
        ] {
            assert_eq!(join(micros, b"x").len(), len + 1, "{micros}");
        }
    }

    #[test]
    fn a_cut_header_is_an_error() {
        assert!(split(Bytes::new()).is_err());
        assert!(split(Bytes::from_static(&[0xc0, 0, 0])).is_err());
    }
}
