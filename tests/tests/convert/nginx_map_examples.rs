//! Further nginx examples, most of them with variables.
//!
//! `examples` documents the fields.

use super::examples::{
    BalanceComparison, ConvertExample, OriginProtocol, RequestMatrix, RequestProtocol,
};

const BOTH: &[(&str, &str)] = &[("GET", ""), ("POST", "")];
const GET: &[(&str, &str)] = &[("GET", "")];

const NGINX_TENANTS: ConvertExample = ConvertExample {
    file: "nginx-tenants.conf",
    replacements: &[],
    fronts: &[("listen 80 default_server", "listen 127.0.0.1:PORT default_server")],
    servers: &[
        ("10.150.0.11:8080", "large/l1"),
        ("10.150.0.12:8080", "large/l2"),
        ("10.150.1.11:8080", "shared/s1"),
        ("10.150.2.11:8080", "landing/n1"),
    ],
    origin_protocol: OriginProtocol::Http,
    requests: &[RequestMatrix {
        front: 0,
        protocol: RequestProtocol::Plain,
        hosts: &[
            "acme.example",
            "ACME.example",
            "a.acme.example",
            "b.a.acme.example",
            "notacme.example",
            "globex.example",
            "x.globex.example",
            "www.initech.org",
            "www.initech.co.example",
            "initech.org",
            "t12.example",
            "tx.example",
            "xt12.example",
        ],
        paths: &["/", "/a", "/b?c=d"],
        methods: BOTH,
        times: 5,
    }],
    balance_checks: &[("large", BalanceComparison::RoundRobin)],
};

const NGINX_CANARY: ConvertExample = ConvertExample {
    file: "nginx-canary.conf",
    replacements: &[],
    fronts: &[("listen 80;", "listen 127.0.0.1:PORT;")],
    servers: &[
        ("10.140.0.11:8080", "stable/s1"),
        ("10.140.0.12:8080", "stable/s2"),
        ("10.140.1.11:8080", "canary/c1"),
    ],
    origin_protocol: OriginProtocol::Http,
    requests: &[RequestMatrix {
        front: 0,
        protocol: RequestProtocol::Plain,
        hosts: &["shop.example", "other.example"],
        paths: &["/", "/a?canary=1", "/health", "/healthy"],
        methods: &[
            ("GET", ""),
            ("GET", "Cookie: canary=1\r\n"),
            ("GET", "Cookie: a=b; canary=1\r\n"),
            ("GET", "Cookie: canary=10\r\n"),
            ("POST", "Cookie: canary=never\r\nX-Canary: always\r\n"),
            ("GET", "X-Canary: always\r\n"),
            ("GET", "X-Canary: Always\r\n"),
            ("GET", "Cookie: canary=2\r\nX-Canary: always\r\n"),
        ],
        times: 5,
    }],
    balance_checks: &[("stable", BalanceComparison::RoundRobin)],
};

const NGINX_UPLOADS: ConvertExample = ConvertExample {
    file: "nginx-uploads.conf",
    replacements: &[],
    fronts: &[("listen 80;", "listen 127.0.0.1:PORT;")],
    servers: &[
        ("10.210.0.11:8080", "app/a1"),
        ("10.210.1.11:9000", "store/s1"),
        ("10.210.1.12:9000", "store/s2"),
    ],
    origin_protocol: OriginProtocol::Http,
    requests: &[RequestMatrix {
        front: 0,
        protocol: RequestProtocol::Plain,
        hosts: &["files.example"],
        paths: &["/", "/upload", "/upload/", "/upload/a?b", "/uploads/a"],
        methods: &[("GET", ""), ("POST", ""), ("DELETE", ""), ("PUT", "Content-Length: 0\r\n")],
        times: 16,
    }],
    balance_checks: &[("store", BalanceComparison::LeastLoaded)],
};

const NGINX_MONITORING: ConvertExample = ConvertExample {
    file: "nginx-monitoring.conf",
    replacements: &[
        // The addresses of the test's clients.
        ("198.51.100.0/24 1;", "127.0.0.0/8 1;"),
        ("/etc/nginx/htpasswd", "DIR/htpasswd"),
    ],
    fronts: &[("listen 80 default_server", "listen 127.0.0.1:PORT default_server")],
    servers: &[
        ("10.40.0.3:3000", "grafana/g1"),
        ("10.40.0.4:9090", "prometheus/p1"),
        ("10.40.0.5:9093", "alerts/a1"),
        ("10.40.0.6:9093", "alerts/a2"),
    ],
    origin_protocol: OriginProtocol::Http,
    requests: &[RequestMatrix {
        front: 0,
        protocol: RequestProtocol::Plain,
        hosts: &["metrics.example", "other.example"],
        // Paths below /prometheus/ are left out: passwords are not checked.
        paths: &[
            "/",
            "/grafana",
            "/grafana/",
            "/grafana/d/x?y=z",
            "/grafana/api/live/ws",
            "/alerts/",
            "/alerts/api/v2?x",
            "/alerts",
            "/none",
        ],
        // What nginx would serve from files answers 405 to other methods, and here nothing is served from files.
        methods: &[("GET", ""), ("POST", "")],
        times: 9,
    }],
    balance_checks: &[("alerts", BalanceComparison::RoundRobin)],
};

