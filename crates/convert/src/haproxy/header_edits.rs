//! HAProxy's rules that set, add or remove a header field, read from their lines.
//!
//! A change that cannot be written still takes out what clients send, because servers believe these fields.

use crate::condition::RuleCondition;
use crate::draft_check::RouterLayer;
use crate::header_field::check_field;
use crate::notes::{ConversionNotes, UnsupportedReason};

use super::answer_criterion::ANSWER_STATUS;
use super::field_edit::{ChangedMessage, EditAction, FieldEdit};
use super::field_reads::{ANSWER_FIELD, field_key};
use super::field_replacement::FieldReplacement;
use super::hidden_inputs::{hide_negated_paths, hide_parts, names_one_field};
use super::lex::ConfigLine;
use super::log_format;
use super::opaque_fields::OpaqueFields;
use super::pools::BackendPools;

/// The most conditional changes of a proxy. A service has at most so many edits.
const CONDITIONAL: usize = 256;

/// Conditions about counts and pools, which only rules have.
const OF_RULES: [&str; 3] = ["active", "scope", "servers"];

/// Conditions that are still known when an answer comes.
const OF_ANSWERS: [&str; 5] = ["client", "client-port", "sni", ANSWER_STATUS, ANSWER_FIELD];

const REMOVED: &str = "what clients send under its name is removed";
const REMOVED_FROM_ANSWERS: &str =
    "what servers send under its name is removed wherever the condition may hold";
const WIDENED: &str = "the field is removed wherever the condition may hold";
const VALUE: &str = "a field's value cannot be made of these variables";

const SAME_NAME: &str = "a field of clients whose name has `-` in place of `_` goes with it, since servers may take both for one";

const LAST: &str = "HAProxy takes the last value of a list; where there are several, the field is not set, and removed";

const CLEARED: &str = "other spellings of a path are the same path here; what clients send under this name is removed on all paths";

/// The most changes of a proxy.
const CHANGES: usize = 1_000;

/// The changes of a proxy, in the order of its file.
#[derive(Clone, Debug, Default)]
pub struct HeaderEdits {
    pub edits: Vec<FieldEdit>,
    /// There are more than can be put in order.
    pub is_overfull: bool,
    /// The fields that a change which is not written as it is has left behind.
    pub opaque: OpaqueFields,
    conditional: usize,
}

/// The message that a line changes; `None`: the line changes no field.
pub fn edited_message(line: &ConfigLine, action: &str) -> Option<ChangedMessage> {
    let kinds = ["set-header", "add-header", "del-header", "replace-header", "replace-value"];
    if !kinds.contains(&action) {
        return None;
    }
    match line.word(0) {
        "http-request" => Some(ChangedMessage::Request),
        "http-response" => Some(ChangedMessage::Answer),
        "http-after-response" => Some(ChangedMessage::EveryAnswer),
        _ => None,
    }
}

impl HeaderEdits {
    /// Those of a proxy whose rules come behind others. `opaque`: what these left behind.
    pub fn behind(opaque: &OpaqueFields) -> HeaderEdits {
        HeaderEdits { opaque: opaque.clone(), ..HeaderEdits::default() }
    }

    /// Carries over an action that changes a field.
    ///
    /// # Errors
    /// It is not, or not as it is written.
    pub fn read(
        &mut self,
        line: &ConfigLine,
        message: ChangedMessage,
        action: &[String],
        when: RuleCondition,
        pools: &BackendPools,
        notes: &mut ConversionNotes,
    ) -> Result<(), UnsupportedReason> {
        let known = self.edits.len();
        let result = self.read_edit(line, message, action, when, pools, notes);
        match &result {
            Ok(()) => self.edits.iter().skip(known).for_each(|edit| self.opaque.settle(edit)),
            Err(_) => {
                let key = field_key(action.get(1).map_or("", String::as_str));
                self.opaque.insert(key, message == ChangedMessage::Request);
            }
        }
        result
    }

