//! Describes a probe: its kind, what belongs to some kinds, its times, what follows.
//!
//! Which key belongs to which kind is in `OF_KINDS`; `resolve` and `verify` go by it.

use std::borrow::Cow;

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::super::value::Value;
use super::tls::{CRL, EXPIRED_CRL, MINIMUM};

const DAY: u64 = 86_400_000;

/// Kinds that are a flag, each also a short form of the whole probe.
pub const FLAGS: [&str; 13] = [
    "tcp", "smtp", "imap", "pop3", "ftp", "telnet", "nntp", "ldap", "redis", "mysql", "postgres",
    "sip", "ping",
];

/// Keys that name a kind.
pub const KINDS: [&str; 20] = [
    "tcp", "http", "http2", "grpc", "dns", "smtp", "imap", "pop3", "ftp", "telnet", "nntp", "ldap",
    "redis", "mysql", "postgres", "sip", "udp", "ping", "radius", "snmp",
];

/// The key of programs, which is a kind as well.
pub const PROGRAM: &str = "program";

/// Keys that mean something only for some kinds, and those kinds. `tls` alone is a kind too: a handshake.
pub const OF_KINDS: [(&str, &[&str]); 16] = [
    ("host", &["http", "http2", "grpc"]),
    ("method", &["http", "http2"]),
    ("headers", &["http", "http2"]),
    ("status", &["http", "http2", "sip"]),
    ("send", &["tcp", "udp"]),
    ("expect", &["tcp", "http", "http2", "telnet", "udp", "snmp"]),
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

/// DNS record types that may be asked for, with their numbers (RFC 1035 §3.2.2, RFC 3596, RFC 2782).
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

/// The probe of a pool or a server.
pub const PROBE: Key = Key::new(
    "probe",
    Kind::Table { table: &PROBE_TABLE, short: Short::Flags(&FLAGS), unset: Some("off") },
    Fallback::Derived("a TLS handshake in a pool with `tls`, else `off`"),
    "The active check. Short form: a kind that needs nothing further, such as `\"tcp\"` or `\"redis\"`. A server \
     overrides single keys of its pool's.",
);

const fn flag(name: &'static str, doc: &'static str) -> Key {
    Key::new(name, Kind::Flag, Fallback::Absent, doc)
}

const fn text(name: &'static str, form: Form, doc: &'static str) -> Key {
    Key::new(name, Kind::Text { form, unset: None }, Fallback::Absent, doc)
}

/// `probe`.
pub static PROBE_TABLE: Table = Table {
    what: "a probe",
    choices: &[
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
        flag("tcp", "`true`: the server accepts a connection; with `expect`, it says something."),
        text(
            "http",
            Form::RequestPath,
            "An HTTP/1.1 request of this path and query is answered as expected.",
        ),
        text(
            "http2",
            Form::RequestPath,
            "The same over HTTP/2; without `tls` with prior knowledge.",
        ),
        text(
            "grpc",
            Form::Free,
            "`grpc.health.v1` says SERVING of this service; `\"\"`: of the server.",
        ),
        text("dns", Form::Domain, "A question for this name over UDP has an answer."),
        flag("smtp", "`true`: greeting 220 and EHLO answered 250."),
        flag("imap", "`true`: greeting and NOOP answered OK."),
        flag("pop3", "`true`: greeting +OK."),
        flag("ftp", "`true`: greeting 220 and SYST answered."),
        flag("telnet", "`true`: text comes after options were refused; `expect` says which."),
        flag("nntp", "`true`: greeting 200 or 201."),
        flag("ldap", "`true`: a simple bind succeeds, anonymous unless `user` is set."),
        flag(
            "redis",
            "`true`: PING is answered PONG, or a password is asked for; not while loading.",
        ),
        flag("mysql", "`true`: the server greets and answers a log-in without password."),
        flag("postgres", "`true`: a start-up message is answered; not while starting or stopping."),
        flag("sip", "`true`: OPTIONS over UDP is answered with a good status."),
        flag("udp", "`true`: a datagram (`send`) is answered as `expect`ed, or with itself."),
        flag("ping", "`true`: an ICMP echo request is answered."),
        flag("radius", "`true`: Status-Server is answered; needs `secret-file`."),
        text("snmp", Form::Oid, "GET of this object over SNMPv2c is answered with a value."),
        text(
            "program",
            Form::File,
            "This program ends with exit code 0; HOST, PORT and NAME are in its environment.",
        ),
        Key::new(
            "host",
            Kind::Text { form: Form::Host, unset: Some("auto") },
            Fallback::unset("auto"),
            "`http`, `http2`, `grpc`: the Host header; `auto`: the server's address.",
        ),
        Key::new(
            "method",
            Kind::Text { form: Form::Method, unset: None },
            Fallback::Is(Value::Text(Cow::Borrowed("GET"))),
            "`http`, `http2`: the method.",
        ),
        Key::new(
            "headers",
            Kind::Lines { form: Form::Field, most: 32 },
            Fallback::Is(Value::Texts(Vec::new())),
            "`http`, `http2`: further fields, each `\"name: value\"`.",
        ),
        Key::new(
            "status",
            Kind::Status,
            Fallback::Is(Value::Status(Cow::Borrowed(&[(200, 399)]))),
            "`http`, `http2`: good statuses: `200`, `\"200-299\"`, or a list. `sip`: 200 to 299 unless set.",
        ),
        text(
            "send",
            Form::Free,
            "`tcp`, `udp`: what is sent; `\\r`, `\\n`, `\\t`, `\\xHH` in basic strings as TOML has them.",
        ),
        text(
            "expect",
            Form::Pattern,
            "A regular expression that the body, the answer, the text or the value contains.",
        ),
        text("digest", Form::Digest, "`http`, `http2`: `\"sha256:HEX\"` of the whole body."),
        Key::new(
            "body",
            Kind::size(1, 16 * 1024 * 1024),
            Fallback::Is(Value::Size(64 * 1024)),
            "`http`, `http2`: a body is read so far for `expect`; one that `digest` wants must not be longer.",
        ),
        Key::new(
            "record",
            Kind::Words(&[
                Word::of("a"),
                Word::of("ns"),
                Word::of("cname"),
                Word::of("soa"),
                Word::of("ptr"),
                Word::of("mx"),
                Word::of("txt"),
                Word::of("aaaa"),
                Word::of("srv"),
            ]),
            Fallback::word("a"),
            "`dns`: the record's type.",
        ),
        text(
            "user",
            Form::Free,
            "`ldap`: the DN that binds; `mysql`, `postgres`: the user named, `steelyard` unless set.",
        ),
        text(
            "secret-file",
            Form::File,
            "`ldap`: the file with the password; `radius`: with the shared secret; `snmp`: with the community (`public` unless set).",
        ),
        Key::new(
            "args",
            Kind::Lines { form: Form::Free, most: 64 },
            Fallback::Is(Value::Texts(Vec::new())),
            "`program`: its arguments. No shell reads them.",
        ),
        Key::new(
            "memory",
            Kind::size(1024 * 1024, 1 << 40),
            Fallback::Is(Value::Size(256 * 1024 * 1024)),
            "`program`: address space of each of its processes.",
        ),
        Key::new(
            "processes",
            Kind::count(1, 10_000),
            Fallback::count(64),
            "`program`: processes of its user at most (RLIMIT_NPROC); not binding where it runs as root.",
        ),
        Key::new(
            "tls",
            Kind::Table { table: &TLS, short: Short::On, unset: Some("off") },
            Fallback::unset("off"),
            "TLS beneath the probe; `true`: with all defaults. Alone or with `tcp`: the handshake is the probe. Where \
             nothing is said of it, a probe of the server's own port has the `tls` of its pool.",
        ),
        Key::new("every", Kind::time(10, DAY), Fallback::millis(2_000), "Between two probes."),
        Key::new(
            "doubt",
            Kind::time(10, DAY),
            Fallback::millis(250),
            "Between two probes while a server rises or falls; at most `every`, which a smaller `every` makes it.",
        ),
        Key::new(
            "timeout",
            Kind::time(1, DAY),
            Fallback::millis(1_000),
            "One probe; at most `every`.",
        ),
        Key::new("rise", Kind::count(1, 100), Fallback::count(2), "Successes in a row until up."),
        Key::new("fall", Kind::count(1, 100), Fallback::count(3), "Failures in a row until down."),
        Key::new(
            "jitter",
            Kind::count(0, 50),
            Fallback::count(10),
            "Random share of the interval, in percent.",
        ),
        Key::new(
            "port",
            Kind::count_or(1, 65_535, "server"),
            Fallback::unset("server"),
            "Another port than the server's.",
        ),
        Key::new(
            "grace",
            Kind::time(0, DAY),
            Fallback::millis(0),
            "For how long failures of a server that has never answered do not take it down.",
        ),
        Key::new(
            "on-down",
            Kind::Words(&[Word::of("keep"), Word::of("cut")]),
            Fallback::word("keep"),
            "When the server goes down: open connections stay until they end, or are cut.",
        ),
    ],
};

/// `tls` of a probe.
pub static TLS: Table = Table {
    what: "TLS of a probe",
    choices: &[],
    keys: &[
        Key::new(
            "name",
            Kind::Text { form: Form::Domain, unset: Some("auto") },
            Fallback::unset("auto"),
            "The name that is asked for and that the certificate must bear; `auto`: the server's name or address.",
        ),
        Key::new(
            "verify",
            Kind::Flag,
            Fallback::Is(Value::Flag(true)),
            "`false`: any certificate will do.",
        ),
        Key::new(
            "ca",
            Kind::Text { form: Form::File, unset: Some("system") },
            Fallback::unset("system"),
            "Who signs certificates: a PEM file, or whom the system trusts.",
        ),
        CRL,
        EXPIRED_CRL,
        Key::new(
            "certificate",
            Kind::Text { form: Form::File, unset: Some("none") },
            Fallback::unset("none"),
            "PEM file of our certificate; its key is found as that of a service's.",
        ),
        MINIMUM,
    ],
};
