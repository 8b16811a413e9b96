//! What a service needs to speak TLS, the same for all workers: certificates, tickets, who may be a client.
//!
//! Immutable: another certificate makes another one. It shakes no hands.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use model::config::{ServiceTls, UnknownName};
use rustls::RootCertStore;
use rustls::server::{NoServerSessionStorage, ServerConfig, WebPkiClientVerifier};

use super::identity::{self, Facts, Identity, IdentityError};
use super::names::{ByName, PROOF};
use super::policy;
use super::tickets::Tickets;

/// TLS of a service.
pub struct ServerTls {
    pub(crate) config: Arc<ServerConfig>,
    /// From a connection's begin to the end of its handshake.
    pub(crate) handshake: Duration,
    /// What the names of headers about clients begin with; `None`: clients have no certificates.
    pub(crate) headers: Option<String>,
    /// What is told of its certificates, in the order configured.
    pub certificates: Vec<Facts>,
}

/// What a service's TLS is made of.
#[derive(Debug)]
pub struct Ingredients<'a> {
    /// As configured.
    pub config: &'a ServiceTls,
    /// It carries HTTP.
    pub http: bool,
    /// It speaks HTTP/2 where clients take it up.
    pub http2: bool,
    /// Its certificates; the first is the default.
    pub identities: &'a [Arc<Identity>],
    /// PEM of who may have signed clients' certificates, when those are asked for.
    pub authorities: Option<&'a [u8]>,
    /// Keys of tickets; `None`: no tickets.
    pub tickets: Option<&'a Tickets>,
    /// A certificate is ordered: a service without any still comes into force.
    pub ordered: bool,
    /// What authorities ask for to see that names are ours (RFC 8737).
    pub proofs: &'a [Arc<Identity>],
}

/// Why a service's TLS could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ServerTlsError {
    /// No certificate to show.
    #[error("there is no certificate to show to clients")]
    NoCertificate,
    /// Who may have signed clients' certificates cannot be read.
    #[error("the clients' authorities: {0}")]
    Authorities(#[source] IdentityError),
    /// There are none of use.
    #[error("the clients' authorities: {0}")]
    Verifier(String),
    /// Versions and ciphers that do not fit.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

impl ServerTls {
    /// Makes it.
    ///
    /// # Errors
    /// See `ServerTlsError`.
    pub fn new(from: &Ingredients<'_>) -> Result<ServerTls, ServerTlsError> {
        if from.identities.is_empty() && !from.ordered {
            return Err(ServerTlsError::NoCertificate);
        }
        let provider = policy::provider(from.config.policy);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(policy::versions(from.config.minimum))?;
        let builder = match (&from.config.client, from.authorities) {
            (Some(client), Some(authorities)) => {
                let roots = Arc::new(roots(authorities).map_err(ServerTlsError::Authorities)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                let verifier =
                    if client.required { verifier } else { verifier.allow_unauthenticated() };
                let verifier = verifier.build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|error| ServerTlsError::Verifier(error.to_string()))?,
                )
            }
            // Whoever is to be verified and cannot be is not let in unverified.
            (Some(_), None) => return Err(ServerTlsError::Verifier("there are none".to_owned())),
            (None, _) => builder.with_no_client_auth(),
        };
        let refuse = from.config.unknown_name == UnknownName::Refuse;
        let mut config = builder.with_cert_resolver(Arc::new(
            ByName::new(from.identities, refuse).proving(from.proofs),
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
        if !from.proofs.is_empty() {
            config.alpn_protocols.push(PROOF.to_vec());
        }
        Ok(ServerTls {
            config: Arc::new(config),
            handshake: from.config.handshake,
            headers: from.config.client.as_ref().map(|client| client.headers.clone()),
            certificates: from.identities.iter().map(|identity| identity.facts.clone()).collect(),
        })
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "ServerTls({:?})", self.certificates)
    }
}

/// The authorities of a PEM text.
pub fn roots(text: &[u8]) -> Result<RootCertStore, IdentityError> {
    let mut roots = RootCertStore::empty();
    let certificates = identity::certificates_up_to(text, AUTHORITIES)?;
    if certificates.is_empty() {
        return Err(IdentityError::NoCertificate);
    }
    for certificate in certificates {
        roots.add(certificate).map_err(|error| IdentityError::Certificate(error.to_string()))?;
    }
    Ok(roots)
}

/// Authorities of one file.
const AUTHORITIES: usize = 4_096;
