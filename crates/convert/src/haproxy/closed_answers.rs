//! Redirects and answers of HAProxy's rules, and refusals in place of rules that have no counterpart.

use crate::condition::RuleCondition;
use crate::notes::{ConversionNotes, UnsupportedReason};

use super::directives;
use super::fixed_answers::{redirect, refusing_status, return_action};
use super::guard_notes::{
    AUTH, CLOSED, HELD_BACK, HELD_BACK_INSTEAD, OTHER_AUTH, PROGRAM, SERVER, SERVER_INSTEAD,
    WIDENED, note_guard,
};
use super::held_back;
use super::hidden_inputs::{self, hide_answer};
use super::http_rules::ProxyRules;
use super::lex::ConfigLine;

impl ProxyRules {
    /// Adds a refusal in place of a rule that has no counterpart. Returns false for other rules.
    pub fn push_closing(
        &mut self,
        condition: RuleCondition,
        action: &[String],
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) -> bool {
        let first = action.first().map_or("", String::as_str);
        match (line.word(0), first) {
            ("http-response", "return" | "redirect") if held_back::is_of_errors(&condition) => {
                directives::note_directive(line.word(0), line, notes);
            }
            // A field that is removed by a part of its name.
            ("http-response" | "http-after-response", "del-header")
            | ("http-response", "deny" | "return" | "redirect" | "reject" | "silent-drop")
            | ("tcp-response", "reject" | "close" | "silent-drop") => {
                let when = hide_answer(self.unless_accepted(condition)).at_least();
                notes.left_out(line.source, &line.text(), HELD_BACK, HELD_BACK_INSTEAD);
                self.push_rule(when, "answer", "502".to_owned(), line);
            }
            ("http-request", "auth") => {
                let when = condition.at_least();
                notes.left_out(line.source, &line.text(), AUTH, OTHER_AUTH);
                self.push_final_rule(when, "deny", "true".to_owned(), line);
            }
            ("tcp-request", name) if hidden_inputs::decides_connection(name) => {
                let why = UnsupportedReason::new(PROGRAM, "do it at the servers");
                note_guard(line, &why, CLOSED, notes);
                self.push_final_rule(condition.at_least(), "deny", "true".to_owned(), line);
            }
            ("use-server", _) => {
                let why = UnsupportedReason::new(SERVER, SERVER_INSTEAD);
                note_guard(line, &why, CLOSED, notes);
                self.push_final_rule(condition.at_least(), "deny", "true".to_owned(), line);
            }
            _ => return false,
        }
        true
    }

    /// Adds a redirect. What cannot be written of it is refused: no server gets what was to be sent elsewhere.
    pub fn push_redirect(
        &mut self,
        condition: RuleCondition,
        action: &[String],
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) {
        match redirect(&action[1..]) {
            Ok(value) => self.push_choice(condition, "redirect", value, line, notes),
            Err(why) => {
                note_guard(line, &why, CLOSED, notes);
                let status = "502".to_owned();
                self.push_final_rule(condition.at_least(), "answer", status, line);
            }
        }
    }

    /// Adds a rule with a fixed answer. One that refuses stays closed.
    pub fn push_answer(
        &mut self,
        condition: RuleCondition,
        action: &[String],
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) {
        let value = return_action(&action[1..], "200");
        match (refusing_status(action), value) {
            (None, Ok(value)) => self.push_choice(condition, "answer", value, line, notes),
            (None, Err(why)) => {
                note_guard(line, &why, CLOSED, notes);
                self.push_final_rule(condition.at_least(), "deny", "true".to_owned(), line);
            }
            (Some(_), Ok(value)) => self.push_refusal(condition, "answer", value, line, notes),
            (Some(status), Err(why)) => {
                notes.changed(line.source, &line.text(), &why.reason, &why.instead);
                self.push_refusal(condition, "answer", status.to_string(), line, notes);
            }
        }
    }

    /// Adds a rule that neither refuses nor lets through. What only may meet its condition is refused, since no server
    /// was to get it then.
    fn push_choice(
        &mut self,
        condition: RuleCondition,
        key: &'static str,
        value: String,
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) {
        let condition = match self.fields.opaque.hides_value(&value) {
            Some(why) => condition.and(RuleCondition::Unknown(why)),
            None => condition,
        };
        let Some(why) = condition.unknown() else {
            return self.push_final_rule(condition, key, value, line);
        };
        note_guard(line, why, WIDENED, notes);
        self.push_final_rule(condition.clone().at_most(), key, value, line);
        self.push_final_rule(condition.at_least(), "deny", "true".to_owned(), line);
    }
}
