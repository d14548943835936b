//! Opus in transport streams: the control header in front of each access unit, and how long a packet sounds.
//!
//! ETSI TS 103 491 / the Opus-in-TS mapping: 11 bits 0x3FF, flags, a size in bytes of 255 and a last smaller one, then
//! optional trims; RFC 6716 §3.1 for the duration. Called by the importer.

/// Where the packet of an access unit lies, and how many samples at 48 kHz it sounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Length of the control header.
    pub header: usize,
    /// Length of the packet behind it.
    pub packet: usize,
    /// Samples at 48 kHz, trims not taken off.
    pub samples: u32,
}

/// Reads the access unit at the start of `bytes`; `None` when there is none or it is cut short.
pub fn unit(bytes: &[u8]) -> Option<Unit> {
    let (&[high, low], mut rest) = bytes.split_first_chunk()?;
    if high != 0x7f || low & 0xe0 != 0xe0 {
        return None;
    }
    let mut packet = 0;
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        packet += usize::from(byte);
        if byte != 255 {
            break;
        }
    }
    // Trims at either end, two bytes each; then an extension with its length.
    for flag in [0x10, 0x08] {
        if low & flag != 0 {
            rest = rest.get(2..)?;
        }
    }
    if low & 0x04 != 0 {
        let (&len, after) = rest.split_first()?;
        rest = after.get(usize::from(len)..)?;
    }
    let samples = samples(rest.get(..packet)?)?;
    Some(Unit {
        header: bytes.len() - rest.len(),
        packet,
        samples,
    })
}

/// How long a packet sounds, in samples at 48 kHz.
fn samples(packet: &[u8]) -> Option<u32> {
    let &first = packet.first()?;
    let config = first >> 3;
    let frame = match config {
        0..12 => [480, 960, 1920, 2880][usize::from(config & 3)],
        12..16 => [480, 960][usize::from(config & 1)],
        _ => [120, 240, 480, 960][usize::from(config & 3)],
    };
    let frames = match first & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u32::from(packet.get(1)? & 0x3f),
    };
    Some(frame * frames)
}

/// The number of channels in the extension descriptor (tag 0x7F, extension tag 0x80): 1 to 8 are themselves, 0 is two
/// mono programmes.
pub fn channels(descriptor: &[u8]) -> Option<u32> {
    match descriptor {
        [0x80, 0, ..] => Some(2),
        [0x80, code @ 1..=8, ..] => Some(u32::from(*code)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_unit_with_a_long_size() {
        // 300 bytes: 255 + 45; config 31 is 20 ms of CELT, one frame
        let bytes = [&[0x7f, 0xe0, 255, 45, 0xf8][..], &[0; 299]].concat();
        assert_eq!(
            unit(&bytes),
            Some(Unit {
                header: 4,
                packet: 300,
                samples: 960
            })
        );
        assert_eq!(unit(&bytes[..300]), None);
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes: Vec<u8>, sync: bool) {
            let bytes = if sync { [&[0x7f, 0xff][..], &bytes].concat() } else { bytes };
            if let Some(unit) = unit(&bytes) {
                prop_assert!(unit.header + unit.packet <= bytes.len());
            }
        }
    }
}
