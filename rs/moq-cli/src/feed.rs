//! Owns the way from an input into a broadcast: what is in it, the next piece, when that is due, and
//! starting over. Called by `publish` and `demo`, which decide what to wait for between pieces.

use std::time::Duration;

use moq_mux::import::{Import, ImportConfig, ImportStats};
use moq_net::Broadcast;
use tokio::time::Instant;

use crate::error::Error;
use crate::input::Input;
use crate::pacing::Pacing;

/// Paced, a piece is what one datagram carries on the way out of a contribution encoder: seven packets.
const PACED: usize = 7 * 188;

/// Unpaced, larger pieces cost less.
const UNPACED: usize = 64 << 10;

/// How much is read at once.
const READ: usize = 64 << 10;

/// Groups are kept this long behind the newest media when the stream's own clock paces it. Unpaced, an
/// hour passes in seconds, so all of it counts as new.
const PACED_AGE: Duration = Duration::from_secs(5);
const UNPACED_AGE: Duration = Duration::from_secs(24 * 3600);

/// How a broadcast is fed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedConfig {
    /// By the stream's own clock, or as fast as it is taken.
    pub(crate) paced: bool,
    /// Start over at the end.
    pub(crate) looped: bool,
    /// Which programme, if there are several.
    pub(crate) program: Option<u16>,
}

/// An input on its way into a broadcast.
pub(crate) struct Feed {
    input: Input,
    import: Import,
    config: FeedConfig,
    buffer: Vec<u8>,
    /// The part of the buffer that was read and not pushed.
    unread: std::ops::Range<usize>,
    pushed: u64,
    /// Bytes pushed in this turn of a loop.
    turn: u64,
    pacing: Pacing,
    started: Option<Instant>,
    finished: bool,
}

impl Feed {
    /// Looks through `input`, if it can be read twice, and gets ready to publish it in `broadcast`.
    ///
    /// Errors: the input can't be read, or holds nothing to publish.
    pub(crate) async fn new(
        mut input: Input,
        broadcast: Broadcast,
        config: FeedConfig,
    ) -> Result<Self, Error> {
        let facts = input.scan(config.program).await?;
        let import_config = ImportConfig {
            program: config.program,
            max_age: if config.paced { PACED_AGE } else { UNPACED_AGE },
            wall: wall(),
            facts,
        };
        let import = Import::new(broadcast, import_config);
        let import = import.map_err(|cause| Error::Media {
            name: input.name().into(),
            cause,
        })?;
        Ok(Self {
            input,
            import,
            config,
            buffer: vec![0; READ],
            unread: 0..0,
            pushed: 0,
            turn: 0,
            pacing: Pacing::default(),
            started: None,
            finished: false,
        })
    }

    /// Pushes as much as it takes for the catalog to be out, so that subscribers can know the tracks.
    ///
    /// Errors: the input ended before there was anything to publish.
    pub(crate) async fn prepare(&mut self) -> Result<(), Error> {
        while !self.import.progress().ready {
            if !self.step().await? {
                return self.finish();
            }
        }
        Ok(())
    }

    /// Pushes the next piece; `false` if there is none. Cancel safe.
    pub(crate) async fn step(&mut self) -> Result<bool, Error> {
        while self.unread.is_empty() {
            let read = self.input.read(&mut self.buffer).await?;
            self.unread = 0..read;
            if read == 0 {
                // A file that was emptied meanwhile would turn for ever.
                if !self.config.looped || self.turn == 0 {
                    return Ok(false);
                }
                self.input.rewind().await?;
                self.turn = 0;
                self.import.restart().map_err(|cause| self.media(cause))?;
            }
        }
        let most = if self.config.paced { PACED } else { UNPACED };
        let piece = self.unread.start..self.unread.end.min(self.unread.start + most);
        let length = piece.len();
        self.unread.start = piece.end;
        self.import
            .push(&self.buffer[piece])
            .map_err(|cause| self.media(cause))?;
        self.pushed += length as u64;
        self.turn += length as u64;
        Ok(true)
    }

    /// How long to wait before the next piece, by the stream's own clock.
    pub(crate) fn wait(&mut self) -> Duration {
        let started = *self.started.get_or_insert_with(Instant::now);
        match self.import.progress().clock {
            Some(clock) => self.pacing.wait(clock, started.elapsed()),
            None => Duration::ZERO,
        }
    }

    /// Publishes what was begun and finishes every track, if that wasn't done yet.
    ///
    /// Errors: there was nothing to publish.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        self.import.finish().map_err(|cause| self.media(cause))
    }

    /// Bytes of input pushed.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// What was met and published so far.
    pub(crate) fn stats(&self) -> ImportStats {
        self.import.stats()
    }

    fn media(&self, cause: moq_mux::Error) -> Error {
        Error::Media {
            name: self.input.name().into(),
            cause,
        }
    }
}

/// Wall-clock time in µs since 2020-01-01 UTC.
#[expect(
    clippy::disallowed_methods,
    reason = "the catalog says when on the wall clock media time began"
)]
fn wall() -> Option<i64> {
    const EPOCH_2020: Duration = Duration::from_secs(1_577_836_800);
    let since_1970 = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    i64::try_from(since_1970.checked_sub(EPOCH_2020)?.as_micros()).ok()
}
