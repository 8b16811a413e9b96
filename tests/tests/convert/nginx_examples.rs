//! The table of nginx examples.
//!
//! `examples` documents the fields.

use super::examples::{
    BalanceComparison, ConvertExample, OriginProtocol, RequestMatrix, RequestProtocol,
};

const BOTH: &[(&str, &str)] = &[("GET", ""), ("POST", "")];
const GET: &[(&str, &str)] = &[("GET", "")];

pub const NGINX_SHOP: ConvertExample = ConvertExample {
    file: "nginx-shop.conf",
    replacements: &[
        // Paths and users of an installed nginx.
        ("user www-data;", ""),
        ("/run/nginx.pid", "DIR/pid"),
        ("/var/log/nginx", "DIR"),
        ("/etc/nginx", "DIR"),
        ("/etc/letsencrypt/live/shop.example", "DIR"),
    ],
    fronts: &[
        ("listen 80 ", "listen 127.0.0.1:PORT "),
        ("listen [::]:80 ", "listen [::1]:PORT "),
        ("listen 443 ", "listen 127.0.0.1:PORT "),
    ],
    servers: &[
        ("10.0.1.11:8080", "app/a1"),
        ("10.0.1.12:8080", "app/a2"),
        ("10.0.1.13:8080", "app/a3"),
        ("10.0.3.11:9000", "api/b1"),
        ("10.0.3.12:9000", "api/b2"),
    ],
    origin_protocol: OriginProtocol::Http,
    requests: &[
        RequestMatrix {
            front: 2,
            protocol: RequestProtocol::Tls,
            hosts: &["shop.example", "www.shop.example", "other.example"],
            paths: &[
                "/",
                "/cart",
                "/api/x?user=1",
                "/api/y?user=2",
                "/api",
                "/api?q=1",
                "/apis",
                "/x/site.css",
                "/a.JS?v=3",
                "/api/b.png",
                "/healthz",
                "/healthz/x",
                "/ws",
                "/wsx",
                "/static/a",
                "/static",
                "/static/a.css",
            ],
            methods: BOTH,
            times: 3,
        },
        RequestMatrix {
            front: 0,
            protocol: RequestProtocol::Plain,
            hosts: &["shop.example", "other.example"],
            paths: &["/", "/a?b=c", "/api/x"],
            methods: BOTH,
            times: 4,
        },
        RequestMatrix {
            front: 1,
            protocol: RequestProtocol::Plain,
            hosts: &["shop.example", "other.example"],
            paths: &["/", "/a?b=c", "/api/x"],
            methods: BOTH,
            times: 4,
        },
    ],
    balance_checks: &[("app", BalanceComparison::LeastLoaded), ("api", BalanceComparison::ByKey)],
};

pub const NGINX_HOSTS: ConvertExample = ConvertExample {
    file: "nginx-hosts.conf",
    replacements: &[
        // Only the commercial nginx has this parameter.
        (" slow_start=30s", ""),
        ("/etc/nginx", "DIR"),
    ],
    fronts: &[("listen 8080;", "listen 127.0.0.1:PORT;")],
    servers: &[
        ("10.3.0.1", "wiki/w1"),
        ("10.3.0.2", "wiki/w2"),
        ("blog1.internal:2368", "blog/b1"),
        ("blog2.internal:2368", "blog/b2"),
    ],
    origin_protocol: OriginProtocol::Http,
    requests: &[RequestMatrix {
        front: 0,
        protocol: RequestProtocol::Plain,
        hosts: &[
            "wiki.example",
            "x.wiki.example",
            "blog.example",
            "a.blog.example",
            "BLOG.example",
            "old.example",
            "unknown.example",
        ],
        // Paths below /ghost/ and /secret are left out: the stand-ins have no TLS and no password.
        paths: &[
            "/",
            "/page",
            "/private/a",
            "/private",
            "/private/open/x",
            "/private/open",
            "/x.php",
            "/private/x.php",
            "/private/open/x.php",
            "/x.php/y",
            "/feed/a/b",
            "/feed/a?b=c",
            "/ghost",
            "/ghosts",
        ],
        methods: BOTH,
        times: 2,
    }],
    // With one client address, `wiki` always selects one server, which may differ between both sides.
    balance_checks: &[("blog", BalanceComparison::RoundRobin)],
};

pub const NGINX_REWRITES: ConvertExample = ConvertExample {
    file: "nginx-rewrites.conf",
    replacements: &[("/var/cache/nginx", "DIR/cache")],
    fronts: &[("listen 127.0.0.1:8090", "listen 127.0.0.1:PORT")],
    servers: &[("10.6.0.1:8080", "one/s1"), ("10.6.0.2:8080", "two/s2"), ("10.6.0.3", "three/s3")],
    origin_protocol: OriginProtocol::Http,
    requests: &[RequestMatrix {
        front: 0,
        protocol: RequestProtocol::Plain,
        hosts: &["shop.example", "other.example"],
        paths: &[
            "/old/",
            "/old/a/b?c=d",
            "/old",
            "/older",
            "/moved",
            "/moved/x",
            "/gone",
            "/gone/x",
            "/cache",
            "/cache/a?b",
            "/base/a",
            "/base",
            "/base?a=b",
            "/outer/a",
            "/outer",
            "/12/z",
            "/",
            "/none",
        ],
        methods: BOTH,
        times: 5,
    }],
    balance_checks: &[
        ("one", BalanceComparison::RoundRobin),
        ("two", BalanceComparison::RoundRobin),
    ],
};

