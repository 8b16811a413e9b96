//! Describes a health check (probe): its kind, the keys of some kinds, its intervals, and the action on failure.
//!
//! `OF_KINDS` assigns keys to kinds; `resolve` and `verify` use it.

use std::borrow::Cow;

use super::ldap_keys;
use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::status_range::StatusRange;
use crate::config::tls::{CRL, EXPIRED_CRL, MINIMUM};
use crate::config::value::ConfigValue;

/// One day, in milliseconds: the bound of the times here.
const DAY: u64 = 86_400_000;

/// Kinds that are flags, each also a short form of the whole table.
pub const FLAGS: [&str; 13] = [
    "tcp", "smtp", "imap", "pop3", "ftp", "telnet", "nntp", "ldap", "redis", "mysql", "postgres",
    "sip", "ping",
];

/// Keys that select the kind.
pub const KINDS: [&str; 20] = [
    "tcp", "http", "http2", "grpc", "dns", "smtp", "imap", "pop3", "ftp", "telnet", "nntp", "ldap",
    "redis", "mysql", "postgres", "sip", "udp", "ping", "radius", "snmp",
];

/// The key of programs, which also selects the kind.
pub const PROGRAM: &str = "program";

/// Keys that apply only to some kinds, and those kinds. `tls` alone also selects a kind: a handshake.
pub const OF_KINDS: [(&str, &[&str]); 21] = [
    ("host", &["http", "http2", "grpc"]),
    ("method", &["http", "http2"]),
    ("headers", &["http", "http2"]),
    ("status", &["http", "http2", "sip"]),
    ("send", &["tcp", "udp"]),
    ("expect", &["tcp", "http", "http2", "telnet", "udp", "snmp", "ldap"]),
    ("base", &["ldap"]),
    ("scope", &["ldap"]),
    ("filter", &["ldap"]),
    ("entries", &["ldap"]),
    ("attribute", &["ldap"]),
    ("digest", &["http", "http2"]),
    ("body", &["http", "http2"]),
    ("record", &["dns"]),
    ("user", &["ldap", "mysql", "postgres"]),
    ("secret-file", &["ldap", "radius", "snmp"]),
    ("args", &[PROGRAM]),
    ("memory", &[PROGRAM]),
    ("processes", &[PROGRAM]),
    (
        "tls",
        &[
            "tcp", "http", "http2", "grpc", "smtp", "imap", "pop3", "ftp", "telnet", "nntp",
            "ldap", "redis",
        ],
    ),
    (
        "port",
        &[
            "tcp", "http", "http2", "grpc", "dns", "smtp", "imap", "pop3", "ftp", "telnet", "nntp",
            "ldap", "redis", "mysql", "postgres", "sip", "udp", "radius", "snmp", PROGRAM,
        ],
    ),
];

/// Record types of DNS health checks, with their numbers (RFC 1035 §3.2.2, RFC 3596, RFC 2782).
pub const RECORDS: [(&str, u16); 9] = [
    ("a", 1),
    ("ns", 2),
    ("cname", 5),
    ("soa", 6),
    ("ptr", 12),
    ("mx", 15),
    ("txt", 16),
    ("aaaa", 28),
    ("srv", 33),
];

/// The health check of a pool or a server.
pub const PROBE: KeySchema = KeySchema::new(
    "probe",
    ValueKind::Table {
        table: &PROBE_TABLE,
        short: TableShorthand::Flags(&FLAGS),
        unset: Some("off"),
    },
    DefaultValue::Derived("a TLS handshake in a pool with `tls`, else `off`"),
    "Health check. Short form: a kind that needs no other key, such as `\"tcp\"` or `\"redis\"`. A server overrides \
     single keys of its pool's.",
);

const fn flag_key(name: &'static str, doc: &'static str) -> KeySchema {
    KeySchema::new(name, ValueKind::Flag, DefaultValue::Absent, doc)
}

const fn text_key(name: &'static str, form: TextFormat, doc: &'static str) -> KeySchema {
    KeySchema::new(name, ValueKind::Text { form, unset: None }, DefaultValue::Absent, doc)
}

