//! Sections and the two tables that describe a multiplex, PAT and PMT (ISO/IEC 13818-1 §2.4.4).
//!
//! [`Assembler`] makes sections out of the packets of one PID; [`Pat`] and [`Pmt`] read and write tables. Called by the
//! demultiplexer and by the writer; knows nothing of elementary streams.

use bytes::Bytes;
use crc::{CRC_32_MPEG_2, Crc, Table};

pub use crate::catalog::Descriptor;

/// The longest section there is: three bytes of header and a length of 4,093.
pub const MAX_SECTION: usize = 4096;

static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_MPEG_2);

/// The CRC of §2.4.4: over a whole section, its own CRC included, it is zero.
pub fn crc32(bytes: &[u8]) -> u32 {
    CRC.checksum(bytes)
}

/// One whole section.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a>(&'a [u8]);

impl<'a> Section<'a> {
    /// A view over a section: `None` unless `bytes` is at least a header and exactly as long as it says.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let len = section_len(bytes)?;
        (bytes.len() == len).then_some(Self(bytes))
    }

    /// All bytes, CRC included.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// `table_id`.
    pub fn table_id(self) -> u8 {
        self.0[0]
    }

    /// Whether the section has the long header: extension, version, numbering and CRC.
    pub fn is_long(self) -> bool {
        self.0[1] & 0x80 != 0 && self.0.len() >= 12
    }

    /// `table_id_extension`; 0 in a short section.
    pub fn extension(self) -> u16 {
        if self.is_long() {
            u16::from_be_bytes([self.0[3], self.0[4]])
        } else {
            0
        }
    }

    /// `version_number`, 0 to 31; 0 in a short section.
    pub fn version(self) -> u8 {
        if self.is_long() {
            self.0[5] >> 1 & 0x1f
        } else {
            0
        }
    }

    /// Whether the section is in force (`current_next_indicator`); short ones always are.
    pub fn is_current(self) -> bool {
        !self.is_long() || self.0[5] & 1 != 0
    }

    /// `section_number` and `last_section_number`.
    pub fn number(self) -> (u8, u8) {
        if self.is_long() {
            (self.0[6], self.0[7])
        } else {
            (0, 0)
        }
    }

    /// Whether the CRC holds. Short sections have none, but TOT (EN 300 468 §5.2.6).
    pub fn is_intact(self) -> bool {
        if self.0[1] & 0x80 == 0 && self.table_id() != 0x73 {
            return true;
        }
        self.0.len() >= 7 && crc32(self.0) == 0
    }

    /// What lies between the long header and the CRC; empty in a short section.
    pub fn body(self) -> &'a [u8] {
        if self.is_long() {
            &self.0[8..self.0.len() - 4]
        } else {
            &[]
        }
    }
}

/// The length a section's first three bytes announce; `None` while they are not there.
fn section_len(bytes: &[u8]) -> Option<usize> {
    let &[_, high, low, ..] = bytes else {
        return None;
    };
    Some(3 + (usize::from(high & 0x0f) << 8 | usize::from(low)))
}

/// Puts the sections of one PID together.
///
/// Holds at most one section ([`MAX_SECTION`] bytes). The caller checks continuity and calls [`Assembler::reset`] when
/// packets are missing.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    partial: Vec<u8>,
    synced: bool,
}

impl Assembler {
    /// Forgets a section begun; the next one starts at a pointer.
    pub fn reset(&mut self) {
        self.partial.clear();
        self.synced = false;
    }

