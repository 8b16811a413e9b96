//! The matchers of rules as conditions. What has no counterpart becomes an unknown condition with its reason.

use crate::condition::{RuleCondition, escape_regex, whole_path};
use crate::draft_check::RouterLayer;
use crate::notes::UnsupportedReason;
use crate::path_expression::path_expression;
use crate::value::{self, escape_glob};

use super::rule_syntax::{MatcherCall, RuleExpression};

/// The deepest nesting of `all`, `any` and `not` that a rule of the output may have.
const CONDITION_DEPTH: usize = 8;

/// The condition of a rule.
pub fn rule_condition(expression: &RuleExpression, layer: RouterLayer) -> RuleCondition {
    if depth(expression) > CONDITION_DEPTH {
        return unknown("it nests deeper than a condition may");
    }
    condition(expression, layer)
}

fn depth(expression: &RuleExpression) -> usize {
    match expression {
        RuleExpression::Match(_) => 1,
        RuleExpression::Not(inner) => 1 + depth(inner),
        RuleExpression::All(parts) | RuleExpression::Any(parts) => {
            1 + parts.iter().map(depth).max().unwrap_or(0)
        }
    }
}

fn condition(expression: &RuleExpression, layer: RouterLayer) -> RuleCondition {
    let each = |parts: &[RuleExpression]| parts.iter().map(|part| condition(part, layer)).collect();
    match expression {
        RuleExpression::Match(call) if layer == RouterLayer::Http => http_matcher(call),
        RuleExpression::Match(call) => tcp_matcher(call),
        RuleExpression::Not(inner) => condition(inner, layer).negate(),
        RuleExpression::All(parts) => RuleCondition::All(each(parts)),
        RuleExpression::Any(parts) => RuleCondition::Any(each(parts)),
    }
}

fn unknown(reason: &str) -> RuleCondition {
    RuleCondition::Unknown(UnsupportedReason::new(reason, ""))
}

fn http_matcher(call: &MatcherCall) -> RuleCondition {
    let arguments = &call.arguments;
    match (call.name.as_str(), &arguments[..]) {
        ("host", hosts) => any(hosts, host),
        ("hostregexp", expressions) => any(expressions, |text| match template(text) {
            Some(expression) => RuleCondition::texts("host-regex", &[expression]),
            None => RuleCondition::texts("host-regex", &[whole_path(text, false)]),
        }),
        ("path", paths) => any(paths, |text| path(text, false)),
        ("pathprefix", paths) => any(paths, |text| path(text, true)),
        // Traefik looks at decoded paths.
        ("pathregexp", [expression]) => {
            RuleCondition::texts("path-regex", &[path_expression(expression, false)])
        }
        ("method", methods) => {
            let upper: Vec<String> = methods.iter().map(|one| one.to_ascii_uppercase()).collect();
            RuleCondition::texts("method", &upper)
        }
        // The host is no field there.
        ("header" | "headers" | "headerregexp" | "headersregexp", [name, _])
            if name.eq_ignore_ascii_case("host") =>
        {
            RuleCondition::Is(false)
        }
        ("header" | "headers" | "query", [_, value]) if value.is_empty() => {
            unknown("versions of Traefik differ in what an empty value means")
        }
        ("header" | "headers", [name, value]) => {
            RuleCondition::texts("header", &[format!("{name}: {}", escape_glob(value))])
        }
        ("headerregexp" | "headersregexp", [name, expression]) => {
            let whole = whole_path(expression, false);
            RuleCondition::texts("header-regex", &[format!("{name}: {whole}")])
        }
        // The older form: one text for each parameter.
        ("query", pairs) if pairs.iter().all(|pair| pair.contains('=')) => {
            let all = pairs.iter().map(|pair| RuleCondition::texts("query", &[escape_glob(pair)]));
            RuleCondition::All(all.collect())
        }
        ("query", [name]) => RuleCondition::texts("query", &[format!("{}=", escape_glob(name))]),
        ("query", [name, value]) => {
            let pair = format!("{}={}", escape_glob(name), escape_glob(value));
            RuleCondition::texts("query", &[pair])
        }
        ("queryregexp", [name, expression]) if matches!(&**expression, "^.*$" | ".*" | "") => {
            RuleCondition::texts("query", &[escape_glob(name)])
        }
        ("clientip", networks) => RuleCondition::texts("client", networks),
        ("queryregexp", _) => unknown("parameters are compared with texts, not with expressions"),
        _ => unknown(&format!("`{}` is no matcher with these arguments", call.name)),
    }
}

