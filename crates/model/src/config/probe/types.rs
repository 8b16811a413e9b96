//! The checked configuration of a health check: its kind, its intervals, and the action when a server goes down.
//!
//! Plain data: the crate `probe` implements the protocols, and `health_check` evaluates the results.

use crate::config::ldap_filter::LdapFilter;
use crate::config::matching::NumberRange;
use crate::config::pattern::Pattern;
use crate::config::status_range::StatusRange;
use crate::config::tls::{PoolTls, RevocationConfig, TlsVersion};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An active health check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProbeConfig {
    pub kind: ProbeKind,
    /// TLS settings; `None`: plain text.
    pub tls: Option<ProbeTls>,
    /// Interval between checks; default 2 s.
    pub every: Duration,
    /// Interval between checks while rising or falling; default 250 ms.
    pub fast_interval: Duration,
    /// Time limit for one check; default 1 s.
    pub timeout: Duration,
    /// Consecutive successes until up; default 2.
    pub rise: u8,
    /// Consecutive failures until down; default 3.
    pub fall: u8,
    /// Random share of the interval, percent; default 10.
    pub jitter: u8,
    /// Another port than the server's.
    pub port: Option<u16>,
    /// How long failures of a server that has never passed a check are ignored; default 0.
    pub grace: Duration,
    /// Action for open connections when the server goes down.
    pub on_down: DownAction,
}

/// Action for open connections when a server goes down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DownAction {
    /// Keep them until they end by themselves.
    #[default]
    Keep,
    /// Close them.
    Cut,
}

/// TLS settings of a health check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProbeTls {
    /// The server name to send and verify; `None`: the server's name or address.
    pub name: Option<String>,
    /// Whether the certificate is verified.
    pub verify: bool,
    /// Certificate authorities, a PEM file; `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// Revocation lists; empty: revocation is not checked.
    pub revoked: RevocationConfig,
    /// The client certificate with its key.
    pub certificate: Option<PathBuf>,
    /// The minimum TLS version.
    pub minimum: TlsVersion,
}

impl ProbeTls {
    /// The TLS settings of a pool's connections.
    pub fn from_pool(tls: &PoolTls) -> ProbeTls {
        ProbeTls {
            name: tls.name.clone(),
            verify: tls.verify,
            ca: tls.ca.clone(),
            revoked: tls.revoked.clone(),
            certificate: tls.certificate.clone(),
            minimum: tls.minimum,
        }
    }
}

/// The protocol of a health check and its success condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// The TCP connection is established; with TLS, the handshake succeeds.
    Tcp,
    /// A text is sent over TCP, and the response matches.
    Say(SendExpectProbe),
    /// An HTTP/1.1 response matches.
    Http(HttpProbe),
    /// An HTTP/2 response matches.
    Http2(HttpProbe),
    /// `grpc.health.v1.Health/Check` returns SERVING.
    Grpc {
        /// The service to check; empty: the whole server.
        service: String,
        /// The `:authority`; default the server's address.
        host: Option<String>,
    },
    /// A DNS query over UDP has a response without error and with at least one record.
    Dns {
        /// The name to query.
        name: String,
        /// The record type's number (RFC 1035 §3.2.2).
        record: u16,
    },
    /// The greeting has code 220, and the response to EHLO has 250 (RFC 5321).
    Smtp,
    /// The greeting and the response to NOOP are OK (RFC 3501).
    Imap,
    /// The greeting is +OK (RFC 1939).
    Pop3,
    /// The greeting has code 220, and SYST has a response (RFC 959).
    Ftp,
    /// Options are refused and text arrives (RFC 854).
    Telnet {
        /// What the text must contain; `None`: any text.
        expect: Option<Pattern>,
    },
    /// The greeting has code 200 or 201 (RFC 3977).
    Nntp,
    /// A simple bind succeeds (RFC 4511 §4.2), and a search finds what it should.
    Ldap {
        /// The user of the bind; empty: anonymous.
        user: String,
        secret: Option<PathBuf>,
        /// `None`: the bind alone is the check.
        search: Option<LdapSearch>,
    },
    /// The response to PING is PONG or a request for a password; a loading server fails.
    Redis,
    /// The server sends its handshake, and responds to a log-in without password.
    Mysql {
        /// The user of the log-in; a refusal also counts as success.
        user: String,
    },
    /// The server responds to a start-up message with an authentication request or a refusal of the user.
    Postgres {
        /// The user of the start-up message.
        user: String,
    },
    /// The response to OPTIONS over UDP has a good status (RFC 3261 §11).
    Sip {
        /// Good statuses, inclusive ranges; default 200–299.
        status: Vec<StatusRange>,
    },
    /// A datagram has a matching response, or is echoed.
    Udp(SendExpectProbe),
    /// An ICMP echo request has a response.
    Ping,
    /// Status-Server has a response (RFC 5997).
    Radius {
        /// The file with the shared secret.
        secret: PathBuf,
    },
    /// GET of one object over SNMPv2c returns a value.
    Snmp {
        /// The object identifier, dotted.
        oid: String,
        /// The file with the community; `None`: `public`.
        secret: Option<PathBuf>,
        /// A pattern that the value, as text, must contain.
        expect: Option<Pattern>,
    },
    /// A program exits with code 0.
    Program(ProgramProbe),
}

