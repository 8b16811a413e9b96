//! The configuration of TLS: towards clients (`ServiceTls`) and towards servers (`PoolTls`).
//!
//! It names files and reads none: keys and certificates are the daemon's to load and the request plane's to use.

use crate::config::matching::HostPattern;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// TLS towards clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceTls {
    /// Files and directories of certificates with their keys. The first one is the default.
    pub certificates: Vec<PathBuf>,
    /// A certificate that is ordered; `None`: none, and there are files.
    pub acme: Option<AcmeConfig>,
    /// What a client gets that asks for a name of no certificate.
    pub unknown_name: UnknownSniAction,
    /// The oldest version spoken.
    pub minimum: TlsVersion,
    /// The ciphers and groups offered.
    pub policy: TlsPolicy,
    /// How long one key seals session tickets; `None`: no tickets. Default 6 h.
    pub tickets: Option<Duration>,
    /// From the connection's begin to the end of its handshake; default 10 s.
    pub handshake: Duration,
    /// Handshakes at a time per worker; default 1024.
    pub handshakes: u32,
    /// The same of one client; `None`: above half of the limit at most as many as are free.
    pub handshakes_per_client: Option<u32>,
    /// Certificates of clients; `None`: not asked for.
    pub client: Option<ClientAuth>,
}

/// A certificate that is ordered by ACME (RFC 8555).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AcmeConfig {
    /// Its names, at least one.
    pub names: Vec<String>,
    /// The authority: the URL of its directory.
    pub directory: String,
    /// Addresses that the authority may write to.
    pub contact: Vec<String>,
    /// How it is shown that the names are ours.
    pub challenge: AcmeChallengeType,
    /// Who may have signed the authority's own certificate; `None`: whom the system trusts.
    pub ca: Option<PathBuf>,
    /// From a first failure to the next attempt; each further failure doubles it. Default 5 min.
    pub retry: Duration,
}

/// How it is shown that a name is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcmeChallengeType {
    /// By an answer to a request on port 80 (RFC 8555 §8.3).
    Http,
    /// By a certificate in a handshake on port 443 (RFC 8737).
    Tls,
}

/// What a client gets that asks for a name of no certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownSniAction {
    /// The default certificate, as a client that names nothing.
    Default,
    /// A failed handshake. A client that asks for no name gets the default certificate.
    Refuse,
    /// The same, also for a client that asks for no name.
    Require,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum TlsVersion {
    /// RFC 5246.
    #[default]
    #[serde(rename = "1.2")]
    Tls12,
    /// RFC 8446.
    #[serde(rename = "1.3")]
    Tls13,
}

/// Ciphers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsPolicy {
    /// TLS 1.3 alone.
    Modern,
    /// TLS 1.3, and of TLS 1.2 what has forward secrecy and authenticated encryption.
    Intermediate,
}

/// Certificates of clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientAuth {
    /// Who may have signed them.
    pub ca: PathBuf,
    /// A client without one is refused.
    pub required: bool,
    /// How a client with a missing or bad certificate is refused.
    pub refusal: ClientRefusal,
    /// What the names of the headers that tell servers of it begin with; default `x-client-cert`.
    pub headers: String,
    /// Whether servers get the certificate itself.
    pub certificate_field: CertificateField,
    /// Names whose connections are asked for one; none: all connections are.
    pub names: Vec<HostPattern>,
    /// What has been revoked; none: nothing is looked up.
    pub revoked: RevocationConfig,
}

/// How a client with a missing or bad certificate is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientRefusal {
    /// Its handshake fails.
    Handshake,
    /// Its handshake succeeds, and each of its requests is answered with 400.
    Answer,
}

/// What servers get of a client's certificate itself (RFC 9440).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateField {
    /// Nothing.
    Off,
    /// `Client-Cert`.
    Certificate,
    /// `Client-Cert-Chain` too.
    Chain,
}

/// Lists of revoked certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RevocationConfig {
    /// Files of lists.
    pub files: Vec<PathBuf>,
    /// A list whose next one is overdue still counts.
    pub accept_expired: bool,
}

impl ClientAuth {
    /// Whether a connection for this name is asked for a certificate; `None`: for no name.
    pub fn requests_certificate(&self, name: Option<&[u8]>) -> bool {
        if self.names.is_empty() {
            return true;
        }
        let Some(name) = name else { return false };
        let name = name.strip_suffix(b".").unwrap_or(name).to_ascii_lowercase();
        self.names.iter().any(|wanted| wanted.matches(&name))
    }
}

/// TLS towards servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolTls {
    /// Asked for and verified; `None`: each server's own name or address.
    pub name: Option<String>,
    /// Who may have signed their certificates; `None`: whom the system trusts.
    pub ca: Option<PathBuf>,
    /// Whether certificates are verified at all.
    pub verify: bool,
    /// What has been revoked; none: nothing is looked up.
    pub revoked: RevocationConfig,
    /// Ours, with its key.
    pub certificate: Option<PathBuf>,
    /// The oldest version spoken.
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
            refusal: ClientRefusal::Handshake,
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
