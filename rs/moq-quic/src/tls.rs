//! Who we are, and whom we believe: certificates made here, loaded, pinned or checked against roots.
//!
//! Called by `config`. May not know connections.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use rustls::{
    CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
    client::{
        Resumption,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};

use crate::Error;

/// A certificate chain and its key. Cheap to clone.
#[derive(Clone)]
pub struct Identity {
    chain: Arc<[CertificateDer<'static>]>,
    key: Arc<PrivateKeyDer<'static>>,
}

/// One day less than the 14 days WebTransport's `serverCertificateHashes` allows, for clocks that differ.
const VALIDITY: Duration = Duration::from_secs(13 * 24 * 3600);

impl Identity {
    /// Makes a self-signed one for these names: ECDSA P-256, not a CA, valid for less than 14 days, so that WebTransport
    /// clients accept its fingerprint too.
    ///
    /// # Errors
    /// [`Error::Identity`] if a name is not a DNS name or an address.
    pub fn generate(names: &[String]) -> Result<Self, Error> {
        let broken = |error: rcgen::Error| {
            Error::Identity(format!("cannot make a certificate for {names:?}: {error}"))
        };
        #[allow(
            clippy::disallowed_methods,
            reason = "a certificate is valid in wall time"
        )]
        let now = SystemTime::now();
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(broken)?;
        let mut params = rcgen::CertificateParams::new(names).map_err(broken)?;
        // An hour back, for clocks that differ.
        params.not_before = (now - Duration::from_secs(3600)).into();
        params.not_after = (now + VALIDITY - Duration::from_secs(3600)).into();
        Self::self_signed(params, &key).map_err(broken)
    }

    pub(crate) fn self_signed(
        mut params: rcgen::CertificateParams,
        key: &rcgen::KeyPair,
    ) -> Result<Self, rcgen::Error> {
        params.is_ca = rcgen::IsCa::ExplicitNoCa;
        let certificate = params.self_signed(key)?;
        Ok(Self {
            chain: [certificate.der().clone()].into(),
            key: Arc::new(PrivateKeyDer::Pkcs8(key.serialize_der().into())),
        })
    }

    /// Loads a certificate chain and its key from PEM files.
    ///
    /// # Errors
    /// [`Error::Identity`] naming the file that could not be used.
    pub fn load_pem(certificate: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Self, Error> {
        let chain = certificates(certificate.as_ref())?;
        let key = key.as_ref();
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
        Ok(Self {
            chain: chain.into(),
            key: Arc::new(key),
        })
    }

    /// SHA-256 of the (leaf) certificate, for [`Trust::Fingerprints`].
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        sha256(&self.chain[0])
    }

    pub(crate) fn server(&self, alpn: &[Vec<u8>]) -> Result<rustls::ServerConfig, Error> {
        let mut config =
            rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map_err(broken)?
                .with_no_client_auth()
                .with_single_cert(self.chain.to_vec(), self.key.clone_key())
                .map_err(broken)?;
        config.alpn_protocols = alpn.to_vec();
        // Sessions are not resumed: they are long, and 0-RTT data could be replayed.
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("fingerprint", &hex(&self.fingerprint()))
            .finish_non_exhaustive()
    }
}

/// Which servers a client believes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those the platform's roots vouch for.
    Platform,
    /// Those a root in this PEM file vouches for.
    Roots(PathBuf),
    /// Those whose certificate has one of these SHA-256 fingerprints, whatever their name.
    Fingerprints(Vec<[u8; 32]>),
    /// Anyone: no protection against an impostor.
    Insecure,
}

impl Trust {
    pub(crate) fn client(&self, alpn: &[Vec<u8>]) -> Result<rustls::ClientConfig, Error> {
        let provider = Arc::new(ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(broken)?;
        let pins = |pins| Arc::new(Pins { pins, provider });
        let mut config = match self {
            Self::Platform => builder.with_root_certificates(platform_roots()?),
            Self::Roots(path) => builder.with_root_certificates(file_roots(path)?),
            Self::Fingerprints(wanted) => builder
                .dangerous()
                .with_custom_certificate_verifier(pins(Some(wanted.clone()))),
            Self::Insecure => builder
                .dangerous()
                .with_custom_certificate_verifier(pins(None)),
        }
        .with_no_client_auth();
        config.alpn_protocols = alpn.to_vec();
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}

fn platform_roots() -> Result<RootCertStore, Error> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found
            .errors
            .first()
            .map_or_else(String::new, |error| format!(": {error}"));
        return Err(Error::Identity(format!(
            "the platform has no trusted roots{why}"
        )));
    }
    Ok(roots)
}

fn file_roots(path: &Path) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for root in certificates(path)? {
        roots.add(root).map_err(|error| unusable(path, &error))?;
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let chain = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(path, &error))?;
    if chain.is_empty() {
        return Err(unusable(path, &"no certificate in it"));
    }
    Ok(chain)
}

fn unusable(path: &Path, why: &dyn fmt::Display) -> Error {
    Error::Identity(format!("cannot use {}: {why}", path.display()))
}

fn broken(error: rustls::Error) -> Error {
    Error::Identity(format!("cannot use the certificate: {error}"))
}

/// Checks the certificate against fingerprints, or not at all; and that the server has its key.
#[derive(Debug)]
struct Pins {
    pins: Option<Vec<[u8; 32]>>,
    provider: Arc<CryptoProvider>,
}

#[derive(thiserror::Error)]
#[error("its SHA-256 fingerprint is {0}, which is not among those trusted")]
struct NotPinned(String);

impl fmt::Debug for NotPinned {
    /// rustls shows refusals by their `Debug`, and its text is what a person gets to see.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ServerCertVerifier for Pins {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found = sha256(end_entity);
        match &self.pins {
            Some(pins) if !pins.contains(&found) => {
                let error = OtherError(Arc::new(NotPinned(hex(&found))));
                Err(CertificateError::Other(error).into())
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC is TLS 1.3 only".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn sha256(data: &[u8]) -> [u8; 32] {
    // The provider has it for its cipher suites: no other crate is needed.
    let hash = ring::cipher_suite::TLS13_AES_128_GCM_SHA256
        .tls13()
        .map(|suite| suite.common.hash_provider.hash(data));
    hash.and_then(|hash| hash.as_ref().try_into().ok())
        .unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
