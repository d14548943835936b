//! Owns a transport stream in datagrams: seven packets each, each at its own instant. Called by `sink`;
//! knows the rate and the clock of a slot, and nothing of what is in it.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use moq_mux::export::SlotInfo;
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

/// Packets a datagram: as many as an Ethernet frame takes (SMPTE ST 2022-2, 6.1).
const PACKETS: usize = 7;
const PACKET: usize = 188;

/// Routers a multicast datagram may pass.
const MULTICAST_TTL: u32 = 16;

/// What is less late than this is sent at once, and time goes on as it was. What is later has lost that
/// time for good: to catch up, a burst would overflow the very buffers that have just run dry.
const SLACK: Duration = Duration::from_millis(25);

/// Nothing is ever due later than this beyond the delay, unless the clock has another time base.
const AHEAD: Duration = Duration::from_secs(1);

/// A socket, and the packets that don't fill a datagram yet.
#[derive(Debug)]
pub(crate) struct Datagrams {
    socket: UdpSocket,
    to: SocketAddr,
    release: Release,
    pending: Pending,
}

impl Datagrams {
    pub(crate) async fn new(to: SocketAddr, delay: Duration) -> io::Result<Self> {
        let any: SocketAddr = match to {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any).await?;
        if to.is_ipv4() && to.ip().is_multicast() {
            socket.set_multicast_ttl_v4(MULTICAST_TTL)?;
        }
        let release = Release {
            delay,
            jitter: Duration::ZERO,
            anchor: None,
        };
        Ok(Self {
            socket,
            to,
            release,
            pending: Pending::default(),
        })
    }

    /// The source itself sends this unevenly, which the delay has to cover beside the network's part.
    pub(crate) fn expect(&mut self, jitter: Duration) {
        self.release.jitter = jitter;
    }

    /// Sends what is complete with this slot, each datagram when it is due.
    pub(crate) async fn send(&mut self, slot: &[u8], info: &SlotInfo) -> io::Result<()> {
        self.pending.push(slot, info);
        while let Some((clock, datagram)) = self.pending.pop(PACKETS) {
            sleep_until(self.release.due(clock, Instant::now())).await;
            self.transmit(&datagram).await?;
        }
        Ok(())
    }

    /// Sends what is left, in a datagram that is not full.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        while let Some((clock, datagram)) = self.pending.pop(1) {
            sleep_until(self.release.due(clock, Instant::now())).await;
            self.transmit(&datagram).await?;
        }
        Ok(())
    }

    async fn transmit(&self, datagram: &[u8]) -> io::Result<()> {
        match self.socket.send_to(datagram, self.to).await {
            // Nobody listens there yet, as an answer to an earlier datagram says.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            sent => sent.map(drop),
        }
    }
}

/// Maps the program clock onto instants.
#[derive(Debug)]
struct Release {
    delay: Duration,
    jitter: Duration,
    anchor: Option<Anchor>,
}

/// The byte at `clock` is due at `at`; the latest one asked for was at `latest`.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    clock: i64,
    at: Instant,
    latest: i64,
}

impl Release {
    /// When the byte at `clock` (27 MHz) is to be sent. The first is due after the delay, and so is the
    /// first of another time base. O(1).
    fn due(&mut self, clock: i64, now: Instant) -> Instant {
        let delay = self.delay + self.jitter;
        if let Some(anchor) = &mut self.anchor
            && clock >= anchor.latest
        {
            anchor.latest = clock;
            let due = anchor.at + ticks(clock - anchor.clock);
            if now.saturating_duration_since(due) > SLACK {
                (anchor.clock, anchor.at) = (clock, now);
                return now;
            }
            if due.saturating_duration_since(now) <= delay + AHEAD {
                return due;
            }
        }
        let at = now + delay;
        self.anchor = Some(Anchor {
            clock,
            at,
            latest: clock,
        });
        at
    }
}

/// Packets that wait to be a datagram, and the clock of each.
#[derive(Debug, Default)]
struct Pending {
    bytes: VecDeque<u8>,
    clocks: VecDeque<i64>,
}

