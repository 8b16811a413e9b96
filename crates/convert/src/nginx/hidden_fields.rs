//! Fields of servers' answers that are for nginx alone, and that it passes to clients only where it is told to.

use crate::document::{Document, TomlTable};
use crate::source::SourcePlace;
use crate::value;

use super::tree::Directive;
use super::vhost::ServerBlock;

/// Beside Date and Server, which the balancer has of its own.
const HIDDEN: [&str; 5] = [
    "X-Accel-Expires",
    "X-Accel-Redirect",
    "X-Accel-Limit-Rate",
    "X-Accel-Buffering",
    "X-Accel-Charset",
];

/// Writes their removal from the answers of a service.
pub fn write(service: &str, servers: &[&ServerBlock<'_>], document: &mut Document) {
    let is_passed = |name: &str| servers.iter().any(|one| passes(one.directive.inner(), name));
    let names: Vec<&str> = HIDDEN.into_iter().filter(|name| !is_passed(name)).collect();
    if names.is_empty() {
        return;
    }
    let path = format!("service.{service}.edit");
    let text = "fields for nginx alone";
    let mut table = TomlTable::one_of(path, SourcePlace::NONE, text);
    let names = value::quote_all(&names);
    table.set("rewrite", format!("{{ answer-remove = {names} }}"), SourcePlace::NONE);
    document.push(table);
}

/// Whether one of the directives, or of those in their blocks, passes the field.
fn passes(level: &[Directive], name: &str) -> bool {
    level.iter().any(|one| {
        let is_switch = matches!(one.name.as_str(), "proxy_pass_header" | "grpc_pass_header");
        is_switch && one.peek(0).eq_ignore_ascii_case(name) || passes(one.inner(), name)
    })
}
