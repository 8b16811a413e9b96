//! What Traefik tells servers of a client besides X-Forwarded-For and X-Forwarded-Proto, as edits before the rules:
//! routers see these fields as well.

use crate::document::{Document, TomlTable};
use crate::source::SourcePlace;
use crate::value;

use super::entry_points::EntryPoint;

/// Writes the edits of the service of an entry point. A client's own words count where the entry point trusts it.
pub fn write_client_fields(
    path: &str,
    point: &EntryPoint<'_>,
    tls: bool,
    is_trusting: bool,
    document: &mut Document,
) {
    let mut push = |when: Option<String>, rewrite: String| {
        let text = "fields that Traefik writes before it asks routers";
        let mut table = TomlTable::one_of(format!("{path}.edit"), SourcePlace::NONE, text);
        if let Some(when) = when {
            table.set("when", when, SourcePlace::NONE);
        }
        table.set("rewrite", rewrite, SourcePlace::NONE);
        document.push(table);
    };
    let set = |fields: &[String]| format!("{{ set = {} }}", value::quote_all(fields));
    let usual = if tls { 443 } else { 80 };
    let own = value::quote(&format!("host: *:{}", point.port));
    let port = |number: u16| format!("X-Forwarded-Port: {number}");
    if is_trusting {
        let absent = |name: &str, more: &str| {
            format!("{{ not = {{ header = {} }}{more} }}", value::quote(name))
        };
        let host = "X-Forwarded-Host: {host}".to_owned();
        push(Some(absent("x-forwarded-host", "")), set(&[host]));
        push(
            Some(absent("x-forwarded-port", &format!(", header = {own}"))),
            set(&[port(point.port)]),
        );
        let secure = ", header = \"x-forwarded-proto: https\"";
        push(Some(absent("x-forwarded-port", secure)), set(&[port(443)]));
        return push(Some(absent("x-forwarded-port", "")), set(&[port(usual)]));
    }
    let fields = value::quote_all(&[
        "X-Forwarded-Host: {host}".to_owned(),
        port(usual),
        "X-Real-Ip: {client}".to_owned(),
    ]);
    // Traefik writes the name of its machine there, and servers may believe what they find.
    push(None, format!("{{ set = {fields}, remove = \"X-Forwarded-Server\" }}"));
    if point.port != usual {
        push(Some(format!("{{ header = {own} }}")), set(&[port(point.port)]));
    }
}