    /// Takes the payload of one packet and hands every section that ends in it to `each`, intact or not.
    ///
    /// Returns how many pieces had to be thrown away: announced lengths over the limit and pointers past the packet.
    pub fn push(
        &mut self,
        starts_unit: bool,
        payload: &[u8],
        mut each: impl FnMut(Section<'_>),
    ) -> u32 {
        let mut rest = payload;
        let mut dropped = 0;
        if starts_unit {
            let Some((&pointer, after)) = rest.split_first() else {
                return 0;
            };
            let Some((tail, next)) = after.split_at_checked(usize::from(pointer)) else {
                self.reset();
                return 1;
            };
            if self.synced {
                dropped += self.take(tail, &mut each);
                // Whatever is still open was cut short: a new section starts here.
                dropped += u32::from(!self.partial.is_empty());
            }
            self.partial.clear();
            self.synced = true;
            rest = next;
        }
        if self.synced {
            dropped += self.take(rest, &mut each);
        }
        dropped
    }

    fn take(&mut self, mut rest: &[u8], each: &mut impl FnMut(Section<'_>)) -> u32 {
        while !rest.is_empty() {
            if self.partial.is_empty() {
                // Stuffing fills the rest of the packet once a table is through.
                if rest[0] == 0xff {
                    return 0;
                }
                if let Some(section) = section_len(rest)
                    .and_then(|len| rest.get(..len))
                    .filter(|s| s.len() <= MAX_SECTION)
                {
                    each(Section(section));
                    rest = &rest[section.len()..];
                    continue;
                }
            }
            if self.partial.len() < 3 {
                let (head, after) = rest.split_at(rest.len().min(3 - self.partial.len()));
                self.partial.extend_from_slice(head);
                rest = after;
            }
            let Some(len) = section_len(&self.partial) else {
                return 0;
            };
            if len > MAX_SECTION {
                self.reset();
                return 1;
            }
            let (body, after) = rest.split_at(rest.len().min(len - self.partial.len()));
            self.partial.extend_from_slice(body);
            rest = after;
            if self.partial.len() == len {
                each(Section(&self.partial));
                self.partial.clear();
            }
        }
        0
    }
}

/// The programme association table, or one section of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pat {
    /// `transport_stream_id`.
    pub transport_stream_id: u16,
    /// `version_number`, 0 to 31.
    pub version: u8,
    /// Programme number and PMT PID, in order; number 0 is the network PID.
    pub programs: Vec<(u16, u16)>,
}

impl Pat {
    /// Reads a section; `None` when it is not a PAT.
    pub fn parse(section: Section<'_>) -> Option<Self> {
        if section.table_id() != 0x00 || !section.is_long() {
            return None;
        }
        let (entries, _) = section.body().as_chunks::<4>();
        let programs = entries
            .iter()
            .map(|&[a, b, c, d]| {
                (
                    u16::from_be_bytes([a, b]),
                    u16::from_be_bytes([c, d]) & 0x1fff,
                )
            })
            .collect();
        Some(Self {
            transport_stream_id: section.extension(),
            version: section.version(),
            programs,
        })
    }

    /// The table as one section. Programmes beyond what a section holds (253) are left out.
    pub fn section(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(4 * self.programs.len());
        for &(number, pid) in self.programs.iter().take(253) {
            body.extend_from_slice(&number.to_be_bytes());
            body.extend_from_slice(&(0xe000 | pid & 0x1fff).to_be_bytes());
        }
        long_section(0x00, self.transport_stream_id, self.version, &body)
    }
}

/// The map of one programme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pmt {
    /// `program_number`.
    pub program_number: u16,
    /// `version_number`, 0 to 31.
    pub version: u8,
    /// PID that carries the clock; 0x1FFF when none does.
    pub pcr_pid: u16,
    /// Descriptors of the programme.
    pub descriptors: Vec<Descriptor>,
    /// The elementary streams in order.
    pub streams: Vec<PmtStream>,
}

/// One elementary stream in a PMT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PmtStream {
    /// `stream_type`.
    pub stream_type: u8,
    /// PID of the stream.
    pub pid: u16,
    /// Its descriptors.
    pub descriptors: Vec<Descriptor>,
}

