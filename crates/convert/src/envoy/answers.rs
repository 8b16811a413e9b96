//! `direct_response` and `redirect` of a route.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::path_rewrite::{GROUPS_REASON, PathTemplate, read_groups, redirect_template};
use super::reader::{leave_out, take_flag, take_number, take_text};
use super::route_match::RouteMatch;
use super::route_scope::RouteScope;
use super::rule::EnvoyRule;

/// The answer of a route with `direct_response`.
pub fn read_answer(
    scope: &RouteScope<'_>,
    when: RuleCondition,
    notes: &mut ConversionNotes,
) -> Option<DirectAnswer> {
    let response = scope.route.get("direct_response")?;
    let status = take_number(response, "status", notes).unwrap_or(0);
    let body = response.get("body");
    let text = body.and_then(|body| take_text(body, "inline_string", notes));
    if let Some(body) = body.filter(|_| text.is_none()) {
        leave_out(body, "a body stands in the file as text", "`answer.body`", notes);
    }
    for other in response.unread_entries() {
        leave_out(other, "an answer has a status and a text", "`answer`", notes);
    }
    let mut pairs = vec![KeyValue::new("status", status.to_string())];
    if let Some(text) = text.filter(|_| !matches!(status, 204 | 205 | 304)) {
        pairs.push(KeyValue::new("body", value::quote(text)));
    }
    pairs.extend(scope.edits.own_headers());
    let answer = match &pairs[..] {
        [only] => only.value.clone(),
        several => value::table(several),
    };
    // A status that is none is refused by the configuration's reader, which then puts `deny` in its place.
    let mut keys = vec![KeyValue::new("answer", answer)];
    keys.extend(scope.edits.own_rewrite());
    let when = if status >= 400 { when.at_least() } else { when };
    let rule = EnvoyRule { when, keys, source: scope.route.source, text: scope.text.clone() };
    Some(DirectAnswer { rule, is_refusal: status >= 400 })
}

/// A fixed answer, and whether it refuses.
pub struct DirectAnswer {
    pub rule: EnvoyRule,
    pub is_refusal: bool,
}

/// The rules of a route with `redirect`, mostly one.
pub fn read_redirect(
    redirect: &ConfigNode,
    matched: &RouteMatch,
    scope: &RouteScope<'_>,
    tls: bool,
    notes: &mut ConversionNotes,
) -> Vec<EnvoyRule> {
    let origin = redirect_origin(redirect, tls, notes);
    let strip = take_flag(redirect, "strip_query", notes).unwrap_or(false);
    let query = if strip { "" } else { "{query}" };
    let paths = redirect_paths(redirect, matched, query, notes);
    let status = match take_text(redirect, "response_code", notes).unwrap_or("MOVED_PERMANENTLY") {
        "FOUND" | "1" => "302",
        "SEE_OTHER" | "2" => "303",
        "TEMPORARY_REDIRECT" | "3" => "307",
        "PERMANENT_REDIRECT" | "4" => "308",
        _ => "301",
    };
    for other in redirect.unread_entries() {
        leave_out(other, "a redirect has a scheme, a host, a port and a path", "`redirect`", notes);
    }
    let Some(paths) = paths else {
        let condition = matched.condition();
        return vec![EnvoyRule::refusal(condition, Some(502), scope.route.source, &scope.text)];
    };
    let rule = |target: PathTemplate| {
        let to = format!("{origin}{}", target.path);
        let mut pairs =
            vec![KeyValue::new("to", value::quote(&to)), KeyValue::new("status", status)];
        pairs.extend(scope.edits.own_headers());
        let mut keys = vec![KeyValue::new("redirect", value::table(&pairs))];
        keys.extend(scope.edits.own_rewrite());
        EnvoyRule { when: target.when, keys, source: scope.route.source, text: scope.text.clone() }
    };
    paths.into_iter().map(rule).collect()
}

/// The scheme and the host of a redirect.
fn redirect_origin(redirect: &ConfigNode, tls: bool, notes: &mut ConversionNotes) -> String {
    let https = take_flag(redirect, "https_redirect", notes).unwrap_or(false);
    let scheme = take_text(redirect, "scheme_redirect", notes);
    let own = if tls { "https" } else { "http" };
    let scheme = if https { "https" } else { scheme.unwrap_or(own) };
    let given = take_text(redirect, "host_redirect", notes).filter(|host| !host.is_empty());
    let port = take_number(redirect, "port_redirect", notes).filter(|port| *port > 0);
    let default = if scheme == "https" { 443 } else { 80 };
    match (given, port) {
        (None, None) => format!("{scheme}://{{host}}"),
        // The new port takes the place of the one in the request's host.
        (None, Some(port)) if port == default => format!("{scheme}://{{host-name}}"),
        (None, Some(port)) => format!("{scheme}://{{host-name}}:{port}"),
        (Some(host), Some(port)) if port != default => format!("{scheme}://{host}:{port}"),
        (Some(host), _) => format!("{scheme}://{host}"),
    }
}

/// The path of a redirect, with the conditions under which it can be put together. `None` if it cannot be written.
fn redirect_paths(
    redirect: &ConfigNode,
    matched: &RouteMatch,
    query: &str,
    notes: &mut ConversionNotes,
) -> Option<Vec<PathTemplate>> {
    let same = |path: String| PathTemplate { when: matched.condition(), path };
    let with_query = |target: PathTemplate| PathTemplate {
        when: target.when.and(matched.others.clone()),
        path: format!("{}{query}", target.path),
    };
    if let Some(path) = take_text(redirect, "path_redirect", notes) {
        let query = if path.contains('?') { "" } else { query };
        return Some(vec![same(format!("{}{query}", escape_braces(path)))]);
    }
    if let Some(to) = take_text(redirect, "prefix_rewrite", notes) {
        let target = redirect_template(to, matched);
        if let Some(field) = redirect.get("prefix_rewrite").filter(|_| target.is_none()) {
            leave_out(
                field,
                "the route has no prefix that could be replaced",
                "`redirect.to`",
                notes,
            );
        }
        return target.map(|target| vec![with_query(target)]);
    }
    if let Some(field) = redirect.get("regex_rewrite") {
        let Some(target) = read_groups(field, notes) else {
            leave_out(field, GROUPS_REASON, "`redirect.to` with `path-regex`", notes);
            return None;
        };
        // Paths that do not fit the expression stay.
        let when = target.when.clone().and(matched.path_condition());
        let changed = with_query(PathTemplate { when, path: target.path });
        return Some(vec![changed, same(format!("{{path}}{query}"))]);
    }
    Some(vec![same(format!("{{path}}{query}"))])
}

/// A text of the file, in which braces stand for themselves.
fn escape_braces(text: &str) -> String {
    text.replace('{', "%7B").replace('}', "%7D")
}
