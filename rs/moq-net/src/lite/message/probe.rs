//! PROBE: how fast the publisher finds the path.

use std::time::Duration;

use super::Message;
use crate::lite::coding::{DecodeError, Reader, Writer};
use crate::lite::version::Version;

/// One report. The subscriber's request is the stream itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// Bits per second the path delivers; 0: unknown.
    pub bitrate: u64,
    /// Round-trip time in whole milliseconds; zero: unknown. Since 04.
    pub rtt: Duration,
}

impl Message for Probe {
    const NAME: &'static str = "PROBE";

    fn encode_body(&self, body: &mut Writer, version: Version) {
        body.varint(self.bitrate);
        if version >= Version::Lite04 {
            body.duration(self.rtt);
        }
    }

    fn decode_body(body: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError> {
        let bitrate = body.varint()?;
        let rtt = if version >= Version::Lite04 {
            body.duration()?
        } else {
            Duration::ZERO
        };
        Ok(Self { bitrate, rtt })
    }
}
