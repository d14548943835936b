//! An in-memory network on tokio's clock, for tests: rate, delay, jitter, loss, reordering, duplication, corruption and a
//! drop-tail queue, repeatable by its seed.
//!
//! | file | what it owns |
//! |---|---|
//! | `network` | sockets, joined by links |
//! | `link` | one direction: when, whether and how a packet arrives |
//! | `rng` | chance |
//!
//! Run the test with tokio's clock paused and seconds of network pass in milliseconds. tokio's timers count whole
//! milliseconds, so that is how finely packets arrive.

mod link;
mod network;
mod rng;

pub use link::Link;
pub use network::Network;

use crate::{Error, tls::Identity};

/// An identity for simulated servers: its key is always the same, and its signatures of constant length, so that two runs
/// differ in no packet's size. The key is public: never use it elsewhere.
///
/// # Errors
/// [`Error::Identity`], if it could not be made.
pub fn identity() -> Result<Identity, Error> {
    let broken = |error: rcgen::Error| Error::Identity(error.to_string());
    let der = [&PKCS8_ED25519[..], &[7; 32]].concat();
    let key = rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&der.into(), &rcgen::PKCS_ED25519)
        .map_err(broken)?;
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).map_err(broken)?;
    params.not_before = rcgen::date_time_ymd(2025, 1, 1);
    params.not_after = rcgen::date_time_ymd(2125, 1, 1);
    Identity::self_signed(params, &key).map_err(broken)
}

/// What stands before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410 §7).
const PKCS8_ED25519: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
