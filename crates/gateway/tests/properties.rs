//! Properties: the order of objects does not matter, no set of objects makes the translation panic, and one route with
//! values that the engine does not take never costs the others their configuration.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use std::path::Path;

use gateway::manifest::{ManifestObject, read_manifest};
use gateway::object_set::ObjectSet;
use gateway::settings::GatewaySettings;
use gateway::translation::{GatewayTranslation, translate};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The objects of all examples. Several have the same name and say different things.
fn example_objects() -> Vec<ManifestObject> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut objects = Vec::new();
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|found| found == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            objects.extend(read_manifest(&text, &name).objects);
        }
    }
    objects
}

struct TranslatedObjects {
    translation: GatewayTranslation,
    problems: Vec<String>,
}

fn translate_objects(objects: Vec<ManifestObject>) -> TranslatedObjects {
    let mut problems = Vec::new();
    let set = ObjectSet::from_manifests(objects, &mut problems);
    let translation = translate(&set, &GatewaySettings::default());
    let problems = problems.iter().map(ToString::to_string).collect();
    TranslatedObjects { translation, problems }
}

fn assert_same(one: &TranslatedObjects, other: &TranslatedObjects) {
    assert_eq!(one.translation.configuration, other.translation.configuration);
    assert_eq!(one.translation.statuses, other.translation.statuses);
    assert_eq!(one.translation.problems, other.translation.problems);
    assert_eq!(one.problems, other.problems);
}

fn check_passes(translation: &GatewayTranslation) {
    if let Some(text) = &translation.configuration {
        let found = model::config::load(text, "gateway");
        assert!(found.is_ok(), "{text}\n{}", found.unwrap_err());
    }
}

/// A Gateway, a Service with an endpoint, and a sound route beside the one that is tried.
fn with_sound_route(route: &Value) -> Vec<ManifestObject> {
    let gateway = "gateway.networking.k8s.io/v1";
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": gateway, "kind": "GatewayClass", "metadata": {"name": "c"},
         "spec": {"controllerName": "steelyard.dev/gateway"}},
        {"apiVersion": gateway, "kind": "Gateway", "metadata": {"name": "g", "namespace": "a"},
         "spec": {"gatewayClassName": "c", "listeners": [{"name": "l", "port": 80, "protocol": "HTTP"}]}},
        {"apiVersion": gateway, "kind": "HTTPRoute", "metadata": {"name": "sound", "namespace": "a"},
         "spec": {"parentRefs": [{"name": "g"}], "hostnames": ["sound.example"],
                  "rules": [{"backendRefs": [{"name": "s", "port": 80}]}]}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "a"},
         "spec": {"ports": [{"port": 80}]}},
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
         "metadata": {"name": "s", "namespace": "a", "labels": {"kubernetes.io/service-name": "s"}},
         "ports": [{"port": 80}], "endpoints": [{"addresses": ["10.0.0.1"]}]},
        route
    ]});
    read_manifest(&objects.to_string(), "x.json").objects
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "/[a-c*?{}%;.()\\[+/-]{0,12}",
        "[a-z]{1,8}",
        "\\PC{0,6}",
        Just("/".to_owned()),
        Just("10s".to_owned()),
    ]
}

fn any_match() -> impl Strategy<Value = Value> {
    let kinds = prop_oneof![Just("Exact"), Just("PathPrefix"), Just("RegularExpression")];
    let more = prop_oneof![Just("Exact"), Just("RegularExpression")];
    (kinds, any_text(), more, any_text(), any_text()).prop_map(|(kind, path, more, name, value)| {
        json!({"path": {"type": kind, "value": path},
               "headers": [{"type": more, "name": name, "value": value}],
               "queryParams": [{"name": name, "value": value}]})
    })
}

fn any_filter() -> impl Strategy<Value = Value> {
    (0..6_u8, any_text(), any_text()).prop_map(|(kind, one, other)| match kind {
        0 => json!({"type": "RequestHeaderModifier", "requestHeaderModifier":
            {"set": [{"name": one, "value": other}], "remove": [other]}}),
        1 => json!({"type": "ResponseHeaderModifier", "responseHeaderModifier":
            {"add": [{"name": one, "value": other}], "remove": [one]}}),
        2 => json!({"type": "RequestRedirect", "requestRedirect":
            {"hostname": one, "path": {"type": "ReplaceFullPath", "replaceFullPath": other}}}),
        3 => json!({"type": "URLRewrite", "urlRewrite":
            {"hostname": one, "path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": other}}}),
        4 => json!({"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "s", "port": 80}}}),
        _ => json!({"type": one}),
    })
}

fn any_rule() -> impl Strategy<Value = Value> {
    let filters = prop::collection::vec(any_filter(), 0..3);
    let own = prop::collection::vec(any_filter(), 0..2);
    let matches = prop::collection::vec(any_match(), 0..3);
    (matches, filters, own, any_text(), 0..3_u8, any::<bool>()).prop_map(
        |(matches, filters, own, timeout, weight, has_backend)| {
            let mut rule = json!({"matches": matches, "filters": filters});
            if has_backend {
                rule["backendRefs"] = json!([
                    {"name": "s", "port": 80, "weight": weight, "filters": own},
                    {"name": "lost", "port": 80}]);
                rule["timeouts"] = json!({"request": timeout});
            }
            rule
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_order_of_objects_does_not_matter(
        chosen in prop::collection::vec(any::<bool>(), 200),
        order in prop::collection::vec(any::<u32>(), 200),
    ) {
        let all = example_objects();
        assert!(all.len() < chosen.len(), "{} objects", all.len());
        let numbered = all.into_iter().enumerate().filter(|(at, _)| chosen[*at]);
        let mut shuffled: Vec<(u32, ManifestObject)> =
            numbered.map(|(at, object)| (order[at], object)).collect();
        let first = translate_objects(shuffled.iter().map(|one| one.1.clone()).collect());
        check_passes(&first.translation);
        shuffled.sort_by_key(|one| one.0);
        let second = translate_objects(shuffled.into_iter().map(|one| one.1).collect());
        assert_same(&first, &second);
    }

    #[test]
    fn no_route_costs_another_one_its_configuration(
        rules in prop::collection::vec(any_rule(), 0..4),
        host in any_text(),
    ) {
        let route = json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": "wild", "namespace": "a"},
            "spec": {"parentRefs": [{"name": "g"}], "hostnames": [host, "wild.example"], "rules": rules},
        });
        let translated = translate_objects(with_sound_route(&route));
        let text = translated.translation.configuration.clone();
        prop_assert!(text.is_some(), "{route}: {:?}", translated.translation.problems);
        prop_assert!(text.is_some_and(|text| text.contains("\"sound.example\"")));
        check_passes(&translated.translation);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[ -~\n]{0,200}") {
        let _ = read_manifest(&text, "x");
    }
}
