//! All examples of originals that can run for `convert --verify`, and the words that their programs do not take on this
//! machine.
//!
//! Words are replaced in what both sides get. A file that is not named here runs as it is.

use std::path::Path;

use convert::dialect::Dialect;

use super::stage::data;

/// An example's file, and what is replaced in it.
pub struct ReplacedWords {
    pub file: &'static str,
    pub words: &'static [WordReplacement],
}

pub struct WordReplacement {
    pub from: &'static str,
    pub to: &'static str,
}

const fn replace(from: &'static str, to: &'static str) -> WordReplacement {
    WordReplacement { from, to }
}

const REPLACED: &[ReplacedWords] = &[
    ReplacedWords {
        file: "haproxy-limits.cfg",
        // The section `resolvers dns` is not in the example.
        words: &[replace(
            "server-template m 1-5 mobile.internal:8080 check resolvers dns",
            "server m1 mobile.internal:8080 check",
        )],
    },
    ReplacedWords {
        file: "nginx-hosts.conf",
        // Only the commercial nginx has this parameter.
        words: &[replace(" slow_start=30s", "")],
    },
    ReplacedWords {
        file: "nginx-dump.conf",
        // Only the commercial nginx has the first. The second is the syntax from nginx 1.25.1 on.
        words: &[
            replace("sticky cookie srv_id expires=1h;", ""),
            replace("8443 ssl;\n    http2 on;", "8443 ssl http2;"),
        ],
    },
    ReplacedWords {
        file: "nginx-exchange.conf",
        // It is of a module that nginx has not.
        words: &[replace("more_set_input_headers 'Authorization: $http_authorization';", "")],
    },
    ReplacedWords {
        file: "nginx-geoblock.conf",
        // The module with countries needs their database.
        words: &[replace("$geoip2_data_country_code", "$http_x_country")],
    },
    ReplacedWords {
        file: "apache-closed.conf",
        // It is of a module that Debian packages apart.
        words: &[replace("    SecRuleEngine On\n", "")],
    },
    // Caddy's words of version 2.6, which Debian has, for those of newer ones and of plugins.
    ReplacedWords {
        file: "caddy-closed.Caddyfile",
        words: &[replace(
            "\trate_limit {\n\t\tzone one {\n\t\t\tkey {remote_host}\n\t\t\tevents 10\n\t\t\twindow 1s\n\t\t}\n\t}\n",
            "",
        )],
    },
    ReplacedWords {
        file: "caddy-discovery.Caddyfile",
        // Without it, Caddy before 2.7.5 takes servers for failed that never failed: its limit of failures is 0.
        words: &[replace(
            "unhealthy_request_count 50",
            "unhealthy_request_count 50\n\t\tmax_fails 1",
        )],
    },
    ReplacedWords {
        file: "caddy-grpc.Caddyfile",
        words: &[replace("\t\t\tproxy_protocol v2\n", "")],
    },
    ReplacedWords {
        file: "caddy-hosts.Caddyfile",
        words: &[
            replace("tls_trust_pool file", "tls_trusted_ca_certs"),
            replace("trust_pool file", "trusted_ca_cert_file"),
        ],
    },
    ReplacedWords {
        file: "caddy-routes.Caddyfile",
        words: &[replace("\t\tmax_conns_per_host 10\n", "")],
    },
    ReplacedWords {
        file: "caddy-shop.Caddyfile",
        words: &[
            replace("\t\ttrusted_proxies static private_ranges\n", ""),
            replace("basic_auth {", "basicauth {"),
        ],
    },
    ReplacedWords {
        file: "caddy-snippets.Caddyfile",
        words: &[
            replace("{args[0]}", "{args.0}"),
            replace("{args[1]}", "{args.1}"),
            replace("{args[2]}", "{args.2}"),
            replace(
                "<<TEXT\n\t\t{\"status\": \"closed\"}\n\t\tTEXT 503",
                "\"{\\\"status\\\": \\\"closed\\\"}\" 503",
            ),
        ],
    },
];

