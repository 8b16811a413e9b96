//! Describes the keys of the API.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TextFormat, ValueKind};
use crate::config::value::ConfigValue;

/// Where runtime changes are stored.
pub const WRITE_BACK: KeySchema = KeySchema::new(
    "write-back",
    ValueKind::Keyword(&[Keyword::new("off"), Keyword::new("file"), Keyword::new("overlay")]),
    DefaultValue::keyword("off"),
    "Where changes made while running are kept, unless they say otherwise: in the `file`, with its comments; in an \
     `overlay` beside it, where a tool writes the file; `off`: until the file is read again. Words about servers are \
     remembered in any case.",
);

/// Whether changes over the API may affect more than the product.
pub const ALLOW_PROGRAMS: KeySchema = KeySchema::new(
    "allow-programs",
    ValueKind::Flag,
    DefaultValue::Literal(ConfigValue::Flag(false)),
    "Changes over the API may set programs that are run (`hook`, `probe.program`), files of secrets that are sent \
     (`probe.secret-file`, `heartbeat.witness.token`), servers on Unix sockets, the access log's file, and of `global.control` `socket`, `mode`, \
     `state`, `audit`, `tokens` and `client-authorities`. Otherwise what the file says of them stands. This key itself is \
     set in the file alone.",
);

/// Size limit of the audit log.
pub const AUDIT: KeySchema = KeySchema::new(
    "audit",
    ValueKind::size(64 * 1024, 1024 * 1024 * 1024),
    DefaultValue::Literal(ConfigValue::Size(8 * 1024 * 1024)),
    "The record of who ordered what: so large it may be; then its older half goes.",
);

/// Where the API and its page are served over TCP.
pub const LISTEN: KeySchema = KeySchema::new(
    "listen",
    ValueKind::Socket,
    DefaultValue::Absent,
    "Address and port of the API and its page over TCP. Whoever has no token may look, on a loopback address; elsewhere a token and TLS are needed.",
);

/// Who may use the API.
pub const TOKENS: KeySchema = KeySchema::new(
    "tokens",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Absent,
    "The file of tokens, a line each from `steelyard token`; only root or the daemon's user may be able to write it.",
);

/// The API's certificate.
pub const CERTIFICATE: KeySchema = KeySchema::new(
    "certificate",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Absent,
    "PEM file with the certificate for `listen`, and its key there or beside it as for a service. It is watched.",
);

/// Authorities for client certificates.
pub const CLIENT_AUTHORITIES: KeySchema = KeySchema::new(
    "client-authorities",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Absent,
    "PEM file with who may have signed certificates of the API's clients; what each may do is a line of `tokens`, from \
     `steelyard token --certificate`. It is watched.",
);

/// Host names under which the API may be requested.
pub const HOSTS: KeySchema = KeySchema::new(
    "hosts",
    ValueKind::Texts { form: TextFormat::Domain, unset: None },
    DefaultValue::Absent,
    "Names under which browsers may ask for `listen`; addresses, and `localhost`, always may.",
);
