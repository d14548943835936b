//! One audio stream: cut into frames, each with its own time.
//!
//! A PES packet may hold several frames, and a frame may go on in the next packet. The time of a packet is that of the
//! first frame that starts in it; the frames behind follow at their length, as players count.

use bytes::Bytes;

use crate::catalog::{Adts, AudioRendition};
use crate::codec::aac;
use crate::codec::audio::{Codec, Config, Format, Frame, Head};
use crate::container;
use crate::ts::clock::{HZ_90K, div_round, micros_from_90k};

/// The most bytes searched in vain before a stream is given up.
const PATIENCE: usize = 64 << 10;

/// An audio stream.
#[derive(Debug)]
pub(super) struct Audio {
    format: Format,
    /// Bytes of a frame that was cut by the end of its packet.
    carry: Vec<u8>,
    /// Whether the last frame ended where this one starts.
    synced: bool,
    /// When the next frame sounds, in ticks of 90 kHz.
    next: Option<i64>,
    config: Option<Config>,
    descriptions: u32,
    template: Option<[u8; aac::HEADER]>,
    /// Whether a header came by that the template does not give.
    varies: bool,
    /// Longest run of frames in one packet, in ticks of 90 kHz.
    jitter: i64,
    /// Bytes that belonged to no frame, all in all and since the last frame.
    skipped: u64,
    fruitless: usize,
}

/// One frame, ready to be published.
#[derive(Debug)]
pub(super) struct Cut {
    /// When it sounds and for how long, in ticks of 90 kHz.
    pub(super) pts: i64,
    pub(super) duration: i64,
    /// The frame in its container.
    pub(super) payload: Bytes,
    /// Bytes of the elementary stream it stands for.
    pub(super) len: usize,
    /// The ADTS header taken off, when the template does not give it.
    pub(super) header: Option<Bytes>,
}

