//! A certificate that a service shows: what it proves, until when, and whether its file is active.
//!
//! Nothing of a key is in it.

use serde::{Deserialize, Serialize};

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CertificateStatus {
    /// Path of the file.
    pub file: String,
    /// Names in the certificate.
    pub names: Vec<String>,
    /// Type of the key: `ecdsa`, `rsa`, `ed25519`.
    pub kind: String,
    /// End of its validity.
    pub expires_unix_ms: u64,
    /// Whether an OCSP response is stapled.
    pub stapled: bool,
    /// Time since which it is in use.
    pub since_unix_ms: u64,
    /// Why the current content of the file is not in use; absent: it is in use.
    #[serde(alias = "trouble")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub problem: Option<String>,
}
