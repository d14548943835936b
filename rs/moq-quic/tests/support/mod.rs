//! Two endpoints joined by a simulated link.

#![allow(dead_code, reason = "each test file uses its part")]

use std::{net::SocketAddr, time::Duration};

use moq_quic::{
    ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig,
    sim::{self, Link, Network},
    tls::Trust,
};

pub(crate) const ALPN: &[u8] = b"test";

/// A client and a server, connected.
pub(crate) struct Pair {
    pub(crate) network: Network,
    pub(crate) client: Connection,
    pub(crate) server: Connection,
    pub(crate) client_endpoint: Endpoint,
    pub(crate) server_endpoint: Endpoint,
}

pub(crate) fn client_addr() -> SocketAddr {
    ([10, 0, 0, 1], 1000).into()
}

pub(crate) fn server_addr() -> SocketAddr {
    ([10, 0, 0, 2], 443).into()
}

impl Pair {
    pub(crate) async fn new(link: Link) -> Self {
        Self::with(1, link, TransportConfig::default()).await
    }

    pub(crate) async fn with(seed: u64, link: Link, transport: TransportConfig) -> Self {
        let network = Network::new(seed);
        network.link(client_addr(), server_addr(), link);
        let mut config = ServerConfig::new(sim::identity().unwrap(), vec![ALPN.to_vec()]);
        config.transport = transport.clone();
        let server_endpoint =
            Endpoint::with_socket(network.socket(server_addr()), Some(config)).unwrap();
        let client_endpoint = Endpoint::with_socket(network.socket(client_addr()), None).unwrap();
        let mut config = ClientConfig::new(Trust::Insecure, vec![ALPN.to_vec()]);
        config.transport = transport;
        let (client, server) = tokio::join!(
            client_endpoint.connect(server_addr(), "localhost", config),
            accept(&server_endpoint)
        );
        Self {
            network,
            client: client.unwrap(),
            server,
            client_endpoint,
            server_endpoint,
        }
    }

    pub(crate) fn link(&self, link: Link) {
        self.network.link(client_addr(), server_addr(), link);
    }
}

/// Accepts until it works: a faulty link breaks a packet that wants a connection as well as any other.
pub(crate) async fn accept(endpoint: &Endpoint) -> Connection {
    loop {
        if let Ok(connection) = endpoint.accept().await.unwrap().accept().await {
            return connection;
        }
    }
}

/// 2 MB/s, 40 ms round trip, a drop-tail queue of about as much again.
pub(crate) fn slow() -> Link {
    Link {
        rate: Some(2_000_000),
        delay: Duration::from_millis(20),
        queue: 80_000,
        ..Link::default()
    }
}

/// Bytes that differ by position, so that a byte out of place shows.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (i % 251) as u8 ^ (i / 251) as u8)
        .collect()
}

/// Reads a stream to its end.
pub(crate) async fn read_all(
    stream: &mut moq_quic::RecvStream,
) -> Result<Vec<u8>, moq_quic::Error> {
    let mut all = Vec::new();
    while let Some(chunk) = stream.read_chunk(usize::MAX).await? {
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}
