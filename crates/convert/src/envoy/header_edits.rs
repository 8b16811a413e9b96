//! `request_headers_to_add`, `response_headers_to_remove` and so on, as a rule's `rewrite`.

use crate::header_field::check_field;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::message_edits::{MessageEdits, name_of, reads_any};
use super::reader::{leave_out, settle_inside, take_flag, take_text, take_texts};

/// What is changed in the fields of requests and answers.
#[derive(Clone, Debug, Default)]
pub struct HeaderEditList {
    pub request: MessageEdits,
    pub answer: MessageEdits,
    /// The host or the path is changed in a way that cannot be written.
    pub changes_target: bool,
}

/// Whether a field is one of the request or of the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EditedMessage {
    Request,
    Answer,
}

impl HeaderEditList {
    /// The edits of a route, a virtual host, a route configuration or a cluster of a split.
    pub fn read(node: &ConfigNode, notes: &mut ConversionNotes) -> HeaderEditList {
        let mut edits = HeaderEditList::default();
        for (key, message) in [
            ("request_headers_to_remove", EditedMessage::Request),
            ("response_headers_to_remove", EditedMessage::Answer),
        ] {
            for name in take_texts(node, key, notes) {
                edits.of(message).remove_field(&name.to_ascii_lowercase());
            }
        }
        for (key, message) in [
            ("request_headers_to_add", EditedMessage::Request),
            ("response_headers_to_add", EditedMessage::Answer),
        ] {
            let Some(field) = node.get(key) else { continue };
            for item in field.items() {
                edits.take_option(item, message, notes);
            }
            if field.is_empty() {
                notes.not_needed(field.source.whole(), field.describe(), "it changes nothing");
            }
        }
        edits
    }

    fn of(&mut self, message: EditedMessage) -> &mut MessageEdits {
        match message {
            EditedMessage::Request => &mut self.request,
            EditedMessage::Answer => &mut self.answer,
        }
    }

    /// The edits of a `HeaderMutation` filter.
    pub fn read_mutations(node: &ConfigNode, notes: &mut ConversionNotes) -> HeaderEditList {
        let mut edits = HeaderEditList::default();
        for (key, message) in [
            ("request_mutations", EditedMessage::Request),
            ("response_mutations", EditedMessage::Answer),
        ] {
            let items = node.get(key).map(ConfigNode::items).unwrap_or_default();
            edits.take_mutations(items, message, notes);
        }
        edits
    }

    /// The mutations of requests before routes are asked.
    pub fn read_early(items: &[ConfigNode], notes: &mut ConversionNotes) -> HeaderEditList {
        let mut edits = HeaderEditList::default();
        edits.take_mutations(items, EditedMessage::Request, notes);
        edits
    }

    fn take_mutations(
        &mut self,
        items: &[ConfigNode],
        message: EditedMessage,
        notes: &mut ConversionNotes,
    ) {
        for item in items {
            if let Some(name) = take_text(item, "remove", notes) {
                self.of(message).remove_field(&name.to_ascii_lowercase());
            }
            if let Some(option) = item.get("append") {
                self.take_option(option, message, notes);
            }
            for other in item.unread_entries() {
                leave_out(
                    other,
                    "fields are removed by their whole names",
                    "`rewrite.remove`",
                    notes,
                );
                self.changes_target |= message == EditedMessage::Request;
            }
        }
    }

