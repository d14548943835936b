//! The checker's own view of a packet, a PES header and a section (ISO/IEC 13818-1 §2.4.3).
//!
//! Written apart from the crate's other parsers, so that a mistake there is not graded with the same mistake here.

use super::framing::LEN;

/// One packet.
#[derive(Clone, Copy)]
pub(super) struct View<'a>(pub(super) &'a [u8; LEN]);

impl<'a> View<'a> {
    pub(super) fn pid(self) -> u16 {
        u16::from_be_bytes([self.0[1], self.0[2]]) & 0x1fff
    }

    pub(super) fn error(self) -> bool {
        self.0[1] >> 7 == 1
    }

    pub(super) fn unit_start(self) -> bool {
        self.0[1] >> 6 & 1 == 1
    }

    pub(super) fn scrambled(self) -> bool {
        self.0[3] >> 6 != 0
    }

    pub(super) fn counter(self) -> u8 {
        self.0[3] % 16
    }

    pub(super) fn has_payload(self) -> bool {
        self.0[3] >> 4 & 1 == 1
    }

    /// The adaptation field behind its length byte; empty when there is none.
    fn adaptation(self) -> &'a [u8] {
        if self.0[3] >> 5 & 1 == 0 {
            return &[];
        }
        let len = usize::from(self.0[4]).min(LEN - 5);
        &self.0[5..5 + len]
    }

    pub(super) fn payload(self) -> &'a [u8] {
        if !self.has_payload() {
            return &[];
        }
        let start = if self.0[3] >> 5 & 1 == 1 {
            5 + usize::from(self.0[4])
        } else {
            4
        };
        self.0.get(start..).unwrap_or_default()
    }

    pub(super) fn discontinuity(self) -> bool {
        self.adaptation()
            .first()
            .is_some_and(|flags| flags >> 7 == 1)
    }

    /// PCR in ticks of 27 MHz, modulo 2^33 × 300.
    pub(super) fn pcr(self) -> Option<u64> {
        let field = self.adaptation();
        if field.len() < 7 || field[0] >> 4 & 1 == 0 {
            return None;
        }
        let value = field[1..7]
            .iter()
            .fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        Some((value >> 15) * 300 + (value & 0x1ff))
    }

    /// Whether the six bits between the parts of the PCR are ones.
    pub(super) fn pcr_reserved(self) -> bool {
        self.adaptation()
            .get(5)
            .is_some_and(|byte| byte & 0x7e == 0x7e)
    }
}

/// What a PES header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PesHeader {
    pub(super) stream_id: u8,
    /// 33-bit times; `dts` is the PTS when only that is there.
    pub(super) times: Option<(u64, u64)>,
    /// Length of the header, in bytes.
    pub(super) len: usize,
}

/// Reads a PES header at the start of a packet's payload; `None` when there is none, or not all of it.
pub(super) fn pes_header(payload: &[u8]) -> Option<PesHeader> {
    if payload.get(..3)? != [0, 0, 1] {
        return None;
    }
    let stream_id = *payload.get(3)?;
    // Padding, private stream 2, ECM, EMM, directory, DSM-CC and H.222.1 type E have six bytes only.
    if matches!(stream_id, 0xbc | 0xbe | 0xbf | 0xf0..=0xf2 | 0xf8 | 0xff) {
        return (payload.len() >= 6).then_some(PesHeader {
            stream_id,
            times: None,
            len: 6,
        });
    }
    let flags = *payload.get(7)? >> 6;
    let len = 9 + usize::from(*payload.get(8)?);
    let time = |at: usize| {
        let b: Vec<u64> = payload
            .get(at..at + 5)?
            .iter()
            .map(|&b| u64::from(b))
            .collect();
        Some((b[0] / 2 % 8) << 30 | b[1] << 22 | (b[2] / 2) << 15 | b[3] << 7 | (b[4] / 2))
    };
    let times = match flags {
        2 => time(9).map(|pts| (pts, pts)),
        3 => time(9).zip(time(14)),
        _ => None,
    };
    (payload.len() >= len).then_some(PesHeader {
        stream_id,
        times,
        len,
    })
}

/// The CRC of §2.4.4 bit by bit: zero over a section with an intact CRC.
pub(super) fn crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte) << 24, |crc: u32, _| {
            crc << 1 ^ if crc >> 31 == 1 { 0x04c1_1db7 } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_of_a_known_pat() {
        // transport stream 1, programme 1 on PID 0x1000
        let pat = [
            0x00, 0xb0, 0x0d, 0x00, 0x01, 0xc1, 0x00, 0x00, 0x00, 0x01, 0xf0, 0x00, 0x2a, 0xb1,
            0x04, 0xb2,
        ];
        assert_eq!(crc(&pat), 0);
        assert_ne!(crc(&pat[..15]), 0);
    }

    #[test]
    fn times_of_a_pes_header() {
        let header = [
            0, 0, 1, 0xe0, 0, 0, 0x84, 0xc0, 10, 0x31, 0x00, 0x07, 0xd8, 0x61, 0x11, 0x00, 0x05,
            0xbf, 0x21,
        ];
        let parsed = pes_header(&header).unwrap();
        assert_eq!((parsed.stream_id, parsed.len), (0xe0, 19));
        assert_eq!(parsed.times, Some((126_000, 90_000)));
        assert_eq!(pes_header(&header[..18]), None);
    }
}
