//! Two sans-IO connections back to back in virtual time: exact instants, no sockets, no tasks, and what goes on the wire
//! in plain sight. Shared with the benches.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use moq_quic::{
    ClientConfig, ServerConfig, TransportConfig,
    connection::{Connection, Event, Hooks},
    sim,
    tls::Trust,
};
use quinn_proto::{ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig};

/// One direction: a rate, a delay, a drop-tail queue, and a say in which packets are lost.
pub struct Wire {
    /// Bytes a second; 0: no limit.
    pub rate: u64,
    pub delay: Duration,
    /// Bytes that may wait.
    pub queue: usize,
    /// Which packets are lost, by their number.
    pub lose: Box<dyn FnMut(u64) -> bool>,
    packets: u64,
    free: Option<Instant>,
    flying: VecDeque<(Instant, BytesMut)>,
}

impl Wire {
    pub fn new(rate: u64, delay: Duration, queue: usize) -> Self {
        Self {
            rate,
            delay,
            queue,
            lose: Box::new(|_| false),
            packets: 0,
            free: None,
            flying: VecDeque::new(),
        }
    }

    fn send(&mut self, now: Instant, packet: &[u8]) {
        self.packets += 1;
        let mut free = self.free.map_or(now, |free| free.max(now));
        if self.rate > 0 {
            let waiting = (free - now).as_nanos() * u128::from(self.rate) / 1_000_000_000;
            if waiting as usize + packet.len() > self.queue {
                return;
            }
            free += Duration::from_nanos(packet.len() as u64 * 1_000_000_000 / self.rate);
            self.free = Some(free);
        }
        if !(self.lose)(self.packets) {
            self.flying.push_back((free + self.delay, packet.into()));
        }
    }
}

pub struct Side {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    pub core: Connection,
    pub events: Vec<Event>,
    buffer: Vec<u8>,
    /// The most packets a call to the network takes.
    pub segments: usize,
    /// The most application bytes quinn-proto held after a turn.
    pub most_unsent: u64,
}

pub struct Pair {
    pub now: Instant,
    pub client: Side,
    pub server: Side,
    pub up: Wire,
    pub down: Wire,
}

fn addr(last: u8) -> SocketAddr {
    ([10, 0, 0, last], 4433).into()
}

impl Side {
    fn receive(&mut self, now: Instant, from: SocketAddr, wire: &mut Wire) {
        while wire.flying.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, packet)) = wire.flying.pop_front() else {
                break;
            };
            let event = self
                .endpoint
                .handle(now, from, None, None, packet, &mut Vec::new());
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                self.core.handle_event(event);
            }
        }
    }

    fn turn(&mut self, now: Instant, wire: &mut Wire) {
        if self.core.poll_timeout().is_some_and(|due| due <= now) {
            self.core.handle_timeout(now);
        }
        loop {
            self.buffer.clear();
            let sent = self
                .core
                .poll_transmit(now, self.segments, &mut self.buffer);
            self.most_unsent = self.most_unsent.max(self.core.stats().unsent);
            let Some(transmit) = sent else {
                break;
            };
            let size = transmit.segment_size.unwrap_or(transmit.size).max(1);
            for packet in self.buffer[..transmit.size].chunks(size) {
                wire.send(now, packet);
            }
        }
        while let Some(event) = self.core.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.core.handle_event(event);
            }
        }
        while let Some(event) = self.core.poll() {
            self.events.push(event);
        }
    }
}

