//! Builds `tls` of the checked configuration from verified settings.

use std::path::PathBuf;

use super::types::{
    AcmeChallengeType, AcmeConfig, CertificateField, ClientAuth, ClientRefusal, PoolTls,
    RevocationConfig, ServiceTls, TlsPolicy, TlsVersion, UnknownSniAction,
};
use crate::config::matching::HostPattern;
use crate::config::section::ConfigSection;
use crate::config::value::ConfigValue;

pub fn build_service_tls(section: &ConfigSection) -> ServiceTls {
    let modern = section.text("policy") == Some("modern");
    ServiceTls {
        certificates: file_paths(section, "certificates"),
        acme: section.table("acme").map(build_acme),
        unknown_name: match section.text("unknown-sni") {
            Some("refuse") => UnknownSniAction::Refuse,
            Some("require") => UnknownSniAction::Require,
            _ => UnknownSniAction::Default,
        },
        minimum: minimum_version(section, modern),
        policy: if modern { TlsPolicy::Modern } else { TlsPolicy::Intermediate },
        tickets: section.time("tickets"),
        handshake: section.time_or_zero("handshake"),
        handshakes: section.count_or_zero("handshakes"),
        handshakes_per_client: section.count("handshakes-per-client"),
        client: section.table("client").map(|client| ClientAuth {
            ca: PathBuf::from(client.text("ca").unwrap_or_default()),
            required: client.text("verify") != Some("optional"),
            refusal: match client.text("refuse") {
                Some("answer") => ClientRefusal::Answer,
                _ => ClientRefusal::Handshake,
            },
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
            revoked: build_revocation(client),
        }),
    }
}

fn build_acme(section: &ConfigSection) -> AcmeConfig {
    AcmeConfig {
        names: section.texts("names").iter().map(|name| name.to_ascii_lowercase()).collect(),
        directory: section.text("directory").unwrap_or_default().to_owned(),
        contact: section.texts("contact").to_vec(),
        challenge: match section.text("challenge") {
            Some("tls") => AcmeChallengeType::Tls,
            _ => AcmeChallengeType::Http,
        },
        ca: section.text("ca").map(PathBuf::from),
        retry: section.time_or_zero("retry"),
    }
}

pub fn build_pool_tls(section: &ConfigSection) -> PoolTls {
    PoolTls {
        name: section.text("name").map(str::to_owned),
        ca: section.text("ca").map(PathBuf::from),
        verify: section.text("verify") != Some("off"),
        revoked: build_revocation(section),
        certificate: section.text("certificate").map(PathBuf::from),
        minimum: minimum_version(section, false),
    }
}

pub fn build_revocation(section: &ConfigSection) -> RevocationConfig {
    RevocationConfig {
        files: file_paths(section, "crl"),
        accept_expired: section.text("expired-crl") == Some("accept"),
    }
}

fn file_paths(section: &ConfigSection, key: &str) -> Vec<PathBuf> {
    match section.value(key) {
        Some(ConfigValue::Files(files)) => files.iter().map(PathBuf::from).collect(),
        _ => Vec::new(),
    }
}

pub fn minimum_version(section: &ConfigSection, modern: bool) -> TlsVersion {
    if modern || section.text("minimum") == Some("1.3") {
        TlsVersion::Tls13
    } else {
        TlsVersion::Tls12
    }
}
