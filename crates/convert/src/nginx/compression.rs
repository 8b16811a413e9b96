//! `gzip` and `brotli` of servers as `compress` of their service.

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::scope::DirectiveScope;
use super::tree::Directive;

/// Directives that this module converts, at any level.
pub const READ: [&str; 6] =
    ["gzip", "gzip_types", "gzip_min_length", "brotli", "brotli_types", "brotli_min_length"];

/// A content coding that is switched on.
#[derive(Clone, Copy)]
struct EnabledCoding {
    /// Its name in HTTP: `br` or `gzip`.
    name: &'static str,
    source: SourcePlace,
}

/// Writes the compression if all servers agree. `scopes`: the servers' scopes, the default server first.
pub fn write(service: &mut TomlTable, scopes: &[&DirectiveScope<'_>], notes: &mut ConversionNotes) {
    let Some(scope) = scopes.first() else { return };
    if scopes.iter().any(|one| names(one) != names(scope)) {
        for coding in scopes.iter().flat_map(|one| codings(one)) {
            let reason = "a service compresses, and its servers differ";
            notes.left_out(coding.source, "gzip on", reason, "`compress = true` in the service");
        }
        return;
    }
    let coded = codings(scope);
    let written: Vec<&Directive> = READ.iter().filter_map(|name| scope.get(name)).collect();
    let Some(EnabledCoding { name, source }) = coded.first().copied() else {
        for one in written {
            notes.not_needed(one.source, &one.text(), "nothing is compressed");
        }
        return;
    };
    let kind = if name == "br" { "brotli" } else { "gzip" };
    let mut pairs = vec![KeyValue::new("codings", value::quote_all(&names(scope)))];
    // nginx always compresses this type too.
    let mut types: Vec<&str> = vec!["text/html"];
    let listed = scope.get(&format!("{kind}_types"));
    let others = listed.iter().flat_map(|one| one.args()).map(String::as_str);
    types.extend(others.filter(|one| *one != "text/html"));
    match types.contains(&"*") {
        true => {
            notes.changed(source, "gzip_types *", "not what is packed already", "`compress.types`")
        }
        false => pairs.push(KeyValue::new("types", value::quote_all(&types))),
    }
    let least = scope.get(&format!("{kind}_min_length")).map_or("20", |one| one.word(0));
    if least.parse::<u32>().is_ok_and(|least| least > 0) {
        pairs.push(KeyValue::new("min", value::quote(&format!("{least}B"))));
    }
    service.set("compress", value::table(&pairs), source);
    written.into_iter().for_each(Directive::mark_converted);
}

/// The enabled codings, brotli first.
fn codings(scope: &DirectiveScope<'_>) -> Vec<EnabledCoding> {
    let on = |name| scope.get(name).is_some_and(|one| one.word(0) == "on");
    let source = |name| scope.get(name).map_or(SourcePlace::NONE, |one| one.source);
    let all = [("br", "brotli"), ("gzip", "gzip")].into_iter();
    all.filter(|(_, name)| on(name))
        .map(|(coding, name)| EnabledCoding { name: coding, source: source(name) })
        .collect()
}

fn names(scope: &DirectiveScope<'_>) -> Vec<&'static str> {
    codings(scope).into_iter().map(|coding| coding.name).collect()
}

/// Reports compression directives of a location. Here compression belongs to the service.
pub fn note_location_overrides(
    level: &[Directive],
    server: &DirectiveScope<'_>,
    notes: &mut ConversionNotes,
) {
    let is_on = !codings(server).is_empty();
    for one in level.iter().filter(|one| READ.contains(&one.name.as_str())) {
        // Where nothing is compressed, nothing has to be switched off.
        if !is_on && one.word(0) == "off" {
            one.mark_converted();
            continue;
        }
        let reason = "a service compresses, not a rule";
        notes.left_out(one.source, &one.text(), reason, "`compress` in the service");
    }
}
