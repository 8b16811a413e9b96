//! HAProxy's request rules before the choice of a backend: denials, redirects and fixed responses.

use crate::condition::RuleCondition;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::acl::AclTable;
use super::directives;
use super::error_pages::fixed_text;
use super::header_edits::HeaderEdits;
use super::hidden_inputs::{acting_condition, changed_address, hide_address, refused_change};
use super::lex::ConfigLine;
use super::pools::BackendPools;

const AUTH: &str = "requests are not authenticated; so that nothing is open that was closed, a rule refuses what this protected";

const OTHER_AUTH: &str =
    "authenticate at the servers or with `tls.client`, then take the rule with `deny` out";
const CHANGES: &str = "`rewrite` in a rule, or do it at the servers";

const WIDENED: &str = "so that nothing is open that was closed, the rule refuses all that could have met the condition";
const NARROWED: &str =
    "so that nothing is open that was closed, nothing is let through by this part of the condition";
const SLOW_REFUSAL: &str = "a client that is refused gets its answer at once";

/// Words of a refusal that describe its answer.
const CONTENT: [&str; 8] =
    ["content-type", "errorfile", "errorfiles", "file", "lf-file", "string", "lf-string", "hdr"];

/// A rule with an action that ends the processing of a request.
#[derive(Clone, Debug)]
pub struct FinalRule {
    pub when: RuleCondition,
    /// `deny`, `redirect` or `answer`.
    pub key: &'static str,
    pub value: String,
    pub source: SourcePlace,
    pub text: String,
}

/// The converted rules of a proxy.
#[derive(Debug, Default)]
pub struct ProxyRules {
    /// In HAProxy's order of evaluation.
    pub final_rules: Vec<FinalRule>,
    pub fields: HeaderEdits,
    accept_conditions: Vec<RuleCondition>,
    /// Why rules about requests cannot judge by the client's address.
    hidden_address: Option<UnsupportedReason>,
}

/// Reads the rules. `http`: the proxy inspects requests.
pub fn read(
    lines: &[ConfigLine],
    http: bool,
    acls: &AclTable,
    pools: &BackendPools,
    notes: &mut ConversionNotes,
) -> ProxyRules {
    let hidden_address = changed_address(lines);
    let mut out = ProxyRules { hidden_address, ..ProxyRules::default() };
    // HAProxy evaluates the kinds of rules in this order, regardless of their order in the file. An accepting rule
    // skips only later rules of its own kind.
    for (wanted, of) in [
        ("tcp-request", "connection"),
        ("tcp-request", "session"),
        ("tcp-request", ""),
        ("block", ""),
        ("http-request", ""),
        ("redirect", ""),
        ("http-response", ""),
    ] {
        let meant = |line: &&ConfigLine| {
            let kind = line.word(1);
            let early = wanted == "tcp-request" && matches!(kind, "connection" | "session");
            line.word(0) == wanted && (kind == of || of.is_empty() && !early)
        };
        for line in lines.iter().filter(meant) {
            if wanted.starts_with("http") && !http {
                notes.not_needed(
                    line.source,
                    &line.text(),
                    "this proxy forwards bytes and sees no requests",
                );
                continue;
            }
            if let Err(why) = out.line(line, acls, pools, notes) {
                notes.left_out_because(line.source, &line.text(), &why);
            }
        }
        out.accept_conditions.clear();
    }
    out
}

