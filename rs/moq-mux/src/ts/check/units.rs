//! Where access units begin in the packets of a PID, and when they are decoded.
//!
//! Video and data: a unit is a PES packet. Audio is cut into its frames, as decoders take it out frame by frame and
//! multiplexers put several into a PES packet. Knows no buffers.

use crate::codec::audio::{Format, Head};

use super::limits::Kind;
use super::packet::pes_header;

/// The longest audio header looked at.
const HEADER: usize = 16;

/// A piece of a unit, in one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Piece {
    /// A unit starts here.
    pub(super) start: Option<Start>,
    /// Bytes of PES header in front.
    pub(super) header: u32,
    /// Bytes of the unit.
    pub(super) bytes: u32,
}

/// How a unit starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Start {
    /// Times of the PES packet, 33 bits: presentation and decoding.
    pub(super) times: Option<(u64, u64)>,
    /// How long after those the unit is decoded, in ticks of 27 MHz.
    pub(super) later: f64,
}

/// Cuts the payload of one PID.
#[derive(Debug)]
pub(super) struct Units {
    format: Option<Format>,
    times: Option<(u64, u64)>,
    later: f64,
    /// Bytes left of the frame that is open; `None` before the first or when frames cannot be followed.
    left: Option<usize>,
    /// The front of a frame that began at the end of a packet.
    front: Vec<u8>,
    /// Channels, once a frame told.
    channels: Option<u32>,
}

impl Units {
    pub(super) fn new(kind: Kind) -> Self {
        let format = match kind {
            Kind::Adts => Some(Format::Aac),
            Kind::MpegAudio => Some(Format::MpegAudio),
            Kind::Ac3 | Kind::DvbAc3 => Some(Format::Ac3),
            _ => None,
        };
        Self {
            format,
            times: None,
            later: 0.0,
            left: None,
            front: Vec::new(),
            channels: None,
        }
    }

    /// Channels of the audio, once known.
    pub(super) fn channels(&self) -> Option<u32> {
        self.channels
    }

    /// Packets are missing: frames cannot be followed until the next PES packet.
    pub(super) fn lose(&mut self) {
        self.left = None;
        self.front.clear();
    }

    /// Cuts the payload of the next packet.
    pub(super) fn push(&mut self, start: bool, payload: &[u8], pieces: &mut Vec<Piece>) {
        if !start {
            self.elementary(payload, 0, pieces);
            return;
        }
        let header = pes_header(payload);
        let len = header.map_or(0, |header| header.len);
        if header.is_none_or(|header| header.times.is_some()) || self.format.is_none() {
            self.times = header.and_then(|header| header.times);
            self.later = 0.0;
        }
        let whole = self.format.is_none();
        if whole || self.left.is_none() {
            // Either units are PES packets, or frames are found again.
            self.left = (!whole).then_some(0);
            self.front.clear();
        }
        if whole {
            pieces.push(Piece {
                start: Some(self.begin()),
                header: len as u32,
                bytes: (payload.len() - len) as u32,
            });
        } else {
            self.elementary(&payload[len..], len as u32, pieces);
        }
    }

    /// Cuts elementary bytes behind `header` bytes of PES header.
    fn elementary(&mut self, mut bytes: &[u8], mut header: u32, pieces: &mut Vec<Piece>) {
        while !bytes.is_empty() {
            let mut piece = Piece {
                header: std::mem::take(&mut header),
                ..Piece::default()
            };
            let taken = match (self.left, self.format) {
                (Some(0), Some(format)) => self.next_frame(format, bytes, &mut piece),
                (Some(left), _) => {
                    let taken = left.min(bytes.len());
                    self.left = Some(left - taken);
                    taken
                }
                (None, _) => bytes.len(),
            };
            piece.bytes = taken as u32;
            bytes = &bytes[taken..];
            pieces.push(piece);
        }
        if header > 0 {
            pieces.push(Piece {
                header,
                ..Piece::default()
            });
        }
    }

