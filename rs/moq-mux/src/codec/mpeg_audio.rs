//! MPEG-1 and MPEG-2 audio, layers I to III (ISO/IEC 11172-3 §2.4.1.3, 13818-3 §2.4.2.3).
//!
//! Called through [`super::audio`]. Free format (no bit rate in the header) is not read.

use super::audio::{Codec, Config, Frame, Head};

/// kb/s by index: MPEG-1 layers I, II and III, then MPEG-2 layer I and layers II and III.
const BIT_RATES: [[u32; 14]; 5] = [
    [
        32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448,
    ],
    [
        32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
    ],
    [
        32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
    ],
    [
        32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256,
    ],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

/// Looks at the start of a frame.
pub fn head(bytes: &[u8]) -> Head {
    let &[sync, a, b, c, ..] = bytes else {
        let fits = bytes.first().is_none_or(|&b| b == 0xff)
            && bytes.get(1).is_none_or(|&b| b & 0xe0 == 0xe0);
        return if fits { Head::Short } else { Head::Invalid };
    };
    if sync != 0xff || a & 0xe0 != 0xe0 {
        return Head::Invalid;
    }
    // Version: 0 is MPEG-2.5, 2 MPEG-2, 3 MPEG-1. Layer: 3 is I, 1 is III.
    let (version, layer) = (a >> 3 & 3, 4 - (a >> 1 & 3));
    let (rate_index, sampling, padding) = (
        usize::from(b >> 4),
        usize::from(b >> 2 & 3),
        u32::from(b >> 1 & 1),
    );
    if version == 1 || layer == 4 || !(1..15).contains(&rate_index) || sampling == 3 {
        return Head::Invalid;
    }
    let mpeg1 = version == 3;
    let row = match (mpeg1, layer) {
        (true, layer) => usize::from(layer) - 1,
        (false, 1) => 3,
        (false, _) => 4,
    };
    let bit_rate = BIT_RATES[row][rate_index - 1] * 1000;
    let sample_rate = [44_100, 48_000, 32_000][sampling] >> [2, 0, 1, 0][usize::from(version)];
    let (samples, len) = match layer {
        1 => (384, (12 * bit_rate / sample_rate + padding) * 4),
        3 if !mpeg1 => (576, 72 * bit_rate / sample_rate + padding),
        _ => (1152, 144 * bit_rate / sample_rate + padding),
    };
    let channels = if c >> 6 == 3 { 1 } else { 2 };
    let config = Config {
        codec: Codec::MpegAudio(layer),
        sample_rate,
        channels,
    };
    Head::Frame(Frame {
        len: len as usize,
        strip: 0,
        samples,
        config,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_headers() {
        let cases = [
            // layer II, 192 kb/s, 48 kHz, stereo
            ([0xff, 0xfd, 0xa4, 0x04], 576, 1152, 2, 48_000, 2),
            // layer III, 128 kb/s, 44.1 kHz, padded, joint stereo
            ([0xff, 0xfb, 0x92, 0x64], 418, 1152, 3, 44_100, 2),
            // MPEG-2 layer III, 64 kb/s, 22.05 kHz, mono
            ([0xff, 0xf3, 0x80, 0xc4], 208, 576, 3, 22_050, 1),
        ];
        for (bytes, len, samples, layer, sample_rate, channels) in cases {
            let config = Config {
                codec: Codec::MpegAudio(layer),
                sample_rate,
                channels,
            };
            assert_eq!(
                head(&bytes),
                Head::Frame(Frame {
                    len,
                    strip: 0,
                    samples,
                    config
                }),
                "{bytes:x?}"
            );
        }
        assert_eq!(
            head(&[0xff, 0xfd, 0x04, 0x04]),
            Head::Invalid,
            "free format"
        );
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..6), sync: bool) {
            let bytes = if sync { [&[0xff, 0xfd][..], &bytes].concat() } else { bytes };
            if let Head::Frame(frame) = head(&bytes) {
                prop_assert!((8..=super::super::audio::Format::LONGEST).contains(&frame.len));
            }
        }
    }
}