impl Pending {
    fn push(&mut self, slot: &[u8], info: &SlotInfo) {
        self.bytes.extend(slot);
        // The clock of a packet is its byte position at the constant rate (ISO/IEC 13818-1, 2.4.2.2).
        let bits = PACKET as i64 * 8;
        let rate = i64::try_from(info.rate).unwrap_or(i64::MAX).max(1);
        let clocks = (0..(slot.len() / PACKET) as i64)
            .map(|packet| info.clock.saturating_add(packet * bits * 27_000_000 / rate));
        self.clocks.extend(clocks);
    }

    /// Takes a datagram of at least `least` packets, with the clock of its first.
    fn pop(&mut self, least: usize) -> Option<(i64, Vec<u8>)> {
        if self.clocks.len() < least {
            return None;
        }
        let packets = self.clocks.len().min(PACKETS);
        let clock = *self.clocks.front()?;
        self.clocks.drain(..packets);
        let length = (packets * PACKET).min(self.bytes.len());
        Some((clock, self.bytes.drain(..length).collect()))
    }
}

fn ticks(count: i64) -> Duration {
    Duration::from_nanos(u64::try_from(i128::from(count) * 1000 / 27).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(clock: i64, packets: usize) -> SlotInfo {
        SlotInfo {
            slot: 0,
            clock,
            rate: 1_504_000,
            packets,
            nulls: 0,
        }
    }

    #[test]
    fn datagrams_are_always_full_until_the_end() {
        let mut pending = Pending::default();
        pending.push(&[1; 25 * PACKET], &info(0, 25));
        let mut sizes = Vec::new();
        while let Some((_, datagram)) = pending.pop(PACKETS) {
            sizes.push(datagram.len());
        }
        pending.push(&[2; 10 * PACKET], &info(675_000, 10));
        let (clock, datagram) = pending.pop(PACKETS).expect("four left over and ten more");
        assert_eq!(sizes, [1316, 1316, 1316]);
        assert_eq!(
            (datagram[3 * PACKET], datagram[4 * PACKET]),
            (1, 2),
            "in order"
        );
        // A packet is 1 ms at this rate: the 22nd of the first slot comes first.
        assert_eq!(clock, 21 * 27_000);
        while pending.pop(PACKETS).is_some() {}
        assert_eq!(pending.pop(1).map(|(_, last)| last.len()), None);
        pending.push(&[3; 2 * PACKET], &info(0, 2));
        assert_eq!(pending.pop(1).map(|(_, last)| last.len()), Some(2 * PACKET));
    }

    const MS: i64 = 27_000;

    fn release() -> Release {
        let [delay, jitter] = [150, 50].map(Duration::from_millis);
        Release {
            delay,
            jitter,
            anchor: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_datagram_has_its_instant_and_errors_do_not_add_up() {
        let start = Instant::now();
        let mut release = release();
        for datagram in 0..1000 {
            let due = release.due(5_000_000 + datagram * 7 * MS, Instant::now());
            // Woken late each time, as timers do.
            sleep_until(due + Duration::from_micros(700)).await;
            assert_eq!(
                due - start,
                Duration::from_millis(200 + 7 * datagram as u64)
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn lost_time_is_not_caught_up() {
        let (start, ms) = (Instant::now(), Duration::from_millis);
        let mut release = release();
        assert_eq!(release.due(0, start), start + ms(200));
        let late = start + ms(400);
        assert_eq!(
            release.due(180 * MS, late),
            start + ms(380),
            "a little late is sent at once"
        );
        assert_eq!(
            release.due(200 * MS, late + ms(60)),
            late + ms(60),
            "60 ms are lost"
        );
        assert_eq!(
            release.due(201 * MS, late + ms(60)),
            late + ms(61),
            "and stay lost"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn another_time_base_starts_anew() {
        let now = Instant::now();
        let mut release = release();
        for clock in [0, 9_000_000_000, 5] {
            assert_eq!(release.due(clock, now), now + Duration::from_millis(200));
            assert_eq!(
                release.due(clock + MS, now),
                now + Duration::from_millis(201)
            );
        }
    }
}
