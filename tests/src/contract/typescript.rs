//! The page's types, written from the document's schemas.
//!
//! Names with hyphens stay as they are: the page reads `server["in-flight"]`.

use std::fmt::Write;

use serde_json::Value;

/// The text of `contract.ts`.
pub fn typescript(document: &Value) -> String {
    let mut out = String::from(
        "// What the API says, written from its types by a test; not by hand.\n\
         // It holds types alone: nothing of it is in the built page.\n",
    );
    let schemas = document["components"]["schemas"].as_object().cloned().unwrap_or_default();
    for (name, schema) in schemas {
        let _ = write!(out, "\nexport type {name} = {};\n", kind(&schema));
    }
    out
}

fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(word) = schema.get("const") {
        return word.to_string();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ");
    }
    for (key, join) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")] {
        if let Some(parts) = schema[key].as_array() {
            let parts: Vec<String> = parts.iter().map(kind).collect();
            return format!("({})", parts.join(join));
        }
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            let each = kinds.iter().map(|one| {
                let mut schema = schema.clone();
                schema["type"] = one.clone();
                kind(&schema)
            });
            format!("({})", each.collect::<Vec<_>>().join(" | "))
        }
        Value::String(name) => match name.as_str() {
            "integer" | "number" => "number".to_owned(),
            "array" if schema.get("prefixItems").is_some() => {
                let items = schema["prefixItems"].as_array().into_iter().flatten();
                let items: Vec<String> = items.map(kind).collect();
                format!("[{}]", items.join(", "))
            }
            "array" => format!("Array<{}>", kind(&schema["items"])),
            "object" => object(schema),
            other => other.to_owned(),
        },
        _ => "unknown".to_owned(),
    }
}

fn object(schema: &Value) -> String {
    if let Some(values) = schema.get("additionalProperties") {
        return format!("Record<string, {}>", kind(values));
    }
    let Some(properties) = schema["properties"].as_object().filter(|all| !all.is_empty()) else {
        return "Record<string, never>".to_owned();
    };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let one = |(name, schema): (&String, &Value)| {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        format!("\"{name}\"{mark}: {}", kind(schema))
    };
    format!("{{ {} }}", properties.iter().map(one).collect::<Vec<_>>().join("; "))
}
