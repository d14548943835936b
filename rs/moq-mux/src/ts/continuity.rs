//! Whether a packet follows the one before on its PID (ISO/IEC 13818-1 §2.4.3.3).
//!
//! Packets with a payload step the four-bit counter, those without repeat it; a packet may be sent twice. Called by the
//! demultiplexer for every packet of a PID it routes; knows nothing of the payload.

use super::packet::{Adaptation, PACKET, Packet};

/// The memory of one PID: its last counter, and the packet that carried it.
#[derive(Clone, Debug)]
pub struct Continuity {
    counter: Option<u8>,
    last: [u8; PACKET],
    repeats: u8,
}

/// What a packet is to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The next one, or the first.
    Next,
    /// The same packet again: to be dropped.
    Duplicate,
    /// The same packet a third time: to be dropped, and an error.
    Surplus,
    /// Packets are missing in between.
    Gap {
        /// The jump was announced by `discontinuity_indicator`, so nothing went wrong.
        announced: bool,
        /// The packet before ended in stuffing, as the last one of a unit does: what had begun is complete.
        ended: bool,
    },
}

impl Default for Continuity {
    fn default() -> Self {
        Self {
            counter: None,
            last: [0; PACKET],
            repeats: 0,
        }
    }
}

impl Continuity {
    /// Forgets everything: the next packet is taken as it comes.
    pub fn reset(&mut self) {
        self.counter = None;
        self.repeats = 0;
    }

    /// Judges the next packet of the PID. O(1), and one copy of the packet.
    #[inline]
    pub fn judge(&mut self, packet: Packet<'_>) -> Verdict {
        let counter = packet.counter();
        let Some(last) = self.counter else {
            self.keep(packet);
            return Verdict::Next;
        };
        if packet.has_payload() {
            if counter == (last + 1) & 0x0f {
                self.keep(packet);
                return Verdict::Next;
            }
            if counter == last && packet.is_duplicate(&self.last) {
                self.repeats = self.repeats.saturating_add(1);
                return if self.repeats == 1 {
                    Verdict::Duplicate
                } else {
                    Verdict::Surplus
                };
            }
        } else if counter == last {
            return Verdict::Next;
        }
        let announced = packet
            .adaptation()
            .is_some_and(Adaptation::is_discontinuity);
        let ended = Packet::new(&self.last).is_stuffed();
        self.keep(packet);
        Verdict::Gap { announced, ended }
    }

    #[inline]
    fn keep(&mut self, packet: Packet<'_>) {
        self.counter = Some(packet.counter());
        self.repeats = 0;
        if packet.has_payload() {
            self.last = *packet.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::packet::SYNC;

    fn packet(counter: u8, payload: bool, fill: u8) -> [u8; PACKET] {
        let mut bytes = [fill; PACKET];
        bytes[..4].copy_from_slice(&[SYNC, 1, 0, if payload { 0x10 } else { 0x20 } | counter & 15]);
        if !payload {
            bytes[4..6].copy_from_slice(&[183, 0]);
        }
        bytes
    }

    fn judge(packets: &[[u8; PACKET]]) -> Vec<Verdict> {
        let mut continuity = Continuity::default();
        packets
            .iter()
            .map(|bytes| continuity.judge(Packet::new(bytes)))
            .collect()
    }

    const GAP: Verdict = Verdict::Gap {
        announced: false,
        ended: false,
    };

    #[test]
    fn counters_step_with_payload_and_wrap() {
        let packets: Vec<_> = (7..40).map(|n| packet(n, true, n)).collect();
        assert!(
            judge(&packets)
                .iter()
                .all(|&verdict| verdict == Verdict::Next)
        );
    }

    #[test]
    fn packets_without_payload_repeat_the_counter() {
        let packets = [
            packet(3, true, 0),
            packet(3, false, 0),
            packet(4, true, 0),
            packet(5, false, 0),
        ];
        assert_eq!(
            judge(&packets),
            [Verdict::Next, Verdict::Next, Verdict::Next, GAP]
        );
    }

    #[test]
    fn a_loss_of_fifteen_packets_is_no_duplicate() {
        // sixteen on: the same counter, other bytes
        assert_eq!(
            judge(&[packet(3, true, 1), packet(3, true, 2)]),
            [Verdict::Next, GAP]
        );
    }

    #[test]
    fn the_third_copy_is_an_error() {
        let copy = packet(3, true, 1);
        assert_eq!(
            judge(&[copy, copy, copy, packet(4, true, 0)]),
            [
                Verdict::Next,
                Verdict::Duplicate,
                Verdict::Surplus,
                Verdict::Next
            ]
        );
    }

    #[test]
    fn an_announced_jump_is_a_gap_but_no_error() {
        let mut jump = packet(9, true, 0);
        jump[3] |= 0x20;
        jump[4..6].copy_from_slice(&[1, 0x80]);
        assert_eq!(
            judge(&[packet(3, true, 0), jump])[1],
            Verdict::Gap {
                announced: true,
                ended: false
            }
        );
    }

    #[test]
    fn a_gap_behind_stuffing_leaves_the_unit_before_whole() {
        let mut end = packet(3, true, 0);
        end[3] |= 0x20;
        end[4..6].copy_from_slice(&[20, 0]);
        assert_eq!(
            judge(&[end, packet(9, true, 0)])[1],
            Verdict::Gap {
                announced: false,
                ended: true
            }
        );
    }
}