fn tcp_matcher(call: &MatcherCall) -> RuleCondition {
    match (call.name.as_str(), &call.arguments[..]) {
        ("hostsni", names) => any(names, |name| match name {
            "*" => RuleCondition::Is(true),
            name => RuleCondition::texts("sni", &[name.to_ascii_lowercase()]),
        }),
        ("hostsniregexp", [expression]) => match below(expression) {
            Some(name) => RuleCondition::texts("sni", &[format!("*.{name}")]),
            None => unknown("names of connections are compared whole or below a domain"),
        },
        ("clientip", networks) => RuleCondition::texts("client", networks),
        ("alpn", _) => unknown("a rule does not see the protocols that a client offers (ALPN)"),
        _ => unknown(&format!("`{}` is no matcher with these arguments", call.name)),
    }
}

/// The domain in an expression such as `^.+\.shop\.example$`.
fn below(expression: &str) -> Option<String> {
    if expression == "^.*$" || expression == ".*" {
        return None;
    }
    let body = expression.strip_prefix("^.+\\.")?.strip_suffix('$')?;
    let name = body.replace("\\.", ".");
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    (!body.replace("\\.", "").contains('.') && name.chars().all(plain)).then_some(name)
}

/// One of the arguments fits. Arguments of the same key become one list.
fn any(arguments: &[String], one: impl Fn(&str) -> RuleCondition) -> RuleCondition {
    let mut parts: Vec<RuleCondition> = Vec::new();
    for part in arguments.iter().map(|text| one(text)) {
        match (parts.last_mut(), part) {
            (Some(RuleCondition::Key(key, values)), RuleCondition::Key(other, more))
                if *key == other =>
            {
                values.extend(more);
            }
            (_, part) => parts.push(part),
        }
    }
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            RuleCondition::Any(parts)
        }
    }
}

fn host(text: &str) -> RuleCondition {
    if text == "*" {
        return RuleCondition::Is(true);
    }
    match text.strip_prefix("*.") {
        // One label, where a pattern of a host would fit several.
        Some(domain) => {
            RuleCondition::texts("host-regex", &[format!("[^.]+\\.{}", escape_regex(domain))])
        }
        None => RuleCondition::texts("host", &[text.to_ascii_lowercase()]),
    }
}

/// A path, or the beginning of one.
fn path(text: &str, prefix: bool) -> RuleCondition {
    if !text.starts_with('/') {
        return unknown("a path begins with a slash");
    }
    if text.contains('%') {
        return unknown("paths are decoded before they are compared, so that none has this `%`");
    }
    if prefix && text == "/" {
        return RuleCondition::Is(true);
    }
    let end = if prefix { ".*" } else { "" };
    if let Some(expression) = template(text) {
        return RuleCondition::texts("path-regex", &[format!("{expression}{end}")]);
    }
    let encoded = encode_path(text);
    if encoded.contains(['*', '?']) {
        let expression = format!("{}{end}", escape_regex(&encoded));
        return RuleCondition::texts("path-regex", &[expression]);
    }
    let end = if prefix { "*" } else { "" };
    RuleCondition::texts("path", &[format!("{encoded}{end}")])
}

/// A path with the characters percent-encoded that a URL may not have.
pub fn encode_path(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'#' | b'"' | b'<' | b'>' | b'`' | b'\\' => out.push_str(&format!("%{byte:02X}")),
            byte if byte.is_ascii_graphic() => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The older form of a host or a path, with `{name}` and `{name:expression}` in it, as an expression of the whole.
/// `None` if the text has no such part.
fn template(text: &str) -> Option<String> {
    let is_name = |name: &str| {
        let mut chars = name.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    let mut out = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find('{') {
        let end = closing_brace(&rest[start..])? + start;
        let inner = &rest[start + 1..end];
        let (name, expression) = inner.split_once(':').unwrap_or((inner, ""));
        if !is_name(name.trim()) {
            return None;
        }
        let whole_label = if text.starts_with('/') { "[^/]+" } else { "[^.]+" };
        let expression = if expression.is_empty() { whole_label } else { expression };
        out.push_str(&escape_regex(&rest[..start]));
        out.push_str(&format!("(?:{expression})"));
        rest = &rest[end + 1..];
        found = true;
    }
    out.push_str(&escape_regex(rest));
    found.then_some(out)
}

/// The position of the brace that closes the first one.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' => open = open.checked_sub(1)?,
            _ => {}
        }
        if open == 0 {
            return Some(at);
        }
    }
    None
}

/// The names of hosts in a rule, for certificates. Wildcards are those of one label.
pub fn rule_names(expression: &RuleExpression) -> Vec<String> {
    let mut out = Vec::new();
    for call in expression.matchers() {
        if !matches!(call.name.as_str(), "host" | "hostsni") {
            continue;
        }
        for name in call.arguments.iter().filter(|name| *name != "*") {
            let name = name.to_ascii_lowercase();
            if !out.contains(&name) {
                out.push(name);
            }
        }
    }
    out
}