/// An example that is not run, or whose requests are mostly refused, and the reason.
pub struct ExampleReason {
    pub file: &'static str,
    pub reason: &'static str,
}

const fn because(file: &'static str, reason: &'static str) -> ExampleReason {
    ExampleReason { file, reason }
}

/// Examples that the program on this machine does not start with.
pub const NOT_STARTED: &[ExampleReason] = &[
    because("haproxy-legacy.cfg", "its words are those before HAProxy 2.0"),
    because("haproxy-quic.cfg", "its words are those of HAProxy 2.8, built with QUIC"),
    because("traefik-compose.yaml", "Traefik reads labels from Docker, which the runs have not"),
];

/// Examples with fewer than a tenth of equal answers.
pub const MOSTLY_DIFFERENT: &[ExampleReason] = &[
    because("haproxy-tenants.cfg", "only some of its backends keep clients by a cookie"),
    because(
        "haproxy-certificates.cfg",
        "fields about certificates of clients are the balancer's own",
    ),
    because("haproxy-countries.cfg", "lists in files are not read, so that everybody is refused"),
    because(
        "haproxy-ratelimit.cfg",
        "counters of clients are not read, so that everybody is refused",
    ),
    because("nginx-discourse.conf", "each request has its time in X-Request-Start"),
    because("caddy-simple.Caddyfile", "Caddy asks servers for compressed answers on its own"),
    because("apache-checks.conf", "Apache names each server of a balancer in its Host"),
    because("envoy-canary.yaml", "Envoy writes fields of its own to requests and answers"),
    because("envoy-mtls.yaml", "Envoy writes fields of its own to requests and answers"),
    because("envoy-tls.yaml", "Envoy writes fields of its own to requests and answers"),
    because("traefik-canary.yaml", "Traefik names its machine to servers"),
    because("traefik-chain.yaml", "Traefik names its machine to servers"),
    because("traefik-dynamic.toml", "Traefik names its machine to servers"),
    because("traefik-mtls.toml", "Traefik names its machine to servers"),
    because("traefik-platform.yaml", "Traefik names its machine to servers"),
    because("traefik-shop.yaml", "Traefik names its machine to servers"),
    because("caddy-discovery.Caddyfile", "Caddy asks servers for compressed answers on its own"),
    because("caddy-snippets.Caddyfile", "Caddy asks servers for compressed answers on its own"),
    because("haproxy-cache.cfg", "every answer that may be compressed has a Vary"),
    because("haproxy-canary.cfg", "a share of the requests is drawn, so that most are refused"),
    because("haproxy-limits.cfg", "names of backends are looked up, so that most are refused"),
    because("haproxy-names.cfg", "whether TLS begins is not known, so that everybody is refused"),
];

/// Examples that run in each test; all of them run with `STEELYARD_LONG=1`.
pub const SAMPLE: &[&str] = &[
    "haproxy-shop.cfg",
    "haproxy-database.cfg",
    "haproxy-gateway.cfg",
    "nginx-shop.conf",
    "nginx-rewrites.conf",
    "nginx-stream.conf",
    "apache-site.conf",
    "caddy-simple.Caddyfile",
    "envoy-tcp.yaml",
    "traefik-dynamic.toml",
];

/// The examples of a dialect that its program starts with.
pub fn started(dialect: Dialect) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(data()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let own = name.starts_with(&format!("{}-", dialect.name()));
        if own && !name.ends_with(".expected") && NOT_STARTED.iter().all(|one| one.file != name) {
            found.push(name);
        }
    }
    found.sort();
    found
}

/// An example as its program takes it.
pub fn source(file: &str) -> String {
    let mut text = std::fs::read_to_string(Path::new(&data()).join(file)).unwrap();
    let replaced = REPLACED.iter().filter(|one| one.file == file);
    for WordReplacement { from, to } in replaced.flat_map(|one| one.words) {
        assert!(text.contains(from), "{file} has no {from:?}");
        text = text.replace(from, to);
    }
    text
}