impl Audio {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            carry: Vec::new(),
            synced: false,
            next: None,
            config: None,
            descriptions: 0,
            template: None,
            varies: false,
            jitter: 0,
            skipped: 0,
            fruitless: 0,
        }
    }

    /// Takes the payload of a PES packet with its time, if it had one, and cuts the frames that end in it.
    ///
    /// With `damaged`, packets are missing behind it: what is left over goes.
    pub(super) fn packet(
        &mut self,
        payload: &[u8],
        pts: Option<i64>,
        damaged: bool,
        mut each: impl FnMut(Cut),
    ) {
        // The time belongs to the first frame that starts in this payload.
        let mut pending = pts;
        let joined;
        let (work, border) = if self.carry.is_empty() {
            (payload, 0)
        } else {
            let border = self.carry.len();
            self.carry.extend_from_slice(payload);
            joined = std::mem::take(&mut self.carry);
            (&joined[..], border)
        };
        let mut at = 0;
        let mut run = 0;
        while at < work.len() {
            let rest = &work[at..];
            match self.format.head(rest) {
                Head::Frame(frame) if rest.len() >= frame.len => {
                    if !self.synced && !self.is_confirmed(&rest[frame.len..]) {
                        at += self.skip(rest);
                        continue;
                    }
                    self.synced = true;
                    self.fruitless = 0;
                    let time = pending.take_if(|_| at >= border).or(self.next);
                    match time {
                        Some(time) => {
                            let cut = self.cut(&rest[..frame.len], frame, time);
                            run += cut.duration;
                            each(cut);
                        }
                        None => self.skipped += frame.len as u64,
                    }
                    at += frame.len;
                }
                Head::Frame(_) | Head::Short => break,
                Head::Invalid => at += self.skip(rest),
            }
        }
        self.jitter = self.jitter.max(run);
        if damaged {
            self.skipped += (work.len() - at) as u64;
            self.synced = false;
        } else {
            self.carry = work[at..].to_vec();
        }
        if let Some(time) = pending {
            // No frame started here: the next one does.
            self.next = Some(time);
        }
    }

    /// A new time base, or an end: nothing of a cut frame will come.
    pub(super) fn restart(&mut self) {
        self.skipped += self.carry.len() as u64;
        self.carry.clear();
        self.synced = false;
        self.next = None;
    }

    /// Whether the search was so long in vain that the stream is something else.
    pub(super) fn is_hopeless(&self) -> bool {
        self.config.is_none() && self.fruitless > PATIENCE
    }

    /// Bytes that belonged to no frame.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// When the frame sounds that is begun and not complete.
    pub(super) fn begun(&self) -> Option<i64> {
        self.next.filter(|_| !self.carry.is_empty())
    }

    /// How many different descriptions there were.
    pub(super) fn descriptions(&self) -> u32 {
        self.descriptions
    }

    /// Whether the template does not give every header.
    pub(super) fn varies(&self) -> bool {
        self.varies
    }

    /// Which codec exactly, once a frame was seen.
    pub(super) fn codec(&self) -> Option<Codec> {
        self.config.map(|config| config.codec)
    }

    /// What the catalog says, once a frame was seen; rates left out.
    pub(super) fn rendition(&self) -> Option<AudioRendition> {
        let Config {
            codec,
            sample_rate,
            channels,
        } = self.config?;
        let description = match codec {
            Codec::Aac(config) => Some(hex::encode(config)),
            _ => None,
        };
        Some(AudioRendition {
            codec: codec.name(),
            sample_rate,
            number_of_channels: channels,
            description,
            jitter: u32::try_from(self.jitter / 90).ok(),
            ..AudioRendition::default()
        })
    }

    /// How headers are rebuilt; `track` names where those are that cannot be.
    pub(super) fn adts(&self, track: impl FnOnce() -> String) -> Option<Adts> {
        let header = hex::encode(self.template?);
        Some(Adts {
            header,
            track: self.varies.then(track),
        })
    }

    fn cut(&mut self, bytes: &[u8], frame: Frame, pts: i64) -> Cut {
        if self.config.replace(frame.config) != Some(frame.config) {
            self.descriptions += 1;
        }
        let next = follow(pts, frame);
        self.next = Some(next);
        let (header, unit) = bytes.split_at(frame.strip);
        let payload = container::join(micros_from_90k(pts).try_into().unwrap_or(0), unit);
        Cut {
            pts,
            duration: next - pts,
            payload,
            len: bytes.len(),
            header: self.odd_header(header, bytes.len()),
        }
    }

    /// The header, when the template does not give it for a frame of this length.
    fn odd_header(&mut self, header: &[u8], len: usize) -> Option<Bytes> {
        let first: &[u8; aac::HEADER] = header.first_chunk()?;
        let template = *self
            .template
            .get_or_insert_with(|| aac::with_length(first, 0));
        if aac::with_length(&template, len) != header {
            self.varies = true;
        }
        self.varies.then(|| Bytes::copy_from_slice(header))
    }

    /// Whether what follows a frame found by searching is another one, or the end of the packet.
    fn is_confirmed(&self, after: &[u8]) -> bool {
        !matches!(self.format.head(after), Head::Invalid)
    }

    /// Steps to the next byte a frame may start at.
    fn skip(&mut self, rest: &[u8]) -> usize {
        let step = 1 + self.format.seek(&rest[1..]).unwrap_or(rest.len() - 1);
        self.synced = false;
        self.skipped += step as u64;
        self.fruitless += step;
        step
    }
}

/// The time of the frame after one at `pts`, in ticks of 90 kHz, as the usual tools count.
///
/// A frame need not be a whole number of ticks. MPEG audio and AC-3 are counted in whole ticks, rounded down. For AAC
/// the grid of multiples of the exact length is followed, keeping the distance `pts` has from it.
fn follow(pts: i64, frame: Frame) -> i64 {
    let ticks = i128::from(frame.samples) * i128::from(HZ_90K);
    let rate = i128::from(frame.config.sample_rate);
    if !matches!(frame.config.codec, Codec::Aac(_)) {
        return pts + (ticks / rate) as i64;
    }
    let index = i128::from(div_round(i128::from(pts) * rate, ticks));
    let at = |index: i128| div_round(index * ticks, rate);
    at(index + 1) + (pts - at(index))
}

#[cfg(test)]
mod tests;
