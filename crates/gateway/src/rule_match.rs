//! The matches of a rule as conditions of the configuration, and their precedence.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::backends::ConditionFailure;
use crate::objects::routes::{GrpcMethod, GrpcRouteMatch, HttpRouteMatch, NamedValue, PathValue};
use crate::toml_text::{ConfigEntry, escape_glob, inline_table, list, quote};

/// The methods that a match may name.
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// One match of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchPlan {
    pub rank: MatchRank,
    pub path: PathPlan,
    /// What must hold beside the host and the path.
    pub criteria: Vec<ConfigEntry>,
}

/// The precedence of a match. Smaller comes first.
///
/// Of HTTP: the kind of the path's match, its length, a method, the number of headers, that of parameters. Of gRPC: the
/// lengths of service and method, then the number of headers. The specification leaves expressions to us: those of HTTP
/// come behind exact paths and before prefixes, those of gRPC behind names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatchRank {
    path_class: u8,
    path_length: Reverse<usize>,
    method: Reverse<usize>,
    headers: Reverse<usize>,
    parameters: Reverse<usize>,
}

/// What a match wants of the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPlan {
    Any,
    Exact(String),
    /// Whole segments, without a slash at the end.
    Prefix(String),
    /// Every one of these patterns, as the configuration has them.
    Pattern(String),
    Expression(String),
}

impl PathPlan {
    /// The condition, if there is one.
    pub fn entry(&self) -> Option<ConfigEntry> {
        match self {
            PathPlan::Any => None,
            PathPlan::Exact(path) if has_wildcard(path) => {
                Some(ConfigEntry::text("path-regex", &escape_expression(path)))
            }
            PathPlan::Prefix(path) if has_wildcard(path) => {
                let expression = format!("{}(/.*)?", escape_expression(path));
                Some(ConfigEntry::text("path-regex", &expression))
            }
            PathPlan::Exact(path) | PathPlan::Pattern(path) => {
                Some(ConfigEntry::text("path", path))
            }
            PathPlan::Prefix(path) => {
                let both = [quote(path), quote(&format!("{path}/*"))];
                Some(ConfigEntry::new("path", list(both)))
            }
            PathPlan::Expression(text) => Some(ConfigEntry::text("path-regex", text)),
        }
    }
}

/// Plans a match of an HTTPRoute.
///
/// # Errors
/// It wants something that the configuration cannot compare.
pub fn plan_http_match(wanted: &HttpRouteMatch) -> Result<MatchPlan, ConditionFailure> {
    let default = PathValue::default();
    let path_value = wanted.path.as_ref().unwrap_or(&default);
    let text = path_value.value.as_deref().unwrap_or("/");
    let kind = path_value.kind.as_deref().unwrap_or("PathPrefix");
    let path = match kind {
        "Exact" => PathPlan::Exact(text.to_owned()),
        "PathPrefix" => match text.trim_end_matches('/') {
            "" => PathPlan::Any,
            prefix => PathPlan::Prefix(prefix.to_owned()),
        },
        "RegularExpression" => PathPlan::Expression(text.to_owned()),
        other => return unsupported(&format!("a match of type {other} of the path")),
    };
    let path_class = match kind {
        "Exact" => 0,
        "RegularExpression" => 1,
        _ => 2,
    };
    let path_length = match &path {
        PathPlan::Any => 1,
        PathPlan::Exact(text) | PathPlan::Prefix(text) => text.len(),
        PathPlan::Pattern(text) | PathPlan::Expression(text) => text.len(),
    };
    let mut criteria = Vec::new();
    if let Some(method) = &wanted.method {
        if !METHODS.contains(&method.as_str()) {
            return unsupported(&format!("the method {method}"));
        }
        criteria.push(ConfigEntry::text("method", method));
    }
    let headers = header_criteria(&wanted.headers, &mut criteria)?;
    let parameters = parameter_criteria(&wanted.query_params, &mut criteria)?;
    let rank = MatchRank {
        path_class,
        path_length: Reverse(path_length),
        method: Reverse(usize::from(wanted.method.is_some())),
        headers: Reverse(headers),
        parameters: Reverse(parameters),
    };
    Ok(MatchPlan { rank, path, criteria })
}

