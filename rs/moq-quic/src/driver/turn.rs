//! The task of one connection: takes its mail, runs its timers, sends its packets, tells those who wait.
//!
//! Spawned by `endpoint`. May not know what the application does with its streams.

use std::{
    cell::Cell,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Instant,
};

use quinn_proto::{ConnectionEvent, Transmit};
use tokio::time::Sleep;

use super::{
    Socket,
    endpoint::Inner as Endpoint,
    shared::{Shared, State},
};

type Writable = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

pub(super) struct Turn {
    shared: Arc<Shared>,
    endpoint: Arc<Endpoint>,
    socket: Arc<dyn Socket>,
    timer: Pin<Box<Sleep>>,
    /// When `timer` will wake us, while it is armed.
    armed: Option<Instant>,
    mail: Vec<ConnectionEvent>,
    woken: Vec<Waker>,
    /// Packets that the socket had no room for.
    held: Option<Held>,
}

struct Held {
    transmit: Transmit,
    packets: Vec<u8>,
    writable: Writable,
}

thread_local! {
    /// Where packets are built: tens of kilobytes, and no connection needs them between its turns.
    static PACKETS: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Packets sent in one turn before others get theirs.
const TURN: usize = 64;

/// What one call to the network may carry: the kernel takes 64 KiB, whatever the packets' size.
const MAX_SEGMENTS: usize = 44;

impl Turn {
    pub(super) fn new(
        shared: Arc<Shared>,
        endpoint: Arc<Endpoint>,
        socket: Arc<dyn Socket>,
    ) -> Self {
        Self {
            shared,
            endpoint,
            socket,
            timer: Box::pin(tokio::time::sleep_until(tokio::time::Instant::now())),
            armed: None,
            mail: Vec::new(),
            woken: Vec::new(),
            held: None,
        }
    }

    /// Takes what the endpoint left.
    fn take_mail(&mut self, state: &mut State, now: Instant, cx: &Context<'_>) {
        let mut mail = self.shared.inbox.mail();
        std::mem::swap(&mut mail.events, &mut self.mail);
        let (close, failed) = (mail.close.take(), mail.failed.take());
        if !mail
            .waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            mail.waker = Some(cx.waker().clone());
        }
        drop(mail);
        for event in self.mail.drain(..) {
            state.core.handle_event(event);
        }
        if self.mail.capacity() > 256 {
            self.mail = Vec::new();
        }
        if let Some(error) = failed {
            state.core.fail(now, error);
        }
        if let Some((code, reason)) = close {
            state.core.close(now, code, &reason);
        }
    }

    /// Sends what may be sent. True if there may be more to send at once.
    fn transmit(&mut self, state: &mut State, now: Instant, cx: &mut Context<'_>) -> bool {
        if !self.send_held(cx) {
            return false;
        }
        let segments = self.socket.max_transmit_segments().min(MAX_SEGMENTS);
        let mut packets = PACKETS.take();
        let mut sent = 0;
        while sent < TURN {
            packets.clear();
            let Some(transmit) = state.core.poll_transmit(now, segments, &mut packets) else {
                break;
            };
            sent += transmit
                .segment_size
                .map_or(1, |size| transmit.size.div_ceil(size));
            if !send(&*self.socket, &transmit, &packets) {
                self.held = Some(Held {
                    transmit,
                    packets: std::mem::take(&mut packets),
                    writable: self.socket.clone().writable(),
                });
                if !self.send_held(cx) {
                    break;
                }
            }
        }
        PACKETS.set(packets);
        sent >= TURN && self.held.is_none()
    }

    /// Sends what the socket had no room for. False if it still has none, and will wake us.
    fn send_held(&mut self, cx: &mut Context<'_>) -> bool {
        while let Some(held) = &mut self.held {
            if held.writable.as_mut().poll(cx).is_pending() {
                return false;
            }
            if send(&*self.socket, &held.transmit, &held.packets) {
                self.held = None;
            } else {
                held.writable = self.socket.clone().writable();
            }
        }
        true
    }

    /// Runs the timer that is due, or makes sure to be woken when it is. True if one was run.
    fn run_timer(&mut self, state: &mut State, now: Instant, cx: &mut Context<'_>) -> bool {
        let Some(due) = state.core.poll_timeout() else {
            return false;
        };
        if due <= now {
            state.core.handle_timeout(now);
            return true;
        }
        // A timer that is set too early wakes us once for nothing; one that was moved back at every packet would cost
        // more.
        if self.armed.is_none_or(|armed| due < armed || armed <= now) {
            self.timer.as_mut().reset(due.into());
            self.armed = Some(due);
        }
        if self.timer.as_mut().poll(cx).is_ready() {
            self.armed = None;
            return true;
        }
        false
    }

    /// Settles with the endpoint. True once it has forgotten us.
    fn settle(&mut self, state: &mut State) -> bool {
        while let Some(event) = state.core.poll_endpoint_events() {
            let drained = event.is_drained();
            if let Some(event) = self.endpoint.handle(self.shared.handle, event) {
                state.core.handle_event(event);
            }
            if drained {
                return true;
            }
        }
        false
    }
}

/// Sends packets. False if the socket has no room. Any other failure is a lost packet: the peer may be gone for a moment or
/// for good, timers will tell.
fn send(socket: &dyn Socket, transmit: &Transmit, packets: &[u8]) -> bool {
    let sent = socket.try_send(&quinn_udp::Transmit {
        destination: transmit.destination,
        ecn: transmit.ecn.map(ecn),
        contents: &packets[..transmit.size],
        segment_size: transmit.segment_size,
        src_ip: transmit.src_ip,
    });
    !matches!(sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

fn ecn(ecn: quinn_proto::EcnCodepoint) -> quinn_udp::EcnCodepoint {
    match ecn {
        quinn_proto::EcnCodepoint::Ect0 => quinn_udp::EcnCodepoint::Ect0,
        quinn_proto::EcnCodepoint::Ect1 => quinn_udp::EcnCodepoint::Ect1,
        quinn_proto::EcnCodepoint::Ce => quinn_udp::EcnCodepoint::Ce,
    }
}

impl Future for Turn {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let turn = self.get_mut();
        let shared = turn.shared.clone();
        let mut state = shared.lock();
        let mut now = tokio::time::Instant::now().into_std();
        turn.take_mail(&mut state, now, cx);
        let mut over = turn.settle(&mut state);
        let again = loop {
            let more = turn.transmit(&mut state, now, cx);
            over |= turn.settle(&mut state);
            now = tokio::time::Instant::now().into_std();
            if !turn.run_timer(&mut state, now, cx) || more || over {
                break more;
            }
        };
        state.dispatch(&mut turn.woken);
        state.task = (!again).then(|| cx.waker().clone());
        drop(state);
        for waker in turn.woken.drain(..) {
            waker.wake();
        }
        if over {
            return Poll::Ready(());
        }
        if again {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
