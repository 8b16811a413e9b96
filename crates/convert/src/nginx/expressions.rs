//! Parses the arguments of `proxy_pass` and `if`.

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;

use super::tree::Directive;

pub struct PassTarget<'t> {
    pub scheme: &'t str,
    /// The host, with its port if it has one; or `unix:` and a path.
    pub host: &'t str,
    /// `host` as nginx names it to the server: a Unix socket is `localhost`.
    pub authority: &'t str,
    /// The path that replaces the location's prefix.
    pub uri: Option<&'t str>,
}

pub fn pass_target(pass: &Directive) -> Result<PassTarget<'_>, UnsupportedReason> {
    let text = pass.word(0).strip_suffix("$request_uri").unwrap_or(pass.word(0));
    if text.contains('$') {
        return Err(UnsupportedReason::new(
            "which server is meant depends on variables",
            "one rule for each pool",
        ));
    }
    let (scheme, rest) =
        text.split_once("://").ok_or_else(|| UnsupportedReason::new("it has no scheme", ""))?;
    if rest.is_empty() {
        return Err(UnsupportedReason::new("no server is named", "an address, and a port"));
    }
    if let Some(path) = rest.strip_prefix("unix:") {
        let length = path.find(':').unwrap_or(path.len());
        let (host, uri) = rest.split_at("unix:".len() + length);
        let uri = uri.strip_prefix(':').filter(|uri| !uri.is_empty());
        return Ok(PassTarget { scheme, host, authority: "localhost", uri });
    }
    let (host, uri) = match rest.find('/') {
        Some(at) => (&rest[..at], Some(&rest[at..])),
        None => (rest, None),
    };
    Ok(PassTarget { scheme, host, authority: host, uri })
}

/// The words of an `if` without the surrounding parentheses.
pub fn if_words(args: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Some(first) = words.first_mut() {
        *first = first.strip_prefix('(').unwrap_or(first);
    }
    if let Some(last) = words.last_mut() {
        *last = last.strip_suffix(')').unwrap_or(last);
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A comparison of `if`.
pub fn if_condition(words: &[&str]) -> Option<RuleCondition> {
    let (variable, operator, text) = match *words {
        [variable, operator @ ("=" | "!=" | "~" | "~*" | "!~" | "!~*"), text] => {
            (variable, operator, text)
        }
        [variable] => (variable, "", ""),
        _ => return None,
    };
    if let Some(condition) = alternatives_condition(variable, operator, text) {
        return Some(condition);
    }
    if operator.contains('~') {
        return search_condition(variable, operator, text);
    }
    let cond = match variable {
        "$host" | "$http_host" if !operator.is_empty() => RuleCondition::texts("host", &[text]),
        "$request_method" if !operator.is_empty() => RuleCondition::texts("method", &[text]),
        "$scheme" if text == "https" => RuleCondition::Tls,
        "$scheme" if text == "http" => RuleCondition::Tls.negate(),
        "$https" if operator.is_empty() || text == "on" => RuleCondition::Tls,
        _ => {
            let (kind, name) = variable.strip_prefix('$')?.split_once('_')?;
            let (key, separator) = match kind {
                "cookie" => ("cookie", "="),
                "arg" => ("query", "="),
                "http" => ("header", ": "),
                _ => return None,
            };
            let name = if kind == "http" { name.replace('_', "-") } else { name.to_owned() };
            match operator {
                "" => RuleCondition::texts(key, &[name]),
                _ => RuleCondition::texts(key, &[format!("{name}{separator}{text}")]),
            }
        }
    };
    Some(if operator == "!=" { cond.negate() } else { cond })
}

/// Converts a case-sensitive search for plain text in a header field, a cookie or a parameter: `bot`, `^(curl|wget)`.
fn search_condition(variable: &str, operator: &str, text: &str) -> Option<RuleCondition> {
    if operator.ends_with('*') {
        return None;
    }
    let (kind, name) = variable.strip_prefix('$')?.split_once('_')?;
    let (key, separator, name) = match kind {
        "http" => ("header", ": ", name.replace('_', "-")),
        "cookie" => ("cookie", "=", name.to_owned()),
        "arg" => ("query", "=", name.to_owned()),
        _ => return None,
    };
    let text = text.trim_matches('"');
    let (text, start) = text.strip_prefix('^').map_or((text, "*"), |rest| (rest, ""));
    let (text, end) = text.strip_suffix('$').map_or((text, "*"), |rest| (rest, ""));
    let grouped = text.strip_prefix('(').and_then(|body| body.strip_suffix(')'));
    // An anchor applies to one alternative only, unless a group encloses all of them.
    if grouped.is_none() && text.contains('|') && (start.is_empty() || end.is_empty()) {
        return None;
    }
    let parts: Vec<&str> = grouped.unwrap_or(text).split('|').collect();
    let plain = |one: &&str| {
        !one.is_empty() && one.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_ /".contains(&b))
    };
    if !parts.iter().all(plain) {
        return None;
    }
    let texts: Vec<String> =
        parts.iter().map(|part| format!("{name}{separator}{start}{part}{end}")).collect();
    let condition = RuleCondition::texts(key, &texts);
    Some(if operator.starts_with('!') { condition.negate() } else { condition })
}

/// Converts an expression that matches a few whole methods or hosts: `^(GET|HEAD)$`.
fn alternatives_condition(variable: &str, operator: &str, text: &str) -> Option<RuleCondition> {
    let key = match (variable, operator) {
        ("$request_method", "~" | "!~") => "method",
        // Host names are case-insensitive.
        ("$host" | "$http_host", "~" | "~*" | "!~" | "!~*") => "host",
        _ => return None,
    };
    let body = text.trim_matches('"').strip_prefix('^')?.strip_suffix('$')?;
    let body = body.strip_prefix('(').and_then(|body| body.strip_suffix(')')).unwrap_or(body);
    let plain = |one: &str| {
        let letters = one.replace("\\.", "");
        !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let all: Vec<String> = body.split('|').map(|one| one.replace("\\.", ".")).collect();
    if !body.split('|').all(plain) {
        return None;
    }
    let condition = RuleCondition::texts(key, &all);
    Some(if operator.starts_with('!') { condition.negate() } else { condition })
}
