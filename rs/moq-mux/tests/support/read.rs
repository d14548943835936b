//! Imports bytes and reads everything back that was published.

use std::time::Duration;

use bytes::Bytes;
use futures::executor::block_on;
use moq_mux::catalog::Catalog;
use moq_mux::import::{Import, ImportConfig, ImportStats};
use moq_mux::{Result, container};
use moq_net::{Broadcast, Origin, Subscription};

/// One frame as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) group: u64,
    /// Ticks of 90 kHz.
    pub(crate) pts: i64,
    pub(crate) unit: Bytes,
}

/// What came out of an import.
pub(crate) struct Imported {
    pub(crate) broadcast: Broadcast,
    pub(crate) import: Import,
}

/// An importer that keeps everything.
pub(crate) fn importer(program: Option<u16>) -> Imported {
    let broadcast = Origin::new().create_broadcast("test").unwrap();
    let max_age = Duration::from_secs(1_000_000);
    let config = ImportConfig {
        program,
        max_age,
        ..ImportConfig::default()
    };
    let import = Import::new(broadcast.clone(), config).unwrap();
    Imported { broadcast, import }
}

/// Imports `bytes` to the end.
pub(crate) fn import(bytes: &[u8]) -> Imported {
    let mut imported = importer(None);
    imported.push(bytes).unwrap();
    imported.import.finish().unwrap();
    imported
}

impl Imported {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        for chunk in bytes.chunks(7 * 188) {
            self.import.push(chunk)?;
        }
        Ok(())
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        self.import.catalog()
    }

    pub(crate) fn stats(&self) -> ImportStats {
        self.import.stats()
    }

    /// Payloads of a finished track: group, time on the wire in µs, bytes.
    pub(crate) fn payloads(&self, name: &str) -> Vec<(u64, u64, Bytes)> {
        let consumer = self.broadcast.consume();
        let mut track = consumer
            .subscribe(name, Subscription::everything())
            .unwrap()
            .ordered();
        block_on(async {
            let mut payloads = Vec::new();
            while let Some(mut group) = track.next_group().await.unwrap() {
                let sequence = group.sequence();
                while let Some(frame) = group.read_frame().await.unwrap() {
                    payloads.push((sequence, frame.timestamp.as_micros(), frame.payload));
                }
            }
            payloads
        })
    }

    /// Frames of a finished track, out of their container.
    pub(crate) fn frames(&self, name: &str) -> Vec<Frame> {
        self.payloads(name)
            .into_iter()
            .map(|(group, time, payload)| {
                let (micros, unit) = container::split(payload).unwrap();
                assert_eq!(micros, time, "the container repeats the wire's time");
                let pts = moq_mux::ts::clock::ticks_90k_from_micros(micros as i64);
                Frame { group, pts, unit }
            })
            .collect()
    }
}
