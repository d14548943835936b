//! Owns the options of whoever dials: whom to trust, which versions to offer.

use std::path::PathBuf;

use clap::Args;
use moq_net::Version;
use moq_quic::tls::Trust;

/// How to dial: whom to believe and what to offer.
#[derive(Args, Clone, Debug)]
pub(crate) struct DialArgs {
    #[command(flatten)]
    pub(crate) trust: TrustArgs,

    /// Offer only this version, given again for more; the newest is preferred.
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    pub(crate) protocol: Vec<Version>,
}

impl DialArgs {
    /// What to offer, best first.
    pub(crate) fn alpn(&self) -> Vec<Vec<u8>> {
        alpn(&self.protocol)
    }
}

/// Whose certificate to believe.
#[derive(Args, Clone, Debug)]
pub(crate) struct TrustArgs {
    /// Believe any certificate: anybody on the way can read and change what is sent.
    #[arg(long, conflicts_with_all = ["tls_fingerprint", "tls_root"])]
    pub(crate) tls_insecure: bool,

    /// Believe only the certificate with this SHA-256, as `moq relay` prints it; again for more.
    #[arg(long, value_name = "HEX", conflicts_with = "tls_root", value_parser = parse_fingerprint)]
    pub(crate) tls_fingerprint: Vec<[u8; 32]>,

    /// Believe certificates signed by those in this PEM file, not the system's.
    #[arg(long, value_name = "PEM")]
    pub(crate) tls_root: Option<PathBuf>,
}

impl TrustArgs {
    pub(crate) fn trust(&self) -> Trust {
        match &self.tls_root {
            Some(path) => Trust::Roots(path.clone()),
            None if self.tls_insecure => Trust::Insecure,
            None if self.tls_fingerprint.is_empty() => Trust::Platform,
            None => Trust::Fingerprints(self.tls_fingerprint.clone()),
        }
    }
}

/// The names to negotiate `wanted` by, newest first; all there are if nothing in particular is wanted.
pub(crate) fn alpn(wanted: &[Version]) -> Vec<Vec<u8>> {
    let chosen = |version: &Version| wanted.is_empty() || wanted.contains(version);
    Version::ALL
        .into_iter()
        .filter(chosen)
        .map(|version| version.alpn().into())
        .collect()
}

/// Reads the name of a version, such as `moq-lite-06`.
pub(crate) fn parse_version(text: &str) -> Result<Version, String> {
    text.parse().map_err(|_| {
        format!(
            "the versions are {}",
            Version::ALL.map(Version::alpn).join(", ")
        )
    })
}

fn parse_fingerprint(text: &str) -> Result<[u8; 32], String> {
    // OpenSSL prints colons between the bytes.
    let digits = text.replace(':', "");
    let bytes = hex::decode(&digits).map_err(|_| "it is not hexadecimal".to_owned())?;
    let length = bytes.len();
    bytes
        .try_into()
        .map_err(|_| format!("a SHA-256 is 64 hexadecimal digits, this is {}", 2 * length))
}