impl Pmt {
    /// Reads a section; `None` when it is not a PMT or its loops do not fit.
    pub fn parse(section: Section<'_>) -> Option<Self> {
        if section.table_id() != 0x02 || !section.is_long() {
            return None;
        }
        let (&[a, b, c, d], rest) = section.body().split_first_chunk()?;
        let (info, mut rest) =
            rest.split_at_checked(usize::from(u16::from_be_bytes([c, d]) & 0x0fff))?;
        let mut streams = Vec::new();
        while let Some((&[stream_type, p, q, l, m], after)) = rest.split_first_chunk() {
            let (info, after) =
                after.split_at_checked(usize::from(u16::from_be_bytes([l, m]) & 0x0fff))?;
            let pid = u16::from_be_bytes([p, q]) & 0x1fff;
            streams.push(PmtStream {
                stream_type,
                pid,
                descriptors: parse_descriptors(info),
            });
            rest = after;
        }
        Some(Self {
            program_number: section.extension(),
            version: section.version(),
            pcr_pid: u16::from_be_bytes([a, b]) & 0x1fff,
            descriptors: parse_descriptors(info),
            streams,
        })
    }

    /// The table as one section. Streams and descriptors beyond what a section holds are left out.
    pub fn section(&self) -> Vec<u8> {
        // §2.4.4.9: section_length of a PMT is at most 1,021; nine bytes of it are header, four CRC.
        const ROOM: usize = 1021 - 9;
        let mut body = (0xe000 | self.pcr_pid & 0x1fff).to_be_bytes().to_vec();
        write_descriptors(&mut body, &self.descriptors, ROOM);
        for stream in &self.streams {
            if body.len() + 5 > ROOM {
                break;
            }
            body.push(stream.stream_type);
            body.extend_from_slice(&(0xe000 | stream.pid & 0x1fff).to_be_bytes());
            write_descriptors(&mut body, &stream.descriptors, ROOM);
        }
        long_section(0x02, self.program_number, self.version, &body)
    }
}

/// Reads a descriptor loop; a last one that does not fit is left out.
pub fn parse_descriptors(mut bytes: &[u8]) -> Vec<Descriptor> {
    let mut descriptors = Vec::new();
    while let Some((&[tag, len], rest)) = bytes.split_first_chunk() {
        let Some((data, rest)) = rest.split_at_checked(usize::from(len)) else {
            break;
        };
        descriptors.push(Descriptor {
            tag,
            data: Bytes::copy_from_slice(data),
        });
        bytes = rest;
    }
    descriptors
}

/// Appends the 12-bit loop length and the loop, as long as `body` stays within `room`.
fn write_descriptors(body: &mut Vec<u8>, descriptors: &[Descriptor], room: usize) {
    let at = body.len();
    body.extend_from_slice(&[0xf0, 0]);
    for descriptor in descriptors {
        let Ok(len) = u8::try_from(descriptor.data.len()) else {
            continue;
        };
        if body.len() + 2 + descriptor.data.len() > room {
            break;
        }
        body.extend_from_slice(&[descriptor.tag, len]);
        body.extend_from_slice(&descriptor.data);
    }
    let len = (body.len() - at - 2) as u16;
    body[at..at + 2].copy_from_slice(&(0xf000 | len).to_be_bytes());
}

/// A section with the long header, current, the only one of its table.
fn long_section(table_id: u8, extension: u16, version: u8, body: &[u8]) -> Vec<u8> {
    let len = (body.len() + 9) as u16;
    let mut section = Vec::with_capacity(body.len() + 12);
    section.push(table_id);
    section.extend_from_slice(&(0xb000 | len).to_be_bytes());
    section.extend_from_slice(&extension.to_be_bytes());
    section.extend_from_slice(&[0xc1 | (version & 0x1f) << 1, 0, 0]);
    section.extend_from_slice(body);
    let crc = crc32(&section);
    section.extend_from_slice(&crc.to_be_bytes());
    section
}

#[cfg(test)]
mod tests;
