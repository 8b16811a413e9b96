//! What stands behind `proxy_pass` and `if`, taken apart.

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;

use super::tree::Directive;

pub struct PassTarget<'t> {
    pub scheme: &'t str,
    /// The host, with its port where it has one.
    pub host: &'t str,
    /// The path that takes the location's place.
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
    if rest.starts_with("unix:") || rest.is_empty() {
        return Err(UnsupportedReason::new(
            "only TCP servers are spoken to",
            "an address or a name, and a port",
        ));
    }
    let (host, uri) = match rest.find('/') {
        Some(at) => (&rest[..at], Some(&rest[at..])),
        None => (rest, None),
    };
    Ok(PassTarget { scheme, host, uri })
}

/// A word of `if` without its parentheses.
pub fn split_parens(arg: &str) -> Vec<String> {
    let arg = arg.trim_start_matches('(');
    let arg = arg.strip_suffix(')').unwrap_or(arg);
    if arg.is_empty() { Vec::new() } else { vec![arg.to_owned()] }
}

/// A comparison of `if`.
pub fn if_condition(words: &[&str]) -> Option<RuleCondition> {
    let (variable, operator, text) = match *words {
        [variable, operator @ ("=" | "!="), text] => (variable, operator, text),
        [variable] => (variable, "", ""),
        _ => return None,
    };
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
