//! Owns the options of whoever listens: the certificate to show, and who may do what.

use std::path::PathBuf;

use clap::Args;
use moq_relay::{Auth, Pattern};

/// The certificate to show.
#[derive(Args, Clone, Debug)]
pub(crate) struct IdentityArgs {
    /// Make a certificate for this name, valid two weeks, anew at each start; again for more names.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tls_cert", "tls_key"])]
    pub(crate) tls_generate: Vec<String>,

    /// Show this certificate chain.
    #[arg(long, value_name = "PEM", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert.
    #[arg(long, value_name = "PEM", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}

/// Who may do what. Nothing is public unless said.
#[derive(Args, Clone, Debug)]
pub(crate) struct AuthArgs {
    /// Anybody may read and publish below this path; '**' is every path. Again for more.
    #[arg(long, value_name = "PATTERN")]
    auth_public: Vec<Pattern>,

    /// Anybody may read below this path.
    #[arg(long, value_name = "PATTERN")]
    auth_public_read: Vec<Pattern>,

    /// Anybody may publish below this path.
    #[arg(long, value_name = "PATTERN")]
    auth_public_publish: Vec<Pattern>,
}

impl AuthArgs {
    pub(crate) fn auth(&self) -> Auth {
        let with = |more: &[Pattern]| self.auth_public.iter().chain(more).cloned().collect();
        Auth {
            read: with(&self.auth_public_read),
            publish: with(&self.auth_public_publish),
        }
    }
}
