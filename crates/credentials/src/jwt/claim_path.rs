//! Where a claim stands in a token, and its value as text for a field.

use serde_json::{Map, Value};

/// Bytes of a claim as a field.
const MAX_TEXT_BYTES: usize = 4_096;

/// The name of a claim, or the place of one in others (RFC 6901) if it begins with `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPath(String);

/// The value of a claim for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimText {
    Absent,
    Text(String),
    /// A server might read something else than was signed.
    Unfit,
}

impl ClaimPath {
    pub fn new(path: &str) -> ClaimPath {
        ClaimPath(path.to_owned())
    }

    pub fn find<'c>(&self, claims: &'c Map<String, Value>) -> Option<&'c Value> {
        let value = match self.0.strip_prefix('/') {
            None => claims.get(&self.0),
            Some(path) => {
                let mut parts = path.splitn(2, '/');
                let first = parts.next()?.replace("~1", "/").replace("~0", "~");
                let value = claims.get(&first)?;
                match parts.next() {
                    None => Some(value),
                    Some(rest) => value.pointer(&format!("/{rest}")),
                }
            }
        };
        value.filter(|value| !value.is_null())
    }

    /// Whether its value may be a list of words in one text (RFC 8693 §4.2).
    pub fn is_scope(&self) -> bool {
        matches!(self.0.as_str(), "scope" | "scp")
    }

    /// The claim as a field has it: a list with commas between its members.
    pub fn text(&self, claims: &Map<String, Value>) -> ClaimText {
        let Some(value) = self.find(claims) else { return ClaimText::Absent };
        let text = match value {
            Value::Array(members) => {
                let texts: Option<Vec<String>> = members.iter().map(scalar_text).collect();
                // A member with a comma in it would be two.
                texts
                    .filter(|all| all.iter().all(|text| !text.contains(',')))
                    .map(|all| all.join(","))
            }
            other => scalar_text(other),
        };
        match text.filter(|text| is_field_value(text)) {
            Some(text) => ClaimText::Text(text),
            None => ClaimText::Unfit,
        }
    }
}

/// A text, number or truth value as text.
pub fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// It stays the same on its way in a field (RFC 9110 §5.5).
fn is_field_value(text: &str) -> bool {
    text.len() <= MAX_TEXT_BYTES
        && text.trim_matches([' ', '\t']) == text
        && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_is_a_field_only_where_servers_read_what_was_signed() {
        let claims = json!({
            "sub": "ann", "n": 7, "t": true, "null": null, "list": ["a", "b", 3], "none": [],
            "comma": ["a,b"], "object": {"a": {"b/c": ["x"]}}, "line": "a\r\nX-User: root", "nul": "\u{0}",
            "blank": " a", "a/b": "slash", "umlaut": "Jürgen", "deep": [["a"]], "long": "x".repeat(4_097),
        });
        let text = |text: &str| ClaimText::Text(text.to_owned());
        for (path, expected) in [
            ("sub", text("ann")),
            ("n", text("7")),
            ("t", text("true")),
            ("list", text("a,b,3")),
            ("none", text("")),
            ("/object/a/b~1c", text("x")),
            ("/a~1b", text("slash")),
            ("/sub", text("ann")),
            ("a/b", text("slash")),
            ("umlaut", text("Jürgen")),
            ("null", ClaimText::Absent),
            ("other", ClaimText::Absent),
            ("/object/x/y", ClaimText::Absent),
            ("comma", ClaimText::Unfit),
            ("object", ClaimText::Unfit),
            ("deep", ClaimText::Unfit),
            ("line", ClaimText::Unfit),
            ("nul", ClaimText::Unfit),
            ("blank", ClaimText::Unfit),
            ("long", ClaimText::Unfit),
        ] {
            assert_eq!(ClaimPath::new(path).text(claims.as_object().unwrap()), expected, "{path}");
        }
    }
}
