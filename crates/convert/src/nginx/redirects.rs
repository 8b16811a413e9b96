//! `proxy_redirect`, `proxy_cookie_domain` and `proxy_cookie_path`: what is changed in Location and Set-Cookie of answers.

use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::expressions::PassTarget;
use super::field_place::FieldPlace;
use super::scope::DirectiveScope;
use super::tree::Directive;
use super::variables::{fill, replace_variable};

/// `rewrite.location`: `proxy_redirect`, or what nginx does without it. `target`: what is named without variables.
/// `prefix`: the location's.
pub fn location_rewrites(
    scope: &DirectiveScope<'_>,
    target: Option<&PassTarget<'_>>,
    prefix: Option<&str>,
    place: FieldPlace<'_>,
    notes: &mut ConversionNotes,
) -> Option<KeyValue> {
    let named = scope.all("proxy_redirect");
    let is_removed = removes_location(scope, place);
    let mut entries = Vec::new();
    if named.is_empty() {
        entries.extend(target.and_then(|target| default_rewrite(target, prefix, place)));
    }
    for one in named {
        match (one.word(0), one.word(1)) {
            ("off", _) => one.mark_converted(),
            ("default", _) => {
                entries.extend(target.and_then(|target| default_rewrite(target, prefix, place)));
                one.mark_converted();
            }
            (from, to) => match (redirect_begin(from, place), place.value(to)) {
                (Some(from), Ok(to)) => {
                    entries.push(entry(&from, &absolute(&to, place)));
                    one.mark_converted();
                }
                (None, _) => {
                    let reason = format!(
                        "the Location of an answer is changed by its beginning, which has no variables; {REMOVED}"
                    );
                    notes.left_out(one.source, &one.text(), &reason, "`rewrite.location`");
                }
                (_, Err(variable)) => {
                    let reason =
                        format!("`{variable}` has no counterpart in a Location; {REMOVED}");
                    notes.left_out(one.source, &one.text(), &reason, "`rewrite.location`");
                }
            },
        }
    }
    (!entries.is_empty() && !is_removed).then(|| KeyValue::new("location", value::list(entries)))
}

const REMOVED: &str =
    "so that no client is sent to a server's own address, Location and Refresh are removed";

/// Whether a `proxy_redirect` cannot be written, so that its Location must not reach clients.
pub fn removes_location(scope: &DirectiveScope<'_>, place: FieldPlace<'_>) -> bool {
    scope.all("proxy_redirect").iter().any(|one| {
        let is_kept = matches!(one.peek(0), "off" | "default");
        !is_kept
            && (redirect_begin(one.peek(0), place).is_none() || place.value(one.peek(1)).is_err())
    })
}

/// The beginning of a Location that `proxy_redirect` names, with the values of its variables.
fn redirect_begin(from: &str, place: FieldPlace<'_>) -> Option<String> {
    let scheme = if place.tls { "https" } else { "http" };
    let from = replace_variable(&fill(from, place.values), "scheme", scheme);
    let is_plain = !from.starts_with('~') && !from.contains(['$', '{', '}']);
    is_plain.then_some(from)
}

/// Without a path behind the server the URL up to its first slash is replaced, else the whole by the location's prefix.
fn default_rewrite(
    target: &PassTarget<'_>,
    prefix: Option<&str>,
    place: FieldPlace<'_>,
) -> Option<String> {
    // nginx compares the path of the socket too, which no server writes.
    if target.host.starts_with("unix:") {
        return None;
    }
    let server = format!("{}://{}", target.scheme, target.host);
    match target.uri {
        Some(uri) => Some(entry(&format!("{server}{uri}"), &absolute(prefix?, place))),
        None => Some(entry(&format!("{server}/"), &absolute("/", place))),
    }
}

/// A path as the URL that nginx makes of it.
fn absolute(to: &str, place: FieldPlace<'_>) -> String {
    let scheme = if place.tls { "https" } else { "http" };
    let port = if place.usual_port { "" } else { ":{port}" };
    match to.starts_with('/') {
        true => format!("{scheme}://{{host-name}}{port}{to}"),
        false => to.to_owned(),
    }
}

fn entry(from: &str, to: &str) -> String {
    value::table(&[
        KeyValue::new("from", value::quote(from)),
        KeyValue::new("to", value::quote(to)),
    ])
}

/// Domains and paths of cookies.
pub fn cookie_rewrites(scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) -> Vec<KeyValue> {
    let mut out = Vec::new();
    for (name, key) in
        [("proxy_cookie_domain", "cookie-domain"), ("proxy_cookie_path", "cookie-path")]
    {
        let mut entries = Vec::new();
        for one in scope.all(name) {
            match (one.word(0), one.word(1)) {
                ("off", _) => one.mark_converted(),
                (from, to) if is_plain_cookie_change(from, to) => {
                    entries.push(entry(from, to));
                    one.mark_converted();
                }
                _ => {
                    let reason = "cookies are changed by whole domains and by beginnings of paths; so that none reaches clients otherwise, Set-Cookie is removed";
                    let instead = "`rewrite.cookie-domain`, `rewrite.cookie-path`";
                    notes.left_out(one.source, &one.text(), reason, instead);
                }
            }
        }
        if !entries.is_empty() {
            out.push(KeyValue::new(key, value::list(entries)));
        }
    }
    out
}

/// Whether cookies of servers would reach clients otherwise than nginx writes them.
pub fn removes_cookies(scope: &DirectiveScope<'_>) -> bool {
    let changes = ["proxy_cookie_domain", "proxy_cookie_path"].map(|name| scope.all(name));
    let is_off = |one: &&Directive| one.peek(0) == "off";
    changes
        .iter()
        .flatten()
        .any(|one| !is_off(one) && !is_plain_cookie_change(one.peek(0), one.peek(1)))
        || scope.all("proxy_cookie_flags").iter().any(|one| !is_off(one))
}

fn is_plain_cookie_change(from: &str, to: &str) -> bool {
    let is_plain = |text: &str| !text.starts_with('~') && !text.contains(['$', '{', '}', ' ', '"']);
    is_plain(from) && is_plain(to) && !to.contains(';')
}
