//! How fast and how far ahead a decoder takes each kind of stream: the numbers of the T-STD.
//!
//! ISO/IEC 13818-1 §2.4.2.3 and, for H.264 and H.265, §2.14.3.1 and §2.17.2. Called by whoever describes a track to the
//! schedule; knows no queues.

/// What a decoder's buffers for one PID take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rate at which the transport buffer empties, in bit/s (Rx).
    pub leak: u64,
    /// Bytes that may wait behind it: the main buffer of audio and data, multiplexing and elementary buffer of video
    /// together. `None`: not bounded.
    pub buffer: Option<u64>,
}

impl Limits {
    /// Tables and service information: 1 Mb/s (§2.4.2.3).
    pub const SYSTEMS: Self = Self {
        leak: 1_000_000,
        buffer: None,
    };

    /// MPEG audio (§2.4.2.3).
    pub const MPEG_AUDIO: Self = Self {
        leak: 2_000_000,
        buffer: Some(3_584),
    };

    /// AC-3 as ATSC carries it (A/53 part 3); the tighter of the two systems.
    pub const AC3: Self = Self {
        leak: 2_000_000,
        buffer: Some(2_592),
    };

    /// AC-3 as private data of DVB (TS 101 154 annex).
    pub const AC3_DVB: Self = Self {
        leak: 2_000_000,
        buffer: Some(5_696),
    };

    /// E-AC-3.
    pub const EAC3: Self = Self {
        leak: 2_000_000,
        buffer: Some(12_896),
    };

    /// EBU teletext (EN 300 472 §5).
    pub const TELETEXT: Self = Self {
        leak: 6_750_000,
        buffer: None,
    };

    /// Data nobody described: as slow as audio, unbounded behind.
    pub const DATA: Self = Self {
        leak: 2_000_000,
        buffer: None,
    };

    /// AAC in ADTS, and Opus, by channels (§2.4.2.3, table of ADTS buffer sizes).
    pub fn adts(channels: u32) -> Self {
        let (leak, buffer) = match channels {
            0..=2 => (2_000_000, 3_584),
            3..=8 => (5_529_600, 8_976),
            9..=12 => (8_294_400, 12_804),
            _ => (33_177_600, 51_216),
        };
        Self {
            leak,
            buffer: Some(buffer),
        }
    }

    /// H.264 by `profile_idc` and `level_idc` (14496-10 table A-1). `hrd_rate`, in bit/s, is the declared one.
    ///
    /// An unknown level gets the lowest limits: that only sends earlier and slower.
    pub fn h264(profile: u8, level: u8, hrd_rate: Option<u64>) -> Self {
        // kbit/s and kbit of MaxBR and MaxCPB.
        let (rate, size) = match level {
            11 => (192, 500),
            12 => (384, 1_000),
            13 => (768, 2_000),
            20 => (2_000, 2_000),
            21 | 22 => (4_000, 4_000),
            30 => (10_000, 10_000),
            31 => (14_000, 14_000),
            32 => (20_000, 20_000),
            40 => (20_000, 25_000),
            41 | 42 => (50_000, 62_500),
            50 => (135_000, 135_000),
            51 | 52 | 60 => (240_000, 240_000),
            61 => (480_000, 480_000),
            62 => (800_000, 800_000),
            _ => (64, 175),
        };
        let factor = match profile {
            100 => 1_500,
            110 => 3_600,
            122 | 244 => 4_800,
            _ => 1_200,
        };
        Self::video(factor * rate, hrd_rate, 1_200 * rate, 1_200 * size)
    }

    /// H.265 by `general_level_idc` (30 times the level) and tier (23008-2 table A.8).
    pub fn h265(high_tier: bool, level: u8, hrd_rate: Option<u64>) -> Self {
        let (main, high) = match level {
            60 => (1_500, 1_500),
            63 => (3_000, 3_000),
            90 => (6_000, 6_000),
            93 => (10_000, 10_000),
            120 => (12_000, 30_000),
            123 => (20_000, 50_000),
            150 => (25_000, 100_000),
            153 => (40_000, 160_000),
            156 | 180 => (60_000, 240_000),
            183 => (120_000, 480_000),
            186 => (240_000, 800_000),
            _ => (128, 128),
        };
        let kilobits = if high_tier { high } else { main };
        Self::video(
            1_100 * kilobits,
            hrd_rate,
            1_100 * kilobits,
            1_100 * kilobits,
        )
    }

    /// Rates in bit/s, size in bits. The declared rate governs the leak when it is lower; what the level allows beyond a
    /// declared buffer is multiplexing buffer, so both together are the level's size and what multiplexing needs
    /// (§2.14.3.1: 4 ms and 1/750 s of the leak into the elementary buffer).
    fn video(max_rate: u64, hrd_rate: Option<u64>, leak_on: u64, size: u64) -> Self {
        let rate = hrd_rate.map_or(max_rate, |declared| declared.min(max_rate));
        let multiplexing = leak_on.max(2_000_000) * 4 / 1_000 + leak_on.max(2_000_000) / 750;
        Self {
            leak: rate * 12 / 10,
            buffer: Some((size + multiplexing) / 8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_rate_slows_the_leak_and_not_the_buffers() {
        let level = Limits::h264(100, 31, None);
        let declared = Limits::h264(100, 31, Some(4_000_000));
        assert_eq!(level.leak, 1_500 * 14_000 * 12 / 10);
        assert_eq!(declared.leak, 4_800_000);
        assert_eq!(declared.buffer, level.buffer);
        assert!(level.buffer.unwrap() > 1_200 * 14_000 / 8);
    }

    #[test]
    fn an_unknown_level_is_the_lowest() {
        assert!(Limits::h264(77, 200, None).leak < Limits::h264(77, 11, None).leak);
        assert!(Limits::h265(false, 7, None).leak < Limits::h265(false, 60, None).leak);
    }
}
