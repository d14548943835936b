//! Owns the options of whoever dials: the URL, whom to trust, which versions to offer.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

/// Whom to dial and how.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClientArgs {
    /// Relay or peer to dial, such as https://127.0.0.1:4443/; its path is where names start.
    #[arg(long, value_name = "URL")]
    pub(crate) connect: String,

    #[command(flatten)]
    pub(crate) trust: TrustArgs,

    /// Offer only this version, given again for more; the newest is preferred.
    #[arg(long, value_name = "VERSION")]
    pub(crate) protocol: Vec<Protocol>,
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

/// One version of the protocol, by the name it is negotiated under.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Protocol(&'static str);

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = ["moq-lite-06", "moq-lite-05"];
        known
            .iter()
            .find(|name| **name == text)
            .map(|name| Self(name))
            .ok_or_else(|| format!("not spoken here: use {}", known.join(" or ")))
    }
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
