//! Owns where a transport stream is read from: a file, stdin, or the bundled clip. Called by
//! `publish`, `check` and `demo`; does not look at what it reads.

use std::io::{Cursor, SeekFrom};

use moq_mux::import::{SourceFacts, scan};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt};

use crate::error::Error;

/// Ten seconds of a test picture and a tone: H.264 and AAC at a constant 2 Mb/s.
const CLIP: &[u8] = include_bytes!("../assets/clip.ts");

/// An open input.
pub(crate) struct Input {
    name: String,
    source: Source,
    length: Option<u64>,
}

enum Source {
    File(tokio::fs::File),
    Stdin(tokio::io::Stdin),
    Clip(Cursor<&'static [u8]>),
}

impl Input {
    /// Opens a file, or stdin for `-`.
    pub(crate) async fn open(path: &str) -> Result<Self, Error> {
        if path == "-" {
            let source = Source::Stdin(tokio::io::stdin());
            return Ok(Self {
                name: "stdin".into(),
                source,
                length: None,
            });
        }
        let failed = |cause| Error::Read {
            path: path.into(),
            cause,
        };
        let file = tokio::fs::File::open(path).await.map_err(failed)?;
        let facts = file.metadata().await.map_err(failed)?;
        // A pipe or a device has no length worth showing.
        let length = facts.is_file().then_some(facts.len());
        Ok(Self {
            name: path.into(),
            source: Source::File(file),
            length,
        })
    }

    /// The clip that comes with the program.
    pub(crate) fn clip() -> Self {
        Self {
            name: "the bundled clip".into(),
            source: Source::Clip(Cursor::new(CLIP)),
            length: Some(CLIP.len() as u64),
        }
    }

    /// What to call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes in all, where that is known beforehand.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// Reads all of it once to learn what is in it, if it can be read again after that.
    pub(crate) async fn scan(
        &mut self,
        program: Option<u16>,
    ) -> Result<Option<SourceFacts>, Error> {
        let scanned = match &self.source {
            Source::Stdin(_) => return Ok(None),
            Source::File(_) if self.length.is_none() => return Ok(None),
            Source::Clip(_) => scan(CLIP, program),
            Source::File(file) => {
                let copy = file.try_clone().await;
                let copy = copy.map_err(|cause| Error::Read {
                    path: self.name.clone(),
                    cause,
                })?;
                let file = copy.into_std().await;
                let scanning = tokio::task::spawn_blocking(move || scan(file, program));
                scanning
                    .await
                    .unwrap_or_else(|panic| Err(std::io::Error::other(panic).into()))
            }
        };
        let facts = scanned.map_err(|cause| match cause {
            moq_mux::Error::Io(cause) => Error::Read {
                path: self.name.clone(),
                cause,
            },
            cause => Error::Media {
                name: self.name.clone(),
                cause,
            },
        })?;
        // The copy shares its place with the original.
        self.rewind().await?;
        Ok(Some(facts))
    }

    /// Whether it can be read again from its start.
    pub(crate) fn can_rewind(&self) -> bool {
        self.length.is_some()
    }

    /// Reads some bytes; 0 at the end. Cancel safe, except that stdin may keep what it has read for
    /// the next call.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let reader: &mut (dyn AsyncRead + Unpin + Send) = match &mut self.source {
            Source::File(file) => file,
            Source::Stdin(stdin) => stdin,
            Source::Clip(clip) => clip,
        };
        reader.read(buffer).await.map_err(|cause| Error::Read {
            path: self.name.clone(),
            cause,
        })
    }

    /// Goes back to the start. Does nothing to an input that can't.
    pub(crate) async fn rewind(&mut self) -> Result<(), Error> {
        match &mut self.source {
            Source::File(file) => {
                let sought = file.seek(SeekFrom::Start(0)).await;
                sought.map_err(|cause| Error::Read {
                    path: self.name.clone(),
                    cause,
                })?;
            }
            Source::Stdin(_) => {}
            Source::Clip(clip) => clip.set_position(0),
        }
        Ok(())
    }
}
