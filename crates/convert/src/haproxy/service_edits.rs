//! The changes of fields as they are written: in the `rewrite` of a rule, or as edits of the service.

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::answer_condition::{self, AnswerCondition};
use super::edit_times::{EditTime, TimedEdit};
use super::field_edit::{ChangedMessage, EditAction, FieldEdit};

/// The most edits of a service.
pub const EDITS: usize = 256;

/// An edit of a service.
#[derive(Clone, Debug)]
struct ServiceEdit {
    condition: AnswerCondition,
    place: EditPlace,
    edits: Vec<TimedEdit>,
}

/// When an edit is made, and for which pool.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EditPlace {
    time: EditTime,
    pool: Option<String>,
}

/// The edits of a service in their order.
#[derive(Clone, Debug, Default)]
pub struct ServiceEdits(Vec<ServiceEdit>);

impl ServiceEdits {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds the changes of this time. `pool`: only for requests that go there.
    pub fn push_all(
        &mut self,
        edits: &[TimedEdit],
        time: EditTime,
        pool: Option<&str>,
        notes: &mut ConversionNotes,
    ) {
        let place = EditPlace { time, pool: pool.map(str::to_owned) };
        for one in edits.iter().filter(|one| one.time == time) {
            let conditions = match one.edit.message {
                ChangedMessage::Request => {
                    vec![AnswerCondition { when: one.edit.when.clone(), response: None }]
                }
                _ => answer_condition::alternatives(&one.edit.when),
            };
            if conditions.is_empty() && one.edit.action == EditAction::Remove {
                // What was not to get out stays in.
                let reason = "its condition of the answer cannot be written; the field is removed from all answers";
                notes.left_out(one.edit.source, &one.edit.text, reason, "");
                let condition = AnswerCondition { when: RuleCondition::Is(true), response: None };
                self.push(ServiceEdit {
                    condition,
                    place: place.clone(),
                    edits: vec![one.clone()],
                });
                continue;
            }
            // What is added under several conditions would be added several times.
            if conditions.is_empty() || one.edit.action == EditAction::Add && conditions.len() > 1 {
                let reason = "an edit has one condition of the answer, whose parts all hold";
                let instead = "an `edit` of its own for each alternative";
                notes.left_out(one.edit.source, &one.edit.text, reason, instead);
                continue;
            }
            for condition in conditions {
                self.push(ServiceEdit {
                    condition,
                    place: place.clone(),
                    edits: vec![one.clone()],
                });
            }
        }
    }

    fn push(&mut self, edit: ServiceEdit) {
        if let Some(last) = self.0.last_mut()
            && last.condition == edit.condition
            && last.place == edit.place
            && !edit.edits.iter().any(|one| last.edits.iter().any(|other| one.depends_on(other)))
        {
            return last.edits.extend(edit.edits);
        }
        self.0.push(edit);
    }

    /// Writes the edits of the service of this name.
    pub fn write(&self, service: &str, document: &mut Document) {
        for ServiceEdit { condition, place, edits } in &self.0 {
            let path = format!("service.{service}.edit");
            let mut table = match edits.first() {
                Some(first) => TomlTable::one_of(path, first.edit.source, &first.edit.text),
                None => continue,
            };
            // A change of requests that is lost would let through what clients send.
            let of_request = edits.iter().any(|one| one.edit.is_of_request());
            let mut set = |key, value: String| match of_request {
                true => table.set_required(key, value, SourcePlace::NONE),
                false => table.set(key, value, SourcePlace::NONE),
            };
            if let Some(when) = condition.when.to_when() {
                set("when", when);
            }
            if let Some(response) = &condition.response {
                set("when-response", response.clone());
            }
            match &place.pool {
                Some(pool) => set("pool", value::quote(pool)),
                None if place.time == EditTime::AfterRules => set("after-rules", "true".to_owned()),
                None => {}
            }
            let all: Vec<&FieldEdit> = edits.iter().map(|one| &one.edit).collect();
            if let Some(rewrite) = rewrite_of(None, &all) {
                set("rewrite", rewrite);
            }
            let sources: Vec<SourcePlace> = all.iter().map(|edit| edit.source).collect();
            table.add_sources("rewrite", &sources);
            document.push(table);
        }
    }
}

