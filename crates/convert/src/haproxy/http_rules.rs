//! HAProxy's request rules before the choice of a backend: denials, redirects and fixed responses.

use std::collections::BTreeSet;

use crate::condition::RuleCondition;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::rule_fallback::answer_status;
use crate::source::SourcePlace;
use crate::value::KeyValue;

use super::acl::{AclTable, AclTables};
use super::body_size;
use super::directives;
use super::edit_times::RuleReads;
use super::field_reads::add_condition_fields;
use super::fixed_answers::{redirect, refuse_action, refusing_status, return_action};
use super::header_edits::{HeaderEdits, edited_message};
use super::hidden_inputs::{
    acting_condition, changed_address, hide_address, hide_answer, refused_change,
};
use super::lex::ConfigLine;
use super::path_change::{self, PathReplacement};
use super::pools::BackendPools;

const AUTH: &str = "requests are not authenticated; so that nothing is open that was closed, a rule refuses what this protected";

const OTHER_AUTH: &str =
    "authenticate at the servers or with `tls.client`, then take the rule with `deny` out";
const CHANGES: &str = "`rewrite` in a rule, or do it at the servers";

const WIDENED: &str = "so that nothing is open that was closed, the rule refuses all that could have met the condition";
const NARROWED: &str =
    "so that nothing is open that was closed, nothing is let through by this part of the condition";
const SLOW_REFUSAL: &str = "a client that is refused gets its answer at once";

const LONG_BODIES: &str = "a longer body is refused with 413, as soon as it is known to be longer";
const HELD_BACK: &str = "no rule here refuses an answer of a server; so that nothing gets out that was held back, these requests are refused";
const HELD_BACK_INSTEAD: &str = "hold it back at the servers, then take the rule with 502 out";

/// A rule with an action that ends the processing of a request.
#[derive(Clone, Debug)]
pub struct FinalRule {
    pub when: RuleCondition,
    /// `deny`, `redirect` or `answer`.
    pub key: &'static str,
    pub value: String,
    /// How many changes of fields stand before it.
    pub edits_before: usize,
    pub source: SourcePlace,
    pub text: String,
}

impl FinalRule {
    /// The fields that its condition and its answer look at.
    pub fn reads(&self) -> BTreeSet<String> {
        let mut fields = BTreeSet::new();
        add_condition_fields(&self.when, &mut fields);
        if self.key == "redirect" {
            fields.insert("host".to_owned());
        }
        fields
    }

    /// Whether its condition or its answer looks at the path.
    pub fn reads_path(&self) -> bool {
        self.key == "redirect" || path_change::reads_path(&self.when)
    }

    /// Whether the rule refuses what it takes.
    pub fn is_refusal(&self) -> bool {
        match self.key {
            "deny" => true,
            "answer" => answer_status(&self.value).is_none_or(|status| status >= 400),
            _ => false,
        }
    }
}

/// The converted rules of a proxy.
#[derive(Clone, Debug, Default)]
pub struct ProxyRules {
    /// In HAProxy's order of evaluation.
    pub final_rules: Vec<FinalRule>,
    pub fields: HeaderEdits,
    /// The changes of the path that a rule could make: one, unless another one or a later rule prevents it.
    pub path_changes: Vec<PathReplacement>,
    /// The most bytes of a request's body.
    pub body_bytes: Option<u64>,
    /// Some requests are refused, since their path is changed in a way that cannot be written.
    pub refuses_changes: bool,
    accept_conditions: Vec<RuleCondition>,
    /// Why rules about requests cannot judge by the client's address.
    hidden_address: Option<UnsupportedReason>,
}

/// Reads the rules. `http`: the proxy inspects requests.
pub fn read(
    lines: &[ConfigLine],
    http: bool,
    tables: &AclTables<'_>,
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
        ("tcp-response", ""),
        ("http-after-response", ""),
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
            let acls = match wanted.ends_with("-response") {
                true => tables.answers(pools),
                false => &tables.requests,
            };
            if let Err(why) = out.line(line, acls, pools, notes) {
                notes.left_out_because(line.source, &line.text(), &why);
            }
        }
        out.accept_conditions.clear();
    }
    let is_single = out.path_changes.len() == 1 && !out.refuses_changes;
    let behind = |one: &PathReplacement| out.final_rules.iter().skip(one.rules_before);
    let is_seen = out.path_changes.iter().any(|one| behind(one).any(FinalRule::reads_path));
    let in_edits = out.fields.edits.iter().any(|edit| path_change::reads_path(&edit.when));
    if !is_single || is_seen || in_edits {
        out.refuse_path_changes(notes);
    }
    out
}

impl ProxyRules {
    /// What the final rules look at.
    pub fn reads(&self) -> Vec<RuleReads> {
        let read =
            |rule: &FinalRule| RuleReads { fields: rule.reads(), edits_before: rule.edits_before };
        self.final_rules.iter().map(read).filter(|one| !one.fields.is_empty()).collect()
    }

    /// Refuses the requests whose paths are changed, because no rule can make all of the changes.
    pub fn refuse_path_changes(&mut self, notes: &mut ConversionNotes) {
        self.refuses_changes |= !self.path_changes.is_empty();
        let changes = std::mem::take(&mut self.path_changes);
        for PathReplacement { when, rules_before, edits_before, line, .. } in
            changes.into_iter().rev()
        {
            let action = line.rest(1);
            let Some(refused) = refused_change(action) else { continue };
            notes.left_out(line.source, &line.text(), refused.reason, CHANGES);
            let rule = FinalRule {
                when: when.and(acting_condition(action)).at_least(),
                key: "answer",
                value: refused.status.to_owned(),
                edits_before,
                source: line.source,
                text: line.text(),
            };
            self.final_rules.insert(rules_before, rule);
        }
    }

