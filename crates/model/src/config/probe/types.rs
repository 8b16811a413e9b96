//! What a probe is: its kind with everything that kind needs, its times, and what follows when a server goes down.
//!
//! It opens nothing and judges nothing: crate `probe` speaks the protocols, `health` judges.

use crate::config::pattern::Pattern;
use crate::config::tls::{PoolTls, RevocationConfig, TlsVersion};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An active check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProbeConfig {
    /// What is done.
    pub kind: ProbeKind,
    /// TLS beneath it; `None`: plaintext.
    pub tls: Option<ProbeTls>,
    /// Between two probes; default 2 s.
    pub every: Duration,
    /// Between two probes while rising or falling; default 250 ms.
    pub doubt: Duration,
    /// One probe; default 1 s.
    pub timeout: Duration,
    /// Successes until up; default 2.
    pub rise: u8,
    /// Failures until down; default 3.
    pub fall: u8,
    /// Random share of the interval, percent; default 10.
    pub jitter: u8,
    /// Another port than the server's.
    pub port: Option<u16>,
    /// For how long failures of a server that has never answered are no evidence against it; default 0.
    pub grace: Duration,
    /// What becomes of open connections when the server goes down.
    pub on_down: DownAction,
}

/// What becomes of open connections when a server goes down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DownAction {
    /// They stay until they end by themselves.
    #[default]
    Keep,
    /// They are cut.
    Cut,
}

/// TLS beneath a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProbeTls {
    /// The name asked for and checked; `None`: the server's name or address.
    pub name: Option<String>,
    /// Certificates are checked.
    pub verify: bool,
    /// Who signs them, a PEM file; `None`: whom the system trusts.
    pub ca: Option<PathBuf>,
    /// What has been revoked; none: nothing is looked up.
    pub revoked: RevocationConfig,
    /// Ours, with its key.
    pub certificate: Option<PathBuf>,
    /// The oldest version spoken.
    pub minimum: TlsVersion,
}

impl ProbeTls {
    /// As the connections of a pool have it.
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

/// What a probe does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// The connection is accepted; with TLS, its handshake succeeds.
    Tcp,
    /// Something is said over TCP and the answer looks as expected.
    Say(SendExpectProbe),
    /// An HTTP/1.1 request is answered as expected.
    Http(HttpProbe),
    /// The same over HTTP/2.
    Http2(HttpProbe),
    /// `grpc.health.v1.Health/Check` says SERVING.
    Grpc {
        /// The service asked about; empty: the server as a whole.
        service: String,
        /// The `:authority`; default the server's address.
        host: Option<String>,
    },
    /// A question over UDP is answered without error and with at least one record.
    Dns {
        /// The name asked for.
        name: String,
        /// The record type's number (RFC 1035 §3.2.2).
        record: u16,
    },
    /// Greeting 220 and EHLO answered 250 (RFC 5321).
    Smtp,
    /// Greeting OK and NOOP answered OK (RFC 3501).
    Imap,
    /// Greeting +OK (RFC 1939).
    Pop3,
    /// Greeting 220 and SYST answered (RFC 959).
    Ftp,
    /// Options are refused and text comes (RFC 854).
    Telnet {
        /// What the text must contain; `None`: any text.
        expect: Option<Pattern>,
    },
    /// Greeting 200 or 201 (RFC 3977).
    Nntp,
    /// A simple bind succeeds (RFC 4511 §4.2).
    Ldap {
        /// Who binds; empty: anonymous.
        user: String,
        /// The file with the password.
        secret: Option<PathBuf>,
    },
    /// PING is answered PONG, or a password is asked for; not while loading.
    Redis,
    /// The server greets with its handshake, and answers a log-in without password.
    Mysql {
        /// The user named; its refusal is good enough.
        user: String,
    },
    /// A start-up message is answered by asking for authentication or a refusal of the user.
    Postgres {
        /// The user named.
        user: String,
    },
    /// OPTIONS over UDP is answered with a good status (RFC 3261 §11).
    Sip {
        /// Good statuses, inclusive ranges; default 200–299.
        status: Vec<(u16, u16)>,
    },
    /// A datagram is answered: as expected, or with itself.
    Udp(SendExpectProbe),
    /// An ICMP echo request is answered.
    Ping,
    /// Status-Server is answered (RFC 5997).
    Radius {
        /// The file with the shared secret.
        secret: PathBuf,
    },
    /// GET of one object over SNMPv2c is answered with a value.
    Snmp {
        /// The object, dotted.
        oid: String,
        /// The file with the community; `None`: `public`.
        secret: Option<PathBuf>,
        /// What the value, as text, must contain.
        expect: Option<Pattern>,
    },
    /// A program ends with exit code 0.
    Program(ProgramProbe),
}

/// Something said and something expected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SendExpectProbe {
    /// What is said; empty: nothing.
    pub send: String,
    /// What must come.
    pub expect: Option<Pattern>,
}

/// An HTTP request and what its answer must be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HttpProbe {
    /// Path and query.
    pub path: String,
    /// The method; default GET.
    pub method: String,
    /// The Host header or `:authority`; default the server's address.
    pub host: Option<String>,
    /// Further fields.
    pub headers: Vec<(String, String)>,
    /// Good statuses, inclusive ranges; default 200–399.
    pub status: Vec<(u16, u16)>,
    /// What the body must contain.
    pub expect: Option<Pattern>,
    /// The SHA-256 of the whole body, in hexadecimal.
    pub digest: Option<String>,
    /// Bytes of the body that are read at most; default 64 KiB.
    pub body_bytes: u32,
}

/// A program that probes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProgramProbe {
    /// Its path, absolute.
    pub path: PathBuf,
    /// Its arguments; HOST, PORT and NAME come in the environment.
    pub args: Vec<String>,
    /// Bytes of memory that each of its processes may have.
    pub memory: u64,
    /// Processes that may exist beneath it.
    pub processes: u32,
}

impl HttpProbe {
    /// A GET of a path with everything else as by default.
    pub fn get(path: &str) -> HttpProbe {
        HttpProbe {
            path: path.to_owned(),
            method: "GET".to_owned(),
            host: None,
            headers: Vec::new(),
            status: vec![(200, 399)],
            expect: None,
            digest: None,
            body_bytes: 64 * 1024,
        }
    }

    /// Whether the body has to be read.
    pub fn needs_body(&self) -> bool {
        self.expect.is_some() || self.digest.is_some()
    }
}

impl ProbeKind {
    /// What is asked, for people: `http GET /healthz`, `dns shop.example`.
    pub fn describe(&self) -> String {
        let what = match self {
            ProbeKind::Http(ask) | ProbeKind::Http2(ask) => format!("{} {}", ask.method, ask.path),
            ProbeKind::Grpc { service, .. } => service.clone(),
            ProbeKind::Dns { name, .. } => name.clone(),
            ProbeKind::Snmp { oid, .. } => oid.clone(),
            ProbeKind::Program(program) => program.path.display().to_string(),
            _ => String::new(),
        };
        format!("{} {what}", self.name()).trim_end().to_owned()
    }

    /// The file with the secret that it needs.
    pub fn secret_file(&self) -> Option<&Path> {
        match self {
            ProbeKind::Ldap { secret, .. } | ProbeKind::Snmp { secret, .. } => secret.as_deref(),
            ProbeKind::Radius { secret } => Some(secret),
            _ => None,
        }
    }

    /// The key that names it in the configuration.
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
