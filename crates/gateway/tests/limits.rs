//! Long names, many filters and many expressions: names are cut, and the youngest rules give way.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use gateway::manifest::read_manifest;
use gateway::object_set::ObjectSet;
use gateway::settings::GatewaySettings;
use gateway::status::ObjectStatus;
use gateway::translation::{GatewayTranslation, translate};
use serde_json::{Value, json};

const GROUP: &str = "gateway.networking.k8s.io/v1";

fn translate_items(items: &[Value]) -> GatewayTranslation {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let contents = read_manifest(&list.to_string(), "x.json");
    assert_eq!(contents.problems, []);
    let mut problems = Vec::new();
    let set = ObjectSet::from_manifests(contents.objects, &mut problems);
    assert_eq!(problems, []);
    translate(&set, &GatewaySettings::default())
}

fn base(namespace: &str, gateway: &str, service: &str) -> Vec<Value> {
    vec![
        json!({"apiVersion": GROUP, "kind": "GatewayClass", "metadata": {"name": "c"},
            "spec": {"controllerName": "steelyard.dev/gateway"}}),
        json!({"apiVersion": GROUP, "kind": "Gateway",
            "metadata": {"name": gateway, "namespace": namespace},
            "spec": {"gatewayClassName": "c",
                "listeners": [{"name": "l", "port": 80, "protocol": "HTTP"}]}}),
        json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": service, "namespace": namespace},
            "spec": {"ports": [{"port": 80}]}}),
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "slice", "namespace": namespace,
                "labels": {"kubernetes.io/service-name": service}},
            "ports": [{"port": 8080}], "endpoints": [{"addresses": ["10.0.0.1"]}]}),
    ]
}

fn route(namespace: &str, name: &str, gateway: &str, rules: &Value) -> Value {
    json!({"apiVersion": GROUP, "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"parentRefs": [{"name": gateway}], "rules": rules}})
}

fn conditions(status: &ObjectStatus) -> Vec<&str> {
    status.parents[0].conditions.iter().map(|condition| condition.kind).collect()
}

#[test]
fn names_of_kubernetes_may_be_longer_than_those_of_the_configuration() {
    let namespace = "n".repeat(63);
    let name = format!("{}.{}", "g".repeat(60), "h".repeat(180));
    let mut items = base(&namespace, &name, &name[..63]);
    let rules = json!([{"backendRefs": [{"name": &name[..63], "port": 80}]}]);
    items.push(route(&namespace, &name, &name, &rules));
    items.push(route(&namespace, &format!("{}x", &name[..240]), &name, &rules));
    let translation = translate_items(&items);
    let text = translation.configuration.unwrap();
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')).collect();
    assert!(names.iter().all(|name| name.len() <= 63), "{names:?}");
    assert!(text.contains("10.0.0.1:8080"));
}

#[test]
fn back_ends_with_filters_beyond_what_a_service_carries_are_refused_by_age() {
    let mut items = base("a", "g", "s");
    let backend = json!({"name": "s", "port": 80, "filters": [{"type": "RequestHeaderModifier",
        "requestHeaderModifier": {"set": [{"name": "X-One", "value": "1"}]}}]});
    for number in 0..300 {
        let path = format!("/{number}");
        let rules =
            json!([{"matches": [{"path": {"value": path}}], "backendRefs": [backend.clone()]}]);
        items.push(route("a", &format!("r{number:03}"), "g", &rules));
    }
    let translation = translate_items(&items);
    let text = translation.configuration.unwrap();
    assert_eq!(text.matches("[[service.a-g-80.edit]]").count(), 256);
    let routes: Vec<&ObjectStatus> =
        translation.statuses.iter().filter(|status| status.kind == "HTTPRoute").collect();
    let accepted = |status: &&&ObjectStatus| status.parents[0].conditions[0].reason == "Accepted";
    assert_eq!(routes.iter().filter(accepted).count(), 256);
    assert_eq!(routes[299].parents[0].conditions[0].reason, "UnsupportedValue");
}

#[test]
fn expressions_beyond_what_a_configuration_carries_are_refused_by_age() {
    let mut items = base("a", "g", "s");
    for number in 0..1_100 {
        let matches =
            json!([{"path": {"type": "RegularExpression", "value": format!("/{number}/[a-z]+")}}]);
        let rules = json!([{"matches": matches, "backendRefs": [{"name": "s", "port": 80}]}]);
        items.push(route("a", &format!("r{number:04}"), "g", &rules));
    }
    let translation = translate_items(&items);
    let text = translation.configuration.unwrap();
    assert!(text.contains("/0/[a-z]+"), "the oldest route stays");
    assert!(!text.contains("/1099/[a-z]+"), "the youngest gives way");
}

#[test]
fn a_rule_that_is_dropped_says_so_beside_those_that_are_not() {
    let mut items = base("a", "g", "s");
    let rules = json!([
        {"matches": [{"path": {"value": "/a"}}], "backendRefs": [{"name": "s", "port": 80}]},
        {"matches": [{"path": {"value": "/b"}, "method": "BREW"}], "backendRefs": [{"name": "s", "port": 80}]}]);
    items.push(route("a", "r", "g", &rules));
    let translation = translate_items(&items);
    let status = translation.statuses.iter().find(|status| status.kind == "HTTPRoute").unwrap();
    assert_eq!(conditions(status), ["Accepted", "ResolvedRefs", "PartiallyInvalid"]);
    assert!(status.parents[0].conditions[2].message.starts_with("Dropped Rule"));
}
