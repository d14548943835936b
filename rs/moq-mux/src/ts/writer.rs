//! Units and sections into transport packets.
//!
//! A unit's packets are a pure function of the unit, so their number is known before one is written and two exporters
//! write the same bytes. Called by the multiplexer; knows nothing of slots. ISO/IEC 13818-1 §2.4.3.

use bytes::Bytes;

use super::clock::{MODULUS_27M, MODULUS_90K};
use super::packet::{PACKET, PID_NULL, SYNC};

/// Room for payload in a packet without adaptation field.
const ROOM: usize = PACKET - 4;

/// A longest head: PES header with both times, and an ADTS header.
const HEAD: usize = 19 + 9;

/// One access unit as a PES packet, or one section.
#[derive(Clone, Debug)]
pub struct Unit {
    head: [u8; HEAD],
    head_len: usize,
    payload: Bytes,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A PES packet; true at a random access point.
    Pes(bool),
    Section,
}

/// What a PES packet says beside its payload.
#[derive(Clone, Copy, Debug)]
pub struct PesHead<'a> {
    /// `stream_id`.
    pub stream_id: u8,
    /// Presentation time, unwrapped, in ticks of 90 kHz.
    pub pts: i64,
    /// Decode time, likewise; written only where it differs.
    pub dts: i64,
    /// What goes between the PES header and the payload: an ADTS header. At most nine bytes count.
    pub prefix: &'a [u8],
    /// Decoding can start here.
    pub random_access: bool,
}

impl Unit {
    /// One access unit in a PES packet of its own, aligned (§2.4.3.6). The length is left unbounded where it does not fit
    /// 16 bits, as only video's is allowed to be.
    pub fn pes(head: PesHead<'_>, payload: Bytes) -> Self {
        let prefix = &head.prefix[..head.prefix.len().min(9)];
        let has_dts = head.dts != head.pts;
        let times = if has_dts { 10 } else { 5 };
        let mut bytes = [0; HEAD];
        bytes[2] = 1;
        bytes[3] = head.stream_id;
        let is_video = head.stream_id & 0xf0 == 0xe0;
        let length = u16::try_from(3 + times + prefix.len() + payload.len()).unwrap_or(0);
        bytes[4..6].copy_from_slice(&if is_video { 0 } else { length }.to_be_bytes());
        bytes[6] = 0x84;
        bytes[7] = if has_dts { 0xc0 } else { 0x80 };
        bytes[8] = times as u8;
        bytes[9..14].copy_from_slice(&timestamp(if has_dts { 3 } else { 2 }, head.pts));
        if has_dts {
            bytes[14..19].copy_from_slice(&timestamp(1, head.dts));
        }
        let at = 9 + times;
        bytes[at..at + prefix.len()].copy_from_slice(prefix);
        Self {
            head: bytes,
            head_len: at + prefix.len(),
            payload,
            kind: Kind::Pes(head.random_access),
        }
    }

    /// One section, starting a packet (§2.4.4.1: pointer_field 0).
    pub fn section(section: Bytes) -> Self {
        Self {
            head: [0; HEAD],
            head_len: 1,
            payload: section,
            kind: Kind::Section,
        }
    }

    /// How many packets it takes. All have payload.
    pub fn packets(&self) -> u32 {
        let first = self.first_room();
        let rest = (self.head_len + self.payload.len()).saturating_sub(first);
        1 + rest.div_ceil(ROOM) as u32
    }

    /// Writes packet number `index` of it, counting from 0.
    pub fn write(&self, index: u32, pid: u16, counter: u8, out: &mut [u8; PACKET]) {
        let first = self.first_room();
        let total = self.head_len + self.payload.len();
        let (from, room) = match index {
            0 => (0, first),
            n => (first + (n as usize - 1) * ROOM, ROOM),
        };
        let carried = total.saturating_sub(from).min(room);
        let starts = if index == 0 { 0x40 } else { 0 };
        out[..4].copy_from_slice(&[
            SYNC,
            starts | (pid >> 8) as u8,
            pid as u8,
            0x10 | counter & 0x0f,
        ]);
        let mut at = 4;
        let random_access = index == 0 && self.kind == Kind::Pes(true);
        if self.kind == Kind::Section {
            out[4 + carried..].fill(0xff);
        } else if carried < ROOM {
            // An adaptation field pushes the payload to the end: its length, then flags, then stuffing.
            let field = ROOM - carried;
            out[3] |= 0x20;
            out[4] = (field - 1) as u8;
            if field > 1 {
                out[5] = if random_access { 0x40 } else { 0 };
                out[6..4 + field].fill(0xff);
            }
            at += field;
        }
        self.copy(from, &mut out[at..at + carried]);
    }

    /// Room for payload in the first packet.
    fn first_room(&self) -> usize {
        if self.kind == Kind::Pes(true) {
            ROOM - 2
        } else {
            ROOM
        }
    }

    /// Copies from `from` on of head and payload, one after the other.
    fn copy(&self, from: usize, out: &mut [u8]) {
        let head = &self.head[from.min(self.head_len)..self.head_len];
        let (front, back) = out.split_at_mut(head.len().min(out.len()));
        front.copy_from_slice(&head[..front.len()]);
        let start = from.max(self.head_len) - self.head_len;
        back.copy_from_slice(&self.payload[start..start + back.len()]);
    }
}

