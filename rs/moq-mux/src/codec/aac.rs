//! ADTS, the framing of AAC in transport streams (ISO/IEC 13818-7 §6.2, 14496-3 §1.A.2.2).
//!
//! Called through [`super::audio`]; the exporter rebuilds headers with [`with_length`].

use super::audio::{Codec, Config, Frame, Head};
use super::bits::Bits;

/// Length of the header without its CRC.
pub const HEADER: usize = 7;

const RATES: [u32; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
    7_350,
];

/// Looks at the start of a frame.
pub fn head(bytes: &[u8]) -> Head {
    let Some(header) = bytes.first_chunk::<HEADER>() else {
        let sync = [0xff, 0xf0];
        let fits = bytes
            .iter()
            .zip(sync)
            .enumerate()
            .all(|(n, (&b, s))| if n == 0 { b == s } else { b & 0xf6 == s });
        return if fits { Head::Short } else { Head::Invalid };
    };
    // Sync word, and layer, which is always 0.
    if header[0] != 0xff || header[1] & 0xf6 != 0xf0 {
        return Head::Invalid;
    }
    let has_crc = header[1] & 1 == 0;
    let object_type = (header[2] >> 6) + 1;
    let rate_index = header[2] >> 2 & 0x0f;
    let channels = (header[2] & 1) << 2 | header[3] >> 6;
    let len = frame_length(header);
    let blocks = u32::from(header[6] & 3) + 1;
    let Some(&sample_rate) = RATES.get(usize::from(rate_index)) else {
        return Head::Invalid;
    };
    // With several blocks the CRCs lie among them: the whole header is carried then.
    let strip = if blocks == 1 {
        HEADER + if has_crc { 2 } else { 0 }
    } else {
        0
    };
    if len < strip.max(HEADER) {
        return Head::Invalid;
    }
    let config = [
        object_type << 3 | rate_index >> 1,
        (rate_index & 1) << 7 | channels << 3,
    ];
    let channels = match channels {
        0 => match element_channels(&bytes[strip.max(HEADER).min(bytes.len())..]) {
            Some(channels) => channels,
            None if bytes.len() < len => return Head::Short,
            None => 2,
        },
        7 => 8,
        n => u32::from(n),
    };
    Head::Frame(Frame {
        len,
        strip,
        samples: 1024 * blocks,
        config: Config {
            codec: Codec::Aac(config),
            sample_rate,
            channels,
        },
    })
}

/// `aac_frame_length`: header included.
pub fn frame_length(header: &[u8; HEADER]) -> usize {
    usize::from(header[3] & 3) << 11 | usize::from(header[4]) << 3 | usize::from(header[5] >> 5)
}

/// The header for a frame of `len` bytes, header included; at most 8,191.
pub fn with_length(template: &[u8; HEADER], len: usize) -> [u8; HEADER] {
    let mut header = *template;
    header[3] = template[3] & !3 | (len >> 11 & 3) as u8;
    header[4] = (len >> 3) as u8;
    header[5] = template[5] & 0x1f | (len << 5) as u8;
    header
}

/// The channels a programme config element at the front of a raw block lists (14496-3 §4.4.1.1): with channel
/// configuration 0 they are said nowhere else.
fn element_channels(block: &[u8]) -> Option<u32> {
    let mut bits = Bits::new(block);
    if bits.read(3)? != 5 {
        return None;
    }
    bits.skip(4 + 2 + 4)?;
    let counts = [bits.read(4)?, bits.read(4)?, bits.read(4)?];
    let low = bits.read(2)?;
    bits.skip(3 + 4)?;
    for width in [4, 4, 3] {
        if bits.flag()? {
            bits.skip(width)?;
        }
    }
    let mut channels = low;
    for _ in 0..counts.iter().sum() {
        channels += 1 + bits.read(1)?;
        bits.skip(4)?;
    }
    Some(channels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_as_ffmpeg_writes_it() {
        // AAC-LC, 48 kHz, stereo, 371 bytes
        let header = [0xff, 0xf1, 0x4c, 0x80, 0x2e, 0x7f, 0xfc];
        let Head::Frame(frame) = head(&header) else {
            panic!("a frame")
        };
        assert_eq!((frame.len, frame.strip, frame.samples), (371, 7, 1024));
        let Config {
            codec,
            sample_rate,
            channels,
        } = frame.config;
        assert_eq!(
            (codec, sample_rate, channels),
            (Codec::Aac([0x11, 0x90]), 48_000, 2)
        );
        assert_eq!(codec.name(), "mp4a.40.2");
    }

    proptest! {
        #[test]
        fn lengths_go_in_and_out(template: [u8; HEADER], len in 0..8192usize) {
            let header = with_length(&template, len);
            prop_assert_eq!(frame_length(&header), len);
            prop_assert_eq!(with_length(&header, frame_length(&template)), template);
        }

        #[test]
        fn hostile_bytes_never_panic(mut bytes: Vec<u8>, sync: bool) {
            if sync {
                bytes.splice(0..0, [0xff, 0xf1, 0x4c, 0]);
            }
            let _ = head(&bytes);
        }
    }
}
