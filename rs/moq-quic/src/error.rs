//! The crate's one error. Made by every edge; its text is what a person reads, so it names the thing and the way out.
//!
//! May not know streams' contents or what the application means by its codes.

use std::net::SocketAddr;

/// Why something failed. Cheap to clone: every handle of a connection can be told the same reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The local address could not be used.
    #[error("cannot listen on {addr}: {reason}")]
    Bind {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        reason: String,
    },
    /// The socket failed while in use.
    #[error("the UDP socket failed: {0}")]
    Socket(String),
    /// A certificate, key or root could not be loaded or made.
    #[error("{0}")]
    Identity(String),
    /// The server's name is neither a DNS name nor an address.
    #[error("{0:?} is not a valid server name")]
    ServerName(String),
    /// The remote address cannot be connected to from this socket.
    #[error("cannot connect to {0} from this socket")]
    RemoteAddress(SocketAddr),
    /// The server did not take the connection.
    #[error("the server refused the connection")]
    Refused,
    /// The peer's certificate was refused here.
    #[error("the server's certificate was refused: {0}")]
    Certificate(String),
    /// Our certificate was refused by the peer, or the handshake broke in another way.
    #[error("the TLS handshake failed: {0}")]
    Tls(String),
    /// The two sides speak no common application protocol.
    #[error("no common application protocol: the two sides offered none the other speaks (ALPN)")]
    NoCommonAlpn,
    /// The peer speaks no common version of QUIC.
    #[error("the peer speaks no common QUIC version")]
    Version,
    /// Nothing was heard from the peer for the idle timeout.
    #[error("timed out: nothing heard from the peer")]
    TimedOut,
    /// The peer closed the connection.
    #[error("closed by the peer: code {code}{}", Reason(.reason))]
    Closed {
        /// The application's code.
        code: u64,
        /// The application's reason, as far as it was UTF-8.
        reason: String,
    },
    /// The connection was closed on this side.
    #[error("closed locally")]
    LocallyClosed,
    /// The endpoint is gone.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// The peer broke the protocol, reset the connection or ended it for a reason of its transport.
    #[error("the connection failed: {0}")]
    Transport(String),
    /// The peer abandoned the stream we read.
    #[error("stream reset by the peer: code {0}")]
    Reset(u64),
    /// The peer does not want what we write.
    #[error("stream stopped by the peer: code {0}")]
    Stopped(u64),
    /// The stream was finished, reset or stopped here before.
    #[error("the stream is already closed")]
    StreamClosed,
    /// The stream ended before the buffer was full.
    #[error("the stream ended early")]
    UnexpectedEnd,
    /// The send group was closed.
    #[error("the send group is closed")]
    GroupClosed,
    /// The peer takes no datagrams.
    #[error("the peer takes no datagrams")]
    DatagramsUnsupported,
    /// The datagram can never fit a packet of this path.
    #[error("a datagram of {len} bytes does not fit: the path takes {max}")]
    DatagramTooLarge {
        /// Its length.
        len: usize,
        /// The most that fits.
        max: usize,
    },
    /// The datagram was refused by the budget: it would have been the first to be evicted.
    #[error("the datagram was dropped: the send budget is full of more important ones")]
    DatagramDropped,
}

struct Reason<'a>(&'a str);

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", self.0)
    }
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind;
        let kind = match error {
            Error::Reset(_) | Error::Stopped(_) => ErrorKind::ConnectionReset,
            Error::TimedOut => ErrorKind::TimedOut,
            Error::StreamClosed | Error::LocallyClosed | Error::GroupClosed => {
                ErrorKind::NotConnected
            }
            Error::UnexpectedEnd => ErrorKind::UnexpectedEof,
            Error::Closed { .. } => ErrorKind::ConnectionAborted,
            _ => ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// TLS alerts, as QUIC carries them (RFC 9001 §4.8).
const TLS: u64 = 0x100;
const TLS_LAST: u64 = 0x1ff;

/// The alert that says the two sides had no application protocol in common (RFC 7301 §3.2).
const ALERT_NO_APPLICATION_PROTOCOL: u64 = TLS + 120;

/// How rustls begins when it refuses a certificate.
const BAD_CERTIFICATE: &str = "invalid peer certificate: ";

/// Says in words what rustls says in names.
fn certificate(why: &str) -> String {
    let words = match why {
        "UnknownIssuer" => "no trusted root vouches for it",
        "BadSignature" => "its signature is not that of the trusted root it names",
        "Expired" => "it has expired",
        "NotValidYet" => "it is not valid yet",
        "NotValidForName" => "it is for another name",
        "Revoked" => "it was revoked",
        "BadEncoding" => "it is broken",
        _ => {
            let ours = why.strip_prefix("Other(OtherError(");
            return ours
                .map_or(why, |ours| ours.trim_end_matches(')'))
                .to_owned();
        }
    };
    words.to_owned()
}

impl From<quinn_proto::ConnectionError> for Error {
    fn from(error: quinn_proto::ConnectionError) -> Self {
        use quinn_proto::ConnectionError as E;
        match error {
            E::VersionMismatch => Self::Version,
            E::TransportError(error) => {
                let code = u64::from(error.code);
                match code {
                    ALERT_NO_APPLICATION_PROTOCOL => Self::NoCommonAlpn,
                    TLS..=TLS_LAST => match error.reason.strip_prefix(BAD_CERTIFICATE) {
                        Some(why) => Self::Certificate(certificate(why)),
                        None => Self::Tls(error.reason),
                    },
                    _ => Self::Transport(error.to_string()),
                }
            }
            E::ConnectionClosed(close) => {
                let code = u64::from(close.error_code);
                let reason = String::from_utf8_lossy(&close.reason);
                match code {
                    2 => Self::Refused,
                    ALERT_NO_APPLICATION_PROTOCOL => Self::NoCommonAlpn,
                    TLS..=TLS_LAST => Self::Tls(format!("the peer said: {reason}")),
                    _ => Self::Transport(format!("the peer said: {close}")),
                }
            }
            E::ApplicationClosed(close) => Self::Closed {
                code: close.error_code.into_inner(),
                reason: String::from_utf8_lossy(&close.reason).into_owned(),
            },
            E::Reset => Self::Transport("reset by the peer".into()),
            E::TimedOut => Self::TimedOut,
            E::LocallyClosed => Self::LocallyClosed,
            E::CidsExhausted => Self::Transport("no connection ids left".into()),
        }
    }
}
