//! Rules, middlewares, services and entry points of Traefik, one row each.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::{ConversionResult, convert};

/// A file with a router, its middleware, and a further router for everything.
fn http_file(rule: &str, middleware: &str) -> String {
    let (chain, table) = match middleware {
        "" => ("", String::new()),
        middleware => {
            ("\n      middlewares: [m]", format!("  middlewares:\n    m: {middleware}\n"))
        }
    };
    format!(
        "entryPoints:\n  web: {{ address: ':80' }}\nhttp:\n  routers:\n    one:\n      rule: '{rule}'\n      priority: 100{chain}\n      service: s\n\
         \x20   all:\n      rule: PathPrefix(`/`)\n      service: s\n{table}\
         \x20 services:\n    s: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.1:80' }}] }} }}\n"
    )
}

fn converted(text: &str) -> ConversionResult {
    let converted = convert(text, "x", Dialect::Traefik);
    assert_eq!(converted.unsettled, 0, "{text}: {:?}", converted.notes);
    if let Some(written) = &converted.text {
        model::config::load(written, "x").unwrap_or_else(|findings| panic!("{text}: {findings}"));
    }
    converted
}

/// Texts that have to be in the output, and whether something is left out.
fn check(text: &str, written: &[&str], left: bool) {
    let result = converted(text);
    let toml = result.text.clone().unwrap_or_default();
    for part in written {
        assert!(toml.contains(part), "{text}: no {part} in\n{toml}");
    }
    let out = result.notes.iter().any(|note| note.kind == NoteKind::LeftOut);
    assert_eq!(out, left, "{text}: {:?}", result.notes);
}

#[test]
fn rules_become_conditions_in_the_order_of_their_priority() {
    for (rule, when, left) in [
        ("Host(`a.example`)", "when = { host = \"a.example\" }\npool = \"s\"", false),
        ("Path(`/a`) && !ClientIP(`10.0.0.0/8`)", "not = { client = \"10.0.0.0/8\" }", false),
        (
            "Header(`X-A`, `1`) || Query(`a`, `b`)",
            "any = [{ header = \"X-A: 1\" }, { query = \"a=b\" }]",
            false,
        ),
        // What cannot be written is closed, and goes to no broader router.
        (
            "Host(`a.example`) && QueryRegexp(`a`, `b+`)",
            "when = { host = \"a.example\" }\ndeny = true",
            true,
        ),
        (
            "Host(`a.example`) && HostRegexp(`(`)",
            "when = { host = \"a.example\" }\ndeny = true",
            true,
        ),
        ("Host(`a.example`) && Wizard(`x`)", "when = { host = \"a.example\" }\ndeny = true", true),
        ("Host(`a.example`", "name = \"one\"\ndeny = true", true),
        ("!QueryRegexp(`a`, `b+`)", "name = \"one\"\ndeny = true", true),
    ] {
        check(&http_file(rule, ""), &[when], left);
    }
    let long = "Host(`a.example`) && PathPrefix(`/long`)";
    let text = http_file(long, "").replace("priority: 100", "priority: 1");
    let written = converted(&text).text.unwrap();
    assert!(!written.contains("/long"), "a router for everything is asked first:\n{written}");
}

