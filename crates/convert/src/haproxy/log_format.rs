//! Values made of HAProxy's log-format variables and fetches, with our variables in their places.

/// `%[src]` as `{client}`; `None`: something in it has no counterpart.
pub fn variables(text: &str) -> Option<String> {
    let of_two = |name: &str| match name {
        "ci" => Some("{client}"),
        "cp" => Some("{client-port}"),
        "fp" => Some("{port}"),
        _ => None,
    };
    substitute(text, &fetch_variable, &of_two)
}

/// As `variables`, for the place that a redirect leads to.
pub fn redirect_target(text: &str) -> Option<String> {
    if text.contains(['{', '}']) {
        return None;
    }
    let of_fetch = |fetch: &str| {
        let without_port = fetch.strip_suffix(",field(1,:)");
        let name = without_port.unwrap_or(fetch);
        let name = name.strip_suffix(",lower").unwrap_or(name).to_ascii_lowercase();
        if ["hdr(host)", "req.hdr(host)", "req.fhdr(host)"].contains(&name.as_str()) {
            let host = if without_port.is_some() { "{host-name}" } else { "{host}" };
            return Some(host.to_owned());
        }
        match fetch {
            "path" => Some("{path}".to_owned()),
            "capture.req.uri" | "pathq" | "url" => Some("{path}{query}".to_owned()),
            "query" => Some("{query}".to_owned()),
            _ => None,
        }
    };
    let of_two = |name: &str| match name {
        "HP" => Some("{path}"),
        "HQ" => Some("{query}"),
        "HU" => Some("{path}{query}"),
        _ => None,
    };
    let target = substitute(text, &of_fetch, &of_two)?;
    // Here the query has its mark, there only `%HQ` has.
    let query = "%[query]";
    let marked = format!("?{query}");
    match text.matches(query).count() == text.matches(&marked).count() {
        true => Some(target.replace("?{query}", "{query}")),
        false => None,
    }
}

/// The text with the variables of these fetches and two-letter names.
fn substitute(
    text: &str,
    of_fetch: &dyn Fn(&str) -> Option<String>,
    of_two: &dyn Fn(&str) -> Option<&'static str>,
) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&literal(&rest[..at]));
        rest = &rest[at + 1..];
        let variable = if let Some(after) = rest.strip_prefix('[') {
            let (fetch, after) = after.split_once(']')?;
            rest = after;
            of_fetch(fetch)?
        } else if let Some(after) = rest.strip_prefix('%') {
            rest = after;
            "%".to_owned()
        } else {
            let (name, after) = rest.split_at_checked(2)?;
            rest = after;
            // A longer name is another variable: `%ci` ends where no letter follows.
            if rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
                return None;
            }
            of_two(name)?.to_owned()
        };
        out.push_str(&variable);
    }
    out.push_str(&literal(rest));
    Some(out)
}

/// As `variables`, for a field of an answer, whose request is gone.
fn answer_variables(text: &str) -> Option<String> {
    let of_request =
        |template: &str| ["{host}", "{header."].iter().any(|name| template.contains(name));
    variables(text).filter(|template| !of_request(&template.replace("{{", "")))
}

/// As `variables`, for a field of a request or of an answer.
pub fn message_variables(text: &str, of_request: bool) -> Option<String> {
    if of_request { variables(text) } else { answer_variables(text) }
}

/// Whether a value has the last element of a field that may be a list, or the last line of one. Ours has all of them.
pub fn takes_last(text: &str) -> bool {
    let is_listed = |part: &str| {
        let fetch = part.split(']').next().unwrap_or_default().to_ascii_lowercase();
        let is_field = ["hdr(", "req.hdr(", "req.fhdr("].iter().any(|kind| fetch.starts_with(kind));
        is_field && !fetch.ends_with("(host)")
    };
    text.split("%[").skip(1).any(is_listed)
}

fn literal(text: &str) -> String {
    text.replace('{', "{{")
}

fn fetch_variable(fetch: &str) -> Option<String> {
    let named = |kinds: &[&str]| {
        let (kind, name) = fetch.split_once('(')?;
        let name = name.strip_suffix(')').filter(|name| !name.contains([',', '(']))?;
        kinds.contains(&kind).then(|| name.to_ascii_lowercase())
    };
    Some(match fetch {
        "src" => "{client}".to_owned(),
        "src_port" => "{client-port}".to_owned(),
        "dst_port" => "{port}".to_owned(),
        "ssl_fc_sni" => "{sni}".to_owned(),
        "ssl_fc,iif(https,http)" => "{scheme}".to_owned(),
        _ => match named(&["hdr", "req.hdr", "req.fhdr"])?.as_str() {
            "host" => "{host}".to_owned(),
            name => format!("{{header.{name}}}"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_their_counterparts() {
        for (text, expected) in [
            ("%[src]", Some("{client}")),
            ("for=%ci;by=x", Some("for={client};by=x")),
            ("%[req.hdr(X-Id)] {", Some("{header.x-id} {{")),
            ("%[hdr(host)]", Some("{host}")),
            ("100%%", Some("100%")),
            ("%[src,ipmask(24)]", None),
            ("%[var(txn.a)]", None),
            ("%cip", None),
            ("%", None),
            ("%[src", None),
        ] {
            assert_eq!(variables(text).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("https://%[hdr(host)]%[capture.req.uri]", Some("https://{host}{path}{query}")),
            ("https://www.%[req.hdr(Host),lower]%[pathq]", Some("https://www.{host}{path}{query}")),
            (
                "https://%[hdr(host),field(1,:)]:8443%HU",
                Some("https://{host-name}:8443{path}{query}"),
            ),
            ("https://a.example%[path]?%[query]", Some("https://a.example{path}{query}")),
            ("https://a.example/x%HQ", Some("https://a.example/x{query}")),
            ("/login?next=%[query]", None),
            ("https://a.example%[path,lower]", None),
            ("https://%[hdr(host),regsub(^www.,,)]", None),
            ("https://%[src]/", None),
            ("https://a.example/{x}", None),
            ("/a", Some("/a")),
        ] {
            assert_eq!(redirect_target(text).as_deref(), expected, "{text}");
        }
    }
}
