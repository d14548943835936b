//! What is on the wire: bytes in flight, the rate at which they arrive, and which frames the last packets carried.
//!
//! quinn-proto tells none of it, but it tells its congestion controller and its packet keys. Both report here, from
//! inside quinn-proto, to the `connection` that owns it: one thread at a time, so the lock is never waited for.

use std::{
    any::Any,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use quinn_proto::{
    RttEstimator,
    congestion::{Controller, ControllerFactory, ControllerMetrics},
};

use super::frame::Frame;

/// The reports of one connection.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    in_flight: AtomicU64,
    delivery_rate: AtomicU64,
    /// The last packet's number, and the length of its header but for the number.
    last: AtomicU64,
    header: AtomicU64,
    /// The largest packet number acknowledged.
    acked: AtomicU64,
    log: Mutex<Vec<Frame>>,
}

impl Flight {
    /// Bytes in flight: exact as of the last acknowledgement, plus what was sent since.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Bytes a second that arrived, 0 before it was measured.
    pub(super) fn delivery_rate(&self) -> u64 {
        self.delivery_rate.load(Ordering::Relaxed)
    }

    /// The length of the header of the packet after so many others. Exact, unless quinn-proto skips a number at the
    /// very point at which numbers get longer.
    pub(super) fn header(&self, after: u64) -> usize {
        let last = self.last.load(Ordering::Relaxed);
        let unacked = (last + 1 + after).saturating_sub(self.acked.load(Ordering::Relaxed));
        // RFC 9000 §17.1: a number takes enough bytes to tell twice as many packets apart as are unacknowledged.
        let number = match unacked * 2 {
            0..0x100 => 1,
            0x100..0x1_0000 => 2,
            0x1_0000..0x100_0000 => 3,
            _ => 4,
        };
        self.header.load(Ordering::Relaxed) as usize + number
    }

    /// What the packets since the last call carried, in order. Empties it.
    pub(super) fn log(&self) -> MutexGuard<'_, Vec<Frame>> {
        // A poisoned log is still a log: nothing that panics holds it.
        self.log
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A packet is about to be encrypted: its number, size, and the length of its header but for the number.
    pub(super) fn on_packet(
        &self,
        number: u64,
        size: usize,
        header: usize,
        parse: impl FnOnce(&mut Vec<Frame>) -> bool,
    ) {
        self.last.store(number, Ordering::Relaxed);
        self.header.store(header as u64, Ordering::Relaxed);
        if parse(&mut self.log()) {
            self.in_flight.fetch_add(size as u64, Ordering::Relaxed);
        }
    }
}

/// Makes watched controllers.
pub(crate) struct WatchedFactory<F> {
    pub(crate) inner: Arc<F>,
    pub(crate) flight: Arc<Flight>,
}

impl<F: ControllerFactory + Send + Sync + 'static> ControllerFactory for WatchedFactory<F> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        // A new path has nothing in flight.
        self.flight.in_flight.store(0, Ordering::Relaxed);
        Box::new(Watched {
            inner: self.inner.clone().build(now, current_mtu),
            flight: self.flight.clone(),
            meter: Meter::default(),
        })
    }
}

/// A congestion controller that reports what it is told.
struct Watched {
    inner: Box<dyn Controller>,
    flight: Arc<Flight>,
    meter: Meter,
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.meter.on_ack(bytes, app_limited);
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
        if let Some(rate) = self.meter.sample(now, rtt.get()) {
            self.flight.delivery_rate.store(rate, Ordering::Relaxed);
        }
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.flight.in_flight.store(in_flight, Ordering::Relaxed);
        if let Some(acked) = largest_packet_num_acked {
            self.flight.acked.store(acked, Ordering::Relaxed);
        }
        self.inner
            .on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let in_flight = self.flight.in_flight().saturating_sub(lost_bytes);
        self.flight.in_flight.store(in_flight, Ordering::Relaxed);
        self.inner
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            inner: self.inner.clone_box(),
            flight: self.flight.clone(),
            meter: self.meter,
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}

/// Measures what arrives, over spans of a few round trips in which the sender always had something to send.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    start: Option<Instant>,
    bytes: u64,
    limited: bool,
    rate: u64,
}

/// Spans shorter than this measure the clock's steps rather than the path.
const MIN_SPAN: Duration = Duration::from_millis(50);

impl Meter {
    fn on_ack(&mut self, bytes: u64, app_limited: bool) {
        self.bytes += bytes;
        self.limited |= app_limited;
    }

    /// Ends the span if it is long enough. A span in which the sender ran dry only counts if it shows a higher rate.
    fn sample(&mut self, now: Instant, rtt: Duration) -> Option<u64> {
        let Some(start) = self.start else {
            // What the first acknowledgement covers was sent before the span.
            *self = Self {
                start: Some(now),
                ..Self::default()
            };
            return None;
        };
        let span = now.saturating_duration_since(start);
        if span < MIN_SPAN.max(rtt * 2) {
            return None;
        }
        let measured = (u128::from(self.bytes) * 1_000_000_000 / span.as_nanos()) as u64;
        let rate = match self.rate {
            0 => measured,
            rate if self.limited => rate.max(measured),
            rate => (rate * 3 + measured) / 4,
        };
        *self = Self {
            start: Some(now),
            rate,
            ..Self::default()
        };
        Some(rate)
    }
}

#[cfg(test)]
mod tests;
