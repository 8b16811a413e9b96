//! Kubernetes Gateway API: manifests are rendered by the built program, which then serves what came of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use std::net::SocketAddr;
use std::process::{Command, Output};

use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers::reserve_port;

const OBJECTS: &str = r#"
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: steelyard }
spec: { controllerName: steelyard.dev/gateway }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge, namespace: shop }
spec:
  gatewayClassName: steelyard
  listeners: [{ name: web, port: PORT, protocol: HTTP }]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: shop, namespace: shop }
spec:
  parentRefs: [{ name: edge }]
  hostnames: [shop.example]
  rules:
  - matches: [{ path: { value: /api } }]
    filters:
    - { type: URLRewrite, urlRewrite: { hostname: api.internal, path: { type: ReplacePrefixMatch, replacePrefixMatch: /v2 } } }
    - { type: RequestHeaderModifier, requestHeaderModifier: { set: [{ name: X-From, value: "{edge}" }] } }
    - { type: ResponseHeaderModifier, responseHeaderModifier: { add: [{ name: X-By, value: steelyard }] } }
    backendRefs: [{ name: web, port: 80 }]
  - matches: [{ path: { value: /own } }]
    backendRefs:
    - name: web
      port: 80
      filters: [{ type: RequestHeaderModifier, requestHeaderModifier: { set: [{ name: X-Branch, value: own }] } }]
  - matches: [{ path: { value: /old } }]
    filters:
    - type: RequestRedirect
      requestRedirect: { hostname: new.example, port: 8080, statusCode: 301, path: { type: ReplacePrefixMatch, replacePrefixMatch: /new } }
  - matches: [{ path: { value: /lost } }]
    backendRefs: [{ name: lost, port: 80 }]
  - matches: [{ path: { value: /split } }]
    backendRefs: [{ name: web, port: 80 }, { name: lost, port: 80 }]
---
{ apiVersion: v1, kind: Service, metadata: { name: web, namespace: shop }, spec: { ports: [{ port: 80 }] } }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: shop, labels: { kubernetes.io/service-name: web } }
ports: [{ port: SERVER }]
endpoints: [{ addresses: [127.0.0.1] }]
"#;

fn render(arguments: &[&str]) -> Output {
    Command::new(program()).args(["gateway", "render"]).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn get(front: SocketAddr, host: &str, target: &str) -> ReceivedMessage {
    let mut client = HttpClient::connect(front);
    client.send(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    client.read_answer()
}

#[test]
fn what_is_rendered_is_served() {
    let recorder = RecordingServer::start();
    let front = reserve_port();
    let loopback = reserve_port();
    let dir = TestDir::new();
    let objects = OBJECTS
        .replace("PORT", &front.address().port().to_string())
        .replace("SERVER", &recorder.address().port().to_string());
    let file = dir.write("shop.yaml", objects);
    let port = loopback.address().port().to_string();
    let rendered =
        render(&[file.to_str().unwrap(), "--address", "127.0.0.1", "--loopback-port", &port]);
    let said = text(&rendered.stderr);
    assert_eq!(rendered.status.code(), Some(3), "{said}");
    assert!(said.contains("ResolvedRefs is false, BackendNotFound: there is no Service shop/lost"));
    let setup = BalancerConfig::http(&[recorder.address()]).with_tables(&text(&rendered.stdout));
    let balancer = TestBalancer::start(&setup);
    let front = front.address();

    let api = get(front, "shop.example", "/api/items?page=2");
    assert_eq!(api.status(), 200);
    assert_eq!(api.field("x-by").as_deref(), Some("steelyard"));
    assert_eq!(get(front, "shop.example", "/own").status(), 200);
    for (target, location) in [
        ("/old", "http://new.example:8080/new"),
        ("/old/", "http://new.example:8080/new/"),
        ("/old/a/b?c=d", "http://new.example:8080/new/a/b?c=d"),
    ] {
        let moved = get(front, "shop.example", target);
        assert_eq!(moved.status(), 301);
        assert_eq!(moved.field("location").as_deref(), Some(location));
    }
    for (host, target, status) in [
        ("shop.example", "/lost", 500),
        ("shop.example", "/apis", 404),
        ("other.example", "/api", 404),
    ] {
        assert_eq!(get(front, host, target).status(), status, "{host}{target}");
    }
    let split: Vec<u16> = (0..60).map(|_| get(front, "shop.example", "/split").status()).collect();
    assert!(split.contains(&200) && split.contains(&500), "{split:?}");
    assert!(split.iter().all(|status| [200, 500].contains(status)), "{split:?}");
    drop(balancer);
    let requests = recorder.take().requests;
    let first = &requests[0];
    assert!(first.start.starts_with("GET /v2/items?page=2 "), "{first:?}");
    assert_eq!(first.field("host").as_deref(), Some("api.internal"));
    assert_eq!(first.field("x-from").as_deref(), Some("{edge}"));
    assert_eq!(requests[1].field("x-branch").as_deref(), Some("own"));
}

#[test]
fn problems_name_their_place_and_the_exit_code_tells_how_much_is_served() {
    let dir = TestDir::new();
    let broken = dir.write(
        "broken.yaml",
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: { name: cart, namespace: shop }\n\
         spec: { parentRefs: [{ name: edge }], rules: [{ backendRefs: [{ name: web, port: http }] }] }\n",
    );
    let output = render(&[broken.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    let wanted = "broken.yaml: HTTPRoute shop/cart: spec.rules[0].backendRefs[0].port: \
         invalid type: string \"http\"; expected u16";
    assert!(said.contains(wanted), "{said}");
    assert_eq!(render(&["/absent.yaml"]).status.code(), Some(2));

    let sound = OBJECTS.split("---").take(2).collect::<Vec<_>>().join("---");
    let sound = dir.write("sound.yaml", sound.replace("PORT", "8080"));
    let output = render(&[sound.to_str().unwrap(), "--status"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("Gateway shop/edge\n  Accepted is true, Accepted: "));
    let output = render(&[sound.to_str().unwrap(), "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["statuses"][0]["listeners"][0]["attachedRoutes"], 0);
    assert_eq!(found["statuses"][0]["conditions"][0]["observedGeneration"], 0);
    assert!(found["configuration"].as_str().unwrap().contains("[service.shop-edge-8080]"));
}
