//! Sans-IO: quinn-proto, the schedule, and every byte that is not on the wire yet.
//!
//! | file | what it owns |
//! |---|---|
//! | `mod` | the turn: events and timers in, packets and events out |
//! | `send` | send streams and datagrams: what the application may do to them |
//! | `queue` | one send stream: what waits here, what quinn-proto has, what was on the wire |
//! | `recv` | receive streams and datagrams |
//! | `handover` | when quinn-proto is given what |
//! | `account`, `unsent` | what it put in packets, what it still holds |
//! | `flight`, `tap`, `frame` | what quinn-proto tells its congestion controller and its keys |
//! | `group`, `stats` | the books |
//!
//! Called by `driver` (and by tests and benches, with two of them back to back). May not know sockets, tasks or clocks:
//! the instant is an argument.
//!
//! A turn: [`Connection::handle_event`] and [`Connection::handle_timeout`], then [`Connection::poll_transmit`] until
//! there is nothing, then [`Connection::poll`] and [`Connection::poll_endpoint_events`].

mod account;
mod events;
pub(crate) mod flight;
mod frame;
mod group;
mod handover;
pub(crate) mod hash;
mod queue;
mod recv;
mod send;
mod stats;
pub(crate) mod tap;
mod unsent;

use std::{collections::VecDeque, net::SocketAddr, sync::Arc, time::Instant};

use bytes::Bytes;
use quinn_proto::{ConnectionEvent, Dir, EndpointEvent, Transmit, VarInt};
use slab::Slab;

use crate::{
    Error, GroupConfig, TransportConfig,
    schedule::{self, GroupId, Schedule},
};

pub use events::Event;
pub use frame::Frame;
pub use quinn_proto::StreamId;
pub use recv::Read;
pub use send::SendKey;
pub use stats::{GroupStats, Stats};

use flight::Flight;
use group::Groups;
use handover::Item;
use hash::Map;
use queue::Stream;
use unsent::Unsent;

/// What ties a connection to the quinn-proto connection it turns: made first, given to
/// [`ClientConfig::quinn`](crate::ClientConfig::quinn) or [`ServerConfig::quinn`](crate::ServerConfig::quinn), then to
/// [`Connection::new`]. One a connection.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    pub(crate) flight: Arc<Flight>,
}

/// One QUIC connection.
pub struct Connection {
    inner: quinn_proto::Connection,
    flight: Arc<Flight>,
    schedule: Schedule,
    streams: Slab<Stream>,
    ids: Map<StreamId, usize>,
    /// What a key of the schedule stands for, by its index.
    items: Vec<Item>,
    groups: Groups,
    default_group: GroupId,
    unsent: Unsent,
    events: VecDeque<Event>,
    high_water: usize,
    /// Streams the peer may have open at most, by direction.
    most_streams: [u64; 2],
    batch: usize,
    mtu: u16,
    quantum: usize,
    evicted_datagrams: u64,
    retransmitted: u64,
    stream_waits: u64,
    /// The schedule had nothing more for quinn-proto.
    hungry: bool,
    /// It may have by now.
    stirred: bool,
    wire: Option<Vec<Frame>>,
    lost: Option<Error>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("remote", &self.inner.remote_address())
            .field("streams", &self.streams.len())
            .field("unsent", &self.unsent)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Takes over a connection that quinn-proto's endpoint has just made with these hooks.
    #[must_use]
    pub fn new(inner: quinn_proto::Connection, hooks: &Hooks, config: &TransportConfig) -> Self {
        let mtu = inner.current_mtu();
        let mut schedule = Schedule::new(schedule::Config {
            quantum: usize::from(mtu),
            datagram_budget: config.datagram_budget,
        });
        let default_group = schedule.open_group(GroupConfig::default());
        let mut groups = Groups::default();
        groups.open(Schedule::CONTROL, GroupConfig::default());
        groups.open(default_group, GroupConfig::default());
        Self {
            inner,
            flight: hooks.flight.clone(),
            schedule,
            streams: Slab::new(),
            ids: Map::default(),
            items: Vec::new(),
            groups,
            default_group,
            unsent: Unsent::default(),
            events: VecDeque::new(),
            high_water: config.send_high_water,
            most_streams: [config.max_bi_streams, config.max_uni_streams].map(u64::from),
            batch: config.batch.max(1),
            mtu,
            quantum: usize::from(mtu),
            evicted_datagrams: 0,
            retransmitted: 0,
            stream_waits: 0,
            hungry: true,
            stirred: false,
            wire: None,
            lost: None,
        }
    }