/// Whether the rule takes nothing but hosts that it names.
pub fn is_bound_by_names(expression: &RuleExpression) -> bool {
    match expression {
        RuleExpression::Match(call) => {
            let is_host = matches!(call.name.as_str(), "host" | "hostsni");
            is_host && call.arguments.iter().all(|name| name != "*")
        }
        RuleExpression::Not(_) => false,
        RuleExpression::All(parts) => parts.iter().any(is_bound_by_names),
        RuleExpression::Any(parts) => parts.iter().all(is_bound_by_names),
    }
}

/// A TOML list of the networks of clients that are not in a list.
pub fn not_from(networks: &[String]) -> RuleCondition {
    let quoted = networks.iter().map(|one| value::quote(one)).collect();
    RuleCondition::Key("client", quoted).negate()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traefik::rule_syntax::parse_rule;

    fn when(rule: &str, layer: RouterLayer) -> String {
        let condition = rule_condition(&parse_rule(rule).unwrap(), layer);
        match condition.unknown() {
            Some(why) => format!("unknown: {}", why.reason),
            None => condition.simplify(false).to_when().unwrap_or_else(|| "always".to_owned()),
        }
    }

    #[test]
    fn matchers_of_both_syntaxes_become_conditions() {
        for (rule, expected) in [
            ("Host(`A.example`)", "{ host = \"a.example\" }"),
            ("Host(`a.example`, `b.example`)", "{ host = [\"a.example\", \"b.example\"] }"),
            ("Host(`*`)", "always"),
            ("Host(`*.a.example`)", "{ host-regex = \"[^.]+\\\\.a\\\\.example\" }"),
            ("HostRegexp(`^.+\\.a\\.example$`)", "{ host-regex = \".+\\\\.a\\\\.example\" }"),
            ("HostRegexp(`{sub:[a-z]{2}}.a.b`)", "{ host-regex = \"(?:[a-z]{2})\\\\.a\\\\.b\" }"),
            ("HostRegexp(`[a-z]{2,3}`)", "{ host-regex = \".*[a-z]{2,3}.*\" }"),
            ("PathPrefix(`/`)", "always"),
            ("PathPrefix(`/api`)", "{ path = \"/api*\" }"),
            ("Path(`/a*b`)", "{ path-regex = \"/a\\\\*b\" }"),
            ("Path(`/ü`)", "{ path = \"/%C3%BC\" }"),
            ("PathPrefix(`/v{n:[0-9]+}/x`)", "{ path-regex = \"/v(?:[0-9]+)/x.*\" }"),
            ("PathRegexp(`\\.jpg$`)", "{ path-regex = \".*\\\\.jpg\" }"),
            ("Method(`get`)", "{ method = \"GET\" }"),
            ("Header(`X-A`, `b*`)", "{ header = \"X-A: b\\\\*\" }"),
            ("HeadersRegexp(`X-A`, `^b`)", "{ header-regex = \"X-A: b.*\" }"),
            ("Query(`a`, `b`)", "{ query = \"a=b\" }"),
            ("Query(`a=b`)", "{ query = \"a=b\" }"),
            ("QueryRegexp(`a`, `^.*$`)", "{ query = \"a\" }"),
            ("ClientIP(`10.0.0.0/8`)", "{ client = \"10.0.0.0/8\" }"),
            ("!Path(`/a`)", "{ not = { path = \"/a\" } }"),
        ] {
            assert_eq!(when(rule, RouterLayer::Http), expected, "{rule}");
        }
        for (rule, expected) in [
            ("HostSNI(`*`)", "always"),
            ("HostSNI(`A.example`)", "{ sni = \"a.example\" }"),
            ("HostSNIRegexp(`^.+\\.a\\.example$`)", "{ sni = \"*.a.example\" }"),
        ] {
            assert_eq!(when(rule, RouterLayer::Tcp), expected, "{rule}");
        }
    }

    #[test]
    fn what_has_no_counterpart_is_unknown() {
        let deep = format!("{}Host(`a`) && Path(`/b`)){}", "!(".repeat(7), ")".repeat(6));
        for (rule, layer) in [
            ("QueryRegexp(`a`, `b+`)", RouterLayer::Http),
            ("HostSNI(`a`)", RouterLayer::Http),
            ("Path(`a`)", RouterLayer::Http),
            (&deep, RouterLayer::Http),
            ("ALPN(`h2`)", RouterLayer::Tcp),
            ("HostSNIRegexp(`a|b`)", RouterLayer::Tcp),
        ] {
            assert!(when(rule, layer).starts_with("unknown"), "{rule}");
        }
    }
}
