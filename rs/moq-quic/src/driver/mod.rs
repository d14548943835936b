//! The async edge on tokio.
//!
//! | file | what it owns |
//! |---|---|
//! | `endpoint`, `receive` | the socket: connect, accept, and the task that receives for all connections |
//! | `connection` | a connection's handle |
//! | `turn`, `shared`, `wait` | one task that turns one sans-IO connection, what it shares with handles, who waits |
//! | `group` | handles on send groups |
//! | `send`, `recv` | the two halves of a stream, with `AsyncWrite` and `AsyncRead` |
//! | `socket`, `udp` | what a socket must do, and UDP with segmentation offload |

mod connection;
mod endpoint;
mod group;
mod receive;
mod recv;
mod send;
mod shared;
mod socket;
mod turn;
mod udp;
mod wait;

pub use connection::Connection;
pub use endpoint::{Endpoint, Incoming};
pub use group::SendGroup;
pub use recv::RecvStream;
pub use send::SendStream;
pub use socket::Socket;
