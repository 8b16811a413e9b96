//! Converts values of a patch to TOML, names elements of lists, and defines the patch errors. It edits nothing.

use serde_json::Value;
use toml_edit::{InlineTable, Value as Node};

use crate::config::server_edit::name_from_address;

/// Why a patch was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The text is not TOML.
    #[error("the configuration is not TOML: {0}")]
    Syntax(String),
    /// The object does not exist.
    #[error("there is no {what}{}", list_nearest_names(.near))]
    Unknown {
        /// The requested object.
        what: String,
        /// Existing names of the same kind.
        near: Vec<String>,
    },
    /// The object exists, and was to be made.
    #[error("there is a {what} already")]
    Exists {
        /// The object.
        what: String,
    },
    /// The object's keys have another name than it is asked for by.
    #[error("name: found {found}, expected '{wanted}', as in the path, or no name")]
    Name {
        /// The name in the path.
        wanted: String,
        /// The name in the keys, as JSON.
        found: String,
    },
    /// A patch of an object must be an object.
    #[error("found {0}, expected a JSON object with the keys to change, null for those to remove")]
    Form(&'static str),
    /// TOML cannot represent the value.
    #[error("{path}: {found} cannot stand in the configuration")]
    Value {
        /// The key path of the value.
        path: String,
        /// The value.
        found: String,
    },
}

/// Converts a plain value to TOML.
pub(super) fn to_toml_value(plain: &Value, path: &str) -> Result<Node, PatchError> {
    let cannot = |found: String| PatchError::Value { path: path.to_owned(), found };
    Ok(match plain {
        Value::Null => return Err(cannot("null in a list".to_owned())),
        Value::Bool(flag) => Node::from(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Node::from(whole),
            (None, Some(part)) if !number.is_u64() => Node::from(part),
            _ => return Err(cannot(number.to_string())),
        },
        Value::String(text) => Node::from(text.as_str()),
        Value::Array(elements) => {
            let mut made = toml_edit::Array::new();
            for (at, element) in elements.iter().enumerate() {
                made.push(to_toml_value(element, &format!("{path}[{at}]"))?);
            }
            Node::Array(made)
        }
        Value::Object(keys) => {
            let mut made = InlineTable::new();
            for (key, inner) in keys.iter().filter(|(_, inner)| !inner.is_null()) {
                made.insert(key, to_toml_value(inner, &format!("{path}.{key}"))?);
            }
            made.fmt();
            Node::InlineTable(made)
        }
    })
}

/// The name of a server or rule, either written or derived from its address.
pub(super) fn element_name(one: &Value) -> Option<String> {
    let text = |key: &str| one.get(key).and_then(Value::as_str);
    match one {
        Value::String(address) => name_from_address(address),
        _ => {
            text("name").map(str::to_owned).or_else(|| text("address").and_then(name_from_address))
        }
    }
}

fn list_nearest_names(near: &[String]) -> String {
    /// More names would not be useful in a message.
    const MOST: usize = 20;
    let some: Vec<&str> = near.iter().take(MOST).map(String::as_str).collect();
    match (some.is_empty(), near.len() > MOST) {
        (true, _) => String::new(),
        (_, false) => format!("; there are {}", some.join(", ")),
        (_, true) => format!("; there are {} and {} more", some.join(", "), near.len() - MOST),
    }
}
