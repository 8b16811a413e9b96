//! `proxy_redirect`, `proxy_cookie_domain` and `proxy_cookie_path`: what is changed in Location and Set-Cookie of answers.

use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::expressions::PassTarget;
use super::field_place::FieldPlace;
use super::scope::DirectiveScope;

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
            (from, to) if !from.starts_with('~') && !from.contains(['$', '{', '}']) => {
                match place.value(to).map(|to| absolute(&to, place)) {
                    Ok(to) => {
                        entries.push(entry(from, &to));
                        one.mark_converted();
                    }
                    Err(variable) => {
                        let reason = format!("`{variable}` has no counterpart in a Location");
                        notes.left_out(one.source, &one.text(), &reason, "`rewrite.location`");
                    }
                }
            }
            _ => {
                let reason =
                    "the Location of an answer is changed by its beginning, which has no variables";
                notes.left_out(one.source, &one.text(), reason, "`rewrite.location`");
            }
        }
    }
    (!entries.is_empty()).then(|| KeyValue::new("location", value::list(entries)))
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
            let plain =
                |text: &str| !text.starts_with('~') && !text.contains(['$', '{', '}', ' ', '"']);
            match (one.word(0), one.word(1)) {
                ("off", _) => one.mark_converted(),
                (from, to) if plain(from) && plain(to) && !to.contains(';') => {
                    entries.push(entry(from, to));
                    one.mark_converted();
                }
                _ => {
                    let reason = "cookies are changed by whole domains and by beginnings of paths";
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
