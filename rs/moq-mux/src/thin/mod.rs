//! Stopgap exporter.
#![allow(missing_docs, dead_code, clippy::all)]
mod author;
mod mux;
mod schedule;
mod track;
mod tstd;
mod writer;

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use moq_net::{BroadcastConsumer, Subscription};

use crate::catalog::{self, Catalog};
use crate::ts::psi::{Pat, Pmt};
use crate::ts::slot::{SLOT, slot_of};
use crate::{Error, Result};
pub use mux::SlotInfo;
use mux::Mux;
use track::TrackIn;

const LEAD: i64 = 27_000_000;

#[derive(Clone, Debug, Default)]
pub struct ExportConfig {
    pub rate: Option<u64>,
    pub delay: Duration,
    pub live: bool,
}

pub struct Export {
    broadcast: BroadcastConsumer,
    config: ExportConfig,
    tracks: Vec<TrackIn>,
    mux: Option<Mux>,
    catalog: Option<Catalog>,
}

impl Export {
    pub fn new(broadcast: BroadcastConsumer, config: ExportConfig) -> Self {
        Self { broadcast, config, tracks: Vec::new(), mux: None, catalog: None }
    }

    async fn open(&mut self) -> Result<()> {
        let mut subscriber = self.broadcast.subscribe(catalog::TRACK, Subscription { priority: 255, ..Subscription::default() })?;
        let mut group = subscriber.recv_group().await?.ok_or(Error::Empty)?;
        let frame = group.read_frame().await?.ok_or(Error::Empty)?;
        let catalog = Catalog::parse(&frame.payload)?;
        self.tracks = track::open(&self.broadcast, &catalog)?;
        self.catalog = Some(catalog);
        Ok(())
    }

    pub async fn next_slot(&mut self, out: &mut Vec<u8>) -> Result<Option<SlotInfo>> {
        if self.catalog.is_none() {
            self.open().await?;
        }
        self.fill().await?;
        if self.mux.is_none() {
            self.begin();
        }
        let Some(mux) = &mut self.mux else { return Ok(None) };
        for track in &mut self.tracks {
            let lane = *track.lane.get_or_insert_with(|| mux.add_lane(track.stream.pid, track.limits));
            mux.set_limits(lane, track.limits);
            for (dts, unit) in track.units.drain(..) {
                mux.push(lane, dts * 300, unit);
            }
        }
        if mux.is_empty() && self.tracks.iter().all(|track| track.finished) {
            return Ok(None);
        }
        Ok(Some(mux.next_slot(out)))
    }

    fn begin(&mut self) {
        let Some(first) = self.tracks.iter().filter_map(|track| Some(track.units.first()?.0 * 300)).min() else { return };
        let Some(catalog) = &self.catalog else { return };
        let mpegts = catalog.mpegts.clone().unwrap_or_default();
        let rate = self.config.rate.or(mpegts.mux_rate).or(mpegts.peak_rate).unwrap_or(10_000_000);
        let mut mux = Mux::new(rate, slot_of(first) - LEAD / SLOT - 2, LEAD);
        let program = mpegts.program.clone().unwrap_or_default();
        let number = program.program_number.max(1);
        let pmt_pid = if program.pmt_pid == 0 { 0x1000 } else { program.pmt_pid };
        let pat = Pat { transport_stream_id: program.transport_stream_id, version: 0, programs: vec![(number, pmt_pid)] };
        let clock = program.pcr_pid.unwrap_or_else(|| self.tracks.first().map_or(0x1fff, |track| track.stream.pid));
        let pmt = Pmt {
            program_number: number,
            version: program.pmt_version.unwrap_or(0),
            pcr_pid: clock,
            descriptors: mpegts.program_descriptors.clone(),
            streams: self.tracks.iter().map(|track| track.stream.clone()).collect(),
        };
        mux.set_tables(&pat, &pmt);
        self.mux = Some(mux);
    }

    /// Reads until the next slot is settled.
    async fn fill(&mut self) -> Result<()> {
        let need = self.mux.as_ref().map(|mux| (mux.slot() * SLOT + LEAD) / 300 + 1);
        poll_fn(|cx| loop {
            let mut moved = false;
            let mut settled = true;
            for track in &mut self.tracks {
                let ahead = |track: &TrackIn| match need {
                    Some(need) => track.newest.is_some_and(|newest| newest >= need),
                    None => track.newest.is_some(),
                };
                while !track.finished && !ahead(track) {
                    match track.poll(cx) {
                        Poll::Ready(result) => {
                            result?;
                            moved = true;
                        }
                        Poll::Pending => break,
                    }
                }
                settled &= track.finished || ahead(track) || track.is_sparse();
            }
            if settled {
                return Poll::Ready(Ok(()));
            }
            if !moved {
                return Poll::Pending;
            }
        })
        .await
    }

    pub fn late(&self) -> u64 {
        self.mux.as_ref().map_or(0, Mux::late)
    }
}
