//! One transport packet as a view over its 188 bytes (ISO/IEC 13818-1 §2.4.3).
//!
//! Reads only, allocates nothing. Called by the demultiplexer and by everything that looks at packets; knows no tables
//! and no streams.

/// Length of a transport packet in bytes.
pub const PACKET: usize = 188;

/// First byte of every packet.
pub const SYNC: u8 = 0x47;

/// PID of the programme association table.
pub const PID_PAT: u16 = 0x0000;

/// PID of null packets.
pub const PID_NULL: u16 = 0x1fff;

/// Number of PIDs there are.
pub const PIDS: usize = 0x2000;

/// A packet whose bytes are borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a>(&'a [u8; PACKET]);

impl<'a> Packet<'a> {
    /// A view; nothing is checked, not even the sync byte.
    #[inline]
    pub fn new(bytes: &'a [u8; PACKET]) -> Self {
        Self(bytes)
    }

    /// All 188 bytes.
    #[inline]
    pub fn bytes(self) -> &'a [u8; PACKET] {
        self.0
    }

    /// Which stream the packet belongs to.
    #[inline]
    pub fn pid(self) -> u16 {
        u16::from(self.0[1] & 0x1f) << 8 | u16::from(self.0[2])
    }

    /// `transport_error_indicator`: a receiver before us saw damage it could not repair.
    #[inline]
    pub fn is_damaged(self) -> bool {
        self.0[1] & 0x80 != 0
    }

    /// `payload_unit_start_indicator`.
    #[inline]
    pub fn starts_unit(self) -> bool {
        self.0[1] & 0x40 != 0
    }

    /// Whether the payload is scrambled.
    #[inline]
    pub fn is_scrambled(self) -> bool {
        self.0[3] & 0xc0 != 0
    }

    /// The four-bit continuity counter.
    #[inline]
    pub fn counter(self) -> u8 {
        self.0[3] & 0x0f
    }

    /// Whether the header announces a payload.
    #[inline]
    pub fn has_payload(self) -> bool {
        self.0[3] & 0x10 != 0
    }

    /// The adaptation field, when there is one that fits the packet and holds its flags.
    #[inline]
    pub fn adaptation(self) -> Option<Adaptation<'a>> {
        if self.0[3] & 0x20 == 0 {
            return None;
        }
        let len = usize::from(self.0[4]);
        self.0
            .get(5..5 + len)
            .filter(|field| !field.is_empty())
            .map(Adaptation)
    }

    /// The payload; empty when there is none or the adaptation field leaves no room for one.
    #[inline]
    pub fn payload(self) -> &'a [u8] {
        match self.0[3] & 0x30 {
            0x10 => &self.0[4..],
            0x30 => self.0.get(5 + usize::from(self.0[4])..).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Whether the adaptation field holds stuffing: the mark of the last packet of a unit, as only there the payload
    /// has to be pushed to the end of the packet.
    pub fn is_stuffed(self) -> bool {
        if self.0[3] & 0x30 != 0x30 {
            return false;
        }
        match self.adaptation() {
            Some(field) => field.is_stuffed(),
            // A field without flags is one byte of stuffing.
            None => self.0[4] == 0,
        }
    }

    /// Whether `other` is this packet sent twice: all bytes equal but the clock fields, which a multiplexer refreshes
    /// (§2.4.3.3). Equal counters alone prove nothing: a loss of fifteen packets gives them too.
    pub fn is_duplicate(self, other: &[u8; PACKET]) -> bool {
        if self.0 == other {
            return true;
        }
        let clocks = self.adaptation().map_or(0, Adaptation::clock_bytes);
        // Byte 5 holds the flags: they must agree for the clock fields to lie in the same place.
        clocks > 0 && self.0[..6] == other[..6] && self.0[6 + clocks..] == other[6 + clocks..]
    }
}

/// The body of an adaptation field: at least the byte of flags (§2.4.3.4).
#[derive(Clone, Copy, Debug)]
pub struct Adaptation<'a>(&'a [u8]);

