//! The pattern of a `RewriteRule` and its conditions, as one condition of a rule.

use crate::condition::{RuleCondition, escape_regex, whole_path};
use crate::expression_search::search;
use crate::nginx::path_text::encode_path;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::path_expression::path_expression;
use crate::statement::ConfigStatement;

use super::client_networks::{ProxyTrust, client_condition};
use super::rewrite_flags::RewriteFlags;
use super::scope::SectionPath;

/// The condition that a path fits the pattern of a rule.
pub fn pattern_condition(pattern: &str, ignore_case: bool) -> RuleCondition {
    let bare = pattern.strip_prefix('!').unwrap_or(pattern);
    let always =
        matches!(bare, "^/(.*)$" | "^/?(.*)$" | "/(.*)" | "^/(.*)" | "^/?(.*)" | "^(/.*)$");
    let when = match always {
        true => RuleCondition::Is(true),
        false if ignore_case => RuleCondition::texts("path-regex", &[path_expression(bare, true)]),
        false => SectionPath::found_by(bare).when,
    };
    if bare.len() < pattern.len() { when.negate() } else { when }
}

/// Conditions are joined by `and`, and those with `[OR]` with the next one.
pub fn all_conditions(
    list: &[&ConfigStatement],
    port: u16,
    trust: &ProxyTrust,
    notes: &mut ConversionNotes,
) -> RuleCondition {
    let mut all = Vec::new();
    let mut any = Vec::new();
    for one in list {
        let flags = RewriteFlags::read(one.words_from(2).first().map_or("", String::as_str));
        let ignore_case = flags.has(&["NC", "nocase"]);
        let mut condition = condition(one.word(0), one.word(1), ignore_case, port);
        if one.word(0) == "%{REMOTE_ADDR}" {
            condition = trust.bound(condition);
        }
        one.settle_converted(notes);
        if let Some(why) = condition.unknown().cloned() {
            notes.left_out_because(one.source, &one.text(), &why);
        }
        any.push(condition);
        if !flags.has(&["OR", "ornext"]) {
            all.push(RuleCondition::Any(std::mem::take(&mut any)));
        }
    }
    if !any.is_empty() {
        all.push(RuleCondition::Any(any));
    }
    RuleCondition::All(all)
}

fn unknown(text: &str) -> RuleCondition {
    let reason = format!("there is no condition like `{text}`");
    RuleCondition::Unknown(UnsupportedReason::new(reason, "`when` of a rule"))
}

fn condition(test: &str, pattern: &str, ignore_case: bool, port: u16) -> RuleCondition {
    let negated = pattern.starts_with('!');
    let bare = pattern.strip_prefix('!').unwrap_or(pattern);
    let inner = compare_variable(test, bare, ignore_case, port);
    if negated { inner.negate() } else { inner }
}

/// The field of a server variable such as `%{HTTP_USER_AGENT}` or `%{HTTP:Upgrade}`.
fn tested_field(variable: &str) -> Option<String> {
    if let Some(name) = variable.strip_prefix("HTTP:") {
        return Some(name.to_owned());
    }
    let field = match variable {
        "HTTP_USER_AGENT" => "User-Agent",
        "HTTP_REFERER" => "Referer",
        "HTTP_COOKIE" => "Cookie",
        "HTTP_ACCEPT" => "Accept",
        "HTTP_FORWARDED" => "Forwarded",
        _ => return None,
    };
    Some(field.to_owned())
}

