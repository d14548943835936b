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

    #[error("{name}: {cause}")]
    Media { name: String, cause: moq_mux::Error },

    #[error("cannot publish '{name}': {cause}")]
    Broadcast { name: String, cause: moq_net::Error },

    #[error(
        "no broadcast {name} after {patience}{others}; check the name, or wait longer (--timeout)"
    )]
    Absent {
        name: String,
        patience: String,
        others: String,
    },

    #[error("a transport stream is nothing for a screen: give --output F.ts, or pipe it somewhere")]
    Terminal,

    #[error("interrupted before the end")]
    Interrupted,

    #[error("stdin cannot be started over: --loop needs a file")]
    Loop,

    /// The reader of our output went away, as `| head` does: nothing to complain about.
    #[error("the reader of the output closed it")]
    OutputClosed,

    #[error("{0}; stop what uses the port, or choose another address")]
    Listen(moq_quic::Error),

    #[error("no certificate to show: give --tls-generate localhost, or --tls-cert and --tls-key")]
    NoIdentity,

    #[error("{0}; check --tls-cert and --tls-key, or the names given to --tls-generate")]
    Identity(moq_quic::Error),

    #[error(
        "no answer from {address} in {patience} s: is a relay running there, and is UDP let through?"
    )]
    Silent { address: String, patience: u64 },

    #[error("the certificate of {address} was refused: {cause}; {fix}")]
    Certificate {
        address: String,
        cause: String,
        fix: &'static str,
    },

    #[error(
        "{address} speaks none of the versions offered; leave out --protocol, or choose another"
    )]
    Protocol { address: String },

    #[error("cannot connect to {address}: {cause}")]
    Connect { address: String, cause: String },

    #[error(
        "{address} refused the session: {reason}; ask for a path that is public there, or have it \
         made public (moq relay --auth-public)"
    )]
    Unauthorized { address: String, reason: String },

    #[error(
        "{address} does not take a broadcast named '{name}': publish below a path that it lets you, or have it \
         allowed there (moq relay --auth-public)"
    )]
    Unwanted { address: String, name: String },

    #[error("lost {address}: {cause}")]
    Lost { address: String, cause: String },

    #[error("{address} is going away")]
    GoingAway { address: String },

    #[error("the socket on {address} was closed")]
    Ended { address: SocketAddr },
}

impl Error {
    /// Trying again later may help.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Resolve { .. }
                | Self::Silent { .. }
                | Self::Connect { .. }
                | Self::Lost { .. }
                | Self::GoingAway { .. }
        )
    }
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
