//! How this daemon calls servers of its own by TLS: their certificates are verified by a file, or by whom the machine trusts.

use std::path::Path;
use std::sync::Arc;

use l7::tls::policy;
use l7::tls::revocation::RevocationLists;
use l7::tls::trust::verifier;
use model::config::TlsPolicy;
use rustls::ClientConfig;

use super::trust_store::TrustStore;

/// Verifies certificates by this file, or by whom the machine trusts.
///
/// # Errors
/// No trusted certificates could be loaded.
pub fn verifying_config(ca: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let authorities = TrustStore::read(true, ca).map_err(|error| error.to_string())?;
    let provider = policy::provider(TlsPolicy::Intermediate);
    let verifier =
        verifier(authorities.as_server_trust(), &RevocationLists::default(), Arc::clone(&provider))
            .map_err(|error| format!("ca: {error}"))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be had: {error}"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
