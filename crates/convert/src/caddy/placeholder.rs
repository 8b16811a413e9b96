//! Placeholders such as `{host}` and `{http.request.header.X}`, as variables of rules.

use crate::notes::UnsupportedReason;

/// Where a text with placeholders goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateUse {
    /// The value of a header field.
    Field,
    /// The target of a redirect, from a site with or without TLS.
    Redirect { tls: bool },
    /// The path after a rewrite.
    Path,
}

/// The text with variables in place of its placeholders.
///
/// # Errors
/// A placeholder has no variable.
pub fn template(text: &str, place: TemplateUse) -> Result<String, UnsupportedReason> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let before = &rest[..at];
        out.push_str(before);
        let tail = &rest[at..];
        let end = tail.find('}').filter(|end| is_name(&tail[1..*end]));
        let Some(end) = end else {
            if place != TemplateUse::Field {
                return Err(unsupported("{"));
            }
            out.push_str("{{");
            rest = &tail[1..];
            continue;
        };
        let name = &tail[1..end];
        rest = &tail[end + 1..];
        if place == TemplateUse::Field {
            out.push_str(&field_variable(name).ok_or_else(|| unsupported(name))?);
            continue;
        }
        let is_query = matches!(name, "query" | "http.request.uri.query");
        if is_query && out.ends_with('?') {
            out.pop();
        } else if is_query && matches!(place, TemplateUse::Redirect { .. }) && is_after_query(&out)
        {
            out.pop();
            out.push_str("{more-query}");
            continue;
        } else if is_query {
            return Err(unsupported(name));
        }
        out.push_str(&url_variable(name, place).ok_or_else(|| unsupported(name))?);
    }
    out.push_str(rest);
    Ok(out)
}

/// Whether the query of a request can follow that of a text.
fn is_after_query(text: &str) -> bool {
    text.contains('?') && text.ends_with('&') && !text.ends_with("?&")
}

/// Whether a text has a placeholder.
pub fn has_placeholder(text: &str) -> bool {
    let mut parts = text.split('{').skip(1);
    parts.any(|part| part.split_once('}').is_some_and(|(name, _)| is_name(name)))
}

fn unsupported(name: &str) -> UnsupportedReason {
    let reason = format!("rules have no variable for `{{{}}}`", name.trim_matches(['{', '}']));
    UnsupportedReason::new(reason, "`rewrite` with the variables that rules have")
}

fn is_name(name: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"._-*:>".contains(&b);
    !name.is_empty() && name.bytes().all(good)
}

fn field_variable(name: &str) -> Option<String> {
    let header = name.strip_prefix("http.request.header.").or(name.strip_prefix("header."));
    if let Some(header) = header {
        let plain = header.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        return plain.then(|| format!("{{header.{}}}", header.to_ascii_lowercase()));
    }
    let variable = match name {
        "host" | "http.request.host" => "{host-name}",
        "hostport" | "http.request.hostport" => "{host}",
        "remote_host" | "http.request.remote.host" | "client_ip" | "http.vars.client_ip" => {
            "{client}"
        }
        "remote_port" | "http.request.remote.port" => "{client-port}",
        "remote" | "http.request.remote" => "{client}:{client-port}",
        "scheme" | "http.request.scheme" => "{scheme}",
        "http.request.tls.server_name" => "{sni}",
        "http.request.local.port" => "{port}",
        _ => return None,
    };
    Some(variable.to_owned())
}

fn url_variable(name: &str, place: TemplateUse) -> Option<String> {
    let redirect = matches!(place, TemplateUse::Redirect { .. });
    let variable = match name {
        "uri" | "http.request.uri" => "{path}{query}",
        "http.request.orig_uri" if redirect => "{path}{query}",
        "path" | "http.request.uri.path" => "{path}",
        "http.request.orig_uri.path" if redirect => "{path}",
        "query" | "http.request.uri.query" => "{query}",
        "host" | "http.request.host" if redirect => "{host-name}",
        "hostport" | "http.request.hostport" if redirect => "{host}",
        "scheme" | "http.request.scheme" => match place {
            TemplateUse::Redirect { tls: true } => "https",
            TemplateUse::Redirect { tls: false } => "http",
            _ => return None,
        },
        _ => return None,
    };
    Some(variable.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_variables() {
        let redirect = TemplateUse::Redirect { tls: true };
        for (text, place, expected) in [
            ("{remote_host}", TemplateUse::Field, Some("{client}")),
            ("{http.request.header.X-A} {", TemplateUse::Field, Some("{header.x-a} {{")),
            ("{tls_client_subject}", TemplateUse::Field, None),
            ("https://{host}{uri}", redirect, Some("https://{host-name}{path}{query}")),
            ("https://{hostport}/", redirect, Some("https://{host}/")),
            ("/new?x=1&{query}", redirect, Some("/new?x=1{more-query}")),
            ("{scheme}://www.{host}/?{query}", redirect, Some("https://www.{host-name}/{query}")),
            ("/a{path}", TemplateUse::Path, Some("/a{path}")),
            ("/a?x={query}", redirect, None),
            ("/{re.x.1}", redirect, None),
        ] {
            assert_eq!(template(text, place).ok().as_deref(), expected, "{text}");
        }
    }
}
