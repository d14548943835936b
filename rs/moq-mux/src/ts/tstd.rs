//! How fast and how far ahead a decoder takes each kind of stream: the numbers of the T-STD, and the account of a
//! transport buffer.
//!
//! ISO/IEC 13818-1 §2.4.2.3 and, for H.264 and H.265, §2.14.3.1 and §2.17.2. Called by whoever describes a track to the
//! schedule, and by the schedule; knows no queues.

use super::packet::PACKET;
use crate::codec::h264::Hrd;

/// What a decoder's buffers for one PID take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rate in bit/s at which a flow may enter for ever: that of the transport buffer (Rx), or of the multiplexing buffer
    /// behind it (Rbx) where that is slower, so that neither fills.
    pub leak: u64,
    /// Bytes that may wait to be decoded: the main buffer of audio and data, the elementary buffer of video. `None`: not
    /// bounded.
    pub buffer: Option<u64>,
    /// Bytes that fit beyond that where a unit would else be late: the multiplexing buffer, and what the level allows
    /// beyond a declared buffer.
    pub reserve: u64,
    /// How long before its decode time a unit may be sent, in ticks of 27 MHz; the multiplex may set less.
    pub lead: i64,
}

/// A quarter of a second: audio and data need no more, and come evenly from the start.
const SHORT_LEAD: i64 = 6_750_000;

/// A second: the longest that data of any kind may wait in a decoder (§2.4.2.6).
const LONG_LEAD: i64 = 27_000_000;

impl Limits {
    /// Tables and service information: 1 Mb/s (§2.4.2.3). Sent in the slot they are due in.
    pub const SYSTEMS: Self = Self::plain(1_000_000, None, 1_350_000);

    /// MPEG audio (§2.4.2.3).
    pub const MPEG_AUDIO: Self = Self::plain(2_000_000, Some(3_584), SHORT_LEAD);

    /// AC-3 as ATSC carries it (A/53 part 3); the tighter of the two systems.
    pub const AC3: Self = Self::plain(2_000_000, Some(2_592), SHORT_LEAD);

    /// AC-3 as private data of DVB (TS 101 154 annex).
    pub const AC3_DVB: Self = Self::plain(2_000_000, Some(5_696), SHORT_LEAD);

    /// E-AC-3.
    pub const EAC3: Self = Self::plain(2_000_000, Some(12_896), SHORT_LEAD);

    /// EBU teletext (EN 300 472 §5).
    pub const TELETEXT: Self = Self::plain(6_750_000, None, SHORT_LEAD);

    /// DVB subtitles (EN 300 743 §5).
    pub const SUBTITLES: Self = Self::plain(192_000, Some(24 << 10), LONG_LEAD);

    /// Data nobody described: as slow as audio, unbounded behind.
    pub const DATA: Self = Self::plain(2_000_000, None, SHORT_LEAD);

    const fn plain(leak: u64, buffer: Option<u64>, lead: i64) -> Self {
        Self {
            leak,
            buffer,
            reserve: 0,
            lead,
        }
    }

    /// AAC in ADTS, and Opus, by channels (§2.4.2.3, table of ADTS buffer sizes).
    pub fn adts(channels: u32) -> Self {
        let (leak, buffer) = match channels {
            0..=2 => (2_000_000, 3_584),
            3..=8 => (5_529_600, 8_976),
            9..=12 => (8_294_400, 12_804),
            _ => (33_177_600, 51_216),
        };
        Self::plain(leak, Some(buffer), SHORT_LEAD)
    }

    /// H.264 by `profile_idc` and `level_idc` (14496-10 table A-1), and the buffer the stream declares.
    ///
    /// An unknown level gets the highest limits: nobody can say that they are too high.
    pub fn h264(profile: u8, level: u8, hrd: Option<Hrd>) -> Self {
        // kbit/s and kbit of MaxBR and MaxCPB.
        let (rate, size) = match level {
            9 => (128, 350),
            10 => (64, 175),
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
            _ => (800_000, 800_000),
        };
        let factor = match profile {
            100 => 1_500,
            110 => 3_600,
            122 | 244 => 4_800,
            _ => 1_200,
        };
        let rate_on = 1_200 * rate;
        let declared = hrd.map_or(factor * rate, |hrd| hrd.bit_rate);
        let size_on = hrd.map_or(1_200 * size, |hrd| hrd.cpb_size);
        // The transport buffer empties at 1.2 times the declared rate, the multiplexing buffer at that of the level.
        Self::video(
            (declared * 6 / 5).min(rate_on),
            rate_on,
            size_on,
            1_200 * size,
        )
    }

    /// H.265 by `general_level_idc` (30 times the level) and tier (23008-2 table A.8).
    pub fn h265(high_tier: bool, level: u8) -> Self {
        let (main, high) = match level {
            30 => (128, 128),
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
            _ => (240_000, 800_000),
        };
        let most = 1_100 * if high_tier { high } else { main };
        Self::video(most, most, most, most)
    }

    /// Rates in bit/s, sizes in bits. Multiplexing takes 4 ms and 1/750 s of the level's rate, at least of 2 Mb/s, and
    /// what the level's buffer has beyond the declared one (§2.14.3.1).
    fn video(leak: u64, level_rate: u64, size: u64, level_size: u64) -> Self {
        let base = level_rate.max(2_000_000);
        let multiplexing = base / 250 + base / 750 + level_size.saturating_sub(size);
        Self {
            leak,
            buffer: Some(size / 8),
            reserve: multiplexing / 8,
            lead: LONG_LEAD,
        }
    }
}

