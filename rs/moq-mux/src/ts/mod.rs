//! Transport-stream mechanics (ISO/IEC 13818-1) without I/O, clocks or tracks.
//!
//! - In: [`resync`] finds the packets in bytes, [`packet`] reads one, [`psi`] and [`pes`] put the pieces of tables and
//!   units together, [`demux`] does all of that for one programme, [`rate`] measures the multiplex.
//! - [`clock`] is the arithmetic of 27 MHz and 90 kHz both directions share.

pub mod author;
pub mod check;
pub mod clock;
pub mod continuity;
pub mod demux;
pub mod layout;
pub mod mux;
pub mod packet;
pub mod peak;
pub mod pes;
pub mod psi;
pub mod rate;
pub mod resync;
pub mod schedule;
pub mod slot;
pub mod timeline;
pub mod tstd;
pub mod writer;
