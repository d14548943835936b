//! Walks the NAL units of a byte stream with start codes (Annex B of H.264 and of H.265).
//!
//! Called by the importer on the front of each access unit; knows no unit types.

use memchr::memmem;

/// The NAL units of `bytes`, without start codes and the zeros around them. O(bytes walked): lazily.
pub fn units(bytes: &[u8]) -> Units<'_> {
    let rest = start(bytes).map(|at| &bytes[at..]);
    Units { rest }
}

/// Iterator of [`units`].
#[derive(Clone, Debug)]
pub struct Units<'a> {
    /// From the first byte of the next unit on.
    rest: Option<&'a [u8]>,
}

impl<'a> Units<'a> {
    /// The first `len` bytes of the next unit, or fewer, without looking for its end.
    pub fn peek(&self, len: usize) -> &'a [u8] {
        let rest = self.rest.unwrap_or_default();
        &rest[..rest.len().min(len)]
    }
}

impl<'a> Iterator for Units<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.take()?;
        let mut unit = rest;
        if let Some(at) = start(rest) {
            unit = &rest[..at - 3];
            self.rest = Some(&rest[at..]);
        }
        while let Some((&0, front)) = unit.split_last() {
            unit = front;
        }
        Some(unit)
    }
}

/// Where the first unit starts: behind the first 00 00 01.
fn start(bytes: &[u8]) -> Option<usize> {
    memmem::find(bytes, &[0, 0, 1]).map(|at| at + 3)
}

/// The payload of a unit: without `header` bytes and without emulation prevention (00 00 03 becomes 00 00).
pub fn unescape(unit: &[u8], header: usize) -> Vec<u8> {
    let mut payload = Vec::with_capacity(unit.len());
    let mut zeros = 0;
    for &byte in unit.get(header..).unwrap_or_default() {
        if zeros >= 2 && byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        payload.push(byte);
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn start_codes_of_three_and_four_bytes() {
        let bytes = [
            0, 0, 0, 1, 9, 0xf0, 0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x65, 0x80,
        ];
        let found: Vec<&[u8]> = units(&bytes).collect();
        assert_eq!(found, [&[9, 0xf0][..], &[0x67, 1, 2], &[0x65, 0x80]]);
    }

    #[test]
    fn emulation_prevention_is_taken_out() {
        assert_eq!(
            unescape(&[0x67, 0, 0, 3, 1, 0, 0, 3, 3, 0, 3], 1),
            [0, 0, 1, 0, 0, 3, 0, 3]
        );
    }

    proptest! {
        #[test]
        fn units_come_back_whatever_they_hold(bodies in prop::collection::vec(prop::collection::vec(1u8.., 1..20), 0..8), long: bool) {
            let mut bytes = vec![0x55; 3];
            for body in &bodies {
                bytes.extend_from_slice(if long { &[0, 0, 0, 1] } else { &[0, 0, 1] });
                bytes.extend_from_slice(body);
            }
            prop_assert!(units(&bytes).eq(bodies.iter().map(|b| &b[..])));
        }
    }
}