    fn line(
        &mut self,
        line: &ConfigLine,
        acls: &AclTable,
        pools: &BackendPools,
        notes: &mut ConversionNotes,
    ) -> Result<(), UnsupportedReason> {
        let from = match (line.word(0), line.word(1)) {
            ("tcp-request", "connection" | "content" | "session") | ("tcp-response", "content") => {
                2
            }
            ("redirect" | "block", _) => 0,
            _ => 1,
        };
        let words = line.rest(from);
        let split =
            words.iter().position(|word| word == "if" || word == "unless").unwrap_or(words.len());
        let (action, condition) = words.split_at(split);
        let hidden = self.hidden_address.clone().filter(|_| line.word(0) != "tcp-request");
        let guard = || hidden.iter().fold(acls.condition(condition, pools), hide_address);
        let first = action.first().map_or("", String::as_str);
        if line.word(0) == "http-request" && self.push_change(guard(), action, line, notes) {
            return Ok(());
        }
        if let Some(message) = edited_message(line, first) {
            let condition = self.unless_accepted(guard());
            self.fields.read(line, message, action, condition, pools, notes)?;
            line.mark_converted();
            return Ok(());
        }
        let limit = (line.word(0), first) == ("http-request", "deny");
        if limit && self.push_body_limit(condition, acls, line, notes) {
            return Ok(());
        }
        match (line.word(0), first) {
            ("http-response", "deny") | ("tcp-response", "reject" | "close") => {
                let when = hide_answer(self.unless_accepted(guard())).at_least();
                notes.left_out(line.source, &line.text(), HELD_BACK, HELD_BACK_INSTEAD);
                self.push_rule(when, "answer", "502".to_owned(), line);
            }
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
            (
                "tcp-request" | "http-request" | "http-response" | "http-after-response",
                "accept" | "allow",
            ) => {
                self.push_acceptance(guard(), line, notes);
            }
            ("redirect", _) | ("http-request", "redirect") => {
                let value = redirect(&action[1..])?;
                self.push_final_rule(guard().known()?, "redirect", value, line);
            }
            ("http-request", "auth") => {
                let when = guard().at_least();
                notes.left_out(line.source, &line.text(), AUTH, OTHER_AUTH);
                self.push_final_rule(when, "deny", "true".to_owned(), line);
            }
            ("http-request", "return") => self.push_answer(guard(), action, line, notes)?,
            (word, _) => directives::note_directive(word, line, notes),
        }
        Ok(())
    }

    /// Takes a refusal of long bodies. Returns false if its condition says something else, too.
    fn push_body_limit(
        &mut self,
        condition: &[String],
        acls: &AclTable,
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) -> bool {
        let limit = body_size::most_bytes(condition, acls);
        let Some(bytes) = limit.filter(|_| self.accept_conditions.is_empty()) else { return false };
        notes.changed(line.source, &line.text(), LONG_BODIES, "`body-bytes` of the rule");
        self.body_bytes = Some(self.body_bytes.unwrap_or(bytes).min(bytes));
        true
    }

    /// Takes a change of the path or of the method, or refuses its requests. Returns false for other actions.
    fn push_change(
        &mut self,
        condition: RuleCondition,
        action: &[String],
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) -> bool {
        let Some(refused) = refused_change(action) else { return false };
        let when = self.unless_accepted(condition.clone());
        let rules = self.final_rules.len();
        let edits = self.fields.edits.len();
        if let Some(change) = PathReplacement::read(action, when, line, rules, edits) {
            self.path_changes.push(change);
            return true;
        }
        self.refuses_changes = true;
        notes.left_out(line.source, &line.text(), refused.reason, CHANGES);
        let when = condition.and(acting_condition(action)).at_least();
        self.push_final_rule(when, "answer", refused.status.to_owned(), line);
        true
    }

    /// Adds a rule with a fixed answer. One that refuses stays closed.
    fn push_answer(
        &mut self,
        condition: RuleCondition,
        action: &[String],
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) -> Result<(), UnsupportedReason> {
        let value = return_action(&action[1..], "200");
        let Some(status) = refusing_status(action) else {
            self.push_final_rule(condition.known()?, "answer", value?, line);
            return Ok(());
        };
        let value = value.unwrap_or_else(|why| {
            notes.changed(line.source, &line.text(), &why.reason, &why.instead);
            status.to_string()
        });
        self.push_refusal(condition, "answer", value, line, notes);
        Ok(())
    }

    /// A request that an earlier rule accepted skips the later rules.
    fn unless_accepted(&self, when: RuleCondition) -> RuleCondition {
        if self.accept_conditions.is_empty() {
            return when;
        }
        let accepted = self.accept_conditions.iter().cloned().map(RuleCondition::negate);
        RuleCondition::All(std::iter::once(when).chain(accepted).collect())
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
        self.push_rule(self.unless_accepted(when), key, value, line);
    }

    fn push_rule(
        &mut self,
        when: RuleCondition,
        key: &'static str,
        value: String,
        line: &ConfigLine,
    ) {
        self.final_rules.push(FinalRule {
            when,
            key,
            value,
            edits_before: self.fields.edits.len(),
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
