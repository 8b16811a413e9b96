//! Objects of Traefik from several containers, of other providers, and beside others that contradict them.

#[path = "traefik_seen.rs"]
mod traefik_seen;

use super::traefik::{check, converted};

/// A Compose file with a balancer and containers, each with its labels.
fn compose(arguments: &[&str], containers: &[&[&str]]) -> String {
    let mut text = "services:\n  balancer:\n    image: traefik:v3\n    command:\n      - --entrypoints.web.address=:80\n".to_owned();
    for argument in arguments {
        text.push_str(&format!("      - {argument}\n"));
    }
    for (at, labels) in containers.iter().enumerate() {
        text.push_str(&format!("  c{at}:\n    image: app\n    labels:\n"));
        for label in *labels {
            text.push_str(&format!("      - traefik.{label}\n"));
        }
    }
    text
}

const RULE: &str = "http.routers.a.rule=Host(`a.example`)";
const PORT: &str = "http.services.a.loadbalancer.server.port=80";
/// A router that is never in question.
const OTHER: &[&str] =
    &["http.routers.o.rule=Host(`o.example`)", "http.services.o.loadbalancer.server.port=80"];

#[test]
fn names_of_other_providers_are_not_those_of_the_file() {
    let middleware = "http.middlewares.m.headers.customrequestheaders.X-A=b";
    for (label, written, left) in [
        ("http.routers.a.middlewares=m", "X-A: b", false),
        ("http.routers.a.middlewares=m@docker", "X-A: b", false),
        ("http.routers.a.middlewares=m@file", "answer = 503", true),
        ("http.routers.a.service=a@docker", "pool = \"a\"", false),
        ("http.routers.a.service=a@file", "answer = 503", true),
    ] {
        check(&compose(&[], &[&[RULE, PORT, middleware, label]]), &[written], left);
    }
    let file = |router: &str| {
        format!(
            "http:\n  routers:\n    a: {{ rule: 'Host(`a.example`)', entryPoints: [web], service: s, {router} }}\n  middlewares:\n    m: {{ addPrefix: {{ prefix: /x }} }}\n  services:\n    s: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.1' }}] }} }}\n"
        )
    };
    for (router, written, left) in [
        ("middlewares: [m@file]", "prefix = \"/x\"", false),
        ("middlewares: [m@docker]", "answer = 503", true),
        ("middlewares: [m@internal]", "answer = 503", true),
    ] {
        check(&file(router), &[written], left);
    }
}

#[test]
fn containers_of_one_service_are_its_servers() {
    let text = compose(&[], &[&[RULE, PORT], &[RULE, PORT]]);
    check(&text, &["\"c0:80\"", "\"c1:80\"", "host = \"a.example\""], false);
    let other = "http.services.a.loadbalancer.server.port=81";
    check(&compose(&[], &[&[RULE, PORT], &[RULE, other]]), &["\"c0:80\"", "\"c1:81\""], false);
}

#[test]
fn what_containers_contradict_each_other_about_is_dropped() {
    for (first, second) in [
        (&[RULE, PORT][..], &["http.routers.a.rule=Host(`b.example`)", PORT][..]),
        (&[RULE, PORT], &["http.routers.a.middlewares=m", RULE, PORT]),
        (&[RULE, PORT], &["http.routers.a.priority=7"]),
    ] {
        let result = converted(&compose(&[], &[first, second, OTHER]));
        let written = result.text.unwrap();
        assert!(!written.contains("a.example") && !written.contains("b.example"), "{written}");
        assert!(result.left_out > 0 && written.contains("o.example"), "{written}");
    }
    // A router whose middleware is dropped is closed.
    let label = "http.routers.a.middlewares=m";
    let text = compose(
        &[],
        &[
            &[RULE, PORT, label, "http.middlewares.m.ipallowlist.sourcerange=10.0.0.0/8"],
            &["http.middlewares.m.ipallowlist.sourcerange=0.0.0.0/0"],
        ],
    );
    check(&text, &["answer = 503"], true);
    // Both versions of a service have to say the same but for their servers.
    let sticky = "http.services.a.loadbalancer.sticky.cookie.name=k";
    check(&compose(&[], &[&[RULE, PORT], &[PORT, sticky]]), &["answer = 503"], true);
}

