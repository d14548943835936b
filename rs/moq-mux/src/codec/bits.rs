//! Reads bit fields, most significant first. Called by the header parsers; knows no format.

/// A cursor over bytes; every read is `None` past the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `count` bits, at most 32.
    pub(super) fn read(&mut self, count: usize) -> Option<u32> {
        if self.at + count > self.bytes.len() * 8 {
            return None;
        }
        let mut value = 0u64;
        let (first, last) = (self.at / 8, (self.at + count).div_ceil(8));
        for &byte in &self.bytes[first..last] {
            value = value << 8 | u64::from(byte);
        }
        self.at += count;
        let value = value >> (last * 8 - self.at);
        Some((value & ((1 << count) - 1)) as u32)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        self.read(1).map(|bit| bit != 0)
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count)?;
        (self.at <= self.bytes.len() * 8).then_some(())
    }

    /// An unsigned Exp-Golomb number (ISO/IEC 14496-10 §9.1).
    pub(super) fn ue(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.flag()? {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        Some((1u32 << zeros) - 1 + self.read(zeros)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cross_bytes() {
        let mut bits = Bits::new(&[0b1010_0110, 0b0100_0001, 0xff]);
        assert_eq!(
            (bits.read(3), bits.read(9), bits.read(4)),
            (Some(0b101), Some(0b0_0110_0100), Some(1))
        );
        assert_eq!((bits.read(8), bits.read(1)), (Some(0xff), None));
        assert_eq!(Bits::new(&[1, 2, 3, 4]).read(32), Some(0x0102_0304));
    }

    #[test]
    fn golomb_numbers() {
        // 1, 010, 011, 00100
        let mut bits = Bits::new(&[0b1010_0110, 0b0100_0000]);
        assert_eq!(
            [bits.ue(), bits.ue(), bits.ue(), bits.ue()],
            [Some(0), Some(1), Some(2), Some(3)]
        );
        assert_eq!(Bits::new(&[0; 8]).ue(), None);
    }
}
