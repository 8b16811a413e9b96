//! A variable of nginx compared with a text or an expression, as a condition of a rule.

use std::net::IpAddr;

use crate::condition::{RuleCondition, escape_regex};

use super::constant::{self, search};
use super::request_uri;
use super::value_pattern::{ValuePattern, expression_condition, path_text, unknown};

/// The condition under which a variable of the request matches. `variable`: its name without `$`.
pub fn match_condition(variable: &str, pattern: &ValuePattern) -> RuleCondition {
    match variable {
        "host" | "http_host" => host(variable, pattern),
        "uri" | "document_uri" => path(pattern),
        "request_uri" => request_uri::condition(pattern),
        "host_uri" => host_and_path(pattern),
        "request_method" => method(pattern),
        "remote_addr" => client(pattern),
        "ssl_server_name" | "ssl_preread_server_name" => sni(pattern),
        _ => match variable.split_once('_') {
            Some(("http", name)) => valued("header", &name.replace('_', "-"), ": ", pattern),
            Some(("cookie", name)) => valued("cookie", name, "=", pattern),
            Some(("arg", name)) => valued("query", name, "=", pattern),
            _ => unknown(&format!("`${variable}` is nothing that a rule looks at")),
        },
    }
}

/// The condition under which a variable counts as true: it is neither empty nor `0`.
pub fn truth_condition(variable: &str) -> RuleCondition {
    let is = |text: &str| match_condition(variable, &ValuePattern::exact(text));
    match variable.split_once('_') {
        Some((kind @ ("cookie" | "arg"), name)) => {
            let key = if kind == "cookie" { "cookie" } else { "query" };
            let false_values = [format!("{name}="), format!("{name}=0")];
            RuleCondition::texts(key, &[name])
                .and(RuleCondition::texts(key, &false_values).negate())
        }
        _ => RuleCondition::Any(vec![is(""), is("0")]).negate(),
    }
}

fn host(variable: &str, pattern: &ValuePattern) -> RuleCondition {
    match pattern {
        ValuePattern::Text { text, .. } if text.is_empty() => unknown("each request has a host"),
        ValuePattern::Text { text, .. } if variable == "http_host" && text.contains(':') => {
            RuleCondition::AnyCase("header", vec![quoted(&format!("host: {}", escape_glob(text)))])
        }
        ValuePattern::Text { text, .. } if is_host(text) => {
            RuleCondition::texts("host", &[text.to_ascii_lowercase()])
        }
        ValuePattern::Text { .. } => RuleCondition::Is(false),
        ValuePattern::HostsBelow(domain) if is_host(domain) => {
            RuleCondition::texts("host", &[format!("*.{}", domain.to_ascii_lowercase())])
        }
        ValuePattern::HostsBegin(begin) if is_host(begin) => {
            let expression = format!("{}\\..+", escape_regex(begin));
            RuleCondition::texts("host-regex", &[expression])
        }
        ValuePattern::HostsBelow(_) | ValuePattern::HostsBegin(_) => RuleCondition::Is(false),
        ValuePattern::Search { expression, .. } => match host_alternatives(expression) {
            Some(hosts) => RuleCondition::texts("host", &hosts),
            None => expression_condition("host-regex", "", expression, false),
        },
    }
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
}

/// An expression of a few whole hosts: `^(a\.example|b\.example)$`.
fn host_alternatives(expression: &str) -> Option<Vec<String>> {
    let parts = whole_alternatives(expression)?;
    let plain = |one: &&str| {
        let letters = one.replace("\\.", "");
        !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    parts.iter().all(plain).then(|| parts.iter().map(|one| one.replace("\\.", ".")).collect())
}

/// The alternatives of `^(a|b)$` or `^a$`.
fn whole_alternatives(expression: &str) -> Option<Vec<&str>> {
    let body = expression.strip_prefix('^')?.strip_suffix('$')?;
    let grouped = body.strip_prefix('(').and_then(|body| body.strip_suffix(')'));
    let grouped = grouped.map(|body| body.strip_prefix("?:").unwrap_or(body));
    if grouped.is_none() && body.contains('|') {
        return None;
    }
    Some(grouped.unwrap_or(body).split('|').collect())
}

/// The path of `$uri`, which nginx decodes before it compares.
pub fn path(pattern: &ValuePattern) -> RuleCondition {
    match pattern {
        ValuePattern::Text { text, .. } if !text.starts_with('/') => RuleCondition::Is(false),
        ValuePattern::Text { text, ignore_case } => path_text(text, *ignore_case),
        ValuePattern::Search { expression, ignore_case } => {
            expression_condition("path-regex", "", expression, *ignore_case)
        }
        ValuePattern::HostsBelow(_) | ValuePattern::HostsBegin(_) => RuleCondition::Is(false),
    }
}

/// `$host$uri`: a host with a path behind it.
fn host_and_path(pattern: &ValuePattern) -> RuleCondition {
    match pattern {
        ValuePattern::Text { text, ignore_case } => match text.find('/') {
            Some(at) => host("host", &ValuePattern::exact(&text[..at]))
                .and(path_text(&text[at..], *ignore_case)),
            None => RuleCondition::Is(false),
        },
        _ => unknown("an expression is compared with a host or with a path, not with both"),
    }
}

fn method(pattern: &ValuePattern) -> RuleCondition {
    match pattern {
        ValuePattern::Text { text, ignore_case } => {
            let text = if *ignore_case { text.to_ascii_uppercase() } else { text.clone() };
            match !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase()) {
                true => RuleCondition::texts("method", &[text]),
                false => RuleCondition::Is(false),
            }
        }
        ValuePattern::Search { expression, ignore_case } => {
            let upper = |one: &&str| !one.is_empty() && one.bytes().all(|b| b.is_ascii_uppercase());
            match whole_alternatives(expression).filter(|all| all.iter().all(upper)) {
                Some(all) if !ignore_case => RuleCondition::texts("method", &all),
                _ => unknown("methods are compared whole"),
            }
        }
        ValuePattern::HostsBelow(_) | ValuePattern::HostsBegin(_) => RuleCondition::Is(false),
    }
}

