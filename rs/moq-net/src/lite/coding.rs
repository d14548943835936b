//! The primitive encodings of moq-lite: varints, lengths, text, durations.
//!
//! Owns [`Reader`] and [`Writer`]; called by every message. May not know any message: only bytes already at hand, each
//! length checked against what is there (and against a cap) before anything is reserved.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};

use crate::{Error, Path};

/// Largest value of a QUIC varint (RFC 9000 §16).
pub const MAX_VARINT: u64 = (1 << 62) - 1;

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside a value.
    #[error("a value is cut short")]
    Truncated,
    /// A length is above the cap for what is named.
    #[error("{0} is too long")]
    TooLong(&'static str),
    /// Bytes are left over after the last field.
    #[error("bytes are left over after a message")]
    Trailing,
    /// A value that the protocol doesn't allow.
    #[error("{0} is not valid")]
    Invalid(&'static str),
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::Decode(match error {
            DecodeError::Truncated => "a value is cut short",
            DecodeError::Trailing => "bytes are left over after a message",
            DecodeError::TooLong(what) | DecodeError::Invalid(what) => what,
        })
    }
}

/// A value, or a sum of values, that no varint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a number above 2^62-1 cannot be sent")]
pub struct EncodeError;

impl From<EncodeError> for Error {
    fn from(_: EncodeError) -> Self {
        Self::ProtocolViolation("a number above 2^62-1 cannot be sent")
    }
}

/// Reads values off the front of a slice. O(1) a value; copies nothing but text.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the front of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes are left.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Says that nothing should be left.
    ///
    /// # Errors
    /// [`DecodeError::Trailing`].
    pub const fn finish(self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(DecodeError::Trailing)
        }
    }

    /// One byte.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        let (&byte, rest) = self.rest.split_first().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(byte)
    }

    /// A varint: 1, 2, 4 or 8 bytes, the two highest bits saying which (RFC 9000 §16).
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        let first = *self.rest.first().ok_or(DecodeError::Truncated)?;
        let bytes = self.take(1 << (first >> 6))?;
        let value = bytes
            .iter()
            .fold(0, |value, &byte| value << 8 | u64::from(byte));
        Ok(value & (u64::MAX >> (2 + 64 - 8 * bytes.len())))
    }

    /// A signed number as a zigzag varint.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn zigzag(&mut self) -> Result<i64, DecodeError> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// An optional number: 0 is none, else the value plus one.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn option(&mut self) -> Result<Option<u64>, DecodeError> {
        Ok(self.varint()?.checked_sub(1))
    }

    /// A duration in milliseconds.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn duration(&mut self) -> Result<Duration, DecodeError> {
        self.varint().map(Duration::from_millis)
    }

    /// `length` bytes.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] if there are fewer.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A varint length of at most `cap`, then that many bytes; `what` names them if there are more.
    ///
    /// # Errors
    /// [`DecodeError::TooLong`] beyond `cap`, [`DecodeError::Truncated`].
    pub fn bytes(&mut self, what: &'static str, cap: usize) -> Result<&'a [u8], DecodeError> {
        match usize::try_from(self.varint()?) {
            Ok(length) if length <= cap => self.take(length),
            _ => Err(DecodeError::TooLong(what)),
        }
    }

    /// Text of at most `cap` bytes.
    ///
    /// # Errors
    /// As [`Self::bytes`], and [`DecodeError::Invalid`] if it isn't UTF-8.
    pub fn text(&mut self, what: &'static str, cap: usize) -> Result<&'a str, DecodeError> {
        str::from_utf8(self.bytes(what, cap)?).map_err(|_| DecodeError::Invalid(what))
    }

    /// A path, normalised.
    ///
    /// # Errors
    /// As [`Self::text`], and [`DecodeError::Invalid`] beyond 32 parts.
    pub fn path(&mut self) -> Result<Path, DecodeError> {
        Path::new(self.text("a path", MAX_TEXT)?).map_err(|_| DecodeError::Invalid("a path"))
    }
}

/// Longest path or track name, in bytes.
pub const MAX_TEXT: usize = 4096;

/// Collects the values of a message. A number no varint holds is remembered and refused at the end, so that messages
/// are written without a check a field.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: BytesMut,
    overflow: bool,
}

impl Writer {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was written.
    ///
    /// # Errors
    /// [`EncodeError`] if any number was above [`MAX_VARINT`].
    pub fn finish(self) -> Result<Bytes, EncodeError> {
        if self.overflow {
            Err(EncodeError)
        } else {
            Ok(self.bytes.freeze())
        }
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes.put_u8(value);
        self
    }

    /// A varint in its shortest form.
    pub fn varint(&mut self, value: u64) -> &mut Self {
        self.overflow |= put_varint(&mut self.bytes, value).is_err();
        self
    }

