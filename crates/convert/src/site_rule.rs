//! Rules of a service as sites and virtual hosts of other balancers give them, before they are written.

use crate::condition::RuleCondition;
use crate::document::Document;
use crate::notes::ConversionNotes;
use crate::rule_fallback::answer_status;
use crate::rule_table;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

/// One change of a request or an answer, as a key of `rewrite`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RewriteEdit {
    key: &'static str,
    /// The item or the value in TOML syntax.
    value: String,
    /// The field's name in small letters; empty for keys that are no list of fields.
    field: String,
}

/// The `rewrite` of a rule. A later change of a field replaces an earlier one of the same field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewriteEdits {
    edits: Vec<RewriteEdit>,
}

impl RewriteEdits {
    /// Sets a key with one value, such as `path`. `value`: in TOML syntax.
    pub fn set_key(&mut self, key: &'static str, value: String) {
        self.edits.retain(|edit| edit.key != key);
        self.edits.push(RewriteEdit { key, value, field: String::new() });
    }

    /// Takes back a key with one value.
    pub fn remove_key(&mut self, key: &str) {
        self.edits.retain(|edit| edit.key != key);
    }

    /// Adds an item to a key's list, such as `location`. `value`: in TOML syntax.
    pub fn push_item(&mut self, key: &'static str, value: String) {
        self.edits.push(RewriteEdit { key, value, field: String::new() });
    }

    /// Sets a field of the request.
    pub fn set_field(&mut self, name: &str, template: &str) {
        self.forget(&["set", "add", "remove"], name);
        self.push_field("set", name, value::quote(&format!("{name}: {template}")));
    }

    /// Whether a field of the request is set.
    pub fn sets_field(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.edits.iter().any(|edit| edit.key == "set" && edit.field == name)
    }

    /// Whether a field of the request, in small letters, is changed.
    pub fn changes_field(&self, name: &str) -> bool {
        let is_change = |key: &str| matches!(key, "set" | "add" | "remove");
        self.edits.iter().any(|edit| is_change(edit.key) && edit.field == name)
    }

    /// Adds a field to the request.
    pub fn add_field(&mut self, name: &str, template: &str) {
        self.push_field("add", name, value::quote(&format!("{name}: {template}")));
    }

    /// Removes a field from the request.
    pub fn remove_field(&mut self, name: &str) {
        self.forget(&["set", "add", "remove"], name);
        self.push_field("remove", name, value::quote(name));
    }

    /// Sets a field of the answer.
    pub fn set_answer_field(&mut self, name: &str, template: &str) {
        self.forget(&["response-set", "response-remove", "response-add"], name);
        self.push_field("response-set", name, value::quote(&format!("{name}: {template}")));
    }

    /// Removes a field from the answer.
    pub fn remove_answer_field(&mut self, name: &str) {
        self.forget(&["response-set", "response-remove", "response-add"], name);
        self.push_field("response-remove", name, value::quote(name));
    }

    /// Takes back the fields of a name that were added to the answer.
    pub fn forget_added(&mut self, name: &str) {
        self.forget(&["response-add"], name);
    }

    /// Adds a field to the answer. `own`: to the balancer's own answers too. `replace`: in place of an added one.
    pub fn add_answer_field(&mut self, name: &str, template: &str, own: bool, replace: bool) {
        if replace {
            self.forget(&["response-add"], name);
        }
        let field = value::quote(&format!("{name}: {template}"));
        let item = match own {
            true => value::table(&[KeyValue::new("field", field), KeyValue::new("own", "true")]),
            false => field,
        };
        self.push_field("response-add", name, item);
    }

    /// The edits of an answer of the balancer, which has no fields of a server that set ones could replace.
    pub fn for_own_answer(&self) -> RewriteEdits {
        let mut out = self.clone();
        for edit in out.edits.iter_mut().filter(|edit| edit.key == "response-set") {
            let field = KeyValue::new("field", std::mem::take(&mut edit.value));
            edit.key = "response-add";
            edit.value = value::table(&[field, KeyValue::new("own", "true")]);
        }
        out
    }

