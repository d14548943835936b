//! The track stream: what a track says of itself (since 05).

use super::Message;
use crate::lite::coding::{DecodeError, MAX_TEXT, Reader, Writer};
use crate::lite::version::Version;
use crate::{Path, Timescale, TrackInfo};

/// TRACK: the subscriber asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackRequest {
    /// Whose track.
    pub broadcast: Path,
    /// Which track.
    pub track: String,
}

impl Message for TrackRequest {
    const NAME: &'static str = "TRACK";

    fn encode_body(&self, body: &mut Writer, _: Version) {
        body.text(self.broadcast.as_str()).text(&self.track);
    }

    fn decode_body(body: &mut Reader<'_>, _: Version) -> Result<Self, DecodeError> {
        Ok(Self {
            broadcast: body.path()?,
            track: body.text("a track name", MAX_TEXT)?.to_owned(),
        })
    }
}

impl Message for TrackInfo {
    const NAME: &'static str = "TRACK_INFO";

    fn encode_body(&self, body: &mut Writer, version: Version) {
        body.u8(self.priority);
        if version < Version::Lite06 {
            body.u8(0);
        }
        body.duration(self.max_age).varint(self.timescale.get());
    }

    fn decode_body(body: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError> {
        let priority = body.u8()?;
        if version < Version::Lite06 {
            body.u8()?;
        }
        let max_age = body.duration()?;
        let timescale =
            Timescale::new(body.varint()?).map_err(|_| DecodeError::Invalid("a timescale"))?;
        Ok(Self {
            priority,
            max_age,
            timescale,
        })
    }
}