impl Pair {
    /// Connected over a perfect wire; set `up` and `down` afterwards.
    pub fn new(config: &TransportConfig) -> Self {
        #[allow(
            clippy::disallowed_methods,
            reason = "virtual time has to start somewhere"
        )]
        let now = Instant::now();
        let mut endpoint_config = EndpointConfig::default();
        endpoint_config.rng_seed(Some([7; 32]));
        let endpoint_config = Arc::new(endpoint_config);
        let identity = sim::identity().unwrap();
        let mut server_config = ServerConfig::new(identity, vec![b"test".to_vec()]);
        server_config.transport = config.clone();
        let mut client_config = ClientConfig::new(Trust::Insecure, vec![b"test".to_vec()]);
        client_config.transport = config.clone();
        let (client_hooks, server_hooks) = (Hooks::default(), Hooks::default());
        let quinn_server = Arc::new(server_config.quinn(&server_hooks).unwrap());

        let mut endpoint = Endpoint::new(endpoint_config.clone(), None, true, None);
        let (handle, connection) = endpoint
            .connect(
                now,
                client_config.quinn(&client_hooks).unwrap(),
                addr(2),
                "localhost",
            )
            .unwrap();
        let mut client = Side {
            endpoint,
            handle,
            core: Connection::new(connection, &client_hooks, config),
            events: Vec::new(),
            buffer: Vec::new(),
            segments: 10,
            most_unsent: 0,
        };
        let mut up = Wire::new(0, Duration::ZERO, 0);
        client.turn(now, &mut up);

        let mut endpoint = Endpoint::new(endpoint_config, Some(quinn_server), true, None);
        let mut accepted = None;
        for (_, packet) in std::mem::take(&mut up.flying) {
            match endpoint.handle(now, addr(1), None, None, packet, &mut Vec::new()) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    accepted = endpoint.accept(incoming, now, &mut Vec::new(), None).ok();
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    if let Some((_, connection)) = &mut accepted {
                        connection.handle_event(event);
                    }
                }
                _ => {}
            }
        }
        let (handle, connection) = accepted.unwrap();
        let server = Side {
            endpoint,
            handle,
            core: Connection::new(connection, &server_hooks, config),
            events: Vec::new(),
            buffer: Vec::new(),
            segments: 10,
            most_unsent: 0,
        };
        let down = Wire::new(0, Duration::ZERO, 0);
        let mut pair = Self {
            now,
            client,
            server,
            up,
            down,
        };
        // A little time each way, so that the handshake measures a round trip.
        pair.up.delay = Duration::from_micros(500);
        pair.down.delay = Duration::from_micros(500);
        pair.run_until(Duration::from_secs(5), |pair| {
            let connected = |side: &Side| side.events.contains(&Event::Connected);
            connected(&pair.client) && connected(&pair.server)
        });
        // MTU probing and the last of the handshake.
        pair.run_for(Duration::from_millis(200));
        pair.client.events.clear();
        pair.server.events.clear();
        pair.client.most_unsent = 0;
        pair
    }

    /// Both directions with this rate, delay (one way) and queue.
    pub fn set_wires(&mut self, rate: u64, delay: Duration, queue: usize) {
        for wire in [&mut self.up, &mut self.down] {
            wire.rate = rate;
            wire.delay = delay;
            wire.queue = queue;
        }
    }

    /// Lets both sides do what is due now.
    pub fn turn(&mut self) {
        self.server.receive(self.now, addr(1), &mut self.up);
        self.client.receive(self.now, addr(2), &mut self.down);
        self.client.turn(self.now, &mut self.up);
        self.server.turn(self.now, &mut self.down);
    }

    /// When the next thing happens.
    fn next(&mut self) -> Option<Instant> {
        let flying = [&self.up, &self.down].map(|wire| wire.flying.front().map(|(due, _)| *due));
        let timers = [&mut self.client, &mut self.server].map(|side| side.core.poll_timeout());
        flying.into_iter().chain(timers).flatten().min()
    }

    /// Runs until it is so, or the time is up. Says whether it is so.
    pub fn run_until(&mut self, limit: Duration, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now + limit;
        loop {
            self.turn();
            if done(self) {
                return true;
            }
            match self.next() {
                Some(next) if next <= end => self.now = next.max(self.now),
                _ => {
                    self.now = end;
                    return false;
                }
            }
        }
    }

    pub fn run_for(&mut self, span: Duration) {
        self.run_until(span, |_| false);
    }
}

/// Reads all streams that have something to read; says how many bytes, and how many streams ended.
pub fn drain(side: &mut Side) -> (usize, usize) {
    use moq_quic::connection::Read;
    use quinn_proto::Dir;
    let mut bytes = 0;
    let mut ended = 0;
    let mut ready = Vec::new();
    for event in std::mem::take(&mut side.events) {
        match event {
            Event::Opened(dir) => {
                while let Some(id) = side.core.accept(dir) {
                    if dir == Dir::Bi {
                        side.core.adopt(id).unwrap();
                    }
                    ready.push(id);
                }
            }
            Event::Readable(id) => ready.push(id),
            other => side.events.push(other),
        }
    }
    for id in ready {
        loop {
            match side.core.read(id, usize::MAX) {
                Ok((Read::Chunk(chunk), _)) => bytes += chunk.len(),
                Ok((Read::Blocked, _)) => break,
                Ok((Read::End, _)) | Err(_) => {
                    ended += 1;
                    break;
                }
            }
        }
    }
    (bytes, ended)
}

/// A chunk of this many bytes.
pub fn bytes(len: usize) -> Bytes {
    Bytes::from(vec![0x55; len])
}