    fn forget(&mut self, keys: &[&str], name: &str) {
        let name = name.to_ascii_lowercase();
        self.edits.retain(|edit| edit.field != name || !keys.contains(&edit.key));
    }

    fn push_field(&mut self, key: &'static str, name: &str, item: String) {
        self.edits.push(RewriteEdit { key, value: item, field: name.to_ascii_lowercase() });
    }

    /// The value of `rewrite` for a rule with a pool, or with an answer of its own. `None` if nothing is changed.
    pub fn to_toml(&self, has_pool: bool) -> Option<String> {
        const SINGLE: [&str; 4] = ["path", "strip", "prefix", "host"];
        let mut keys: Vec<&'static str> = Vec::new();
        for edit in self.edits.iter().filter(|edit| has_pool || edit.key == "response-add") {
            if !keys.contains(&edit.key) {
                keys.push(edit.key);
            }
        }
        let pairs: Vec<KeyValue> = keys
            .into_iter()
            .map(|key| {
                let mut items =
                    self.edits.iter().filter(|edit| edit.key == key).map(|edit| edit.value.clone());
                match SINGLE.contains(&key) {
                    true => KeyValue::new(key, items.next().unwrap_or_default()),
                    false => KeyValue::new(key, value::list(items)),
                }
            })
            .collect();
        (!pairs.is_empty()).then(|| value::table(&pairs))
    }
}

/// A rule of a service, before it is written.
#[derive(Clone, Debug)]
pub struct SiteRule {
    pub when: RuleCondition,
    /// The rule's actions, as keys and TOML values.
    pub keys: Vec<KeyValue>,
    pub source: SourcePlace,
    pub text: String,
}

impl SiteRule {
    /// A fixed answer with this status.
    pub fn answer(when: RuleCondition, status: u16, source: SourcePlace, text: &str) -> SiteRule {
        let keys = vec![KeyValue::new("answer", status.to_string())];
        SiteRule { when, keys, source, text: text.to_owned() }
    }

    /// Adds a further condition, which is checked first.
    pub fn with_condition(mut self, scope: &RuleCondition) -> SiteRule {
        self.when = RuleCondition::All(vec![scope.clone(), self.when]);
        self
    }

    /// Whether the rule sends requests to servers.
    pub fn has_pool(&self) -> bool {
        self.keys.iter().any(|one| one.key == "pool")
    }

    /// Whether the rule refuses: `deny`, or `answer` with a status from 400 on.
    pub fn is_refusal(&self) -> bool {
        self.keys.iter().any(|one| match one.key {
            "deny" => true,
            "answer" => answer_status(&one.value).is_none_or(|status| status >= 400),
            _ => false,
        })
    }
}

/// Writes the rules of a service in order, except those that never match. Refusals hold wherever their condition may
/// hold, all other rules only where it certainly holds. Returns whether a rule takes every request.
pub fn write_rules(
    service: &str,
    rules: Vec<SiteRule>,
    tls: bool,
    document: &mut Document,
    notes: &mut ConversionNotes,
) -> bool {
    for rule in rules {
        if let Some(why) = rule.when.unknown().cloned() {
            notes.left_out_because(rule.source, &rule.text, &why);
        }
        let bound = match rule.is_refusal() {
            true => rule.when.clone().at_least(),
            false => rule.when.clone().at_most(),
        };
        let when = bound.simplify(tls);
        notes.converted(rule.source);
        if when == RuleCondition::Is(false) {
            continue;
        }
        let mut table = rule_table::begin(service, &when, rule.source, &rule.text);
        for KeyValue { key, value } in rule.keys {
            table.set(key, value, SourcePlace::NONE);
        }
        document.push(table);
        if when == RuleCondition::Is(true) {
            return true;
        }
    }
    false
}
