//! Certificates and keys of a shadow run, made on the fly: of the balancers, the stand-in servers, and the clients.
//!
//! One certificate serves all names of the configuration. Nothing of it outlives the run.

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, SanType, SerialNumber, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ServerConfig};
use thiserror::Error;

use super::observation::SpokenProtocol;
use super::request::{ClientCertificate, ServerNameChoice};
use crate::load::AcceptAnyCertificate;

/// Why certificates could not be made.
#[derive(Debug, Error)]
pub enum ShadowIdentityError {
    #[error("certificates cannot be made")]
    Generate(#[from] rcgen::Error),
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    #[error("a certificate that was just made cannot be read")]
    Pem(#[from] rustls::pki_types::pem::Error),
}

/// The name of HTTP/2 in TLS (RFC 9113 section 3.2).
pub const HTTP2: &[u8] = b"h2";

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
struct KeyedCertificate {
    chain: String,
    key: String,
}

/// Everything that is needed for TLS in a shadow run.
#[derive(Debug)]
pub struct ShadowIdentity {
    /// The authority's certificate, PEM.
    pub authority: String,
    /// Certificate, authority and key in one text, PEM.
    pub pair: String,
    /// Certificate and key in one text, PEM.
    pub single: String,
    /// The key alone, PEM.
    pub key: String,
    /// A list of revoked certificates that lists none, PEM.
    pub revoked: String,
    clients: [Arc<ClientConfig>; 3],
    /// TLS of the stand-in servers.
    pub server: Arc<ServerConfig>,
}

impl ShadowIdentity {
    /// Makes certificates for these host names and addresses.
    pub fn new(
        names: &[String],
        addresses: &[IpAddr],
    ) -> Result<ShadowIdentity, ShadowIdentityError> {
        let authority = ShadowAuthority::new("shadow authority")?;
        let foreign = ShadowAuthority::new("another authority")?;
        let leaf = authority.sign("balancer", names, addresses)?;
        let right = authority.sign("client", &[], &[])?;
        let wrong = foreign.sign("client", &[], &[])?;
        let pair = format!("{}{}{}", leaf.chain, authority.issuer.pem(), leaf.key);
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let certificates = vec![CertificateDer::from_pem_slice(leaf.chain.as_bytes())?];
        let secret = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes())?;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates, secret)?;
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(ShadowIdentity {
            authority: authority.issuer.pem(),
            single: format!("{}{}", leaf.chain, leaf.key),
            pair,
            key: leaf.key,
            revoked: authority.empty_list()?,
            clients: [client(None)?, client(Some(&right))?, client(Some(&wrong))?],
            server: Arc::new(server),
        })
    }

    /// A client's new TLS connection; `None` for a plain one.
    pub fn connection(
        &self,
        name: &ServerNameChoice,
        certificate: ClientCertificate,
        protocol: SpokenProtocol,
    ) -> Result<Option<ClientConnection>, ShadowIdentityError> {
        let config = match certificate {
            ClientCertificate::None => &self.clients[0],
            ClientCertificate::Right => &self.clients[1],
            ClientCertificate::Wrong => &self.clients[2],
        };
        let mut config = ClientConfig::clone(config);
        if protocol == SpokenProtocol::Http2 {
            config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
        }
        let name = match name {
            ServerNameChoice::Plain => return Ok(None),
            ServerNameChoice::Unnamed => {
                config.enable_sni = false;
                ServerName::try_from("nobody.invalid")
            }
            ServerNameChoice::Named(name) => ServerName::try_from(name.clone()),
        };
        // A name that TLS cannot carry is sent as none.
        let name = name.or_else(|_| {
            config.enable_sni = false;
            ServerName::try_from("nobody.invalid")
        });
        let name = name.map_err(|_| rustls::Error::General("no server name".to_owned()))?;
        Ok(Some(ClientConnection::new(Arc::new(config), name.to_owned())?))
    }
}

fn client(shown: Option<&KeyedCertificate>) -> Result<Arc<ClientConfig>, ShadowIdentityError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let anybody = Arc::new(AcceptAnyCertificate::new(provider.clone()));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(anybody);
    let mut config = match shown {
        None => config.with_no_client_auth(),
        Some(shown) => {
            let chain = vec![CertificateDer::from_pem_slice(shown.chain.as_bytes())?];
            let key = PrivateKeyDer::from_pem_slice(shown.key.as_bytes())?;
            config.with_client_auth_cert(chain, key)?
        }
    };
    // Each connection makes a full handshake, so that none inherits an earlier one's name or certificate.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

struct ShadowAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl ShadowAuthority {
    fn new(name: &str) -> Result<ShadowAuthority, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, name);
        Ok(ShadowAuthority { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    fn sign(
        &self,
        subject: &str,
        names: &[String],
        addresses: &[IpAddr],
    ) -> Result<KeyedCertificate, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::new())?;
        let dns = names.iter().filter_map(|name| name.as_str().try_into().ok());
        params.subject_alt_names = dns.map(SanType::DnsName).collect();
        params.subject_alt_names.extend(addresses.iter().map(|one| SanType::IpAddress(*one)));
        params.distinguished_name.push(DnType::CommonName, subject);
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2100, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(KeyedCertificate { chain: certificate.pem(), key: key.serialize_pem() })
    }

    fn empty_list(&self) -> Result<String, rcgen::Error> {
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2000, 1, 1),
            next_update: date_time_ymd(2100, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: Vec::new(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer)?.pem()
    }
}
