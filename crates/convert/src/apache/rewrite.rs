//! RewriteCond and `RewriteRule` of a server: redirects, refusals, proxying, and rules that end the others.

use crate::condition::RuleCondition;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::client_networks::ProxyTrust;
use super::rewrite_condition::{all_conditions, pattern_condition};
use super::rewrite_flags::RewriteFlags;

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

/// Reads the rules of a server, in order. `port`: that of its listener.
pub fn steps<'t>(
    directives: &[&'t ConfigStatement],
    port: u16,
    trust: &ProxyTrust,
    notes: &mut ConversionNotes,
) -> Vec<RewriteStep<'t>> {
    let mut out = Vec::new();
    let mut is_chained = false;
    let mut conditions: Vec<&ConfigStatement> = Vec::new();
    for one in directives {
        match one.name.as_str() {
            "rewritecond" => conditions.push(one),
            "rewriterule" => {
                let conditions = std::mem::take(&mut conditions);
                let flags =
                    RewriteFlags::read(one.words_from(2).first().map_or("", String::as_str));
                let pattern = pattern_condition(one.word(0), flags.has(&["NC", "nocase"]));
                let mut when = pattern.and(all_conditions(&conditions, port, trust, notes));
                // What fits the first rule of a chain is closed, and nothing else reaches the others.
                if is_chained {
                    when = RuleCondition::Is(false);
                }
                is_chained = flags.has(&["C", "chain"]);
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
    let ends = flags.has(&["L", "last", "END", "PT", "passthrough"]);
    if to == "-" && flags.has(&["R", "redirect"]) {
        // A status from 400 on is answered without a target.
        return redirect(rule, "", flags.get(&["R", "redirect"]).unwrap_or(""), flags, notes);
    }
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
    if to.is_empty() {
        return close(rule, "it leads to where it was asked for: what it fits answers 502", notes);
    }
    match url_template(to, rule.peek(0), flags.has(&["QSD", "qsdiscard"])) {
        Ok(to) => {
            let appends = to.contains('?') && flags.has(&["QSA", "qsappend"]);
            let to = if appends { format!("{to}{{more-query}}") } else { to };
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
                    "HTTP_HOST" => out.push_str("{host}"),
                    "SERVER_NAME" => out.push_str("{host-name}"),
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
