//! The page of the API's routes and types, written from the document for readers.
//!
//! It says what `openapi.json` says, without the patterns that only programs need.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::site_pages::anchor_of;

const INTRODUCTION: &str = "\
# API reference: routes and types

Every route of the control API with its parameters, its body, its answer and the role that it needs, and every type.
Written from the routes' own types, as [openapi.json](openapi.json) is; a test keeps it fresh
(`UPDATE_EXPECT=1 cargo test -p tests --test pages`). How to use the API is on the page
[changing the configuration over the API](../api.md); tokens and roles are on the page about [the web page](../page.md).

A refusal is a [`Problem`](#problem) as `application/problem+json` (RFC 9457). Over the Unix socket no token is needed. With
`?earlier-names=true` a response in JSON has renamed fields under their [earlier names](renamed.md#fields-of-the-api) too.
";

/// The text of `api.md`.
pub fn markdown(document: &Value) -> String {
    let mut out = String::from(INTRODUCTION);
    out.push_str("\n## Routes\n\n| route | role | |\n|---|---|---|\n");
    let routes = routes(document);
    for route in &routes {
        let anchor = anchor_of(&route.name);
        let role = text(&route.operation["x-role"]);
        let summary = cell(text(&route.operation["summary"]));
        let _ = writeln!(out, "| [`{}`](#{anchor}) | `{role}` | {summary} |", route.name);
    }
    for route in &routes {
        write_route(&mut out, route);
    }
    out.push_str("\n## Types\n");
    let mut group = None;
    for (name, schema) in members(&document["components"]["schemas"]) {
        // Groups by letter: the site's search finds routes by their headings, and types by their texts alone.
        let letter = name.chars().next();
        if letter != group {
            group = letter;
            let _ = write!(out, "\n### {}\n", letter.unwrap_or_default());
        }
        let _ = write!(out, "\n#### {name}\n\n{}\n", text(&schema["description"]));
        write_fields(&mut out, schema);
    }
    out
}

/// A method of a path.
struct DocumentedRoute<'d> {
    /// The method and the path, as in `GET /v1/status`.
    name: String,
    operation: &'d Value,
}

fn routes(document: &Value) -> Vec<DocumentedRoute<'_>> {
    let mut out = Vec::new();
    for (path, methods) in members(&document["paths"]) {
        for (method, operation) in members(methods) {
            out.push(DocumentedRoute {
                name: format!("{} {path}", method.to_uppercase()),
                operation,
            });
        }
    }
    out
}

fn write_route(out: &mut String, route: &DocumentedRoute<'_>) {
    let operation = route.operation;
    let role = text(&operation["x-role"]);
    let _ = write!(out, "\n### `{}`\n\n{}\n", route.name, text(&operation["summary"]));
    let _ = writeln!(out, "\n- Role: `{role}`");
    if let Some(body) = content(&operation["requestBody"]) {
        let _ = writeln!(out, "- Body: {body}");
    }
    let answer = content(&operation["responses"]["200"]).unwrap_or_else(|| "empty".to_owned());
    let created =
        if operation["responses"].get("201").is_some() { ", 201 for a new object" } else { "" };
    let _ = writeln!(out, "- Answer: {answer}{created}");
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let rows: Vec<String> = parameters.map(parameter_row).collect();
    if !rows.is_empty() {
        out.push_str("\n| parameter | in | value | meaning |\n|---|---|---|---|\n");
        out.push_str(&rows.concat());
    }
}

fn parameter_row(parameter: &Value) -> String {
    let needed = if parameter["required"] == Value::Bool(true) { ", required" } else { "" };
    format!(
        "| `{}` | {}{needed} | {} | {} |\n",
        text(&parameter["name"]),
        text(&parameter["in"]),
        describe_kind(&parameter["schema"]),
        cell(text(&parameter["description"]))
    )
}

/// The media types of a body with what is in them; `None` for no body.
fn content(body: &Value) -> Option<String> {
    let kinds = body["content"].as_object()?;
    let each = kinds
        .iter()
        .map(|(media, content)| format!("{} as `{media}`", describe_kind(&content["schema"])));
    Some(each.collect::<Vec<_>>().join(", or "))
}

/// The parts of a type that is one of several others, or all of them.
struct CombinedSchema<'d> {
    heading: &'static str,
    parts: &'d [Value],
}

fn write_fields(out: &mut String, schema: &Value) {
    let kinds = [("oneOf", "one of"), ("allOf", "all of")];
    let combined = kinds.into_iter().find_map(|(key, heading)| {
        let parts = schema[key].as_array()?;
        Some(CombinedSchema { heading, parts })
    });
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{}`", text(word))).collect();
        let _ = writeln!(out, "\nOne of {}.", words.join(", "));
    } else if let Some(combined) = combined {
        let _ = writeln!(out, "\n| {} | meaning |\n|---|---|", combined.heading);
        for part in combined.parts {
            let meaning = cell(text(&part["description"]));
            let _ = writeln!(out, "| {} | {meaning} |", describe_kind(part));
        }
    } else {
        write_properties(out, schema);
    }
}

fn write_properties(out: &mut String, schema: &Value) {
    let properties: Vec<(&String, &Value)> = members(&schema["properties"]).collect();
    if properties.is_empty() {
        return;
    }
    let needed: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    out.push_str("\n| field | value | meaning |\n|---|---|---|\n");
    for (name, property) in properties {
        let mark = if needed.contains(&name.as_str()) { "" } else { ", optional" };
        let meaning = cell(text(&property["description"]));
        let _ = writeln!(out, "| `{name}` | {}{mark} | {meaning} |", describe_kind(property));
    }
}

/// A schema in a few words, with links to the types that it names.
fn describe_kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", anchor_of(name));
    }
    if let Some(word) = schema.get("const") {
        return format!("`{}`", text(word));
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(|word| format!("`{}`", text(word))).collect::<Vec<_>>().join(", ");
    }
    for (key, join) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")] {
        if let Some(parts) = schema[key].as_array() {
            return parts.iter().map(describe_kind).collect::<Vec<_>>().join(join);
        }
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            let each = kinds.iter().map(|kind| {
                let mut one = schema.clone();
                one["type"] = kind.clone();
                describe_kind(&one)
            });
            each.collect::<Vec<_>>().join(" or ")
        }
        Value::String(kind) => describe_simple(kind, schema),
        _ => "any value".to_owned(),
    }
}

fn describe_simple(kind: &str, schema: &Value) -> String {
    match kind {
        "array" if schema.get("prefixItems").is_some() => {
            let items = schema["prefixItems"].as_array().into_iter().flatten();
            format!("list: {}", items.map(describe_kind).collect::<Vec<_>>().join(", "))
        }
        "array" => format!("list of {}", describe_kind(&schema["items"])),
        "object" if schema.get("additionalProperties").is_some() => {
            format!("map of {}", describe_kind(&schema["additionalProperties"]))
        }
        "object" => {
            let fields = members(&schema["properties"])
                .map(|(name, property)| format!("`{name}`: {}", describe_kind(property)));
            let fields = fields.collect::<Vec<_>>().join(", ");
            if fields.is_empty() { "object".to_owned() } else { format!("object with {fields}") }
        }
        other => other.to_owned(),
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A text as the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
