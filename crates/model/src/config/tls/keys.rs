//! Describes `tls` of a service and of a pool.

use super::acme::ACME;
use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};

/// One day, in milliseconds: the bound of the times here.
const DAY: u64 = 86_400_000;

/// `tls` of a service.
pub const OF_SERVICE: KeySchema = KeySchema::new(
    "tls",
    ValueKind::Table {
        table: &SERVICE,
        short: TableShorthand::Key("certificates"),
        unset: Some("off"),
    },
    DefaultValue::unset("off"),
    "TLS termination. Short form: the file of one certificate.",
)
.proxy_only();

/// `tls` of a pool.
pub const OF_POOL: KeySchema = KeySchema::new(
    "tls",
    ValueKind::Table { table: &POOL, short: TableShorthand::Key("verify"), unset: Some("off") },
    DefaultValue::unset("off"),
    "TLS to servers. Short form: `\"on\"`, which verifies them by the system's CAs.",
)
.proxy_only();

static SERVICE: TableSchema = TableSchema {
    description: "TLS towards clients",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "certificates",
            ValueKind::Files,
            DefaultValue::Absent,
            "Required without `acme`. PEM files, each with a certificate and its chain; the key is in the same file, \
             in a file of the same name that ends in `.key`, or in `privkey.pem` beside a `fullchain.pem`. A directory \
             means its `.pem` and `.crt` files. The first one is the default. An OCSP response beside it (`.ocsp`, \
             DER) is stapled. Changes are watched: a new pair becomes active if it is valid.",
        ),
        KeySchema::new(
            "acme",
            ValueKind::Table {
                table: &ACME,
                short: TableShorthand::Key("names"),
                unset: Some("off"),
            },
            DefaultValue::unset("off"),
            "A certificate that is ordered by ACME (RFC 8555), for example from Let's Encrypt, and renewed in time. \
             Short form: its names. It comes after those of `certificates`.",
        ),
        KeySchema::new(
            "unknown-sni",
            ValueKind::Keyword(&[
                Keyword::new("default"),
                Keyword::new("refuse"),
                Keyword::new("require"),
            ]),
            DefaultValue::keyword("default"),
            "A client that requests an unknown name (SNI): `default` presents the first certificate, `refuse` fails \
             the handshake, `require` also fails it without a name (HAProxy's `strict-sni`).",
        ).formerly(&["unknown-name"]),
        KeySchema::new(
            "policy",
            ValueKind::Keyword(&[Keyword::new("intermediate"), Keyword::new("modern")]),
            DefaultValue::keyword("intermediate"),
            "`intermediate`: TLS 1.3, and TLS 1.2 with ECDHE and AES-GCM or ChaCha20. `modern`: only TLS 1.3.",
        ),
        MINIMUM,
        // No client keeps a ticket for longer than a week (RFC 8446 §4.6.1).
        KeySchema::new(
            "tickets",
            ValueKind::time_or_keyword(60_000, 7 * DAY, "off"),
            DefaultValue::millis(6 * 3_600_000),
            "How long one key encrypts session tickets, shared by all workers; a ticket is valid for at most twice \
             that. `off`: no session resumption.",
        ),
        // Three retransmissions of a lost packet fit (1 + 2 + 4 s).
        KeySchema::new(
            "handshake",
            ValueKind::time(10, 600_000),
            DefaultValue::millis(10_000),
            "Time from the beginning of a connection to the end of its handshake.",
        ),
        KeySchema::new(
            "handshakes",
            ValueKind::count(1, 1_000_000),
            DefaultValue::count(1_024),
            "Handshakes at a time, per worker, each from its first byte. At the limit a handshake that has stalled \
             for a second is closed for a new one; in HTTP/3 one whose client has not answered for a quarter of a \
             second. Without such a handshake the new one is refused. The same number of connections may be silent in \
             addition; of more the oldest is closed.",
        ),
        KeySchema::new(
            "handshakes-per-client",
            ValueKind::count_or_keyword(1, 1_000_000, "auto"),
            DefaultValue::unset("auto"),
            "The same of one client: an IPv4 address, or an IPv6 /64. `auto`: once half of the limit is in use, at \
             most as many as are free, but never fewer than 8. Clients in `trust` have no such limit.",
        ),
        KeySchema::new(
            "client",
            ValueKind::Table {
                table: &CLIENT,
                short: TableShorthand::Key("ca"),
                unset: Some("off"),
            },
            DefaultValue::unset("off"),
            "Client certificates (mutual TLS). Short form: the file of their CAs.",
        ),
        KeySchema::refused(
            "alpn",
            "it follows from `forward`: `http` offers what this build speaks, `tcp` offers nothing",
        ),
    ],
};