pub const NGINX_DUMP: ConvertExample = ConvertExample {
    file: "nginx-dump.conf",
    replacements: &[
        // Only the commercial nginx has this directive.
        ("sticky cookie srv_id expires=1h;", ""),
        // The syntax before nginx 1.25.1.
        ("8443 ssl;\n    http2 on;", "8443 ssl http2;"),
        ("/etc/ssl/private", "DIR"),
        ("/etc/ssl", "DIR"),
        ("/etc/nginx", "DIR"),
    ],
    fronts: &[
        ("listen 127.0.0.1:8081", "listen 127.0.0.1:PORT"),
        ("listen 127.0.0.1:8443", "listen 127.0.0.1:PORT"),
    ],
    servers: &[("127.0.0.1:8009", "tomcat/t1"), ("10.5.0.1:50051", "grpc/g1")],
    origin_protocol: OriginProtocol::Http2Of("grpc"),
    requests: &[
        RequestMatrix {
            front: 0,
            protocol: RequestProtocol::Plain,
            hosts: &["app.example", "other.example"],
            paths: &["/", "/a", "/a/b?c=d", "/files", "/files/x", "/filesystem", "/app/x", "/cg"],
            methods: BOTH,
            times: 10,
        },
        // As many requests as the rate limit allows at once.
        RequestMatrix {
            front: 0,
            protocol: RequestProtocol::Plain,
            hosts: &["app.example"],
            paths: &["/login", "/login/x"],
            methods: BOTH,
            times: 2,
        },
        RequestMatrix {
            front: 1,
            protocol: RequestProtocol::Tls2,
            hosts: &["shop.example"],
            paths: &["/", "/shop.Cart/Add", "/shop.Cart", "/shop.Car"],
            methods: BOTH,
            times: 2,
        },
    ],
    balance_checks: &[
        ("tomcat", BalanceComparison::RoundRobin),
        ("grpc", BalanceComparison::RoundRobin),
    ],
};

pub const NGINX_STREAM: ConvertExample = ConvertExample {
    file: "nginx-stream.conf",
    replacements: &[
        // Left out: Steelyard forwards datagrams as packets.
        ("server { listen 53 udp; proxy_pass dns; }", ""),
        // The addresses of the test's clients.
        ("allow 10.0.0.0/8;", "allow 127.0.0.0/8;"),
    ],
    fronts: &[
        ("listen 443;", "listen 127.0.0.1:PORT;"),
        ("listen 10.0.0.5:5432;", "listen 127.0.0.1:PORT;"),
        ("listen 25;", "listen 127.0.0.1:PORT;"),
    ],
    servers: &[
        ("10.1.0.1:443", "blog/b1"),
        ("10.1.0.2:443", "apps/a1"),
        ("10.1.0.3:443", "apps/a2"),
        ("10.1.0.4:443", "web/w1"),
        ("10.1.0.5:443", "web/w2"),
        ("10.4.0.1:5432", "db/d1"),
        ("10.4.0.2:5432", "db/d2"),
        ("mail.internal:2525", "mail/m1"),
    ],
    origin_protocol: OriginProtocol::Bytes,
    requests: &[
        RequestMatrix {
            front: 0,
            protocol: RequestProtocol::Hello,
            hosts: &[
                "web.example",
                "blog.example",
                "BLOG.example",
                "not.blog.example",
                "blog.example.org",
                "apps.example",
                "x.apps.example",
                "a.b.apps.example",
            ],
            paths: &[""],
            methods: GET,
            times: 30,
        },
        RequestMatrix {
            front: 1,
            protocol: RequestProtocol::Bytes,
            hosts: &[""],
            paths: &[""],
            methods: GET,
            times: 40,
        },
        RequestMatrix {
            front: 2,
            protocol: RequestProtocol::Bytes,
            hosts: &[""],
            paths: &[""],
            methods: GET,
            times: 40,
        },
    ],
    // With one client address, `web` always selects one server, which may differ between both sides. Without requests
    // in progress, Steelyard always selects the heavier server of `apps`, and nginx takes turns.
    balance_checks: &[
        ("blog", BalanceComparison::RoundRobin),
        ("db", BalanceComparison::RoundRobin),
        ("mail", BalanceComparison::RoundRobin),
    ],
};

pub const NGINX: [&ConvertExample; 5] =
    [&NGINX_SHOP, &NGINX_HOSTS, &NGINX_REWRITES, &NGINX_DUMP, &NGINX_STREAM];
