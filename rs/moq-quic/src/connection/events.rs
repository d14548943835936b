//! What the connection tells its driver. Produced by `connection`, in order; tells what changed, never carries bytes.

use quinn_proto::{Dir, StreamId};

use crate::Error;

/// Something the application may be waiting for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete and the peer is known to be who it should.
    Connected,
    /// The connection has ended.
    Lost(Error),
    /// The peer has opened streams: accept until there is none.
    Opened(Dir),
    /// The peer allows more streams.
    Available(Dir),
    /// A stream has something to read, an end or a reset.
    Readable(StreamId),
    /// A stream that was at its high-water mark has room, or can't be written any more.
    Writable(StreamId),
    /// The peer has stopped a stream of ours, or all of it is acknowledged.
    Done(StreamId),
    /// A datagram has come.
    Datagram,
}
