//! Owns what a person is told when a command can't go on: one line that names the thing and the
//! fix. Called everywhere in this crate; `main` prints it and exits with status 1.

use std::io;
use std::net::SocketAddr;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("cannot read the URL '{url}': {fix}")]
    Url { url: String, fix: String },

    #[error("cannot resolve '{host}': {cause}; check the name, or use its IP address")]
    Resolve { host: String, cause: String },

    #[error("cannot read '{path}': {}", read_cause(.cause))]
    Read { path: String, cause: io::Error },

    #[error("cannot write '{path}': {}", write_cause(.cause))]
    Write { path: String, cause: io::Error },

    /// The reader of our output went away, as `| head` does: nothing to complain about.
    #[error("the reader of the output closed it")]
    OutputClosed,

    #[error("cannot listen on {address}: {}", listen_cause(.cause))]
    Listen {
        address: SocketAddr,
        cause: io::Error,
    },
}

fn read_cause(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NotFound => "there is no such file; check the path".into(),
        io::ErrorKind::PermissionDenied => "permission denied; check who may read it".into(),
        io::ErrorKind::IsADirectory => "it is a directory; give a file".into(),
        _ => cause.to_string(),
    }
}

fn write_cause(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NotFound => "there is no such directory; create it first".into(),
        io::ErrorKind::PermissionDenied => "permission denied; choose another place".into(),
        io::ErrorKind::IsADirectory => "it is a directory; give a file name".into(),
        io::ErrorKind::StorageFull => "the disk is full; make room or write elsewhere".into(),
        _ => cause.to_string(),
    }
}

fn listen_cause(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::AddrInUse => {
            "the port is in use; stop what listens there, or choose another port".into()
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; use one of its own, or 0.0.0.0 for all".into()
        }
        io::ErrorKind::PermissionDenied => {
            "permission denied; choose a port above 1023, or run with the right to low ports".into()
        }
        _ => cause.to_string(),
    }
}