const NGINX_REDIRECTS: ConvertExample = ConvertExample {
    file: "nginx-redirects.conf",
    replacements: &[],
    fronts: &[("listen 80", "listen 127.0.0.1:PORT")],
    servers: &[("10.250.0.11:8080", "web/w1")],
    origin_protocol: OriginProtocol::Http,
    requests: &[RequestMatrix {
        front: 0,
        protocol: RequestProtocol::Plain,
        hosts: &["www.example", "d0.example", "d59.example", "D7.example", "d60.example"],
        paths: &["/", "/p/0", "/p/61", "/p/1899", "/p/1900", "/p/12?x=1", "/p/", "/pages/3"],
        methods: BOTH,
        times: 4,
    }],
    balance_checks: &[],
};

const NGINX_MAINTENANCE: ConvertExample = ConvertExample {
    file: "nginx-maintenance.conf",
    replacements: &[],
    fronts: &[("listen 80;", "listen 127.0.0.1:PORT;")],
    servers: &[("10.200.0.11:8080", "app/a1"), ("10.200.0.12:8080", "app/a2")],
    origin_protocol: OriginProtocol::Http,
    requests: &[RequestMatrix {
        front: 0,
        protocol: RequestProtocol::Plain,
        hosts: &["app.example", "old.example", "other.example"],
        paths: &["/", "/a", "/maintenance.html", "/b?c"],
        methods: BOTH,
        times: 14,
    }],
    balance_checks: &[("app", BalanceComparison::RoundRobin)],
};

const NGINX_DUALSTACK: ConvertExample = ConvertExample {
    file: "nginx-dualstack.conf",
    replacements: &[],
    fronts: &[
        ("listen 80;", "listen 127.0.0.1:PORT;"),
        ("listen [::]:80;", "listen [::1]:PORT;"),
        ("listen [::]:8080 ipv6only=off;", "listen 127.0.0.1:PORT;"),
    ],
    servers: &[
        ("10.240.0.11:8080", "four/f1"),
        ("[2001:db8:240::11]:8080", "six/s1"),
        ("[2001:db8:240::12]:8080", "inner/i1"),
        ("10.240.0.12:8080", "inner/i2"),
    ],
    origin_protocol: OriginProtocol::Http,
    requests: &[
        RequestMatrix {
            front: 0,
            protocol: RequestProtocol::Plain,
            hosts: &["dual.example", "both.example"],
            paths: &["/", "/a?b"],
            methods: BOTH,
            times: 13,
        },
        RequestMatrix {
            front: 1,
            protocol: RequestProtocol::Plain,
            hosts: &["dual.example", "both.example"],
            paths: &["/", "/a?b"],
            methods: BOTH,
            times: 13,
        },
        RequestMatrix {
            front: 2,
            protocol: RequestProtocol::Plain,
            hosts: &["dual.example", "both.example"],
            paths: &["/", "/a?b"],
            methods: BOTH,
            times: 13,
        },
    ],
    balance_checks: &[("inner", BalanceComparison::RoundRobin)],
};

const NGINX_KUBERNETES: ConvertExample = ConvertExample {
    file: "nginx-kubernetes.conf",
    replacements: &[
        ("worker_processes 2;", "worker_processes 1;"),
        ("/var/log/nginx", "DIR"),
        // The addresses of the test's clients.
        ("allow 10.0.0.0/8;", "allow 127.0.0.0/8;"),
        ("10.0.99.0/24 bootstrap;", "127.0.0.0/8 bootstrap;"),
    ],
    fronts: &[
        ("listen 6443;", "listen 127.0.0.1:PORT;"),
        ("listen 80;", "listen 127.0.0.1:PORT;"),
        ("listen 443;", "listen 127.0.0.1:PORT;"),
    ],
    servers: &[
        ("10.0.0.10:6443", "bootstrap/b1"),
        ("10.0.0.11:6443", "masters/m1"),
        ("10.0.0.12:6443", "masters/m2"),
        ("10.0.0.13:6443", "masters/m3"),
        ("10.0.1.11:30080", "plain/p1"),
        ("10.0.1.12:30080", "plain/p2"),
        ("10.0.1.11:30443", "tls/t1"),
        ("10.0.1.12:30443", "tls/t2"),
    ],
    origin_protocol: OriginProtocol::Bytes,
    requests: &[
        RequestMatrix {
            front: 0,
            protocol: RequestProtocol::Bytes,
            hosts: &[""],
            paths: &[""],
            methods: GET,
            times: 100,
        },
        RequestMatrix {
            front: 1,
            protocol: RequestProtocol::Bytes,
            hosts: &[""],
            paths: &[""],
            methods: GET,
            times: 100,
        },
        RequestMatrix {
            front: 2,
            protocol: RequestProtocol::Bytes,
            hosts: &[""],
            paths: &[""],
            methods: GET,
            times: 100,
        },
    ],
    balance_checks: &[
        ("plain", BalanceComparison::RoundRobin),
        ("tls", BalanceComparison::RoundRobin),
    ],
};

pub const NGINX_MAPS: [&ConvertExample; 8] = [
    &NGINX_TENANTS,
    &NGINX_CANARY,
    &NGINX_UPLOADS,
    &NGINX_MONITORING,
    &NGINX_REDIRECTS,
    &NGINX_MAINTENANCE,
    &NGINX_DUALSTACK,
    &NGINX_KUBERNETES,
];
