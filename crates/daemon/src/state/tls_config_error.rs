//! Why keys and certificates of a configuration are rejected. `tls`, which reads the files, has the errors of each.

use std::error::Error;

/// Why a configuration's TLS cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{at}: {source}")]
pub struct TlsConfigError {
    at: String,
    #[source]
    source: Box<dyn Error + Send + Sync>,
}

impl TlsConfigError {
    pub fn new(
        key: impl Into<String>,
        source: impl Error + Send + Sync + 'static,
    ) -> TlsConfigError {
        TlsConfigError { at: key.into(), source: Box::new(source) }
    }

    /// The key that it is about: `service.shop.tls`.
    pub fn key(&self) -> &str {
        &self.at
    }

    pub fn reason(&self) -> String {
        self.source.to_string()
    }
}
