//! Who we are, and whom we believe: certificates made here, loaded, pinned or checked against roots.
//!
//! Called by `config`. May not know connections.

use std::path::{Path, PathBuf};

use crate::Error;

/// A certificate chain and its key. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Identity {}

impl Identity {
    /// Makes a self-signed one for these names: ECDSA P-256, not a CA, valid for less than 14 days, so that WebTransport
    /// clients accept its fingerprint too.
    ///
    /// # Errors
    /// [`Error::Identity`] if a name is not a DNS name or an address.
    pub fn generate(names: &[String]) -> Result<Self, Error> {
        todo!("{names:?}")
    }

    /// Loads a certificate chain and its key from PEM files.
    ///
    /// # Errors
    /// [`Error::Identity`] naming the file that could not be used.
    pub fn load_pem(certificate: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Self, Error> {
        todo!("{:?} {:?}", certificate.as_ref(), key.as_ref())
    }

    /// SHA-256 of the (leaf) certificate, for [`Trust::Fingerprints`].
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        todo!()
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
