//! Values made of HAProxy's log-format variables and fetches, with our variables in their places.

/// `%[src]` as `{client}`; `None`: something in it has no counterpart.
pub fn variables(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&literal(&rest[..at]));
        rest = &rest[at + 1..];
        let variable = if let Some(after) = rest.strip_prefix('[') {
            let (fetch, after) = after.split_once(']')?;
            rest = after;
            fetch_variable(fetch)?
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
            match name {
                "ci" => "{client}",
                "cp" => "{client-port}",
                "fp" => "{port}",
                _ => return None,
            }
            .to_owned()
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

fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('\\', "")
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
    }
}
