//! HAProxy's request rules before the choice of a backend: denials, redirects, fixed responses, and header fields set
//! on every request.

use crate::condition::RuleCondition;
use crate::header_field::check_field;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::source::SourcePlace;
use crate::value;

use super::acl::AclTable;
use super::directives;
use super::lex::ConfigLine;
use super::log_format;
use super::pools::BackendPools;

const AUTH: &str = "requests are not authenticated; so that nothing is open that was closed, a rule refuses what this protected";

const WIDENED: &str = "so that nothing is open that was closed, the rule refuses all that could have met the condition";
const NARROWED: &str =
    "so that nothing is open that was closed, nothing is let through by this part of the condition";
const SLOW_REFUSAL: &str = "a client that is refused gets its answer at once";

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

/// Header edits that apply to every request or response.
#[derive(Clone, Debug, Default)]
pub struct HeaderEdits {
    /// The Host field of requests to servers.
    host: Option<String>,
    set: Vec<String>,
    add: Vec<String>,
    remove: Vec<String>,
    response_set: Vec<String>,
    response_add: Vec<String>,
    response_remove: Vec<String>,
}

impl HeaderEdits {
    /// The value of `rewrite`, with the edits of `before` first. `None` if there are no edits.
    pub fn to_rewrite(&self, before: &HeaderEdits) -> Option<String> {
        let both = |a: &[String], b: &[String]| [a, b].concat();
        let host = self.host.as_ref().or(before.host.as_ref());
        let mut pairs: Vec<(&str, String)> =
            host.map(|host| ("host", value::quote(host))).into_iter().collect();
        let lists = [
            ("set", both(&before.set, &self.set)),
            ("add", both(&before.add, &self.add)),
            ("remove", both(&before.remove, &self.remove)),
            ("answer-set", both(&before.response_set, &self.response_set)),
            ("response-add", both(&before.response_add, &self.response_add)),
            ("answer-remove", both(&before.response_remove, &self.response_remove)),
        ]
        .into_iter()
        .filter(|(_, list)| !list.is_empty());
        pairs.extend(lists.map(|(key, list)| (key, value::quote_all(&list))));
        (!pairs.is_empty()).then(|| value::table(&pairs))
    }
}

/// The converted rules of a proxy.
#[derive(Debug, Default)]
pub struct ProxyRules {
    /// In HAProxy's order of evaluation.
    pub final_rules: Vec<FinalRule>,
    pub fields: HeaderEdits,
    accept_conditions: Vec<RuleCondition>,
}

