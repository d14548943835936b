//! The same seed gives the same packets: sizes, instants, order.

mod support;

use std::{
    io::{self, IoSliceMut},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use moq_quic::{
    ClientConfig, Endpoint, ServerConfig, Socket,
    sim::{self, Link, Network},
    tls::Trust,
};
use quinn_udp::{RecvMeta, Transmit};
use support::{accept, client_addr, pattern, read_all, server_addr, slow};
use tokio::time::Instant;

/// A socket that notes what it sends.
#[derive(Debug)]
struct Noting {
    inner: Arc<dyn Socket>,
    start: Instant,
    sent: Arc<Mutex<Vec<(Duration, usize)>>>,
}

impl Socket for Noting {
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.sent
            .lock()
            .unwrap()
            .push((self.start.elapsed(), transmit.contents.len()));
        self.inner.try_send(transmit)
    }

    fn writable(self: Arc<Self>) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>> {
        self.inner.clone().writable()
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_recv(cx, buffers, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn seed(&self) -> Option<[u8; 32]> {
        self.inner.seed()
    }
}

fn run(seed: u64) -> Vec<(Duration, usize)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let network = Network::new(seed);
        network.link(
            client_addr(),
            server_addr(),
            Link {
                jitter: Duration::from_millis(5),
                loss: 0.03,
                reorder: 0.01,
                duplicate: 0.01,
                corrupt: 0.01,
                ..slow()
            },
        );
        let sent = Arc::<Mutex<Vec<_>>>::default();
        let noting = |addr| {
            Arc::new(Noting {
                inner: network.socket(addr),
                start: Instant::now(),
                sent: sent.clone(),
            })
        };
        let config = ServerConfig::new(sim::identity().unwrap(), vec![]);
        let server = Endpoint::with_socket(noting(server_addr()), Some(config)).unwrap();
        let client = Endpoint::with_socket(noting(client_addr()), None).unwrap();
        let config = ClientConfig::new(Trust::Insecure, vec![]);
        let (client, server) = tokio::join!(
            client.connect(server_addr(), "localhost", config),
            accept(&server)
        );
        let client = client.unwrap();
        let send = async {
            for _ in 0..5 {
                let mut stream = client.open_uni().await.unwrap();
                stream.write_all(&pattern(40_000)).await.unwrap();
                stream.finish().unwrap();
            }
        };
        let recv = async {
            for _ in 0..5 {
                let mut stream = server.accept_uni().await.unwrap();
                assert!(read_all(&mut stream).await.unwrap() == pattern(40_000));
            }
        };
        tokio::join!(send, recv);
        sent.lock().unwrap().clone()
    })
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let first = run(7);
    assert!(first.len() > 100);
    assert_eq!(first, run(7));
    assert_ne!(first, run(8));
}