#[test]
fn middlewares_become_keys_of_rules() {
    for (middleware, written, left) in [
        ("{ addPrefix: { prefix: /v1 } }", "prefix = \"/v1\"", false),
        ("{ stripPrefix: { prefixes: [/a] } }", "strip = \"/a\"", false),
        ("{ stripPrefix: { prefixes: [/a] } }", "X-Forwarded-Prefix: /a", false),
        ("{ replacePath: { path: /x } }", "path = \"/x\"", false),
        (
            "{ replacePathRegex: { regex: ^/a/(.*), replacement: /b/$1 } }",
            "path = \"/b/{1}\"",
            false,
        ),
        ("{ headers: { customRequestHeaders: { X-A: b, X-C: \"\" } } }", "remove = \"X-C\"", false),
        ("{ headers: { customResponseHeaders: { X-A: b } } }", "answer-set = \"X-A: b\"", false),
        ("{ headers: { stsSeconds: 60, forceSTSHeader: true } }", "max-age=60", false),
        ("{ headers: { allowedHosts: [b.example] } }", "not = { host = \"b.example\" }", false),
        ("{ headers: { accessControlAllowOriginList: [\"*\"] } }", "pool = \"s\"", true),
        (
            "{ redirectScheme: { scheme: https, port: 8443, permanent: true } }",
            "https://{host}:8443{path}{query}\", status = 301",
            false,
        ),
        (
            "{ redirectRegex: { regex: ^http://(.*), replacement: \"https://$1\" } }",
            "status = 302",
            false,
        ),
        (
            "{ ipAllowList: { sourceRange: [10.0.0.0/8] } }",
            "not = { client = \"10.0.0.0/8\" }, path = \"/a*\" }\ndeny = true",
            false,
        ),
        (
            "{ ipAllowList: { sourceRange: [10.0.0.0/8], rejectStatusCode: 404 } }",
            "answer = 404",
            false,
        ),
        (
            "{ rateLimit: { average: 60, period: 1m, burst: 5 } }",
            "limit = { rate = 1, burst = 5, by = \"address\"",
            false,
        ),
        (
            "{ rateLimit: { average: 5, sourceCriterion: { requestHeaderName: X-Key } } }",
            "by = \"header\", header = \"X-Key\"",
            false,
        ),
        ("{ rateLimit: { average: 1, period: 1m } }", "pool = \"s\"", true),
        ("{ retry: { attempts: 3 } }", "retries = 2", false),
        (
            "{ buffering: { maxRequestBodyBytes: 1000 } }",
            "buffer = { request = \"1000B\", beyond = \"refuse\" }",
            false,
        ),
        ("{ compress: { encodings: [br] } }", "compress = { codings = \"br\"", false),
        ("{ inFlightReq: { amount: 5 } }", "pool = \"s\"", true),
        ("{ chain: { middlewares: [m] } }", "answer = 503", true),
    ] {
        check(&http_file("PathPrefix(`/a`)", middleware), &[written], left);
    }
}

/// Whoever was asked for a name is refused, and what does not change a path as it was is closed.
#[test]
fn access_that_cannot_be_written_is_closed() {
    for (middleware, refusal) in [
        ("{ basicAuth: { users: [\"a:b\"] } }", "answer = 401"),
        ("{ digestAuth: { usersFile: /users } }", "answer = 401"),
        ("{ forwardAuth: { address: \"http://auth\" } }", "answer = 401"),
        ("{ plugin: { wall: {} } }", "answer = 401"),
        ("{ jwt: { signingSecret: x } }", "answer = 401"),
        (
            "{ ipAllowList: { sourceRange: [10.0.0.0/8], ipStrategy: { depth: 1 } } }",
            "answer = 403",
        ),
        ("{ ipAllowList: { sourceRange: [office] } }", "answer = 403"),
        ("{ ipAllowList: { sourceRange: [] } }", "answer = 403"),
        ("{ ipWhiteList: {} }", "answer = 403"),
        ("{ replacePathRegex: { regex: (a|b), replacement: /c } }", "answer = 503"),
        ("{ stripPrefixRegex: { regex: [\"/(a)\"] } }", "answer = 503"),
        ("{ redirectRegex: { regex: x, replacement: y } }", "answer = 503"),
        ("{}", "answer = 503"),
    ] {
        let text = http_file("PathPrefix(`/a`)", middleware);
        check(&text, &[&format!("when = {{ path = \"/a*\" }}\n{refusal}")], true);
        let missing = text.replace("middlewares: [m]", "middlewares: [elsewhere@file]");
        check(&missing, &["when = { path = \"/a*\" }\nanswer = 503"], true);
    }
}