    fn read_edit(
        &mut self,
        line: &ConfigLine,
        message: ChangedMessage,
        action: &[String],
        when: RuleCondition,
        pools: &BackendPools,
        notes: &mut ConversionNotes,
    ) -> Result<(), UnsupportedReason> {
        let word = |at: usize| action.get(at).map_or("", String::as_str);
        let name = word(1);
        let replacement = FieldReplacement::read(message, action);
        let when = replacement.iter().fold(when, |when, one| when.and(one.when.clone()));
        let edit_action = action_of(word(0));
        if edit_action == EditAction::Remove && !names_one_field(action) {
            return Err(UnsupportedReason::new("only fields of one name each are removed", ""));
        }
        let sets_host = name.eq_ignore_ascii_case("host")
            && message == ChangedMessage::Request
            && edit_action == EditAction::Set;
        if !sets_host {
            check_field(&format!("{name}:"))?;
        }
        let mut edit = FieldEdit {
            message,
            action: edit_action,
            name: name.to_owned(),
            value: String::new(),
            when: self.writable_condition(when, message, edit_action, pools),
            is_closing: false,
            position: self.edits.len(),
            source: line.source,
            text: line.text(),
        };
        let text = value_text(edit_action, action);
        if replacement.is_none() && self.push_scheme(&mut edit, &text, notes) {
            return Ok(());
        }
        if let Some(why) = edit.when.unknown().cloned() {
            return Err(self.close(edit, why));
        }
        note_same_names(&edit, notes);
        let is_replacement = replacement.is_some();
        let template = match replacement {
            Some(replacement) => replacement.template,
            None => log_format::message_variables(&text, edit.is_of_request()),
        };
        let Some(value) = template else {
            let instead = "`rewrite.set` with {client}, {port}, {sni}, {header.NAME}";
            return Err(self.close(edit, UnsupportedReason::new(VALUE, instead)));
        };
        if let Some(why) = self.opaque.hides_value(&value) {
            return Err(self.close(edit, why));
        }
        if !sets_host && edit_action != EditAction::Remove {
            check_field(&format!("{name}: {value}"))?;
        }
        if is_replacement {
            let reason = "several fields of this name become one";
            notes.changed(line.source, &edit.text, reason, "");
        }
        edit.value = value;
        if edit.is_of_request() && log_format::takes_last(&text) {
            return Err(self.push_single_value(edit));
        }
        self.push_cleared(&edit, notes);
        edit.position = self.edits.len();
        self.push(edit);
        Ok(())
    }

    /// The condition, with what edits cannot compare as unknown parts.
    fn writable_condition(
        &mut self,
        when: RuleCondition,
        message: ChangedMessage,
        action: EditAction,
        pools: &BackendPools,
    ) -> RuleCondition {
        if when.clone().simplify(true) == RuleCondition::Is(true)
            && when.clone().simplify(false) == RuleCondition::Is(true)
        {
            return RuleCondition::Is(true);
        }
        if self.conditional >= CONDITIONAL {
            let reason = format!("a service has at most {CONDITIONAL} changes with conditions");
            return RuleCondition::Unknown(UnsupportedReason::new(reason, ""));
        }
        self.conditional += 1;
        let why = UnsupportedReason::new(
            "changes of fields do not depend on counts and pools, nor those of answers on the request",
            "`rewrite` in a rule",
        );
        let is_hidden = |part: &RuleCondition| match part {
            RuleCondition::Key(key, _) | RuleCondition::AnyCase(key, _) => match message {
                ChangedMessage::Request => OF_RULES.contains(key),
                _ => !OF_ANSWERS.contains(key),
            },
            _ => false,
        };
        let when = match action {
            EditAction::Remove => hide_negated_paths(when, false),
            _ => when,
        };
        let when = hide_parts(when, &why, &is_hidden);
        match message {
            ChangedMessage::Request => {
                pools.drafts.borrow_mut().check_condition(when, RouterLayer::Http)
            }
            _ => when,
        }
    }

    /// Adds a field that says the scheme of the request, for listeners with TLS and without. Returns false for other
    /// fields.
    fn push_scheme(
        &mut self,
        edit: &mut FieldEdit,
        text: &str,
        notes: &mut ConversionNotes,
    ) -> bool {
        let sets = edit.is_of_request() && edit.action == EditAction::Set;
        let over_tls = edit.when.clone().simplify(true);
        let plain = edit.when.clone().simplify(false);
        let named = edit.name.eq_ignore_ascii_case("x-forwarded-proto");
        if !sets || !named || !says_scheme(text, &over_tls, &plain) {
            return false;
        }
        let value = "{scheme}";
        let is_known = |one: &FieldEdit| one.key() == edit.key() && one.value == value;
        if !self.edits.iter().any(is_known) {
            let reason = "it says what the client used, on listeners with TLS and without";
            notes.changed(edit.source, &edit.text, reason, "");
            let when = RuleCondition::Is(true);
            self.push(FieldEdit { value: value.to_owned(), when, ..edit.clone() });
        }
        true
    }

    /// Takes out the field of a request that cannot be changed as it is written. Returns the reason to report.
    fn close(&mut self, edit: FieldEdit, why: UnsupportedReason) -> UnsupportedReason {
        let consequence = match edit.action {
            EditAction::Add => return why,
            EditAction::Set if !edit.is_of_request() && is_needed_in_answers(&edit.name) => {
                return why;
            }
            EditAction::Set if !edit.is_of_request() => REMOVED_FROM_ANSWERS,
            _ if edit.is_of_request() && edit.name.eq_ignore_ascii_case("host") => return why,
            EditAction::Set => REMOVED,
            EditAction::Remove => WIDENED,
        };
        let reason = format!("{}; {consequence}", why.reason);
        let is_closing = edit.action == EditAction::Set;
        let when = edit.when.clone().at_least();
        self.push(FieldEdit { action: EditAction::Remove, when, is_closing, ..edit });
        UnsupportedReason::new(reason, why.instead)
    }

