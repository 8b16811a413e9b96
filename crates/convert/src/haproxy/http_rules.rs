//! HAProxy's request rules before the choice of a backend: denials, redirects and fixed responses.

use crate::condition::RuleCondition;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::value::KeyValue;

use super::accepted_requests::AcceptedRequests;
use super::acl::{AclTable, AclTables};
use super::body_size;
use super::directives;
use super::edit_times::RuleReads;
use super::field_edit::ChangedMessage;
use super::final_rule::FinalRule;
use super::fixed_answers::refuse_action;
use super::guard_notes::{
    CHANGES, LONG_BODIES, NARROWED, OTHER_HOST, SLOW_REFUSAL, WIDENED, note_guard,
};
use super::header_edits::{HeaderEdits, edited_message};
use super::hidden_inputs::{acting_condition, changes_client, names_one_field, refused_change};
use super::lex::ConfigLine;
use super::opaque_fields::OpaqueFields;
use super::path_change::{self, PathReplacement};
use super::pools::BackendPools;

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
    accepted: Vec<AcceptedRequests>,
    /// The same requests, with the unknown parts of their conditions.
    possibly_accepted: Vec<AcceptedRequests>,
    /// No rule of the kind that is read can refuse or change what is accepted now.
    is_last_acceptance: bool,
    /// How many final rules are about connections and come before those about requests.
    pub early_rules: usize,
}