pub static PROBE_TABLE: TableSchema = TableSchema {
    description: "a probe",
    exclusive_groups: &[
        &["tcp"],
        &["http"],
        &["http2"],
        &["grpc"],
        &["dns", "record"],
        &["smtp"],
        &["imap"],
        &["pop3"],
        &["ftp"],
        &["telnet"],
        &["nntp"],
        &["ldap"],
        &["redis"],
        &["mysql"],
        &["postgres"],
        &["sip"],
        &["udp"],
        &["ping"],
        &["radius"],
        &["snmp"],
        &["program", "args", "memory", "processes"],
    ],
    keys: &[
        flag_key(
            "tcp",
            "`true`: the server accepts a connection; with `expect`, it sends something that matches.",
        ),
        text_key(
            "http",
            TextFormat::RequestPath,
            "An HTTP/1.1 request of this path and query is answered as expected.",
        ),
        text_key(
            "http2",
            TextFormat::RequestPath,
            "The same over HTTP/2; without `tls` with prior knowledge.",
        ),
        text_key(
            "grpc",
            TextFormat::FreeText,
            "`grpc.health.v1` returns SERVING for this service; `\"\"`: for the server.",
        ),
        text_key("dns", TextFormat::Domain, "A query for this name over UDP has an answer."),
        flag_key("smtp", "`true`: greeting 220 and EHLO answered 250."),
        flag_key("imap", "`true`: greeting and NOOP answered OK."),
        flag_key("pop3", "`true`: greeting +OK."),
        flag_key("ftp", "`true`: greeting 220 and SYST answered."),
        flag_key(
            "telnet",
            "`true`: text arrives after options were refused; with `expect`, it matches.",
        ),
        flag_key("nntp", "`true`: greeting 200 or 201."),
        flag_key(
            "ldap",
            "`true`: a simple bind succeeds, anonymous unless `user` is set; with `base`, a search finds entries.",
        ),
        flag_key(
            "redis",
            "`true`: PING is answered PONG, or a password is required; not while loading.",
        ),
        flag_key("mysql", "`true`: the server greets and answers a log-in without password."),
        flag_key(
            "postgres",
            "`true`: a start-up message is answered; not while starting or stopping.",
        ),
        flag_key("sip", "`true`: OPTIONS over UDP is answered with a good status."),
        flag_key("udp", "`true`: a datagram (`send`) is answered as `expect`ed, or with itself."),
        flag_key("ping", "`true`: an ICMP echo request is answered."),
        flag_key("radius", "`true`: Status-Server is answered; needs `secret-file`."),
        text_key(
            "snmp",
            TextFormat::Oid,
            "GET of this object over SNMPv2c is answered with a value.",
        ),
        text_key(
            "program",
            TextFormat::File,
            "This program ends with exit code 0; HOST, PORT and NAME are in its environment.",
        ),
        KeySchema::new(
            "host",
            ValueKind::Text { form: TextFormat::Host, unset: Some("auto") },
            DefaultValue::unset("auto"),
            "`http`, `http2`, `grpc`: the Host header; `auto`: the server's address.",
        ),
        KeySchema::new(
            "method",
            ValueKind::Text { form: TextFormat::Method, unset: None },
            DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed("GET"))),
            "`http`, `http2`: the method.",
        ),
        KeySchema::new(
            "headers",
            ValueKind::Lines { form: TextFormat::Field, most: 32 },
            DefaultValue::Literal(ConfigValue::Texts(Vec::new())),
            "`http`, `http2`: further headers, each `\"name: value\"`.",
        ),
        KeySchema::new(
            "status",
            ValueKind::Status,
            DefaultValue::Literal(ConfigValue::Status(Cow::Borrowed(&[StatusRange {
                first: 200,
                last: 399,
            }]))),
            "`http`, `http2`: good statuses: `200`, `\"200-299\"`, or a list. `sip`: 200 to 299 unless set.",
        ),
        text_key(
            "send",
            TextFormat::FreeText,
            "`tcp`, `udp`: what is sent; `\\r`, `\\n`, `\\t`, `\\xHH` in basic strings as TOML has them.",
        ),
        text_key(
            "expect",
            TextFormat::Pattern,
            "A regular expression that the body, the answer, the text or the value contains.",
        ),
        ldap_keys::BASE,
        ldap_keys::SCOPE,
        ldap_keys::FILTER,
        ldap_keys::ENTRIES,
        ldap_keys::ATTRIBUTE,
        text_key(
            "digest",
            TextFormat::Digest,
            "`http`, `http2`: `\"sha256:HEX\"` of the whole body.",
        ),
        // Evidence is in the first kilobytes of a page.
        KeySchema::new(
            "body",
            ValueKind::size(1, 16 * 1024 * 1024),
            DefaultValue::Literal(ConfigValue::Size(64 * 1024)),
            "`http`, `http2`: how much of a body is read for `expect`. A body for `digest` must not be longer.",
        ),
        KeySchema::new(
            "record",
            ValueKind::Keyword(&[
                Keyword::new("a"),
                Keyword::new("ns"),
                Keyword::new("cname"),
                Keyword::new("soa"),
                Keyword::new("ptr"),
                Keyword::new("mx"),
                Keyword::new("txt"),
                Keyword::new("aaaa"),
                Keyword::new("srv"),
            ]),
            DefaultValue::keyword("a"),
            "`dns`: the record's type.",
        ),
        text_key(
            "user",
            TextFormat::FreeText,
            "`ldap`: the DN that binds; `mysql`, `postgres`: the user named, `steelyard` unless set.",
        ),
        text_key(
            "secret-file",
            TextFormat::File,
            "`ldap`: the file with the password; `radius`: with the shared secret; `snmp`: with the community (`public` unless set).",
        ),
        KeySchema::new(
            "args",
            ValueKind::Lines { form: TextFormat::FreeText, most: 64 },
            DefaultValue::Literal(ConfigValue::Texts(Vec::new())),
            "`program`: its arguments. No shell reads them.",
        ),
        // Enough for an interpreter such as Python; a leak must not take the host's memory.
        KeySchema::new(
            "memory",
            ValueKind::size(1024 * 1024, 1 << 40),
            DefaultValue::Literal(ConfigValue::Size(256 * 1024 * 1024)),
            "`program`: address space of each of its processes.",
        ),
        // Enough for a shell's pipeline; a fork bomb must not take the host's processes.
        KeySchema::new(
            "processes",
            ValueKind::count(1, 10_000),
            DefaultValue::count(64),
            "`program`: processes of its user at most (RLIMIT_NPROC); not binding where it runs as root.",
        ),
        KeySchema::new(
            "tls",
            ValueKind::Table { table: &TLS, short: TableShorthand::Switch, unset: Some("off") },
            DefaultValue::unset("off"),
            "TLS below the health check; `true`: with all defaults. Alone or with `tcp`: the handshake is the \
             check. Without this key a check of the server's own port has the `tls` of its pool.",
        ),
        // Here and below: `interval`, `rise` and `fall` have the defaults of HAProxy's `inter`, `rise` and `fall`.
        KeySchema::new(
            "interval",
            ValueKind::time(10, DAY),
            DefaultValue::millis(2_000),
            "Time between two checks.",
        )
        .formerly(&["every"]),
        // A verdict after `fall` results comes within a second once a server is in doubt.
        KeySchema::new(
            "fast-interval",
            ValueKind::time(10, DAY),
            DefaultValue::millis(250),
            "Time between two checks while a server changes its state; at most `interval`.",
        )
        .formerly(&["doubt"]),
        // Half of `interval`: a probe ends before the next one begins.
        KeySchema::new(
            "timeout",
            ValueKind::time(1, DAY),
            DefaultValue::millis(1_000),
            "Timeout of one check; at most `interval`.",
        ),
        KeySchema::new(
            "rise",
            ValueKind::count(1, 100),
            DefaultValue::count(2),
            "Successes in a row until up.",
        ),
        KeySchema::new(
            "fall",
            ValueKind::count(1, 100),
            DefaultValue::count(3),
            "Failures in a row until down.",
        ),
        // Above a half, probes would come twice as often as written.
        KeySchema::new(
            "jitter",
            ValueKind::count(0, 50),
            DefaultValue::count(10),
            "Random share of the interval, in percent.",
        ),
        KeySchema::new(
            "port",
            ValueKind::count_or_keyword(1, 65_535, "server"),
            DefaultValue::unset("server"),
            "Port to check, if it is not the server's own.",
        ),
        KeySchema::new(
            "grace",
            ValueKind::time(0, DAY),
            DefaultValue::millis(0),
            "How long failures of a server that has never answered do not take it down.",
        ),
        KeySchema::new(
            "on-down",
            ValueKind::Keyword(&[Keyword::new("keep"), Keyword::new("cut")]),
            DefaultValue::keyword("keep"),
            "Open connections when the server goes down: `keep` them until they end, or `cut` (reset) them.",
        ),
    ],
};

/// `tls` of a health check.
pub static TLS: TableSchema = TableSchema {
    description: "TLS of a probe",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Domain, unset: Some("auto") },
            DefaultValue::unset("auto"),
            "The server name (SNI) to send, which the certificate must have; `auto`: the server's name or address.",
        ),
        KeySchema::new(
            "verify",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "`false`: accept any certificate.",
        ),
        KeySchema::new(
            "ca",
            ValueKind::Text { form: TextFormat::File, unset: Some("system") },
            DefaultValue::unset("system"),
            "Authorities of certificates: a PEM file, or those that the system trusts.",
        ),
        CRL,
        EXPIRED_CRL,
        KeySchema::new(
            "certificate",
            ValueKind::Text { form: TextFormat::File, unset: Some("none") },
            DefaultValue::unset("none"),
            "PEM file of the client certificate; its key is found as that of a service's.",
        ),
        MINIMUM,
    ],
};
