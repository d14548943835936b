//! Grades any transport stream: TR 101 290 priorities 1 and 2, the clock, the tables, and the buffers of the T-STD.
//!
//! Called by whoever judges a stream, ours or another's. May not know the writer: nothing here uses the slots, the
//! schedule, the layout or the packets of the exporter, nor the importer's parsers of packets and tables, so that a
//! mistake on one side shows on the other. Only the readers of codec headers ([`crate::codec`]) are shared.
//!
//! | file | what it owns |
//! |---|---|
//! | `framing` | packets in bytes: 1.1, 1.2 |
//! | `packet`, `tables` | the views of a packet, a PES header, a section |
//! | `intake` | each packet once, in order: continuity, tables, units; what needs a time waits |
//! | `replay` | what waited, once the next PCR tells the times: intervals, arrivals |
//! | `pid` | what is known of one PID |
//! | `clock` | PCRs against byte positions |
//! | `units`, `limits`, `decoder` | access units through the decoder's buffers |
//! | `findings`, `report` | what is said at the end |
//!
//! Time between two PCRs runs evenly with the bytes. Memory is bounded: what waits for a PCR (at most a million packets),
//! and sixteen bytes a PCR.

mod clock;
mod decoder;
mod findings;
mod framing;
mod intake;
mod limits;
mod packet;
mod pid;
mod replay;
mod report;
mod tables;
mod units;

pub use report::{
    BufferReport, ClockReport, Fill, Finding, PidReport, ProgramReport, Report, Rule, TableReport,
};

use framing::{Framing, Step};
use intake::Intake;

/// A check in progress.
#[derive(Debug, Default)]
pub struct Check {
    framing: Framing,
    intake: Intake,
}

impl Check {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes, cut anywhere. O(bytes).
    pub fn push(&mut self, bytes: &[u8]) {
        let Self { framing, intake } = self;
        framing.push(bytes, |step| intake.step(step));
    }

    /// The stream has ended: the verdict on all of it.
    pub fn finish(mut self) -> Report {
        let Self { framing, intake } = &mut self;
        framing.finish(|step| intake.step(step));
        intake.finish();
        self.report()
    }

    /// The figures so far. What came since the last PCR is not in them yet. O(PCRs).
    pub fn report(&self) -> Report {
        let counts = self.framing.counts();
        let mut report = self.intake.report();
        report.bytes = counts.bytes;
        report.stride = self.framing.stride().unwrap_or(0);
        report
    }
}

impl Intake {
    fn step(&mut self, step: Step<'_>) {
        match step {
            Step::Packet(packet) => self.packet(packet),
            Step::Skipped(len) => self.skipped(len),
            Step::BadSync => self.breach(Rule::SyncByte, None, || {
                "a packet does not start with 0x47".into()
            }),
            Step::Lost => self.breach(Rule::SyncLoss, None, || {
                "two packets in a row do not start with 0x47".into()
            }),
        }
    }
}
