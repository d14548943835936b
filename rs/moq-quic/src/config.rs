//! What a caller chooses for an endpoint and its connections, and its translation into quinn-proto's terms.
//!
//! Called by `driver`, and by whoever drives a sans-IO `connection`. May not know sockets or tasks.

use std::{sync::Arc, time::Duration};

use quinn_proto::{
    VarInt,
    congestion::{BbrConfig, CubicConfig, NewRenoConfig},
    crypto::rustls::{QuicClientConfig, QuicServerConfig},
};

use crate::{
    Error,
    connection::{
        Hooks,
        flight::WatchedFactory,
        tap::{TappedClient, TappedServer},
    },
    tls::{Identity, Trust},
};

/// Which congestion controller decides how much may be in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// CUBIC (RFC 9438).
    #[default]
    Cubic,
    /// NewReno (RFC 9002 §7).
    NewReno,
    /// BBR, as quinn-proto has it: its authors call it experimental.
    Bbr,
}

/// Limits and timers of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportConfig {
    /// The connection is given up when nothing was heard for this long. Zero: never. Default 30 s.
    pub idle_timeout: Duration,
    /// How long after the last packet a PING is sent to keep the connection. Default `None`.
    pub keep_alive: Option<Duration>,
    /// Bidirectional streams the peer may have open at most. It may open 64 at first, and twice as many whenever it uses
    /// half of what it may: a place costs memory from then on. Default 1,024.
    pub max_bi_streams: u32,
    /// Unidirectional streams the peer may have open at most, likewise. Default 1,024.
    pub max_uni_streams: u32,
    /// Bytes the peer may send on one stream ahead of the reader. Default 1.25 MB.
    pub stream_receive_window: u32,
    /// Bytes the peer may send ahead of the readers, over all streams. Default 16 MiB.
    pub receive_window: u32,
    /// Bytes that may wait in one send stream, not handed to a packet yet, before a writer has to wait. Default 256 KiB.
    pub send_high_water: usize,
    /// Bytes of datagrams that may wait, over all groups; above it the least important go. Default 1 MiB.
    pub datagram_budget: usize,
    /// Bytes of received datagrams that may wait for the reader; above it the oldest go. Default 1 MiB.
    pub datagram_receive_budget: usize,
    /// What is assumed of the path before it was measured. Default 333 ms (RFC 9002 §6.2.2).
    pub initial_rtt: Duration,
    /// Which congestion controller.
    pub congestion: Congestion,
    /// The most packets handed to the network in one call, up to 44. What quinn-proto holds unsent, and nothing can
    /// overtake, is at most one packet more. It is used in full only when the path takes it in about a millisecond:
    /// slower paths get less at once. Default 40.
    pub batch: usize,
}

impl Default for TransportConfig {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_secs(30),
            keep_alive: None,
            max_bi_streams: 1_024,
            max_uni_streams: 1_024,
            stream_receive_window: 1_250_000,
            receive_window: 16 << 20,
            send_high_water: 256 << 10,
            datagram_budget: 1 << 20,
            datagram_receive_budget: 1 << 20,
            initial_rtt: Duration::from_millis(333),
            congestion: Congestion::default(),
            batch: 40,
        }
    }
}

/// What a server is, speaks and allows.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Its certificate and key.
    pub identity: Identity,
    /// The application protocols it speaks, best first.
    pub alpn: Vec<Vec<u8>>,
    /// Limits and timers of its connections.
    pub transport: TransportConfig,
}

impl ServerConfig {
    /// A server with default limits.
    #[must_use]
    pub fn new(identity: Identity, alpn: Vec<Vec<u8>>) -> Self {
        Self {
            identity,
            alpn,
            transport: TransportConfig::default(),
        }
    }

    /// In quinn-proto's terms, for a connection that will be turned with these hooks.
    ///
    /// # Errors
    /// [`Error::Identity`] if the certificate and the key don't fit.
    pub fn quinn(&self, hooks: &Hooks) -> Result<quinn_proto::ServerConfig, Error> {
        Ok(self.hook(&self.base()?, hooks))
    }

