//! Owns how one connection is made: resolve, try each address, and say in a person's words what went
//! wrong. Called by `link`, which decides whether to try again; knows nothing of sessions.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use moq_quic::tls::Trust;
use moq_quic::{ClientConfig, Connection, Endpoint, TransportConfig};

use crate::address::Address;
use crate::args::DialArgs;
use crate::error::Error;

/// How long all addresses together have to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A name with several addresses often has one that leads nowhere, such as `::1` for a relay on
/// 127.0.0.1: the next is tried beside it after this long (RFC 8305, section 5).
const STAGGER: Duration = Duration::from_millis(250);

/// Whom to dial, and how.
#[derive(Clone, Debug)]
pub(crate) struct Dialler {
    address: Address,
    config: ClientConfig,
}

/// A connection and the endpoint it lives on, which is to be closed with it.
#[derive(Debug)]
pub(crate) struct Dialled {
    pub(crate) connection: Connection,
    pub(crate) endpoint: Endpoint,
}

impl Dialler {
    pub(crate) fn new(url: &str, args: &DialArgs) -> Result<Self, Error> {
        let mut config = ClientConfig::new(args.trust.trust(), args.alpn());
        config.transport = transport();
        Ok(Self {
            address: Address::parse(url)?,
            config,
        })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Dials once.
    pub(crate) async fn dial(&self) -> Result<Dialled, Error> {
        let addresses = self.address.resolve().await?;
        let several = async {
            let mut attempts: FuturesUnordered<_> = (0..)
                .zip(addresses)
                .map(|(turn, address)| self.attempt(turn, address))
                .collect();
            let mut failure = None;
            while let Some(attempt) = attempts.next().await {
                match attempt {
                    Ok(dialled) => return Ok(dialled),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            Err(failure.unwrap_or(moq_quic::Error::TimedOut))
        };
        let outcome = tokio::time::timeout(PATIENCE, several).await;
        outcome
            .unwrap_or(Err(moq_quic::Error::TimedOut))
            .map_err(|error| self.failure(error))
    }

    async fn attempt(&self, turn: u32, address: SocketAddr) -> Result<Dialled, moq_quic::Error> {
        tokio::time::sleep(STAGGER * turn).await;
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let endpoint = Endpoint::client(any)?;
        let config = self.config.clone();
        let connection = endpoint
            .connect(address, self.address.host(), config)
            .await?;
        Ok(Dialled {
            connection,
            endpoint,
        })
    }

    fn failure(&self, error: moq_quic::Error) -> Error {
        let address = self.address.to_string();
        match error {
            moq_quic::Error::Certificate(cause) => {
                let fix = match self.config.trust {
                    Trust::Fingerprints(_) => {
                        "compare --tls-fingerprint with what the relay prints when it starts"
                    }
                    Trust::Roots(_) => "check that --tls-root has the authority that signed it",
                    Trust::Platform | Trust::Insecure => {
                        "if it is self-signed, give its --tls-fingerprint, or --tls-insecure"
                    }
                };
                Error::Certificate {
                    address,
                    cause,
                    fix,
                }
            }
            moq_quic::Error::TimedOut => Error::Silent {
                address,
                patience: PATIENCE.as_secs(),
            },
            moq_quic::Error::NoCommonAlpn => Error::Protocol { address },
            other => Error::Connect {
                address,
                cause: other.to_string(),
            },
        }
    }
}

/// What both ends of a connection need.
pub(crate) fn transport() -> TransportConfig {
    TransportConfig {
        // A peer that is gone without a word is noticed after ten seconds.
        idle_timeout: Duration::from_secs(10),
        keep_alive: Some(Duration::from_secs(3)),
        // A subscription holds one bidirectional stream, a group on its way one unidirectional.
        max_bi_streams: 1024,
        max_uni_streams: 1024,
        ..TransportConfig::default()
    }
}
