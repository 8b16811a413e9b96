//! Where a Location leads, as a browser resolves it.
//!
//! Pure. Balancers write the same target as a path or as a URL of themselves.

use super::request::{HttpRequest, ServerNameChoice, ShadowRequest};

/// A Location as a browser resolves it; URLs of the balancer itself become paths, with or without its port.
pub fn resolve(request: &ShadowRequest, to: &str) -> String {
    let scheme = if request.name == ServerNameChoice::Plain { "http" } else { "https" };
    let host = request.http().map_or("", |HttpRequest { host, .. }| host.as_str()).to_lowercase();
    let bare = host.split(':').next().unwrap_or("").trim_end_matches('.');
    let own = [
        format!("{scheme}://{host}"),
        format!("{scheme}://{bare}"),
        format!("{scheme}://{bare}:{}", request.to.port()),
    ];
    let lower = to.to_ascii_lowercase();
    for base in own {
        let rest = lower.strip_prefix(&base).map(|rest| &to[to.len() - rest.len()..]);
        match rest {
            Some("") => return "/".to_owned(),
            Some(path) if path.starts_with(['/', '?']) => return without_dots(path),
            _ => {}
        }
    }
    // Scheme and host are compared without case (RFC 3986 section 6.2.2.1).
    let begin = to.find("://").map_or(0, |at| at + 3);
    let end = to[begin..].find('/').map_or(to.len(), |at| begin + at);
    let path = if begin == 0 { to } else { &to[end..] };
    let origin = if begin == 0 { "" } else { &lower[..end] };
    format!("{origin}{}", without_dots(path))
}

/// A path without dot segments, as a browser asks for it (RFC 3986 section 5.2.4).
fn without_dots(target: &str) -> String {
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let mut out = Vec::new();
    let last = target[..end].split('/').count();
    for (at, segment) in target[..end].split('/').enumerate() {
        let closing = at + 1 == last;
        match segment.to_ascii_lowercase().replace("%2e", ".").as_str() {
            "." if closing => out.push(""),
            "." => {}
            ".." => {
                if out.len() > 1 {
                    out.pop();
                }
                if closing {
                    out.push("");
                }
            }
            _ => out.push(segment),
        }
    }
    format!("{}{}", out.join("/"), &target[end..])
}