    /// A frame starts at `bytes`, or did with the bytes kept in `front`: how many bytes of it are here.
    fn next_frame(&mut self, format: Format, bytes: &[u8], piece: &mut Piece) -> usize {
        let had = self.front.len();
        let more = &bytes[..bytes.len().min(HEADER - had)];
        self.front.extend_from_slice(more);
        match format.head(&self.front) {
            Head::Frame(frame) if frame.len > had => {
                if had == 0 {
                    piece.start = Some(self.begin());
                }
                let rate = f64::from(frame.config.sample_rate.max(1));
                self.later += f64::from(frame.samples) * 27e6 / rate;
                self.channels = Some(frame.config.channels);
                self.front.clear();
                let here = (frame.len - had).min(bytes.len());
                self.left = Some(frame.len - had - here);
                here
            }
            Head::Short if had + more.len() < HEADER => {
                if had == 0 {
                    piece.start = Some(self.begin());
                }
                bytes.len()
            }
            _ => {
                // No frame here: the rest of the PES packet counts as one unit.
                if had == 0 {
                    piece.start = Some(self.begin());
                }
                self.lose();
                bytes.len()
            }
        }
    }

    fn begin(&self) -> Start {
        Start {
            times: self.times,
            later: self.later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pes(payload: &[u8]) -> Vec<u8> {
        let header = [
            0, 0, 1, 0xc0, 0, 0, 0x84, 0x80, 5, 0x21, 0x00, 0x05, 0xbf, 0x21,
        ];
        [&header[..], payload].concat()
    }

    /// An MP2 frame of 576 bytes: 192 kb/s at 48 kHz, 24 ms.
    fn frame() -> Vec<u8> {
        let mut frame = vec![0x55; 576];
        frame[..4].copy_from_slice(&[0xff, 0xfd, 0xa4, 0x00]);
        frame
    }

    #[test]
    fn frames_of_a_pes_packet_follow_each_other() {
        let bytes = pes(&[frame(), frame(), frame()].concat());
        // Cut so that a header lies across two packets.
        for cut in [1, 2, 3, 14, 100] {
            let mut units = Units::new(Kind::MpegAudio);
            let mut pieces = Vec::new();
            let (head, tail) = bytes.split_at(14 + 576 + cut);
            units.push(true, head, &mut pieces);
            units.push(false, tail, &mut pieces);
            let starts: Vec<Start> = pieces.iter().filter_map(|piece| piece.start).collect();
            assert_eq!(starts.len(), 3, "cut {cut}");
            for (n, start) in starts.iter().enumerate() {
                assert_eq!(start.times, Some((90_000, 90_000)));
                assert_eq!(start.later, n as f64 * 648_000.0);
            }
            let bytes: u32 = pieces.iter().map(|piece| piece.bytes).sum();
            let header: u32 = pieces.iter().map(|piece| piece.header).sum();
            assert_eq!((bytes, header), (3 * 576, 14));
        }
    }

    #[test]
    fn video_units_are_pes_packets() {
        let mut units = Units::new(Kind::H264);
        let mut pieces = Vec::new();
        units.push(true, &pes(&[1; 100]), &mut pieces);
        units.push(false, &[2; 184], &mut pieces);
        assert_eq!(pieces.len(), 2);
        assert_eq!(
            (pieces[0].header, pieces[0].bytes, pieces[1].bytes),
            (14, 100, 184)
        );
        assert!(pieces[0].start.is_some() && pieces[1].start.is_none());
    }

    #[test]
    fn what_are_no_frames_counts_as_one_unit() {
        let mut units = Units::new(Kind::Adts);
        let mut pieces = Vec::new();
        units.push(true, &pes(&[0x11; 150]), &mut pieces);
        units.push(false, &[0x11; 184], &mut pieces);
        assert_eq!(
            pieces.iter().filter(|piece| piece.start.is_some()).count(),
            1
        );
    }
}
