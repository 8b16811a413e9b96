//! A variable of nginx compared with a text or an expression, as a condition of a rule.

use std::net::{IpAddr, Ipv6Addr};

use crate::condition::{RuleCondition, escape_regex};
use crate::expression_search::search;
use crate::value::escape_glob;

use super::compared_value::{ComparedValue, expression_condition, path_search, path_text, unknown};
use super::constant;
use super::request_uri;

/// Fields of the connection, which rules do not see. `Upgrade` counts with its connection.
const CONNECTION_FIELDS: [&str; 8] = [
    "connection",
    "keep_alive",
    "proxy_connection",
    "te",
    "trailer",
    "transfer_encoding",
    "http2_settings",
    "expect",
];

/// The condition under which a variable of the request matches. `variable`: its name without `$`.
pub fn match_condition(variable: &str, pattern: &ComparedValue) -> RuleCondition {
    match variable {
        "host" => host(pattern),
        "http_host" => host_field(pattern),
        "uri" | "document_uri" => path(pattern),
        "request_uri" => request_uri::condition(pattern),
        "host_uri" => host_and_path(host, pattern),
        "http_host_uri" => host_and_path(host_field, pattern),
        "request_method" => method(pattern),
        "remote_addr" => client(pattern),
        "ssl_server_name" | "ssl_preread_server_name" => sni(pattern),
        _ => match variable.split_once('_') {
            Some(("http", name)) if CONNECTION_FIELDS.contains(&name) => unknown(&format!(
                "`${variable}` is a field of the connection, which no rule looks at"
            )),
            Some(("http", name)) => valued("header", &name.replace('_', "-"), ": ", pattern),
            Some(("cookie", name)) => valued("cookie", name, "=", pattern),
            Some(("arg", name)) => valued("query", name, "=", pattern),
            _ => unknown(&format!("`${variable}` is nothing that a rule looks at")),
        },
    }
}

