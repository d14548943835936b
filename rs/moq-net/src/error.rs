//! The crate's one error, and the numbers the wire gives each case.
//!
//! Owns the enum and both code tables (stream resets, session closes). Called by every module. May not know which
//! message or stream an error came from: the caller adds that.

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a broadcast, track, group or session.
///
/// Cheap to clone: the same error is given to every reader of an aborted group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection below failed; the text is the transport's own.
    #[error("the connection failed: {0}")]
    Transport(String),
    /// Bytes from the peer were not a valid message.
    #[error("the peer sent a message that cannot be decoded: {0}")]
    Decode(&'static str),
    /// Both sides speak no common protocol version.
    #[error("no protocol version in common with the peer; offer one of its ALPNs")]
    Version,
    /// The reader or writer on the other side went away on purpose.
    #[error("cancelled by the other side")]
    Cancel,
    /// A deadline of the protocol passed.
    #[error("the peer did not answer in time")]
    Timeout,
    /// The group is older than the age its reader or its track allows.
    #[error("the group is too old: newer media has passed it by more than the allowed age")]
    Old,
    /// No such broadcast or track.
    #[error("not found: nothing is published under that name")]
    NotFound,
    /// No route leads to the broadcast.
    #[error("no route to the broadcast")]
    Unroutable,
    /// The group was dropped to keep the cache within its byte budget.
    #[error(
        "the group was evicted to keep the cache within its budget; raise the pool's capacity to keep more"
    )]
    Evicted,
    /// The reader is so far behind that what it wanted is gone.
    #[error("the reader fell too far behind")]
    Lagged,
    /// A frame is larger than [`crate::model::MAX_FRAME_BYTES`].
    #[error("the frame is larger than 32 MiB")]
    FrameTooLarge,
    /// A group has more frames or bytes than [`crate::model::MAX_GROUP_FRAMES`] and [`crate::model::MAX_GROUP_BYTES`].
    #[error("the group is larger than 8192 frames or 32 MiB; start a new group earlier")]
    GroupTooLarge,
    /// A datagram's payload is larger than [`crate::model::MAX_DATAGRAM_BYTES`].
    #[error("the datagram is larger than 1200 bytes; send it as a group")]
    DatagramTooLarge,
    /// What was written differs from the size declared for it.
    #[error("the bytes written differ from the declared size")]
    WrongSize,
    /// A timestamp or scale outside 62 bits, or a scale of zero.
    #[error(
        "a timestamp or timescale is out of range (timescale 1 to 2^62-1, timestamp up to 2^62-1)"
    )]
    TimestampMismatch,
    /// The name or sequence exists already.
    #[error("that name or sequence exists already")]
    Duplicate,
    /// The track or broadcast has ended: nothing can be added.
    #[error("already closed: nothing can be added")]
    Closed,
    /// The session was closed on this side.
    #[error("the session was closed here")]
    LocallyClosed,
    /// The producer went away without finishing.
    #[error("the producer went away before finishing")]
    Dropped,
    /// The peer is shutting down.
    #[error("the peer is going away")]
    GoingAway,
    /// The path is outside what this session may use.
    #[error("not authorised for that path")]
    Unauthorized,
    /// The peer, or a caller, broke a rule; the text names it.
    #[error("protocol violation: {0}")]
    ProtocolViolation(&'static str),
    /// A path has more than [`crate::path::MAX_PARTS`] parts.
    #[error("a path may have at most 32 parts separated by '/'")]
    PathTooLong,
    /// The peer closed the session with this code and reason.
    #[error("the peer closed the session with code {code}: {reason}")]
    Session {
        /// The session close code.
        code: u64,
        /// The reason, as the peer gave it.
        reason: String,
    },
    /// The peer reset or stopped a stream with a code this crate has no name for.
    #[error("the peer ended the stream with code {0}")]
    Remote(u64),
    /// An application's own code.
    #[error("application error {0}")]
    App(u16),
}

/// First stream and session code that belongs to applications.
const APP: u64 = 64;

impl Error {
    /// The code a stream is reset or stopped with.
    #[must_use]
    pub fn stream_code(&self) -> u64 {
        match self {
            Self::Cancel => 0x01,
            Self::Timeout => 0x02,
            Self::Session { .. } | Self::Transport(_) | Self::LocallyClosed => 0x03,
            Self::GoingAway => 0x04,
            Self::Lagged => 0x05,
            Self::Decode(_) | Self::ProtocolViolation(_) => 0x12,
            Self::GroupTooLarge => 0x32,
            Self::NotFound => 0x33,
            Self::Old => 0x34,
            Self::Evicted => 0x35,
            Self::Unroutable => 0x36,
            Self::WrongSize => 0x37,
            Self::FrameTooLarge => 0x38,
            Self::TimestampMismatch => 0x39,
            Self::Remote(code) => *code,
            Self::App(code) => APP + u64::from(*code),
            _ => 0x00,
        }
    }

    /// The error a stream's reset or stop code stands for; unknown codes are kept as [`Error::Remote`].
    #[must_use]
    pub fn from_stream_code(code: u64) -> Self {
        match code {
            0x01 => Self::Cancel,
            0x02 => Self::Timeout,
            0x04 => Self::GoingAway,
            0x05 => Self::Lagged,
            0x31 => Self::Timeout,
            0x32 => Self::GroupTooLarge,
            0x33 => Self::NotFound,
            0x34 => Self::Old,
            0x35 => Self::Evicted,
            0x36 => Self::Unroutable,
            0x37 => Self::WrongSize,
            0x38 => Self::FrameTooLarge,
            0x39 => Self::TimestampMismatch,
            code => match code.checked_sub(APP).map(u16::try_from) {
                Some(Ok(app)) => Self::App(app),
                _ => Self::Remote(code),
            },
        }
    }

    /// The code the whole session is closed with.
    #[must_use]
    pub fn session_code(&self) -> u64 {
        match self {
            Self::Cancel | Self::Closed | Self::LocallyClosed => 0x00,
            Self::Unauthorized => 0x02,
            Self::Decode(_) | Self::ProtocolViolation(_) => 0x03,
            Self::GoingAway => 0x10,
            Self::Timeout => 0x11,
            Self::Version => 0x15,
            Self::Session { code, .. } => *code,
            Self::App(code) => APP + u64::from(*code),
            _ => 0x01,
        }
    }
}