fn client(pattern: &ValuePattern) -> RuleCondition {
    match pattern {
        ValuePattern::Text { text, .. } => match text.parse::<IpAddr>() {
            Ok(_) => RuleCondition::texts("client", &[text]),
            Err(_) => RuleCondition::Is(false),
        },
        ValuePattern::Search { expression, .. } => match constant::searched_network(expression) {
            Some(network) => RuleCondition::texts("client", &[network]),
            None => unknown("clients are compared by address and network"),
        },
        ValuePattern::HostsBelow(_) | ValuePattern::HostsBegin(_) => RuleCondition::Is(false),
    }
}

fn sni(pattern: &ValuePattern) -> RuleCondition {
    match pattern {
        ValuePattern::Text { text, .. } if is_host(text) => {
            RuleCondition::texts("sni", &[text.to_ascii_lowercase()])
        }
        ValuePattern::HostsBelow(domain) if is_host(domain) => {
            RuleCondition::texts("sni", &[format!("*.{}", domain.to_ascii_lowercase())])
        }
        ValuePattern::Search { expression, .. } => match host_alternatives(expression) {
            Some(hosts) => RuleCondition::texts("sni", &hosts),
            None => unknown("names of TLS are compared whole or below a domain"),
        },
        _ => unknown("names of TLS are compared whole or below a domain"),
    }
}

/// A field, a cookie or a parameter. One that is not there is empty in nginx.
fn valued(key: &'static str, name: &str, joint: &str, pattern: &ValuePattern) -> RuleCondition {
    let with = |values: &[String], ignore_case: bool| {
        let texts: Vec<String> =
            values.iter().map(|value| quoted(&format!("{name}{joint}{value}"))).collect();
        match ignore_case {
            true => RuleCondition::AnyCase(key, texts),
            false => RuleCondition::Key(key, texts),
        }
    };
    let absent = RuleCondition::texts(key, &[name]).negate();
    match pattern {
        ValuePattern::Text { text, .. } if text.is_empty() => match key {
            "header" => RuleCondition::texts("header-regex", &[format!("{name}: .+")]).negate(),
            _ => RuleCondition::Any(vec![absent, with(&[String::new()], false)]),
        },
        ValuePattern::Text { text, ignore_case } => {
            let has_case = text.bytes().any(|b| b.is_ascii_alphabetic());
            with(&[escape_glob(text)], *ignore_case && has_case)
        }
        ValuePattern::Search { expression, ignore_case } => {
            if let Some(globs) = searched_globs(expression) {
                let has_case = expression.bytes().any(|b| b.is_ascii_alphabetic());
                return with(&globs, *ignore_case && has_case);
            }
            if matches!(expression.as_str(), "." | ".+" | "^.+" | "^.+$") {
                return valued(key, name, joint, &ValuePattern::exact("")).negate();
            }
            if matches!(expression.as_str(), "^$") {
                return valued(key, name, joint, &ValuePattern::exact(""));
            }
            if key != "header" {
                return unknown(
                    "cookies and parameters are compared with `*`, not with expressions",
                );
            }
            let begin = format!("{name}: ");
            let there = expression_condition("header-regex", &begin, expression, *ignore_case);
            match search(expression, *ignore_case, "") {
                Some(true) => RuleCondition::Any(vec![there, absent]),
                _ => there,
            }
        }
        ValuePattern::HostsBelow(domain) => with(&[format!("?*.{}", escape_glob(domain))], true),
        ValuePattern::HostsBegin(begin) => with(&[format!("{}.?*", escape_glob(begin))], true),
    }
}

/// A search for plain text, or for one of a few: `bot`, `^(curl|wget)`.
fn searched_globs(expression: &str) -> Option<Vec<String>> {
    let (text, start) = expression.strip_prefix('^').map_or((expression, "*"), |rest| (rest, ""));
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
    parts
        .iter()
        .all(plain)
        .then(|| parts.iter().map(|part| format!("{start}{part}{end}")).collect())
}

fn quoted(text: &str) -> String {
    crate::value::quote(text)
}

/// A text in which no character stands for others.
fn escape_glob(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '*' | '?' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
