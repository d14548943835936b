//! The nodes the tests are made of: each has an origin and an endpoint, accepts whoever comes, and dials others.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use moq_net::model::Pool;
use moq_net::{
    Broadcast, BroadcastConsumer, Error, GroupConsumer, Origin, OriginConfig, Session,
    SessionConfig, Subscriber, Subscription, Timestamp, Track, TrackInfo, Version,
};
use moq_quic::sim::{Link, Network, identity};
use moq_quic::tls::Trust;
use moq_quic::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};

/// A network and the addresses handed out on it.
pub(crate) struct Net {
    pub(crate) network: Network,
    next: AtomicU16,
}

/// One process, as far as the others can tell.
pub(crate) struct Node {
    pub(crate) origin: Origin,
    pub(crate) addr: SocketAddr,
    pub(crate) endpoint: Endpoint,
    /// The sessions this node accepted, while they last or not.
    pub(crate) accepted: Arc<Mutex<Vec<Session>>>,
}

impl Net {
    pub(crate) fn new() -> Self {
        Self {
            network: Network::new(7),
            next: AtomicU16::new(1),
        }
    }

    /// A node whose hop id is `hop`, speaking every version.
    pub(crate) fn node(&self, hop: u64) -> Node {
        self.node_with(hop, Pool::default(), &Version::ALL)
    }

    pub(crate) fn node_with(&self, hop: u64, pool: Pool, versions: &[Version]) -> Node {
        let port = self.next.fetch_add(1, Relaxed);
        let addr = SocketAddr::from(([10, 0, 0, 1], port));
        let alpn = versions
            .iter()
            .map(|version| version.alpn().into())
            .collect();
        let server = ServerConfig {
            transport: transport(),
            ..ServerConfig::new(identity().unwrap(), alpn)
        };
        let endpoint = Endpoint::with_socket(self.network.socket(addr), Some(server)).unwrap();
        let origin = Origin::with_config(OriginConfig {
            hop: Some(hop),
            pool,
        });
        let accepted = Arc::<Mutex<Vec<Session>>>::default();
        tokio::spawn(accept(endpoint.clone(), origin.clone(), accepted.clone()));
        Node {
            origin,
            addr,
            endpoint,
            accepted,
        }
    }

    pub(crate) fn link(&self, a: &Node, b: &Node, link: Link) {
        self.network.link(a.addr, b.addr, link);
    }

    /// Cuts two nodes off from each other.
    pub(crate) fn cut(&self, a: &Node, b: &Node) {
        self.link(
            a,
            b,
            Link {
                loss: 1.0,
                ..Link::default()
            },
        );
    }
}

fn transport() -> TransportConfig {
    TransportConfig {
        keep_alive: Some(Duration::from_secs(5)),
        max_bi_streams: 1024,
        max_uni_streams: 1024,
        ..TransportConfig::default()
    }
}

/// Serves everything to everybody, as a relay does.
async fn accept(endpoint: Endpoint, origin: Origin, accepted: Arc<Mutex<Vec<Session>>>) {
    while let Some(incoming) = endpoint.accept().await {
        let (origin, accepted) = (origin.clone(), accepted.clone());
        tokio::spawn(async move {
            let Ok(conn) = incoming.accept().await else {
                return;
            };
            let Ok(request) = Session::accept(conn).await else {
                return;
            };
            if request.path().starts_with("secret") {
                return request.refuse(&Error::Unauthorized, "no token for /secret");
            }
            let session = request.serve(both(&origin));
            accepted.lock().unwrap().push(session);
        });
    }
}

pub(crate) fn both(origin: &Origin) -> SessionConfig {
    SessionConfig {
        publish: Some(origin.clone()),
        subscribe: Some(origin.clone()),
        ..SessionConfig::default()
    }
}

impl Node {
    /// A bare connection to another node.
    pub(crate) async fn dial(&self, to: &Node, version: Version) -> Connection {
        let trust = Trust::Fingerprints(vec![identity().unwrap().fingerprint()]);
        let config = ClientConfig {
            transport: transport(),
            ..ClientConfig::new(trust, vec![version.alpn().into()])
        };
        self.endpoint
            .connect(to.addr, "localhost", config)
            .await
            .unwrap()
    }

    pub(crate) async fn connect_with(
        &self,
        to: &Node,
        version: Version,
        config: SessionConfig,
    ) -> Session {
        Session::connect(self.dial(to, version).await, config)
            .await
            .unwrap()
    }