/// Most that may have gathered in a transport buffer (512 bytes, §2.4.2.3) when a slot ends: an even flow can be a whole
/// packet ahead of its share at any point of the next one.
const CARRIED: i64 = 512 - LEN;

const LEN: i64 = PACKET as i64;

/// An upper bound of what a PID's transport buffer holds at slot borders.
///
/// Stands on the layout's promise that a lane is less than one packet from its even share anywhere in a slot. Say b bytes
/// are in the buffer at the start of a slot in which c packets come and L bytes can leave. From the start on, at most a
/// packet more than the even share has come at any point; from a later point on, when the buffer was empty, two packets
/// more, and one at the end of the slot. So max(b, 188) + 188c − L bounds the end, and a packet more what is inside: what
/// is left at the end must stay within 512 − 188. What a slot cannot take for rounding, the next one can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportBuffer {
    bytes: i64,
}

impl TransportBuffer {
    /// Packets that may come in a slot while `leaves` bytes leave.
    pub fn room(self, leaves: i64) -> u32 {
        let room = (CARRIED + leaves - self.bytes.max(LEN)) / LEN;
        // A single one finds what is left, and no other.
        let single = self.bytes + LEN - leaves <= CARRIED && self.bytes <= CARRIED;
        u32::try_from(room.max(i64::from(single))).unwrap_or(u32::MAX)
    }

    /// `packets` came in a slot while `leaves` bytes left.
    pub fn pass(&mut self, packets: u32, leaves: i64) {
        self.bytes = match packets {
            0 => (self.bytes - leaves).max(0),
            1 => (self.bytes + LEN - leaves).max(LEN),
            _ => (self.bytes.max(LEN) + i64::from(packets) * LEN - leaves).max(LEN),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::layout::{Layout, Share};
    use proptest::prelude::*;

    #[test]
    fn a_declared_rate_slows_the_leak_and_its_size_bounds_the_buffer() {
        let level = Limits::h264(100, 31, None);
        let hrd = Hrd {
            bit_rate: 4_000_000,
            cpb_size: 4_000_000,
        };
        let declared = Limits::h264(100, 31, Some(hrd));
        assert_eq!(
            level.leak,
            1_200 * 14_000,
            "the multiplexing buffer is the slower one"
        );
        assert_eq!(declared.leak, 4_800_000);
        assert_eq!(level.buffer, Some(1_200 * 14_000 / 8));
        assert_eq!(declared.buffer, Some(500_000));
        assert_eq!(
            declared.buffer.unwrap() + declared.reserve,
            level.buffer.unwrap() + level.reserve
        );
    }

    #[test]
    fn an_unknown_level_is_the_highest() {
        assert!(Limits::h264(77, 200, None).leak > Limits::h264(77, 52, None).leak);
        assert!(Limits::h265(false, 7).leak > Limits::h265(false, 183).leak);
    }

    proptest! {
        /// The account against the buffer itself, packet by packet through real layouts.
        #[test]
        fn what_the_account_admits_never_overflows(
            positions in 20usize..400,
            leak_share in 3u64..110,
            wanted in prop::collection::vec((0u32..400, prop::collection::vec(0u32..60, 0..8)), 1..30),
        ) {
            // A lane whose leak is a share (in percent) of the rate of the multiplex, among others.
            let leaves_each = 188.0 * leak_share as f64 / 100.0;
            let leaves = (leaves_each * positions as f64) as i64;
            let mut account = TransportBuffer::default();
            let mut layout = Layout::default();
            let mut buffer: f64 = 0.0;
            for (wanted, others) in wanted {
                let count = wanted.min(account.room(leaves)).min(positions as u32);
                let mut left = positions as u32 - count;
                let span = positions as u32;
                let mut shares = vec![Share { count, span }];
                for other in others {
                    let count = other.min(left);
                    left -= count;
                    shares.push(Share { count, span });
                }
                for &lane in layout.place(positions, &shares, None) {
                    let arrives = if lane == 0 { 188.0 } else { 0.0 };
                    buffer = (buffer + arrives - leaves_each).max(0.0);
                    prop_assert!(buffer <= 512.0, "{buffer}");
                }
                account.pass(count, leaves);
                prop_assert!(buffer <= account.bytes as f64 + 1.0);
            }
        }

        /// From 138 kb/s on. Below, where a slot takes one packet or two, there are two narrow bands of leaks (210 to 238
        /// and 418 to 428 bytes a slot) at which whole packets cannot make up nine tenths within the bound.
        #[test]
        fn a_flow_at_nine_tenths_of_the_leak_is_never_held_back(leaves in 429i64..100_000) {
            let mut account = TransportBuffer::default();
            let mut sent = 0i64;
            for slot in 1..400 {
                let due = slot * leaves * 9 / 10 / LEN - sent;
                let count = due.min(i64::from(account.room(leaves)));
                account.pass(count as u32, leaves);
                sent += count;
                prop_assert!(due - count <= 1);
            }
        }
    }
}
