//! The OpenAPI 3.1 document: every route of `api::table` with its schemas.
//!
//! Every value comes from the route table or from a type.

use api::table::{ALL, ApiRoute, RouteBody};
use api::types::Role;
use serde_json::{Map, Value, json};

use super::schema::SchemaSet;
use super::source::TypeIndex;

/// The file from which names in the table are resolved first.
const WITHIN: &str = "crates/api/src/types/status.rs";
/// Types of data in streams.
const STREAMED: [&str; 3] = ["StateUpdate", "Event", "LostUpdates"];

/// Builds the document.
///
/// # Errors
/// A type is missing or has an unknown form.
pub fn document(source: &TypeIndex) -> Result<Value, String> {
    let mut schemas = SchemaSet::new(source);
    let mut paths = Map::new();
    for route in ALL {
        let operation = operation(route, &mut schemas)?;
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = operation;
    }
    for name in STREAMED {
        schemas.reference(name, WITHIN)?;
    }
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Steelyard's control API",
            "version": "1",
            "summary": "Everything over the unix socket; over TCP with tokens.",
            "license": { "name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }, {}],
        "paths": paths,
        "components": {
            "schemas": schemas.schemas,
            "securitySchemes": { "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "Over TCP: a token as `steelyard token` makes it. On a loopback address whoever has \
                                none may look. Over the unix socket its mode decides, and no token is asked for.",
            } },
        },
    }))
}

fn operation(route: &ApiRoute, schemas: &mut SchemaSet<'_>) -> Result<Value, String> {
    let problem = schemas.reference("Problem", WITHIN)?;
    let mut answer = json!({ "description": "Done." });
    if let Some(content) = content(route.answer, schemas)? {
        answer["content"] = content;
    }
    let mut operation = json!({
        "operationId": id(route),
        "summary": route.summary,
        "x-role": route.role.name(),
        "responses": {
            "200": answer,
            "default": {
                "description": "Refused; the problem says why.",
                "content": { "application/problem+json": { "schema": problem } },
            },
        },
    });
    if makes_object(route) {
        operation["responses"]["201"] = operation["responses"]["200"].clone();
    }
    if route.role != Role::View {
        // Read-only routes need no token on a loopback address.
        operation["security"] = json!([{ "token": [] }]);
    }
    if let Some(content) = content(route.body, schemas)? {
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    let parameters = parameters(route, schemas)?;
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    Ok(operation)
}

fn content(body: RouteBody, schemas: &mut SchemaSet<'_>) -> Result<Option<Value>, String> {
    Ok(match body {
        RouteBody::Empty => None,
        RouteBody::Json(name) => {
            let schema = schemas.reference(name, WITHIN)?;
            Some(json!({ "application/json": { "schema": schema } }))
        }
        RouteBody::Text(kind) if [api::routes::JSON, api::routes::MERGE_PATCH].contains(&kind) => {
            Some(json!({ kind: { "schema": { "type": "object" } } }))
        }
        RouteBody::Text(kind) => Some(json!({ kind: { "schema": { "type": "string" } } })),
    })
}

fn parameters(route: &ApiRoute, schemas: &mut SchemaSet<'_>) -> Result<Vec<Value>, String> {
    let mut parameters = Vec::new();
    for part in route.path.split('{').skip(1) {
        let name = part.split('}').next().unwrap_or_default();
        parameters.push(json!({
            "name": name,
            "in": "path",
            "required": true,
            "schema": { "type": "string" },
            "description": describe_path_part(route.path, name),
        }));
    }
    parameters.extend(fields(route));
    if route.query.is_empty() {
        return Ok(parameters);
    }
    // The query's type is split into parameters, so it does not become a schema.
    let mut apart = SchemaSet::new(schemas.source());
    apart.reference(route.query, WITHIN)?;
    let query = apart.schemas.remove(route.query).unwrap_or_default();
    // The schemas that the query refers to are added to the document.
    schemas.schemas.append(&mut apart.schemas);
    let needed = query["required"].as_array().cloned().unwrap_or_default();
    for (name, schema) in query["properties"].as_object().cloned().unwrap_or_default() {
        let mut schema = schema;
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter = json!({ "name": name, "in": "query", "schema": not_null(schema) });
        if needed.iter().any(|needed| *needed == name) {
            parameter["required"] = json!(true);
        }
        if let Some(description) = description {
            parameter["description"] = description;
        }
        parameters.push(parameter);
    }
    Ok(parameters)
}

/// What a part of the path names. The object is the segment before it.
fn describe_path_part(path: &str, name: &str) -> String {
    let before = path.split(&format!("/{{{name}}}")).next().unwrap_or_default();
    let kind = before.rsplit('/').find(|part| !part.starts_with('{')).unwrap_or_default();
    match (kind, name) {
        ("servers", "pool") => "Name of the pool.".to_owned(),
        ("servers", _) if path.starts_with("/v1/config/") => "Name of the server.".to_owned(),
        ("servers", _) => "Name of the server; `*`: all servers of the pool.".to_owned(),
        ("rules", _) => "Name of the rule, or its position from 1.".to_owned(),
        ("captures", _) => "Name of the capture rule.".to_owned(),
        (kind, _) => format!("Name of the {}.", kind.trim_end_matches('s')),
    }
}

/// The header fields of a request that changes state.
fn fields(route: &ApiRoute) -> Vec<Value> {
    let field = |name: &str, required: bool, pattern: &str, text: &str| {
        let schema = json!({ "type": "string", "pattern": pattern });
        json!({ "name": name, "in": "header", "required": required, "schema": schema, "description": text })
    };
    let mut fields = Vec::new();
    let is_whole = route.path == api::routes::CONFIG;
    if matches!(route.method, "PUT" | "PATCH" | "DELETE") {
        let text =
            "ETag of the generation that must be active, or `*`. Otherwise the answer is 412.";
        fields.push(field(
            "if-match",
            route.method == "PUT" && is_whole,
            "^(\\*|\"[0-9]+\")?$",
            text,
        ));
    }
    if route.method == "PUT" && makes_object(route) {
        let text = "`*`: only if there is no such object. Otherwise the answer is 412.";
        fields.push(field("if-none-match", false, "^\\*$", text));
    }
    if route.method != "GET" {
        let text = "A request with the same key is not carried out again. It gets the first answer, while the daemon runs \
                    and remembers it.";
        fields.push(field(api::routes::IDEMPOTENCY_KEY, false, "^[!#-~]{1,255}$", text));
    }
    fields
}

/// Whether what is put is one object of the configuration.
fn makes_object(route: &ApiRoute) -> bool {
    route.query == "ObjectQuery"
}

/// In a query, an absent key means the default, so null is not allowed.
fn not_null(mut schema: Value) -> Value {
    if let Some(kind) = schema["type"].as_array().and_then(|kinds| kinds.first()).cloned() {
        schema["type"] = kind;
    }
    schema
}

fn id(route: &ApiRoute) -> String {
    let words =
        route.path.trim_start_matches("/v1/").replace(['{', '}'], "").replace(['/', '.'], "-");
    format!("{}-{words}", route.method.to_lowercase())
}
