//! What an order has ready for its authority to look at, as long as it lasts. It shows nothing itself: workers do.

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
