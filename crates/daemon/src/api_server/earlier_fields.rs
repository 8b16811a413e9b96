//! Adds renamed fields to a JSON response under their earlier names too, where the query asks with `earlier-names=true`.
//!
//! Which fields those are stands in the API's own contract. Streams and problems have the names of now alone.

use std::sync::LazyLock;

use api::table::{self, RouteBody};
use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use super::problem::ApiProblem;

/// The parameter of the query, with the value that asks.
const ASKS: &str = "earlier-names=true";
/// The key of a field's schema that has its earlier name; `tests::contract` writes it.
const EARLIER_NAME: &str = "x-earlier-name";

/// The schemas of the API's types, by name. Read at the first response that needs them.
static SCHEMAS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let contract: Value = serde_json::from_str(api::page::OPENAPI).unwrap_or_default();
    contract["components"]["schemas"].as_object().cloned().unwrap_or_default()
});

pub(super) async fn with_earlier_names(request: Request, next: Next) -> Response {
    let schema = asked_type(&request).and_then(|name| SCHEMAS.get(name));
    let response = next.run(request).await;
    match schema.filter(|_| response.status().is_success()) {
        Some(schema) => add_to_response(response, schema).await,
        None => response,
    }
}

/// The type of the response, if the request asks for earlier names.
fn asked_type(request: &Request) -> Option<&'static str> {
    if !request.uri().query()?.split('&').any(|parameter| parameter == ASKS) {
        return None;
    }
    let path = request.extensions().get::<MatchedPath>()?.as_str();
    let method = match request.method() {
        &Method::HEAD => "GET",
        method => method.as_str(),
    };
    let route = table::ALL.iter().find(|route| route.path == path && route.method == method)?;
    match route.answer {
        RouteBody::Json(name) => Some(name),
        _ => None,
    }
}

async fn add_to_response(response: Response, schema: &Value) -> Response {
    let (mut head, body) = response.into_parts();
    // The whole body is in memory already.
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return ApiProblem::new(500, "internal", "the response could not be read again")
            .into_response();
    };
    let Ok(mut value) = serde_json::from_slice(&body) else {
        return Response::from_parts(head, Body::from(body));
    };
    add_earlier_names(&mut value, schema, &SCHEMAS);
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, Body::from(value.to_string()))
}

/// Adds to each object of `value` what its schema names otherwise than before.
fn add_earlier_names(value: &mut Value, schema: &Value, schemas: &Map<String, Value>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        if let Some(schema) = schemas.get(name) {
            add_earlier_names(value, schema, schemas);
        }
    }
    let choices = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema[key].as_array());
    choices.flatten().for_each(|one| add_earlier_names(value, one, schemas));
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(|item| add_earlier_names(item, &schema["items"], schemas));
        }
        Value::Object(object) => {
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let Some(now) = object.get_mut(name) else { continue };
                add_earlier_names(now, field, schemas);
                if let Some(former) = field[EARLIER_NAME].as_str() {
                    let copy = now.clone();
                    object.entry(former).or_insert(copy);
                }
            }
            let others = &schema["additionalProperties"];
            if others.is_object() {
                object.values_mut().for_each(|one| add_earlier_names(one, others, schemas));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_stand_under_both_names_at_every_depth() {
        let schemas = json!({
            "Inner": { "properties": { "aborted": { "type": "integer", "x-earlier-name": "left" } } },
            "Outer": { "properties": {
                "slo": { "anyOf": [{ "$ref": "#/components/schemas/Inner" }, { "type": "null" }], "x-earlier-name": "users" },
                "list": { "type": "array", "items": { "$ref": "#/components/schemas/Inner" } },
                "map": { "type": "object", "additionalProperties": { "$ref": "#/components/schemas/Inner" } },
            } },
        });
        let outer = json!({ "$ref": "#/components/schemas/Outer" });
        let mut value = json!({
            "slo": { "aborted": 1 }, "list": [{ "aborted": 2 }], "map": { "a": { "aborted": 3 } }, "aborted": 4,
        });
        add_earlier_names(&mut value, &outer, schemas.as_object().unwrap());
        let expected = json!({
            "slo": { "aborted": 1, "left": 1 }, "users": { "aborted": 1, "left": 1 },
            "list": [{ "aborted": 2, "left": 2 }], "map": { "a": { "aborted": 3, "left": 3 } }, "aborted": 4,
        });
        assert_eq!(value, expected);
        let mut null = json!({ "slo": null });
        add_earlier_names(&mut null, &outer, schemas.as_object().unwrap());
        assert_eq!(null, json!({ "slo": null, "users": null }));
    }

    #[test]
    fn the_contract_has_the_earlier_name_of_every_renamed_field() {
        for field in model::renamed_fields::RENAMED_FIELDS {
            // A type that no route has is printed by the program alone.
            let Some(schema) = SCHEMAS.get(field.owner) else { continue };
            let found = &schema["properties"][field.name];
            assert_eq!(found[EARLIER_NAME], field.former_name, "{} of {}", field.name, field.owner);
        }
    }
}
