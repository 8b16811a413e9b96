//! RewriteCond and `RewriteRule` of a server: redirects, refusals, proxying, and rules that end the others.

use crate::condition::{RuleCondition, escape_regex, whole_path};
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::scope::SectionPath;

/// What a `RewriteRule` does with the requests that it fits.
#[derive(Clone, Debug)]
pub enum RewriteAction {
    /// The actions of a rule.
    Answer(Vec<KeyValue>),
    /// Forwards to a URL with variables in its path.
    Proxy(String),
    /// Later rules are not tried.
    Stop,
    /// It changes nothing that is written.
    Nothing,
}

/// A `RewriteRule` with its conditions.
#[derive(Clone, Debug)]
pub struct RewriteStep<'t> {
    pub statement: &'t ConfigStatement,
    pub when: RuleCondition,
    pub action: RewriteAction,
}

/// The flags of a rule or a condition.
struct RewriteFlags {
    list: Vec<String>,
}

impl RewriteFlags {
    fn read(word: &str) -> RewriteFlags {
        let inner = word.trim_start_matches('[').trim_end_matches(']');
        let list =
            inner.split(',').map(|flag| flag.trim().to_owned()).filter(|flag| !flag.is_empty());
        RewriteFlags { list: list.collect() }
    }

    fn has(&self, names: &[&str]) -> bool {
        self.get(names).is_some()
    }

    /// The value of a flag; empty if it has none.
    fn get(&self, names: &[&str]) -> Option<&str> {
        self.list.iter().find_map(|flag| {
            let pair = flag.split_once('=').unwrap_or((flag, ""));
            names.iter().any(|name| pair.0.eq_ignore_ascii_case(name)).then_some(pair.1)
        })
    }
}

/// Reads the rules of a server, in order. `port`: that of its listener.
pub fn steps<'t>(
    directives: &[&'t ConfigStatement],
    port: u16,
    notes: &mut ConversionNotes,
) -> Vec<RewriteStep<'t>> {
    let mut out = Vec::new();
    let mut conditions: Vec<&ConfigStatement> = Vec::new();
    for one in directives {
        match one.name.as_str() {
            "rewritecond" => conditions.push(one),
            "rewriterule" => {
                let conditions = std::mem::take(&mut conditions);
                let flags =
                    RewriteFlags::read(one.words_from(2).first().map_or("", String::as_str));
                let pattern = pattern_condition(one.word(0), flags.has(&["NC", "nocase"]));
                let when = pattern.and(all_conditions(&conditions, port, notes));
                let step = RewriteStep { statement: one, when, action: action(one, &flags, notes) };
                out.push(step);
            }
            _ => {}
        }
    }
    for unused in conditions {
        unused.leave_out("no rule follows it", "", notes);
    }
    out
}

fn pattern_condition(pattern: &str, ignore_case: bool) -> RuleCondition {
    let bare = pattern.strip_prefix('!').unwrap_or(pattern);
    let always =
        matches!(bare, "^/(.*)$" | "^/?(.*)$" | "/(.*)" | "^/(.*)" | "^/?(.*)" | "^(/.*)$");
    let when = match always {
        true => RuleCondition::Is(true),
        false if ignore_case => RuleCondition::texts("path-regex", &[whole_path(bare, true)]),
        false => SectionPath::found_by(bare).when,
    };
    if bare.len() < pattern.len() { when.negate() } else { when }
}