impl ProxyRules {
    fn line(
        &mut self,
        line: &ConfigLine,
        acls: &AclTable,
        pools: &BackendPools,
        notes: &mut ConversionNotes,
    ) -> Result<(), UnsupportedReason> {
        let from = match (line.word(0), line.word(1)) {
            ("tcp-request", "connection" | "content" | "session") => 2,
            ("redirect" | "block", _) => 0,
            _ => 1,
        };
        let words = line.rest(from);
        let split =
            words.iter().position(|word| word == "if" || word == "unless").unwrap_or(words.len());
        let (action, condition) = words.split_at(split);
        let hidden = self.hidden_address.clone().filter(|_| line.word(0) != "tcp-request");
        let guard = || hidden.iter().fold(acls.condition(condition, pools), hide_address);
        let when = || guard().known();
        let first = action.first().map_or("", String::as_str);
        if let Some(change) = refused_change(first).filter(|_| line.word(0) == "http-request") {
            notes.left_out(line.source, &line.text(), change.reason, CHANGES);
            let when = guard().and(acting_condition(action)).at_least();
            self.push_final_rule(when, "answer", change.status.to_owned(), line);
            return Ok(());
        }
        match (line.word(0), first) {
            ("tcp-request", "reject" | "silent-drop")
            | ("http-request", "deny" | "reject" | "tarpit" | "silent-drop")
            | ("block", _) => {
                if matches!(first, "tarpit" | "silent-drop") {
                    notes.changed(line.source, &line.text(), SLOW_REFUSAL, "");
                }
                let request = line.word(0) == "http-request";
                let KeyValue { key, value } = refuse_action(action, request, line, notes);
                self.push_refusal(guard(), key, value, line, notes);
            }
            ("tcp-request" | "http-request", "accept" | "allow") => {
                self.push_acceptance(guard(), line, notes);
            }
            ("redirect", _) | ("http-request", "redirect") => {
                let value = redirect(&action[1..])?;
                self.push_final_rule(when()?, "redirect", value, line);
            }
            ("http-request", "auth") => {
                let when = guard().at_least();
                notes.left_out(line.source, &line.text(), AUTH, OTHER_AUTH);
                self.push_final_rule(when, "deny", "true".to_owned(), line);
            }
            ("http-request", "return") => {
                let value = return_action(&action[1..], "200");
                let Some(status) = refusing_status(action) else {
                    self.push_final_rule(when()?, "answer", value?, line);
                    return Ok(());
                };
                let value = value.unwrap_or_else(|why| {
                    notes.changed(line.source, &line.text(), &why.reason, &why.instead);
                    status.to_string()
                });
                self.push_refusal(guard(), "answer", value, line, notes)
            }
            ("http-request" | "http-response", "set-header" | "add-header" | "del-header") => {
                self.fields.edit(line, action, when()?, notes)?;
                line.mark_converted();
            }
            (word, _) => directives::note_directive(word, line, notes),
        }
        Ok(())
    }

    /// Notes whom a rule lets through. An unknown condition is narrowed.
    fn push_acceptance(
        &mut self,
        condition: RuleCondition,
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) {
        if let Some(why) = condition.unknown() {
            note_guard(line, why, NARROWED, notes);
        }
        line.mark_converted();
        self.accept_conditions.push(condition.at_most())
    }

    /// Adds a rule that denies. An unknown condition is widened, so that the rule denies too much rather than too
    /// little.
    fn push_refusal(
        &mut self,
        condition: RuleCondition,
        key: &'static str,
        value: String,
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) {
        if let Some(why) = condition.unknown() {
            note_guard(line, why, WIDENED, notes);
        }
        self.push_final_rule(condition.at_least(), key, value, line);
    }

    fn push_final_rule(
        &mut self,
        when: RuleCondition,
        key: &'static str,
        value: String,
        line: &ConfigLine,
    ) {
        // A request that an earlier rule accepted skips the later rules.
        let mut all = vec![when];
        all.extend(self.accept_conditions.iter().cloned().map(RuleCondition::negate));
        self.final_rules.push(FinalRule {
            when: RuleCondition::All(all),
            key,
            value,
            source: line.source,
            text: line.text(),
        });
    }
}

/// Adds a note about an access condition that cannot be expressed, and its consequence.
fn note_guard(
    line: &ConfigLine,
    why: &UnsupportedReason,
    consequence: &str,
    notes: &mut ConversionNotes,
) {
    let reason = format!("{}; {consequence}", why.reason);
    notes.left_out(line.source, &line.text(), &reason, &why.instead);
}

