//! Verifies the field with the id of a request: it has no other meaning, and no other key writes it.

use crate::config::auth::find_credential_fields;
use crate::config::decode::key_path::quote_key;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::request_head::same_name;

/// Fields that have another meaning.
const OTHER_MEANING: [&str; 15] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "forwarded",
    "via",
    "te",
    "expect",
    "date",
    "location",
    "content-type",
    "content-encoding",
    "cache-control",
    "traceparent",
    "tracestate",
];

/// Beginnings of names that are written for other ends.
const OTHER_PREFIXES: [&str; 2] = ["x-forwarded-", "x-steelyard-"];

/// `auths`: the tables `[auth.NAME]`.
pub fn verify_request_id(
    service: &ConfigSection,
    path: &str,
    auths: &[ConfigSection],
    sink: &mut FindingCollector<'_, '_>,
) {
    if service.text("forward") != Some("http") {
        return;
    }
    let Some(section) = service.table("request-id") else { return };
    let Some(name) = section.text("header") else { return };
    let is = |other: &str| same_name(name.as_bytes(), other.as_bytes());
    let begins = |prefix: &str| {
        let start = name.as_bytes().get(..prefix.len());
        start.is_some_and(|start| same_name(start, prefix.as_bytes()))
    };
    let fields = service.table("forwarded").and_then(|it| it.table("client-field"));
    let is_client_field = fields.and_then(|field| field.text("name")).is_some_and(is);
    let has_credential = |auth: &&ConfigSection| find_credential_fields(auth).any(is);
    let trouble = if is_client_field {
        FindingDetails::new(format!("`forwarded.client-field` writes `{name}` as well"))
    } else if let Some(auth) = auths.iter().find(has_credential) {
        let auth = quote_key(&auth.name);
        FindingDetails::new(format!("`{name}` has what clients show `[auth.{auth}]`"))
    } else if let Some(auth) = auths.iter().find(|auth| written_fields(auth).any(is)) {
        let auth = quote_key(&auth.name);
        FindingDetails::new(format!("`[auth.{auth}]` writes `{name}` as well"))
    } else if OTHER_MEANING.iter().any(|other| is(other))
        || OTHER_PREFIXES.iter().any(|prefix| begins(prefix))
    {
        FindingDetails::new(format!("`{name}` is no field for an id"))
    } else {
        return;
    };
    let path = format!("{path}.request-id.header");
    let expected = "a field of its own, such as \"X-Request-Id\"";
    sink.error(section.span_of("header"), &path, trouble.with_expected(expected));
}

/// Fields that authentication writes for servers.
fn written_fields(auth: &ConfigSection) -> impl Iterator<Item = &str> {
    let of_claims = auth.texts("claim-fields").iter();
    let of_claims = of_claims.filter_map(|line| line.split(':').next()).map(str::trim);
    let taken = auth.texts("take").iter().map(String::as_str);
    auth.text("user-field").into_iter().chain(of_claims).chain(taken)
}