/// Conditions are joined by `and`, and those with `[OR]` with the next one.
fn all_conditions(
    list: &[&ConfigStatement],
    port: u16,
    notes: &mut ConversionNotes,
) -> RuleCondition {
    let mut all = Vec::new();
    let mut any = Vec::new();
    for one in list {
        let flags = RewriteFlags::read(one.words_from(2).first().map_or("", String::as_str));
        let condition = condition(one.word(0), one.word(1), flags.has(&["NC", "nocase"]), port);
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
    let inner = one_condition(test, bare, ignore_case, port);
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

fn one_condition(test: &str, pattern: &str, ignore_case: bool, port: u16) -> RuleCondition {
    let variable = test.strip_prefix("%{").and_then(|text| text.strip_suffix('}'));
    let Some(variable) = variable else { return unknown(test) };
    let literal = pattern.strip_prefix('=').map(|text| text.trim_matches('"').to_owned());
    let plain = pattern.trim_start_matches(['^', '=']).trim_end_matches('$');
    match variable {
        "HTTPS" if plain.eq_ignore_ascii_case("on") => RuleCondition::Tls,
        "HTTPS" if plain.eq_ignore_ascii_case("off") => RuleCondition::Tls.negate(),
        "REQUEST_SCHEME" if plain == "https" => RuleCondition::Tls,
        "REQUEST_SCHEME" if plain == "http" => RuleCondition::Tls.negate(),
        "SERVER_PORT" if plain.bytes().all(|b| b.is_ascii_digit()) => {
            RuleCondition::Is(plain == port.to_string())
        }
        // Files are not served, so that none is there.
        "REQUEST_FILENAME" | "DOCUMENT_ROOT" if pattern.starts_with('-') => {
            RuleCondition::Is(false)
        }
        "REQUEST_METHOD" if is_word_list(plain) => {
            let methods: Vec<&str> = plain.trim_matches(['(', ')']).split('|').collect();
            RuleCondition::texts("method", &methods)
        }
        "REQUEST_URI" | "REQUEST_FILENAME" => match literal {
            Some(path) => RuleCondition::texts("path", &[path]),
            None if ignore_case => RuleCondition::texts("path-regex", &[whole_path(pattern, true)]),
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
    if pattern.is_empty() || pattern == "^$" {
        return RuleCondition::texts("header", &[field]).negate();
    }
    if pattern.starts_with(['-', '<', '>']) {
        return unknown(pattern);
    }
    let expression =
        literal.map_or(pattern.to_owned(), |text| format!("^{}$", escape_regex(&text)));
    let whole = whole_path(&expression, ignore_case);
    RuleCondition::texts("header-regex", &[format!("{field}: {whole}")])
}

fn answer(status: u16) -> RewriteAction {
    RewriteAction::Answer(vec![KeyValue::new("answer", status.to_string())])
}

fn action(
    rule: &ConfigStatement,
    flags: &RewriteFlags,
    notes: &mut ConversionNotes,
) -> RewriteAction {
    let to = rule.word(1).to_owned();
    if flags.has(&["F", "forbidden"]) {
        rule.settle_converted(notes);
        return RewriteAction::Answer(vec![KeyValue::new("deny", "true")]);
    }
    if flags.has(&["G", "gone"]) {
        rule.settle_converted(notes);
        return answer(410);
    }
    if flags
        .has(&["S", "skip", "C", "chain", "N", "next", "H", "handler", "T", "type", "CO", "cookie"])
    {
        return close(rule, "the flag cannot be written: what it fits answers 502", notes);
    }
    let ends = flags.has(&["L", "last", "END"]);
    if to == "-" {
        if flags.has(&["E", "env"]) {
            let reason = "rules have no variables of the environment";
            rule.leave_out(reason, "", notes);
        }
        rule.settle_converted(notes);
        return if ends { RewriteAction::Stop } else { RewriteAction::Nothing };
    }
    if let Some(code) = flags.get(&["R", "redirect"]) {
        return redirect(rule, &to, code, flags, notes);
    }
    if flags.has(&["P", "proxy"]) {
        return match url_template(&to, rule.peek(0), false) {
            Ok(url) => {
                rule.settle_converted(notes);
                RewriteAction::Proxy(url)
            }
            Err(why) => {
                notes.left_out_because(rule.source, &rule.text(), &why);
                answer(502)
            }
        };
    }
    if to.contains("://") {
        return redirect(rule, &to, "", flags, notes);
    }
    close(rule, "a path that was changed is not looked up again: what it fits answers 502", notes)
}

fn close(rule: &ConfigStatement, reason: &str, notes: &mut ConversionNotes) -> RewriteAction {
    rule.leave_out(reason, "`rewrite` of a rule", notes);
    answer(502)
}

fn redirect(
    rule: &ConfigStatement,
    to: &str,
    code: &str,
    flags: &RewriteFlags,
    notes: &mut ConversionNotes,
) -> RewriteAction {
    let status = match code.to_ascii_lowercase().as_str() {
        "" | "temp" => 302,
        "permanent" => 301,
        "seeother" => 303,
        "gone" => 410,
        text => text.parse::<u16>().unwrap_or(0),
    };
    if (400..=599).contains(&status) {
        rule.settle_converted(notes);
        return answer(status);
    }
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return close(rule, "rules have no such status: what it fits answers 502", notes);
    }
    match url_template(to, rule.peek(0), flags.has(&["QSD", "qsdiscard"])) {
        Ok(to) => {
            rule.settle_converted(notes);
            let keys = [
                KeyValue::new("to", value::quote(&to)),
                KeyValue::new("status", status.to_string()),
            ];
            RewriteAction::Answer(vec![KeyValue::new("redirect", value::table(&keys))])
        }
        Err(why) => {
            notes.left_out_because(rule.source, &rule.text(), &why);
            answer(502)
        }
    }
}

/// A substitution with variables of rules. The query follows by itself, unless the substitution has one.
fn url_template(
    to: &str,
    pattern: &str,
    discards_query: bool,
) -> Result<String, UnsupportedReason> {
    let none = |what: &str| {
        let reason = format!("rules have no variable for `{what}`");
        Err(UnsupportedReason::new(reason, "`redirect` with the variables that rules have"))
    };
    let to = to.replace("%{REQUEST_URI}?%{QUERY_STRING}", "%{REQUEST_URI}");
    // Of these patterns the only group is the path, or the path without its slash.
    let whole = matches!(pattern, "(.*)" | "^(.*)$" | "^(.*)" | "^(/.*)$");
    let bare = matches!(pattern, "^/(.*)$" | "^/?(.*)$" | "/(.*)" | "^/(.*)" | "^/?(.*)");
    let mut out = String::new();
    let mut rest = to.as_str();
    while let Some(at) = rest.find(['$', '%', '{']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let digit = tail[1..].chars().next().filter(char::is_ascii_digit);
        let variable = tail.strip_prefix("%{").and_then(|text| text.split_once('}'));
        match (tail.starts_with('$'), digit, variable) {
            (true, Some('0'), _) if whole || bare => out.push_str("{path}"),
            (true, Some('1'), _) if whole => out.push_str("{path}"),
            (true, Some('1'), _) if bare && out.ends_with('/') => {
                out.pop();
                out.push_str("{path}");
            }
            (true, Some(digit), _) if digit != '0' && !whole && !bare => {
                out.push_str(&format!("{{{digit}}}"));
            }
            (_, _, Some(parts)) => {
                match parts.0 {
                    "HTTP_HOST" | "SERVER_NAME" => out.push_str("{host}"),
                    "REQUEST_URI" => out.push_str("{path}"),
                    name => return none(name),
                }
                rest = parts.1;
                continue;
            }
            _ => return none(tail),
        }
        rest = &tail[2..];
    }
    out.push_str(rest);
    if let Some(bare) = out.strip_suffix('?') {
        return Ok(bare.to_owned());
    }
    let has_query = out.contains('?');
    Ok(if has_query || discards_query { out } else { format!("{out}{{query}}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitutions_become_templates() {
        for (to, pattern, expected) in [
            ("https://%{HTTP_HOST}%{REQUEST_URI}", "^", Some("https://{host}{path}{query}")),
            ("https://a.example/$1", "^/(.*)$", Some("https://a.example{path}{query}")),
            ("https://a.example$1", "^(.*)$", Some("https://a.example{path}{query}")),
            ("/new/$1", "^/old/([a-z]+)$", Some("/new/{1}{query}")),
            ("/new?", "^/old$", Some("/new")),
            ("https://%1/", "^", None),
            ("https://%{ENV:x}/", "^", None),
        ] {
            assert_eq!(url_template(to, pattern, false).ok().as_deref(), expected, "{to}");
        }
    }
}
