//! The transport's handles, under one roof, and its errors in this crate's words.
//!
//! Called by every task of a session. The only place that names the transport's types, so that another binding of the
//! same surface can take their place.

pub(crate) use moq_quic::{Connection, GroupConfig, RecvStream, SendGroup, SendStream};

use super::code;
use crate::Error;

impl From<moq_quic::Error> for Error {
    fn from(error: moq_quic::Error) -> Self {
        use moq_quic::Error as Transport;
        match error {
            Transport::Reset(wire) | Transport::Stopped(wire) => {
                Self::from_stream_code(code::from_wire(wire))
            }
            Transport::Closed { code, reason } => Self::Session { code, reason },
            Transport::TimedOut => Self::Timeout,
            Transport::LocallyClosed => Self::LocallyClosed,
            Transport::NoCommonAlpn | Transport::Version => Self::Version,
            Transport::StreamClosed => Self::Cancel,
            Transport::UnexpectedEnd => Self::Decode("the stream ended inside a message"),
            other => Self::Transport(other.to_string()),
        }
    }
}

/// Resets a stream for a reason. One that has ended already is left alone.
pub(crate) fn reset(stream: &mut SendStream, error: &Error) {
    let _ = stream.reset(code::to_wire(error.stream_code()));
}

/// Tells the peer to stop a stream for a reason. One that has ended already is left alone.
pub(crate) fn stop(stream: &mut RecvStream, error: &Error) {
    let _ = stream.stop(code::to_wire(error.stream_code()));
}

/// A sending stream that is reset as cancelled when it is dropped, unless the peer has all of it.
#[derive(Debug)]
pub(crate) struct Cancelled(pub(crate) SendStream);

impl Drop for Cancelled {
    fn drop(&mut self) {
        reset(&mut self.0, &Error::Cancel);
    }
}
