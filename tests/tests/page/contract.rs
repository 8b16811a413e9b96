//! The running daemon's responses, compared with the OpenAPI document that it serves.

use api::routes;
use api::table::{ALL, RouteBody};
use api::types::Role;
use serde_json::Value;
use tests::contract::check::breaches;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin};

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
        let path = route.path.replace("{pool}", "web").replace("{service}", "shop");
        let path = match route.path {
            routes::CONFIG_SERVICE => path.replace("{name}", "shop"),
            routes::CONFIG_RULE => path.replace("{name}", "api"),
            routes::CONFIG_POOL => path.replace("{name}", "web"),
            routes::CONFIG_SERVER | routes::LEASE => path.replace("{name}", "a"),
            _ => path.replace("{name}", "*"),
        };
        let (query, body) = match route.path {
            routes::CONFIG if route.method == "PUT" => {
                ("", balancer.setup().pool("balance = \"random\"").text(balancer.dir().path()))
            }
            _ if route.method == "PATCH" => ("", "{}".to_owned()),
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
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
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
