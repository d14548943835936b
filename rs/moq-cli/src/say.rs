//! Owns how a command talks: results on stdout, everything else on stderr. Called everywhere in
//! this crate. Neither stream is trusted to be open: a closed stderr is ignored, a closed stdout
//! ends the command quietly.

use std::fmt;
use std::io::{ErrorKind, Write};

use crate::error::Error;

/// Tells the person something on stderr, one line.
pub(crate) fn say(line: impl fmt::Display) {
    // With nobody listening there is nobody to tell that nobody is listening.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints a result on stdout, with the newline that ends it, and flushes it: whoever reads our lines
/// through a pipe gets each as it comes.
///
/// Errors: [`Error::OutputClosed`] if the reader has gone.
pub(crate) fn print(text: impl fmt::Display) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(|cause| written("stdout", cause))
}

/// What a failed write to `path` means.
pub(crate) fn written(path: &str, cause: std::io::Error) -> Error {
    match cause.kind() {
        ErrorKind::BrokenPipe => Error::OutputClosed,
        _ => Error::Write {
            path: path.into(),
            cause,
        },
    }
}
