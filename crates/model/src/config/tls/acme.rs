//! Describes `tls.acme` of a service: certificates obtained by ACME.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TableSchema, TextFormat, ValueKind};

/// Limit for the names of one certificate: that of the largest authority.
pub const NAMES: usize = 100;

/// `tls.acme` of a service.
pub static ACME: TableSchema = TableSchema {
    description: "a certificate that is ordered",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "names",
            ValueKind::Texts { form: TextFormat::HostPattern, unset: None },
            DefaultValue::Required,
            "The certificate's names. The authority must be able to reach this machine under each of them.",
        ),
        KeySchema::new(
            "directory",
            ValueKind::Text { form: TextFormat::VisibleText, unset: None },
            DefaultValue::text("https://acme-v02.api.letsencrypt.org/directory"),
            "The authority: the URL of its directory. By ordering you agree to its terms of service.",
        ),
        KeySchema::new(
            "contact",
            ValueKind::Texts { form: TextFormat::VisibleText, unset: Some("none") },
            DefaultValue::unset("none"),
            "Email addresses for messages of the authority.",
        ),
        KeySchema::new(
            "challenge",
            ValueKind::Keyword(&[Keyword::new("http"), Keyword::new("tls")]),
            DefaultValue::keyword("http"),
            "How the authority validates the names. `http`: it requests `/.well-known/acme-challenge/…` on port 80, \
             which every `http` service answers before its rules. `tls`: by a handshake with this service, on port 443 \
             (RFC 8737).",
        ),
        KeySchema::new(
            "ca",
            ValueKind::Text { form: TextFormat::File, unset: Some("system") },
            DefaultValue::unset("system"),
            "PEM file of the CAs of the authority's own certificate; `system`: the system's CAs.",
        ),
        // Doubled from five minutes, four attempts fit into the first hour; Let's Encrypt allows five failures.
        KeySchema::new(
            "retry",
            ValueKind::time(1_000, 86_400_000),
            DefaultValue::millis(300_000),
            "Time from a first failure to the next attempt; each further failure doubles it, up to 6 h or this, \
             whichever is longer.",
        ),
    ],
};
