//! `client_max_body_size`: the limit of the service, and of locations that have another one.

use crate::notes::ConversionNotes;
use crate::size::{format_size, parse_size};
use crate::value::{self, KeyValue};

use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::tree::Directive;

pub const NAME: &str = "client_max_body_size";

/// nginx's own limit.
const USUAL: u64 = 1 << 20;

/// The largest limit that can be written: 1,024 TiB.
const MOST: u64 = 1 << 50;

const KEY: &str = "body-bytes";

/// The most bytes of a body in this scope; `None`: no limit.
pub fn read(scope: &DirectiveScope<'_>) -> Option<u64> {
    let Some(directive) = scope.get(NAME) else { return Some(USUAL) };
    // What is no size was reported, and leaves nginx's own limit.
    let Some(bytes) = parse_size(directive.word(0)) else { return Some(USUAL) };
    directive.mark_converted();
    (bytes > 0).then_some(bytes.min(MOST))
}

/// Reports a limit that is no size.
pub fn note_invalid(directive: &Directive, notes: &mut ConversionNotes) {
    if parse_size(directive.peek(0)).is_none() {
        let reason = "not a size: bodies of more than 1 MiB are refused, as without it";
        notes.left_out(directive.source, &directive.text(), reason, "`limit.body-bytes`");
    }
}

/// Reports the limit of a named location: the limit where requests come in counts.
pub fn note_named(level: &[Directive], notes: &mut ConversionNotes) {
    for directive in level.iter().filter(|one| one.name == NAME) {
        let reason = "bodies are limited as the location says that leads here";
        notes.changed(directive.source, &directive.text(), reason, "`body-bytes` of the rule");
    }
}

/// Gives rules with a pool the limit of their location, if it differs from the service's.
pub fn limit_rules(rules: &mut [NginxRule], own: Option<u64>, service: Option<u64>) {
    if own != service {
        rules.iter_mut().filter(|rule| has_pool(rule)).for_each(|rule| {
            let limit = own.map_or_else(|| value::quote("off"), format_size);
            rule.keys.push(KeyValue::new(KEY, limit));
        });
    }
}

/// The limit of a service that has servers. Without one, no body is passed on.
pub fn service_limit(rules: &[NginxRule], service: Option<u64>) -> Option<KeyValue> {
    let bytes = service.filter(|_| rules.iter().any(has_pool))?;
    Some(KeyValue::new(KEY, format_size(bytes)))
}

fn has_pool(rule: &NginxRule) -> bool {
    rule.keys.iter().any(|one| matches!(one.key, "pool" | "split"))
}
