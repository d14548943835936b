//! A multiplexer for tests: packets in the order they are asked for, each of them open to damage.

use std::collections::HashMap;

use moq_mux::ts::psi::{Descriptor, Pat, Pmt, PmtStream};

/// A transport packet.
pub(crate) type Packet = [u8; 188];

/// Sequence and picture parameter sets of a real encoder: High@3.0, 480×270, three B-frames.
pub(crate) const SPS: &[u8] = &[
    0x67, 0x64, 0x00, 0x1e, 0xac, 0xd9, 0x40, 0xa0, 0x2f, 0xf9, 0x70, 0x11, 0x00,
];

/// Packets so far, and the counter of each PID.
#[derive(Default)]
pub(crate) struct Mux {
    pub(crate) packets: Vec<Packet>,
    counters: HashMap<u16, u8>,
}

/// What may ride in the adaptation field of a packet.
#[derive(Clone, Copy, Default)]
pub(crate) struct Field {
    pub(crate) pcr: Option<i64>,
    pub(crate) discontinuity: bool,
    pub(crate) random_access: bool,
}

impl Mux {
    /// Programme 1 with its PMT on 0x1000, clocked by the first stream.
    pub(crate) fn tables(&mut self, streams: &[(u8, u16)]) {
        let pmt = Pmt {
            program_number: 1,
            pcr_pid: streams[0].1,
            streams: streams
                .iter()
                .map(|&(t, pid)| stream(t, pid, &[]))
                .collect(),
            ..Pmt::default()
        };
        self.pat(&[(1, 0x1000)]);
        self.section(0x1000, &pmt.section());
    }

    pub(crate) fn pat(&mut self, programs: &[(u16, u16)]) {
        let pat = Pat {
            transport_stream_id: 7,
            version: 0,
            programs: programs.to_vec(),
        };
        self.section(0, &pat.section());
    }

    /// A section that starts its own packet.
    pub(crate) fn section(&mut self, pid: u16, section: &[u8]) {
        let bytes = [&[0][..], section].concat();
        for (n, piece) in bytes.chunks(184).enumerate() {
            let mut packet = [0xff; 188];
            self.header(&mut packet, pid, n == 0, 0x10);
            packet[4..4 + piece.len()].copy_from_slice(piece);
            self.packets.push(packet);
        }
    }

    /// A PES packet of open length; the last transport packet is stuffed.
    pub(crate) fn pes(
        &mut self,
        pid: u16,
        stream_id: u8,
        pts: Option<i64>,
        dts: Option<i64>,
        payload: &[u8],
        field: Field,
    ) {
        let bytes = [&pes_header(stream_id, pts, dts, 0)[..], payload].concat();
        self.units(pid, &bytes, field);
    }

    /// A PES packet that says how long it is.
    pub(crate) fn bounded_pes(
        &mut self,
        pid: u16,
        stream_id: u8,
        pts: Option<i64>,
        payload: &[u8],
    ) {
        let bytes = [
            &pes_header(stream_id, pts, None, payload.len())[..],
            payload,
        ]
        .concat();
        self.units(pid, &bytes, Field::default());
    }

    /// Bytes over as many packets as they need, the first with this adaptation field.
    pub(crate) fn units(&mut self, pid: u16, bytes: &[u8], field: Field) {
        let mut rest = bytes;
        let mut first = true;
        while !rest.is_empty() {
            let mut fields = if first { field.bytes() } else { Vec::new() };
            let room = 184
                - if fields.is_empty() {
                    0
                } else {
                    1 + fields.len()
                };
            if rest.len() < room {
                // Stuffing makes the payload end with the packet.
                let missing = room - rest.len();
                if fields.is_empty() {
                    fields = if missing == 1 { Vec::new() } else { vec![0] };
                    fields.resize(missing - 1, 0xff);
                } else {
                    fields.resize(fields.len() + missing, 0xff);
                }
                let mut packet = [0; 188];
                self.header(&mut packet, pid, first, 0x30);
                packet[4] = fields.len() as u8;
                packet[5..5 + fields.len()].copy_from_slice(&fields);
                packet[5 + fields.len()..].copy_from_slice(rest);
                self.packets.push(packet);
                return;
            }
            let mut packet = [0; 188];
            self.header(
                &mut packet,
                pid,
                first,
                if fields.is_empty() { 0x10 } else { 0x30 },
            );
            let start = 188 - room;
            if !fields.is_empty() {
                packet[4] = fields.len() as u8;
                packet[5..start].copy_from_slice(&fields);
            }
            packet[start..].copy_from_slice(&rest[..room]);
            self.packets.push(packet);
            rest = &rest[room..];
            first = false;
        }
    }

    /// A packet that carries the clock alone.
    pub(crate) fn clock(&mut self, pid: u16, pcr: i64, discontinuity: bool) {
        let fields = Field {
            pcr: Some(pcr),
            discontinuity,
            random_access: false,
        }
        .bytes();
        let mut packet = [0xff; 188];
        let counter = self.counters.get(&pid).copied().unwrap_or(15);
        packet[..5].copy_from_slice(&[0x47, (pid >> 8) as u8, pid as u8, 0x20 | counter, 183]);
        packet[5..5 + fields.len()].copy_from_slice(&fields);
        self.packets.push(packet);
    }

