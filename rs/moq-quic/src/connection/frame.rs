//! Reads the frames of one packet (RFC 9000 §19, RFC 9221 §4) as far as we need them: which stream bytes and datagrams.
//!
//! Called by `tap` with what quinn-proto has just encoded. Everything else is stepped over; at a frame it does not know
//! it stops.

/// Stream bytes or a datagram in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes of a stream.
    Stream {
        /// The stream, as on the wire.
        id: u64,
        /// Where they start.
        offset: u64,
        /// How many.
        len: u64,
        /// Whether the stream ends with them.
        fin: bool,
    },
    /// A stream is abandoned.
    Reset {
        /// The stream, as on the wire.
        id: u64,
        /// Its final size.
        size: u64,
    },
    /// A datagram.
    Datagram {
        /// How many bytes.
        len: u64,
    },
}

/// Appends what matters in `payload` to `log`. True if the packet asks for an acknowledgement, and so counts as in
/// flight (RFC 9002 §2).
pub(super) fn parse(payload: &[u8], log: &mut Vec<Frame>) -> bool {
    let mut reader = Reader(payload);
    let mut eliciting = false;
    while let Some(kind) = reader.varint() {
        eliciting |= !matches!(kind, 0x00 | 0x02 | 0x03 | 0x1c | 0x1d);
        let Some(frame) = step(kind, &mut reader) else {
            break;
        };
        log.extend(frame);
    }
    eliciting
}

/// Steps over one frame. `None` if it is not one we know, or broken.
fn step(kind: u64, reader: &mut Reader<'_>) -> Option<Option<Frame>> {
    match kind {
        // PADDING
        0x00 => reader.zeros(),
        // PING, HANDSHAKE_DONE, IMMEDIATE_ACK
        0x01 | 0x1e | 0x1f => {}
        // ACK
        0x02 | 0x03 => {
            reader.varints(2)?;
            let ranges = reader.varint()?;
            reader.varint()?;
            for _ in 0..ranges {
                reader.varints(2)?;
            }
            if kind == 0x03 {
                reader.varints(3)?;
            }
        }
        // RESET_STREAM
        0x04 => {
            let id = reader.varint()?;
            reader.varint()?;
            let size = reader.varint()?;
            return Some(Some(Frame::Reset { id, size }));
        }
        // CRYPTO
        0x06 => {
            reader.varint()?;
            reader.block()?;
        }
        // NEW_TOKEN
        0x07 => {
            reader.block()?;
        }
        // STREAM: bits say whether an offset and a length follow, and whether the stream ends
        0x08..=0x0f => {
            let id = reader.varint()?;
            let offset = if kind & 4 == 0 { 0 } else { reader.varint()? };
            let len = if kind & 2 == 0 {
                reader.rest()
            } else {
                reader.block()?
            };
            let fin = kind & 1 == 1;
            return Some(Some(Frame::Stream {
                id,
                offset,
                len,
                fin,
            }));
        }
        // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID
        0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => reader.varints(1)?,
        // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
        0x05 | 0x11 | 0x15 => reader.varints(2)?,
        // NEW_CONNECTION_ID
        0x18 => {
            reader.varints(2)?;
            let id = usize::from(*reader.take(1)?.first()?);
            reader.take(id + 16)?;
        }
        // PATH_CHALLENGE, PATH_RESPONSE
        0x1a | 0x1b => {
            reader.take(8)?;
        }
        // DATAGRAM
        0x30 | 0x31 => {
            let len = if kind == 0x30 {
                reader.rest()
            } else {
                reader.block()?
            };
            return Some(Some(Frame::Datagram { len }));
        }
        // ACK_FREQUENCY
        0xaf => reader.varints(4)?,
        _ => return None,
    }
    Some(None)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    /// A variable-length integer (RFC 9000 §16).
    fn varint(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        if first < 0x40 {
            self.0 = &self.0[1..];
            return Some(u64::from(first));
        }
        let bytes = self.take(1 << (first >> 6))?;
        let head = u64::from(first & 0x3f);
        Some(
            bytes[1..]
                .iter()
                .fold(head, |value, &byte| value << 8 | u64::from(byte)),
        )
    }

    fn varints(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            self.varint()?;
        }
        Some(())
    }

    /// Steps over a length and as many bytes.
    fn block(&mut self) -> Option<u64> {
        let len = self.varint()?;
        self.take(usize::try_from(len).ok()?)?;
        Some(len)
    }

    fn rest(&mut self) -> u64 {
        std::mem::take(&mut self.0).len() as u64
    }

    fn zeros(&mut self) {
        let zeros = self.0.iter().position(|&byte| byte != 0);
        self.0 = &self.0[zeros.unwrap_or(self.0.len())..];
    }
}

#[cfg(test)]
mod tests;