/// Reads the rules. `http`: the proxy inspects requests. `opaque`: fields that nobody knows before them.
pub fn read(
    lines: &[ConfigLine],
    http: bool,
    tables: &AclTables<'_>,
    opaque: &OpaqueFields,
    pools: &BackendPools,
    notes: &mut ConversionNotes,
) -> ProxyRules {
    let mut out = ProxyRules { fields: HeaderEdits::behind(opaque), ..ProxyRules::default() };
    // HAProxy evaluates the kinds of rules in this order, regardless of their order in the file. An accepting rule
    // skips only later rules of its own kind.
    for (wanted, of) in [
        ("tcp-request", "connection"),
        ("tcp-request", "session"),
        ("tcp-request", ""),
        ("block", ""),
        ("http-request", ""),
        ("redirect", ""),
        ("use-server", ""),
        ("http-response", ""),
        ("tcp-response", ""),
        ("http-after-response", ""),
    ] {
        let meant = |line: &&ConfigLine| {
            let kind = line.word(1);
            let early = wanted == "tcp-request" && matches!(kind, "connection" | "session");
            line.word(0) == wanted && (kind == of || of.is_empty() && !early)
        };
        let of_kind: Vec<&ConfigLine> = lines.iter().filter(meant).collect();
        let last = of_kind.iter().rposition(|line| !is_acceptance(line));
        for (at, line) in of_kind.into_iter().enumerate() {
            out.is_last_acceptance = last.is_none_or(|last| at > last);
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
        out.accepted.clear();
        out.possibly_accepted.clear();
        if wanted == "tcp-request" {
            out.early_rules = out.final_rules.len();
        }
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
            ("redirect" | "block" | "use-server", _) => 0,
            _ => 1,
        };
        let words = line.rest(from);
        let split =
            words.iter().position(|word| word == "if" || word == "unless").unwrap_or(words.len());
        let (action, condition) = words.split_at(split);
        let guard = self.fields.opaque.hide(acls.condition(condition, pools));
        if changes_client(line) {
            self.fields.opaque.change_client();
        }
        let first = action.first().map_or("", String::as_str);
        if line.word(0) == "http-request" && self.push_change(guard.clone(), action, line, notes) {
            return Ok(());
        }
        if let Some(message) = edited_message(line, first).filter(|_| names_field(action)) {
            let condition = without(guard, self.earlier(&self.possibly_accepted));
            return self.push_field_change(line, message, action, condition, pools, notes);
        }
        let limit = (line.word(0), first) == ("http-request", "deny");
        if limit && self.push_body_limit(condition, acls, line, notes) {
            return Ok(());
        }
        let condition = guard;
        if self.push_closing(condition.clone(), action, line, notes) {
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
                self.push_refusal(condition, key, value, line, notes);
            }
            (
                "tcp-request" | "http-request" | "http-response" | "http-after-response",
                "accept" | "allow",
            ) => {
                self.push_acceptance(condition, line, notes);
            }
            ("redirect", _) | ("http-request", "redirect") => {
                self.push_redirect(condition, action, line, notes);
            }
            ("http-request", "return") => self.push_answer(condition, action, line, notes),
            (word, _) => directives::note_directive(word, line, notes),
        }
        Ok(())
    }

    /// Takes a change of a field. Requests whose host cannot be changed as it is written are refused.
    fn push_field_change(
        &mut self,
        line: &ConfigLine,
        message: ChangedMessage,
        action: &[String],
        condition: RuleCondition,
        pools: &BackendPools,
        notes: &mut ConversionNotes,
    ) -> Result<(), UnsupportedReason> {
        let known = self.fields.edits.len();
        let result = self.fields.read(line, message, action, condition.clone(), pools, notes);
        let is_unwritten = self.fields.edits.len() == known;
        match result {
            Err(why) if is_unwritten && changes_host(line, action) => {
                note_guard(line, &why, OTHER_HOST, notes);
                self.push_rule(condition.at_least(), "answer", "502".to_owned(), line);
                Ok(())
            }
            other => other.inspect(|()| line.mark_converted()),
        }
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
        let Some(bytes) = limit.filter(|_| self.accepted.is_empty()) else { return false };
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
        let when = without(condition.clone(), self.earlier(&self.possibly_accepted));
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

    /// A request that an earlier rule accepted skips the later rules.
    pub fn unless_accepted(&self, when: RuleCondition) -> RuleCondition {
        without(when, self.earlier(&self.accepted))
    }

    fn earlier(&self, accepted: &[AcceptedRequests]) -> Vec<RuleCondition> {
        accepted.iter().map(|one| one.condition(&self.fields)).collect()
    }

    /// Notes whom a rule lets through. An unknown condition is narrowed.
    fn push_acceptance(
        &mut self,
        condition: RuleCondition,
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) {
        if self.is_last_acceptance {
            return line.mark_converted();
        }
        if let Some(why) = condition.unknown() {
            note_guard(line, why, NARROWED, notes);
        }
        line.mark_converted();
        self.possibly_accepted.push(AcceptedRequests::new(condition.clone(), &self.fields));
        self.accepted.push(AcceptedRequests::new(condition.at_most(), &self.fields));
    }

    /// Adds a rule that denies. An unknown condition is widened, so that the rule denies too much rather than too
    /// little.
    pub fn push_refusal(
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

    pub fn push_final_rule(
        &mut self,
        when: RuleCondition,
        key: &'static str,
        value: String,
        line: &ConfigLine,
    ) {
        self.push_rule(self.unless_accepted(when), key, value, line);
    }

    pub fn push_rule(
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

/// Whether an action that changes a field says its whole name.
fn names_field(action: &[String]) -> bool {
    action[0] != "del-header" || names_one_field(action)
}

/// Whether a line changes the host that servers are asked for.
fn changes_host(line: &ConfigLine, action: &[String]) -> bool {
    let name = action.get(1).map_or("", String::as_str);
    line.word(0) == "http-request" && name.eq_ignore_ascii_case("host")
}

/// The condition for requests that were not accepted before.
fn without(when: RuleCondition, accepted: Vec<RuleCondition>) -> RuleCondition {
    if accepted.is_empty() {
        return when;
    }
    let accepted = accepted.into_iter().map(RuleCondition::negate);
    RuleCondition::All(std::iter::once(when).chain(accepted).collect())
}

/// Whether a line lets its requests through.
fn is_acceptance(line: &ConfigLine) -> bool {
    let words = line.all_words();
    let action = if line.all_words()[0] == "tcp-request" { words.get(2) } else { words.get(1) };
    action.is_some_and(|action| action == "accept" || action == "allow")
}
