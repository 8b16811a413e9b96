//! HAProxy's header fields that are set, added or removed on every request or response.

use crate::condition::RuleCondition;
use crate::header_field::check_field;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::value::{self, KeyValue};

use super::lex::ConfigLine;
use super::log_format;

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
        let mut pairs: Vec<KeyValue> =
            host.map(|host| KeyValue::new("host", value::quote(host))).into_iter().collect();
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
        pairs.extend(lists.map(|(key, list)| KeyValue::new(key, value::quote_all(&list))));
        (!pairs.is_empty()).then(|| value::table(&pairs))
    }

    /// Carries over an action that changes a field of every request or response.
    pub fn edit(
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
        let over_tls = when.clone().simplify(true);
        let plain = when.simplify(false);
        if lower == "x-forwarded-proto" && sets && says_scheme(&text, &over_tls, &plain) {
            let field = format!("{name}: {{scheme}}");
            if !self.set.contains(&field) {
                let reason = "it says what the client used, on listeners with TLS and without";
                notes.changed(line.source, &line.text(), reason, "");
                self.set.push(field);
            }
            return Ok(());
        }
        if over_tls != RuleCondition::Is(true) || plain != RuleCondition::Is(true) {
            // Servers believe this field, so that what clients send under its name must not reach them.
            if sets && lower != "host" {
                self.remove.push(name.to_owned());
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
        let Some(text) = written else {
            let mut reason = "a field's value cannot be made of these variables".to_owned();
            // Servers believe this field: what clients send under its name must not take its place.
            if sets && lower != "host" {
                self.remove.push(name.to_owned());
                reason.push_str("; what clients send under its name is removed");
            }
            let instead = "`rewrite.set` with {client}, {port}, {sni}, {header.NAME}";
            return Err(UnsupportedReason::new(reason, instead));
        };
        let field = format!("{name}: {text}");
        if lower != "host" || !of_request {
            check_field(&field)?;
        }
        match (line.word(0), word(0)) {
            ("http-request", "set-header") if lower == "host" => self.host = Some(text),
            ("http-request", "set-header") => self.set.push(field),
            ("http-request", "add-header") => self.add.push(field),
            ("http-request", _) => self.remove.push(name.to_owned()),
            (_, "set-header") => self.response_set.push(field),
            (_, "del-header") => self.response_remove.push(name.to_owned()),
            _ => self.response_add.push(field),
        }
        Ok(())
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
