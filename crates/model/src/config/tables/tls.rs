//! Describes `tls` of a service and of a pool.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::acme;

const DAY: u64 = 86_400_000;

/// `tls` of a service.
pub const OF_SERVICE: Key = Key::new(
    "tls",
    Kind::Table { table: &SERVICE, short: Short::Key("certificates"), unset: Some("off") },
    Fallback::unset("off"),
    "TLS towards clients. Short form: one certificate's file.",
)
.proxy();

/// `tls` of a pool.
pub const OF_POOL: Key = Key::new(
    "tls",
    Kind::Table { table: &POOL, short: Short::Key("verify"), unset: Some("off") },
    Fallback::unset("off"),
    "TLS towards servers. Short form: `\"on\"`, which verifies them by the system's authorities.",
)
.proxy();

static SERVICE: Table = Table {
    what: "TLS towards clients",
    choices: &[],
    keys: &[
        Key::new(
            "certificates",
            Kind::Files,
            Fallback::Absent,
            "Required without `acme`. PEM files, each with a certificate and its chain; the key stands in the same file, in a file of the same \
             name that ends in `.key`, or in `privkey.pem` beside a `fullchain.pem`. A directory stands for its `.pem` \
             and `.crt` files. The first one is the default. An OCSP response beside it (`.ocsp`, DER) is stapled. They \
             are watched: a new pair is taken up when it is good.",
        ),
        Key::new(
            "acme",
            Kind::Table { table: &acme::ACME, short: Short::Key("names"), unset: Some("off") },
            Fallback::unset("off"),
            "A certificate that is ordered from an authority, and renewed in time (ACME, RFC 8555). Short form: its \
             names. It comes after those of `certificates`.",
        ),
        Key::new(
            "unknown-name",
            Kind::Words(&[Word::of("default"), Word::of("refuse")]),
            Fallback::word("default"),
            "A client that asks for a name of no certificate gets the default one, or is refused.",
        ),
        Key::new(
            "policy",
            Kind::Words(&[Word::of("intermediate"), Word::of("modern")]),
            Fallback::word("intermediate"),
            "TLS 1.3 and what is sound of TLS 1.2 (ECDHE with AES-GCM or ChaCha20), or TLS 1.3 alone.",
        ),
        MINIMUM,
        Key::new(
            "tickets",
            Kind::time_or(60_000, 7 * DAY, "off"),
            Fallback::millis(6 * 3_600_000),
            "How long one key seals session tickets, shared by all workers; a ticket is good for at most twice that. \
             `off`: no session is resumed.",
        ),
        Key::new(
            "handshake",
            Kind::time(10, 600_000),
            Fallback::millis(10_000),
            "From the connection's begin to the end of its handshake.",
        ),
        Key::new(
            "handshakes",
            Kind::count(1, 1_000_000),
            Fallback::count(1_024),
            "Handshakes at a time, per worker, each from its first byte. At the limit a handshake that has stalled for a second \
             is closed for a newcomer; in HTTP/3 one whose client has not answered for a quarter of a second. Without such a \
             handshake the newcomer is refused. Beside them as many connections may be silent; of more the \
             oldest is closed.",
        ),
        Key::new(
            "handshakes-per-client",
            Kind::count_or(1, 1_000_000, "auto"),
            Fallback::unset("auto"),
            "The same of one client: an IPv4 address, or a /64 of IPv6. `auto`: once half of the limit is taken, at most as \
             many as are free, but never fewer than 8. Clients in `trust` have no such limit.",
        ),
        Key::new(
            "client",
            Kind::Table { table: &CLIENT, short: Short::Key("ca"), unset: Some("off") },
            Fallback::unset("off"),
            "Certificates of clients. Short form: the file of who may have signed them.",
        ),
        Key::refused(
            "alpn",
            "it follows from `forward`: `http` offers what this build speaks, `tcp` offers nothing",
        ),
    ],
};

static CLIENT: Table = Table {
    what: "certificates of clients",
    choices: &[],
    keys: &[
        Key::new(
            "ca",
            Kind::Text { form: Form::File, unset: None },
            Fallback::Required,
            "PEM file of who may have signed them.",
        ),
        Key::new(
            "verify",
            Kind::Words(&[Word::of("required"), Word::of("optional")]),
            Fallback::word("required"),
            "A client without one is refused, or served without an identity. A bad one is refused in any case.",
        ),
        Key::new(
            "headers",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::text("x-client-cert"),
            "Servers are told by `NAME-verified` (`yes`, `no`), `NAME-subject`, `NAME-names` and `NAME-fingerprint` \
             (SHA-256). What a client sends under names that begin so is removed, so no field that HTTP needs may.",
        )
        .http(),
        Key::new(
            "certificate-field",
            Kind::Words(&[Word::of("off"), Word::of("certificate"), Word::of("chain")]),
            Fallback::word("off"),
            "Servers get the certificate in `Client-Cert` (RFC 9440); with `chain` also those above it, in \
             `Client-Cert-Chain`.",
        )
        .http(),
        Key::new(
            "names",
            Kind::Texts { form: Form::HostPattern, unset: Some("all") },
            Fallback::unset("all"),
            "Names (SNI) whose connections are asked for a certificate; `*.` and a name: every name below it. A request \
             whose Host is of the other kind than the name of its connection gets 421.",
        )
        .http(),
        CRL,
        EXPIRED_CRL,
    ],
};

static POOL: Table = Table {
    what: "TLS towards servers",
    choices: &[],
    keys: &[
        Key::new(
            "verify",
            Kind::Words(&[Word::of("on"), Word::of("off")]),
            Fallback::word("on"),
            "Whether a server's certificate must be good. `off` keeps out listeners, not impostors.",
        ),
        Key::new(
            "name",
            Kind::Text { form: Form::Host, unset: Some("auto") },
            Fallback::unset("auto"),
            "The name that servers are asked for and must prove; `auto`: each server's own name or address.",
        ),
        Key::new(
            "ca",
            Kind::Text { form: Form::File, unset: Some("system") },
            Fallback::unset("system"),
            "PEM file of who may have signed their certificates; `system`: whom this machine trusts.",
        ),
        Key::new(
            "certificate",
            Kind::Text { form: Form::File, unset: Some("none") },
            Fallback::unset("none"),
            "PEM file of our certificate; its key is found as that of a service's.",
        ),
        CRL,
        EXPIRED_CRL,
        MINIMUM,
    ],
};

/// Files of revocation lists.
pub const CRL: Key = Key::new(
    "crl",
    Kind::Files,
    Fallback::Absent,
    "Files of certificate revocation lists, PEM or DER, watched like certificates. With one, each certificate of a chain \
     but the root needs a list of who signed it, and is refused without.",
);

/// What an overdue one is worth.
pub const EXPIRED_CRL: Key = Key::new(
    "expired-crl",
    Kind::Words(&[Word::of("refuse"), Word::of("accept")]),
    Fallback::word("refuse"),
    "A list whose next one is overdue: certificates that it is needed for are refused, or judged by the old list.",
);

/// The oldest version.
pub const MINIMUM: Key = Key::new(
    "minimum",
    Kind::Words(&[Word::of("1.2"), Word::of("1.3")]),
    Fallback::Derived("`1.3` with `policy = \"modern\"`, else `1.2`"),
    "The oldest version spoken.",
);
