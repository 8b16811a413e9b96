//! The TLS settings of a pool towards its servers: trusted authorities, server name, client certificate.
//!
//! Immutable. Each worker stores sessions per server, so that no server is offered the session of another.

use std::fmt;
use std::sync::Arc;

use model::config::{PoolTls, ServerHost, ServerHttp2Mode, TlsPolicy};
use rustls::client::{ClientConfig, Resumption};
use rustls::pki_types::ServerName;

use super::identity::TlsIdentity;
use super::policy;
use super::revocation::RevocationLists;
use super::trust::{TrustAnchors, TrustError, verifier};

/// Most sessions that one worker stores for one server.
/// Each is used once (RFC 8446 appendix C.4): as many connections can be resumed at the same time.
const SESSIONS: usize = 8;

/// The TLS settings of a pool.
pub struct UpstreamTls {
    config: ClientConfig,
    name: Option<ServerName<'static>>,
}

/// Why a pool's TLS settings are invalid.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamTlsError {
    /// No trusted certificates could be loaded.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The server name is invalid.
    #[error("`{0}` is not a host name or an address")]
    Name(String),
    /// The versions and ciphers do not fit together.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

impl UpstreamTls {
    /// Builds the TLS settings. `identity`: the balancer's client certificate, if there is one.
    ///
    /// # Errors
    /// See `UpstreamTlsError`.
    pub fn new(
        config: &PoolTls,
        trust: TrustAnchors<'_>,
        revoked: &RevocationLists,
        identity: Option<&TlsIdentity>,
    ) -> Result<UpstreamTls, UpstreamTlsError> {
        let provider = policy::provider(TlsPolicy::Intermediate);
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(policy::versions(config.minimum))?;
        let verifier = verifier(trust, revoked, provider)?;
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
                    .map_err(|_| UpstreamTlsError::Name(name.clone()))?,
            ),
            None => None,
        };
        Ok(UpstreamTls { config: config_, name })
    }

    /// The settings for one server, with its own session store.
    pub(crate) fn for_server(&self, speak: ServerHttp2Mode) -> Arc<ClientConfig> {
        let mut config = self.config.clone();
        config.alpn_protocols = match speak {
            ServerHttp2Mode::Off => Vec::new(),
            ServerHttp2Mode::Prefer => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            ServerHttp2Mode::Only => vec![b"h2".to_vec()],
        };
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Arc::new(config)
    }

    /// The name that a server's certificate must be valid for; `None`: the server has no valid one.
    pub(crate) fn server_name(&self, host: &ServerHost) -> Option<ServerName<'static>> {
        if let Some(name) = &self.name {
            return Some(name.clone());
        }
        match host {
            ServerHost::Ip(ip) => Some(ServerName::from(*ip)),
            ServerHost::Name(name) => ServerName::try_from(name.clone()).ok(),
            ServerHost::Unix(_) => None,
        }
    }
}

impl fmt::Debug for UpstreamTls {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "ClientTls({:?})", self.name)
    }
}
