//! Where an `error_page` line leads: a file below `root` or `alias`, a text of `return`, or another URL.

use crate::notes::UnsupportedReason;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::tree::Directive;
use super::vhost::ServerBlock;

/// The page of a line.
#[derive(Debug)]
pub struct PageTarget {
    pub statuses: Vec<u16>,
    /// Words in the place of statuses that no answer here has.
    pub unknown: Vec<String>,
    /// The page's keys, except its statuses.
    pub keys: Vec<KeyValue>,
    /// The location that names the page.
    pub location: Option<SourcePlace>,
}

/// The status of the answer with the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientStatus {
    /// That of the error.
    Same,
    /// That of the page's location: `=`.
    OfLocation,
    /// `=200`.
    Fixed(u16),
}

/// Statuses of redirects (RFC 9110 §15.4).
const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];

/// Directives of a location that make it something else than a file.
const NO_FILE: [&str; 8] =
    ["try_files", "rewrite", "if", "location", "empty_gif", "stub_status", "auth_request", "perl"];

const TEXT_INSTEAD: &str = "clients get a text with the cause";

fn unsupported(reason: &str, instead: &str) -> UnsupportedReason {
    UnsupportedReason::new(format!("{reason}; {TEXT_INSTEAD}"), instead)
}

/// Reads the line of this server.
///
/// # Errors
/// The page cannot be expressed.
pub fn read(line: &Directive, server: &ServerBlock<'_>) -> Result<PageTarget, UnsupportedReason> {
    let (target, words) = match line.args() {
        [words @ .., target] if !words.is_empty() => (target.as_str(), words),
        _ => return Err(unsupported("it names no page", "`error-page` in the service")),
    };
    let mut statuses = Vec::new();
    let mut unknown = Vec::new();
    let mut client_status = ClientStatus::Same;
    for word in words {
        if let Some(code) = word.strip_prefix('=') {
            client_status = match code.parse() {
                Ok(code) => ClientStatus::Fixed(code),
                Err(_) => ClientStatus::OfLocation,
            };
            continue;
        }
        // The statuses 494 to 499 are nginx's own.
        match word.parse() {
            Ok(status) if matches!(status, 400..=493 | 500..=599) => statuses.push(status),
            _ => unknown.push(word.clone()),
        }
    }
    let mut found = PageTarget { statuses, unknown, keys: Vec::new(), location: None };
    if target.contains('$') {
        return Err(unsupported("its page depends on variables", "one page for each status"));
    }
    if target.starts_with("http://") || target.starts_with("https://") {
        let status = match client_status {
            ClientStatus::Fixed(code) if REDIRECTS.contains(&code) => code,
            _ => 302,
        };
        found.keys = redirect(status, target);
        return Ok(found);
    }
    let location = find_location(server.directive.inner(), target)?;
    found.keys = page_of_location(location, target, client_status, server)?;
    found.location = Some(location.source);
    Ok(found)
}

fn redirect(status: u16, to: &str) -> Vec<KeyValue> {
    let location = value::quote(&format!("Location: {to}"));
    vec![KeyValue::new("as", status.to_string()), KeyValue::new("headers", location)]
}

/// The location that an internal redirect to this path, or name, reaches.
fn find_location<'t>(
    server: &'t [Directive],
    target: &str,
) -> Result<&'t Directive, UnsupportedReason> {
    let all = || server.iter().filter(|one| one.name == "location");
    let absent =
        || unsupported("no location of its server has the page", "`file` in an `error-page`");
    if target.starts_with('@') {
        return all().find(|one| one.peek(0) == target).ok_or_else(absent);
    }
    if let Some(exact) = all().find(|one| one.peek(0) == "=" && one.peek(1) == target) {
        return Ok(exact);
    }
    let prefix = |one: &&Directive| match one.peek(0) {
        "^~" => target.starts_with(one.peek(1)),
        path => path.starts_with('/') && target.starts_with(path),
    };
    let longest = all().filter(prefix).max_by_key(|one| one.peek(0).len() + one.peek(1).len());
    let has_expressions = all().any(|one| one.peek(0).starts_with('~'));
    match longest.ok_or_else(absent)? {
        found if found.peek(0) != "^~" && has_expressions => Err(unsupported(
            "which location has the page depends on expressions",
            "`location = /page.html`",
        )),
        found => Ok(found),
    }
}