impl Adaptation<'_> {
    /// `discontinuity_indicator`: on the PCR PID a new time base, elsewhere a counter that may jump.
    #[inline]
    pub fn is_discontinuity(self) -> bool {
        self.0[0] & 0x80 != 0
    }

    /// `random_access_indicator`.
    #[inline]
    pub fn is_random_access(self) -> bool {
        self.0[0] & 0x40 != 0
    }

    /// The PCR in ticks of 27 MHz, when present and whole.
    #[inline]
    pub fn pcr(self) -> Option<i64> {
        if self.0[0] & 0x10 == 0 {
            return None;
        }
        let field: &[u8; 6] = self.0.get(1..7)?.try_into().ok()?;
        let [a, b, c, d, e, f] = field.map(i64::from);
        let base = a << 25 | b << 17 | c << 9 | d << 1 | e >> 7;
        let extension = (e & 1) << 8 | f;
        Some(base * 300 + extension)
    }

    /// Whether bytes are left over once every part the flags announce is through.
    fn is_stuffed(self) -> bool {
        let flags = self.0[0];
        let splice = usize::from(flags & 0x04 != 0);
        let mut used =
            1 + 6 * (usize::from(flags & 0x10 != 0) + usize::from(flags & 0x08 != 0)) + splice;
        // Private data, then the extension: each starts with its length.
        for part in [0x02, 0x01] {
            if flags & part != 0 {
                used += 1 + self.0.get(used).map_or(0, |&len| usize::from(len));
            }
        }
        used < self.0.len()
    }

    /// How many bytes after the flags hold PCR and OPCR.
    fn clock_bytes(self) -> usize {
        let count = usize::from(self.0[0] & 0x10 != 0) + usize::from(self.0[0] & 0x08 != 0);
        if self.0.len() > count * 6 {
            count * 6
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clock_packet(pcr: i64, fill: u8) -> [u8; PACKET] {
        let mut bytes = [fill; PACKET];
        bytes[..6].copy_from_slice(&[SYNC, 0x41, 0x00, 0x37, 7, 0x10]);
        let (base, extension) = (pcr / 300, pcr % 300);
        bytes[6..10].copy_from_slice(&((base >> 1) as u32).to_be_bytes());
        bytes[10] = (base as u8 & 1) << 7 | 0x7e | (extension >> 8) as u8;
        bytes[11] = extension as u8;
        bytes
    }

    #[test]
    fn header_fields_are_read() {
        let bytes = clock_packet(12_345_678, 0xaa);
        let packet = Packet::new(&bytes);
        assert_eq!((packet.pid(), packet.counter()), (0x100, 7));
        assert!(
            packet.starts_unit()
                && packet.has_payload()
                && !packet.is_damaged()
                && !packet.is_scrambled()
        );
        assert_eq!(packet.adaptation().unwrap().pcr(), Some(12_345_678));
        assert_eq!(packet.payload().len(), PACKET - 12);
    }

    #[test]
    fn a_duplicate_may_refresh_its_clock_only() {
        let first = clock_packet(1_000, 0xaa);
        let refreshed = clock_packet(2_000, 0xaa);
        let other = clock_packet(2_000, 0xab);
        assert!(Packet::new(&refreshed).is_duplicate(&first));
        assert!(!Packet::new(&other).is_duplicate(&first));
        let mut plain = [0; PACKET];
        plain[..4].copy_from_slice(&[SYNC, 1, 0, 0x17]);
        let mut changed = plain;
        changed[100] = 1;
        assert!(Packet::new(&plain).is_duplicate(&plain));
        assert!(!Packet::new(&changed).is_duplicate(&plain));
    }

    #[test]
    fn an_adaptation_field_longer_than_the_packet_is_nothing() {
        let mut bytes = [0xff; PACKET];
        bytes[3] = 0x30;
        bytes[4] = 184;
        assert!(Packet::new(&bytes).adaptation().is_none());
        assert!(Packet::new(&bytes).payload().is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_viewed(bytes in prop::array::uniform32(any::<u8>())) {
            let mut packet = [0x5a; PACKET];
            packet[..32].copy_from_slice(&bytes);
            let view = Packet::new(&packet);
            let _ = (view.payload(), view.adaptation().and_then(Adaptation::pcr), view.is_duplicate(&packet));
        }
    }
}
