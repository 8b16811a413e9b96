//! The running daemon's responses, compared with the OpenAPI document that it serves.

use api::routes;
use api::table::{ALL, ApiRoute, RouteBody};
use api::types::Role;
use serde_json::{Value, json};
use tests::contract::check::breaches;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin, reserve_port};

use crate::client::{ApiListener, token};

const RULES: &str = "rule = [{ name = \"api\", when = { path = \"/api/*\" }, pool = \"web\" }]\n";

#[test]
fn answers_are_as_the_document_says() {
    let origins = [origin("a"), origin("b")];
    let door = ApiListener::new();
    let setup =
        BalancerConfig::http(&addresses(&origins)).service(RULES).pool("probe = { tcp = true }");
    let balancer = TestBalancer::start(&door.on(setup.global("history = { step = \"1s\" }"), ""));
    let configure = token(balancer.dir(), Role::Configure);
    door.open();
    let mut client = HttpClient::connect(balancer.front());
    for path in ["/", "/api/x", "/missing"] {
        client.get(path);
    }
    door.with(&configure, "POST", "/v1/servers/web/a", "{\"action\": \"weight\", \"weight\": 3}");
    let document = door.with(&configure, "GET", routes::OPENAPI, "");
    let document: Value = serde_json::from_slice(&document.body).unwrap();
    let mut compared = 0;
    for route in ALL {
        let RouteBody::Json(name) = route.answer else { continue };
        let path = path_of(route);
        let (query, body) = match route.path {
            routes::CONFIG if route.method == "PUT" => {
                ("", balancer.setup().pool("balance = \"random\"").text(balancer.dir().path()))
            }
            _ if route.method == "PATCH" => ("", "{}".to_owned()),
            _ if route.method == "DELETE" => ("", String::new()),
            _ if makes_or_removes(route) => (
                if route.path == routes::CONFIG_RULE { "?before=api" } else { "" },
                new_object(route),
            ),
            // These routes end the daemon, or need objects that this daemon lacks.
            routes::STOP
            | routes::TAKEOVER
            | routes::ROLLBACK
            | routes::EXPLAIN_NAME
            | routes::CAPTURE => continue,
            routes::HISTORY => ("?since-unix-ms=1", String::new()),
            routes::EXPLAIN_SLOW => ("?share-percent=100", String::new()),
            routes::SERVER => ("", "{\"action\": \"drain\"}".to_owned()),
            routes::LEASE => (
                "",
                "{\"holder\": \"left\", \"ticket\": 1, \"holds\": false, \"lease-ms\": 1000}"
                    .to_owned(),
            ),
            routes::EXPLAIN_REQUEST => ("", "{\"url\": \"/api/x\"}".to_owned()),
            routes::PLAN | routes::APPLY => {
                ("", balancer.setup().pool("balance = \"random\"").text(balancer.dir().path()))
            }
            _ => ("", String::new()),
        };
        let bearer = format!("Bearer {configure}");
        let fields = [("authorization", bearer.as_str()), ("if-match", "*")];
        let answer = door.ask(route.method, &(path.clone() + query), &fields, &body);
        let is_new = route.method == "PUT" && makes_or_removes(route);
        let expected = if is_new { 201 } else { 200 };
        assert_eq!(answer.status(), expected, "{path}: {}", answer.text());
        let value: Value = serde_json::from_slice(&answer.body).unwrap();
        let found = breaches(&document, name, &value);
        assert!(found.is_empty(), "{path}:\n{}", found.join("\n"));
        compared += 1;
    }
    assert!(compared >= 14, "{compared}");
    let refusal = door.with(&configure, "POST", routes::APPLY, "[service.x]\nlisten = 1\n");
    let refusal: Value = serde_json::from_slice(&refusal.body).unwrap();
    assert_eq!(breaches(&document, "Problem", &refusal), Vec::<String>::new());
}

#[test]
fn an_answer_that_differs_is_found() {
    let schema = serde_json::json!({ "components": { "schemas": {
        "A": { "type": "object", "properties": { "n": { "type": ["integer", "null"] } }, "required": ["n"] },
    } } });
    let rows = [
        ("{\"n\":1}", 0),
        ("{\"n\":null}", 0),
        ("{}", 1),
        ("{\"n\":\"1\"}", 1),
        ("{\"n\":1,\"m\":1}", 1),
    ];
    for (text, count) in rows {
        let value = serde_json::from_str(text).unwrap();
        assert_eq!(breaches(&schema, "A", &value).len(), count, "{text}");
    }
}

/// The path with names that this daemon has, or one that it lacks where an object is made and removed.
fn path_of(route: &ApiRoute) -> String {
    let path = route.path.replace("{pool}", "web").replace("{service}", "shop");
    let name = match route.path {
        _ if makes_or_removes(route) => "fresh",
        routes::CONFIG_SERVICE => "shop",
        routes::CONFIG_RULE => "api",
        routes::CONFIG_POOL => "web",
        routes::CONFIG_SERVER | routes::LEASE => "a",
        _ => "*",
    };
    path.replace("{name}", name)
}

/// The keys of a new object of the route's kind.
fn new_object(route: &ApiRoute) -> String {
    let keys = match route.path {
        routes::CONFIG_SERVICE => {
            let listen = reserve_port().address().to_string();
            json!({ "listen": listen, "forward": "http", "pool": "web" })
        }
        routes::CONFIG_RULE => json!({ "when": { "path": "/f" }, "deny": true }),
        routes::CONFIG_POOL => json!({ "servers": ["127.0.0.1:1"] }),
        _ => json!({ "address": "127.0.0.1:1" }),
    };
    keys.to_string()
}

/// Whether the route makes or removes an object of the configuration.
fn makes_or_removes(route: &ApiRoute) -> bool {
    let is_object = route.path.starts_with(routes::CONFIG) && route.path != routes::CONFIG;
    is_object && matches!(route.method, "PUT" | "DELETE")
}
