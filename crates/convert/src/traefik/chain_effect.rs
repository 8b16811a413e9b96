//! What the middlewares of a router do with its requests, before it is written as rules.

use crate::condition::RuleCondition;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

/// A refusal or a redirect for the requests that meet a condition.
#[derive(Clone, Debug)]
pub struct ChainStep {
    pub when: RuleCondition,
    pub keys: Vec<KeyValue>,
    pub source: SourcePlace,
    pub text: String,
}

/// A changed path for the requests that meet a condition.
#[derive(Clone, Debug)]
pub struct PathVariant {
    pub when: RuleCondition,
    /// Keys of `rewrite`.
    pub keys: Vec<KeyValue>,
    /// Fields of the request that tell the servers about the change.
    pub set: Vec<String>,
}

impl PathVariant {
    /// Whether nothing is left of the path.
    pub fn is_empty(&self) -> bool {
        self.keys.contains(&empty_path())
    }
}

/// The key of a path of which nothing is left, before a prefix is put there.
pub fn empty_path() -> KeyValue {
    KeyValue::new("path", value::quote(""))
}

/// Changed fields of requests and answers.
#[derive(Clone, Debug, Default)]
pub struct FieldPlan {
    pub host: Option<String>,
    pub set: Vec<String>,
    pub remove: Vec<String>,
    pub answer_set: Vec<String>,
    pub answer_remove: Vec<String>,
}

/// Further attempts of a router's requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetryPlan {
    /// Further attempts after the first one.
    pub retries: u32,
    /// The first wait in milliseconds; 0: none.
    pub back_off_ms: u64,
}

/// The joint effect of a chain of middlewares.
#[derive(Clone, Debug, Default)]
pub struct ChainEffect {
    /// Refusals and redirects, in the order of the chain.
    pub steps: Vec<ChainStep>,
    /// No request goes beyond the steps.
    pub ended: bool,
    pub variants: Vec<PathVariant>,
    /// A prefix that goes before every path.
    pub prefix: Option<String>,
    pub fields: FieldPlan,
    /// The value of `limit`.
    pub limit: Option<String>,
    /// The value of `buffer`.
    pub buffer: Option<String>,
    /// The value of `body-bytes`.
    pub body_bytes: Option<String>,
    pub retry: RetryPlan,
    /// The value of the service's `compress`.
    pub compress: Option<String>,
}

impl ChainEffect {
    /// Closes the router with a status.
    pub fn close(&mut self, status: u16, source: SourcePlace, text: &str) {
        let keys = vec![KeyValue::new("answer", status.to_string())];
        self.refuse(RuleCondition::Is(true), keys, source, text);
        self.ended = true;
    }

    /// Adds the effect of one middleware.
    pub fn refuse(
        &mut self,
        when: RuleCondition,
        keys: Vec<KeyValue>,
        source: SourcePlace,
        text: &str,
    ) {
        let mut keys = keys;
        // Middlewares before this one change its answer too.
        let fields = self.fields.added_to_answers();
        if let Some(added) = fields.filter(|_| keys.iter().all(|one| one.key != "rewrite")) {
            keys.push(KeyValue::new("rewrite", value::table(&[added])));
        }
        self.steps.push(ChainStep { when, keys, source, text: text.to_owned() });
    }
}

impl FieldPlan {
    /// Sets a field of the request in the place of an earlier one of its name.
    pub fn set_request(&mut self, name: &str, field: String) {
        retain_others(&mut self.set, name);
        self.remove.retain(|other| !other.eq_ignore_ascii_case(name));
        self.set.push(field);
    }

    /// Removes a field of the request.
    pub fn remove_request(&mut self, name: &str) {
        retain_others(&mut self.set, name);
        push_name(&mut self.remove, name);
    }

    /// Sets a field of the answer in the place of an earlier one of its name.
    pub fn set_answer(&mut self, name: &str, value: &str) {
        retain_others(&mut self.answer_set, name);
        self.answer_remove.retain(|other| !other.eq_ignore_ascii_case(name));
        self.answer_set.push(format!("{name}: {value}"));
    }

    /// Removes a field of the answer.
    pub fn remove_answer(&mut self, name: &str) {
        retain_others(&mut self.answer_set, name);
        push_name(&mut self.answer_remove, name);
    }

    /// The keys of `rewrite`.
    pub fn keys(&self) -> Vec<KeyValue> {
        let mut out: Vec<KeyValue> = Vec::new();
        out.extend(self.host.as_ref().map(|host| KeyValue::new("host", value::quote(host))));
        // Traefik writes them to answers of its own too, so that those of servers are removed and these are added.
        let mut removed = self.answer_remove.clone();
        let set = self.answer_set.iter().filter_map(|field| field.split(':').next());
        set.for_each(|name| push_name(&mut removed, name));
        for (key, list) in
            [("set", &self.set), ("remove", &self.remove), ("response-remove", &removed)]
        {
            if !list.is_empty() {
                out.push(KeyValue::new(key, value::quote_all(list)));
            }
        }
        out.extend(self.added_to_answers());
        out
    }

    /// The key of `rewrite` with the fields of answers, whoever answers.
    fn added_to_answers(&self) -> Option<KeyValue> {
        let entry = |field: &String| {
            let field = KeyValue::new("field", value::quote(&escape_variables(field)));
            value::table(&[field, KeyValue::new("own", "true")])
        };
        let added: Vec<String> = self.answer_set.iter().map(entry).collect();
        (!added.is_empty()).then(|| KeyValue::new("response-add", value::list(added)))
    }
}

fn push_name(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|other| other.eq_ignore_ascii_case(name)) {
        names.push(name.to_owned());
    }
}

/// Takes the fields of this name out of a list of `name: value`.
fn retain_others(fields: &mut Vec<String>, name: &str) {
    fields.retain(|field| {
        field.split(':').next().is_none_or(|other| !other.eq_ignore_ascii_case(name))
    });
}

/// A text in which braces stand for themselves, for values that may have variables.
pub fn escape_variables(text: &str) -> String {
    text.replace('{', "{{")
}
