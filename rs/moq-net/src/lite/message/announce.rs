//! The announce stream: which broadcasts there are below a prefix, and how each is reached.

use super::{Message, Typed};
use crate::lite::coding::{DecodeError, MAX_TEXT, Reader, Writer};
use crate::lite::version::Version;
use crate::model::MAX_HOPS;
use crate::{Path, Route};

/// ANNOUNCE_REQUEST: the subscriber asks for everything below a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnounceRequest {
    /// What the answers are relative to.
    pub prefix: Path,
    /// The subscriber's own hop: routes through it are not wanted. 0: none. On the wire in 04 and 05 only.
    pub exclude_hop: u64,
}

impl Message for AnnounceRequest {
    const NAME: &'static str = "ANNOUNCE_REQUEST";

    fn encode_body(&self, body: &mut Writer, version: Version) {
        body.text(self.prefix.as_str());
        if matches!(version, Version::Lite04 | Version::Lite05) {
            body.varint(self.exclude_hop);
        }
    }

    fn decode_body(body: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError> {
        let prefix = body.path()?;
        let exclude_hop = match version {
            Version::Lite04 | Version::Lite05 => body.varint()?,
            _ => 0,
        };
        Ok(Self {
            prefix,
            exclude_hop,
        })
    }
}

/// ANNOUNCE_OK: the publisher's answer (since 05).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnounceOk {
    /// The publisher's hop; the receiver appends it to every route on the stream. 0: unknown.
    pub hop: u64,
    /// How many of the announcements that follow are already there.
    pub active: u64,
}

impl Message for AnnounceOk {
    const NAME: &'static str = "ANNOUNCE_OK";

    fn encode_body(&self, body: &mut Writer, _: Version) {
        body.varint(self.hop).varint(self.active);
    }

    fn decode_body(body: &mut Reader<'_>, _: Version) -> Result<Self, DecodeError> {
        Ok(Self {
            hop: body.varint()?,
            active: body.varint()?,
        })
    }
}

/// One announcement of version 06. A route is known by the ordinal of its START on the stream.
///
/// Routes of more than [`MAX_HOPS`] hops are decoded (their START still takes an ordinal) with one hop too many, for
/// the receiver to discard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announce {
    /// A path became available.
    Start {
        /// Relative to the requested prefix.
        suffix: Path,
        /// How the publisher reaches it.
        route: Route,
    },
    /// A route is gone.
    End {
        /// The ordinal of its START.
        id: u64,
    },
    /// A route changed in place.
    Restart {
        /// The ordinal of its START.
        id: u64,
        /// How the publisher reaches it now.
        route: Route,
    },
}

impl Typed for Announce {
    const NAME: &'static str = "ANNOUNCE";

    fn kind(&self, _: Version) -> u64 {
        match self {
            Self::Start { .. } => 0,
            Self::End { .. } => 1,
            Self::Restart { .. } => 2,
        }
    }

    fn encode_body(&self, body: &mut Writer, _: Version) {
        match self {
            Self::Start { suffix, route } => put_route(body.text(suffix.as_str()), route),
            Self::End { id } => {
                body.varint(*id);
            }
            Self::Restart { id, route } => put_route(body.varint(*id), route),
        }
    }

    fn decode_body(
        kind: u64,
        body: &mut Reader<'_>,
        _: Version,
    ) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match kind {
            0 => Self::Start {
                suffix: body.path()?,
                route: route(body)?,
            },
            1 => Self::End { id: body.varint()? },
            2 => Self::Restart {
                id: body.varint()?,
                route: route(body)?,
            },
            _ => return Ok(None),
        }))
    }
}

fn put_route(body: &mut Writer, route: &Route) {
    put_hops(body, &route.hops);
    body.varint(route.warm).varint(route.cold);
}

fn route(body: &mut Reader<'_>) -> Result<Route, DecodeError> {
    Ok(Route {
        hops: hops(body)?,
        warm: body.varint()?,
        cold: body.varint()?,
    })
}

fn put_hops(body: &mut Writer, hops: &[u64]) {
    body.varint(hops.len() as u64);
    for &hop in hops {
        body.varint(hop);
    }
}

fn hops(body: &mut Reader<'_>) -> Result<Vec<u64>, DecodeError> {
    let count = body.varint()?;
    if count > body.remaining() as u64 {
        return Err(DecodeError::Truncated);
    }
    let mut hops = Vec::with_capacity((count as usize).min(MAX_HOPS + 1));
    for _ in 0..count {
        let hop = body.varint()?;
        if hops.len() <= MAX_HOPS {
            hops.push(hop);
        }
    }
    Ok(hops)
}

/// What an [`AnnounceStatus`] says of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is gone.
    Ended,
    /// It is there, or there by a new route.
    Active,
    /// It is there by a new route; readers should ask again. Since 05.
    Restart,
}

/// One announcement of versions 03 to 05, known by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnounceStatus {
    /// What happened.
    pub status: Status,
    /// Relative to the requested prefix.
    pub suffix: Path,
    /// The nodes passed; in 03 only their number travels, so all are 0 = unknown.
    pub hops: Vec<u64>,
}

impl Message for AnnounceStatus {
    const NAME: &'static str = "ANNOUNCE";
    const CAP: usize = 8 * (MAX_TEXT + 1024);

    fn encode_body(&self, body: &mut Writer, version: Version) {
        body.u8(match self.status {
            Status::Ended => 0,
            Status::Restart if version >= Version::Lite05 => 2,
            Status::Active | Status::Restart => 1,
        });
        body.text(self.suffix.as_str());
        match version {
            Version::Lite03 => {
                body.varint(self.hops.len() as u64);
            }
            _ => put_hops(body, &self.hops),
        }
    }

    fn decode_body(body: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError> {
        let status = match body.u8()? {
            0 => Status::Ended,
            1 => Status::Active,
            2 if version >= Version::Lite05 => Status::Restart,
            _ => return Err(DecodeError::Invalid("an announce status")),
        };
        let suffix = body.path()?;
        let hops = match version {
            Version::Lite03 => vec![0; body.varint()?.min(MAX_HOPS as u64 + 1) as usize],
            _ => hops(body)?,
        };
        Ok(Self {
            status,
            suffix,
            hops,
        })
    }
}
