//! Owns where a transport stream is written: a file, stdout or UDP. Called by `subscribe` and `demo`;
//! does not look at what it writes.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::time::Duration;

use moq_mux::export::SlotInfo;
use tokio::io::{AsyncWriteExt, BufWriter};

use crate::error::Error;
use crate::say::written;
use crate::udp::Datagrams;

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
    Udp(Datagrams),
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

    /// Sends to `address`, each datagram when it is due and `delay` after it could be.
    pub(crate) async fn udp(address: SocketAddr, delay: Duration) -> Result<Self, Error> {
        let datagrams = Datagrams::new(address, delay).await;
        let name = format!("udp://{address}");
        let datagrams = datagrams.map_err(|cause| Error::Write {
            path: name.clone(),
            cause,
        })?;
        Ok(Self {
            name,
            writer: Writer::Udp(datagrams),
        })
    }

    /// What is written next comes this unevenly from its source.
    pub(crate) fn expect(&mut self, jitter: Duration) {
        if let Writer::Udp(datagrams) = &mut self.writer {
            datagrams.expect(jitter);
        }
    }

    /// What to call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes all of a slot. Not cancel safe: a part may have been written.
    pub(crate) async fn write(&mut self, slot: &[u8], info: &SlotInfo) -> Result<(), Error> {
        let outcome = match &mut self.writer {
            Writer::File(file) => file.write_all(slot).await,
            Writer::Stdout(stdout) => match stdout.write_all(slot).await {
                Ok(()) => stdout.flush().await,
                failed => failed,
            },
            Writer::Udp(datagrams) => datagrams.send(slot, info).await,
        };
        outcome.map_err(|cause| written(&self.name, cause))
    }

    /// Writes what was gathered.
    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        let outcome = match &mut self.writer {
            Writer::File(file) => file.flush().await,
            Writer::Stdout(stdout) => stdout.flush().await,
            Writer::Udp(datagrams) => datagrams.flush().await,
        };
        outcome.map_err(|cause| written(&self.name, cause))
    }
}