/// The `rewrite` of a rule, with the change of its path. `None`: it has none of these changes.
pub fn rule_rewrite(path: Option<KeyValue>, edits: &[&[TimedEdit]]) -> Option<KeyValue> {
    let with_rule = |one: &&TimedEdit| one.time == EditTime::WithRule;
    let all: Vec<&FieldEdit> =
        edits.iter().copied().flatten().filter(with_rule).map(|one| &one.edit).collect();
    rewrite_of(path, &all).map(|written| KeyValue::new("rewrite", written))
}

#[derive(Default)]
struct RewriteLists {
    host: Option<String>,
    set: Vec<String>,
    add: Vec<String>,
    remove: Vec<String>,
    answer_set: Vec<String>,
    response_add: Vec<String>,
    answer_remove: Vec<String>,
}

fn rewrite_of(path: Option<KeyValue>, edits: &[&FieldEdit]) -> Option<String> {
    let mut lists = RewriteLists::default();
    edits.iter().for_each(|edit| lists.add(edit));
    let host = lists.host.map(|host| KeyValue::new("host", value::quote(&host)));
    let mut pairs: Vec<KeyValue> = path.into_iter().chain(host).collect();
    for (key, list) in [
        ("set", lists.set),
        ("add", lists.add),
        ("remove", lists.remove),
        ("response-set", lists.answer_set),
        ("response-add", lists.response_add),
        ("response-remove", lists.answer_remove),
    ] {
        match &list[..] {
            [] => {}
            // A table does not stand for a list.
            [one] if !one.starts_with('{') => pairs.push(KeyValue::new(key, one.clone())),
            _ => pairs.push(KeyValue::new(key, value::list(list))),
        }
    }
    (!pairs.is_empty()).then(|| value::table(&pairs))
}

impl RewriteLists {
    fn add(&mut self, edit: &FieldEdit) {
        let FieldEdit { message, action, name, value: text, .. } = edit;
        let quoted_name = value::quote(name);
        let field = value::quote(&format!("{name}: {text}"));
        match (message, action) {
            (ChangedMessage::Request, EditAction::Set) if name.eq_ignore_ascii_case("host") => {
                self.host = Some(text.clone());
            }
            (ChangedMessage::Request, EditAction::Set) => self.set.push(field),
            (ChangedMessage::Request, EditAction::Add) => self.add.push(field),
            (ChangedMessage::Request, EditAction::Remove) => {
                push_once(&mut self.remove, quoted_name)
            }
            (_, EditAction::Remove) => push_once(&mut self.answer_remove, quoted_name),
            (ChangedMessage::Answer, EditAction::Add) => self.response_add.push(field),
            // `response-set` knows no variables.
            (ChangedMessage::Answer, EditAction::Set) if !has_variables(text) => {
                let fixed = format!("{name}: {}", text.replace("{{", "{"));
                self.answer_set.push(value::quote(&fixed));
            }
            (ChangedMessage::Answer, EditAction::Set) => {
                push_once(&mut self.answer_remove, quoted_name);
                self.response_add.push(field);
            }
            (ChangedMessage::EveryAnswer, action) => {
                if *action == EditAction::Set {
                    push_once(&mut self.answer_remove, quoted_name);
                }
                let own = KeyValue::new("own", "true");
                self.response_add.push(value::table(&[KeyValue::new("field", field), own]));
            }
        }
    }
}

fn push_once(list: &mut Vec<String>, item: String) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn has_variables(template: &str) -> bool {
    template.replace("{{", "").contains('{')
}

/// The condition of a change on listeners with or without TLS; `None`: it is never made there.
pub fn on_listener(edit: &FieldEdit, tls: bool) -> Option<TimedEdit> {
    let when = edit.when.clone().simplify(tls);
    (when != RuleCondition::Is(false)).then(|| TimedEdit::new(FieldEdit { when, ..edit.clone() }))
}
