//! The socket's owner: connects, accepts, and knows every connection.
//!
//! Packets come through `receive`, one task for all connections; connections send for themselves, each its own task.

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Poll, Waker},
};

use quinn_proto::{
    ConnectError, ConnectionEvent, ConnectionHandle, EndpointConfig, EndpointEvent, Transmit,
};

use crate::{
    ClientConfig, Error, ServerConfig, TransportConfig,
    connection::{self, Hooks},
};

use super::{
    Connection, Socket, receive::Receive, shared::Shared, turn::Turn, udp::Udp, wait::Waiters,
};

/// A socket and the connections on it. Cheap to clone; connections outlive it.
#[derive(Debug)]
pub struct Endpoint {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) socket: Arc<dyn Socket>,
    server: Option<Server>,
    state: Mutex<State>,
    /// Handles of the application and of incoming connections not taken yet.
    handles: AtomicUsize,
}

/// What every accepted connection's configuration is made from.
struct Server {
    config: ServerConfig,
    base: quinn_proto::ServerConfig,
}

pub(super) struct State {
    pub(super) quinn: quinn_proto::Endpoint,
    pub(super) connections: HashMap<ConnectionHandle, Arc<Shared>>,
    pub(super) incoming: VecDeque<quinn_proto::Incoming>,
    /// Closed by the application, with what its connections were told.
    pub(super) closed: Option<(u64, String)>,
    /// The socket has failed, or the task has ended.
    pub(super) failed: Option<Error>,
    pub(super) task: Option<Waker>,
    pub(super) accepting: Waiters,
    pub(super) idle: Waiters,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Binds a UDP socket that accepts connections, and can connect too.
    ///
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Bind`] naming the address; [`Error::Identity`] if the configuration cannot be used.
    pub fn server(addr: SocketAddr, config: ServerConfig) -> Result<Self, Error> {
        Self::with_socket(bind(addr)?, Some(config))
    }

    /// Binds a UDP socket to connect from: port 0 and an unspecified address will do.
    ///
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Bind`] naming the address.
    pub fn client(addr: SocketAddr) -> Result<Self, Error> {
        Self::with_socket(bind(addr)?, None)
    }

    /// An endpoint on any socket, that accepts connections if it has a server configuration.
    ///
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Identity`] if the configuration cannot be used.
    pub fn with_socket(
        socket: Arc<dyn Socket>,
        server: Option<ServerConfig>,
    ) -> Result<Self, Error> {
        let server = server
            .map(|config| config.base().map(|base| Server { config, base }))
            .transpose()?;
        let mut config = EndpointConfig::default();
        config.rng_seed(socket.seed());
        let quinn = quinn_proto::Endpoint::new(
            Arc::new(config),
            server.as_ref().map(|server| Arc::new(server.base.clone())),
            !socket.may_fragment(),
            None,
        );
        let inner = Arc::new(Inner {
            socket,
            server,
            handles: AtomicUsize::new(1),
            state: Mutex::new(State {
                quinn,
                connections: HashMap::new(),
                incoming: VecDeque::new(),
                closed: None,
                failed: None,
                task: None,
                accepting: Waiters::default(),
                idle: Waiters::default(),
            }),
        });
        tokio::spawn(Receive::new(inner.clone()));
        Ok(Self { inner })
    }

    /// Connects. Resolves when the handshake is complete and the server is known to be who it should.
    ///
    /// # Errors
    /// Why not: a certificate, no common protocol, refused, timed out.
    pub async fn connect(
        &self,
        addr: SocketAddr,
        server_name: &str,
        config: ClientConfig,
    ) -> Result<Connection, Error> {
        let hooks = Hooks::default();
        let quinn = config.quinn(&hooks)?;
        let remote = self.inner.reachable(addr)?;
        let shared = {
            let now = tokio::time::Instant::now().into_std();
            let mut state = self.inner.lock();
            if state.closed.is_some() {
                return Err(Error::EndpointClosed);
            }
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            let (handle, connection) = state
                .quinn
                .connect(now, quinn, remote, server_name)
                .map_err(|error| connect_error(error, addr))?;
            self.inner
                .start(&mut state, handle, connection, &hooks, &config.transport)
        };
        Connection::established(shared).await
    }

    /// The next connection somebody wants. `None` once the endpoint is closed.
    pub async fn accept(&self) -> Option<Incoming> {
        poll_fn(|cx| {
            let mut state = self.inner.lock();
            if let Some(incoming) = state.incoming.pop_front() {
                return Poll::Ready(Some(Incoming {
                    incoming: Some(incoming),
                    endpoint: self.clone(),
                }));
            }
            if state.closed.is_some() || state.failed.is_some() || self.inner.server.is_none() {
                return Poll::Ready(None);
            }
            state.accepting.wait(cx);
            Poll::Pending
        })
        .await
    }

    /// The address it is bound to.
    ///
    /// # Errors
    /// [`Error::Socket`] if the system does not say.
    pub fn local_addr(&self) -> Result<SocketAddr, Error> {
        self.inner
            .socket
            .local_addr()
            .map_err(|error| Error::Socket(error.to_string()))
    }

    /// Closes every connection and takes no more.
    pub fn close(&self, code: u64, reason: &str) {
        let mut woken = Vec::new();
        let mut state = self.inner.lock();
        state.closed = Some((code, reason.to_owned()));
        for shared in state.connections.values() {
            shared.inbox.close(code, reason);
        }
        for incoming in std::mem::take(&mut state.incoming) {
            self.inner.refuse(&mut state, incoming);
        }
        state.accepting.wake(&mut woken);
        woken.extend(state.task.take());
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Resolves when no connection is left, so that every peer was told (or is beyond telling).
    pub async fn wait_idle(&self) {
        poll_fn(|cx| {
            let mut state = self.inner.lock();
            if state.connections.is_empty() || state.failed.is_some() {
                return Poll::Ready(());
            }
            state.idle.wait(cx);
            Poll::Pending
        })
        .await;
    }
}

impl Clone for Endpoint {
    fn clone(&self) -> Self {
        self.inner.handles.fetch_add(1, Ordering::Relaxed);
        Self {
            inner: self.inner.clone(),
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if self.inner.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            let task = self.inner.lock().task.take();
            if let Some(task) = task {
                task.wake();
            }
        }
    }
}

/// A connection somebody wants. Dropped, it is refused.
#[derive(Debug)]
pub struct Incoming {
    /// Taken when it was decided.
    incoming: Option<quinn_proto::Incoming>,
    endpoint: Endpoint,
}

impl Incoming {
    /// Where it comes from.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        match &self.incoming {
            Some(incoming) => {
                let addr = incoming.remote_address();
                SocketAddr::new(addr.ip().to_canonical(), addr.port())
            }
            None => SocketAddr::from(([0, 0, 0, 0], 0)),
        }
    }

    /// Takes it. Resolves when the handshake is complete.
    ///
    /// # Errors
    /// Why the handshake failed.
    pub async fn accept(mut self) -> Result<Connection, Error> {
        let shared = self.start()?;
        drop(self);
        Connection::established(shared).await
    }

    fn start(&mut self) -> Result<Arc<Shared>, Error> {
        let inner = &self.endpoint.inner;
        let (Some(incoming), Some(server)) = (self.incoming.take(), &inner.server) else {
            return Err(Error::EndpointClosed);
        };
        let hooks = Hooks::default();
        let config = Arc::new(server.config.hook(&server.base, &hooks));
        let now = tokio::time::Instant::now().into_std();
        let mut state = inner.lock();
        let mut response = Vec::new();
        match state
            .quinn
            .accept(incoming, now, &mut response, Some(config))
        {
            Ok((handle, connection)) => {
                let transport = &server.config.transport;
                Ok(inner.start(&mut state, handle, connection, &hooks, transport))
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    respond(&*inner.socket, &transmit, &response);
                }
                Err(error.cause.into())
            }
        }
    }

    /// Tells the peer no.
    pub fn refuse(self) {
        drop(self);
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take() {
            let inner = &self.endpoint.inner;
            inner.refuse(&mut inner.lock(), incoming);
        }
    }
}

fn bind(addr: SocketAddr) -> Result<Arc<dyn Socket>, Error> {
    let udp = Udp::bind(addr).map_err(|error| Error::Bind {
        addr,
        reason: error.to_string(),
    })?;
    Ok(Arc::new(udp))
}

fn connect_error(error: ConnectError, addr: SocketAddr) -> Error {
    match error {
        ConnectError::InvalidServerName(name) => Error::ServerName(name),
        ConnectError::InvalidRemoteAddress(_) => Error::RemoteAddress(addr),
        ConnectError::UnsupportedVersion => Error::Version,
        ConnectError::EndpointStopping => Error::EndpointClosed,
        ConnectError::CidsExhausted | ConnectError::NoDefaultClientConfig => {
            Error::Transport(error.to_string())
        }
    }
}

impl Inner {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody can want anything of this endpoint any more.
    pub(super) fn is_forgotten(&self, state: &State) -> bool {
        self.handles.load(Ordering::Acquire) == 0 && state.connections.is_empty()
    }

    /// The address as this socket reaches it: a socket of version 6 takes version 4 addresses mapped.
    fn reachable(&self, addr: SocketAddr) -> Result<SocketAddr, Error> {
        let local = self
            .socket
            .local_addr()
            .map_err(|error| Error::Socket(error.to_string()))?;
        match (local, addr) {
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => {
                Ok(SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()))
            }
            (SocketAddr::V4(_), SocketAddr::V6(_)) => Err(Error::RemoteAddress(addr)),
            _ => Ok(addr),
        }
    }

    /// Gives a connection its task.
    fn start(
        self: &Arc<Self>,
        state: &mut State,
        handle: ConnectionHandle,
        connection: quinn_proto::Connection,
        hooks: &Hooks,
        config: &TransportConfig,
    ) -> Arc<Shared> {
        let core = connection::Connection::new(connection, hooks, config);
        let shared = Arc::new(Shared::new(handle, core));
        if let Some((code, reason)) = &state.closed {
            shared.inbox.close(*code, reason);
        }
        state.connections.insert(handle, shared.clone());
        tokio::spawn(Turn::new(shared.clone(), self.clone(), self.socket.clone()));
        shared
    }

    pub(super) fn refuse(&self, state: &mut State, incoming: quinn_proto::Incoming) {
        let mut response = Vec::new();
        let transmit = state.quinn.refuse(incoming, &mut response);
        respond(&*self.socket, &transmit, &response);
    }

    /// What a connection has for us; what we have for it in return.
    pub(super) fn handle(
        &self,
        handle: ConnectionHandle,
        event: EndpointEvent,
    ) -> Option<ConnectionEvent> {
        let mut woken = Vec::new();
        let mut state = self.lock();
        if event.is_drained() {
            state.connections.remove(&handle);
            if state.connections.is_empty() {
                state.idle.wake(&mut woken);
                woken.extend(state.task.take());
            }
        }
        let answer = state.quinn.handle_event(handle, event);
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        answer
    }
}

/// Sends an answer that belongs to no connection. Without room in the socket it is lost; whoever asked will ask again.
pub(super) fn respond(socket: &dyn Socket, transmit: &Transmit, response: &[u8]) {
    let _ = socket.try_send(&quinn_udp::Transmit {
        destination: transmit.destination,
        ecn: None,
        contents: &response[..transmit.size],
        segment_size: transmit.segment_size,
        src_ip: transmit.src_ip,
    });
}