fn page_of_location(
    location: &Directive,
    target: &str,
    client_status: ClientStatus,
    server: &ServerBlock<'_>,
) -> Result<Vec<KeyValue>, UnsupportedReason> {
    let level = location.inner();
    let find = |name: &str| level.iter().find(|one| one.name == name);
    if let Some(line) = find("return") {
        let keys = page_of_return(line, client_status, level, server)?;
        line.mark_converted();
        if target.starts_with('@') {
            location.mark_converted();
        }
        return Ok(keys);
    }
    let name = |one: &Directive| one.name.clone();
    if let Some(other) = level.iter().map(name).find(|it| it.ends_with("_pass")) {
        let reason = format!("a request that failed is not sent on by `{other}`");
        return Err(unsupported(&reason, "servers with `last-resort` in the pool"));
    }
    let other = level.iter().map(name).find(|it| NO_FILE.contains(&it.as_str()));
    if let Some(other) = other.or(target.starts_with('@').then(|| target.to_owned())) {
        return Err(unsupported(&format!("`{other}` is no file"), "`file` in an `error-page`"));
    }
    let scoped = server.scope.nested(level);
    let (base, path) = match find("alias") {
        Some(alias) if location.peek(0) == "=" => (alias, ""),
        Some(alias) => {
            let prefix = if location.peek(0) == "^~" { location.peek(1) } else { location.peek(0) };
            (alias, target.strip_prefix(prefix).unwrap_or_default())
        }
        None => match scoped.get("root") {
            Some(root) => (root, target),
            None => return Err(unsupported("its directory is not written", "`root /…;`")),
        },
    };
    if !base.peek(0).starts_with('/') || base.peek(0).contains('$') {
        let reason = "its directory is not a whole path";
        return Err(unsupported(reason, "`root` with a path from `/` on"));
    }
    let directory = match base.name.as_str() {
        "root" => base.word(0).trim_end_matches('/'),
        _ => base.word(0),
    };
    base.mark_converted();
    let file = format!("{directory}{path}");
    let mut keys = vec![KeyValue::new("file", value::quote(&file))];
    keys.extend(media_type(&file).map(|kind| KeyValue::new("type", value::quote(kind))));
    let status = match client_status {
        ClientStatus::Same => None,
        ClientStatus::OfLocation => Some(200),
        ClientStatus::Fixed(code) => Some(code),
    };
    keys.extend(status.map(|code| KeyValue::new("as", code.to_string())));
    Ok(keys)
}

/// `return 503 "text"`, or a redirect.
fn page_of_return(
    line: &Directive,
    client_status: ClientStatus,
    level: &[Directive],
    server: &ServerBlock<'_>,
) -> Result<Vec<KeyValue>, UnsupportedReason> {
    let instead = "`body` in an `error-page`";
    if line.peek(1).contains('$') || line.peek(0).contains('$') {
        return Err(unsupported("a page has no variables", instead));
    }
    let code: u16 = match (line.peek(0).parse(), line.peek(1)) {
        (Ok(code), text) if !text.is_empty() => code,
        _ => return Err(unsupported("its answer has no text", instead)),
    };
    if REDIRECTS.contains(&code) {
        return Ok(redirect(code, line.word(1)));
    }
    let scope = server.scope.nested(level);
    let kind = scope.get("default_type").map_or("text/plain", |one| one.peek(0));
    let mut keys = vec![
        KeyValue::new("body", value::quote(line.word(1))),
        KeyValue::new("type", value::quote(kind)),
    ];
    let status = match client_status {
        ClientStatus::Same => None,
        ClientStatus::OfLocation => Some(code),
        ClientStatus::Fixed(code) => Some(code),
    };
    keys.extend(status.map(|code| KeyValue::new("as", code.to_string())));
    Ok(keys)
}

/// The type of a file by the end of its name, as in nginx's own list; `None`: `text/html`, or not known.
fn media_type(file: &str) -> Option<&'static str> {
    let name = file.rsplit('/').next().unwrap_or_default();
    Some(match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html" | "htm" | "shtml") => return None,
        Some("json") => "application/json",
        Some("xml") => "text/xml",
        Some("txt") => "text/plain",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        _ => "text/plain",
    })
}
