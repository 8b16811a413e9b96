//! Services, entry points and TCP routers of Traefik, one row each.

use convert::dialect::Dialect;
use convert::run::convert;

use super::traefik::{check, converted};

const HTTP: &str = "servers: [{ url: 'http://10.0.0.1' }]";
const HTTPS: &str = "servers: [{ url: 'https://a.example' }]";

/// A router to the service, and a further service for those that have several.
fn service_file(service: &str, more: &str) -> String {
    format!(
        "http:\n  routers:\n    one: {{ rule: 'Host(`a.example`)', entryPoints: [web], service: s }}\n  services:\n    s: {service}\n    \
         o: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.9' }}] }} }}\n    \
         h: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.8' }}], healthCheck: {{ path: /up }} }} }}\n{more}"
    )
}

fn balancer(inner: &str) -> String {
    format!("{{ loadBalancer: {{ {inner} }} }}")
}

#[test]
fn load_balancers_become_pools() {
    for (service, written, left) in [
        (balancer(HTTP), "\"10.0.0.1:80\"", false),
        (balancer("servers: [{ url: 'h2c://[::1]:50', weight: 512 }]"), "weight = 256", false),
        (balancer("servers: [{ url: 'x' }]"), "answer = 503", true),
        (balancer("servers: []"), "answer = 503", true),
        (balancer(HTTPS), "verify = \"on\"", false),
        (balancer(&format!("{HTTP}, passHostHeader: false")), "host = \"10.0.0.1\"", false),
        (balancer(&format!("{HTTP}, strategy: p2c")), "least-request", false),
        (
            balancer(&format!("{HTTP}, healthCheck: {{ path: /up, interval: 1s }}")),
            "http = \"/up\", interval = \"1s\", fast-interval = \"1s\", timeout = \"1s\"",
            false,
        ),
        (
            balancer(&format!("{HTTP}, sticky: {{ cookie: {{ name: k, maxAge: 60 }} }}")),
            "expire = \"1m\"",
            false,
        ),
    ] {
        check(&service_file(&service, ""), &[written], left);
    }
}

#[test]
fn transports_become_tls_of_pools() {
    let transport = |inner: &str| format!("  serversTransports:\n    x: {{ {inner} }}\n");
    for (service, more, written, left) in [
        (
            balancer(&format!("{HTTPS}, serversTransport: x")),
            transport("insecureSkipVerify: true"),
            "verify = \"off\"",
            false,
        ),
        (
            balancer(&format!("{HTTPS}, serversTransport: x")),
            transport("rootCAs: [/a.pem, /b.pem]"),
            "ca = \"/a.pem\"",
            true,
        ),
        (
            balancer(&format!("{HTTPS}, serversTransport: x")),
            transport("peerCertURI: 'spiffe://a'"),
            "answer = 503",
            true,
        ),
        (
            balancer(&format!("{HTTPS}, serversTransport: gone")),
            String::new(),
            "answer = 503",
            true,
        ),
    ] {
        check(&service_file(&service, &more), &[written], left);
    }
}

#[test]
fn services_of_services_become_splits_and_mirrors() {
    for (service, written, left) in [
        (
            "{ weighted: { services: [{ name: o, weight: 3 }] } }",
            "split = [{ pool = \"o\", weight = 3 }]",
            false,
        ),
        ("{ weighted: { services: [{ name: gone }] } }", "answer = 503", true),
        (
            "{ mirroring: { service: o, mirrors: [{ name: o, percent: 5 }] } }",
            "mirror = { pool = \"o\", percent = 5 }",
            false,
        ),
        ("{ failover: { service: h, fallback: o } }", "when-unavailable = \"next\"", false),
        ("{ failover: { service: o, fallback: h } }", "answer = 503", true),
    ] {
        check(&service_file(service, ""), &[written], left);
    }
}

const CERTIFICATE: &str = "tls:\n  certificates: [{ certFile: /a.pem }]\n";
const ACME: &str =
    "certificatesResolvers:\n  c: { acme: { email: a@a.example, tlsChallenge: {} } }\n";
const DNS: &str = "certificatesResolvers:\n  c: { acme: { dnsChallenge: { provider: x } } }\n";

/// An entry point with one router.
fn point_file(point: &str, router: &str, more: &str) -> String {
    format!(
        "entryPoints:\n  web: {point}\nhttp:\n  routers:\n    one: {{ rule: 'Host(`a.example`)', service: s{router} }}\n  services:\n    \
         s: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.1' }}] }} }}\n{more}"
    )
}