/// The condition under which a variable counts as true: it is neither empty nor `0`.
pub fn truth_condition(variable: &str) -> RuleCondition {
    let is = |text: &str| match_condition(variable, &ComparedValue::exact(text));
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

/// `$http_host`: the field as the client wrote it, with its port and letter case.
fn host_field(pattern: &ComparedValue) -> RuleCondition {
    match pattern {
        ComparedValue::Text { text, .. } if text.is_empty() => unknown("each request has a host"),
        _ => valued("header", "host", ": ", pattern),
    }
}

fn host(pattern: &ComparedValue) -> RuleCondition {
    match pattern {
        ComparedValue::Text { text, .. } if text.is_empty() => unknown("each request has a host"),
        ComparedValue::Text { text, .. } if is_host(text) => {
            RuleCondition::texts("host", &[text.to_ascii_lowercase()])
        }
        ComparedValue::Text { .. } => RuleCondition::Is(false),
        ComparedValue::HostsBelow(domain) if is_host(domain) => {
            RuleCondition::texts("host", &[format!("*.{}", domain.to_ascii_lowercase())])
        }
        ComparedValue::HostsBegin(begin) if is_host(begin) => {
            let expression = format!("{}\\..+", escape_regex(begin));
            RuleCondition::texts("host-regex", &[expression])
        }
        ComparedValue::HostsBelow(_) | ComparedValue::HostsBegin(_) => RuleCondition::Is(false),
        ComparedValue::Search { expression, .. } => match host_alternatives(expression) {
            Some(hosts) => RuleCondition::texts("host", &hosts),
            None => expression_condition("host-regex", "", expression, false),
        },
    }
}

/// Whether rules can compare a host with this text. An IPv6 address stands in brackets.
fn is_host(text: &str) -> bool {
    let address = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    match address {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !text.is_empty() && text.bytes().all(is_name),
    }
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
pub fn path(pattern: &ComparedValue) -> RuleCondition {
    match pattern {
        ComparedValue::Text { text, .. } if !text.starts_with('/') => RuleCondition::Is(false),
        ComparedValue::Text { text, ignore_case } => path_text(text, *ignore_case),
        ComparedValue::Search { expression, ignore_case } => path_search(expression, *ignore_case),
        ComparedValue::HostsBelow(_) | ComparedValue::HostsBegin(_) => RuleCondition::Is(false),
    }
}

/// `$host$uri`: a host with a path behind it.
fn host_and_path(
    host: fn(&ComparedValue) -> RuleCondition,
    pattern: &ComparedValue,
) -> RuleCondition {
    match pattern {
        ComparedValue::Text { text, ignore_case } => match text.find('/') {
            Some(at) => {
                let name =
                    ComparedValue::Text { text: text[..at].to_owned(), ignore_case: *ignore_case };
                host(&name).and(path_text(&text[at..], *ignore_case))
            }
            None => RuleCondition::Is(false),
        },
        _ => unknown("an expression is compared with a host or with a path, not with both"),
    }
}

fn method(pattern: &ComparedValue) -> RuleCondition {
    match pattern {
        ComparedValue::Text { text, ignore_case } => {
            let text = if *ignore_case { text.to_ascii_uppercase() } else { text.clone() };
            match !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase()) {
                true => RuleCondition::texts("method", &[text]),
                false => RuleCondition::Is(false),
            }
        }
        ComparedValue::Search { expression, ignore_case } => {
            let upper = |one: &&str| !one.is_empty() && one.bytes().all(|b| b.is_ascii_uppercase());
            match whole_alternatives(expression).filter(|all| all.iter().all(upper)) {
                Some(all) if !ignore_case => RuleCondition::texts("method", &all),
                _ => unknown("methods are compared whole"),
            }
        }
        ComparedValue::HostsBelow(_) | ComparedValue::HostsBegin(_) => RuleCondition::Is(false),
    }
}

fn client(pattern: &ComparedValue) -> RuleCondition {
    match pattern {
        ComparedValue::Text { text, .. } => match text.parse::<IpAddr>() {
            Ok(_) => RuleCondition::texts("client", &[text]),
            Err(_) => RuleCondition::Is(false),
        },
        ComparedValue::Search { expression, .. } => match constant::searched_network(expression) {
            Some(network) => RuleCondition::texts("client", &[network]),
            None => unknown("clients are compared by address and network"),
        },
        ComparedValue::HostsBelow(_) | ComparedValue::HostsBegin(_) => RuleCondition::Is(false),
    }
}

fn sni(pattern: &ComparedValue) -> RuleCondition {
    match pattern {
        ComparedValue::Text { text, .. } if is_host(text) => {
            RuleCondition::texts("sni", &[text.to_ascii_lowercase()])
        }
        ComparedValue::HostsBelow(domain) if is_host(domain) => {
            RuleCondition::texts("sni", &[format!("*.{}", domain.to_ascii_lowercase())])
        }
        ComparedValue::Search { expression, .. } => match host_alternatives(expression) {
            Some(hosts) => RuleCondition::texts("sni", &hosts),
            None => unknown("names of TLS are compared whole or below a domain"),
        },
        _ => unknown("names of TLS are compared whole or below a domain"),
    }
}

/// A field, a cookie or a parameter. One that is not there is empty in nginx.
fn valued(key: &'static str, name: &str, joint: &str, pattern: &ComparedValue) -> RuleCondition {
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
        ComparedValue::Text { text, .. } if text.is_empty() => match key {
            "header" => RuleCondition::texts("header-regex", &[format!("{name}: .+")]).negate(),
            _ => RuleCondition::Any(vec![absent, with(&[String::new()], false)]),
        },
        ComparedValue::Text { text, ignore_case } => {
            let has_case = text.bytes().any(|b| b.is_ascii_alphabetic());
            with(&[escape_glob(text)], *ignore_case && has_case)
        }
        ComparedValue::Search { expression, ignore_case } => {
            if let Some(globs) = searched_globs(expression) {
                let has_case = expression.bytes().any(|b| b.is_ascii_alphabetic());
                return with(&globs, *ignore_case && has_case);
            }
            if matches!(expression.as_str(), "." | ".+" | "^.+" | "^.+$") {
                return valued(key, name, joint, &ComparedValue::exact("")).negate();
            }
            if matches!(expression.as_str(), "^$") {
                return valued(key, name, joint, &ComparedValue::exact(""));
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
        ComparedValue::HostsBelow(domain) => with(&[format!("?*.{}", escape_glob(domain))], true),
        ComparedValue::HostsBegin(begin) => with(&[format!("{}.?*", escape_glob(begin))], true),
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