/// A packet with nothing but the clock: adaptation field only, so the counter does not move (§2.4.3.3). `clock` is
/// unwrapped, in ticks of 27 MHz; `discontinuity` marks a new time base.
pub fn clock_packet(
    pid: u16,
    counter: u8,
    clock: i64,
    discontinuity: bool,
    out: &mut [u8; PACKET],
) {
    let wire = clock.rem_euclid(MODULUS_27M);
    let (base, extension) = (wire / 300, wire % 300);
    out.fill(0xff);
    out[..5].copy_from_slice(&[
        SYNC,
        (pid >> 8) as u8,
        pid as u8,
        0x20 | counter & 0x0f,
        183,
    ]);
    out[5] = 0x10 | if discontinuity { 0x80 } else { 0 };
    out[6..10].copy_from_slice(&((base >> 1) as u32).to_be_bytes());
    // Six reserved bits are ones.
    out[10] = (base as u8 & 1) << 7 | 0x7e | (extension >> 8) as u8;
    out[11] = extension as u8;
}

/// A packet without payload that announces a jump of the counter: the next one with payload follows `counter`
/// (§2.4.3.5, discontinuity_indicator).
pub fn jump_packet(pid: u16, counter: u8, out: &mut [u8; PACKET]) {
    out.fill(0xff);
    out[..6].copy_from_slice(&[
        SYNC,
        (pid >> 8) as u8,
        pid as u8,
        0x20 | counter & 0x0f,
        183,
        0x80,
    ]);
}

/// A packet that only fills (§2.4.3.3: its counter means nothing).
pub fn null_packet(out: &mut [u8; PACKET]) {
    out.fill(0xff);
    out[..4].copy_from_slice(&[SYNC, (PID_NULL >> 8) as u8, PID_NULL as u8, 0x10]);
}

/// A time of 33 bits in five bytes (§2.4.3.7).
fn timestamp(marker: u8, ticks: i64) -> [u8; 5] {
    let t = ticks.rem_euclid(MODULUS_90K) as u64;
    [
        marker << 4 | (t >> 29) as u8 & 0x0e | 1,
        (t >> 22) as u8,
        (t >> 14) as u8 & 0xfe | 1,
        (t >> 7) as u8,
        (t << 1) as u8 & 0xfe | 1,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::packet::Packet;
    use proptest::prelude::*;

    fn written(unit: &Unit) -> (Vec<[u8; PACKET]>, Vec<u8>) {
        let packets: Vec<_> = (0..unit.packets())
            .map(|n| {
                let mut out = [0x5a; PACKET];
                unit.write(n, 0x123, n as u8, &mut out);
                out
            })
            .collect();
        let payload = packets
            .iter()
            .flat_map(|p| Packet::new(p).payload().to_vec())
            .collect();
        (packets, payload)
    }

    proptest! {
        #[test]
        fn a_unit_is_all_in_its_packets(
            len in 0usize..1200, prefix in prop::collection::vec(any::<u8>(), 0..9),
            pts in -(1i64 << 34)..1 << 35, dts in -(1i64 << 34)..1 << 35, random_access: bool,
        ) {
            let bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let head = PesHead { stream_id: 0xc0, pts, dts, prefix: &prefix, random_access };
            let unit = Unit::pes(head, bytes.clone().into());
            let (packets, payload) = written(&unit);
            let header = if pts == dts { 14 } else { 19 };
            prop_assert_eq!(&payload[..4], &[0, 0, 1, 0xc0]);
            prop_assert_eq!(usize::from(u16::from_be_bytes([payload[4], payload[5]])), payload.len() - 6);
            prop_assert_eq!(&payload[header..header + prefix.len()], &prefix[..]);
            prop_assert_eq!(&payload[header + prefix.len()..], &bytes[..]);
            for (n, bytes) in packets.iter().enumerate() {
                let packet = Packet::new(bytes);
                prop_assert_eq!((packet.pid(), packet.counter()), (0x123, n as u8 & 15));
                prop_assert!(packet.has_payload() && packet.starts_unit() == (n == 0));
                let flagged = packet.adaptation().is_some_and(|field| field.is_random_access());
                prop_assert_eq!(flagged, random_access && n == 0);
            }
        }

        #[test]
        fn a_clock_packet_reads_back(clock in -(1i64 << 45)..1 << 45, counter in 0u8..16, discontinuity: bool) {
            let mut out = [0; PACKET];
            clock_packet(0x1abc, counter, clock, discontinuity, &mut out);
            let packet = Packet::new(&out);
            let field = packet.adaptation().unwrap();
            prop_assert_eq!((packet.pid(), packet.counter(), packet.has_payload()), (0x1abc, counter, false));
            prop_assert_eq!(field.pcr(), Some(clock.rem_euclid(MODULUS_27M)));
            prop_assert_eq!(field.is_discontinuity(), discontinuity);
            prop_assert_eq!(out[10] & 0x7e, 0x7e);
        }
    }

    #[test]
    fn a_section_starts_a_packet_and_ends_in_ones() {
        let (packets, payload) = written(&Unit::section(Bytes::from_static(&[7; 300])));
        assert_eq!(packets.len(), 2);
        assert_eq!(payload[0], 0);
        assert_eq!(payload[1..301], [7; 300]);
        assert!(payload[301..].iter().all(|&byte| byte == 0xff));
    }
}
