//! PES packets: reading their headers and putting their payload together (ISO/IEC 13818-1 §2.4.3.6).
//!
//! Payload bytes are copied once, out of the packets into a block they are later shared from. Called by the
//! demultiplexer, which checks continuity; knows nothing of codecs.

use bytes::BytesMut;

use super::packet::PACKET;

/// The longest header: nine fixed bytes and 255 of fields.
const MAX_HEADER: usize = 9 + 255;

/// The most bytes one unit may have; longer ones are dropped.
pub const MAX_UNIT: usize = 16 << 20;

/// `stream_id` of padding: nothing in it is for anyone.
pub const PADDING_STREAM: u8 = 0xbe;

/// How many transport packets a unit of `len` bytes takes, alone in its PES packet: PTS always, DTS when it differs,
/// and the two bytes of adaptation field that hold `random_access_indicator`.
pub fn packets(len: usize, has_dts: bool, random_access: bool) -> u64 {
    let header = 14 + if has_dts { 5 } else { 0 } + if random_access { 2 } else { 0 };
    (header + len).div_ceil(PACKET - 4) as u64
}

/// How many transport packets a section of `len` bytes takes when it starts a packet, behind its pointer field.
pub fn section_packets(len: usize) -> u64 {
    (1 + len).div_ceil(PACKET - 4) as u64
}

/// What a PES header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PesHeader {
    /// `stream_id`.
    pub stream_id: u8,
    /// PTS in ticks of 90 kHz, 33 bits.
    pub pts: Option<i64>,
    /// DTS in ticks of 90 kHz, 33 bits; only beside a PTS.
    pub dts: Option<i64>,
    /// Payload bytes announced; `None` when the length is left open.
    pub payload: Option<usize>,
    /// `data_alignment_indicator`.
    pub aligned: bool,
}

/// How much of a header was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The header and its length in bytes: the payload follows.
    Whole(PesHeader, usize),
    /// More bytes are needed.
    Partial,
    /// Not a PES packet.
    Invalid,
}

impl PesHeader {
    /// Reads the header at the start of `bytes`.
    pub fn parse(bytes: &[u8]) -> Parsed {
        if !bytes.starts_with(&[0, 0, 1]) {
            let seen = bytes.len().min(3);
            return if bytes[..seen] == [0, 0, 1][..seen] {
                Parsed::Partial
            } else {
                Parsed::Invalid
            };
        }
        let &[_, _, _, stream_id, high, low, ..] = bytes else {
            return Parsed::Partial;
        };
        let announced = usize::from(u16::from_be_bytes([high, low]));
        let mut header = Self {
            stream_id,
            ..Self::default()
        };
        if !has_fields(stream_id) {
            header.payload = Some(announced);
            return Parsed::Whole(header, 6);
        }
        let &[flags, contents, fields, ..] = &bytes[6..] else {
            return Parsed::Partial;
        };
        if flags & 0xc0 != 0x80 {
            return Parsed::Invalid;
        }
        let len = 9 + usize::from(fields);
        let Some(fields) = bytes.get(9..len) else {
            return Parsed::Partial;
        };
        header.aligned = flags & 0x04 != 0;
        if contents & 0x80 != 0 {
            header.pts = fields.first_chunk().map(timestamp);
        }
        if contents & 0xc0 == 0xc0 {
            header.dts = fields.get(5..).and_then(<[u8]>::first_chunk).map(timestamp);
        }
        if announced > 0 {
            header.payload = Some(announced.saturating_sub(len - 6));
        }
        Parsed::Whole(header, len)
    }
}

/// Whether the stream's packets have flags, time stamps and the rest (table 2-21).
fn has_fields(stream_id: u8) -> bool {
    !matches!(
        stream_id,
        0xbc | 0xbe | 0xbf | 0xf0 | 0xf1 | 0xf2 | 0xf8 | 0xff
    )
}

/// A 33-bit time in its five bytes; marker bits are not checked, as some encoders leave them out.
fn timestamp(bytes: &[u8; 5]) -> i64 {
    let [a, b, c, d, e] = bytes.map(i64::from);
    (a >> 1 & 7) << 30 | b << 22 | (c >> 1) << 15 | d << 7 | e >> 1
}

/// One assembled unit: the payload of a PES packet, or of several that continue each other.
#[derive(Debug)]
pub struct Unit<T> {
    /// The header it started with.
    pub header: PesHeader,
    /// What the caller noted when it started.
    pub mark: T,
    /// Bytes reserved in front for a container's header, then the payload.
    pub data: BytesMut,
    /// Whether packets are missing at its end.
    pub damaged: bool,
}

/// Puts the units of one PID together.
#[derive(Debug)]
pub struct Assembler<T> {
    /// Bytes left free in front of each unit.
    headroom: usize,
    /// Whether a unit ends at the next start only, whatever length it announces.
    hold: bool,
    /// The most bytes a unit may have.
    limit: usize,
    /// Block the units are cut from, the open one at its end.
    block: BytesMut,
    /// Start of a header that did not fit in one packet.
    head: Vec<u8>,
    open: Option<Open<T>>,
    largest: usize,
}

#[derive(Debug)]
struct Open<T> {
    header: PesHeader,
    mark: T,
    /// Payload bytes still to come, when their number is known.
    left: Option<usize>,
}

/// What a packet led to.
#[derive(Debug)]
pub struct Pushed<T> {
    /// A unit that is complete.
    pub unit: Option<Unit<T>>,
    /// A start that was no PES header, or a unit over the limit, dropped.
    pub dropped: bool,
}

