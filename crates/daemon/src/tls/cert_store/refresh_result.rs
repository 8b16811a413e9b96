//! What a look at files found, and why files are of no use. It looks at none.

use l7::tls::downstream::DownstreamTlsError;
use l7::tls::upstream::UpstreamTlsError;

use crate::tls::cert_files::CertFileError;
use crate::tls::sticky_secrets::CookieError;

/// What a look found.
#[derive(Debug, Default)]
pub struct RefreshResult {
    /// What changed for the better, a sentence each.
    pub reloaded: Vec<String>,
    /// What was not taken, and what to look at.
    pub rejected: Vec<String>,
    /// Workers must be told.
    pub changed: bool,
}

/// Why a service or a pool cannot speak TLS.
#[derive(Debug, thiserror::Error)]
pub(in crate::tls) enum TlsFailure {
    #[error(transparent)]
    File(#[from] CertFileError),
    #[error(transparent)]
    Server(#[from] DownstreamTlsError),
    #[error(transparent)]
    Client(#[from] UpstreamTlsError),
    #[error("no key for session tickets: {0}")]
    Tickets(#[from] rustls::Error),
    #[error(transparent)]
    Cookies(#[from] CookieError),
    #[error("{0}")]
    Stored(String),
    #[error("acme: there is no state directory to keep a certificate in")]
    NoState,
}