    /// An optional number: 0 is none, else the value plus one.
    pub fn option(&mut self, value: Option<u64>) -> &mut Self {
        self.varint(value.map_or(0, |value| value.saturating_add(1)))
    }

    /// A duration in milliseconds, saturating at [`MAX_VARINT`]: the longest stands for "without limit".
    pub fn duration(&mut self, value: Duration) -> &mut Self {
        self.varint(
            u64::try_from(value.as_millis())
                .unwrap_or(MAX_VARINT)
                .min(MAX_VARINT),
        )
    }

    /// A length and that many bytes.
    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.varint(value.len() as u64);
        self.bytes.put_slice(value);
        self
    }

    /// A length and text.
    pub fn text(&mut self, value: &str) -> &mut Self {
        self.bytes(value.as_bytes())
    }

    /// What another writer holds.
    pub fn append(&mut self, other: Self) -> &mut Self {
        self.overflow |= other.overflow;
        self.bytes.extend_from_slice(&other.bytes);
        self
    }

    /// A value whose length goes before it.
    pub fn nested(&mut self, write: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self::new();
        write(&mut inner);
        self.overflow |= inner.overflow;
        self.bytes(&inner.bytes)
    }
}

/// Appends a varint in its shortest form.
///
/// # Errors
/// [`EncodeError`] above [`MAX_VARINT`]; nothing is appended.
pub fn put_varint(out: &mut BytesMut, value: u64) -> Result<(), EncodeError> {
    match value {
        0..0x40 => out.put_u8(value as u8),
        0x40..0x4000 => out.put_u16(0x4000 | value as u16),
        0x4000..0x4000_0000 => out.put_u32(0x8000_0000 | value as u32),
        0x4000_0000..=MAX_VARINT => out.put_u64(0xc000_0000_0000_0000 | value),
        _ => return Err(EncodeError),
    }
    Ok(())
}

/// The zigzag form of a signed number: small magnitudes stay small.
#[must_use]
pub const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn varint(value: u64) -> Bytes {
        let mut writer = Writer::new();
        writer.varint(value);
        writer.finish().unwrap()
    }

    #[test]
    fn varints_as_in_rfc_9000_appendix_a() {
        for (bytes, value) in [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            assert_eq!(Reader::new(bytes).varint(), Ok(value));
            assert_eq!(varint(value), bytes);
        }
        assert_eq!(
            Reader::new(&[0x40, 0x25]).varint(),
            Ok(37),
            "a longer form than needed is allowed"
        );
    }

    #[test]
    fn a_number_above_62_bits_is_refused_when_the_message_is_done() {
        let mut writer = Writer::new();
        writer.varint(MAX_VARINT + 1).u8(7);
        assert_eq!(writer.finish(), Err(EncodeError));
        let mut nested = Writer::new();
        nested.nested(|inner| {
            inner.varint(u64::MAX);
        });
        assert_eq!(nested.finish(), Err(EncodeError));
    }

    #[test]
    fn a_length_is_checked_before_anything_is_reserved() {
        let huge = varint(1 << 40);
        assert_eq!(
            Reader::new(&huge).text("a name", 100),
            Err(DecodeError::TooLong("a name"))
        );
        assert_eq!(
            Reader::new(&varint(100)).bytes("a name", 100),
            Err(DecodeError::Truncated)
        );
    }

    #[test]
    fn text_is_utf8() {
        assert_eq!(
            Reader::new(&[1, 0xff]).text("a name", 9),
            Err(DecodeError::Invalid("a name"))
        );
    }

    #[test]
    fn paths_are_normalised_and_at_most_32_parts() {
        assert_eq!(Reader::new(b"\x05/a//b").path().unwrap().as_str(), "a/b");
        let mut deep = Writer::new();
        deep.text(&"a/".repeat(33));
        assert_eq!(
            Reader::new(&deep.finish().unwrap()).path(),
            Err(DecodeError::Invalid("a path"))
        );
    }

    proptest! {
        #[test]
        fn varints_come_back(value in 0..=MAX_VARINT) {
            let bytes = varint(value);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.varint(), Ok(value));
            prop_assert_eq!(reader.finish(), Ok(()));
            for end in 0..bytes.len() {
                prop_assert_eq!(Reader::new(&bytes[..end]).varint(), Err(DecodeError::Truncated));
            }
        }

        #[test]
        fn zigzag_comes_back(value in -(1i64 << 61)..1i64 << 61) {
            let bytes = varint(zigzag(value));
            prop_assert_eq!(Reader::new(&bytes).zigzag(), Ok(value));
        }

        #[test]
        fn options_come_back(value in proptest::option::of(0..MAX_VARINT)) {
            let mut writer = Writer::new();
            writer.option(value);
            prop_assert_eq!(Reader::new(&writer.finish().unwrap()).option(), Ok(value));
        }
    }
}
