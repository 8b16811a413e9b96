//! Fields of servers' answers that nginx keeps from clients unless it is told to pass them.

use crate::document::{Document, TomlTable};
use crate::source::SourcePlace;
use crate::value;

use super::scope::DirectiveScope;
use super::tree::Directive;
use super::vhost::ServerBlock;

/// Date is not among them: nginx has its own in its place, and the balancer writes none.
const HIDDEN: [&str; 7] = [
    "Server",
    "X-Pad",
    "X-Accel-Expires",
    "X-Accel-Redirect",
    "X-Accel-Limit-Rate",
    "X-Accel-Buffering",
    "X-Accel-Charset",
];

/// Those that some location of these servers passes. Rules of other locations remove them.
pub fn passed_somewhere(servers: &[&ServerBlock<'_>]) -> Vec<&'static str> {
    let is_passed = |name: &&str| {
        servers.iter().any(|one| {
            let inherited = one.scope.every(&["proxy_pass_header", "grpc_pass_header"]);
            names_field(&inherited, name) || passes(one.directive.inner(), name)
        })
    };
    HIDDEN.into_iter().filter(is_passed).collect()
}

/// Writes the removal of all others from the answers of a service.
pub fn write(service: &str, passed: &[&str], document: &mut Document) {
    let names: Vec<&str> = HIDDEN.into_iter().filter(|name| !passed.contains(name)).collect();
    if names.is_empty() {
        return;
    }
    let path = format!("service.{service}.edit");
    let text = "fields that nginx hides";
    let mut table = TomlTable::one_of(path, SourcePlace::NONE, text);
    let names = value::quote_all(&names);
    table.set("rewrite", format!("{{ response-remove = {names} }}"), SourcePlace::NONE);
    document.push(table);
}

/// Those that a location removes itself. `passed`: what another one of its service passes.
pub fn location_removals(
    scope: &DirectiveScope<'_>,
    prefix: &str,
    passed: &[&'static str],
) -> Vec<&'static str> {
    let own = scope.all(&format!("{prefix}_pass_header"));
    own.iter().for_each(|one| {
        one.args();
        one.mark_converted();
    });
    passed.iter().copied().filter(|name| !names_field(&own, name)).collect()
}

/// Whether one of the directives, or of those in their blocks, passes the field.
fn passes(level: &[Directive], name: &str) -> bool {
    level.iter().any(|one| {
        let is_switch = matches!(one.name.as_str(), "proxy_pass_header" | "grpc_pass_header");
        is_switch && names_field(&[one], name) || passes(one.inner(), name)
    })
}

fn names_field(switches: &[&Directive], name: &str) -> bool {
    switches.iter().any(|one| one.peek(0).eq_ignore_ascii_case(name))
}