    /// Reads one field to set or add, in the API a header value option.
    fn take_option(
        &mut self,
        item: &ConfigNode,
        message: EditedMessage,
        notes: &mut ConversionNotes,
    ) {
        let header = item.get("header");
        let name = header.and_then(|header| take_text(header, "key", notes)).unwrap_or_default();
        let given = header.and_then(|header| take_text(header, "value", notes)).unwrap_or_default();
        let name = name.to_ascii_lowercase();
        let append = take_flag(item, "append", notes).unwrap_or(true);
        let default = if append { "APPEND_IF_EXISTS_OR_ADD" } else { "OVERWRITE_IF_EXISTS_OR_ADD" };
        let action = take_text(item, "append_action", notes).unwrap_or(default);
        let keeps_empty = take_flag(item, "keep_empty_value", notes).unwrap_or(false);
        if given.is_empty() && !keeps_empty {
            let reason = "Envoy writes no field without a value";
            notes.not_needed(item.source.whole(), item.describe(), reason);
            return;
        }
        if message == EditedMessage::Request && (name.starts_with(':') || name == "host") {
            leave_out(item, "the host and the path are no fields", "`rewrite`", notes);
            self.changes_target = true;
            return;
        }
        let literal = literal_value(given).filter(|_| message == EditedMessage::Answer);
        let Some(text) = value_template(given) else {
            self.refuse(&name, message, item, "its value needs what no variable has", notes);
            return;
        };
        let field = format!("{name}: {text}");
        if message == EditedMessage::Request && reads_any(&field, &self.request.changed()) {
            let reason = "its value would need what a field was changed to before";
            self.refuse(&name, message, item, reason, notes);
            return;
        }
        if let Err(why) = check_field(&field) {
            self.refuse(&name, message, item, &why.reason, notes);
            return;
        }
        match (action, message) {
            ("APPEND_IF_EXISTS_OR_ADD" | "0", _) => self.of(message).add.push(field),
            ("OVERWRITE_IF_EXISTS_OR_ADD" | "2", EditedMessage::Request) => {
                self.request.set_field(field);
            }
            ("OVERWRITE_IF_EXISTS_OR_ADD" | "2", EditedMessage::Answer) if literal.is_some() => {
                let text = literal.unwrap_or_default();
                self.answer.set_field(format!("{name}: {text}"));
            }
            // What a client sends under the name passes there, too.
            ("ADD_IF_ABSENT" | "1", EditedMessage::Request) => {
                leave_out(item, "a field is set whether or not it is there", "", notes);
            }
            _ => {
                let reason = "a field is set whether or not it is there, and one of an answer without variables";
                self.refuse(&name, message, item, reason, notes);
            }
        }
    }

    /// Reports a field that cannot be written, and removes what clients send under its name.
    fn refuse(
        &mut self,
        name: &str,
        message: EditedMessage,
        item: &ConfigNode,
        reason: &str,
        notes: &mut ConversionNotes,
    ) {
        let sent = "what clients send under this name is removed";
        let instead = if message == EditedMessage::Request { sent } else { "" };
        notes.left_out(item.source.whole(), item.describe(), reason, instead);
        settle_inside(item, notes);
        if message == EditedMessage::Request && check_field(&format!("{name}: x")).is_ok() {
            self.request.remove_field(name);
        }
    }

    /// Adds edits that are made after these.
    pub fn then(self, later: &HeaderEditList) -> HeaderEditList {
        HeaderEditList {
            request: self.request.clone().then(&later.request.clone().without_reads(&self.request)),
            answer: self.answer.then(&later.answer),
            changes_target: self.changes_target || later.changes_target,
        }
    }

    /// Puts edits around these that requests meet before, and answers after them.
    pub fn within(self, outer: &HeaderEditList) -> HeaderEditList {
        HeaderEditList {
            request: outer.request.clone().then(&self.request.without_reads(&outer.request)),
            answer: self.answer.then(&outer.answer),
            changes_target: self.changes_target || outer.changes_target,
        }
    }

    /// Names of the fields of requests that these edits change.
    pub fn changed_requests(&self) -> Vec<String> {
        self.request.changed().into_iter().map(str::to_owned).collect()
    }

    /// Removes every field of requests that these edits change from those of `other`.
    pub fn remove_from(&self, other: &mut HeaderEditList) {
        let written = self.request.set.iter().chain(&self.request.add).map(|field| name_of(field));
        for name in written.chain(self.request.remove.iter().map(String::as_str)) {
            other.request.remove_field(name);
        }
    }

