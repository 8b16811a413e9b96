//! nginx's variables as placeholders of Steelyard's templates.

use std::collections::BTreeMap;

/// Converts `https://$host$request_uri` to `https://{host-name}{path}{query}`. The error names a variable without an
/// equivalent.
pub fn template(text: &str, tls: bool, name: Option<&str>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        literal(&rest[..at], &mut out)?;
        let found = SplitVariable::split(&rest[at + 1..]).ok_or("${")?;
        rest = found.rest;
        match found.name {
            "host" => out.push_str("{host-name}"),
            "http_host" => out.push_str("{host}"),
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
    let out = out.replace("?{query}", "{query}");
    // Behind a query of the text, that of the request needs none of its own.
    let out = match out.split_once('?') {
        Some((path, query)) => format!("{path}?{}", query.replace("&{query}", "{more-query}")),
        None => out,
    };
    // Where there is no query, what follows it would become a part of the path.
    match out.split_once("{query}") {
        Some((_, rest)) if !rest.is_empty() && !rest.starts_with('#') => Err("$args".to_owned()),
        _ => Ok(out),
    }
}

/// `$remote_addr` in a field's value as `{client}`; the variable that has no counterpart otherwise.
pub fn field_value(text: &str, tls: bool, name: Option<&str>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at].replace('{', "{{"));
        let found = SplitVariable::split(&rest[at + 1..]).ok_or("${")?;
        rest = found.rest;
        match found.name {
            "remote_addr" | "realip_remote_addr" => out.push_str("{client}"),
            "remote_port" => out.push_str("{client-port}"),
            "proxy_add_x_forwarded_for" => out.push_str("{client-chain}"),
            "scheme" => out.push_str(if tls { "https" } else { "http" }),
            "host" => out.push_str("{host-name}"),
            "http_host" => out.push_str("{host}"),
            "server_port" => out.push_str("{port}"),
            "server_name" => out.push_str(name.ok_or("$server_name")?),
            "ssl_server_name" => out.push_str("{sni}"),
            other => match other.strip_prefix("http_") {
                Some(field) => out.push_str(&format!("{{header.{}}}", field.replace('_', "-"))),
                None => return Err(format!("${other}")),
            },
        }
    }
    out.push_str(&rest.replace('{', "{{"));
    Ok(out)
}

/// The names of the variables in a text, in their order.
pub fn variable_names(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let Some(found) = SplitVariable::split(&rest[at + 1..]) else { break };
        out.push(found.name);
        rest = found.rest;
    }
    out.retain(|name| !name.is_empty());
    out
}

/// The text with this value in place of a variable.
pub fn replace_variable(text: &str, name: &str, value: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let Some(found) = SplitVariable::split(&rest[at + 1..]) else {
            rest = &rest[at..];
            break;
        };
        match found.name == name {
            true => out.push_str(value),
            false => out.push_str(&rest[at..rest.len() - found.rest.len()]),
        }
        rest = found.rest;
    }
    out.push_str(rest);
    out
}

/// A text with these values of variables.
pub fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = text.to_owned();
    for name in variable_names(text) {
        if let Some(value) = values.get(name) {
            out = replace_variable(&out, name, value);
        }
    }
    out
}

/// The name of the only variable of which a text consists.
pub fn only_variable(text: &str) -> Option<&str> {
    let found = SplitVariable::split(text.strip_prefix('$')?)?;
    (found.rest.is_empty() && !found.name.is_empty()).then_some(found.name)
}

/// A variable behind its `$`, and what follows it.
struct SplitVariable<'t> {
    name: &'t str,
    rest: &'t str,
}

impl<'t> SplitVariable<'t> {
    fn split(text: &'t str) -> Option<SplitVariable<'t>> {
        let (name, rest) = match text.strip_prefix('{') {
            Some(braced) => braced.split_once('}')?,
            None => {
                let end = text
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(text.len());
                // A group is one digit.
                let end = if text.starts_with(|c: char| c.is_ascii_digit()) { 1 } else { end };
                text.split_at(end)
            }
        };
        Some(SplitVariable { name, rest })
    }
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
    fn values_of_fields_have_variables() {
        for (text, expected) in [
            ("$remote_addr", Ok("{client}")),
            ("$proxy_add_x_forwarded_for", Ok("{client-chain}")),
            ("$scheme://$host:$server_port", Ok("https://{host-name}:{port}")),
            ("${http_x_id}{", Ok("{header.x-id}{{")),
            ("$cookie_a", Err("$cookie_a")),
            ("${", Err("${")),
        ] {
            let found = field_value(text, true, None);
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn variables_are_found_and_replaced() {
        assert_eq!(variable_names("$a-${b}c$d$"), ["a", "b", "d"]);
        assert_eq!(replace_variable("$a-${a}b$ab$", "a", "x"), "x-xb$ab$");
        assert_eq!(replace_variable("${", "a", "x"), "${");
        assert_eq!(only_variable("${a}"), Some("a"));
        assert_eq!(only_variable("$a/"), None);
    }

    #[test]
    fn variables_become_places() {
        for (text, expected) in [
            ("https://$host$request_uri", Ok("https://{host-name}{path}{query}")),
            ("https://$http_host/", Ok("https://{host}/")),
            ("/new?a=$1&$args", Ok("/new?a={1}{more-query}")),
            ("/new?$args&a=1", Err("$args")),
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
