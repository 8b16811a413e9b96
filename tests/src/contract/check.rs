//! Compares a response with its schema: a value of another kind, a missing key and an undocumented key are each a
//! breach.
//!
//! The check supports the part of JSON Schema that the document uses. It is stricter: unknown keys are always breaches.

use serde_json::Value;

/// Every breach, with its path.
pub fn breaches(document: &Value, name: &str, value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let schema = &document["components"]["schemas"][name];
    if schema.is_null() {
        return vec![format!("the document has no {name}")];
    }
    compare(document, schema, value, name, &mut out);
    out
}

fn compare(document: &Value, schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return compare(document, &document["components"]["schemas"][name], value, at, out);
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(forms) = schema[key].as_array() {
            let fits = |form: &Value| {
                let mut found = Vec::new();
                compare(document, form, value, at, &mut found);
                found.is_empty()
            };
            if !forms.iter().any(fits) {
                out.push(format!("{at}: {value} has none of the forms"));
            }
            return;
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        if !words.contains(value) {
            out.push(format!("{at}: {value} is none of {words:?}"));
        }
        return;
    }
    if let Some(word) = schema.get("const") {
        if word != value {
            out.push(format!("{at}: {value} is not {word}"));
        }
        return;
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    let number = kinds.contains(&"number") && value.is_number();
    if !number && !kinds.contains(&kind_of(value)) {
        out.push(format!("{at}: {value} is not of the kinds {kinds:?}"));
        return;
    }
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let schema = schema["prefixItems"].get(index).unwrap_or(&schema["items"]);
                compare(document, schema, item, &format!("{at}[{index}]"), out);
            }
        }
        Value::Object(_) => keys(document, schema, value, at, out),
        _ => {}
    }
}

fn keys(document: &Value, schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    for (key, inner) in value.as_object().into_iter().flatten() {
        let known = schema["properties"].get(key).or_else(|| schema.get("additionalProperties"));
        match known {
            Some(schema) => compare(document, schema, inner, &format!("{at}.{key}"), out),
            None => out.push(format!("{at}.{key} is not in the document")),
        }
    }
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(key).is_none() {
            out.push(format!("{at}.{key} is missing"));
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
