//! Describes the keys of the API.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TextFormat, ValueKind};
use crate::config::value::ConfigValue;

/// Where runtime changes are stored.
pub const WRITE_BACK: KeySchema = KeySchema::new(
    "write-back",
    ValueKind::Keyword(&[Keyword::new("off"), Keyword::new("file"), Keyword::new("overlay")]),
    DefaultValue::keyword("off"),
    "Where changes at runtime are stored by default: in the `file`, with its comments; in an `overlay` beside it, for \
     files that a tool writes; `off`: nowhere, until the file is read again. Server commands are stored in any case.",
);

/// Whether changes over the API may affect more than the product.
pub const ALLOW_PROGRAMS: KeySchema = KeySchema::new(
    "allow-programs",
    ValueKind::Flag,
    DefaultValue::Literal(ConfigValue::Flag(false)),
    "Changes over the API may set programs that are run (`hook`, `probe.program`), files of secrets that are sent \
     (`probe.secret-file`, `heartbeat.witness.token`), servers on Unix sockets, the access log's file, and `socket`, \
     `mode`, `state`, `audit`, `tokens` and `client-authorities` of `global.control`. Otherwise only the file can set \
     them. This key itself can only be set in the file.",
);

/// Size limit of the audit log.
pub const AUDIT: KeySchema = KeySchema::new(
    "audit",
    ValueKind::size(64 * 1024, 1024 * 1024 * 1024),
    DefaultValue::Literal(ConfigValue::Size(8 * 1024 * 1024)),
    "Maximum size of the audit log; beyond it the older half is removed.",
);

/// Where the API and its page are served over TCP.
pub const LISTEN: KeySchema = KeySchema::new(
    "listen",
    ValueKind::Socket,
    DefaultValue::Absent,
    "Address and port of the API and the web page over TCP. On a loopback address clients without a token may look; \
     on other addresses a token and TLS are required.",
);

/// Who may use the API.
pub const TOKENS: KeySchema = KeySchema::new(
    "tokens",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Absent,
    "File of tokens, one line each from `steelyard token`. Only root or the daemon's user may have write permission.",
);

/// The API's certificate.
pub const CERTIFICATE: KeySchema = KeySchema::new(
    "certificate",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Absent,
    "PEM file with the certificate for `listen`, and its key there or beside it as for a service. Changes are watched.",
);

/// Authorities for client certificates.
pub const CLIENT_AUTHORITIES: KeySchema = KeySchema::new(
    "client-authorities",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Absent,
    "PEM file with the CAs of the API's client certificates; the role of each is a line of `tokens`, from `steelyard \
     token --certificate`. Changes are watched.",
);

/// Host names under which the API may be requested.
pub const HOSTS: KeySchema = KeySchema::new(
    "hosts",
    ValueKind::Texts { form: TextFormat::Domain, unset: None },
    DefaultValue::Absent,
    "Host names that browsers may use for `listen`; addresses and `localhost` are always allowed.",
);
