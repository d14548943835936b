//! Owns what a demo plays on: a relay on a loopback port, and a publisher's and a subscriber's session
//! with it. Called by `demo`; knows no media.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use moq_net::{Origin, Pool, Session, SessionConfig};
use moq_quic::tls::{Identity, Trust};
use moq_quic::{ClientConfig, Endpoint};
use moq_relay::{Auth, Config, Relay};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::report::Transport;
use crate::dial::transport;
use crate::error::Error;
use crate::link::new_origin;
use crate::listen::listen;

/// A relay and two clients.
pub(crate) struct Stage {
    relay: Relay,
    address: SocketAddr,
    serving: JoinHandle<()>,
    publisher: Client,
    subscriber: Client,
}

/// One client.
struct Client {
    origin: Origin,
    session: Session,
    endpoint: Endpoint,
}

impl Stage {
    /// Sets it up, with memory for what is on the way and for what is not read yet at the far end. The
    /// certificate is made here, and pinned by both clients.
    pub(crate) async fn new(near: Pool, far: Pool) -> Result<Self, Error> {
        let identity = Identity::generate(&["localhost".into()]).map_err(Error::Identity)?;
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (endpoint, address) = listen(any_port, &identity, moq_net::alpns())?;
        let relay = Relay::new(Config {
            auth: Auth::everything(),
            pool: near,
            ..Config::default()
        });
        let serving = tokio::spawn({
            let relay = relay.clone();
            async move { relay.serve(&endpoint).await }
        });
        let trust = Trust::Fingerprints(vec![identity.fingerprint()]);
        let mut config = ClientConfig::new(trust, moq_net::alpns());
        config.transport = transport();
        let publisher = Client::new(address, config.clone(), Pool::default(), |origin| {
            SessionConfig {
                publish: Some(origin),
                ..SessionConfig::default()
            }
        });
        let subscriber = Client::new(address, config, far, |origin| SessionConfig {
            subscribe: Some(origin),
            ..SessionConfig::default()
        });
        let (publisher, subscriber) = tokio::try_join!(publisher, subscriber)?;
        Ok(Self {
            relay,
            address,
            serving,
            publisher,
            subscriber,
        })
    }

    /// Where the relay listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is published here goes to the relay.
    pub(crate) fn publisher(&self) -> &Origin {
        &self.publisher.origin
    }

    /// What the relay has can be read here.
    pub(crate) fn subscriber(&self) -> &Origin {
        &self.subscriber.origin
    }

    /// All three ends' sending, summed.
    pub(crate) fn transport(&self) -> Transport {
        let relay = self.relay.metrics();
        let mut sum = Transport {
            sent_bytes: relay.sent_bytes,
            sent_packets: relay.sent_packets,
            lost_packets: relay.lost_packets,
            retransmitted_bytes: relay.retransmitted_bytes,
        };
        for client in [&self.publisher, &self.subscriber] {
            let stats = client.session.stats().connection;
            sum.sent_bytes += stats.sent_bytes;
            sum.sent_packets += stats.sent_packets;
            sum.lost_packets += stats.lost_packets;
            sum.retransmitted_bytes += stats.retransmitted;
        }
        sum
    }

    /// Takes it down.
    pub(crate) async fn close(self) {
        for client in [&self.publisher, &self.subscriber] {
            client.session.close(0, "done");
            // Nobody is left to mind if it isn't heard.
            let _ = timeout(Duration::from_secs(1), client.endpoint.wait_idle()).await;
        }
        self.relay.close();
        let _ = self.serving.await;
    }
}

impl Client {
    async fn new(
        address: SocketAddr,
        config: ClientConfig,
        pool: Pool,
        share: impl FnOnce(Origin) -> SessionConfig,
    ) -> Result<Self, Error> {
        let lost = |cause: String| Error::Connect {
            address: address.to_string(),
            cause,
        };
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let endpoint = Endpoint::client(any).map_err(|error| lost(error.to_string()))?;
        let connection = endpoint.connect(address, "localhost", config).await;
        let connection = connection.map_err(|error| lost(error.to_string()))?;
        let origin = new_origin(pool);
        let session = Session::connect(connection, share(origin.clone())).await;
        let session = session.map_err(|error| lost(error.to_string()))?;
        Ok(Self {
            origin,
            session,
            endpoint,
        })
    }
}
