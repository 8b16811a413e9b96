//! What a look at files found, and why files are of no use. It looks at none.

use l7::tls::downstream::DownstreamTlsError;
use l7::tls::upstream::UpstreamTlsError;

use crate::tls::cert_files::CertFileError;
use crate::tls::sticky_secrets::CookieError;

/// The result of a check for changed files.
#[derive(Debug, Default)]
pub struct RefreshResult {
    /// Files that were loaded, a sentence each.
    pub reloaded: Vec<String>,
    /// Files that were rejected, and why.
    pub rejected: Vec<String>,
    /// Workers need the new materials.
    pub changed: bool,
}

/// Why the TLS settings of a service or a pool cannot be used.
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
