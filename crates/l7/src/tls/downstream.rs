//! The TLS settings of a service, shared by all workers: certificates, session tickets, client authentication.
//!
//! Immutable: another certificate makes a new one.

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

/// TLS of a service.
pub struct DownstreamTls {
    pub(crate) config: Arc<ServerConfig>,
    /// From a connection's begin to the end of its handshake.
    pub(crate) handshake: Duration,
    /// How client certificates are forwarded to servers; `None`: clients have none.
    pub(crate) certificate_headers: Option<CertificateHeaders>,
    /// Who may be a client; `None`: everybody.
    pub(crate) client_verifier: Option<Arc<ClientVerifier>>,
    /// What is reported of its certificates, in the order configured.
    pub certificates: Vec<CertificateFacts>,
}

/// What a service's TLS is made of.
#[derive(Debug)]
pub struct DownstreamTlsParts<'a> {
    pub config: &'a ServiceTls,
    pub http: bool,
    /// It speaks HTTP/2 where clients take it up.
    pub http2: bool,
    /// Its certificates; the first is the default.
    pub identities: &'a [Arc<TlsIdentity>],
    /// Who may be a client, when certificates of clients are asked for.
    pub clients: Option<ClientTrust<'a>>,
    /// Keys of tickets; `None`: no tickets.
    pub tickets: Option<&'a SessionTickets>,
    /// A certificate is ordered: a service without any still comes into force.
    pub ordered: bool,
    /// What authorities ask for to see that names are ours (RFC 8737).
    pub challenge_identities: &'a [Arc<TlsIdentity>],
}

/// Why a service's TLS could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DownstreamTlsError {
    /// No certificate to show.
    #[error("there is no certificate to show to clients")]
    NoCertificate,
    /// Clients cannot be verified.
    #[error(transparent)]
    Clients(#[from] ClientTrustError),
    /// Versions and ciphers that do not fit.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

impl DownstreamTls {
    /// Makes it.
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
            // Whoever is to be verified and cannot be is not let in unverified.
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
        // Clients name what is strongest first, and most of them would do with what is cheaper.
        config.ignore_client_order = true;
        // Tickets alone: what a client resumes with is then good at every worker, and costs us no memory.
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