    /// A session in the newest version that shares everything both ways.
    pub(crate) async fn connect(&self, to: &Node) -> Session {
        self.connect_with(to, Version::Lite06, both(&self.origin))
            .await
    }

    /// Only reads from the other.
    pub(crate) async fn read_from(&self, to: &Node, version: Version) -> Session {
        let config = SessionConfig {
            subscribe: Some(self.origin.clone()),
            ..SessionConfig::default()
        };
        self.connect_with(to, version, config).await
    }

    /// Only publishes to the other.
    pub(crate) async fn publish_to(&self, to: &Node, version: Version) -> Session {
        let config = SessionConfig {
            publish: Some(self.origin.clone()),
            ..SessionConfig::default()
        };
        self.connect_with(to, version, config).await
    }

    /// Waits until a broadcast is there.
    pub(crate) async fn find(&self, path: &str) -> BroadcastConsumer {
        within(self.origin.wait_broadcast(path)).await.unwrap()
    }
}

/// The publisher, relay and subscriber most tests are about.
pub(crate) struct Chain {
    pub(crate) net: Net,
    pub(crate) publisher: Node,
    pub(crate) relay: Node,
    pub(crate) subscriber: Node,
    pub(crate) up: Session,
    pub(crate) down: Session,
}

impl Chain {
    pub(crate) async fn new(version: Version) -> Self {
        Self::with_link(version, Link::default()).await
    }

    pub(crate) async fn with_link(version: Version, link: Link) -> Self {
        let net = Net::new();
        let (publisher, relay, subscriber) = (net.node(1), net.node(2), net.node(3));
        net.link(&publisher, &relay, link);
        net.link(&subscriber, &relay, link);
        let up = publisher.publish_to(&relay, version).await;
        let down = subscriber.read_from(&relay, version).await;
        Self {
            net,
            publisher,
            relay,
            subscriber,
            up,
            down,
        }
    }

    /// A broadcast with one track at the publisher, and its reader at the subscriber.
    pub(crate) async fn track(
        &self,
        name: &str,
        info: TrackInfo,
    ) -> (Broadcast, Track, BroadcastConsumer) {
        let broadcast = self.publisher.origin.create_broadcast("room/cam").unwrap();
        let track = broadcast.create_track(name, info).unwrap();
        (broadcast, track, self.subscriber.find("room/cam").await)
    }
}

/// What should happen soon; the clock is paused, so waiting costs nothing.
pub(crate) async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what)
        .await
        .expect("nothing happened")
}

pub(crate) async fn sleep(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Everything kept, everything wanted.
pub(crate) fn all() -> Subscription {
    Subscription::within(Duration::from_secs(3600))
}

pub(crate) fn keep_all() -> TrackInfo {
    TrackInfo {
        max_age: Duration::from_secs(3600),
        ..TrackInfo::default()
    }
}

/// Writes a whole group of one frame, whose time is its sequence times 40 ms.
pub(crate) fn write_group(track: &Track, payload: impl Into<Bytes>) -> u64 {
    let group = track.append_group().unwrap();
    let sequence = group.sequence();
    group
        .write_frame(Timestamp::from_millis(sequence * 40), payload)
        .unwrap();
    group.finish().unwrap();
    sequence
}

/// The next group and all of its frames.
pub(crate) async fn next_group(subscriber: &mut Subscriber) -> Option<(u64, Vec<Bytes>)> {
    let group = within(subscriber.recv_group()).await.unwrap()?;
    let sequence = group.sequence();
    Some((sequence, read_all(group).await.unwrap()))
}

/// Reads to the end of the track, and says which groups were whole.
pub(crate) fn whole_groups(mut subscriber: Subscriber) -> tokio::task::JoinHandle<Vec<u64>> {
    tokio::spawn(async move {
        let mut whole = Vec::new();
        while let Some(group) = within(subscriber.recv_group()).await.unwrap() {
            let sequence = group.sequence();
            if read_all(group).await.is_ok() {
                whole.push(sequence);
            }
        }
        whole
    })
}

pub(crate) async fn read_all(mut group: GroupConsumer) -> Result<Vec<Bytes>, Error> {
    let mut frames = Vec::new();
    while let Some(frame) = within(group.read_frame()).await? {
        frames.push(frame.payload);
    }
    Ok(frames)
}
