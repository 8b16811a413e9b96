//! The checked configuration of TLS: downstream (`ServiceTls`) and upstream (`PoolTls`).
//!
//! It names files and reads none: the daemon loads keys and certificates, and the request plane uses them.

use crate::config::matching::HostPattern;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Downstream TLS, towards clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceTls {
    /// Files and directories of certificates with their keys. The first certificate is the default.
    pub certificates: Vec<PathBuf>,
    /// A certificate obtained by ACME; `None`: only files.
    pub acme: Option<AcmeConfig>,
    /// Action for a server name without a certificate.
    pub unknown_name: UnknownSniAction,
    /// The minimum TLS version.
    pub minimum: TlsVersion,
    /// The offered ciphers and groups.
    pub policy: TlsPolicy,
    /// Lifetime of a session ticket key; `None`: no tickets. Default 6 h.
    pub tickets: Option<Duration>,
    /// Time limit for the handshake, from the start of the connection; default 10 s.
    pub handshake: Duration,
    /// Limit for concurrent handshakes per worker; default 1024.
    pub handshakes: u32,
    /// Handshakes of one client. `None`: once half of the limit is in use, at most as many as are free.
    pub handshakes_per_client: Option<u32>,
    /// Client certificates; `None`: not requested.
    pub client: Option<ClientAuth>,
}

/// A certificate obtained by ACME (RFC 8555).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AcmeConfig {
    /// Names of the certificate, at least one.
    pub names: Vec<String>,
    /// The URL of the authority's directory.
    pub directory: String,
    /// Contact addresses for the authority.
    pub contact: Vec<String>,
    /// The challenge that proves control of the names.
    pub challenge: AcmeChallengeType,
    /// The authorities for the ACME server's own certificate; `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// Delay from a first failure to the next attempt; each further failure doubles it. Default 5 min.
    pub retry: Duration,
}

/// The challenge that proves control of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcmeChallengeType {
    /// An HTTP request on port 80 (http-01, RFC 8555 §8.3).
    Http,
    /// A TLS handshake on port 443 (tls-alpn-01, RFC 8737).
    Tls,
}

/// Action for a server name without a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownSniAction {
    /// Use the default certificate, as without a server name.
    Default,
    /// Send the alert unrecognized_name (RFC 6066 §3).
    Refuse,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    #[default]
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3 (RFC 8446).
    #[serde(rename = "1.3")]
    Tls13,
}

/// A named set of ciphers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsPolicy {
    /// TLS 1.3 only.
    Modern,
    /// TLS 1.3, and TLS 1.2 ciphers with forward secrecy and authenticated encryption.
    Intermediate,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientAuth {
    /// The certificate authorities.
    pub ca: PathBuf,
    /// Whether a client without a certificate is rejected.
    pub required: bool,
    /// Prefix of the header fields that report the certificate to servers; default `x-client-cert`.
    pub headers: String,
    /// Whether servers get the certificate itself.
    pub certificate_field: CertificateField,
    /// Server names for which a certificate is requested; empty: all connections.
    pub names: Vec<HostPattern>,
    /// Revocation lists; empty: revocation is not checked.
    pub revoked: RevocationConfig,
}

/// Header fields with the client certificate itself (RFC 9440).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateField {
    Off,
    /// `Client-Cert`.
    Certificate,
    /// `Client-Cert` and `Client-Cert-Chain`.
    Chain,
}

/// Certificate revocation lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RevocationConfig {
    pub files: Vec<PathBuf>,
    /// Whether an expired list still counts.
    pub accept_expired: bool,
}

impl ClientAuth {
    /// Whether a connection for this server name gets a certificate request; `None`: without a server name.
    pub fn requests_certificate(&self, name: Option<&[u8]>) -> bool {
        if self.names.is_empty() {
            return true;
        }
        let Some(name) = name else { return false };
        let name = name.strip_suffix(b".").unwrap_or(name).to_ascii_lowercase();
        self.names.iter().any(|wanted| wanted.matches(&name))
    }
}

/// Upstream TLS, towards servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolTls {
    /// The server name to send and verify; `None`: each server's own name or address.
    pub name: Option<String>,
    /// Certificate authorities of the servers; `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// Whether certificates are verified.
    pub verify: bool,
    /// Revocation lists; empty: revocation is not checked.
    pub revoked: RevocationConfig,
    /// The client certificate with its key.
    pub certificate: Option<PathBuf>,
    /// The minimum TLS version.
    pub minimum: TlsVersion,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_asked_by_their_names() {
        let asked = |names: &[&str]| ClientAuth {
            ca: PathBuf::new(),
            required: true,
            headers: String::new(),
            certificate_field: CertificateField::Off,
            names: names.iter().filter_map(|name| HostPattern::parse(name)).collect(),
            revoked: RevocationConfig::default(),
        };
        assert!(
            asked(&[]).requests_certificate(None)
                && asked(&[]).requests_certificate(Some(b"a.example"))
        );
        let some = asked(&["admin.example", "*.staff.example"]);
        for (name, asks) in [
            (Some("admin.example"), true),
            (Some("ADMIN.example."), true),
            (Some("a.staff.example"), true),
            (Some("a.b.staff.example"), true),
            (Some("staff.example"), false),
            (Some("www.example"), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(some.requests_certificate(name.map(str::as_bytes)), asks, "{name:?}");
        }
    }
}