    pub(crate) fn null(&mut self) {
        let mut packet = [0xff; 188];
        packet[..4].copy_from_slice(&[0x47, 0x1f, 0xff, 0x10]);
        self.packets.push(packet);
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.packets.concat()
    }

    /// Position of the `n`-th packet of a PID.
    pub(crate) fn nth(&self, pid: u16, n: usize) -> usize {
        let of = |packet: &Packet| u16::from_be_bytes([packet[1] & 0x1f, packet[2]]) == pid;
        self.packets
            .iter()
            .enumerate()
            .filter(|(_, p)| of(p))
            .nth(n)
            .expect("that many packets")
            .0
    }

    fn header(&mut self, packet: &mut Packet, pid: u16, start: bool, control: u8) {
        let counter = self.counters.entry(pid).or_insert(15);
        *counter = (*counter + 1) & 15;
        packet[0] = 0x47;
        packet[1] = (pid >> 8) as u8 | if start { 0x40 } else { 0 };
        packet[2] = pid as u8;
        packet[3] = control | *counter;
    }
}

impl Field {
    pub(crate) fn pcr(pcr: i64) -> Self {
        Self {
            pcr: Some(pcr),
            ..Self::default()
        }
    }

    fn bytes(self) -> Vec<u8> {
        let flags = u8::from(self.discontinuity) << 7
            | u8::from(self.random_access) << 6
            | u8::from(self.pcr.is_some()) << 4;
        let mut bytes = if flags == 0 { Vec::new() } else { vec![flags] };
        if let Some(pcr) = self.pcr {
            let (base, extension) = (pcr / 300, pcr % 300);
            bytes.extend_from_slice(&((base >> 1) as u32).to_be_bytes());
            bytes.push((base as u8 & 1) << 7 | 0x7e | (extension >> 8) as u8);
            bytes.push(extension as u8);
        }
        bytes
    }
}

pub(crate) fn stream(stream_type: u8, pid: u16, descriptors: &[(u8, &[u8])]) -> PmtStream {
    let descriptors = descriptors
        .iter()
        .map(|&(tag, data)| Descriptor {
            tag,
            data: data.to_vec().into(),
        })
        .collect();
    PmtStream {
        stream_type,
        pid,
        descriptors,
    }
}

fn pes_header(stream_id: u8, pts: Option<i64>, dts: Option<i64>, len: usize) -> Vec<u8> {
    let time = |prefix: u8, ticks: i64| {
        let ticks = ticks.rem_euclid(1 << 33);
        [
            prefix << 4 | (ticks >> 29) as u8 & 0x0e | 1,
            (ticks >> 22) as u8,
            (ticks >> 14) as u8 | 1,
            (ticks >> 7) as u8,
            (ticks << 1) as u8 | 1,
        ]
    };
    let mut fields = Vec::new();
    if let Some(pts) = pts {
        fields.extend(time(if dts.is_some() { 3 } else { 2 }, pts));
    }
    fields.extend(dts.map(|dts| time(1, dts)).into_iter().flatten());
    let flags = u8::from(pts.is_some()) << 7 | u8::from(dts.is_some()) << 6;
    let len = if len == 0 { 0 } else { 3 + fields.len() + len };
    let mut bytes = vec![0, 0, 1, stream_id, (len >> 8) as u8, len as u8, 0x80, flags];
    bytes.push(fields.len() as u8);
    bytes.extend(fields);
    bytes
}

/// An access unit of H.264: delimiter, parameter sets when it is a key picture, and a slice of `len` bytes.
pub(crate) fn picture(key: bool, len: usize, fill: u8) -> Vec<u8> {
    let mut unit = vec![0, 0, 0, 1, 9, 0xf0];
    if key {
        unit.extend_from_slice(&[0, 0, 0, 1]);
        unit.extend_from_slice(SPS);
        unit.extend_from_slice(&[0, 0, 0, 1, 0x68, 0xeb, 0xe3, 0xcb]);
    }
    unit.extend_from_slice(&[0, 0, 1, if key { 0x65 } else { 0x41 }, 0x9a]);
    unit.resize(unit.len() + len, fill.max(4));
    unit
}

/// An MPEG audio frame: layer II, 192 kb/s, 48 kHz, 576 bytes, 2,160 ticks.
pub(crate) fn mp2(fill: u8) -> Vec<u8> {
    let mut frame = vec![fill; 576];
    frame[..4].copy_from_slice(&[0xff, 0xfd, 0xa4, 0x04]);
    frame
}

/// An AAC frame of `len` bytes in ADTS: 48 kHz stereo, 1,920 ticks; `fullness` is the eleven bits of buffer fullness.
pub(crate) fn aac(len: usize, fill: u8, fullness: u16) -> Vec<u8> {
    let mut frame = vec![fill; len];
    frame[..7].copy_from_slice(&[
        0xff,
        0xf1,
        0x4c,
        0x80 | (len >> 11) as u8,
        (len >> 3) as u8,
        (len << 5) as u8 | (fullness >> 6) as u8,
        (fullness << 2) as u8,
    ]);
    frame
}
