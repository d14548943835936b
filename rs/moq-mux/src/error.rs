//! The one error type of the crate: what a person is told when a stream cannot go in or out.
//!
//! Damage inside a stream is never an error (it is counted and skipped); only what stops the work is.

/// What [`Import`](crate::import::Import) and the exporter can fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes hold no transport stream: no run of packets was found in what was read.
    #[error(
        "not an MPEG transport stream: no run of 188-, 192- or 204-byte packets in the first {0} bytes; \
         check the file, or remux it with `ffmpeg -i INPUT -c copy -f mpegts OUTPUT.ts`"
    )]
    NotTransportStream(u64),

    /// The input was empty.
    #[error("the input is empty: there is no transport stream in it")]
    Empty,

    /// Packets arrived, but no programme was ever described.
    #[error("no programme found: the stream carries no valid PAT and PMT")]
    NoProgram,

    /// The asked programme is not in the PAT.
    #[error("programme {wanted} is not in the stream; it has {present:?}")]
    ProgramMissing {
        /// The programme asked for.
        wanted: u16,
        /// What the PAT lists.
        present: Vec<u16>,
    },

    /// Several programmes and none chosen.
    #[error("the stream has several programmes {0:?}: choose one with `--program`")]
    SeveralPrograms(Vec<u16>),

    /// A catalog that is not JSON of the expected shape.
    #[error("the catalog cannot be read: {0}")]
    Catalog(#[from] serde_json::Error),

    /// More renditions than a catalog may hold.
    #[error("the catalog lists {0} renditions; at most {max} are accepted", max = crate::catalog::MAX_RENDITIONS)]
    TooManyRenditions(usize),

    /// A frame whose container header is cut short or whose time is out of range.
    #[error("a frame of {0} bytes has no readable timestamp in front")]
    Container(usize),

    /// The broadcast ended and its publisher did not say so: it died, or the network did.
    #[error("the broadcast was interrupted: its publisher is gone without having finished")]
    Interrupted,

    /// Nothing in the catalog can be put into a transport stream.
    #[error("the catalog lists no track that can be exported: is it a broadcast of media?")]
    NoTracks,

    /// The broadcast refused a track, a group or a frame.
    #[error("the broadcast takes nothing more: {0}")]
    Net(#[from] moq_net::Error),

    /// Reading the input failed.
    #[error("reading the input failed: {0}")]
    Io(#[from] std::io::Error),
}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
