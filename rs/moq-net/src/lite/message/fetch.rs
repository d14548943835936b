//! FETCH: one group that exists already, or some of its frames. The answer is bare frames.

use super::Message;
use crate::Path;
use crate::lite::coding::{DecodeError, MAX_TEXT, Reader, Writer};
use crate::lite::version::Version;

/// FETCH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Whose track.
    pub broadcast: Path,
    /// Which track.
    pub track: String,
    /// As in a subscription.
    pub priority: u8,
    /// Which group.
    pub group: u64,
    /// First frame wanted (06; else 0).
    pub frame_start: u64,
    /// First frame **not** wanted (06; else none).
    pub frame_end: Option<u64>,
}

impl Message for Fetch {
    const NAME: &'static str = "FETCH";

    fn encode_body(&self, body: &mut Writer, version: Version) {
        body.text(self.broadcast.as_str())
            .text(&self.track)
            .u8(self.priority)
            .varint(self.group);
        if version >= Version::Lite06 {
            body.varint(self.frame_start)
                .option(self.frame_end.map(|end| end.saturating_sub(1)));
        }
    }

    fn decode_body(body: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError> {
        let mut fetch = Self {
            broadcast: body.path()?,
            track: body.text("a track name", MAX_TEXT)?.to_owned(),
            priority: body.u8()?,
            group: body.varint()?,
            frame_start: 0,
            frame_end: None,
        };
        if version >= Version::Lite06 {
            fetch.frame_start = body.varint()?;
            fetch.frame_end = body.option()?.map(|last| last + 1);
            if fetch.frame_end.is_some_and(|end| end <= fetch.frame_start) {
                return Err(DecodeError::Invalid("a range of frames"));
            }
        }
        Ok(fetch)
    }
}
