//! Service-information tables beside the media: repeated on the absolute grid, so two exporters agree when.

use std::task::{Context, Poll};

use bytes::Bytes;
use moq_net::{BroadcastConsumer, Subscription};

use super::sequence::{Item, Sequence};
use crate::Result;
use crate::catalog::Catalog;
use crate::ts::mux::Mux;
use crate::ts::slot::SLOT;
use crate::ts::tstd::Limits;
use crate::ts::writer::Unit;

/// How long a repetition may take to get out, in ticks of 27 MHz: 200 ms.
const SPREAD: i64 = 5_400_000;

/// Ticks of 27 MHz in a millisecond.
const MILLISECOND: i64 = 27_000;

/// One table id on one PID.
pub(super) struct Table {
    pub(super) key: (u16, u8),
    frames: Sequence,
    /// Repetition interval in ticks of 27 MHz; a table without one is sent when it changes.
    interval: Option<i64>,
    coming: Vec<Bytes>,
    current: Vec<Bytes>,
    is_news: bool,
    is_ended: bool,
}

impl Table {
    /// The tables of a catalog.
    ///
    /// # Errors
    /// What the broadcast refuses a subscription with.
    pub(super) fn open(broadcast: &BroadcastConsumer, catalog: &Catalog) -> Result<Vec<Self>> {
        let listed = catalog.mpegts.iter().flat_map(|mpegts| &mpegts.si);
        let listed = listed
            .flat_map(|(&pid, tables)| tables.iter().map(move |(&id, table)| ((pid, id), table)));
        listed
            .map(|(key, table)| {
                Ok(Self {
                    key,
                    frames: Sequence::new(broadcast, &table.track, Subscription::default())?,
                    // A slot less, for where in its slot a table comes to lie.
                    interval: table
                        .interval
                        .map(|ms| (i64::from(ms) * MILLISECOND - 2 * SLOT).max(SLOT)),
                    coming: Vec::new(),
                    current: Vec::new(),
                    is_news: false,
                    is_ended: false,
                })
            })
            .collect()
    }

    /// Takes what has come; the newest whole group is the table.
    pub(super) fn read(&mut self, cx: &mut Context<'_>) {
        while !self.is_ended {
            match self.frames.poll(cx) {
                Poll::Pending => {
                    if !self.frames.skip_hole() {
                        return;
                    }
                }
                Poll::Ready(Item::Frame(_, _, frame)) => {
                    self.coming.extend(sections(frame.payload))
                }
                Poll::Ready(Item::GroupEnd) => {
                    self.current = std::mem::take(&mut self.coming);
                    self.is_news = true;
                }
                Poll::Ready(Item::End) => self.is_ended = true,
            }
        }
    }

    /// Whether the table is still to be read for the first time.
    pub(super) fn is_awaited(&self) -> bool {
        !self.is_ended && !self.is_news && self.current.is_empty()
    }

    /// Queues the table when its turn falls into slot `slot`.
    pub(super) fn send(&mut self, mux: &mut Mux, slot: i64) {
        let start = slot * SLOT;
        let is_turn = self.interval.is_some_and(|interval| {
            start.div_euclid(interval) != (start - SLOT).div_euclid(interval)
        });
        let is_once = self.is_news && self.interval.is_none();
        if !is_turn && !is_once {
            return;
        }
        self.is_news = false;
        let lane = mux.lane_of(self.key.0, Limits::SYSTEMS);
        for section in &self.current {
            mux.push(lane, start + SPREAD, Unit::section(section.clone()), None);
        }
    }
}

/// The sections that lie one after the other in `bytes`; a last one that is cut is left out.
fn sections(mut bytes: Bytes) -> Vec<Bytes> {
    let mut sections = Vec::new();
    while let &[_, high, low, ..] = &bytes[..] {
        let len = 3 + (usize::from(high & 0x0f) << 8 | usize::from(low));
        if len > bytes.len() {
            break;
        }
        sections.push(bytes.split_to(len));
    }
    sections
}
