//! What a check found, as data: serialised for programs, printed by whoever shows it to people.

use serde::Serialize;

/// The verdict on a transport stream and the figures it rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Bytes read.
    pub bytes: u64,
    /// Packets found, damaged ones included.
    pub packets: u64,
    /// Distance of packets in bytes: 188, 192 or 204; 0 when none was found.
    pub stride: usize,
    /// Length by the clock of the first programme, in seconds.
    pub duration: f64,
    /// Mean rate of the multiplex in bit/s by that clock.
    pub rate: Option<u64>,
    /// Whether that rate was constant.
    pub constant_rate: bool,
    /// Share of null packets, 0 to 1.
    pub null_share: f64,
    /// The clocks, by PID.
    pub clocks: Vec<ClockReport>,
    /// The programmes.
    pub programs: Vec<ProgramReport>,
    /// What each PID carried.
    pub pids: Vec<PidReport>,
    /// How often each table came.
    pub tables: Vec<TableReport>,
    /// The decoder's buffers, by PID.
    pub buffers: Vec<BufferReport>,
    /// Everything that is wrong, most important first.
    pub findings: Vec<Finding>,
}

/// One kind of error on one PID.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Which rule was broken.
    pub rule: Rule,
    /// Its number in TR 101 290, or in this checker's continuation of it.
    pub id: &'static str,
    /// Where; `None` for the whole stream.
    pub pid: Option<u16>,
    /// How often.
    pub count: u64,
    /// When the first ones were, in seconds of programme time; empty when there was no clock.
    pub times: Vec<f64>,
    /// What happened, for a person.
    pub detail: String,
}

/// The rules, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The stream has no packets or ends inside one.
    Stream,
    /// 1.1: two bad sync bytes in a row.
    SyncLoss,
    /// 1.2: a sync byte that is not 0x47.
    SyncByte,
    /// 1.3.a: no PAT for 0.5 s, a foreign table on its PID, or scrambled.
    Pat,
    /// 1.4: packets lost, out of order, or more than twice.
    Continuity,
    /// 1.5.a: no PMT for 0.5 s, or scrambled.
    Pmt,
    /// 1.6: a PID a PMT refers to is absent for 5 s.
    Pid,
    /// 2.1: `transport_error_indicator`.
    Transport,
    /// 2.2: the CRC of a table is wrong.
    Crc,
    /// 2.3.a: no PCR for 100 ms.
    PcrRepetition,
    /// 2.3.b: the PCR stepped back or by more than 100 ms without being flagged.
    PcrDiscontinuity,
    /// 2.4: the PCR is more than 500 ns off its byte position, at a constant rate.
    PcrAccuracy,
    /// 2.5: no PTS for 700 ms.
    Pts,
    /// 2.6: scrambled packets without a CAT, or a foreign table on its PID.
    Cat,
    /// 3.3: a buffer of the decoder overflows.
    Buffer,
    /// 3.3: an access unit is not complete at its decode time.
    Late,
    /// 3.9: a transport buffer is not empty once a second.
    EmptyBuffer,
    /// 3.10: data waits longer than 1 s (10 s for H.264 and H.265).
    DataDelay,
    /// Reserved bits that must be ones are not, or the like.
    Syntax,
}

impl Rule {
    /// The number in TR 101 290 V1.4.1.
    pub fn id(self) -> &'static str {
        match self {
            Self::Stream => "0",
            Self::SyncLoss => "1.1",
            Self::SyncByte => "1.2",
            Self::Pat => "1.3.a",
            Self::Continuity => "1.4",
            Self::Pmt => "1.5.a",
            Self::Pid => "1.6",
            Self::Transport => "2.1",
            Self::Crc => "2.2",
            Self::PcrRepetition => "2.3.a",
            Self::PcrDiscontinuity => "2.3.b",
            Self::PcrAccuracy => "2.4",
            Self::Pts => "2.5",
            Self::Cat => "2.6",
            Self::Buffer | Self::Late => "3.3",
            Self::EmptyBuffer => "3.9",
            Self::DataDelay => "3.10",
            Self::Syntax => "syntax",
        }
    }

    /// 1 (the stream cannot be decoded), 2 (decoding may suffer) or 3.
    pub fn priority(self) -> u8 {
        match self {
            _ if self <= Self::Pid => 1,
            _ if self <= Self::Cat => 2,
            _ => 3,
        }
    }
}

