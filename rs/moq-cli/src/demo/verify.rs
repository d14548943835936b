//! Owns the proof that the written transport stream has the frames that were sent: it is imported
//! again, and compared with the books. Called by `demo` with each slot it writes.

use std::time::Duration;

use moq_mux::import::{Import, ImportConfig};
use moq_net::{Broadcast, Pool};
use tokio::time::Instant;

use super::ledger::Ledger;
use super::tap::{Books, NearTap};
use crate::error::Error;

/// Reads a transport stream back.
pub(crate) struct Verify {
    import: Import,
    books: Books,
    tap: NearTap,
}

impl Verify {
    pub(crate) fn new() -> Result<Self, Error> {
        let broadcast = Broadcast::new(Pool::default());
        let consumer = broadcast.consume();
        let import = Import::new(broadcast, ImportConfig::default()).map_err(media)?;
        let books = Books::new(Instant::now());
        let tap = NearTap::new(books.clone(), consumer);
        Ok(Self { import, books, tap })
    }

    /// Takes the next packets; how many bytes of payload they completed.
    pub(crate) fn push(&mut self, packets: &[u8]) -> Result<u64, Error> {
        self.import.push(packets).map_err(media)?;
        self.look();
        // Nothing is ever delivered in these books: what is outstanding was read since the last call.
        Ok(self.books.with(|ledger| {
            let read = ledger.outstanding();
            ledger.write_off();
            read
        }))
    }

    /// The output has ended: the names of the tracks whose frames are the same as those in the books
    /// of what was sent, and at the same distances in time.
    pub(crate) fn finish(mut self, sent: &Books) -> Result<Vec<String>, Error> {
        self.import.finish().map_err(media)?;
        self.look();
        Ok(self
            .books
            .with(|written| sent.with(|sent| same(sent, written))))
    }

    fn look(&mut self) {
        let stats = self.import.stats();
        self.tap.look(
            stats.tracks.iter().map(|track| track.name.as_str()),
            Duration::ZERO,
        );
    }
}

fn same(sent: &Ledger, written: &Ledger) -> Vec<String> {
    let same = |name: &&str| sent.sequence(name) == written.sequence(name);
    sent.names().filter(same).map(str::to_owned).collect()
}

fn media(cause: moq_mux::Error) -> Error {
    Error::Media {
        name: "the output".into(),
        cause,
    }
}
