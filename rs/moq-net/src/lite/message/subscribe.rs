//! The subscribe stream: which groups of a track are wanted, and what the publisher says of them.
//!
//! SUBSCRIBE_UPDATE has the fields of SUBSCRIBE from priority on, so it is [`Subscription`] itself. The wire's range
//! ends are inclusive, the model's are not.

use super::{Message, Typed};
use crate::lite::coding::{DecodeError, MAX_TEXT, Reader, Writer};
use crate::lite::version::Version;
use crate::{Path, Subscription};

/// SUBSCRIBE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribe {
    /// Chosen by the subscriber; its group streams and datagrams carry it.
    pub id: u64,
    /// Whose track.
    pub broadcast: Path,
    /// Which track.
    pub track: String,
    /// Which groups, and how urgently.
    pub wish: Subscription,
}

impl Message for Subscribe {
    const NAME: &'static str = "SUBSCRIBE";

    fn encode_body(&self, body: &mut Writer, version: Version) {
        body.varint(self.id)
            .text(self.broadcast.as_str())
            .text(&self.track);
        self.wish.encode_body(body, version);
    }

    fn decode_body(body: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError> {
        Ok(Self {
            id: body.varint()?,
            broadcast: body.path()?,
            track: body.text("a track name", MAX_TEXT)?.to_owned(),
            wish: Subscription::decode_body(body, version)?,
        })
    }
}

impl Message for Subscription {
    const NAME: &'static str = "SUBSCRIBE_UPDATE";

    fn encode_body(&self, body: &mut Writer, version: Version) {
        body.u8(self.priority);
        let end = self.end.map(|end| end.saturating_sub(1));
        if version >= Version::Lite06 {
            // 0 says "no floor": a floor of group 0 can't be told from it, and means the same under an unlimited age.
            body.duration(self.max_age)
                .varint(self.start.unwrap_or(0))
                .option(end);
            let frame_end = self
                .frame_end
                .filter(|_| end.is_some())
                .map(|end| end.saturating_sub(1));
            body.varint(self.frame_start).option(frame_end);
        } else {
            body.u8(0)
                .duration(self.max_age)
                .option(self.start)
                .option(end);
        }
    }

    fn decode_body(body: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError> {
        let priority = body.u8()?;
        if version < Version::Lite06 {
            body.u8()?;
        }
        let mut wish = Self {
            priority,
            max_age: body.duration()?,
            ..Self::default()
        };
        if version < Version::Lite06 {
            wish.start = body.option()?;
            wish.end = body.option()?.map(|last| last + 1);
            return Ok(wish);
        }
        wish.start = Some(body.varint()?).filter(|&floor| floor > 0);
        wish.end = body.option()?.map(|last| last + 1);
        wish.frame_start = body.varint()?;
        wish.frame_end = body.option()?.map(|last| last + 1);
        if wish.frame_end.is_some() && wish.end.is_none() {
            return Err(DecodeError::Invalid("a last frame without a last group"));
        }
        Ok(wish)
    }
}

/// What the publisher says on the subscribe stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// The subscription is accepted (03 and 04 only).
    Ok(Subscription),
    /// The first group is known (since 05): later than asked for means that those before are not there.
    Start {
        /// The first group that comes.
        group: u64,
    },
    /// The end is known (since 05): maybe before all groups have come.
    End {
        /// The first group that doesn't come.
        group: u64,
    },
    /// Groups that won't come.
    Drop {
        /// The first of them.
        start: u64,
        /// The last of them.
        end: u64,
        /// A stream error code.
        error: u64,
    },
}

impl Typed for Response {
    const NAME: &'static str = "a response to SUBSCRIBE";

    fn kind(&self, version: Version) -> u64 {
        match self {
            Self::Ok(_) | Self::Start { .. } => 0,
            Self::Drop { .. } if version < Version::Lite05 => 1,
            Self::End { .. } => 1,
            Self::Drop { .. } => 2,
        }
    }

    fn encode_body(&self, body: &mut Writer, version: Version) {
        match self {
            Self::Ok(wish) => wish.encode_body(body, version),
            Self::Start { group } | Self::End { group } => {
                body.varint(*group);
            }
            Self::Drop { start, end, error } => {
                body.varint(*start).varint(*end).varint(*error);
            }
        }
    }

    fn decode_body(
        kind: u64,
        body: &mut Reader<'_>,
        version: Version,
    ) -> Result<Option<Self>, DecodeError> {
        let legacy = version < Version::Lite05;
        Ok(Some(match (legacy, kind) {
            (true, 0) => Self::Ok(Subscription::decode_body(body, version)?),
            (false, 0) => Self::Start {
                group: body.varint()?,
            },
            (false, 1) => Self::End {
                group: body.varint()?,
            },
            (true, 1) | (false, 2) => {
                let (start, end, error) = (body.varint()?, body.varint()?, body.varint()?);
                if end < start {
                    return Err(DecodeError::Invalid("a dropped range"));
                }
                Self::Drop { start, end, error }
            }
            _ => return Ok(None),
        }))
    }
}