/// A programme clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClockReport {
    /// The PID that carries it.
    pub pid: u16,
    /// How many PCRs.
    pub count: u64,
    /// Shortest, mean and longest distance in ms, breaks apart.
    pub interval_ms: [f64; 3],
    /// Largest distance between a PCR and its byte position, in ns, after a fit of rate and offset to each stretch of
    /// constant rate; `None` when the rate varies.
    pub accuracy_ns: Option<f64>,
    /// Root mean square of the same, in ns.
    pub jitter_ns: Option<f64>,
    /// Rate by this clock in bit/s.
    pub rate: Option<f64>,
    /// Stretches of constant rate.
    pub stretches: usize,
    /// How far the rate over ten seconds strays from the whole, in parts per million: the clock's drift.
    pub drift_ppm: Option<f64>,
    /// Breaks that were flagged.
    pub discontinuities: u64,
}

/// A programme.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProgramReport {
    /// `program_number`.
    pub number: u16,
    /// PID of its PMT.
    pub pmt_pid: u16,
    /// PID of its clock.
    pub pcr_pid: u16,
    /// Versions of the PMT that were seen.
    pub versions: u64,
}

/// One PID.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PidReport {
    /// The PID.
    pub pid: u16,
    /// What it is, for a person.
    pub kind: String,
    /// `stream_type`, for elementary streams.
    pub stream_type: Option<u8>,
    /// Packets.
    pub packets: u64,
    /// Share of all packets, 0 to 1.
    pub share: f64,
    /// Packets lost or out of order.
    pub continuity_errors: u64,
    /// Packets sent twice.
    pub duplicates: u64,
    /// Units that started.
    pub units: u64,
    /// Longest distance of two presentation times in ms.
    pub pts_gap_ms: Option<f64>,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TableReport {
    /// Its PID.
    pub pid: u16,
    /// `table_id`.
    pub table_id: u8,
    /// How many sections.
    pub count: u64,
    /// Mean and longest distance in ms of two sections with the same number.
    pub interval_ms: [f64; 2],
}

/// The buffers of one PID in the T-STD (ISO/IEC 13818-1 §2.4.2).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BufferReport {
    /// The PID; for the tables of a programme that of the PMT.
    pub pid: u16,
    /// What the limits were taken for, for a person.
    pub kind: String,
    /// Rate at which the transport buffer empties, bit/s.
    pub leak: u64,
    /// The transport buffer, in bytes.
    pub transport: Fill,
    /// The multiplexing buffer of video, in bytes.
    pub multiplexing: Option<Fill>,
    /// The elementary buffer of video, or the main buffer of everything else, in bytes.
    pub main: Option<Fill>,
    /// Access units judged.
    pub units: u64,
    /// Those not complete at their decode time.
    pub late: u64,
    /// The worst of them, in ms.
    pub late_ms: f64,
    /// The longest time from the first byte's arrival to decoding, in ms.
    pub delay_ms: f64,
}

/// How full a buffer got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Fill {
    /// Its size.
    pub size: u64,
    /// The most that was in it.
    pub peak: u64,
    /// How often it overflowed.
    pub overflows: u64,
}

impl Report {
    /// Whether nothing at all is wrong.
    pub fn passed(&self) -> bool {
        self.findings.is_empty()
    }

    /// How many breaches of a rule, over all PIDs.
    pub fn count(&self, rule: Rule) -> u64 {
        self.findings
            .iter()
            .filter(|finding| finding.rule == rule)
            .map(|finding| finding.count)
            .sum()
    }

    /// The clock of the first programme.
    pub fn clock(&self) -> Option<&ClockReport> {
        self.clocks.first()
    }

    /// The longest distance in ms between two sections of a table.
    pub fn longest_interval(&self, table_id: u8) -> Option<f64> {
        self.tables
            .iter()
            .filter(|table| table.table_id == table_id && table.count > 1)
            .map(|table| table.interval_ms[1])
            .reduce(f64::max)
    }
}
