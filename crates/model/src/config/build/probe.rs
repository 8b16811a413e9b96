//! From a probe's and an agent's settings to their checked forms.

use std::path::PathBuf;

use super::super::agent::{Agent, AgentKind};
use super::super::pattern::Pattern;
use super::super::probe::{HttpAsk, OnDown, Probe, ProbeKind, ProbeTls, ProgramProbe, Say};
use super::super::resolve::probe_kind;
use super::super::section::Section;
use super::super::tables::probe::RECORDS;
use super::super::value::Value;
use super::tls::{minimum, revoked};

/// A probe.
pub fn probe(section: &Section) -> Probe {
    Probe {
        kind: kind(section),
        tls: section.table("tls").map(|tls| ProbeTls {
            name: tls.text("name").map(str::to_owned),
            verify: tls.flag("verify"),
            ca: tls.text("ca").map(PathBuf::from),
            revoked: revoked(tls),
            certificate: tls.text("certificate").map(PathBuf::from),
            minimum: minimum(tls, false),
        }),
        every: section.span("every"),
        doubt: section.span("doubt"),
        timeout: section.span("timeout"),
        rise: section.number("rise"),
        fall: section.number("fall"),
        jitter: section.number("jitter"),
        port: section.count("port"),
        grace: section.span("grace"),
        on_down: if section.text("on-down") == Some("cut") { OnDown::Cut } else { OnDown::Keep },
    }
}

/// An agent.
pub fn agent(section: &Section) -> Agent {
    Agent {
        kind: match section.text("kind") {
            Some("orca") => AgentKind::Orca { path: owned(section, "path") },
            Some("answers") => AgentKind::Answers,
            _ => AgentKind::Text { send: owned(section, "send") },
        },
        port: section.count("port"),
        every: section.time("every").unwrap_or(std::time::Duration::from_secs(1)),
        timeout: section.span("timeout"),
        age: section.span("age"),
    }
}

fn kind(section: &Section) -> ProbeKind {
    let expect = || section.text("expect").and_then(|text| Pattern::new(text).ok());
    let say = || Say { send: owned(section, "send"), expect: expect() };
    let secret = || section.text("secret-file").map(PathBuf::from);
    match probe_kind(section).unwrap_or("tcp") {
        "http" => ProbeKind::Http(ask(section, "http")),
        "http2" => ProbeKind::Http2(ask(section, "http2")),
        "grpc" => {
            let host = section.text("host").map(str::to_owned);
            ProbeKind::Grpc { service: owned(section, "grpc"), host }
        }
        "dns" => ProbeKind::Dns { name: owned(section, "dns"), record: record(section) },
        "smtp" => ProbeKind::Smtp,
        "imap" => ProbeKind::Imap,
        "pop3" => ProbeKind::Pop3,
        "ftp" => ProbeKind::Ftp,
        "telnet" => ProbeKind::Telnet { expect: expect() },
        "nntp" => ProbeKind::Nntp,
        "ldap" => ProbeKind::Ldap { user: owned(section, "user"), secret: secret() },
        "redis" => ProbeKind::Redis,
        "mysql" => {
            ProbeKind::Mysql { user: section.text("user").unwrap_or("steelyard").to_owned() }
        }
        "postgres" => {
            ProbeKind::Postgres { user: section.text("user").unwrap_or("steelyard").to_owned() }
        }
        "sip" => ProbeKind::Sip { status: status(section) },
        "udp" => ProbeKind::Udp(say()),
        "ping" => ProbeKind::Ping,
        "radius" => ProbeKind::Radius { secret: secret().unwrap_or_default() },
        "snmp" => {
            ProbeKind::Snmp { oid: owned(section, "snmp"), secret: secret(), expect: expect() }
        }
        "program" => ProbeKind::Program(ProgramProbe {
            path: PathBuf::from(owned(section, "program")),
            args: section.texts("args").to_vec(),
            memory: section.number("memory"),
            processes: section.number("processes"),
        }),
        _ if section.text("expect").is_some() => ProbeKind::Say(say()),
        _ => ProbeKind::Tcp,
    }
}

fn ask(section: &Section, key: &str) -> HttpAsk {
    let header = |text: &String| {
        text.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
    };
    HttpAsk {
        path: owned(section, key),
        method: owned(section, "method"),
        host: section.text("host").map(str::to_owned),
        headers: section.texts("headers").iter().filter_map(header).collect(),
        status: status(section),
        expect: section.text("expect").and_then(|text| Pattern::new(text).ok()),
        digest: section
            .text("digest")
            .and_then(|text| text.strip_prefix("sha256:"))
            .map(str::to_ascii_lowercase),
        body_bytes: section.number("body"),
    }
}

fn status(section: &Section) -> Vec<(u16, u16)> {
    match section.value("status") {
        Some(Value::Status(ranges)) => ranges.to_vec(),
        _ => Vec::new(),
    }
}

fn record(section: &Section) -> u16 {
    let word = section.text("record").unwrap_or("a");
    RECORDS.iter().find(|(name, _)| *name == word).map_or(1, |(_, number)| *number)
}

fn owned(section: &Section, key: &str) -> String {
    section.text(key).unwrap_or_default().to_owned()
}
