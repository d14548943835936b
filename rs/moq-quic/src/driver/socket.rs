//! What the driver needs of a socket. Implemented by `udp`, and by the simulated network.

use std::{
    fmt::Debug,
    io::{self, IoSliceMut},
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use quinn_udp::{RecvMeta, Transmit};

/// A datagram socket, shared by an endpoint and its connections.
pub trait Socket: Debug + Send + Sync + 'static {
    /// Sends, or says `WouldBlock`.
    ///
    /// # Errors
    /// What the system says. Anything but `WouldBlock` is taken for a lost packet.
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()>;

    /// Waits until sending is worth another try. Any number of tasks may wait.
    fn writable(self: Arc<Self>) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

    /// Receives into as many of the buffers as there is something for; one task at a time.
    ///
    /// # Errors
    /// What the system says; the endpoint ends, unless it is `ConnectionReset`.
    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>>;

    /// The address it is bound to.
    ///
    /// # Errors
    /// What the system says.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// The most datagrams one [`Socket::try_send`] takes.
    fn max_transmit_segments(&self) -> usize {
        1
    }

    /// The most datagrams one receive buffer is filled with.
    fn max_receive_segments(&self) -> usize {
        1
    }

    /// Whether the system may split what is sent, so that the path's MTU can't be probed.
    fn may_fragment(&self) -> bool {
        false
    }

    /// What the endpoint's random numbers start from. `None`: from the system. Simulations choose, to be repeatable.
    fn seed(&self) -> Option<[u8; 32]> {
        None
    }
}
