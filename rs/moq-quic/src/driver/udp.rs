//! A UDP socket with segmentation offload both ways (GSO, GRO), ECN and no fragmentation, by quinn-udp.
//!
//! Made by `endpoint`. May not know QUIC.

use std::{
    io::{self, IoSliceMut},
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use tokio::{io::Interest, net::UdpSocket};

use super::Socket;

#[derive(Debug)]
pub(super) struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
}

/// What the system is asked to buffer each way: a burst at a gigabit a second while a core is busy for some
/// milliseconds. It may give less.
const BUFFER: usize = 2 << 20;

impl Udp {
    pub(super) fn bind(addr: SocketAddr) -> io::Result<Self> {
        let socket = std::net::UdpSocket::bind(addr)?;
        // Sets it non-blocking too.
        let state = UdpSocketState::new((&socket).into())?;
        // More is better, less still works.
        let _ = state.set_send_buffer_size((&socket).into(), BUFFER);
        let _ = state.set_recv_buffer_size((&socket).into(), BUFFER);
        let socket = UdpSocket::from_std(socket)?;
        Ok(Self { socket, state })
    }
}

impl Socket for Udp {
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket.try_io(Interest::WRITABLE, || {
            self.state.try_send((&self.socket).into(), transmit)
        })
    }

    fn writable(self: Arc<Self>) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>> {
        Box::pin(async move { self.socket.writable().await })
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_recv_ready(cx))?;
            let received = self.socket.try_io(Interest::READABLE, || {
                self.state.recv((&self.socket).into(), buffers, meta)
            });
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return Poll::Ready(received),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}