#[test]
fn constraints_say_which_containers_are_read() {
    let zone = "zone=dmz";
    for (constraint, is_in) in [
        ("Label(`traefik.zone`,`dmz`)", true),
        ("Label(`traefik.zone`, `lan`)", false),
        ("!Label(`traefik.zone`,`dmz`)", false),
        ("Label(`traefik.zone`,`lan`) || Label(`traefik.zone`,`dmz`)", true),
        // What is not known here lets nobody in.
        ("LabelRegex(`traefik.zone`,`.*`)", false),
        ("Label(", false),
    ] {
        let argument = format!("--providers.docker.constraints={constraint}");
        let result = converted(&compose(&[&argument], &[&[RULE, PORT, zone]]));
        let written = result.text.unwrap_or_default();
        assert_eq!(written.contains("a.example"), is_in, "{constraint}\n{written}");
        assert!(result.left_out > 0);
    }
}

/// Two routers on the usual entry points, with options of TLS.
fn secure(first: &str, second: &str) -> String {
    let options = |name: &str| {
        format!(
            "    {name}: {{ clientAuth: {{ caFiles: [/{name}.pem], clientAuthType: RequireAndVerifyClientCert }} }}\n"
        )
    };
    format!(
        "http:\n  routers:\n    a: {{ rule: 'Host(`a.example`)', priority: 90, service: s, {first} }}\n    b: {{ rule: 'Host(`b.example`)', service: s, {second} }}\n  services:\n    s: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.1' }}] }} }}\ntls:\n  certificates: [{{ certFile: /c.pem, keyFile: /c.key }}]\n  options:\n{}{}",
        options("one"),
        options("two")
    )
}

#[test]
fn routers_that_ask_for_other_certificates_are_closed() {
    let point = "entryPoints: [websecure], tls:";
    let written = |second: &str| {
        let text = secure(&format!("{point} {{ options: one }}"), &format!("{point} {second}"));
        let result = converted(&text);
        assert!(result.text.is_some(), "{text}: {:?}", result.notes);
        result
    };
    let closed = written("{ options: two }");
    let text = closed.text.unwrap();
    assert!(text.contains("when = { host = \"b.example\" }\nanswer = 503"), "{text}");
    assert!(
        text.contains(
            "client = { ca = \"/one.pem\", verify = \"required\", names = \"a.example\" }"
        ) && closed.left_out > 0,
        "{text}"
    );
    for (second, names) in [("{ options: one }", false), ("{ }", true)] {
        let text = written(second).text.unwrap();
        assert!(!text.contains("503") && text.contains("names = ") == names, "{text}");
    }
    for other in ["one@docker", "default@file"] {
        let text = written(&format!("{{ options: {other} }}")).text.unwrap();
        assert!(text.contains("when = { host = \"b.example\" }\nanswer = 503"), "{text}");
    }
}

#[test]
fn a_router_with_tls_keeps_its_port_from_being_plain() {
    let text = secure("tls: { }", "entryPoints: [websecure]");
    let result = converted(&text);
    let written = result.text.unwrap();
    assert!(written.contains("[service.websecure.tls]"), "{written}");
    assert!(!written.contains("b.example") && result.left_out > 0, "{written}");
}

#[test]
fn a_router_below_another_is_not_asked_by_itself() {
    let text = secure("entryPoints: [web]", "parentRefs: [a]");
    let result = converted(&text);
    let written = result.text.unwrap();
    assert!(!written.contains("b.example") && result.left_out > 0, "{written}");
}
