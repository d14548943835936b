//! Owns how an address is listened on. Called by `relay` and `link`; accepts nobody.

use std::net::SocketAddr;

use moq_quic::tls::Identity;
use moq_quic::{Endpoint, ServerConfig};

use crate::args::IdentityArgs;
use crate::dial::transport;
use crate::error::Error;

/// Listens on `address`; gives the endpoint and the address with its real port.
pub(crate) fn listen(
    address: SocketAddr,
    identity: &Identity,
    alpn: Vec<Vec<u8>>,
) -> Result<(Endpoint, SocketAddr), Error> {
    let mut config = ServerConfig::new(identity.clone(), alpn);
    config.transport = transport();
    let endpoint = Endpoint::server(address, config).map_err(Error::Listen)?;
    let address = endpoint.local_addr().map_err(Error::Listen)?;
    Ok((endpoint, address))
}

impl IdentityArgs {
    /// The certificate the command line asks for.
    pub(crate) fn load(&self) -> Result<Identity, Error> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Identity::load_pem(certificate, key),
            _ if self.tls_generate.is_empty() => return Err(Error::NoIdentity),
            _ => Identity::generate(&self.tls_generate),
        }
        .map_err(Error::Identity)
    }
}
