//! What a pool needs to speak TLS to its servers: whom to trust, which name to ask for, who we are.
//!
//! Immutable like a service's. Sessions are remembered by each worker for each server, so that no server is offered
//! another one's.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use model::config::{Host, PoolTls, Speak, TlsPolicy};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::identity::{Identity, IdentityError};
use super::policy;
use super::server::roots;

/// Sessions that one worker remembers of one server.
const SESSIONS: usize = 8;

/// TLS of a pool.
pub struct ClientTls {
    config: ClientConfig,
    name: Option<ServerName<'static>>,
}

/// Whom a pool's TLS trusts.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// The authorities of this PEM text.
    Text(&'a [u8]),
    /// Those that this machine trusts, as DER.
    System(&'a [Vec<u8>]),
}

/// Why a pool's TLS could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientTlsError {
    /// Who may have signed servers' certificates cannot be read.
    #[error("the servers' authorities: {0}")]
    Authorities(#[source] IdentityError),
    /// There are none of use.
    #[error("the servers' authorities: {0}")]
    Verifier(String),
    /// The name is none.
    #[error("`{0}` is not a host name or an address")]
    Name(String),
    /// Versions and ciphers that do not fit.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

impl ClientTls {
    /// Makes it. `identity`: ours, if we have one.
    ///
    /// # Errors
    /// See `ClientTlsError`.
    pub fn new(
        config: &PoolTls,
        trust: Trust<'_>,
        identity: Option<&Identity>,
    ) -> Result<ClientTls, ClientTlsError> {
        let provider = policy::provider(TlsPolicy::Intermediate);
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(policy::versions(config.minimum))?;
        let verifier: Arc<dyn ServerCertVerifier> = if config.verify {
            let roots = match trust {
                Trust::Text(text) => roots(text).map_err(ClientTlsError::Authorities)?,
                Trust::System(all) => system(all)?,
            };
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| ClientTlsError::Verifier(error.to_string()))?
        } else {
            Arc::new(Anybody(provider))
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let config_ = match identity {
            Some(identity) => builder.with_client_cert_resolver(Arc::new(
                rustls::sign::SingleCertAndKey::from(identity.key.clone()),
            )),
            None => builder.with_no_client_auth(),
        };
        let name = match &config.name {
            Some(name) => Some(
                ServerName::try_from(name.clone())
                    .map_err(|_| ClientTlsError::Name(name.clone()))?,
            ),
            None => None,
        };
        Ok(ClientTls { config: config_, name })
    }

    /// For one server: with a memory of its own for sessions.
    pub(crate) fn for_server(&self, speak: Speak) -> Arc<ClientConfig> {
        let mut config = self.config.clone();
        config.alpn_protocols = match speak {
            Speak::Off => Vec::new(),
            Speak::Prefer => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            Speak::Only => vec![b"h2".to_vec()],
        };
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Arc::new(config)
    }

    /// The name that a server must prove; `None`: its own is none.
    pub(crate) fn name_of(&self, host: &Host, at: IpAddr) -> Option<ServerName<'static>> {
        if let Some(name) = &self.name {
            return Some(name.clone());
        }
        match host {
            Host::Ip(_) => Some(ServerName::from(at)),
            Host::Name(name) => ServerName::try_from(name.clone()).ok(),
        }
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "ClientTls({:?})", self.name)
    }
}

fn system(all: &[Vec<u8>]) -> Result<RootCertStore, ClientTlsError> {
    let mut roots = RootCertStore::empty();
    // A machine's list may hold an old certificate or two that cannot be used: the others are what counts.
    let (good, _) =
        roots.add_parsable_certificates(all.iter().map(|der| CertificateDer::from(der.clone())));
    if good == 0 {
        let text = "this machine trusts nobody: install ca-certificates, or name a file";
        return Err(ClientTlsError::Verifier(text.to_owned()));
    }
    Ok(roots)
}

/// Takes any certificate whose key the server has: what `verify = "off"` asks for.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
