//! The task that receives: takes every packet to the connection it is for, and lets quinn-proto answer the others.
//!
//! Spawned by `endpoint`, one for all connections. May not know what is in a packet.

use std::{
    io::{self, IoSliceMut},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Instant,
};

use bytes::BytesMut;
use quinn_proto::{ConnectionEvent, ConnectionHandle, DatagramEvent};
use quinn_udp::{BATCH_SIZE, RecvMeta};

use crate::Error;

use super::endpoint::{Inner, State, respond};

pub(super) struct Receive {
    inner: Arc<Inner>,
    buffer: Box<[u8]>,
    response: Vec<u8>,
    /// Packets for one connection that came in a row.
    packets: Vec<ConnectionEvent>,
}

/// Calls to the socket in one turn before others get theirs.
const CALLS: usize = 16;

impl Receive {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        let datagram = inner.lock().quinn.config().get_max_udp_payload_size() as usize;
        // However many segments, the kernel joins no more than 64 KiB.
        let each = (datagram * inner.socket.max_receive_segments()).min(64 << 10);
        Self {
            inner,
            buffer: vec![0; each * BATCH_SIZE].into(),
            response: Vec::new(),
            packets: Vec::new(),
        }
    }

    /// Receives until there is nothing (false) or it is somebody else's turn (true).
    fn receive(&mut self, cx: &mut Context<'_>, now: Instant) -> io::Result<bool> {
        let each = self.buffer.len() / BATCH_SIZE;
        let mut meta = [RecvMeta::default(); BATCH_SIZE];
        for _ in 0..CALLS {
            let mut chunks = self.buffer.chunks_mut(each);
            let mut buffers: [IoSliceMut<'_>; BATCH_SIZE] =
                std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
            let count = match self.inner.socket.poll_recv(cx, &mut buffers, &mut meta) {
                Poll::Pending => return Ok(false),
                Poll::Ready(Ok(count)) => count,
                // Anybody can make the system report this.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => {
                    continue;
                }
                Poll::Ready(Err(error)) => return Err(error),
            };
            self.route(&meta[..count], each, now);
        }
        Ok(true)
    }

    /// Takes what was received to whom it is for.
    fn route(&mut self, meta: &[RecvMeta], each: usize, now: Instant) {
        let inner = self.inner.clone();
        let mut state = inner.lock();
        let mut target: Option<ConnectionHandle> = None;
        for (meta, buffer) in meta.iter().zip(self.buffer.chunks(each)) {
            let mut data = BytesMut::from(&buffer[..meta.len.min(each)]);
            while !data.is_empty() {
                let packet = data.split_to(meta.stride.clamp(1, data.len()));
                self.response.clear();
                let event = state.quinn.handle(
                    now,
                    meta.addr,
                    meta.dst_ip,
                    meta.ecn.map(ecn),
                    packet,
                    &mut self.response,
                );
                match event {
                    Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                        if target != Some(handle) {
                            deliver(&state, target, &mut self.packets);
                            target = Some(handle);
                        }
                        self.packets.push(event);
                    }
                    Some(DatagramEvent::NewConnection(incoming)) => {
                        if state.closed.is_some() {
                            inner.refuse(&mut state, incoming);
                        } else {
                            state.incoming.push_back(incoming);
                        }
                    }
                    Some(DatagramEvent::Response(transmit)) => {
                        respond(&*inner.socket, &transmit, &self.response);
                    }
                    None => {}
                }
            }
        }
        deliver(&state, target, &mut self.packets);
        let mut woken = Vec::new();
        if !state.incoming.is_empty() {
            state.accepting.wake(&mut woken);
        }
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    fn fail(&self, error: Error) {
        let mut woken = Vec::new();
        let mut state = self.inner.lock();
        for shared in state.connections.values() {
            shared.inbox.fail(error.clone());
        }
        for incoming in std::mem::take(&mut state.incoming) {
            state.quinn.ignore(incoming);
        }
        state.failed = Some(error);
        state.accepting.wake(&mut woken);
        state.idle.wake(&mut woken);
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }
}

fn deliver(state: &State, target: Option<ConnectionHandle>, packets: &mut Vec<ConnectionEvent>) {
    if let Some(handle) = target
        && let Some(shared) = state.connections.get(&handle)
    {
        shared.inbox.deliver(packets);
    }
    packets.clear();
}

fn ecn(ecn: quinn_udp::EcnCodepoint) -> quinn_proto::EcnCodepoint {
    match ecn {
        quinn_udp::EcnCodepoint::Ect0 => quinn_proto::EcnCodepoint::Ect0,
        quinn_udp::EcnCodepoint::Ect1 => quinn_proto::EcnCodepoint::Ect1,
        quinn_udp::EcnCodepoint::Ce => quinn_proto::EcnCodepoint::Ce,
    }
}

impl Future for Receive {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let receive = self.get_mut();
        let now = tokio::time::Instant::now().into_std();
        let again = match receive.receive(cx, now) {
            Ok(again) => again,
            Err(error) => {
                receive.fail(Error::Socket(error.to_string()));
                return Poll::Ready(());
            }
        };
        let mut state = receive.inner.lock();
        if receive.inner.is_forgotten(&state) {
            for incoming in std::mem::take(&mut state.incoming) {
                state.quinn.ignore(incoming);
            }
            return Poll::Ready(());
        }
        state.task = Some(cx.waker().clone());
        drop(state);
        if again {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