#[test]
fn services_become_pools() {
    let file = |service: &str, more: &str| {
        format!(
            "http:\n  routers:\n    one: {{ rule: 'Host(`a.example`)', entryPoints: [web], service: s }}\n  services:\n    s: {service}\n    \
             o: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.9' }}] }} }}\n{more}"
        )
    };
    let balancer = |inner: &str| format!("{{ loadBalancer: {{ {inner} }} }}");
    let http = "servers: [{ url: 'http://10.0.0.1' }]";
    let https = "servers: [{ url: 'https://a.example' }]";
    let transport = |inner: &str| format!("  serversTransports:\n    x: {{ {inner} }}\n");
    for (service, more, written, left) in [
        (balancer(http), String::new(), "\"10.0.0.1:80\"", false),
        (
            balancer("servers: [{ url: 'h2c://[::1]:50', weight: 512 }]"),
            String::new(),
            "weight = 256",
            false,
        ),
        (balancer("servers: [{ url: 'x' }]"), String::new(), "answer = 503", true),
        (balancer("servers: []"), String::new(), "answer = 503", true),
        (balancer(https), String::new(), "verify = \"on\"", false),
        (
            balancer(&format!("{http}, passHostHeader: false")),
            String::new(),
            "host = \"10.0.0.1\"",
            false,
        ),
        (balancer(&format!("{http}, strategy: p2c")), String::new(), "least-request", false),
        (
            balancer(&format!("{http}, healthCheck: {{ path: /up, interval: 1s }}")),
            String::new(),
            "http = \"/up\", every = \"1s\", doubt = \"1s\", timeout = \"1s\"",
            false,
        ),
        (
            balancer(&format!("{http}, sticky: {{ cookie: {{ name: k, maxAge: 60 }} }}")),
            String::new(),
            "time = \"1m\"",
            false,
        ),
        (
            balancer(&format!("{https}, serversTransport: x")),
            transport("insecureSkipVerify: true"),
            "verify = \"off\"",
            false,
        ),
        (
            balancer(&format!("{https}, serversTransport: x")),
            transport("rootCAs: [/a.pem, /b.pem]"),
            "ca = \"/a.pem\"",
            true,
        ),
        (
            balancer(&format!("{https}, serversTransport: x")),
            transport("peerCertURI: 'spiffe://a'"),
            "answer = 503",
            true,
        ),
        (
            balancer(&format!("{https}, serversTransport: gone")),
            String::new(),
            "verify = \"on\"",
            true,
        ),
        (
            "{ weighted: { services: [{ name: o, weight: 3 }] } }".to_owned(),
            String::new(),
            "split = [{ pool = \"o\", weight = 3 }]",
            false,
        ),
        (
            "{ weighted: { services: [{ name: gone }] } }".to_owned(),
            String::new(),
            "answer = 503",
            true,
        ),
        (
            "{ mirroring: { service: o, mirrors: [{ name: o, percent: 5 }] } }".to_owned(),
            String::new(),
            "mirror = { pool = \"o\", percent = 5 }",
            false,
        ),
        (
            "{ failover: { service: o, fallback: o } }".to_owned(),
            String::new(),
            "without-servers = \"next\"",
            false,
        ),
    ] {
        check(&file(&service, &more), &[written], left);
    }
}