/// A certificate, and the options of TLS that a router names.
fn options(inner: &str) -> String {
    format!("{CERTIFICATE}  options:\n    o: {{ {inner} }}\n")
}

#[test]
fn entry_points_become_services() {
    for (point, written, left) in [
        ("{ address: '127.0.0.1:80' }", "\"127.0.0.1:80\"", false),
        (
            "{ address: ':80', forwardedHeaders: { trustedIPs: [10.0.0.0/8] } }",
            "trust = \"10.0.0.0/8\"",
            false,
        ),
        (
            "{ address: ':80', proxyProtocol: { trustedIPs: [10.0.0.0/8] } }",
            "accept-proxy = { from = \"10.0.0.0/8\", others = \"plain\" }",
            false,
        ),
        (
            "{ address: ':80', transport: { respondingTimeouts: { readTimeout: 5s, idleTimeout: 0 } } }",
            "header = \"5s\", idle = \"1d\"",
            false,
        ),
    ] {
        check(&point_file(point, "", ""), &[written], left);
    }
}

#[test]
fn tls_of_routers_becomes_tls_of_the_service() {
    for (point, router, more, written, left) in [
        (
            "{ address: ':443', http: { tls: {} } }",
            "",
            CERTIFICATE.to_owned(),
            "certificates = \"/a.pem\"",
            false,
        ),
        (
            "{ address: ':443' }",
            ", tls: { options: o }",
            options("minVersion: VersionTLS13"),
            "minimum = \"1.3\"",
            false,
        ),
        (
            "{ address: ':443' }",
            ", tls: { options: o }",
            options("sniStrict: true"),
            "unknown-sni = \"require\"",
            false,
        ),
        (
            "{ address: ':443' }",
            ", tls: { options: o }",
            options("clientAuth: { caFiles: [/c.pem], clientAuthType: VerifyClientCertIfGiven }"),
            "client = { ca = \"/c.pem\", verify = \"optional\" }",
            false,
        ),
        (
            "{ address: ':443' }",
            ", tls: { options: gone }",
            CERTIFICATE.to_owned(),
            "answer = 503",
            true,
        ),
        (
            "{ address: ':443' }",
            ", tls: { certResolver: c }",
            ACME.to_owned(),
            "names = \"a.example\"",
            false,
        ),
        (
            "{ address: ':443', http3: {} }",
            ", tls: {}",
            CERTIFICATE.to_owned(),
            "http3 = \"on\"",
            false,
        ),
        (
            "{ address: ':443' }",
            ", tls: { certResolver: c, domains: [{ main: b.example, sans: [c.example] }] }",
            ACME.to_owned(),
            "names = [\"b.example\", \"c.example\"]",
            false,
        ),
    ] {
        check(&point_file(point, router, &more), &[written], left);
    }
}

#[test]
fn nothing_is_served_without_the_tls_of_its_routers() {
    for (router, more) in [
        (", tls: {}", String::new()),
        (", tls: { certResolver: c }", DNS.to_owned()),
        (", tls: { options: o }", options("clientAuth: { clientAuthType: RequireAnyClientCert }")),
        (
            ", tls: { options: o }",
            options("clientAuth: { clientAuthType: RequireAndVerifyClientCert }"),
        ),
    ] {
        let result = converted(&point_file("{ address: ':443' }", router, &more));
        let written = result.text.unwrap_or_default();
        assert!(!written.contains("[service.web]"), "{router}{more}\n{written}");
        assert!(result.left_out > 0, "{router}{more}");
    }
}

/// Connections of TCP routers are refused where they cannot be told from requests.
#[test]
fn tcp_routers_have_an_entry_point_of_their_own() {
    let file = |router: &str, http: &str| {
        format!(
            "entryPoints:\n  edge: {{ address: ':443' }}\ntcp:\n  routers:\n    one: {{ entryPoints: [edge], service: s, {router} }}\n  services:\n    \
             s: {{ loadBalancer: {{ servers: [{{ address: '10.0.0.1:443' }}] }} }}\n{http}"
        )
    };
    let http = "http:\n  routers:\n    web: { rule: 'Host(`b.example`)', entryPoints: [edge], service: w }\n  services:\n    \
                w: { loadBalancer: { servers: [{ url: 'http://10.0.0.2' }] } }\n";
    let secure = http.replace("service: w }", "service: w, tls: {} }");
    let secure = format!("{secure}tls:\n  certificates: [{{ certFile: /a.pem }}]\n");
    let named = "rule: 'HostSNI(`a.example`)', tls: { passthrough: true }";
    for (router, http, written, left) in [
        (named, "", "when = { sni = \"a.example\" }\npool = \"s\"", false),
        ("rule: 'HostSNI(`*`)'", "", "forward = \"tcp\"", false),
        (
            "rule: 'HostSNI(`a.example`) && ALPN(`h2`)', tls: { passthrough: true }",
            "",
            "when = { sni = \"a.example\" }\ndeny = true",
            true,
        ),
        (named, &*secure, "when = { sni = \"a.example\" }\ndeny = true", true),
        (named, http, "when = { host = \"b.example\" }\npool = \"w\"", true),
        ("rule: 'HostSNI(`*`)', middlewares: [gone]", "", "deny = true", true),
    ] {
        check(&file(router, http), &[written], left);
    }
}

