//! From settings in force to what `tls` means. Everything was judged before.

use std::path::PathBuf;

use super::super::matching::HostPattern;
use super::super::section::Section;
use super::super::tls::{
    Acme, CertificateField, Challenge, ClientAuth, PoolTls, Revoked, ServiceTls, TlsPolicy,
    TlsVersion, UnknownName,
};
use super::super::value::Value;

/// A service's.
pub fn service(section: &Section) -> ServiceTls {
    let modern = section.text("policy") == Some("modern");
    ServiceTls {
        certificates: files(section, "certificates"),
        acme: section.table("acme").map(acme),
        unknown_name: match section.text("unknown-name") {
            Some("refuse") => UnknownName::Refuse,
            _ => UnknownName::Default,
        },
        minimum: minimum(section, modern),
        policy: if modern { TlsPolicy::Modern } else { TlsPolicy::Intermediate },
        tickets: section.time("tickets"),
        handshake: section.span("handshake"),
        handshakes: section.number("handshakes"),
        handshakes_per_client: section.count("handshakes-per-client"),
        client: section.table("client").map(|client| ClientAuth {
            ca: PathBuf::from(client.text("ca").unwrap_or_default()),
            required: client.text("verify") != Some("optional"),
            headers: client.text("headers").unwrap_or_default().to_owned(),
            certificate_field: match client.text("certificate-field") {
                Some("certificate") => CertificateField::Certificate,
                Some("chain") => CertificateField::Chain,
                _ => CertificateField::Off,
            },
            names: client
                .texts("names")
                .iter()
                .filter_map(|name| HostPattern::parse(name))
                .collect(),
            revoked: revoked(client),
        }),
    }
}

fn acme(section: &Section) -> Acme {
    Acme {
        names: section.texts("names").iter().map(|name| name.to_ascii_lowercase()).collect(),
        directory: section.text("directory").unwrap_or_default().to_owned(),
        contact: section.texts("contact").to_vec(),
        challenge: match section.text("challenge") {
            Some("tls") => Challenge::Tls,
            _ => Challenge::Http,
        },
        ca: section.text("ca").map(PathBuf::from),
        retry: section.span("retry"),
    }
}

/// A pool's.
pub fn pool(section: &Section) -> PoolTls {
    PoolTls {
        name: section.text("name").map(str::to_owned),
        ca: section.text("ca").map(PathBuf::from),
        verify: section.text("verify") != Some("off"),
        revoked: revoked(section),
        certificate: section.text("certificate").map(PathBuf::from),
        minimum: minimum(section, false),
    }
}

/// Lists of revoked certificates.
pub(super) fn revoked(section: &Section) -> Revoked {
    Revoked {
        files: files(section, "crl"),
        accept_expired: section.text("expired-crl") == Some("accept"),
    }
}

fn files(section: &Section, key: &str) -> Vec<PathBuf> {
    match section.value(key) {
        Some(Value::Files(files)) => files.iter().map(PathBuf::from).collect(),
        _ => Vec::new(),
    }
}

/// The oldest version.
pub(super) fn minimum(section: &Section, modern: bool) -> TlsVersion {
    if modern || section.text("minimum") == Some("1.3") {
        TlsVersion::Tls13
    } else {
        TlsVersion::Tls12
    }
}
