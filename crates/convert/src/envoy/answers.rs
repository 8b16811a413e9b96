//! `direct_response` and `redirect` of a route.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::reader::{leave_out, take_flag, take_number, take_text};
use super::route_match::{PathMatch, RouteMatch};
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
    if !scope.edits.answer_set.is_empty() || !scope.edits.answer_add.is_empty() {
        let fields: Vec<&String> =
            scope.edits.answer_set.iter().chain(&scope.edits.answer_add).collect();
        pairs.push(KeyValue::new("headers", value::quote_all(&fields)));
    }
    let answer = match &pairs[..] {
        [only] => only.value.clone(),
        several => value::table(several),
    };
    // A status that is none is refused by the configuration's reader, which then puts `deny` in its place.
    let keys = vec![KeyValue::new("answer", answer)];
    let when = if status >= 400 { when.at_least() } else { when };
    let rule = EnvoyRule { when, keys, source: scope.route.source, text: scope.text.clone() };
    Some(DirectAnswer { rule, is_refusal: status >= 400 })
}

/// A fixed answer, and whether it refuses.
pub struct DirectAnswer {
    pub rule: EnvoyRule,
    pub is_refusal: bool,
}

pub fn read_redirect(
    redirect: &ConfigNode,
    matched: &RouteMatch,
    scope: &RouteScope<'_>,
    tls: bool,
    notes: &mut ConversionNotes,
) -> EnvoyRule {
    let https = take_flag(redirect, "https_redirect", notes).unwrap_or(false);
    let scheme = take_text(redirect, "scheme_redirect", notes);
    let own = if tls { "https" } else { "http" };
    let scheme = if https { "https" } else { scheme.unwrap_or(own) };
    let given = take_text(redirect, "host_redirect", notes);
    let mut host = given.unwrap_or("{host}").to_owned();
    if let Some(port) = take_number(redirect, "port_redirect", notes).filter(|port| *port > 0) {
        let default = if scheme == "https" { 443 } else { 80 };
        if port != default {
            host = format!("{host}:{port}");
        }
        if given.is_none() {
            let reason = "the port of the request's host stays before the new one";
            notes.changed(
                redirect.source,
                redirect.describe(),
                reason,
                "`redirect.to` with the host's name",
            );
        }
    }
    let strip = take_flag(redirect, "strip_query", notes).unwrap_or(false);
    let query = if strip { "" } else { "{query}" };
    let RedirectPath { when, path } = redirect_path(redirect, matched, query, notes);
    if let Some(regex) = redirect.get("regex_rewrite") {
        leave_out(regex, "the path stays", "`redirect.to` with `path-regex`", notes);
    }
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
    let to = format!("{scheme}://{host}{path}");
    let mut pairs = vec![KeyValue::new("to", value::quote(&to)), KeyValue::new("status", status)];
    if !scope.edits.answer_set.is_empty() {
        pairs.push(KeyValue::new("headers", value::quote_all(&scope.edits.answer_set)));
    }
    let keys = vec![KeyValue::new("redirect", value::table(&pairs))];
    EnvoyRule { when, keys, source: scope.route.source, text: scope.text.clone() }
}

/// The path of a redirect, and the condition under which it can be put together.
struct RedirectPath {
    when: RuleCondition,
    path: String,
}

fn redirect_path(
    redirect: &ConfigNode,
    matched: &RouteMatch,
    query: &str,
    notes: &mut ConversionNotes,
) -> RedirectPath {
    let mut when = matched.condition();
    let path = match take_text(redirect, "path_redirect", notes) {
        Some(path) if path.contains('?') => escape_braces(path),
        Some(path) => format!("{}{query}", escape_braces(path)),
        None => match take_text(redirect, "prefix_rewrite", notes) {
            Some(to) => {
                let rest = match &matched.path {
                    PathMatch::Prefix(from) if from == "/" || from.is_empty() => {
                        // The path begins with the slash that is replaced.
                        when = RuleCondition::texts("path", &["/*"]).and(matched.others.clone());
                        "{rest}"
                    }
                    PathMatch::Prefix(_) => "{rest}",
                    _ => "",
                };
                format!("{}{rest}{query}", escape_braces(to))
            }
            None => format!("{{path}}{query}"),
        },
    };
    RedirectPath { when, path }
}

/// A text of the file, in which braces stand for themselves.
fn escape_braces(text: &str) -> String {
    text.replace('{', "%7B").replace('}', "%7D")
}
