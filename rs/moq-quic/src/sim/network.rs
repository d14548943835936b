//! Sockets joined by links.
//!
//! A packet's fate is settled when it is sent; it waits at its receiver until it is due. Nothing runs in between.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    io::{self, IoSliceMut},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Instant,
};

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit};
use tokio::time::Sleep;

use crate::driver::Socket;

use super::{
    link::{Direction, Link},
    rng::Rng,
};

/// The network. Cheap to clone. Sockets that were not joined by a link have a perfect one.
#[derive(Clone, Debug)]
pub struct Network {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    seed: u64,
    links: BTreeMap<(SocketAddr, SocketAddr), Direction>,
    sockets: BTreeMap<SocketAddr, Arc<Mailbox>>,
    sent: u64,
}

#[derive(Debug, Default)]
struct Mailbox(Mutex<Mail>);

#[derive(Debug, Default)]
struct Mail {
    packets: BinaryHeap<Reverse<Packet>>,
    waker: Option<Waker>,
    timer: Option<Pin<Box<Sleep>>>,
}

/// Ordered by when it arrives, then by when it was sent.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    arrives: Instant,
    number: u64,
    from: SocketAddr,
    ecn: u8,
    data: Vec<u8>,
}

impl Network {
    /// An empty network: the same seed gives the same packets.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                seed,
                links: BTreeMap::new(),
                sockets: BTreeMap::new(),
                sent: 0,
            })),
        }
    }

    /// A socket at this address. A second one at the same address takes its place.
    #[must_use]
    pub fn socket(&self, addr: SocketAddr) -> Arc<dyn Socket> {
        let mailbox = Arc::<Mailbox>::default();
        self.lock().sockets.insert(addr, mailbox.clone());
        Arc::new(SimSocket {
            network: self.clone(),
            addr,
            mailbox,
        })
    }

    /// Sets the link between two addresses, both ways, from now on.
    pub fn link(&self, a: SocketAddr, b: SocketAddr, link: Link) {
        self.link_one_way(a, b, link);
        self.link_one_way(b, a, link);
    }

    /// Sets the link from one address to another, this way only, from now on.
    pub fn link_one_way(&self, from: SocketAddr, to: SocketAddr, link: Link) {
        self.lock().direction(from, to).link = link;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn direction(&mut self, from: SocketAddr, to: SocketAddr) -> &mut Direction {
        let seed = seed(self.seed, &[from, to]);
        self.links
            .entry((from, to))
            .or_insert_with(|| Direction::new(Link::default(), seed))
    }

    fn send(&mut self, now: Instant, from: SocketAddr, to: SocketAddr, ecn: u8, data: &[u8]) {
        self.sent += 1;
        let number = self.sent;
        let Some(fate) = self.direction(from, to).send(now, data.len()) else {
            return;
        };
        let Some(mailbox) = self.sockets.get(&to) else {
            return;
        };
        let mut data = data.to_vec();
        if let Some(bit) = fate.flipped
            && let Some(byte) = data.get_mut(bit / 8)
        {
            *byte ^= 1 << (bit % 8);
        }
        let packet = |data| {
            Reverse(Packet {
                arrives: fate.arrives,
                number,
                from,
                ecn,
                data,
            })
        };
        let mut mail = mailbox.lock();
        if fate.twice {
            mail.packets.push(packet(data.clone()));
        }
        mail.packets.push(packet(data));
        let waker = mail.waker.take();
        drop(mail);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Mixes addresses into a seed: what happens on one link does not depend on the traffic of others.
fn seed(seed: u64, addrs: &[SocketAddr]) -> u64 {
    let mut mixed = seed;
    for addr in addrs {
        let bits = match addr {
            SocketAddr::V4(v4) => u64::from(v4.ip().to_bits()),
            SocketAddr::V6(v6) => v6.ip().to_bits() as u64,
        };
        mixed = Rng::new(mixed ^ bits).next();
        mixed = Rng::new(mixed ^ u64::from(addr.port())).next();
    }
    mixed
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Mail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct SimSocket {
    network: Network,
    addr: SocketAddr,
    mailbox: Arc<Mailbox>,
}

impl Socket for SimSocket {
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let now = tokio::time::Instant::now().into_std();
        let segment = transmit
            .segment_size
            .unwrap_or(transmit.contents.len())
            .max(1);
        let ecn = transmit.ecn.map_or(0, |ecn| ecn as u8);
        let mut network = self.network.lock();
        for data in transmit.contents.chunks(segment) {
            network.send(now, self.addr, transmit.destination, ecn, data);
        }
        Ok(())
    }

    fn writable(self: Arc<Self>) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let now = tokio::time::Instant::now();
        let mut mail = self.mailbox.lock();
        let mut count = 0;
        while count < buffers.len().min(meta.len())
            && let Some(Reverse(packet)) = mail.packets.peek()
            && packet.arrives <= now.into_std()
        {
            let len = packet.data.len().min(buffers[count].len());
            buffers[count][..len].copy_from_slice(&packet.data[..len]);
            let mut received = RecvMeta::default();
            received.addr = packet.from;
            received.len = len;
            received.stride = len;
            received.ecn = EcnCodepoint::from_bits(packet.ecn);
            received.dst_ip = Some(self.addr.ip());
            meta[count] = received;
            count += 1;
            mail.packets.pop();
        }
        if count > 0 {
            return Poll::Ready(Ok(count));
        }
        mail.waker = Some(cx.waker().clone());
        let due = mail.packets.peek().map(|Reverse(packet)| packet.arrives);
        mail.timer = due.map(|due| Box::pin(tokio::time::sleep_until(due.into())));
        if let Some(timer) = &mut mail.timer
            && timer.as_mut().poll(cx).is_ready()
        {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.addr)
    }

    fn max_transmit_segments(&self) -> usize {
        10
    }

    fn seed(&self) -> Option<[u8; 32]> {
        let mut rng = Rng::new(seed(self.network.lock().seed, &[self.addr]));
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&rng.next().to_le_bytes());
        }
        Some(bytes)
    }
}
