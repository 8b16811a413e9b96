//! Keys of a service of `http` that its servers have in common: versions of HTTP, names of fields, limits, times.

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::duration::{self, TimeSetting};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::body_limit;
use super::forwarding::ClientTerms;
use super::head_limits;
use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::tree::Directive;
use super::vhost::ServerBlock;

/// Writes the versions of HTTP that differ from what a service speaks by itself.
pub fn write_protocols(
    service: &mut TomlTable,
    servers: &[&ServerBlock<'_>],
    tls: bool,
    quic: bool,
) {
    let http2 = offers_http2(servers);
    if tls && !http2 {
        service.set("http2", value::quote("off"), SourcePlace::NONE);
    }
    if quic {
        service.set("http3", value::quote("on"), SourcePlace::NONE);
    }
}

/// Reports `http2 on` that counts for other names, too.
pub fn note_http2(servers: &[&ServerBlock<'_>], notes: &mut ConversionNotes) {
    let is_on = |one: &ServerBlock<'_>| {
        one.listens.iter().any(|listen| listen.http2)
            || one.scope.get("http2").is_some_and(|switch| switch.word(0) == "on")
    };
    if servers.iter().all(|one| is_on(one)) {
        return;
    }
    for switch in servers.iter().filter_map(|one| one.scope.get("http2")) {
        if switch.word(0) == "on" {
            let reason = "HTTP/2 is offered for all names of a listener, or for none";
            notes.changed(switch.source, &switch.text(), reason, "a listener of its own");
        }
    }
}

/// Whether one of the servers of a listener speaks HTTP/2.
fn offers_http2(servers: &[&ServerBlock<'_>]) -> bool {
    servers.iter().any(|one| {
        let switch = one.scope.get("http2").inspect(|switch| switch.mark_converted());
        one.listens.iter().any(|listen| listen.http2)
            || switch.is_some_and(|switch| switch.word(0) == "on")
    })
}

/// The rule of a server whose clients must be verified in another way than those of its listener.
pub fn refuse_clients(server: &ServerBlock<'_>) -> NginxRule {
    let directive = server.directive;
    let always = RuleCondition::Is(true);
    NginxRule::single_key(always, "deny", "true", directive.source, &directive.text())
}

/// Names of fields that nginx drops, unless it is told otherwise. One server that drops them decides for its listener.
pub fn field_names(
    servers: &[&ServerBlock<'_>],
    notes: &mut ConversionNotes,
) -> Option<&'static str> {
    let kept: Vec<Vec<&Directive>> = servers.iter().map(|one| keeps_names(&one.scope)).collect();
    if kept.iter().all(|found| !found.is_empty()) {
        return None;
    }
    for directive in kept.into_iter().flatten() {
        let reason = "another server on the address drops such fields, so that they are dropped for all of its names";
        notes.left_out(directive.source, &directive.text(), reason, "a listener of its own");
    }
    Some("drop")
}

/// The directives by which a server keeps fields with any name.
fn keeps_names<'t>(scope: &DirectiveScope<'t>) -> Vec<&'t Directive> {
    let switches = [("underscores_in_headers", "on"), ("ignore_invalid_headers", "off")];
    let found = switches
        .into_iter()
        .filter_map(|(name, value)| scope.get(name).filter(|directive| directive.word(0) == value));
    found.collect()
}

/// Writes the times towards clients, with nginx's own values where none is written.
pub fn write_timeouts(
    path: &str,
    scope: &DirectiveScope<'_>,
    terms: &ClientTerms,
    tunnel: Option<String>,
    document: &mut Document,
) {
    let mut times = TomlTable::new(format!("{path}.timeout"), SourcePlace::NONE, "");
    for (key, name, otherwise) in
        [("header", "client_header_timeout", 60_000), ("idle", "keepalive_timeout", 75_000)]
    {
        let time = scope.time(name);
        let TimeSetting { ms, source } =
            time.unwrap_or(TimeSetting { ms: otherwise, source: SourcePlace::NONE });
        times.set(key, duration::format_duration(ms), source);
    }
    times.set("between-bytes", terms.between_bytes(), SourcePlace::NONE);
    if let Some(tunnel) = tunnel {
        times.set("tunnel", tunnel, SourcePlace::NONE);
    }
    document.push(times);
}

/// Writes how long heads and bodies may be.
pub fn write_limits(service: &mut TomlTable, body: Option<KeyValue>, scope: &DirectiveScope<'_>) {
    let sources = |name: &str| scope.get(name).map(|one| one.source);
    let place = body.as_ref().and_then(|_| sources(body_limit::NAME));
    let heads = head_limits::pairs(scope);
    let head_place = sources(head_limits::NAME).filter(|_| !heads.is_empty());
    let pairs: Vec<KeyValue> = body.into_iter().chain(heads).collect();
    if !pairs.is_empty() {
        service.set("limit", value::table(&pairs), place.unwrap_or_default());
        service.add_sources("limit", &head_place.into_iter().collect::<Vec<_>>());
    }
}
