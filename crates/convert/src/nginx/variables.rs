//! nginx's variables as placeholders of Steelyard's templates.

/// Converts `https://$host$request_uri` to `https://{host}{path}{query}`. The error names a variable without an
/// equivalent.
pub fn template(text: &str, tls: bool, name: Option<&str>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        literal(&rest[..at], &mut out)?;
        rest = &rest[at + 1..];
        let (variable, after) = match rest.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or("${")?,
            None => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                // A capture group has one digit.
                let end = if rest.starts_with(|c: char| c.is_ascii_digit()) { 1 } else { end };
                rest.split_at(end)
            }
        };
        rest = after;
        match variable {
            "host" | "http_host" => out.push_str("{host}"),
            "server_name" => out.push_str(name.ok_or("$server_name")?),
            "request_uri" => out.push_str("{path}{query}"),
            "uri" | "document_uri" => out.push_str("{path}"),
            "is_args" => {}
            "args" | "query_string" => out.push_str("{query}"),
            "scheme" => out.push_str(if tls { "https" } else { "http" }),
            digit if digit.len() == 1 && digit.bytes().all(|b| b.is_ascii_digit()) => {
                out.push_str(&format!("{{{digit}}}"));
            }
            other => return Err(format!("${other}")),
        }
    }
    literal(rest, &mut out)?;
    // The value of `{query}` begins with `?`, so the `?` of `?$args` is removed.
    Ok(out.replace("?{query}", "{query}"))
}

fn literal(text: &str, out: &mut String) -> Result<(), String> {
    if text.contains(['{', '}']) {
        return Err("{".to_owned());
    }
    out.push_str(text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_become_places() {
        for (text, expected) in [
            ("https://$host$request_uri", Ok("https://{host}{path}{query}")),
            ("https://$server_name$uri$is_args$args", Ok("https://a.example{path}{query}")),
            ("/x?$args", Ok("/x{query}")),
            ("$scheme://b/${1}0", Ok("https://b/{1}0")),
            ("/$10", Ok("/{1}0")),
            ("/$cookie_a", Err("$cookie_a")),
            ("/${", Err("${")),
            ("/{a}", Err("{")),
        ] {
            let found = template(text, true, Some("a.example"));
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}