/// The status of a `return` action, if it is an error status.
fn refusing_status(action: &[String]) -> Option<u16> {
    let at = action.iter().position(|word| word == "status")?;
    action.get(at + 1)?.parse().ok().filter(|status| *status >= 400)
}

/// The refusal with its status and body. What cannot be said of them is reported, and the refusal stays.
fn refuse_action(
    action: &[String],
    request: bool,
    line: &ConfigLine,
    notes: &mut ConversionNotes,
) -> KeyValue {
    let at = action.iter().position(|word| word == "deny_status" || word == "status");
    let status = at.and_then(|at| action.get(at + 1)).filter(|_| request);
    let has_content = |word: &String| CONTENT.contains(&word.as_str());
    if request && action.iter().any(has_content) {
        match return_action(&action[1..], "403") {
            Ok(value) => return KeyValue::new("answer", value),
            Err(why) => notes.changed(line.source, &line.text(), &why.reason, &why.instead),
        }
    }
    match status {
        Some(status) if status != "403" => KeyValue::new("answer", status.clone()),
        _ => KeyValue::new("deny", "true"),
    }
}

fn redirect(words: &[String]) -> Result<String, UnsupportedReason> {
    let mut to = None;
    let mut status = "302".to_owned();
    let mut query = "{query}";
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "scheme" | "location" | "prefix" => to = Some((word, words.next().unwrap_or_default())),
            "code" => words.next().unwrap_or_default().clone_into(&mut status),
            "drop-query" => query = "",
            "append-slash" | "set-cookie" | "clear-cookie" | "ignore-empty" => {
                return Err(UnsupportedReason::new(format!("a redirect has no `{word}`"), ""));
            }
            _ => {
                return Err(UnsupportedReason::new(
                    format!("`{word}` is not known in a redirect"),
                    "",
                ));
            }
        }
    }
    let (kind, target) =
        to.ok_or_else(|| UnsupportedReason::new("it does not say where to", ""))?;
    if target.contains('%') || target.contains(['{', '}']) {
        return Err(UnsupportedReason::new(
            "where to depends on variables",
            "`redirect.to` with {host}, {path}, {query}",
        ));
    }
    let to = match kind {
        "scheme" => format!("{target}://{{host}}{{path}}{query}"),
        "prefix" => format!("{}{{path}}{query}", if target == "/" { "" } else { target }),
        _ => target.to_owned(),
    };
    Ok(value::table(&[KeyValue::new("to", value::quote(&to)), KeyValue::new("status", status)]))
}

/// An answer with its body and fields. `status`: where none is written.
fn return_action(words: &[String], status: &str) -> Result<String, UnsupportedReason> {
    let mut status = status;
    let mut kind = None;
    let mut body = None;
    let mut fields = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_default();
        match word {
            "status" | "deny_status" => status = next(),
            "content-type" => kind = Some(next()),
            "string" => body = Some(next().to_owned()),
            "lf-string" => body = Some(fixed_text(next(), "an answer has no variables")?),
            "hdr" => {
                let name = next();
                let text = fixed_text(next(), "the fields of an answer have no variables")?;
                fields.push(format!("{name}: {text}"));
            }
            // The service's own page for the status.
            "default-errorfiles" => {}
            _ => {
                return Err(UnsupportedReason::new(
                    format!("an answer has no `{word}`"),
                    "`answer` with a body of at most 4,096 bytes; a file in an `error-page`",
                ));
            }
        }
    }
    let mut pairs = vec![KeyValue::new("status", status.to_owned())];
    pairs.extend(kind.map(|kind| KeyValue::new("type", value::quote(kind))));
    pairs.extend(body.map(|body| KeyValue::new("body", value::quote(&body))));
    if !fields.is_empty() {
        pairs.push(KeyValue::new("headers", value::quote_all(&fields)));
    }
    Ok(value::table(&pairs))
}