#[test]
fn entry_points_become_services_with_what_holds_for_their_routers() {
    let file = |point: &str, router: &str, more: &str| {
        format!(
            "entryPoints:\n  web: {point}\nhttp:\n  routers:\n    one: {{ rule: 'Host(`a.example`)', service: s{router} }}\n  services:\n    \
             s: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.1' }}] }} }}\n{more}"
        )
    };
    let certificate = "tls:\n  certificates: [{ certFile: /a.pem }]\n";
    let options = |inner: &str| format!("{certificate}  options:\n    o: {{ {inner} }}\n");
    let acme = "certificatesResolvers:\n  c: { acme: { email: a@a.example, tlsChallenge: {} } }\n";
    let dns = "certificatesResolvers:\n  c: { acme: { dnsChallenge: { provider: x } } }\n";
    for (point, router, more, written, left) in [
        ("{ address: '127.0.0.1:80' }", "", String::new(), "\"127.0.0.1:80\"", false),
        (
            "{ address: ':80', forwardedHeaders: { trustedIPs: [10.0.0.0/8] } }",
            "",
            String::new(),
            "trust = \"10.0.0.0/8\"",
            false,
        ),
        (
            "{ address: ':80', proxyProtocol: { trustedIPs: [10.0.0.0/8] } }",
            "",
            String::new(),
            "accept-proxy = { from = \"10.0.0.0/8\", others = \"plain\" }",
            false,
        ),
        (
            "{ address: ':80', transport: { respondingTimeouts: { readTimeout: 5s, idleTimeout: 0 } } }",
            "",
            String::new(),
            "header = \"5s\", idle = \"1d\"",
            false,
        ),
        (
            "{ address: ':443', http: { tls: {} } }",
            "",
            certificate.to_owned(),
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
            "unknown-name = \"require\"",
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
            certificate.to_owned(),
            "answer = 503",
            true,
        ),
        (
            "{ address: ':443' }",
            ", tls: { certResolver: c }",
            acme.to_owned(),
            "names = \"a.example\"",
            false,
        ),
        (
            "{ address: ':443', http3: {} }",
            ", tls: {}",
            certificate.to_owned(),
            "http3 = \"on\"",
            false,
        ),
        (
            "{ address: ':443' }",
            ", tls: { certResolver: c, domains: [{ main: b.example, sans: [c.example] }] }",
            acme.to_owned(),
            "names = [\"b.example\", \"c.example\"]",
            false,
        ),
    ] {
        check(&file(point, router, &more), &[written], left);
    }
    // Nothing is served without the TLS that was asked for.
    for (router, more) in [
        (", tls: {}", String::new()),
        (", tls: { certResolver: c }", dns.to_owned()),
        (", tls: { options: o }", options("clientAuth: { clientAuthType: RequireAnyClientCert }")),
        (
            ", tls: { options: o }",
            options("clientAuth: { clientAuthType: RequireAndVerifyClientCert }"),
        ),
    ] {
        let result = converted(&file("{ address: ':443' }", router, &more));
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
fn labels_of_containers_are_options() {
    let file = |labels: &str| {
        format!("services:\n  app:\n    image: app\n    expose: ['3000']\n    labels:\n{labels}\n")
    };
    let rule = "      - traefik.http.routers.r.rule=Host(`a.example`)\n      - traefik.http.routers.r.entrypoints=web\n";
    for (labels, written, left) in [
        ("", "\"app:3000\"", false),
        ("      - traefik.http.services.s.loadbalancer.server.port=80\n", "\"app:80\"", false),
        ("      - TRAEFIK.HTTP.Services.s.LoadBalancer.Server.Port=81\n", "\"app:81\"", false),
        (
            "      - traefik.http.middlewares.m.basicauth.users=a:b\n      - traefik.http.routers.r.middlewares=m\n",
            "answer = 401",
            true,
        ),
        ("      - traefik.http.routers.r.rule=Host(`b.example`)\n", "a.example", true),
        ("      - traefik.http..x=1\n", "a.example", true),
    ] {
        check(&file(&format!("{rule}{labels}")), &[written], left);
    }
    let variable = rule.replace("a.example", "${DOMAIN}");
    assert_eq!(converted(&file(&variable)).text, None, "a variable has still to be filled in");
}

/// Deep and large input is refused or reported, and never followed without end.
#[test]
fn hostile_input_ends() {
    let deep = format!("{}Host(`a`){}", "(".repeat(5_000), ")".repeat(5_000));
    let long = vec!["Host(`a`)"; 5_000].join(" || ");
    for rule in [deep, long] {
        check(&http_file(&rule, ""), &["deny = true"], true);
    }
    let label = format!("      - traefik.{}=1\n", vec!["a"; 5_000].join("."));
    let list = "      - traefik.http.routers.r.tls.domains[99999999].main=a\n";
    let text = format!("services:\n  app:\n    image: app\n    labels:\n{label}{list}");
    assert!(converted(&text).left_out >= 2);
}
