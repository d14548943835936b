//! Which programme is taken, and what its map says.

use crate::Error;
use crate::catalog::Descriptor;
use crate::ts::psi::{Pat, Pmt, PmtStream, Section};

/// The map of the programme taken, and where it stands in the multiplex.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// `transport_stream_id`.
    pub transport_stream_id: u16,
    /// PID of the PMT.
    pub pmt_pid: u16,
    /// The PMT.
    pub pmt: Pmt,
}

impl Map {
    /// The elementary streams and what each is, in order; a PID listed twice counts once.
    pub fn streams(&self) -> impl Iterator<Item = (&PmtStream, StreamKind)> {
        let streams = &self.pmt.streams;
        streams
            .iter()
            .enumerate()
            .filter_map(move |(index, stream)| {
                let again = streams[..index]
                    .iter()
                    .any(|before| before.pid == stream.pid);
                (!again).then(|| (stream, kind_of(stream, &self.pmt.descriptors)))
            })
    }
}

/// What an elementary stream is, as far as this crate reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// H.264 (ISO/IEC 14496-10).
    H264,
    /// H.265 (ISO/IEC 23008-2).
    H265,
    /// AAC in ADTS.
    Aac,
    /// MPEG-1 or MPEG-2 audio, any layer.
    MpegAudio,
    /// AC-3.
    Ac3,
    /// E-AC-3.
    Eac3,
    /// Any other stream of PES packets.
    Units,
    /// Sections.
    Sections,
}

/// What a PMT says a stream is.
pub fn kind_of(stream: &PmtStream, program: &[Descriptor]) -> StreamKind {
    let has = |tag: u8| stream.descriptors.iter().any(|d| d.tag == tag);
    let registered = |descriptors: &[Descriptor], name: &[u8; 4]| {
        descriptors
            .iter()
            .any(|d| d.tag == 0x05 && d.data.starts_with(name))
    };
    match stream.stream_type {
        0x1b => StreamKind::H264,
        0x24 => StreamKind::H265,
        0x0f => StreamKind::Aac,
        0x03 | 0x04 => StreamKind::MpegAudio,
        0x81 => StreamKind::Ac3,
        0x87 => StreamKind::Eac3,
        // EN 300 468 annex D: AC-3 and E-AC-3 as private data, told by their descriptors.
        0x06 if has(0x6a) || registered(&stream.descriptors, b"AC-3") => StreamKind::Ac3,
        0x06 if has(0x7a) || registered(&stream.descriptors, b"EAC3") => StreamKind::Eac3,
        // Private sections, DSM-CC.
        0x05 | 0x0a..=0x0d | 0x14 => StreamKind::Sections,
        // SCTE 35 §8.1; without the registration it is DTS audio.
        0x86 if registered(program, b"CUEI") || registered(&stream.descriptors, b"CUEI") => {
            StreamKind::Sections
        }
        _ => StreamKind::Units,
    }
}

/// Whether the stream type is video of any kind.
pub(super) fn is_video(stream_type: u8) -> bool {
    matches!(
        stream_type,
        0x01 | 0x02 | 0x10 | 0x1b | 0x1e..=0x21 | 0x24 | 0x33 | 0x42 | 0xd1 | 0xd2 | 0xd4 | 0xea
    )
}

/// What a section changed.
#[derive(Debug, Default)]
pub(super) enum Change {
    #[default]
    None,
    /// The PMT of the programme is on this PID, the network's tables on that one.
    Pmt {
        pid: u16,
        network: Option<u16>,
    },
    /// There is a new map.
    Map,
    Failed(Error),
}

impl Change {
    /// This change and then another: the later one counts, unless it is none.
    pub(super) fn then(self, next: Self) -> Self {
        if matches!(next, Self::None) {
            self
        } else {
            next
        }
    }
}

/// PAT and PMT as last seen.
pub(super) struct Tables {
    /// Programme number asked for, or found to be the only one.
    wanted: Option<u16>,
    /// Sections of the PAT by number, all of one version.
    pat: Vec<Option<Pat>>,
    pmt_pid: Option<u16>,
    map: Option<Map>,
}

impl Tables {
    pub(super) fn new(wanted: Option<u16>) -> Self {
        Self {
            wanted,
            pat: Vec::new(),
            pmt_pid: None,
            map: None,
        }
    }

    pub(super) fn map(&self) -> Option<&Map> {
        self.map.as_ref()
    }

    /// Takes an intact section of the PAT's or the PMT's PID.
    pub(super) fn section(&mut self, section: Section<'_>) -> Change {
        if !section.is_current() {
            return Change::None;
        }
        if let Some(pat) = Pat::parse(section) {
            return self.pat(pat, section.number());
        }
        match Pmt::parse(section) {
            Some(pmt) => self.pmt(pmt),
            None => Change::None,
        }
    }

    fn pat(&mut self, pat: Pat, (number, last): (u8, u8)) -> Change {
        let len = usize::from(last) + 1;
        let version = self
            .pat
            .iter()
            .flatten()
            .next()
            .map(|p| (p.version, p.transport_stream_id));
        if self.pat.len() != len
            || version.is_some_and(|v| v != (pat.version, pat.transport_stream_id))
        {
            self.pat = vec![None; len];
        }
        let transport_stream_id = pat.transport_stream_id;
        if let Some(slot) = self.pat.get_mut(usize::from(number)) {
            *slot = Some(pat);
        }
        if self.pat.iter().any(Option::is_none) {
            return Change::None;
        }
        let entries = || {
            self.pat
                .iter()
                .flatten()
                .flat_map(|pat| pat.programs.iter().copied())
        };
        let network = entries()
            .find(|&(number, _)| number == 0)
            .map(|(_, pid)| pid);
        let programs: Vec<u16> = entries()
            .map(|(number, _)| number)
            .filter(|&number| number != 0)
            .collect();
        let wanted = match (self.wanted, &programs[..]) {
            (Some(wanted), _) => wanted,
            (None, []) => return Change::None,
            (None, &[only]) => only,
            (None, _) => return Change::Failed(Error::SeveralPrograms(programs)),
        };
        let Some((_, pid)) = entries().find(|&(number, _)| number == wanted) else {
            // A programme that was there may come back; one that never was is a mistake.
            return match self.map {
                Some(_) => Change::None,
                None => Change::Failed(Error::ProgramMissing {
                    wanted,
                    present: programs,
                }),
            };
        };
        self.wanted = Some(wanted);
        let moved = self.pmt_pid != Some(pid);
        self.pmt_pid = Some(pid);
        match &mut self.map {
            Some(map) if map.transport_stream_id != transport_stream_id => {
                map.transport_stream_id = transport_stream_id;
                if moved {
                    Change::Pmt { pid, network }
                } else {
                    Change::Map
                }
            }
            _ if moved => Change::Pmt { pid, network },
            _ => Change::None,
        }
    }

    fn pmt(&mut self, pmt: Pmt) -> Change {
        let (Some(pid), Some(pat)) = (self.pmt_pid, self.pat.iter().flatten().next()) else {
            return Change::None;
        };
        if self.wanted != Some(pmt.program_number) {
            return Change::None;
        }
        let map = Map {
            transport_stream_id: pat.transport_stream_id,
            pmt_pid: pid,
            pmt,
        };
        if self.map.as_ref() == Some(&map) {
            return Change::None;
        }
        self.map = Some(map);
        Change::Map
    }
}
