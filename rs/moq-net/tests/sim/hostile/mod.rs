//! Peers that break the protocol. A stream's trouble stays that stream's; what breaks the session closes it, with the
//! protocol's code and a reason.
//!
//! Owns the hand-written peers; `client` is what they do to a node that serves, `publisher` to one that subscribes.

mod client;
mod publisher;

use moq_net::Version;
use moq_quic::{Connection, RecvStream, SendStream};

use crate::net::*;

pub(crate) const VERSIONS: [Version; 2] = [Version::Lite06, Version::Lite05];

/// A hand-written client of a node.
pub(crate) struct Raw {
    pub(crate) conn: Connection,
    _net: Net,
    pub(crate) node: Node,
    _client: Node,
    version: Version,
}

impl Raw {
    /// Connected, and nothing said.
    pub(crate) async fn silent(version: Version) -> Self {
        let net = Net::new();
        let (node, client) = (net.node(2), net.node(1));
        let conn = client.dial(&node, version).await;
        Self {
            conn,
            _net: net,
            node,
            _client: client,
            version,
        }
    }

    /// Connected, with an empty SETUP said.
    pub(crate) async fn new(version: Version) -> Self {
        let raw = Self::silent(version).await;
        raw.uni(&[1, 1, 0]).await;
        raw
    }

    /// Sends a whole unidirectional stream.
    pub(crate) async fn uni(&self, bytes: &[u8]) -> SendStream {
        let mut stream = self.conn.open_uni().await.unwrap();
        let _ = stream.write_all(bytes).await;
        let _ = stream.finish();
        stream
    }

    /// Opens a bidirectional stream with these bytes, and leaves it open.
    pub(crate) async fn bi(&self, bytes: &[u8]) -> (SendStream, RecvStream) {
        let (mut send, recv) = self.conn.open_bi().await.unwrap();
        let _ = send.write_all(bytes).await;
        (send, recv)
    }

    /// Whether the session still answers.
    pub(crate) async fn assert_alive(&self) {
        let request: &[u8] = match self.version {
            Version::Lite06 => &[1, 1, 0],
            _ => &[1, 2, 0, 0],
        };
        let (_send, mut recv) = self.bi(request).await;
        let mut answer = [0; 2];
        within(recv.read_exact(&mut answer))
            .await
            .expect("the session no longer answers");
    }

    /// That the session was closed, with this code, and the reason.
    pub(crate) async fn assert_closed(&self, code: u64) -> String {
        match within(self.conn.closed()).await {
            moq_quic::Error::Closed { code: got, reason } if got == code => {
                assert!(!reason.is_empty(), "closed without a reason");
                reason
            }
            other => panic!("{other:?}"),
        }
    }
}

/// How a stream that the other side gave up ended: the mapped code.
pub(crate) async fn reset_code(recv: &mut RecvStream) -> u64 {
    loop {
        match within(recv.read_chunk(1000)).await {
            Ok(Some(_)) => {}
            Err(moq_quic::Error::Reset(code)) => return moq_net::lite::code::from_wire(code),
            other => panic!("{other:?}"),
        }
    }
}

/// The bytes up to the end of the stream.
pub(crate) async fn read_to_end(recv: &mut RecvStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(chunk) = within(recv.read_chunk(1 << 16)).await.unwrap() {
        bytes.extend_from_slice(&chunk);
    }
    bytes
}

/// A hand-written publisher for a node that subscribes.
pub(crate) struct RawPublisher {
    pub(crate) raw: Raw,
    pub(crate) announce: SendStream,
}

impl RawPublisher {
    /// Answers the announce request with these bytes after ANNOUNCE_OK.
    pub(crate) async fn new(bytes: &[u8]) -> Self {
        let raw = Raw::new(Version::Lite06).await;
        let (mut announce, mut recv) = within(raw.conn.accept_bi()).await.unwrap();
        let mut request = [0; 3];
        within(recv.read_exact(&mut request)).await.unwrap();
        assert_eq!(request, [1, 1, 0]);
        announce.write_all(&[2, 9, 1]).await.unwrap();
        announce.write_all(bytes).await.unwrap();
        tokio::spawn(async move {
            let _recv = recv;
            std::future::pending::<()>().await;
        });
        Self { raw, announce }
    }

    /// Answers TRACK (microseconds), and gives back the SUBSCRIBE stream with its id.
    pub(crate) async fn subscribed(&self) -> (SendStream, RecvStream, u8) {
        let mut subscribe = None;
        let mut answered = false;
        while subscribe.is_none() || !answered {
            let (mut send, mut recv) = within(self.raw.conn.accept_bi()).await.unwrap();
            let mut kind = [0; 3];
            within(recv.read_exact(&mut kind)).await.unwrap();
            match kind[0] {
                6 => {
                    send.write_all(&[7, 127, 0x53, 0x88, 0x80, 0x0f, 0x42, 0x40])
                        .await
                        .unwrap();
                    send.finish().unwrap();
                    answered = true;
                }
                2 => subscribe = Some((send, recv, kind[2])),
                other => panic!("stream type {other}"),
            }
        }
        subscribe.unwrap()
    }
}

pub(crate) const START_CAM: &[u8] = b"\x00\x07\x03cam\x00\x00\x00";