    /// What all connections share.
    pub(crate) fn base(&self) -> Result<quinn_proto::ServerConfig, Error> {
        let tls = self.identity.server(&self.alpn)?;
        let crypto = QuicServerConfig::try_from(tls)
            .map_err(|error| Error::Identity(format!("cannot serve QUIC: {error}")))?;
        let mut config = quinn_proto::ServerConfig::with_crypto(Arc::new(crypto));
        config
            .max_incoming(MOST_INCOMING)
            .incoming_buffer_size(64 << 10)
            .incoming_buffer_size_total(8 << 20);
        Ok(config)
    }

    /// Makes what all connections share one connection's own.
    pub(crate) fn hook(
        &self,
        base: &quinn_proto::ServerConfig,
        hooks: &Hooks,
    ) -> quinn_proto::ServerConfig {
        let mut config = base.clone();
        config.transport = Arc::new(self.transport.quinn(hooks));
        config.crypto = Arc::new(TappedServer {
            inner: config.crypto,
            flight: hooks.flight.clone(),
        });
        config
    }
}

/// Whom a client trusts, what it speaks and allows.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Which servers are believed to be who they say.
    pub trust: Trust,
    /// The application protocols it speaks, best first.
    pub alpn: Vec<Vec<u8>>,
    /// Limits and timers of the connection.
    pub transport: TransportConfig,
}

impl ClientConfig {
    /// A client with default limits.
    #[must_use]
    pub fn new(trust: Trust, alpn: Vec<Vec<u8>>) -> Self {
        Self {
            trust,
            alpn,
            transport: TransportConfig::default(),
        }
    }

    /// In quinn-proto's terms, for a connection that will be turned with these hooks.
    ///
    /// # Errors
    /// [`Error::Identity`] if the roots can't be loaded.
    pub fn quinn(&self, hooks: &Hooks) -> Result<quinn_proto::ClientConfig, Error> {
        let tls = self.trust.client(&self.alpn)?;
        let crypto = QuicClientConfig::try_from(tls)
            .map_err(|error| Error::Identity(format!("cannot use QUIC: {error}")))?;
        let mut config = quinn_proto::ClientConfig::new(Arc::new(TappedClient {
            inner: Arc::new(crypto),
            flight: hooks.flight.clone(),
        }));
        config.transport_config(Arc::new(self.transport.quinn(hooks)));
        Ok(config)
    }
}

/// Bytes quinn-proto may hold unacknowledged. Not a lever: what limits us is the congestion window, and unsent bytes wait
/// in our queues. quinn-proto also counts bytes acknowledged behind a hole, so it must never be near.
const SEND_WINDOW: u64 = 1 << 30;

/// Connections that may wait to be accepted; more are refused.
const MOST_INCOMING: usize = 1_024;

/// Streams a peer may have open before it has shown that it needs more.
const FIRST_STREAMS: u32 = 64;

impl TransportConfig {
    fn quinn(&self, hooks: &Hooks) -> quinn_proto::TransportConfig {
        let mut config = quinn_proto::TransportConfig::default();
        let idle = u32::try_from(self.idle_timeout.as_millis()).unwrap_or(u32::MAX);
        config
            .max_idle_timeout((idle > 0).then(|| VarInt::from_u32(idle).into()))
            .keep_alive_interval(self.keep_alive)
            .max_concurrent_bidi_streams(self.max_bi_streams.min(FIRST_STREAMS).into())
            .max_concurrent_uni_streams(self.max_uni_streams.min(FIRST_STREAMS).into())
            .stream_receive_window(self.stream_receive_window.into())
            .receive_window(self.receive_window.into())
            .send_window(SEND_WINDOW)
            // Lost ranges of a low stream must not hold the wire against a higher one.
            .send_fairness(true)
            .datagram_receive_buffer_size(Some(self.datagram_receive_budget))
            .initial_rtt(self.initial_rtt);
        let flight = hooks.flight.clone();
        match self.congestion {
            Congestion::Cubic => config.congestion_controller_factory(Arc::new(WatchedFactory {
                inner: Arc::new(CubicConfig::default()),
                flight,
            })),
            Congestion::NewReno => config.congestion_controller_factory(Arc::new(WatchedFactory {
                inner: Arc::new(NewRenoConfig::default()),
                flight,
            })),
            Congestion::Bbr => config.congestion_controller_factory(Arc::new(WatchedFactory {
                inner: Arc::new(BbrConfig::default()),
                flight,
            })),
        };
        config
    }
}
