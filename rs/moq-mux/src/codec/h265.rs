//! H.265: sequence parameters, and which access units can be joined at (ISO/IEC 23008-2).
//!
//! Called by the importer for each access unit, by the exporter for levels and buffers.

use super::bits::Bits;
use super::nal::{self, unescape};

/// What a sequence parameter set says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sps {
    /// Profile, tier and level of the whole stream.
    pub profile: Profile,
    /// Width and height in pixels after cropping.
    pub size: (u32, u32),
    /// Pictures that may follow in decode order and precede in output order, at the highest temporal layer.
    pub reorder: u32,
}

/// `profile_tier_level` (§7.3.3), the general part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// `general_profile_space`, 0 to 3.
    pub space: u8,
    /// `general_tier_flag`: the high tier.
    pub high_tier: bool,
    /// `general_profile_idc`.
    pub idc: u8,
    /// `general_profile_compatibility_flag`s, flag 0 uppermost.
    pub compatibility: u32,
    /// The six bytes of constraint flags.
    pub constraints: [u8; 6],
    /// `general_level_idc`: thirty times the level.
    pub level: u8,
}

impl Sps {
    /// Reads a NAL unit of type 33 up to the picture order; `None` when that cannot be read.
    pub fn parse(unit: &[u8]) -> Option<Self> {
        let payload = unescape(unit, 2);
        let mut bits = Bits::new(&payload);
        bits.skip(4)?;
        let layers = bits.read(3)?;
        bits.skip(1)?;
        let profile = Profile::read(&mut bits, layers)?;
        bits.ue()?;
        let chroma = bits.ue()?;
        if chroma > 3 || chroma == 3 && bits.flag()? {
            // Separate planes count as monochrome for cropping.
        }
        let (width, height) = (bits.ue()?, bits.ue()?);
        let mut size = (width, height);
        if bits.flag()? {
            let (left, right, top, bottom) = (bits.ue()?, bits.ue()?, bits.ue()?, bits.ue()?);
            let (across, down) = match chroma {
                1 => (2, 2),
                2 => (2, 1),
                _ => (1, 1),
            };
            let crop = |len: u32, a: u32, b: u32, step: u32| {
                len.checked_sub(a.checked_add(b)?.checked_mul(step)?)
            };
            size = (
                crop(width, left, right, across)?,
                crop(height, top, bottom, down)?,
            );
        }
        let _depths = (bits.ue()?, bits.ue()?, bits.ue()?);
        let from = if bits.flag()? { 0 } else { layers };
        let mut reorder = 0;
        for _ in from..=layers {
            let (_buffering, pictures, _latency) = (bits.ue()?, bits.ue()?, bits.ue()?);
            reorder = pictures;
        }
        Some(Self {
            profile,
            size,
            reorder,
        })
    }

    /// Codec string for parameter sets in band (ISO/IEC 14496-15 annex E): `hev1.1.6.L93.90`.
    pub fn codec(&self) -> String {
        let Profile {
            space,
            high_tier,
            idc,
            compatibility,
            constraints,
            level,
        } = self.profile;
        let space = ["", "A", "B", "C"][usize::from(space & 3)];
        let tier = if high_tier { 'H' } else { 'L' };
        let mut codec = format!(
            "hev1.{space}{idc}.{:x}.{tier}{level}",
            compatibility.reverse_bits()
        );
        let used = constraints
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        for byte in &constraints[..used] {
            codec.push_str(&format!(".{byte:x}"));
        }
        codec
    }
}

impl Profile {
    fn read(bits: &mut Bits<'_>, layers: u32) -> Option<Self> {
        let space = bits.read(2)? as u8;
        let high_tier = bits.flag()?;
        let idc = bits.read(5)? as u8;
        let compatibility = bits.read(32)?;
        let mut constraints = [0; 6];
        for byte in &mut constraints {
            *byte = bits.read(8)? as u8;
        }
        let level = bits.read(8)? as u8;
        // Sub-layers: what they have is said for all eight first.
        let mut present = Vec::new();
        for _ in 0..layers {
            present.push((bits.flag()?, bits.flag()?));
        }
        if layers > 0 {
            bits.skip(2 * (8 - layers as usize))?;
        }
        for (profile, level) in present {
            bits.skip(if profile { 88 } else { 0 } + if level { 8 } else { 0 })?;
        }
        Some(Self {
            space,
            high_tier,
            idc,
            compatibility,
            constraints,
            level,
        })
    }
}

/// What the front of an access unit tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Front<'a> {
    /// The sequence parameter set, when there is one.
    pub sps: Option<&'a [u8]>,
    /// An intra random access point: IDR, CRA or BLA (types 16 to 23).
    pub random_access: bool,
}

/// Looks at an access unit up to its first slice. O(bytes before it).
pub fn front(unit: &[u8]) -> Front<'_> {
    let mut front = Front::default();
    let mut units = nal::units(unit);
    loop {
        let Some(&first) = units.peek(1).first() else {
            return front;
        };
        match first >> 1 & 0x3f {
            kind @ 0..=31 => {
                front.random_access = (16..=23).contains(&kind);
                return front;
            }
            33 => front.sps = units.next(),
            _ => drop(units.next()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_of_random_access() {
        let unit = |kind: u8| [0, 0, 1, 0x46, 1, 0x50, 0, 0, 1, kind << 1, 1, 0x80];
        for kind in 0..32 {
            assert_eq!(
                front(&unit(kind)).random_access,
                (16..24).contains(&kind),
                "{kind}"
            );
        }
    }

    proptest! {
        #[test]
        fn hostile_units_never_panic(unit: Vec<u8>) {
            let _ = (Sps::parse(&unit).map(|sps| sps.codec()), front(&unit));
        }
    }
}