    /// The keys of `rewrite`.
    pub fn pairs(mut self) -> Vec<KeyValue> {
        self.request.arrange();
        let set = &self.answer.set;
        self.answer.remove.retain(|name| !set.iter().any(|field| name_of(field) == name));
        self.answer.remove.sort();
        self.answer.remove.dedup();
        let mut pairs = Vec::new();
        for (key, texts) in [
            ("set", &self.request.set),
            ("add", &self.request.add),
            ("remove", &self.request.remove),
            ("response-set", &self.answer.set),
            ("response-remove", &self.answer.remove),
        ] {
            if !texts.is_empty() {
                pairs.push(KeyValue::new(key, value::quote_all(texts)));
            }
        }
        if !self.answer.add.is_empty() {
            let own = |field: &String| {
                value::table(&[
                    KeyValue::new("field", value::quote(field)),
                    KeyValue::new("own", "true"),
                ])
            };
            pairs.push(KeyValue::new("response-add", value::list(self.answer.add.iter().map(own))));
        }
        pairs
    }

    /// Keys of an answer or a redirect of the balancer's own: `headers`, which have no variables.
    pub fn own_headers(&self) -> Vec<KeyValue> {
        let plain = self.answer.add.iter().filter(|field| !has_variable(field));
        let fields: Vec<String> = self
            .answer
            .set
            .iter()
            .cloned()
            .chain(plain.map(|field| field.replace("{{", "{")))
            .collect();
        let is_empty = fields.is_empty();
        (!is_empty)
            .then(|| KeyValue::new("headers", value::quote_all(&fields)))
            .into_iter()
            .collect()
    }

    /// `rewrite` of a rule with such an answer: the fields that have variables.
    pub fn own_rewrite(&self) -> Option<KeyValue> {
        let mut own = HeaderEditList::default();
        own.answer.add =
            self.answer.add.iter().filter(|field| has_variable(field)).cloned().collect();
        let pairs = own.pairs();
        (!pairs.is_empty()).then(|| KeyValue::new("rewrite", value::table(&pairs)))
    }
}

/// Whether a template has a variable.
fn has_variable(field: &str) -> bool {
    field.replace("{{", "").contains('{')
}

/// A value with Envoy's operators as one with variables. `None` if an operator has no counterpart.
fn value_template(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['%', '{']) {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if rest[at..].starts_with('{') {
            out.push_str("{{");
            rest = after;
            continue;
        }
        let end = after.find('%')?;
        out.push_str(&operator(&after[..end])?);
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    Some(out)
}

/// A value without operators. `None` if it has one.
fn literal_value(text: &str) -> Option<String> {
    (!text.replace("%%", "").contains('%')).then(|| text.replace("%%", "%"))
}

/// The variable of an operator between `%`.
fn operator(name: &str) -> Option<String> {
    let fixed = match name {
        "" => "%",
        "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT"
        | "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT" => "{client}",
        "DOWNSTREAM_REMOTE_PORT" | "DOWNSTREAM_DIRECT_REMOTE_PORT" => "{client-port}",
        "DOWNSTREAM_LOCAL_PORT" => "{port}",
        "REQUESTED_SERVER_NAME" => "{sni}",
        _ => {
            let field = name
                .strip_prefix("REQ(")
                .or(name.strip_prefix("REQUEST_HEADER("))?
                .strip_suffix(')')?;
            let field = field.to_ascii_lowercase();
            return match field.as_str() {
                ":authority" | "host" => Some("{host}".to_owned()),
                ":scheme" => Some("{scheme}".to_owned()),
                plain
                    if plain.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                        && !plain.is_empty() =>
                {
                    Some(format!("{{header.{plain}}}"))
                }
                _ => None,
            };
        }
    };
    Some(fixed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_become_variables() {
        for (text, expected) in [
            ("plain", Some("plain")),
            ("%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%", Some("{client}")),
            ("a-%REQ(X-Shop)%-%%", Some("a-{header.x-shop}-%")),
            ("{a}", Some("{{a}")),
            ("%START_TIME%", None),
            ("100%", None),
        ] {
            assert_eq!(value_template(text).as_deref(), expected, "{text}");
        }
    }
}
