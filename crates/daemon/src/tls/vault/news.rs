//! What a look at files found, and why files are of no use. It looks at none.

use l7::tls::client::ClientTlsError;
use l7::tls::server::ServerTlsError;

use crate::cookies::CookieError;
use crate::tls::files::FileError;

/// What a look found.
#[derive(Debug, Default)]
pub struct News {
    /// What changed for the better, a sentence each.
    pub taken: Vec<String>,
    /// What was not taken, and what to look at.
    pub refused: Vec<String>,
    /// Workers must be told.
    pub changed: bool,
}

/// Why a service or a pool cannot speak TLS.
#[derive(Debug, thiserror::Error)]
pub(in crate::tls) enum Why {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Server(#[from] ServerTlsError),
    #[error(transparent)]
    Client(#[from] ClientTlsError),
    #[error("no key for session tickets: {0}")]
    Tickets(#[from] rustls::Error),
    #[error(transparent)]
    Cookies(#[from] CookieError),
    #[error("{0}")]
    Kept(String),
    #[error("acme: there is no state directory to keep a certificate in")]
    NoState,
}