#[test]
fn where_access_is_judged_by_address_no_field_names_the_client() {
    let text = "entryPoints:\n  web:\n    address: ':80'\n    forwardedHeaders: { insecure: true }\n\
                http:\n  routers:\n    a: { rule: 'PathPrefix(`/`)', middlewares: [office], service: s }\n  \
                middlewares:\n    office: { ipAllowList: { sourceRange: ['10.0.0.0/8'] } }\n  services:\n    \
                s: { loadBalancer: { servers: [{ url: 'http://10.0.0.1' }] } }\n";
    let converted = convert(text, "x", Dialect::Traefik);
    let written = converted.text.unwrap();
    assert!(!written.contains("trust =") && written.contains("deny = true"), "{written}");
    assert!(converted.left_out > 0);
}

#[test]
fn what_decides_who_is_served_is_read_or_nothing_is_written() {
    let labels = "labels: ['traefik.http.routers.a.rule=PathPrefix(`/`)', 'traefik.http.services.a.loadbalancer.server.port=80']";
    let file = |balancer: &str| {
        format!("services:\n  lb: {{ image: 'traefik:v3', {balancer} }}\n  app: {{ {labels} }}\n")
    };
    for (balancer, served) in [
        ("command: []", true),
        ("command: ['--providers.docker.exposedbydefault=False']", false),
        ("command: ['--providers.docker.exposedbydefault=0']", false),
        ("command: ['--providers.docker.exposedbydefault=maybe']", false),
        ("command: ['--providers.swarm.exposedbydefault=false']", false),
        ("environment: [TRAEFIK_PROVIDERS_DOCKER_EXPOSEDBYDEFAULT=false]", false),
        ("environment: { TRAEFIK_PROVIDERS_DOCKER_EXPOSEDBYDEFAULT: false }", false),
    ] {
        let text = convert(&file(balancer), "x", Dialect::Traefik).text.unwrap_or_default();
        assert_eq!(
            text.contains("pool.app") || text.contains("app:80"),
            served,
            "{balancer}\n{text}"
        );
    }
    let routers = |priority: &str| {
        format!(
            "http:\n  routers:\n    a: {{ rule: 'PathPrefix(`/a`)', priority: {priority}, service: s }}\n  services:\n    \
             s: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.1' }}] }} }}\n"
        )
    };
    for (priority, read) in
        [("1000", true), ("0x3E8", true), ("1_000", true), ("high", false), ("1.5", false)]
    {
        let text = convert(&routers(priority), "x", Dialect::Traefik).text;
        assert_eq!(text.is_some(), read, "{priority}");
    }
}

/// Options of one router hold for its whole entry point, which is reported.
#[test]
fn options_of_tls_that_only_some_routers_have_are_reported() {
    let file = |other: &str| {
        let router = |name: &str, tls: &str| {
            format!(
                "    {name}: {{ rule: 'Host(`{name}.example`)', service: s, entryPoints: [web], tls: {tls} }}\n"
            )
        };
        format!(
            "entryPoints:\n  web: {{ address: ':443' }}\nhttp:\n  routers:\n{}{}  services:\n    \
             s: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.1' }}] }} }}\ntls:\n  certificates: [{{ certFile: /a.pem }}]\n  \
             options: {{ o: {{ minVersion: VersionTLS13, sniStrict: true, disableSessionTickets: true }} }}\n",
            router("a", "{ options: o }"),
            router("b", other),
        )
    };
    for (other, reported) in [("{ options: o }", 0), ("{}", 3)] {
        let result = converted(&file(other));
        let notes = result.notes.iter().filter(|note| note.reason.contains("for all routers"));
        assert_eq!(notes.count(), reported, "{other}: {:?}", result.notes);
    }
}
