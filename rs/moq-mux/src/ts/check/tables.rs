//! Sections of one PID: put together, checked, and for PAT and PMT read.

use super::packet::crc;

/// The longest section there is.
const LONGEST: usize = 4096;

/// Puts sections together.
#[derive(Debug, Default)]
pub(super) struct Sections {
    open: Vec<u8>,
    started: bool,
}

/// What a section says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    pub(super) table_id: u8,
    pub(super) extension: u16,
    pub(super) version: u8,
    pub(super) number: u8,
    /// Whether it is in force.
    pub(super) current: bool,
    /// Whether it has a CRC and that is wrong.
    pub(super) damaged: bool,
    /// Between header and CRC.
    pub(super) body: Vec<u8>,
}

impl Sections {
    /// Packets are missing: what is open is lost.
    pub(super) fn lose(&mut self) {
        self.open.clear();
        self.started = false;
    }

    /// Takes a packet's payload and hands out the sections that end in it.
    pub(super) fn push(&mut self, start: bool, payload: &[u8], each: &mut impl FnMut(Section)) {
        let mut rest = payload;
        if start {
            let Some((&pointer, after)) = rest.split_first() else {
                return;
            };
            let cut = usize::from(pointer).min(after.len());
            if self.started {
                self.fill(&after[..cut], each);
            }
            self.open.clear();
            self.started = true;
            rest = &after[cut..];
        }
        if self.started {
            self.fill(rest, each);
        }
    }

    fn fill(&mut self, bytes: &[u8], each: &mut impl FnMut(Section)) {
        self.open.extend_from_slice(bytes);
        loop {
            // Stuffing ends the sections of a packet.
            if self.open.first() == Some(&0xff) {
                self.open.clear();
                self.started = false;
                return;
            }
            let Some(len) = length(&self.open) else {
                return;
            };
            if len > LONGEST {
                self.lose();
                return;
            }
            if self.open.len() < len {
                return;
            }
            if let Some(section) = Section::read(&self.open[..len]) {
                each(section);
            }
            self.open.drain(..len);
        }
    }
}

fn length(bytes: &[u8]) -> Option<usize> {
    Some(3 + (usize::from(*bytes.get(1)? & 0x0f) << 8 | usize::from(*bytes.get(2)?)))
}

impl Section {
    fn read(bytes: &[u8]) -> Option<Self> {
        let table_id = *bytes.first()?;
        let long = bytes[1] & 0x80 != 0;
        // TOT is the one short section with a CRC; private sections may have anything behind their header.
        let checked = long || table_id == 0x73;
        if !long || bytes.len() < 12 {
            return Some(Self {
                table_id,
                extension: 0,
                version: 0,
                number: 0,
                current: true,
                damaged: checked && crc(bytes) != 0,
                body: bytes[3..].to_vec(),
            });
        }
        Some(Self {
            table_id,
            extension: u16::from_be_bytes([bytes[3], bytes[4]]),
            version: bytes[5] / 2 % 32,
            number: bytes[6],
            current: bytes[5] % 2 == 1,
            damaged: crc(bytes) != 0,
            body: bytes[8..bytes.len() - 4].to_vec(),
        })
    }

    /// Programme numbers and PMT PIDs of a PAT.
    pub(super) fn programs(&self) -> Vec<(u16, u16)> {
        let entry = |c: &[u8]| {
            let pid = u16::from_be_bytes([c[2], c[3]]) & 0x1fff;
            (u16::from_be_bytes([c[0], c[1]]), pid)
        };
        self.body.chunks_exact(4).map(entry).collect()
    }

    /// PCR PID and streams of a PMT.
    pub(super) fn map(&self) -> Option<Map<'_>> {
        let pid = |at: usize| {
            Some(u16::from_be_bytes([
                *self.body.get(at)?,
                *self.body.get(at + 1)?,
            ]))
        };
        let pcr_pid = pid(0)? & 0x1fff;
        let mut at = 4 + usize::from(pid(2)? & 0x0fff);
        let mut streams = Vec::new();
        while at + 5 <= self.body.len() {
            let info = usize::from(pid(at + 3)? & 0x0fff);
            let descriptors = descriptors(self.body.get(at + 5..at + 5 + info)?);
            streams.push((pid(at + 1)? & 0x1fff, self.body[at], descriptors));
            at += 5 + info;
        }
        Some(Map { pcr_pid, streams })
    }
}

/// A PMT.
#[derive(Debug, PartialEq)]
pub(super) struct Map<'a> {
    pub(super) pcr_pid: u16,
    /// PID, `stream_type`, descriptors.
    pub(super) streams: Vec<(u16, u8, Descriptors<'a>)>,
}

/// Tag and body of each.
pub(super) type Descriptors<'a> = Vec<(u8, &'a [u8])>;

fn descriptors(mut bytes: &[u8]) -> Descriptors<'_> {
    let mut list = Vec::new();
    while let [tag, len, rest @ ..] = bytes {
        let Some((body, after)) = rest.split_at_checked(usize::from(*len)) else {
            break;
        };
        list.push((*tag, body));
        bytes = after;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn section(table_id: u8, body: &[u8]) -> Vec<u8> {
        let len = body.len() + 9;
        let mut bytes = vec![
            table_id,
            0xb0 | (len >> 8) as u8,
            len as u8,
            0,
            1,
            0xc3,
            0,
            0,
        ];
        bytes.extend_from_slice(body);
        let crc = crc(&bytes);
        bytes.extend_from_slice(&crc.to_be_bytes());
        bytes
    }

    fn sections(payloads: &[(bool, Vec<u8>)]) -> Vec<Section> {
        let mut assembler = Sections::default();
        let mut found = Vec::new();
        for (start, payload) in payloads {
            assembler.push(*start, payload, &mut |section| found.push(section));
        }
        found
    }

    #[test]
    fn a_map_is_read() {
        let body = [0xe1, 0x00, 0xf0, 0, 0x1b, 0xe1, 0x00, 0xf0, 3, 5, 1, 9];
        let found = sections(&[(true, [&[0][..], &section(2, &body), &[0xff; 9]].concat())]);
        let map = found[0].map().unwrap();
        assert_eq!(map.pcr_pid, 0x100);
        assert_eq!(map.streams, [(0x100, 0x1b, vec![(5, &[9][..])])]);
        assert_eq!(
            (found[0].damaged, found[0].version, found[0].current),
            (false, 1, true)
        );
    }

    #[test]
    fn a_section_over_packets_and_another_behind_it() {
        let long = section(2, &[7; 300]);
        let short = section(0, &[0, 1, 0xf0, 0]);
        let bytes = [&long[..], &short].concat();
        let (head, tail) = bytes.split_at(183);
        let pointer = long.len() - 183;
        let found = sections(&[
            (true, [&[0], head].concat()),
            (true, [&[pointer as u8], tail].concat()),
        ]);
        assert_eq!(found.iter().map(|s| s.table_id).collect::<Vec<_>>(), [2, 0]);
        assert_eq!(found[1].programs(), [(1, 0x1000)]);
    }

    #[test]
    fn a_wrong_crc_shows() {
        let mut bytes = section(0, &[0, 1, 0xf0, 0]);
        bytes[9] ^= 1;
        assert!(sections(&[(true, [&[0][..], &bytes].concat())])[0].damaged);
    }

    proptest! {
        #[test]
        fn hostile_payloads_never_panic(payloads in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..184)), 0..40)) {
            for section in sections(&payloads) {
                let _ = (section.programs(), section.map());
            }
        }
    }
}
