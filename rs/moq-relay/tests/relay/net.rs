//! The network, and the nodes the tests are made of.

use std::net::SocketAddr;
use std::time::Duration;

use moq_net::{
    BroadcastConsumer, Error, Origin, OriginConfig, Pool, Session, SessionConfig, Subscriber,
    Subscription, Timescale, Timestamp, Track, TrackInfo,
};
use moq_quic::sim::{self, Link, Network};
use moq_quic::tls::Trust;
use moq_quic::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use moq_relay::{Auth, Config, Relay};

/// A simulated network.
pub(crate) struct Net {
    pub(crate) network: Network,
}

/// A relay and where it listens.
pub(crate) struct Station {
    pub(crate) relay: Relay,
    _endpoint: Endpoint,
    pub(crate) address: SocketAddr,
}

/// A publisher or subscriber.
pub(crate) struct Client {
    pub(crate) origin: Origin,
    pub(crate) session: Session,
    pub(crate) address: SocketAddr,
    _endpoint: Endpoint,
}

impl Net {
    pub(crate) fn new() -> Self {
        Self {
            network: Network::new(1),
        }
    }

    /// A relay at host `number`.
    pub(crate) fn relay(&self, number: u8, config: Config) -> Station {
        let address = host(number);
        let mut server = ServerConfig::new(sim::identity().unwrap(), moq_net::alpns());
        server.transport = transport();
        let socket = self.network.socket(address);
        let endpoint = Endpoint::with_socket(socket, Some(server)).unwrap();
        let relay = Relay::new(Config {
            hop: Some(number.into()),
            ..config
        });
        tokio::spawn({
            let (relay, endpoint) = (relay.clone(), endpoint.clone());
            async move { relay.serve(&endpoint).await }
        });
        Station {
            relay,
            _endpoint: endpoint,
            address,
        }
    }

    /// A relay at host `number` where everything is public.
    pub(crate) fn open_relay(&self, number: u8) -> Station {
        self.relay(number, open())
    }

    /// A client at host `number`, both publisher and subscriber, at `path` of a relay.
    pub(crate) async fn client(
        &self,
        number: u8,
        station: &Station,
        path: &str,
    ) -> Result<Client, Error> {
        let address = host(number);
        let endpoint = Endpoint::with_socket(self.network.socket(address), None).unwrap();
        let connection = dial(&endpoint, station.address).await;
        let connection = connection.map_err(|error| Error::Transport(error.to_string()))?;
        let hop = Some(number.into());
        let origin = Origin::with_config(OriginConfig {
            hop,
            pool: Pool::default(),
        });
        let config = SessionConfig {
            publish: Some(origin.clone()),
            subscribe: Some(origin.clone()),
            path: Some(path.into()),
            cost: None,
        };
        let session = within(Session::connect(connection, config)).await?;
        Ok(Client {
            origin,
            session,
            address,
            _endpoint: endpoint,
        })
    }

    /// Takes a host off the network, in the middle of whatever it is doing.
    pub(crate) fn cut(&self, client: &Client, station: &Station) {
        let dead = Link {
            loss: 1.0,
            ..Link::default()
        };
        self.network.link(client.address, station.address, dead);
    }
}

impl Client {
    /// Waits for a broadcast.
    pub(crate) async fn find(&self, path: &str) -> BroadcastConsumer {
        within(self.origin.wait_broadcast(path)).await.unwrap()
    }
}

/// Everything is public.
pub(crate) fn open() -> Config {
    Config {
        auth: Auth::everything(),
        ..Config::default()
    }
}

/// Limits by which a vanished peer is noticed after ten seconds.
fn transport() -> TransportConfig {
    TransportConfig {
        idle_timeout: Duration::from_secs(10),
        keep_alive: Some(Duration::from_secs(3)),
        ..TransportConfig::default()
    }
}

pub(crate) fn host(number: u8) -> SocketAddr {
    ([10, 0, 0, number], 443).into()
}

pub(crate) async fn dial(
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Result<Connection, moq_quic::Error> {
    let mut config = ClientConfig::new(Trust::Insecure, moq_net::alpns());
    config.transport = transport();
    within(endpoint.connect(address, "localhost", config)).await
}

/// What should happen at all happens within a minute of simulated time.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("it never happened")
}

pub(crate) async fn sleep(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// A track that keeps a minute.
pub(crate) fn info() -> TrackInfo {
    TrackInfo {
        max_age: Duration::from_secs(60),
        timescale: Timescale::MILLIS,
        ..TrackInfo::default()
    }
}

/// Everything a track keeps.
pub(crate) fn all() -> Subscription {
    Subscription::everything()
}

/// Writes a group of one frame, at `millis`.
pub(crate) fn write(track: &Track, millis: u64, text: &str) {
    let group = track.append_group().unwrap();
    group
        .write_frame(Timestamp::from_millis(millis), text.to_owned())
        .unwrap();
    group.finish().unwrap();
}

/// Reads the next group's one frame.
pub(crate) async fn read(subscriber: &mut Subscriber) -> Result<Option<String>, Error> {
    let Some(mut group) = within(subscriber.recv_group()).await? else {
        return Ok(None);
    };
    let frame = within(group.read_frame())
        .await?
        .expect("each group has a frame");
    Ok(Some(String::from_utf8(frame.payload.to_vec()).unwrap()))
}