/// Reads the rules. `http`: the proxy inspects requests.
pub fn read(
    lines: &[ConfigLine],
    http: bool,
    acls: &AclTable,
    pools: &BackendPools,
    notes: &mut ConversionNotes,
) -> ProxyRules {
    let mut out = ProxyRules::default();
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
        let when = || acls.known_condition(condition, pools);
        let guard = || acls.condition(condition, pools);
        let first = action.first().map_or("", String::as_str);
        match (line.word(0), first) {
            ("tcp-request", "reject" | "silent-drop")
            | ("http-request", "deny" | "reject" | "tarpit" | "silent-drop")
            | ("block", _) => {
                if matches!(first, "tarpit" | "silent-drop") {
                    notes.changed(line.source, &line.text(), SLOW_REFUSAL, "");
                }
                let (key, value) = refuse_action(action, line.word(0) == "http-request");
                self.push_refusal(guard(), key, value, line, notes);
            }
            ("tcp-request" | "http-request", "accept" | "allow") => {
                let condition = guard();
                if let Some(why) = condition.unknown() {
                    note_guard(line, why, NARROWED, notes);
                }
                line.mark_converted();
                self.accept_conditions.push(condition.at_most())
            }
            ("redirect", _) | ("http-request", "redirect") => {
                let value = redirect(&action[1..])?;
                self.push_final_rule(when()?, "redirect", value, line);
            }
            ("http-request", "auth") => {
                let when = guard().at_least();
                let reason = AUTH;
                let instead = "authenticate at the servers or with `tls.client`, then take the rule with `deny` out";
                notes.left_out(line.source, &line.text(), reason, instead);
                self.push_final_rule(when, "deny", "true".to_owned(), line);
            }
            ("http-request", "return") => {
                let value = return_action(&action[1..]);
                match refusing_status(action) {
                    Some(status) => {
                        let value = value.unwrap_or_else(|why| {
                            notes.changed(line.source, &line.text(), &why.reason, &why.instead);
                            status.to_string()
                        });
                        self.push_refusal(guard(), "answer", value, line, notes)
                    }
                    None => self.push_final_rule(when()?, "answer", value?, line),
                }
            }
            ("http-request" | "http-response", "set-header" | "add-header" | "del-header") => {
                self.field(line, action, when()?, notes)?;
                line.mark_converted();
            }
            (word, _) => directives::note_directive(word, line, notes),
        }
        Ok(())
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

    fn field(
        &mut self,
        line: &ConfigLine,
        action: &[String],
        when: RuleCondition,
        notes: &mut ConversionNotes,
    ) -> Result<(), UnsupportedReason> {
        let word = |at: usize| action.get(at).map_or("", String::as_str);
        let name = word(1);
        let text = action.get(2..).unwrap_or(&[]).join(" ");
        let lower = name.to_ascii_lowercase();
        let sets = (line.word(0), word(0)) == ("http-request", "set-header");
        if lower != "host" {
            check_field(&format!("{name}:"))?;
        }
        // `https` over TLS and `http` without it is what `{scheme}` says.
        let holds = |tls: bool| when.clone().simplify(tls);
        let over_tls = holds(true);
        let plain = holds(false);
        let says_scheme = match text.as_str() {
            "https" => over_tls == RuleCondition::Is(true) && plain == RuleCondition::Is(false),
            "http" => over_tls == RuleCondition::Is(false) && plain == RuleCondition::Is(true),
            _ => false,
        };
        if lower == "x-forwarded-proto" && sets && says_scheme {
            let field = format!("{name}: {{scheme}}");
            if !self.fields.set.contains(&field) {
                let reason = "it says what the client used, on listeners with TLS and without";
                notes.changed(line.source, &line.text(), reason, "");
                self.fields.set.push(field);
            }
            return Ok(());
        }
        if over_tls != RuleCondition::Is(true) || plain != RuleCondition::Is(true) {
            // Servers believe this field, so that what clients send under its name must not reach them.
            if sets && lower != "host" {
                self.fields.remove.push(name.to_owned());
            }
            return Err(UnsupportedReason::new(
                "fields are changed by the rule that chooses the pool",
                "`rewrite` in that rule",
            ));
        }
        let of_request = line.word(0) == "http-request";
        let written = match (of_request, word(0)) {
            (false, _) if text.contains('%') => None,
            // A field in place of the server's is written as it stands, without variables.
            (false, "set-header") => Some(text),
            _ => log_format::variables(&text),
        };
        let text = match written {
            Some(text) => text,
            None => {
                let mut reason = "a field's value cannot be made of these variables".to_owned();
                // Servers believe this field: what clients send under its name must not take its place.
                if (of_request, word(0)) == (true, "set-header") && lower != "host" {
                    self.fields.remove.push(name.to_owned());
                    reason.push_str("; what clients send under its name is removed");
                }
                return Err(UnsupportedReason::new(
                    reason,
                    "`rewrite.set` with {client}, {port}, {sni}, {header.NAME}",
                ));
            }
        };
        let field = format!("{name}: {text}");
        if lower != "host" || !of_request {
            check_field(&field)?;
        }
        let fields = &mut self.fields;
        match (line.word(0), word(0)) {
            ("http-request", "set-header") if lower == "host" => fields.host = Some(text),
            ("http-request", "set-header") => fields.set.push(field),
            ("http-request", "add-header") => fields.add.push(field),
            ("http-request", _) => fields.remove.push(name.to_owned()),
            (_, "set-header") => fields.response_set.push(field),
            (_, "del-header") => fields.response_remove.push(name.to_owned()),
            _ => fields.response_add.push(field),
        }
        Ok(())
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

fn refuse_action(action: &[String], request: bool) -> (&'static str, String) {
    let at = action.iter().position(|word| word == "deny_status" || word == "status");
    match at.and_then(|at| action.get(at + 1)).filter(|_| request) {
        Some(status) if status != "403" => ("answer", status.clone()),
        _ => ("deny", "true".to_owned()),
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
    Ok(value::table(&[("to", value::quote(&to)), ("status", status)]))
}

fn return_action(words: &[String]) -> Result<String, UnsupportedReason> {
    let mut status = "200";
    let mut kind = None;
    let mut body = None;
    let mut fields = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_default();
        match word {
            "status" => status = next(),
            "content-type" => kind = Some(next()),
            "string" => body = Some(next()),
            "lf-string" => body = Some(next()).filter(|text| !text.contains('%')),
            "hdr" => {
                let name = next().to_owned();
                fields.push(format!("{name}: {}", next()));
            }
            _ => {
                return Err(UnsupportedReason::new(
                    format!("an answer has no `{word}`"),
                    "`answer` with a body of at most 4,096 bytes",
                ));
            }
        }
    }
    let mut pairs = vec![("status", status.to_owned())];
    pairs.extend(kind.map(|kind| ("type", value::quote(kind))));
    pairs.extend(body.map(|body| ("body", value::quote(body))));
    if !fields.is_empty() {
        pairs.push(("headers", value::quote_all(&fields)));
    }
    Ok(value::table(&pairs))
}
