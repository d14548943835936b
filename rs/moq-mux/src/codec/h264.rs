//! H.264: sequence parameters, and which access units can be joined at (ISO/IEC 14496-10).
//!
//! Called by the importer for each access unit, by the exporter for levels and buffers.

use h264_reader::nal::sps::SeqParameterSet;
use h264_reader::rbsp::BitReader;

use super::bits::Bits;
use super::nal::{self, unescape};

/// What a sequence parameter set says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sps {
    /// `profile_idc`.
    pub profile: u8,
    /// The constraint flags, `constraint_set0_flag` uppermost.
    pub constraints: u8,
    /// `level_idc`: ten times the level.
    pub level: u8,
    /// Width and height in pixels after cropping, when they could be read.
    pub size: Option<(u32, u32)>,
    /// Pictures that may follow in decode order and precede in output order, when declared.
    pub reorder: Option<u32>,
    /// Frames per second, when declared.
    pub framerate: Option<f64>,
    /// The first declared NAL buffer.
    pub hrd: Option<Hrd>,
}

/// A declared decoder buffer (annex E.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hrd {
    /// Rate in bit/s.
    pub bit_rate: u64,
    /// Size in bits.
    pub cpb_size: u64,
}

impl Sps {
    /// Reads a NAL unit of type 7. `None` when not even profile and level are there; what else cannot be read is left out.
    pub fn parse(unit: &[u8]) -> Option<Self> {
        let &[_, profile, constraints, level, ..] = unit else {
            return None;
        };
        let base = Self {
            profile,
            constraints,
            level,
            ..Self::default()
        };
        let payload = unescape(unit, 1);
        let Ok(sps) = SeqParameterSet::from_bits(BitReader::new(&payload[..])) else {
            return Some(base);
        };
        // 16 bits of macroblocks are a hundred times the largest level; beyond, arithmetic would overflow.
        let sane =
            sps.pic_width_in_mbs_minus1 < 1 << 16 && sps.pic_height_in_map_units_minus1 < 1 << 16;
        let size = if sane {
            sps.pixel_dimensions().ok()
        } else {
            None
        };
        let framerate = sps.fps().filter(|fps| fps.is_finite() && *fps > 0.0);
        let vui = sps.vui_parameters.as_ref();
        let reorder = vui
            .and_then(|vui| vui.bitstream_restrictions.as_ref())
            .map(|r| r.max_num_reorder_frames);
        let hrd = vui
            .and_then(|vui| vui.nal_hrd_parameters.as_ref())
            .and_then(|hrd| {
                let first = hrd.cpb_specs.first()?;
                Some(Hrd {
                    bit_rate: (u64::from(first.bit_rate_value_minus1) + 1)
                        << (6 + hrd.bit_rate_scale.min(15)),
                    cpb_size: (u64::from(first.cpb_size_value_minus1) + 1)
                        << (4 + hrd.cpb_size_scale.min(15)),
                })
            });
        Some(Self {
            size,
            reorder,
            framerate,
            hrd,
            ..base
        })
    }

    /// Codec string for parameter sets in band: `avc3.PPCCLL`.
    pub fn codec(&self) -> String {
        format!(
            "avc3.{:02x}{:02x}{:02x}",
            self.profile, self.constraints, self.level
        )
    }
}

/// What the front of an access unit tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Front<'a> {
    /// The sequence parameter set, when there is one.
    pub sps: Option<&'a [u8]>,
    /// Decoding can start here: an IDR picture, a recovery point, or an intra picture behind parameter sets.
    pub random_access: bool,
}

/// Looks at an access unit up to its first slice. O(bytes before it).
pub fn front(unit: &[u8]) -> Front<'_> {
    let mut front = Front::default();
    let mut units = nal::units(unit);
    loop {
        // Slices are large: their end is not looked for.
        let head = units.peek(16);
        let Some(&first) = head.first() else {
            return front;
        };
        match first & 0x1f {
            5 => front.random_access = true,
            1 | 2 => front.random_access |= front.sps.is_some() && is_intra(head),
            _ => {
                let nal = units.next().unwrap_or_default();
                match first & 0x1f {
                    6 => front.random_access |= has_recovery_point(nal),
                    7 => front.sps = Some(nal),
                    _ => {}
                }
                continue;
            }
        }
        return front;
    }
}

/// Whether a slice says that all slices of its picture are intra, or at least that it is itself (§7.4.3).
fn is_intra(slice: &[u8]) -> bool {
    let payload = unescape(slice, 1);
    let mut bits = Bits::new(&payload);
    let (_first_macroblock, kind) = (bits.ue(), bits.ue());
    matches!(kind, Some(2 | 4 | 7 | 9))
}

/// Whether a SEI unit holds a recovery point message (annex D.1.8).
fn has_recovery_point(unit: &[u8]) -> bool {
    let payload = unescape(unit, 1);
    let mut rest = &payload[..];
    // More than the trailing bits must be left for another message.
    while rest.len() > 2 {
        let (Some(kind), Some(len)) = (varying(&mut rest), varying(&mut rest)) else {
            return false;
        };
        if kind == 6 {
            return true;
        }
        let Some(after) = rest.get(len..) else {
            return false;
        };
        rest = after;
    }
    false
}

/// A number in bytes of 255 and a last smaller one (§7.3.2.3.1).
fn varying(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0;
    loop {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value += usize::from(byte);
        if byte != 255 {
            return Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parameter sets of the sample clip: High@3.1, 640×360, two B-frames, a NAL buffer.
    const CLIP: &[u8] = &[0, 0, 0, 1, 9, 0xf0, 0, 0, 0, 1, 0x67];

    #[test]
    fn a_delimiter_alone_tells_nothing() {
        assert_eq!(front(&CLIP[..6]), Front::default());
    }

    #[test]
    fn kinds_of_random_access() {
        let unit = |nals: &[&[u8]]| {
            nals.iter()
                .flat_map(|n| [&[0, 0, 1], *n].concat())
                .collect::<Vec<u8>>()
        };
        let sps: &[u8] = &[0x67, 0x64, 0, 0x1f];
        let idr: &[u8] = &[0x65, 0x88];
        // first_mb 0 (1), slice types 7 (0001000), 0 (1) and 5 (00110)
        let intra: &[u8] = &[0x41, 0b1000_1000];
        let inter: &[u8] = &[0x41, 0b1001_1000];
        let recovery: &[u8] = &[6, 6, 1, 0xc4, 0x80];
        let other: &[u8] = &[6, 5, 2, 1, 1, 0x80];
        let cases: [(&[&[u8]], bool); 7] = [
            (&[idr], true),
            (&[sps, idr], true),
            (&[sps, intra], true),
            (&[intra], false),
            (&[sps, inter], false),
            (&[other, recovery, inter], true),
            (&[other, inter], false),
        ];
        for (nals, random_access) in cases {
            assert_eq!(front(&unit(nals)).random_access, random_access, "{nals:?}");
        }
    }

    proptest! {
        #[test]
        fn hostile_units_never_panic(mut unit: Vec<u8>, sps: bool) {
            if sps {
                unit.splice(0..0, [0x67, 0x64]);
            }
            let _ = (Sps::parse(&unit), front(&unit), has_recovery_point(&unit), is_intra(&unit));
        }
    }
}
