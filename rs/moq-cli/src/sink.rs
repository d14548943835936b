//! Owns where a transport stream is written: a file or stdout. Called by `subscribe` and `demo`; does
//! not look at what it writes.

use std::io::IsTerminal;

use tokio::io::{AsyncWrite, AsyncWriteExt, BufWriter};

use crate::error::Error;
use crate::say::written;

/// Small slots are gathered into writes of this size.
const BUFFER: usize = 256 << 10;

/// An open output.
pub(crate) struct Sink {
    name: String,
    writer: Writer,
}

enum Writer {
    File(BufWriter<tokio::fs::File>),
    /// Whoever reads our stdout wants each slot when it comes.
    Stdout(tokio::io::Stdout),
}

impl Sink {
    /// Creates the file at `path`, over what was there; `-` is stdout, and so is nothing, unless a
    /// person would get the bytes on their screen.
    pub(crate) async fn open(path: Option<&str>) -> Result<Self, Error> {
        let path = match path {
            Some(path) => path,
            None if std::io::stdout().is_terminal() => return Err(Error::Terminal),
            None => "-",
        };
        if path == "-" {
            let writer = Writer::Stdout(tokio::io::stdout());
            return Ok(Self {
                name: "stdout".into(),
                writer,
            });
        }
        let file = tokio::fs::File::create(path).await;
        let file = file.map_err(|cause| Error::Write {
            path: path.into(),
            cause,
        })?;
        let writer = Writer::File(BufWriter::with_capacity(BUFFER, file));
        Ok(Self {
            name: path.into(),
            writer,
        })
    }

    /// What to call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes all of `bytes`. Not cancel safe: a part may have been written.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let outcome = match &mut self.writer {
            Writer::File(file) => file.write_all(bytes).await,
            Writer::Stdout(stdout) => all(stdout, bytes).await,
        };
        outcome.map_err(|cause| written(&self.name, cause))
    }

    /// Writes what was gathered.
    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        let outcome = match &mut self.writer {
            Writer::File(file) => file.flush().await,
            Writer::Stdout(stdout) => stdout.flush().await,
        };
        outcome.map_err(|cause| written(&self.name, cause))
    }
}

async fn all(writer: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    writer.write_all(bytes).await?;
    writer.flush().await
}
