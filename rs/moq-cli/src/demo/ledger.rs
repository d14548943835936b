//! Owns the books of a demo: every frame as it was sent and as it came out at the far end, and what
//! the two say together. Pure: times and fingerprints come in as values. Called by `tap` on both
//! sides and by `report`; knows neither the model nor the network.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::quantiles::Quantiles;

/// Where a frame stands in its track.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Place {
    pub(crate) group: u64,
    pub(crate) index: u64,
}

/// A frame as it was seen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Sighting {
    /// Since the start of the demo.
    pub(crate) at: Duration,
    /// Its presentation time in µs.
    pub(crate) time: u64,
    /// A hash of its payload.
    pub(crate) print: u64,
    /// Length of its payload.
    pub(crate) bytes: u64,
}

/// The books, in the order tracks were opened.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    tracks: Vec<Account>,
    outstanding: u64,
    unwritten: u64,
}

/// One track's.
#[derive(Debug)]
struct Account {
    name: String,
    sent: BTreeMap<Place, Sighting>,
    delivered: BTreeMap<Place, Sighting>,
}

/// What was sent, and what came of it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Serialize)]
pub(crate) struct Tally {
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
}

/// One track's balance.
#[derive(Clone, Debug)]
pub(crate) struct Balance {
    pub(crate) name: String,
    /// A group is delivered when all its frames are.
    pub(crate) groups: Tally,
    pub(crate) frames: Tally,
    /// Frames that came out with another time or payload, or from nowhere.
    pub(crate) changed: u64,
    /// Payload bytes sent.
    pub(crate) bytes: u64,
    /// From sent to delivered.
    pub(crate) latency: Quantiles,
}

impl Ledger {
    /// Opens an account, once a track; gives the number to book under. O(tracks).
    pub(crate) fn open(&mut self, name: &str) -> usize {
        if let Some(number) = self.tracks.iter().position(|account| account.name == name) {
            return number;
        }
        let (sent, delivered) = (BTreeMap::new(), BTreeMap::new());
        self.tracks.push(Account {
            name: name.into(),
            sent,
            delivered,
        });
        self.tracks.len() - 1
    }

    /// Books a frame as sent. O(log frames).
    pub(crate) fn sent(&mut self, track: usize, place: Place, seen: Sighting) {
        if let Some(account) = self.tracks.get_mut(track) {
            account.sent.insert(place, seen);
            self.outstanding += seen.bytes;
            self.unwritten += seen.bytes;
        }
    }

    /// Books a frame as delivered. The first delivery counts. O(log frames).
    pub(crate) fn delivered(&mut self, track: usize, place: Place, seen: Sighting) {
        let Some(account) = self.tracks.get_mut(track) else {
            return;
        };
        if account.delivered.contains_key(&place) {
            return;
        }
        account.delivered.insert(place, seen);
        if account.sent.contains_key(&place) {
            self.outstanding = self.outstanding.saturating_sub(seen.bytes);
        }
    }

    /// Names of the tracks, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tracks.iter().map(|account| account.name.as_str())
    }

    /// What was sent on a track, frame by frame: time since its first frame in µs, hash and length. Nothing
    /// of a track that isn't there. O(frames).
    pub(crate) fn sequence(&self, name: &str) -> Vec<(i128, u64, u64)> {
        let Some(account) = self.tracks.iter().find(|account| account.name == name) else {
            return Vec::new();
        };
        let first = account.sent.values().next().map_or(0, |seen| seen.time);
        let since = |seen: &Sighting| i128::from(seen.time) - i128::from(first);
        account
            .sent
            .values()
            .map(|seen| (since(seen), seen.print, seen.bytes))
            .collect()
    }

    /// Books `bytes` of payload as read back from the output. O(1).
    pub(crate) fn written(&mut self, bytes: u64) {
        self.unwritten = self.unwritten.saturating_sub(bytes);
    }

    /// Payload bytes sent and not delivered.
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Payload bytes sent and not read back from the output.
    pub(crate) fn unwritten(&self) -> u64 {
        self.unwritten
    }

    /// What is outstanding or unwritten now will never be paid: it is lost, and no longer waited for.
    pub(crate) fn write_off(&mut self) {
        (self.outstanding, self.unwritten) = (0, 0);
    }

    /// Every track's balance. O(frames × log frames).
    pub(crate) fn balances(&self) -> Vec<Balance> {
        self.tracks.iter().map(Account::balance).collect()
    }
}

impl Account {
    fn balance(&self) -> Balance {
        let (mut groups, mut frames) = (BTreeMap::new(), Tally::default());
        let (mut changed, mut bytes, mut latencies) = (0, 0, Vec::new());
        for (place, sent) in &self.sent {
            bytes += sent.bytes;
            let arrived = self.delivered.get(place);
            let whole = groups.entry(place.group).or_insert(true);
            *whole &= arrived.is_some();
            frames.add(arrived.is_some());
            if let Some(arrived) = arrived {
                changed += u64::from((arrived.print, arrived.time) != (sent.print, sent.time));
                latencies.push(arrived.at.saturating_sub(sent.at));
            }
        }
        changed += self
            .delivered
            .keys()
            .filter(|place| !self.sent.contains_key(place))
            .count() as u64;
        let mut tally = Tally::default();
        groups.into_values().for_each(|whole| tally.add(whole));
        let latency = latencies.into_iter().collect();
        Balance {
            name: self.name.clone(),
            groups: tally,
            frames,
            changed,
            bytes,
            latency,
        }
    }
}

