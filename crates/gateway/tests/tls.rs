//! Certificates of listeners: Secrets that are sound, broken, missing or of another namespace.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use gateway::manifest::read_manifest;
use gateway::object_set::ObjectSet;
use gateway::settings::GatewaySettings;
use gateway::status::ListenerStatus;
use gateway::translation::{GatewayTranslation, translate};
use serde_json::{Value, json};

const GROUP: &str = "gateway.networking.k8s.io/v1";

struct KeyPair {
    certificate: String,
    key: String,
}

fn key_pair() -> KeyPair {
    let made = rcgen::generate_simple_self_signed(vec!["shop.example".to_owned()]).unwrap();
    KeyPair { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() }
}

fn secret(namespace: &str, name: &str, certificate: &str, key: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": {"tls.crt": certificate, "tls.key": key}})
}

/// A Gateway with one listener whose certificate is in this Secret, and these objects.
fn translate_listener(reference: &Value, objects: &[Value]) -> GatewayTranslation {
    let mut items = vec![
        json!({"apiVersion": GROUP, "kind": "GatewayClass", "metadata": {"name": "c"},
            "spec": {"controllerName": "steelyard.dev/gateway"}}),
        json!({"apiVersion": GROUP, "kind": "Gateway", "metadata": {"name": "g", "namespace": "a"},
            "spec": {"gatewayClassName": "c", "listeners": [
                {"name": "l", "port": 443, "protocol": "HTTPS",
                 "tls": {"certificateRefs": [reference]}}]}}),
    ];
    items.extend_from_slice(objects);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let contents = read_manifest(&list.to_string(), "x.json");
    assert_eq!(contents.problems, []);
    let set = ObjectSet::from_manifests(contents.objects, &mut Vec::new());
    translate(&set, &GatewaySettings::default())
}

fn resolved(translation: &GatewayTranslation) -> String {
    let gateway = translation.statuses.iter().find(|status| status.kind == "Gateway").unwrap();
    let listener: &ListenerStatus = &gateway.listeners[0];
    let found = listener.conditions.iter().find(|one| one.kind == "ResolvedRefs").unwrap();
    format!("{}: {}", found.reason, found.message)
}

#[test]
fn a_sound_certificate_is_named_and_handed_over() {
    let pair = key_pair();
    let objects = [secret("a", "s", &pair.certificate, &pair.key)];
    let translation = translate_listener(&json!({"name": "s"}), &objects);
    let text = translation.configuration.clone().unwrap();
    assert!(text.contains("tls = [\"/run/steelyard/gateway/a_s.pem\"]"), "{text}");
    let file = &translation.certificates[0];
    assert!(file.pem.contains("CERTIFICATE") && file.pem.contains("PRIVATE KEY"));
    assert!(!format!("{translation:?}").contains("PRIVATE KEY"), "keys are not shown");
}

#[test]
fn what_is_wrong_with_a_certificate_is_said_and_nothing_is_served() {
    let pair = key_pair();
    let sound = secret("a", "s", &pair.certificate, &pair.key);
    let here = json!({"name": "s"});
    for (reference, object, wanted) in [
        (json!({"name": "x"}), &sound, "InvalidCertificateRef: there is no Secret a/x"),
        (json!({"kind": "ConfigMap", "name": "s"}), &sound, "InvalidCertificateRef: /ConfigMap"),
        (
            here.clone(),
            &secret("a", "s", "no PEM", &pair.key),
            "InvalidCertificateRef: Secret a/s: `tls.crt` holds no certificate",
        ),
        (
            here.clone(),
            &secret("a", "s", &pair.certificate, &pair.certificate),
            "InvalidCertificateRef: Secret a/s: `tls.key` holds no private key",
        ),
        (
            here,
            &json!({"apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": "s", "namespace": "a"}, "data": {"tls.crt": "%"}}),
            "InvalidCertificateRef: Secret a/s: `tls.crt` is no base64",
        ),
        (
            json!({"name": "s", "namespace": "b"}),
            &secret("b", "s", &pair.certificate, &pair.key),
            "RefNotPermitted: no ReferenceGrant in namespace b",
        ),
    ] {
        let translation = translate_listener(&reference, std::slice::from_ref(object));
        let found = resolved(&translation);
        assert!(found.starts_with(wanted), "{found}\n{wanted}");
        assert_eq!(translation.configuration, None, "{wanted}");
        assert!(translation.certificates.is_empty());
    }
}

#[test]
fn a_grant_lets_a_gateway_use_a_certificate_of_another_namespace() {
    let pair = key_pair();
    let grant = json!({"apiVersion": GROUP, "kind": "ReferenceGrant",
        "metadata": {"name": "r", "namespace": "b"},
        "spec": {"from": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "a"}],
            "to": [{"group": "", "kind": "Secret", "name": "s"}]}});
    let objects = [secret("b", "s", &pair.certificate, &pair.key), grant];
    let translation = translate_listener(&json!({"name": "s", "namespace": "b"}), &objects);
    assert!(translation.configuration.is_some(), "{}", resolved(&translation));
}
