//! What every packet carried, read from its plaintext as quinn-proto encrypts it.
//!
//! quinn-proto does not say which bytes it put in a packet, nor whether for the first time. Every packet passes through
//! its key, though, so ours notes the STREAM and DATAGRAM frames on the way. Only 1-RTT keys are wrapped: no other
//! packet carries either. Made by `config`, read by `account`. May not know streams or groups.

use std::{any::Any, sync::Arc};

use bytes::BytesMut;
use quinn_proto::{
    ConnectError, ConnectionId, Side, TransportError,
    crypto::{self, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey},
    transport_parameters::TransportParameters,
};

use super::{flight::Flight, frame};

/// A client's crypto, with our keys around its keys.
pub(crate) struct TappedClient {
    pub(crate) inner: Arc<dyn crypto::ClientConfig>,
    pub(crate) flight: Arc<Flight>,
}

impl crypto::ClientConfig for TappedClient {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let session = self
            .inner
            .clone()
            .start_session(version, server_name, params)?;
        Ok(Session::boxed(session, &self.flight))
    }
}

/// A server's crypto, with our keys around its keys.
pub(crate) struct TappedServer {
    pub(crate) inner: Arc<dyn crypto::ServerConfig>,
    pub(crate) flight: Arc<Flight>,
}

impl crypto::ServerConfig for TappedServer {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: &ConnectionId,
    ) -> Result<Keys, crypto::UnsupportedVersion> {
        self.inner.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn crypto::Session> {
        Session::boxed(
            self.inner.clone().start_session(version, params),
            &self.flight,
        )
    }
}

struct Session {
    inner: Box<dyn crypto::Session>,
    flight: Arc<Flight>,
    /// Whether the next keys of the handshake are the 1-RTT keys: the first ones are those of Handshake packets.
    one_rtt: bool,
}

impl Session {
    fn boxed(inner: Box<dyn crypto::Session>, flight: &Arc<Flight>) -> Box<dyn crypto::Session> {
        Box::new(Self {
            inner,
            flight: flight.clone(),
            one_rtt: false,
        })
    }

    fn tapped(&self, pair: KeyPair<Box<dyn PacketKey>>) -> KeyPair<Box<dyn PacketKey>> {
        KeyPair {
            local: Box::new(Key {
                inner: pair.local,
                flight: self.flight.clone(),
            }),
            remote: pair.remote,
        }
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(buf)?;
        if !self.one_rtt {
            self.one_rtt = true;
            return Some(keys);
        }
        Some(Keys {
            header: keys.header,
            packet: self.tapped(keys.packet),
        })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let pair = self.inner.next_1rtt_keys()?;
        Some(self.tapped(pair))
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

struct Key {
    inner: Box<dyn PacketKey>,
    flight: Arc<Flight>,
}

impl PacketKey for Key {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len().saturating_sub(self.inner.tag_len());
        if let (Some(payload), Some(first)) = (buf.get(header_len..end), buf.first()) {
            // The header ends with the packet number; its first byte says how long that is (RFC 9000 §17.3.1).
            let number_len = usize::from(first & 3) + 1;
            let header = header_len.saturating_sub(number_len);
            self.flight
                .on_packet(packet, buf.len(), header, |log| frame::parse(payload, log));
        }
        self.inner.encrypt(packet, buf, header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(packet, header, payload)
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}