impl Tally {
    fn add(&mut self, arrived: bool) {
        self.sent += 1;
        self.delivered += u64::from(arrived);
        self.lost += u64::from(!arrived);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(group: u64, index: u64) -> Place {
        Place { group, index }
    }

    fn seen(millis: u64, print: u64) -> Sighting {
        Sighting {
            at: Duration::from_millis(millis),
            time: 0,
            print,
            bytes: 100,
        }
    }

    fn only(ledger: &Ledger) -> Balance {
        let mut balances = ledger.balances();
        assert_eq!(balances.len(), 1);
        balances.remove(0)
    }

    #[test]
    fn what_was_sent_is_delivered_or_lost() {
        let mut ledger = Ledger::default();
        let video = ledger.open("video");
        for index in 0..4 {
            ledger.sent(video, place(0, index), seen(index, index));
            ledger.sent(video, place(1, index), seen(10 + index, index));
        }
        assert_eq!(ledger.outstanding(), 800);
        for index in 0..4 {
            ledger.delivered(video, place(0, index), seen(5 + index, index));
        }
        ledger.delivered(video, place(1, 2), seen(112, 2));
        let balance = only(&ledger);
        assert_eq!(
            balance.groups,
            Tally {
                sent: 2,
                delivered: 1,
                lost: 1
            }
        );
        assert_eq!(
            balance.frames,
            Tally {
                sent: 8,
                delivered: 5,
                lost: 3
            }
        );
        assert_eq!(
            (balance.changed, balance.bytes, ledger.outstanding()),
            (0, 800, 300)
        );
        assert_eq!(balance.latency.quantile(50), Some(Duration::from_millis(5)));
        assert_eq!(
            balance.latency.quantile(99),
            Some(Duration::from_millis(100))
        );
    }

    #[test]
    fn a_frame_with_another_payload_is_changed() {
        let mut ledger = Ledger::default();
        let track = ledger.open("a");
        ledger.sent(track, place(0, 0), seen(0, 7));
        ledger.delivered(track, place(0, 0), seen(1, 8));
        assert_eq!(only(&ledger).changed, 1);
    }

    #[test]
    fn a_frame_from_nowhere_is_changed_and_pays_nothing_off() {
        let mut ledger = Ledger::default();
        let track = ledger.open("a");
        ledger.sent(track, place(0, 0), seen(0, 7));
        ledger.delivered(track, place(9, 9), seen(1, 7));
        assert_eq!((only(&ledger).changed, ledger.outstanding()), (1, 100));
    }

    #[test]
    fn a_second_delivery_counts_for_nothing() {
        let mut ledger = Ledger::default();
        let track = ledger.open("a");
        ledger.sent(track, place(0, 0), seen(0, 7));
        ledger.delivered(track, place(0, 0), seen(3, 7));
        ledger.delivered(track, place(0, 0), seen(900, 8));
        let balance = only(&ledger);
        assert_eq!(
            balance.frames,
            Tally {
                sent: 1,
                delivered: 1,
                lost: 0
            }
        );
        assert_eq!((balance.changed, ledger.outstanding()), (0, 0));
        assert_eq!(balance.latency.quantile(99), Some(Duration::from_millis(3)));
    }

    #[test]
    fn what_is_read_back_is_paid_off_and_what_is_lost_is_written_off() {
        let mut ledger = Ledger::default();
        let track = ledger.open("a");
        for index in 0..3 {
            ledger.sent(track, place(0, index), seen(0, 7));
        }
        ledger.written(100);
        assert_eq!((ledger.outstanding(), ledger.unwritten()), (300, 200));
        ledger.write_off();
        assert_eq!((ledger.outstanding(), ledger.unwritten()), (0, 0));
        ledger.written(100);
        assert_eq!(only(&ledger).frames.lost, 3, "the books still show it");
    }

    #[test]
    fn sequences_are_equal_at_another_time_of_day() {
        let mut ledger = Ledger::default();
        let (here, there) = (ledger.open("here"), ledger.open("there"));
        // With B-frames, times go back.
        for (index, time) in [(0, 80), (1, 0), (2, 40)] {
            let at = |time| Sighting {
                time,
                ..seen(time, index)
            };
            ledger.sent(here, place(0, index), at(time + 1000));
            ledger.sent(there, place(7, index), at(time));
        }
        assert_eq!(ledger.sequence("here"), ledger.sequence("there"));
        assert_eq!(ledger.sequence("here")[1], (-80, 1, 100));
        ledger.sent(there, place(8, 0), seen(0, 0));
        assert_ne!(ledger.sequence("here"), ledger.sequence("there"));
        assert_eq!(ledger.sequence("nowhere"), []);
    }

    #[test]
    fn tracks_keep_their_order_and_their_number() {
        let mut ledger = Ledger::default();
        assert_eq!(
            (ledger.open("b"), ledger.open("a"), ledger.open("b")),
            (0, 1, 0)
        );
        let names: Vec<_> = ledger
            .balances()
            .into_iter()
            .map(|balance| balance.name)
            .collect();
        assert_eq!(names, ["b", "a"]);
        ledger.sent(2, place(0, 0), seen(0, 0));
        assert_eq!(ledger.outstanding(), 0);
    }
}
