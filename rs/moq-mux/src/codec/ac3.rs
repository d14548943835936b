//! AC-3 and E-AC-3 sync frames (ETSI TS 102 366 §4.3 and §E.1.2).
//!
//! Called through [`super::audio`]. In E-AC-3 the dependent substreams of a programme belong to the frame in front.

use super::audio::{Codec, Config, Frame, Head};
use super::bits::Bits;

/// kb/s by half of `frmsizecod`.
const BIT_RATES: [u32; 19] = [
    32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640,
];

const SAMPLE_RATES: [u32; 3] = [48_000, 44_100, 32_000];

/// Full-bandwidth channels by `acmod`.
const CHANNELS: [u32; 8] = [2, 1, 2, 3, 3, 4, 4, 5];

/// Samples of a block.
const BLOCK: u32 = 256;

/// Looks at the start of a frame.
pub fn head(bytes: &[u8]) -> Head {
    if bytes.len() < 8 {
        let sync = [0x0b, 0x77];
        return if bytes.iter().zip(sync).all(|(&b, s)| b == s) {
            Head::Short
        } else {
            Head::Invalid
        };
    }
    if bytes[..2] != [0x0b, 0x77] {
        return Head::Invalid;
    }
    // `bsid` lies in the same place in both: 8 and less is AC-3, 11 to 16 E-AC-3.
    let frame = match bytes[5] >> 3 {
        0..=8 => ac3(bytes),
        11..=16 => eac3(bytes),
        _ => None,
    };
    match frame {
        Some(frame) if frame.config.codec == Codec::Eac3 => with_dependents(bytes, frame),
        Some(frame) => Head::Frame(frame),
        None => Head::Invalid,
    }
}

fn ac3(bytes: &[u8]) -> Option<Frame> {
    let (fscod, size) = (usize::from(bytes[4] >> 6), usize::from(bytes[4] & 0x3f));
    let sample_rate = *SAMPLE_RATES.get(fscod)?;
    let bit_rate = *BIT_RATES.get(size / 2)? * 1000;
    // 1,536 samples in 16-bit words; at 44.1 kHz odd codes are one longer.
    let mut words = bit_rate * 96 / sample_rate;
    if fscod == 1 {
        words += size as u32 & 1;
    }
    let mut bits = Bits::new(&bytes[6..]);
    let mode = bits.read(3)?;
    if mode & 1 != 0 && mode != 1 {
        bits.skip(2)?;
    }
    if mode & 4 != 0 {
        bits.skip(2)?;
    }
    if mode == 2 {
        bits.skip(2)?;
    }
    let channels = CHANNELS[mode as usize] + bits.read(1)?;
    let config = Config {
        codec: Codec::Ac3,
        sample_rate,
        channels,
    };
    Some(Frame {
        len: words as usize * 2,
        strip: 0,
        samples: 6 * BLOCK,
        config,
    })
}

fn eac3(bytes: &[u8]) -> Option<Frame> {
    let mut bits = Bits::new(&bytes[2..]);
    let kind = bits.read(2)?;
    bits.skip(3)?;
    let len = (bits.read(11)? as usize + 1) * 2;
    let fscod = bits.read(2)?;
    let (sample_rate, blocks) = match fscod {
        3 => (*SAMPLE_RATES.get(bits.read(2)? as usize)? / 2, 6),
        _ => (
            SAMPLE_RATES[fscod as usize],
            [1, 2, 3, 6][bits.read(2)? as usize],
        ),
    };
    let channels = CHANNELS[bits.read(3)? as usize] + bits.read(1)?;
    if kind == 3 || len < 8 {
        return None;
    }
    let config = Config {
        codec: Codec::Eac3,
        sample_rate,
        channels,
    };
    Some(Frame {
        len,
        strip: 0,
        samples: blocks * BLOCK,
        config,
    })
}

/// Adds what depends on the frame: further frames of type 1, and independent ones of other programmes.
fn with_dependents(bytes: &[u8], first: Frame) -> Head {
    let mut whole = first;
    while let Some(rest) = bytes.get(whole.len..).filter(|rest| !rest.is_empty()) {
        if rest.len() < 8 {
            return if rest[0] == 0x0b {
                Head::Short
            } else {
                Head::Frame(whole)
            };
        }
        let follows = rest[..2] == [0x0b, 0x77] && rest[5] >> 3 >= 11 && rest[2] & 0xf8 != 0;
        let Some(next) =
            eac3(rest).filter(|_| follows && whole.len < super::audio::Format::LONGEST)
        else {
            break;
        };
        whole.len += next.len;
    }
    Head::Frame(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_headers() {
        // 192 kb/s, 48 kHz, stereo, as ffmpeg writes it
        let Head::Frame(frame) = head(&[0x0b, 0x77, 0x12, 0x34, 0x14, 0x40, 0x43, 0xe1]) else {
            panic!("a frame")
        };
        let config = Config {
            codec: Codec::Ac3,
            sample_rate: 48_000,
            channels: 2,
        };
        assert_eq!(
            frame,
            Frame {
                len: 768,
                strip: 0,
                samples: 1536,
                config
            }
        );
    }

    #[test]
    fn dependent_substreams_belong_to_the_frame_in_front() {
        // strmtyp 0, 512 bytes, 48 kHz, six blocks, 3/2 with LFE, bsid 16; then strmtyp 1, 256 bytes
        let mut independent = vec![0; 512];
        independent[..6].copy_from_slice(&[0x0b, 0x77, 0x00, 0xff, 0x3f, 0x80]);
        let mut dependent = vec![0; 256];
        dependent[..6].copy_from_slice(&[0x0b, 0x77, 0x40, 0x7f, 0x34, 0x80]);
        let bytes = [&independent[..], &dependent, &independent].concat();
        let Head::Frame(frame) = head(&bytes) else {
            panic!("a frame")
        };
        assert_eq!(
            (frame.len, frame.samples, frame.config.channels),
            (768, 1536, 6)
        );
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40), sync: bool) {
            let bytes = if sync { [&[0x0b, 0x77][..], &bytes].concat() } else { bytes };
            if let Head::Frame(frame) = head(&bytes) {
                prop_assert!(frame.len >= 8);
            }
        }
    }
}