impl<T> Pushed<T> {
    fn nothing() -> Self {
        Self {
            unit: None,
            dropped: false,
        }
    }
}

impl<T> Assembler<T> {
    /// An assembler that leaves `headroom` bytes in front of each unit. With `hold` a unit ends where the next one
    /// starts, so that [`Assembler::resume`] can add to it; otherwise as soon as its announced length is there.
    pub fn new(headroom: usize, hold: bool) -> Self {
        Self {
            headroom,
            hold,
            limit: MAX_UNIT,
            block: BytesMut::new(),
            head: Vec::new(),
            open: None,
            largest: 0,
        }
    }

    /// Drops units of more than `limit` bytes from here on; [`MAX_UNIT`] at most, and at first.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.min(MAX_UNIT);
    }

    /// Whether `header` starts nothing new but goes on with the open unit: it has no time of its own.
    pub fn is_resumed_by(&self, header: &PesHeader) -> bool {
        self.hold
            && header.pts.is_none()
            && self
                .open
                .as_ref()
                .is_some_and(|open| open.header.stream_id == header.stream_id)
    }

    /// The first packet of a PES packet, its header included. Call [`Assembler::flush`] for the unit before it first.
    ///
    /// `mark` is asked once the header is whole, and its answer travels with the unit.
    pub fn start(&mut self, payload: &[u8], mark: impl FnOnce(&PesHeader) -> T) -> Pushed<T> {
        self.head.clear();
        self.begin(payload, mark)
    }

    /// A later packet of a PES packet; ignored when none has begun.
    #[inline]
    pub fn extend(&mut self, payload: &[u8], mark: impl FnOnce(&PesHeader) -> T) -> Pushed<T> {
        if self.open.is_some() {
            return self.append(payload);
        }
        if self.head.is_empty() {
            return Pushed::nothing();
        }
        let mut head = std::mem::take(&mut self.head);
        head.extend_from_slice(payload);
        self.begin(&head, mark)
    }

    /// The first packet of a PES packet that continues the open unit; `bytes` holds its `header` of `len` bytes.
    ///
    /// Ignored when no unit is open.
    pub fn resume(&mut self, header: &PesHeader, len: usize, bytes: &[u8]) -> Pushed<T> {
        let Some(open) = &mut self.open else {
            return Pushed::nothing();
        };
        open.left = header.payload;
        self.append(bytes.get(len..).unwrap_or_default())
    }

    /// What was noted when the open unit started.
    pub fn open(&self) -> Option<&T> {
        self.open.as_ref().map(|open| &open.mark)
    }

    /// Ends the open unit, if there is one.
    pub fn flush(&mut self, damaged: bool) -> Option<Unit<T>> {
        self.head.clear();
        let open = self.open.take()?;
        self.largest = self.largest.max(self.block.len()) / 2 + self.block.len() / 2;
        Some(Unit {
            header: open.header,
            mark: open.mark,
            data: self.block.split(),
            damaged,
        })
    }

    fn begin(&mut self, bytes: &[u8], mark: impl FnOnce(&PesHeader) -> T) -> Pushed<T> {
        match PesHeader::parse(bytes) {
            Parsed::Invalid => Pushed {
                unit: None,
                dropped: true,
            },
            Parsed::Partial if bytes.len() > MAX_HEADER => Pushed {
                unit: None,
                dropped: true,
            },
            Parsed::Partial => {
                self.head = bytes.to_vec();
                Pushed::nothing()
            }
            Parsed::Whole(header, _) if header.stream_id == PADDING_STREAM => Pushed::nothing(),
            Parsed::Whole(header, len) => {
                self.open = Some(Open {
                    header,
                    mark: mark(&header),
                    left: header.payload,
                });
                let expected = header.payload.unwrap_or(self.largest).min(self.limit);
                self.block.clear();
                self.make_room(self.headroom + expected);
                self.block.resize(self.headroom, 0);
                self.append(&bytes[len..])
            }
        }
    }

    #[inline]
    fn append(&mut self, mut payload: &[u8]) -> Pushed<T> {
        let Some(open) = &mut self.open else {
            return Pushed::nothing();
        };
        let mut whole = false;
        if let Some(left) = &mut open.left {
            payload = &payload[..payload.len().min(*left)];
            *left -= payload.len();
            whole = *left == 0 && !self.hold;
        }
        let len = self.block.len() + payload.len();
        if len > self.headroom + self.limit {
            self.open = None;
            self.block.clear();
            return Pushed {
                unit: None,
                dropped: true,
            };
        }
        self.make_room(len);
        self.block.extend_from_slice(payload);
        Pushed {
            unit: if whole { self.flush(false) } else { None },
            dropped: false,
        }
    }

    /// Moves to a fresh block when `len` bytes don't fit in what is left of this one: several units share a block, and
    /// a unit that outgrows its block is moved, each time to one twice the size.
    #[inline]
    fn make_room(&mut self, len: usize) {
        if self.block.capacity() < len {
            self.change_block(len);
        }
    }

    #[cold]
    fn change_block(&mut self, len: usize) {
        const SMALLEST: usize = 4 << 10;
        const LARGEST: usize = 512 << 10;
        let shared = (8 * self.largest).clamp(SMALLEST, LARGEST);
        let mut block = BytesMut::with_capacity(shared.max(2 * len));
        block.extend_from_slice(&self.block);
        self.block = block;
    }
}

#[cfg(test)]
mod tests;
