//! `request_headers_to_add`, `response_headers_to_remove` and so on, as a rule's `rewrite`.

use crate::header_field::check_field;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::reader::{leave_out, settle_inside, take_flag, take_text, take_texts};

/// What is changed in the fields of requests and answers.
#[derive(Clone, Debug, Default)]
pub struct HeaderEditList {
    pub set: Vec<String>,
    pub add: Vec<String>,
    pub remove: Vec<String>,
    pub answer_set: Vec<String>,
    pub answer_add: Vec<String>,
    pub answer_remove: Vec<String>,
}

/// Whether a field is one of the request or of the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EditedMessage {
    Request,
    Answer,
}

fn name_of(field: &str) -> &str {
    field.split(':').next().unwrap_or_default()
}

impl HeaderEditList {
    /// The edits of a route, a virtual host, a route configuration or a cluster of a split.
    pub fn read(node: &ConfigNode, notes: &mut ConversionNotes) -> HeaderEditList {
        let mut edits = HeaderEditList::default();
        for item in node.get("request_headers_to_add").map(ConfigNode::items).unwrap_or_default() {
            edits.take_option(item, EditedMessage::Request, notes);
        }
        for item in node.get("response_headers_to_add").map(ConfigNode::items).unwrap_or_default() {
            edits.take_option(item, EditedMessage::Answer, notes);
        }
        let removed = take_texts(node, "request_headers_to_remove", notes);
        edits.remove.extend(removed.into_iter().map(str::to_ascii_lowercase));
        let removed = take_texts(node, "response_headers_to_remove", notes);
        edits.answer_remove.extend(removed.into_iter().map(str::to_ascii_lowercase));
        for key in ["request_headers_to_add", "response_headers_to_add"] {
            if let Some(field) = node.get(key).filter(|field| field.is_empty()) {
                notes.not_needed(field.source.whole(), field.describe(), "it changes nothing");
            }
        }
        edits
    }

    /// The edits of a `HeaderMutation` filter.
    pub fn read_mutations(node: &ConfigNode, notes: &mut ConversionNotes) -> HeaderEditList {
        let mut edits = HeaderEditList::default();
        for (key, message) in [
            ("request_mutations", EditedMessage::Request),
            ("response_mutations", EditedMessage::Answer),
        ] {
            for item in node.get(key).map(ConfigNode::items).unwrap_or_default() {
                let removed = take_text(item, "remove", notes).map(str::to_ascii_lowercase);
                match message {
                    EditedMessage::Request => edits.remove.extend(removed),
                    EditedMessage::Answer => edits.answer_remove.extend(removed),
                }
                if let Some(option) = item.get("append") {
                    edits.take_option(option, message, notes);
                }
            }
        }
        edits
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
        if let Some(keep) = item.get("keep_empty_value") {
            leave_out(keep, "a field without a value is not sent", "", notes);
        }
        let literal = literal_value(given).filter(|_| message == EditedMessage::Answer);
        let Some(text) = value_template(given) else {
            self.refuse(&name, message, item, "its value needs what no variable has", notes);
            return;
        };
        let field = format!("{name}: {text}");
        if let Err(why) = check_field(&field) {
            self.refuse(&name, message, item, &why.reason, notes);
            return;
        }
        let list = match (action, message) {
            ("APPEND_IF_EXISTS_OR_ADD" | "0", EditedMessage::Request) => &mut self.add,
            ("OVERWRITE_IF_EXISTS_OR_ADD" | "2", EditedMessage::Request) => &mut self.set,
            ("APPEND_IF_EXISTS_OR_ADD" | "0", EditedMessage::Answer) => &mut self.answer_add,
            ("OVERWRITE_IF_EXISTS_OR_ADD" | "2", EditedMessage::Answer) if literal.is_some() => {
                self.answer_set.extend(literal.map(|text| format!("{name}: {text}")));
                return;
            }
            // What a client sends under the name passes there, too.
            ("ADD_IF_ABSENT" | "1", EditedMessage::Request) => {
                leave_out(item, "a field is set whether or not it is there", "", notes);
                return;
            }
            _ => {
                let reason = "a field is set whether or not it is there, and one of an answer without variables";
                self.refuse(&name, message, item, reason, notes);
                return;
            }
        };
        list.push(field);
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
            self.remove.push(name.to_owned());
        }
    }

    /// Adds edits that are made after these.
    pub fn then(mut self, later: &HeaderEditList) -> HeaderEditList {
        self.set.retain(|field| !later.set.iter().any(|other| name_of(other) == name_of(field)));
        self.set.extend(later.set.iter().cloned());
        self.add.extend(later.add.iter().cloned());
        self.remove.extend(later.remove.iter().cloned());
        self.answer_set
            .retain(|field| !later.answer_set.iter().any(|other| name_of(other) == name_of(field)));
        self.answer_set.extend(later.answer_set.iter().cloned());
        self.answer_add.extend(later.answer_add.iter().cloned());
        self.answer_remove.extend(later.answer_remove.iter().cloned());
        self
    }

    /// The keys of `rewrite`.
    pub fn pairs(mut self) -> Vec<KeyValue> {
        // A field that is removed and then added replaces the client's.
        let removed = |name: &str, names: &[String]| names.iter().any(|other| other == name);
        for field in std::mem::take(&mut self.add) {
            if removed(name_of(&field), &self.remove) {
                self.set.push(field);
            } else {
                self.add.push(field);
            }
        }
        let set = &self.set;
        self.remove.retain(|name| !set.iter().any(|field| name_of(field) == name));
        let set = &self.answer_set;
        self.answer_remove.retain(|name| !set.iter().any(|field| name_of(field) == name));
        for list in [&mut self.remove, &mut self.answer_remove] {
            list.sort();
            list.dedup();
        }
        let mut pairs = Vec::new();
        for (key, texts) in [
            ("set", &self.set),
            ("add", &self.add),
            ("remove", &self.remove),
            ("answer-set", &self.answer_set),
            ("answer-remove", &self.answer_remove),
        ] {
            if !texts.is_empty() {
                pairs.push(KeyValue::new(key, value::quote_all(texts)));
            }
        }
        if !self.answer_add.is_empty() {
            let own = |field: &String| {
                value::table(&[
                    KeyValue::new("field", value::quote(field)),
                    KeyValue::new("own", "true"),
                ])
            };
            pairs.push(KeyValue::new("response-add", value::list(self.answer_add.iter().map(own))));
        }
        pairs
    }
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
