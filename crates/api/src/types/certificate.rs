//! A certificate that a service shows: what it proves, until when, and whether its file is active.
//!
//! Nothing of a key is in it.

use serde::{Deserialize, Serialize};

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CertificateStatus {
    /// Its file.
    pub file: String,
    /// The names that it proves.
    pub names: Vec<String>,
    /// The kind of its key: `ecdsa`, `rsa`, `ed25519`.
    pub kind: String,
    /// Until when it is good.
    pub expires_unix_ms: u64,
    /// An OCSP response is stapled.
    pub stapled: bool,
    /// Since when it is active.
    pub since_unix_ms: u64,
    /// Why what the file holds now is not active; absent: it is.
    #[serde(alias = "trouble")]
    pub problem: Option<String>,
}
