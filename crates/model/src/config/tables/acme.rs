//! Describes `tls.acme` of a service: a certificate that is ordered.

use super::super::schema::{Fallback, Form, Key, Kind, Table, Word};

/// Names of one certificate: what the largest authority takes.
pub const NAMES: usize = 100;

/// `tls.acme` of a service.
pub static ACME: Table = Table {
    what: "a certificate that is ordered",
    choices: &[],
    keys: &[
        Key::new(
            "names",
            Kind::Texts { form: Form::HostPattern, unset: None },
            Fallback::Required,
            "The certificate's names. The authority must be able to reach this machine under each of them.",
        ),
        Key::new(
            "directory",
            Kind::Text { form: Form::Visible, unset: None },
            Fallback::text("https://acme-v02.api.letsencrypt.org/directory"),
            "The authority: the URL of its directory. Whoever orders agrees to its terms of service.",
        ),
        Key::new(
            "contact",
            Kind::Texts { form: Form::Visible, unset: Some("none") },
            Fallback::unset("none"),
            "Addresses of electronic mail that the authority may write to.",
        ),
        Key::new(
            "challenge",
            Kind::Words(&[Word::of("http"), Word::of("tls")]),
            Fallback::word("http"),
            "How it is shown that the names are ours: by an answer to a request for \
             `/.well-known/acme-challenge/…`, which every `http` service gives before its rules and which the authority \
             asks for on port 80; or by a certificate in a handshake with this service, on port 443 (RFC 8737).",
        ),
        Key::new(
            "ca",
            Kind::Text { form: Form::File, unset: Some("system") },
            Fallback::unset("system"),
            "PEM file of who may have signed the authority's own certificate; `system`: whom this machine trusts.",
        ),
        Key::new(
            "retry",
            Kind::time(1_000, 86_400_000),
            Fallback::millis(300_000),
            "From a first failure to the next attempt; each further failure doubles it, up to 6 h or this, whichever is \
             longer.",
        ),
    ],
};