    /// What the endpoint has for this connection: a packet, or new connection ids.
    pub fn handle_event(&mut self, event: ConnectionEvent) {
        self.inner.handle_event(event);
    }

    /// Runs the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.inner.handle_timeout(now);
    }

    /// When [`Connection::handle_timeout`] is due.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        self.inner.poll_timeout()
    }

    /// What the connection has for its endpoint.
    pub fn poll_endpoint_events(&mut self) -> Option<EndpointEvent> {
        self.inner.poll_endpoint_events()
    }

    /// Builds the next packets into `buf`: as many as fit one call to the network, `segments` at most. `None` when there
    /// is nothing to send, or nothing may be sent yet.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        segments: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        self.absorb();
        let packets = self.hand_over(segments);
        let transmit = self.inner.poll_transmit(now, packets, buf);
        self.account();
        transmit
    }

    /// What the application should know.
    pub fn poll(&mut self) -> Option<Event> {
        self.absorb();
        self.events.pop_front()
    }

    /// Takes in what quinn-proto has to tell.
    fn absorb(&mut self) {
        use quinn_proto::{Event as E, StreamEvent as S};
        while let Some(event) = self.inner.poll() {
            match event {
                E::HandshakeDataReady | E::DatagramsUnblocked => {}
                E::Connected => self.events.push_back(Event::Connected),
                E::ConnectionLost { reason } => self.on_lost(reason.into()),
                E::DatagramReceived => self.events.push_back(Event::Datagram),
                E::Stream(S::Opened { dir }) => {
                    self.widen(dir);
                    self.events.push_back(Event::Opened(dir));
                }
                E::Stream(S::Available { dir }) => self.events.push_back(Event::Available(dir)),
                E::Stream(S::Readable { id }) => self.events.push_back(Event::Readable(id)),
                // Whoever was woken first is not who goes first: the schedule is asked again.
                E::Stream(S::Writable { id }) => self.on_writable(id),
                E::Stream(S::Finished { id }) => self.on_finished(id),
                E::Stream(S::Stopped { id, error_code }) => {
                    self.on_stopped(id, error_code.into_inner());
                }
            }
        }
    }

    /// Lets the peer have more streams open once it uses half of what it may. quinn-proto keeps a place for every stream
    /// the peer may open, and most peers open few.
    fn widen(&mut self, dir: Dir) {
        let most = self.most_streams[dir as usize];
        let now = self.inner.max_concurrent_streams(dir);
        if now < most && self.inner.streams().remote_open_streams(dir) > now / 2 {
            let count = VarInt::from_u64((now * 2).min(most)).unwrap_or(VarInt::MAX);
            self.inner.set_max_concurrent_streams(dir, count);
        }
    }

    fn on_lost(&mut self, error: Error) {
        self.lost = Some(error.clone());
        self.events.push_back(Event::Lost(error));
    }

    /// Closes the connection: whatever is unsent stays so.
    pub fn close(&mut self, now: Instant, code: u64, reason: &str) {
        if self.lost.is_none() {
            self.inner
                .close(now, varint(code), Bytes::copy_from_slice(reason.as_bytes()));
            self.on_lost(Error::LocallyClosed);
        }
    }

    /// Gives the connection up: what carried it has failed.
    pub fn fail(&mut self, now: Instant, error: Error) {
        if self.lost.is_none() {
            self.inner.close(now, VarInt::from_u32(0), Bytes::new());
            self.on_lost(error);
        }
    }

    /// Why the connection has ended, if it has.
    #[must_use]
    pub fn lost(&self) -> Option<&Error> {
        self.lost.as_ref()
    }

    /// Whether a packet could be built from what is queued now: if not, an event or a timer has to come first.
    #[must_use]
    pub fn is_hungry(&self) -> bool {
        self.hungry
    }

    /// Whether the endpoint can forget it.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.inner.is_drained()
    }

    /// Opens a send group.
    pub fn open_group(&mut self, config: GroupConfig) -> GroupId {
        let group = self.schedule.open_group(config);
        self.groups.open(group, config);
        group
    }

    /// Closes a send group: no stream joins it any more, and it is gone with its last stream.
    pub fn close_group(&mut self, group: GroupId) {
        if group != Schedule::CONTROL {
            self.schedule.close_group(group);
            self.groups.close(group);
        }
    }

    /// Moves a group to the tail of another priority.
    pub fn set_group_priority(&mut self, group: GroupId, priority: u16) {
        self.schedule.set_group_priority(group, priority);
    }

    /// The group of streams that were not opened in one.
    #[must_use]
    pub fn default_group(&self) -> GroupId {
        self.default_group
    }

    /// A group in numbers; `None` once it is closed.
    #[must_use]
    pub fn group_stats(&self, group: GroupId) -> Option<GroupStats> {
        self.groups.get(group).map(|book| book.stats)
    }

    /// The connection in numbers. O(1).
    #[must_use]
    pub fn stats(&self) -> Stats {
        let quinn = self.inner.stats();
        Stats {
            rtt: quinn.path.rtt,
            min_rtt: quinn.path.min_rtt,
            window: quinn.path.cwnd,
            in_flight: self.flight.in_flight(),
            delivery_rate: self.flight.delivery_rate(),
            mtu: quinn.path.current_mtu,
            sent_packets: quinn.path.sent_packets,
            lost_packets: quinn.path.lost_packets,
            sent_bytes: quinn.udp_tx.bytes,
            lost_bytes: quinn.path.lost_bytes,
            received_bytes: quinn.udp_rx.bytes,
            queued: self.unsent.queued,
            unsent: self.unsent.bytes(),
            retransmitted: self.retransmitted,
            evicted_datagrams: self.evicted_datagrams,
            stream_waits: self.stream_waits,
        }
    }

    /// Streams whose state is kept, here and in quinn-proto: what is not acknowledged yet, or whose handle lives.
    #[must_use]
    pub fn live_streams(&mut self) -> (usize, usize) {
        (self.streams.len(), self.inner.streams().send_streams())
    }

    /// Where the peer is.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.inner.remote_address()
    }

    /// The application protocol both sides agreed on, once they have.
    #[must_use]
    pub fn alpn(&self) -> Option<Vec<u8>> {
        self.inner
            .crypto_session()
            .handshake_data()?
            .downcast::<quinn_proto::crypto::rustls::HandshakeData>()
            .ok()?
            .protocol
    }

    /// Starts to note every stream, reset and datagram frame that goes on the wire, for [`Connection::wire`].
    pub fn record_wire(&mut self) {
        self.wire = Some(Vec::new());
    }

    /// What went on the wire since the last call, in order.
    pub fn wire(&mut self) -> Vec<Frame> {
        self.wire.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Whether the peer lets another stream be opened is asked by trying: see [`Connection::open`].
    fn next_stream(&mut self, dir: Dir) -> Option<StreamId> {
        let id = self.inner.streams().open(dir);
        self.stream_waits += u64::from(id.is_none());
        id
    }
}

/// The application's code as the wire takes it: more than 62 bits are cut off at the top.
fn varint(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}