/// A search of LDAP (RFC 4511 §4.5.1), and what it must find.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LdapSearch {
    /// The DN from which on entries are searched; empty: the root DSE.
    pub base: String,
    pub scope: LdapScope,
    pub filter: LdapFilter,
    /// How many entries are found.
    pub entries: NumberRange,
    /// An attribute that one of them has.
    pub attribute: Option<String>,
    /// A pattern that one of the attribute's values must contain.
    pub expect: Option<Pattern>,
}

/// Which entries are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LdapScope {
    /// The entry at the base alone.
    #[default]
    Base,
    /// One level below the base.
    One,
    /// The base and all below it.
    Sub,
}

/// A text to send, and the expected response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SendExpectProbe {
    /// Text to send; empty: none.
    pub send: String,
    /// A pattern that the response must contain.
    pub expect: Option<Pattern>,
}

/// An HTTP request and its expected response.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HttpProbe {
    pub path: String,
    pub method: String,
    /// The Host header or `:authority`; default the server's address.
    pub host: Option<String>,
    /// Further header fields.
    pub headers: Vec<ProbeHeaderField>,
    /// Good statuses, inclusive ranges; default 200–399.
    pub status: Vec<StatusRange>,
    /// A pattern that the body must contain.
    pub expect: Option<Pattern>,
    /// The SHA-256 of the whole body, in hexadecimal.
    pub digest: Option<String>,
    /// Limit for the bytes of the body that are read; default 64 KiB.
    pub body_bytes: u32,
}

/// A header field that the request of a health check has besides those of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "(String, String)")]
pub struct ProbeHeaderField {
    pub name: String,
    pub value: String,
}

impl From<ProbeHeaderField> for (String, String) {
    fn from(field: ProbeHeaderField) -> (String, String) {
        (field.name, field.value)
    }
}

/// A program that performs the health check.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProgramProbe {
    /// The absolute path.
    pub path: PathBuf,
    /// Arguments; the environment contains HOST, PORT and NAME.
    pub args: Vec<String>,
    /// Memory limit for each of its processes, bytes.
    pub memory: u64,
    /// Limit for its processes.
    pub processes: u32,
}

impl HttpProbe {
    /// A GET request with defaults.
    pub fn get(path: &str) -> HttpProbe {
        HttpProbe {
            path: path.to_owned(),
            method: "GET".to_owned(),
            host: None,
            headers: Vec::new(),
            status: vec![StatusRange { first: 200, last: 399 }],
            expect: None,
            digest: None,
            body_bytes: 64 * 1024,
        }
    }

    /// Whether the check needs the body.
    pub fn needs_body(&self) -> bool {
        self.expect.is_some() || self.digest.is_some()
    }
}

impl ProbeKind {
    /// A description for messages: `http GET /healthz`, `dns shop.example`.
    pub fn describe(&self) -> String {
        let what = match self {
            ProbeKind::Http(ask) | ProbeKind::Http2(ask) => format!("{} {}", ask.method, ask.path),
            ProbeKind::Grpc { service, .. } => service.clone(),
            ProbeKind::Dns { name, .. } => name.clone(),
            ProbeKind::Ldap { search: Some(search), .. } => search.filter.to_string(),
            ProbeKind::Snmp { oid, .. } => oid.clone(),
            ProbeKind::Program(program) => program.path.display().to_string(),
            _ => String::new(),
        };
        format!("{} {what}", self.name()).trim_end().to_owned()
    }

    /// The file with the secret that the check needs.
    pub fn secret_file(&self) -> Option<&Path> {
        match self {
            ProbeKind::Ldap { secret, .. } | ProbeKind::Snmp { secret, .. } => secret.as_deref(),
            ProbeKind::Radius { secret } => Some(secret),
            _ => None,
        }
    }

    /// The key that selects the kind in the configuration.
    pub const fn name(&self) -> &'static str {
        match self {
            ProbeKind::Tcp | ProbeKind::Say(_) => "tcp",
            ProbeKind::Http(_) => "http",
            ProbeKind::Http2(_) => "http2",
            ProbeKind::Grpc { .. } => "grpc",
            ProbeKind::Dns { .. } => "dns",
            ProbeKind::Smtp => "smtp",
            ProbeKind::Imap => "imap",
            ProbeKind::Pop3 => "pop3",
            ProbeKind::Ftp => "ftp",
            ProbeKind::Telnet { .. } => "telnet",
            ProbeKind::Nntp => "nntp",
            ProbeKind::Ldap { .. } => "ldap",
            ProbeKind::Redis => "redis",
            ProbeKind::Mysql { .. } => "mysql",
            ProbeKind::Postgres { .. } => "postgres",
            ProbeKind::Sip { .. } => "sip",
            ProbeKind::Udp(_) => "udp",
            ProbeKind::Ping => "ping",
            ProbeKind::Radius { .. } => "radius",
            ProbeKind::Snmp { .. } => "snmp",
            ProbeKind::Program(_) => "program",
        }
    }
}
