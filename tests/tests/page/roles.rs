//! Every route of the table with every role: allowed roles succeed, and other roles receive the reason.

use api::routes;
use api::table::ALL;
use api::types::Role;
use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

use crate::client::{ApiListener, problem, token};

/// An operation in the daemon's OpenAPI document.
struct ApiOperation {
    method: String,
    path: String,
    role: Role,
}

fn operations(document: &Value) -> Vec<ApiOperation> {
    let mut out = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let role = operation["x-role"].as_str().and_then(Role::from_name);
            let role = role.unwrap_or_else(|| panic!("{method} {path} has no role"));
            out.push(ApiOperation { method: method.to_uppercase(), path: path.clone(), role });
        }
    }
    out
}

/// A valid path, and a body that changes little. Operations that change state are listed by name, so that a new
/// operation needs an entry.
fn sample(operation: &ApiOperation) -> (String, &'static str) {
    let path = operation.path.replace("{pool}", "web").replace("{service}", "shop");
    let path = path.replace("{name}", "a");
    let body = match (operation.method.as_str(), operation.path.as_str()) {
        ("GET", _)
        | ("POST", routes::ROLLBACK | routes::UNDO | routes::STOP | routes::TAKEOVER) => "",
        ("POST", routes::CAPTURE | routes::EXPLAIN_TRACE | routes::RELOAD) => "",
        ("POST", routes::SERVER) => "{\"action\": \"enable\"}",
        ("PUT", routes::LEASE) => {
            "{\"holder\": \"left\", \"ticket\": 1, \"holds\": false, \"lease-ms\": 1000}"
        }
        ("POST", routes::EXPLAIN_REQUEST) => "{\"url\": \"/\"}",
        ("POST", routes::PLAN | routes::APPLY) | ("PUT", routes::CONFIG) => "nonsense",
        ("PATCH", routes::CONFIG)
        | ("PATCH", routes::CONFIG_SERVICE | routes::CONFIG_POOL)
        | ("PATCH", routes::CONFIG_RULE | routes::CONFIG_SERVER) => "{}",
        ("PUT", routes::CONFIG_SERVICE | routes::CONFIG_POOL)
        | ("PUT", routes::CONFIG_RULE | routes::CONFIG_SERVER) => "[]",
        ("DELETE", _) => return (path.replace("/a", "/none"), ""),
        (method, path) => panic!("{method} {path} has no sample here"),
    };
    let query = match operation.path.as_str() {
        routes::HISTORY => "?since-unix-ms=1",
        routes::STOP => "?limit-ms=1",
        routes::EXPLAIN_CAPTURE => "?name=none",
        _ => "",
    };
    (path + query, body)
}

// Rows: Z10
#[test]
fn each_route_lets_through_whom_the_table_names_and_no_other() {
    let origins = [origin("a")];
    let door = ApiListener::new();
    let balancer = TestBalancer::start(&door.on(BalancerConfig::http(&addresses(&origins)), ""));
    let tokens = Role::ALL.map(|role| (role, token(balancer.dir(), role)));
    door.open();
    let document = door.ask("GET", routes::OPENAPI, &[], "");
    let mut routes = operations(&serde_json::from_slice(&document.body).unwrap());
    assert_eq!(routes.len(), ALL.len(), "the document and the table name the same");
    // The request that stops the daemon comes last.
    routes.sort_by_key(|route| route.path == routes::STOP);
    for route in &routes {
        let (path, body) = sample(route);
        let nobody = door.ask(&route.method, &path, &[], body);
        if route.role == Role::View {
            assert!(![401, 403].contains(&nobody.status()), "{path}: {nobody:?}");
        } else {
            assert_eq!((nobody.status(), problem(&nobody).as_str()), (401, "token"), "{path}");
        }
        for (role, token) in &tokens {
            let answer = door.with(token, &route.method, &path, body);
            let what = format!("{} {path} as {}: {answer:?}", route.method, role.name());
            if !role.may(route.role) {
                assert_eq!((answer.status(), problem(&answer).as_str()), (403, "role"), "{what}");
                continue;
            }
            assert!(![401, 403, 405].contains(&answer.status()), "{what}");
            let nowhere = answer.status() == 404 && problem(&answer) == "no-route";
            assert!(!nowhere, "{what}");
        }
    }
    balancer.sigterm();
    assert_eq!(balancer.wait_for_exit().code, Some(0));
}

#[test]
fn wrong_tokens_are_refused_counted_and_slowed_down() {
    let origins = [origin("a")];
    let door = ApiListener::new();
    let balancer = TestBalancer::start(&door.on(BalancerConfig::http(&addresses(&origins)), ""));
    let good = token(balancer.dir(), Role::View);
    door.open();
    for wrong in ["", "x", &good[..good.len() - 1], &good.to_uppercase()] {
        let answer = door.with(wrong, "GET", routes::STATUS, "");
        assert_eq!((answer.status(), problem(&answer).as_str()), (401, "token"), "{wrong}");
        assert!(answer.field("www-authenticate").is_some_and(|how| how.starts_with("Bearer")));
    }
    let scheme = door.ask("GET", routes::STATUS, &[("authorization", "Basic eDp5")], "");
    assert_eq!(scheme.status(), 401);
    let me = door.with(&good, "GET", routes::ME, "");
    let me: Value = serde_json::from_slice(&me.body).unwrap();
    assert_eq!((me["role"].as_str(), me["token"].as_bool()), (Some("view"), Some(true)), "{me}");
    assert_eq!(me["who"], "token the-view from 127.0.0.1");
    // A failed authentication costs as much as many requests, so that few failures reach the limit.
    let slowed = wait::until_some("a refusal because of the rate", || {
        Some(door.with("x", "GET", routes::STATUS, "")).filter(|answer| answer.status() == 429)
    });
    assert_eq!(problem(&slowed), "rate");
    assert!(slowed.field("retry-after").is_some());
    let counted = balancer.metrics();
    for why in ["token", "rate"] {
        let row = format!("steelyard_api_refused_total{{reason=\"{why}\",why=\"{why}\"}} ");
        let count = counted.lines().find_map(|line| line.strip_prefix(&row));
        assert!(count.is_some_and(|count| count != "0"), "{why}: {count:?}");
    }
}

#[test]
fn an_order_over_tcp_is_recorded_with_whose_token_it_was() {
    let origins = [origin("a"), origin("b")];
    let door = ApiListener::new();
    let balancer = TestBalancer::start(&door.on(BalancerConfig::http(&addresses(&origins)), ""));
    let operate = token(balancer.dir(), Role::Operate);
    door.open();
    let drained = door.with(&operate, "POST", "/v1/servers/web/a", "{\"action\": \"drain\"}");
    assert_eq!(drained.status(), 200, "{drained:?}");
    assert_eq!(balancer.server("a").state.name(), "drain");
    for body in [
        "{\"action\": \"remove\"}",
        "{\"action\": \"add\", \"address\": \"127.0.0.1:1\"}",
        "{\"action\": \"enable\", \"save\": true}",
    ] {
        let answer = door.with(&operate, "POST", "/v1/servers/web/a", body);
        assert_eq!((answer.status(), problem(&answer).as_str()), (403, "role"), "{body}");
    }
    let audit = door.with(&operate, "GET", routes::AUDIT, "").text();
    assert!(audit.contains("token the-operate from 127.0.0.1"), "{audit}");
    // A token is valid as long as its line exists.
    balancer.dir().write("tokens", "");
    assert_eq!(door.with(&operate, "GET", routes::STATUS, "").status(), 401);
}