    /// Sets a field to the last element of a list, where the list has only one: the field is removed where its value has
    /// a comma then. Returns the reason to report.
    fn push_single_value(&mut self, edit: FieldEdit) -> UnsupportedReason {
        let lists = edit.value.contains(',') || edit.action != EditAction::Set;
        let why = UnsupportedReason::new(LAST, "one value from the proxy in front");
        if lists {
            return self.close(edit, why);
        }
        let is_host = edit.name.eq_ignore_ascii_case("host");
        self.push(edit.clone());
        if !is_host {
            let comma = RuleCondition::texts("header-regex", &[format!("{}: .*,.*", edit.name)]);
            let when = edit.when.clone().and(comma);
            let position = self.edits.len();
            let action = EditAction::Remove;
            self.push(FieldEdit { action, value: String::new(), when, position, ..edit });
            self.conditional += 1;
        }
        why
    }

    /// Takes out what clients send where a field is set on all paths but some. HAProxy compares these as they are spelt,
    /// and sets the field where the same path is spelt otherwise.
    fn push_cleared(&mut self, edit: &FieldEdit, notes: &mut ConversionNotes) {
        let possible = hide_negated_paths(edit.when.clone(), false);
        let is_set = edit.is_of_request() && edit.action == EditAction::Set;
        if !is_set || possible.unknown().is_none() || edit.name.eq_ignore_ascii_case("host") {
            return;
        }
        notes.changed(edit.source, &edit.text, CLEARED, "");
        let when = possible.at_least().simplify(false);
        let action = EditAction::Remove;
        self.push(FieldEdit { action, value: String::new(), when, ..edit.clone() });
    }

    /// Removes a field that clients send, in place of a line that replaces it by something that cannot be written.
    pub fn push_removal(&mut self, name: &str, line: &ConfigLine) {
        self.push_own(EditAction::Remove, name, line, "", RuleCondition::Is(true));
    }

    /// Adds a field, in place of a line that is no rule.
    pub fn push_addition(
        &mut self,
        name: &str,
        value: &str,
        when: RuleCondition,
        line: &ConfigLine,
    ) {
        self.push_own(EditAction::Add, name, line, value, when);
    }

    fn push_own(
        &mut self,
        action: EditAction,
        name: &str,
        line: &ConfigLine,
        value: &str,
        when: RuleCondition,
    ) {
        if check_field(&format!("{name}: {value}")).is_err() {
            return;
        }
        self.push(FieldEdit {
            message: ChangedMessage::Request,
            action,
            name: name.to_owned(),
            value: value.to_owned(),
            when,
            is_closing: action == EditAction::Remove,
            position: self.edits.len(),
            source: line.source,
            text: line.text(),
        });
    }

    fn push(&mut self, edit: FieldEdit) {
        if self.edits.len() < CHANGES {
            self.edits.push(edit);
        } else {
            self.is_overfull = true;
        }
    }
}

/// Reports that a field goes with another one whose name is spelt with `-`.
fn note_same_names(edit: &FieldEdit, notes: &mut ConversionNotes) {
    if edit.is_of_request() && edit.action != EditAction::Add && edit.name.contains('_') {
        let instead = "names with letters, digits and `-`";
        notes.changed(edit.source, &edit.text, SAME_NAME, instead);
    }
}

/// Whether clients take an answer for something else without this field.
fn is_needed_in_answers(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-type")
}

/// What an action writes.
fn value_text(edit_action: EditAction, action: &[String]) -> String {
    match edit_action {
        EditAction::Remove => String::new(),
        _ => action.get(2..).unwrap_or(&[]).join(" "),
    }
}

fn action_of(word: &str) -> EditAction {
    match word {
        "set-header" | "replace-header" | "replace-value" => EditAction::Set,
        "add-header" => EditAction::Add,
        _ => EditAction::Remove,
    }
}

/// Whether a field of this text says the scheme of the request, as `{scheme}` does: `https` over TLS, `http` without.
fn says_scheme(text: &str, over_tls: &RuleCondition, plain: &RuleCondition) -> bool {
    let (yes, no) = match text {
        "https" => (over_tls, plain),
        "http" => (plain, over_tls),
        _ => return false,
    };
    *yes == RuleCondition::Is(true) && *no == RuleCondition::Is(false)
}