/// The condition that a variable such as `%{HTTP_HOST}` fits a pattern.
pub fn compare_variable(test: &str, pattern: &str, ignore_case: bool, port: u16) -> RuleCondition {
    // Files are not served, so that none is there.
    if matches!(pattern, "-f" | "-d" | "-s" | "-l" | "-L" | "-h" | "-x") {
        return RuleCondition::Is(false);
    }
    let variable = test.strip_prefix("%{").and_then(|text| text.strip_suffix('}'));
    let Some(variable) = variable else { return unknown(test) };
    // An operator compares in an order, or looks for files. An empty expression is found everywhere.
    if pattern.starts_with(['-', '<', '>']) {
        return unknown(&format!("{test} {pattern}"));
    }
    if pattern.is_empty() {
        return RuleCondition::Is(true);
    }
    let literal = pattern.strip_prefix('=').map(|text| text.trim_matches('"').to_owned());
    let plain = pattern.trim_start_matches(['^', '=']).trim_end_matches('$');
    match variable {
        "HTTPS" if plain.eq_ignore_ascii_case("on") => RuleCondition::Tls,
        "HTTPS" if plain.eq_ignore_ascii_case("off") => RuleCondition::Tls.negate(),
        "REQUEST_SCHEME" if plain == "https" => RuleCondition::Tls,
        "REQUEST_SCHEME" if plain == "http" => RuleCondition::Tls.negate(),
        "SERVER_PORT" if !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_digit()) => {
            let port = port.to_string();
            let is_whole = pattern.starts_with('=') || pattern == format!("^{plain}$");
            RuleCondition::Is(match is_whole {
                true => port == plain,
                false if pattern.starts_with('^') => port.starts_with(plain),
                false if pattern.ends_with('$') => port.ends_with(plain),
                false => port.contains(plain),
            })
        }
        "REMOTE_ADDR" => match client_address(pattern, literal) {
            Some(address) => client_condition(&[address]),
            None => unknown(&format!("{test} {pattern}")),
        },
        "REQUEST_METHOD" if is_word_list(plain) => {
            let methods: Vec<&str> = plain.trim_matches(['(', ')']).split('|').collect();
            RuleCondition::texts("method", &methods)
        }
        "REQUEST_URI" | "REQUEST_FILENAME" => match literal {
            Some(path) => RuleCondition::texts("path", &[encode_path(&path)]),
            None if ignore_case => {
                RuleCondition::texts("path-regex", &[path_expression(pattern, true)])
            }
            None => SectionPath::found_by(pattern).when,
        },
        "HTTP_HOST" | "SERVER_NAME" => match literal {
            Some(host) => RuleCondition::texts("host", &[host.to_ascii_lowercase()]),
            None if matches!(pattern, "." | ".+") => RuleCondition::Is(true),
            None if pattern == "^$" => RuleCondition::Is(false),
            None => RuleCondition::texts("host-regex", &[whole_path(pattern, true)]),
        },
        _ => match tested_field(variable) {
            Some(field) => field_condition(&field, pattern, literal, ignore_case),
            None => unknown(&format!("{test} {pattern}")),
        },
    }
}

/// The address or the network of an expression such as `^10\.1\.`. `None` for any other expression.
fn client_address(pattern: &str, literal: Option<String>) -> Option<String> {
    if literal.is_some() {
        return literal;
    }
    let body = pattern.strip_prefix('^')?;
    let is_whole = body.ends_with('$');
    let text = body.trim_end_matches('$').replace("\\.", "/");
    if !text.bytes().all(|b| b.is_ascii_digit() || b == b'/') {
        return None;
    }
    let parts = text.split('/').filter(|part| !part.is_empty()).count();
    // Without a dot at its end, `^10` is the beginning of `100`, too.
    let is_network = text.ends_with('/') && parts < 4 && !is_whole;
    let is_address = is_whole && parts == 4 && !text.ends_with('/');
    (is_network || is_address).then(|| text.replace('/', "."))
}

fn is_word_list(text: &str) -> bool {
    let inner = text.trim_matches(['(', ')']);
    !inner.is_empty() && inner.bytes().all(|b| b.is_ascii_uppercase() || b == b'|')
}

fn field_condition(
    field: &str,
    pattern: &str,
    literal: Option<String>,
    ignore_case: bool,
) -> RuleCondition {
    let absent = RuleCondition::texts("header", &[field]).negate();
    if pattern == "^$" || literal.as_deref() == Some("") {
        return absent.or(RuleCondition::texts("header-regex", &[format!("{field}: ")]));
    }
    let is_text = literal.is_some();
    let expression =
        literal.map_or(pattern.to_owned(), |text| format!("^{}$", escape_regex(&text)));
    let whole = whole_path(&expression, ignore_case);
    let present = RuleCondition::texts("header-regex", &[format!("{field}: {whole}")]);
    // A field that is not there has an empty text, in which an expression may find something.
    match is_text || expression.bytes().all(|b| b.is_ascii_alphanumeric()) {
        true => present,
        false => match search(&expression, ignore_case, "") {
            Some(true) => absent.or(present),
            Some(false) => present,
            None => unknown(pattern),
        },
    }
}