static CLIENT: TableSchema = TableSchema {
    description: "certificates of clients",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "ca",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Required,
            "PEM file of their CAs.",
        ),
        KeySchema::new(
            "verify",
            ValueKind::Keyword(&[Keyword::new("required"), Keyword::new("optional")]),
            DefaultValue::keyword("required"),
            "`required`: a client without a certificate is refused. `optional`: it is served without an identity. A \
             bad certificate is refused in any case, as `refuse` is set.",
        ),
        KeySchema::new(
            "refuse",
            ValueKind::Keyword(&[Keyword::new("handshake"), Keyword::new("answer")]),
            DefaultValue::keyword("handshake"),
            "How a client with a missing or bad certificate is refused: its handshake fails, or it succeeds and each \
             request is answered with 400 and the cause `client-certificate-refused`.",
        )
        .http_only(),
        KeySchema::new(
            "headers",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::text("x-client-cert"),
            "Prefix of header fields for servers: `NAME-verified` (`yes`, `no`), `NAME-subject`, `NAME-names` and \
             `NAME-fingerprint` (SHA-256). Fields of clients with this prefix are removed, so no field that HTTP needs \
             may begin with it.",
        )
        .http_only(),
        KeySchema::new(
            "certificate-field",
            ValueKind::Keyword(&[Keyword::new("off"), Keyword::new("certificate"), Keyword::new("chain")]),
            DefaultValue::keyword("off"),
            "Servers get the certificate in `Client-Cert` (RFC 9440); with `chain` also its chain, in \
             `Client-Cert-Chain`.",
        )
        .http_only(),
        KeySchema::new(
            "names",
            ValueKind::Texts { form: TextFormat::HostPattern, unset: Some("all") },
            DefaultValue::unset("all"),
            "Names (SNI) that require a client certificate; `*.` and a name: every name below it. A request whose \
             Host belongs to the other group than the name of its connection gets 421.",
        )
        .http_only(),
        CRL,
        EXPIRED_CRL,
    ],
};

static POOL: TableSchema = TableSchema {
    description: "TLS towards servers",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "verify",
            ValueKind::Keyword(&[Keyword::new("on"), Keyword::new("off")]),
            DefaultValue::keyword("on"),
            "Whether a server's certificate is verified. `off` protects from eavesdropping, not from impostors.",
        ),
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Host, unset: Some("auto") },
            DefaultValue::unset("auto"),
            "The name to request (SNI) and to verify; `auto`: each server's own name or address.",
        ),
        KeySchema::new(
            "ca",
            ValueKind::Text { form: TextFormat::File, unset: Some("system") },
            DefaultValue::unset("system"),
            "PEM file of the CAs of their certificates; `system`: the system's CAs.",
        ),
        KeySchema::new(
            "certificate",
            ValueKind::Text { form: TextFormat::File, unset: Some("none") },
            DefaultValue::unset("none"),
            "PEM file of the client certificate; its key is found as that of a service's.",
        ),
        CRL,
        EXPIRED_CRL,
        MINIMUM,
    ],
};

/// Files of revocation lists.
pub const CRL: KeySchema = KeySchema::new(
    "crl",
    ValueKind::Files,
    DefaultValue::Absent,
    "Files of certificate revocation lists (CRL), PEM or DER, watched like certificates. With one, each certificate \
     of a chain except the root needs a list of its issuer, and is rejected without.",
);

/// Handling of an expired revocation list.
pub const EXPIRED_CRL: KeySchema = KeySchema::new(
    "expired-crl",
    ValueKind::Keyword(&[Keyword::new("refuse"), Keyword::new("accept")]),
    DefaultValue::keyword("refuse"),
    "An overdue revocation list: certificates that need it are rejected (`refuse`), or checked against the old list \
     (`accept`).",
);

pub const MINIMUM: KeySchema = KeySchema::new(
    "minimum",
    ValueKind::Keyword(&[Keyword::new("1.2"), Keyword::new("1.3")]),
    DefaultValue::Derived("`1.3` with `policy = \"modern\"`, else `1.2`"),
    "Minimum TLS version.",
);
