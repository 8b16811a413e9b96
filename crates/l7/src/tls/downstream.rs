//! The TLS settings of a service, shared by all workers: certificates, session tickets, client authentication.
//!
//! Immutable: a new certificate requires a new value.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use model::config::ServiceTls;
use rustls::server::{NoServerSessionStorage, ServerConfig};

use super::certificate_resolver::{ACME_TLS_ALPN, CertificateResolver};
use super::client_auth::{ClientTrust, ClientTrustError, ClientVerifier};
use super::identity::{CertificateFacts, TlsIdentity};
use super::policy;
use super::session_tickets::SessionTickets;
use crate::tls::client_certificate::CertificateHeaders;

/// The TLS settings of a service.
pub struct DownstreamTls {
    pub(crate) config: Arc<ServerConfig>,
    /// The handshake timeout, from the start of a connection.
    pub(crate) handshake: Duration,
    /// How client certificates are forwarded to servers; `None`: they are not.
    pub(crate) certificate_headers: Option<CertificateHeaders>,
    /// Verifies client certificates; `None`: none are requested.
    pub(crate) client_verifier: Option<Arc<ClientVerifier>>,
    /// Facts about the certificates for reports, in the configured order.
    pub certificates: Vec<CertificateFacts>,
}

/// The inputs of a service's TLS settings.
#[derive(Debug)]
pub struct DownstreamTlsParts<'a> {
    pub config: &'a ServiceTls,
    pub http: bool,
    /// The service offers HTTP/2.
    pub http2: bool,
    /// The certificates; the first is the default.
    pub identities: &'a [Arc<TlsIdentity>],
    /// The authorities for client certificates, if these are requested.
    pub clients: Option<ClientTrust<'a>>,
    /// Keys of session tickets; `None`: no tickets.
    pub tickets: Option<&'a SessionTickets>,
    /// A certificate has been ordered: the service may become active without one.
    pub ordered: bool,
    /// Certificates for ACME challenges (RFC 8737).
    pub challenge_identities: &'a [Arc<TlsIdentity>],
}

/// Why a service's TLS settings are invalid.
#[derive(Debug, thiserror::Error)]
pub enum DownstreamTlsError {
    /// There is no certificate.
    #[error("there is no certificate to show to clients")]
    NoCertificate,
    /// Client certificates cannot be verified.
    #[error(transparent)]
    Clients(#[from] ClientTrustError),
    /// The versions and ciphers do not fit together.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

impl DownstreamTls {
    /// Builds the TLS settings.
    ///
    /// # Errors
    /// See `DownstreamTlsError`.
    pub fn new(from: &DownstreamTlsParts<'_>) -> Result<DownstreamTls, DownstreamTlsError> {
        if from.identities.is_empty() && !from.ordered {
            return Err(DownstreamTlsError::NoCertificate);
        }
        let provider = policy::provider(from.config.policy);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(policy::versions(from.config.minimum))?;
        let clients = match (&from.config.client, from.clients) {
            (Some(client), Some(trust)) => {
                Some(Arc::new(ClientVerifier::new(client, trust, provider)?))
            }
            // If client certificates are required but cannot be verified, no client may be admitted unverified.
            (Some(_), None) => {
                return Err(ClientTrustError::Verifier("there are none".to_owned()).into());
            }
            (None, _) => None,
        };
        let builder = match &clients {
            Some(clients) => builder.with_client_cert_verifier(clients.clone()),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(
            CertificateResolver::new(from.identities, from.config.unknown_name)
                .with_challenges(from.challenge_identities),
        ));
        // A client's order does not consider what a cipher costs here.
        config.ignore_client_order = true;
        // Only tickets: sessions can then be resumed at every worker, and cost no memory here.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        match from.tickets {
            Some(tickets) => config.ticketer = tickets.producer(),
            None => config.send_tls13_tickets = 0,
        }
        if from.http {
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            if from.http2 {
                config.alpn_protocols.insert(0, b"h2".to_vec());
            }
        }
        if !from.challenge_identities.is_empty() {
            config.alpn_protocols.push(ACME_TLS_ALPN.to_vec());
        }
        Ok(DownstreamTls {
            config: Arc::new(config),
            handshake: from.config.handshake,
            certificate_headers: from.config.client.as_ref().map(|client| CertificateHeaders {
                prefix: client.headers.clone(),
                certificate: client.certificate_field,
            }),
            client_verifier: clients,
            certificates: from.identities.iter().map(|identity| identity.facts.clone()).collect(),
        })
    }
}

impl fmt::Debug for DownstreamTls {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "ServerTls({:?})", self.certificates)
    }
}
