//! Builds a health check of the checked configuration.

use std::path::PathBuf;

use super::keys::RECORDS;
use super::resolve::probe_kind;
use super::types::{
    DownAction, HttpProbe, LdapScope, LdapSearch, ProbeConfig, ProbeHeaderField, ProbeKind,
    ProbeTls, ProgramProbe, SendExpectProbe,
};
use crate::config::ldap_filter::LdapFilter;
use crate::config::matching::NumberRange;
use crate::config::pattern::Pattern;
use crate::config::section::ConfigSection;
use crate::config::status_range::StatusRange;
use crate::config::tls::{build_revocation, minimum_version};
use crate::config::value::ConfigValue;

pub fn build_probe(section: &ConfigSection) -> ProbeConfig {
    ProbeConfig {
        kind: build_probe_kind(section),
        tls: section.table("tls").map(|tls| ProbeTls {
            name: tls.text("name").map(str::to_owned),
            verify: tls.flag("verify"),
            ca: tls.text("ca").map(PathBuf::from),
            revoked: build_revocation(tls),
            certificate: tls.text("certificate").map(PathBuf::from),
            minimum: minimum_version(tls, false),
        }),
        every: section.time_or_zero("interval"),
        fast_interval: section.time_or_zero("fast-interval"),
        timeout: section.time_or_zero("timeout"),
        rise: section.count_or_zero("rise"),
        fall: section.count_or_zero("fall"),
        jitter: section.count_or_zero("jitter"),
        port: section.count("port"),
        grace: section.time_or_zero("grace"),
        on_down: if section.text("on-down") == Some("cut") {
            DownAction::Cut
        } else {
            DownAction::Keep
        },
    }
}

fn build_probe_kind(section: &ConfigSection) -> ProbeKind {
    let expect = || section.text("expect").and_then(|text| Pattern::new(text).ok());
    let say = || SendExpectProbe { send: owned_text(section, "send"), expect: expect() };
    let secret = || section.text("secret-file").map(PathBuf::from);
    match probe_kind(section).unwrap_or("tcp") {
        "http" => ProbeKind::Http(build_http_probe(section, "http")),
        "http2" => ProbeKind::Http2(build_http_probe(section, "http2")),
        "grpc" => {
            let host = section.text("host").map(str::to_owned);
            ProbeKind::Grpc { service: owned_text(section, "grpc"), host }
        }
        "dns" => {
            ProbeKind::Dns { name: owned_text(section, "dns"), record: record_type_number(section) }
        }
        "smtp" => ProbeKind::Smtp,
        "imap" => ProbeKind::Imap,
        "pop3" => ProbeKind::Pop3,
        "ftp" => ProbeKind::Ftp,
        "telnet" => ProbeKind::Telnet { expect: expect() },
        "nntp" => ProbeKind::Nntp,
        "ldap" => ProbeKind::Ldap {
            user: owned_text(section, "user"),
            secret: secret(),
            search: build_ldap_search(section),
        },
        "redis" => ProbeKind::Redis,
        "mysql" => {
            ProbeKind::Mysql { user: section.text("user").unwrap_or("steelyard").to_owned() }
        }
        "postgres" => {
            ProbeKind::Postgres { user: section.text("user").unwrap_or("steelyard").to_owned() }
        }
        "sip" => ProbeKind::Sip { status: status_ranges(section) },
        "udp" => ProbeKind::Udp(say()),
        "ping" => ProbeKind::Ping,
        "radius" => ProbeKind::Radius { secret: secret().unwrap_or_default() },
        "snmp" => {
            ProbeKind::Snmp { oid: owned_text(section, "snmp"), secret: secret(), expect: expect() }
        }
        "program" => ProbeKind::Program(ProgramProbe {
            path: PathBuf::from(owned_text(section, "program")),
            args: section.texts("args").to_vec(),
            memory: section.count_or_zero("memory"),
            processes: section.count_or_zero("processes"),
        }),
        _ if section.text("expect").is_some() => ProbeKind::Say(say()),
        _ => ProbeKind::Tcp,
    }
}

fn build_http_probe(section: &ConfigSection, key: &str) -> HttpProbe {
    let header = |text: &String| {
        let (name, value) = text.split_once(':')?;
        Some(ProbeHeaderField { name: name.to_owned(), value: value.trim().to_owned() })
    };
    HttpProbe {
        path: owned_text(section, key),
        method: owned_text(section, "method"),
        host: section.text("host").map(str::to_owned),
        headers: section.texts("headers").iter().filter_map(header).collect(),
        status: status_ranges(section),
        expect: section.text("expect").and_then(|text| Pattern::new(text).ok()),
        digest: section
            .text("digest")
            .and_then(|text| text.strip_prefix("sha256:"))
            .map(str::to_ascii_lowercase),
        body_bytes: section.count_or_zero("body"),
    }
}

/// The search; `None` if no `base` is written.
fn build_ldap_search(section: &ConfigSection) -> Option<LdapSearch> {
    Some(LdapSearch {
        base: section.text("base")?.to_owned(),
        scope: match section.text("scope") {
            Some("one") => LdapScope::One,
            Some("sub") => LdapScope::Sub,
            _ => LdapScope::Base,
        },
        filter: LdapFilter::new(section.text("filter")?).ok()?,
        entries: NumberRange::parse(section.text("entries")?)?,
        attribute: section.text("attribute").map(str::to_owned),
        expect: section.text("expect").and_then(|text| Pattern::new(text).ok()),
    })
}

fn status_ranges(section: &ConfigSection) -> Vec<StatusRange> {
    match section.value("status") {
        Some(ConfigValue::Status(ranges)) => ranges.to_vec(),
        _ => Vec::new(),
    }
}

fn record_type_number(section: &ConfigSection) -> u16 {
    let word = section.text("record").unwrap_or("a");
    RECORDS.iter().find(|(name, _)| *name == word).map_or(1, |(_, number)| *number)
}

pub fn owned_text(section: &ConfigSection, key: &str) -> String {
    section.text(key).unwrap_or_default().to_owned()
}
