//! The proof of an ACME order for its authority, as long as the order lasts. Workers serve it.

use std::sync::Arc;

use l7::tls::identity::TlsIdentity;
use model::snapshot::AcmeProofs;

#[derive(Clone, Debug, Default)]
pub struct AcmeProof {
    /// Answers to requests, by token.
    pub http: AcmeProofs,
    /// Certificates for handshakes, each of one name.
    pub tls: Vec<Arc<TlsIdentity>>,
}