/// Plans a match of a GRPCRoute: a call of gRPC is a request for `/SERVICE/METHOD`.
///
/// # Errors
/// It wants something that the configuration cannot compare.
pub fn plan_grpc_match(wanted: &GrpcRouteMatch) -> Result<MatchPlan, ConditionFailure> {
    let default = GrpcMethod::default();
    let method = wanted.method.as_ref().unwrap_or(&default);
    let part = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let service = part(&method.service);
    let name = part(&method.method);
    let lengths = [&service, &name].map(|text| text.as_ref().map_or(0, String::len));
    let path = match method.kind.as_deref().unwrap_or("Exact") {
        "Exact" => match (service, name) {
            (Some(service), Some(name)) => PathPlan::Exact(format!("/{service}/{name}")),
            (Some(service), None) => PathPlan::Pattern(format!("/{service}/*")),
            (None, Some(name)) => PathPlan::Pattern(format!("/*/{name}")),
            (None, None) => PathPlan::Any,
        },
        "RegularExpression" => match (service, name) {
            (None, None) => PathPlan::Any,
            (service, name) => {
                let text = |part: Option<String>| part.unwrap_or_else(|| "[^/]+".to_owned());
                PathPlan::Expression(format!("/(?:{})/(?:{})", text(service), text(name)))
            }
        },
        other => return unsupported(&format!("a match of type {other} of the method")),
    };
    let mut criteria = Vec::new();
    let headers = header_criteria(&wanted.headers, &mut criteria)?;
    let path_class = match path {
        PathPlan::Any => 2,
        PathPlan::Expression(_) => 1,
        PathPlan::Exact(_) | PathPlan::Prefix(_) | PathPlan::Pattern(_) => 0,
    };
    let rank = MatchRank {
        path_class,
        path_length: Reverse(lengths[0]),
        method: Reverse(lengths[1]),
        headers: Reverse(headers),
        parameters: Reverse(0),
    };
    Ok(MatchPlan { rank, path, criteria })
}

/// The condition of a rule: every criterion must hold. A key that comes several times goes into `all`, because several
/// values of one key are alternatives.
pub fn condition_table(entries: &[ConfigEntry]) -> Option<ConfigEntry> {
    let mut plain: Vec<ConfigEntry> = Vec::new();
    let mut more: Vec<String> = Vec::new();
    for entry in entries {
        if plain.iter().any(|known| known.key == entry.key) {
            more.push(inline_table(std::slice::from_ref(entry)));
        } else {
            plain.push(entry.clone());
        }
    }
    if !more.is_empty() {
        plain.push(ConfigEntry::new("all", list(more)));
    }
    (!plain.is_empty()).then(|| ConfigEntry::new("when", inline_table(&plain)))
}

/// Adds the headers to the criteria and returns how many there are. Of several with one name the first counts.
fn header_criteria(
    headers: &[NamedValue],
    criteria: &mut Vec<ConfigEntry>,
) -> Result<usize, ConditionFailure> {
    let mut seen = BTreeSet::new();
    for header in headers {
        if !seen.insert(header.name.to_ascii_lowercase()) {
            continue;
        }
        let name = &header.name;
        criteria.push(match header.kind.as_deref().unwrap_or("Exact") {
            "Exact" => {
                ConfigEntry::text("header", &format!("{name}: {}", escape_glob(&header.value)))
            }
            "RegularExpression" => {
                ConfigEntry::text("header-regex", &format!("{name}: {}", header.value))
            }
            other => return unsupported(&format!("a match of type {other} of the header {name}")),
        });
    }
    Ok(seen.len())
}

/// The same of parameters of the query, whose names have letter case.
fn parameter_criteria(
    parameters: &[NamedValue],
    criteria: &mut Vec<ConfigEntry>,
) -> Result<usize, ConditionFailure> {
    let mut seen = BTreeSet::new();
    for parameter in parameters {
        let name = &parameter.name;
        if !seen.insert(name.as_str()) {
            continue;
        }
        let kind = parameter.kind.as_deref().unwrap_or("Exact");
        if kind != "Exact" {
            return unsupported(&format!("a match of type {kind} of the parameter {name}"));
        }
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
        if !name.bytes().all(is_plain) {
            return unsupported(&format!("a parameter of the name {name}"));
        }
        let text = format!("{name}={}", escape_glob(&parameter.value));
        criteria.push(ConfigEntry::text("query", &text));
    }
    Ok(seen.len())
}

fn has_wildcard(path: &str) -> bool {
    path.contains(['*', '?'])
}

/// A path as an expression that fits itself alone.
fn escape_expression(path: &str) -> String {
    let mut out = String::new();
    for c in path.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn unsupported<T>(what: &str) -> Result<T, ConditionFailure> {
    Err(ConditionFailure::new("UnsupportedValue", format!("{what} is not supported")))
}
