//! The converter's examples that run side by side, and the requests that are compared.
//!
//! `stage` runs this table. Each replacement in an example's file has a reason and applies to both sides. Parts that
//! the converter reports as left out are not tested.

/// One example of `crates/convert/tests/data`.
pub struct ConvertExample {
    pub file: &'static str,
    /// Replacements for both sides. DIR is the test's directory.
    pub replacements: &'static [(&'static str, &'static str)],
    /// The listen addresses in the file, and their replacements with PORT for a free port of the loopback.
    pub fronts: &'static [(&'static str, &'static str)],
    /// Addresses of the servers, and their names as `pool/server`.
    pub servers: &'static [(&'static str, &'static str)],
    /// The protocol of the servers.
    pub origin_protocol: OriginProtocol,
    pub requests: &'static [RequestMatrix],
    /// The expected balancing of each pool.
    pub balance_checks: &'static [(&'static str, BalanceComparison)],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginProtocol {
    Http,
    /// HTTP/1.1, but HTTP/2 without TLS for the servers of this pool.
    Http2Of(&'static str),
    /// Servers respond with their name to any byte.
    Bytes,
}

/// The protocol of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestProtocol {
    Plain,
    Tls,
    Tls2,
    /// HTTP/2 by prior knowledge.
    Http2,
    /// A ClientHello with the host as SNI.
    Hello,
    Bytes,
}

/// How the distribution of the same requests may differ between the balancers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceComparison {
    /// No difference: equal shares, with a tolerance for the first turn of each worker.
    RoundRobin,
    /// By a key: the same request always reaches the same server, and all servers are used.
    ByKey,
    /// By requests in progress, which are always none with one client: all servers are used.
    LeastLoaded,
}

/// Requests to one listener: every host with every path and every method, `times` times.
pub struct RequestMatrix {
    /// The index of the frontend.
    pub front: usize,
    pub protocol: RequestProtocol,
    pub hosts: &'static [&'static str],
    pub paths: &'static [&'static str],
    /// Methods and further fields.
    pub methods: &'static [(&'static str, &'static str)],
    pub times: usize,
}

const GET: &[(&str, &str)] = &[("GET", "")];

pub const HAPROXY_SHOP: ConvertExample = ConvertExample {
    file: "haproxy-shop.cfg",
    replacements: &[
        // Paths and users of an installed HAProxy.
        ("chroot /var/lib/haproxy", "chroot /"),
        ("user haproxy", ""),
        ("group haproxy", ""),
        ("log /dev/log local0", ""),
        // A test has fewer descriptors.
        ("maxconn 20000", "maxconn 200"),
        ("/run/haproxy/admin.sock", "DIR/admin.sock"),
        ("/etc/haproxy/certs", "DIR"),
        ("/etc/haproxy/errors", "DIR"),
    ],
    fronts: &[("bind *:80\n", "bind 127.0.0.1:PORT\n"), ("bind *:443", "bind 127.0.0.1:PORT")],
    servers: &[
        ("10.0.1.11:8080", "app/app1"),
        ("10.0.1.12:8080", "app/app2"),
        ("10.0.1.13:8080", "app/app3"),
        ("10.0.2.11:80", "static/s1"),
        ("10.0.2.12:80", "static/s2"),
        ("10.0.3.11:9000", "api/api_1"),
        ("10.0.3.12:9000", "api/api_2"),
    ],
    origin_protocol: OriginProtocol::Http,
    requests: &[
        RequestMatrix {
            front: 1,
            protocol: RequestProtocol::Tls,
            hosts: &["shop.example", "api.shop.example", "API.shop.example", "other.example"],
            paths: &[
                "/",
                "/cart",
                "/static/a",
                "/staticky",
                "/images",
                "/x/site.css",
                "/site.js?v=3",
                "/a.png/b",
                "/admin",
                "/admin/x",
                "/v1/users",
                "/v1/carts/7",
                "/v1/e",
                "/v1/f",
                "/v1",
                "/b.css",
            ],
            methods: &[("GET", ""), ("POST", ""), ("GET", "Cookie: a=b\r\n")],
            times: 1,
        },
        RequestMatrix {
            front: 0,
            protocol: RequestProtocol::Plain,
            hosts: &["shop.example", "api.shop.example", "other.example"],
            paths: &["/", "/static/a?b=c", "/admin", "/v1/users", "/x/y?z"],
            methods: &[("GET", ""), ("POST", "")],
            times: 4,
        },
    ],
    balance_checks: &[
        ("app", BalanceComparison::LeastLoaded),
        ("static", BalanceComparison::RoundRobin),
        ("api", BalanceComparison::ByKey),
    ],
};

pub const HAPROXY_SNI: ConvertExample = ConvertExample {
    file: "haproxy-sni.cfg",
    // The converter leaves the server out that is spoken to in another way than the first one.
    replacements: &[("server a2 10.1.0.3:443 check", "server a2 10.1.0.3:443 check send-proxy")],
    fronts: &[("bind :443", "bind 127.0.0.1:PORT")],
    servers: &[
        ("10.1.0.1:443", "blog/b1"),
        ("10.1.0.2:443", "apps/a1"),
        ("10.1.0.3:443", "apps/a2"),
        ("10.1.0.4:443", "web/w1"),
        ("10.1.0.5:443", "web/w2"),
    ],
    origin_protocol: OriginProtocol::Bytes,
    requests: &[RequestMatrix {
        front: 0,
        protocol: RequestProtocol::Hello,
        hosts: &[
            "web.example",
            "blog.example",
            "x.apps.example",
            "a.b.apps.example",
            "apps.example",
            "not.blog.example",
            "BLOG.example",
            "blog.example.org",
        ],
        paths: &["/"],
        methods: GET,
        times: 40,
    }],
    balance_checks: &[
        ("blog", BalanceComparison::RoundRobin),
        ("apps", BalanceComparison::RoundRobin),
        ("web", BalanceComparison::RoundRobin),
    ],
};

pub const HAPROXY_DATABASE: ConvertExample = ConvertExample {
    file: "haproxy-database.cfg",
    replacements: &[
        // Stand-ins implement no database protocol and have ports of their own.
        ("option pgsql-check user haproxy", ""),
        ("option mysql-check user monitor", ""),
        ("check port 3306", "check"),
        // Left out, because this server has a Unix socket.
        ("server q3 /run/rabbit.sock check", ""),
    ],
    fronts: &[
        ("bind 10.0.0.5:5432", "bind 127.0.0.1:PORT"),
        ("bind 10.0.0.5:6379", "bind 127.0.0.1:PORT"),
        ("bind 10.0.0.5:5672", "bind 127.0.0.1:PORT"),
        ("bind 10.0.0.5:3306", "bind 127.0.0.1:PORT"),
        ("bind :8404", "bind 127.0.0.1:PORT"),
    ],
    servers: &[
        ("10.0.4.11:5432", "postgres/pg1"),
        ("10.0.4.12:5432", "postgres/pg2"),
        ("10.0.4.21:6379", "redis/r1"),
        ("10.0.4.22:6379", "redis/r2"),
        ("10.0.4.31:5672", "rabbit/q1"),
        ("10.0.4.32:5672", "rabbit/q2"),
        ("10.0.4.41", "mysql/m1"),
        ("10.0.4.42", "mysql/m2"),
    ],
    origin_protocol: OriginProtocol::Bytes,
    requests: &[
        RequestMatrix {
            front: 0,
            protocol: RequestProtocol::Bytes,
            hosts: &[""],
            paths: &[""],
            methods: GET,
            times: 80,
        },
        RequestMatrix {
            front: 1,
            protocol: RequestProtocol::Bytes,
            hosts: &[""],
            paths: &[""],
            methods: GET,
            times: 80,
        },
        RequestMatrix {
            front: 2,
            protocol: RequestProtocol::Bytes,
            hosts: &[""],
            paths: &[""],
            methods: GET,
            times: 80,
        },
        RequestMatrix {
            front: 3,
            protocol: RequestProtocol::Bytes,
            hosts: &[""],
            paths: &[""],
            methods: GET,
            times: 80,
        },
    ],
    // With one client address, `rabbit` always selects one server, which may differ between both sides.
    balance_checks: &[
        ("postgres", BalanceComparison::RoundRobin),
        ("redis", BalanceComparison::RoundRobin),
        ("mysql", BalanceComparison::LeastLoaded),
    ],
};

pub const HAPROXY_LIMITS: ConvertExample = ConvertExample {
    file: "haproxy-limits.cfg",
    replacements: &[
        // Left out by the converter, and they would affect the result.
        ("lua-load /etc/haproxy/x.lua", ""),
        ("http-request deny deny_status 429 if { sc_http_req_rate(0) gt 20 }", ""),
        ("use_backend %[req.hdr(host),lower,map(/etc/haproxy/hosts.map,web)]", ""),
        (r"http-request replace-path ^/old/(.*) /\1", ""),
        // Stand-ins have no TLS and one page for health checks, and no name server resolves them.
        (" ssl verify none sni str(web.internal)", ""),
        ("uri /up", "uri /healthz"),
        (
            "server-template m 1-5 mobile.internal:8080 check resolvers dns",
            "server m1 mobile.internal:8080 check",
        ),
        ("/run/x.sock", "DIR/x.sock"),
        ("/etc/haproxy", "DIR"),
    ],
    fronts: &[
        ("bind 0.0.0.0:8000-8002", "bind 127.0.0.1:PORT-PORT"),
        ("bind [::]:8080 v6only", "bind [::1]:PORT v6only"),
    ],
    servers: &[
        ("web1.internal:8080", "web/w1"),
        ("web2.internal:8080", "web/w2"),
        ("mobile.internal:8080", "mobile/m1"),
    ],
    origin_protocol: OriginProtocol::Http,
    requests: &[LIMITS, RequestMatrix { front: 1, times: 1, ..LIMITS }],
    balance_checks: &[("web", BalanceComparison::ByKey), ("mobile", BalanceComparison::RoundRobin)],
};

const LIMITS: RequestMatrix = RequestMatrix {
    front: 0,
    protocol: RequestProtocol::Plain,
    // `SHOP.example` is left out: HAProxy compares hosts case-sensitively by default, Steelyard does not.
    hosts: &["www.shop.example", "shop.example", "web.internal"],
    paths: &["/", "/x", "/ping", "/haproxy", "/haproxy/x", "/old/a?b=c", "/ping/x"],
    methods: &[
        ("GET", "X-User: anna\r\n"),
        ("GET", "X-User: berta\r\n"),
        ("POST", "X-User: cleo\r\n"),
        ("GET", "X-User: dora\r\n"),
        ("GET", "X-User: emma\r\nUser-Agent: a Mobile one\r\n"),
        ("POST", "X-User: frieda\r\nUser-Agent: a Mobile one\r\n"),
    ],
    times: 2,
};

pub const HAPROXY_GRPC: ConvertExample = ConvertExample {
    file: "haproxy-grpc.cfg",
    replacements: &[
        // A stand-in has no agent.
        (" agent-check agent-port 9707 agent-inter 5s", ""),
        ("/etc/ssl", "DIR"),
    ],
    fronts: &[
        ("127.0.0.1:8443", "127.0.0.1:PORT"),
        ("127.0.0.1:8081", "127.0.0.1:PORT"),
        ("127.0.0.1:8082", "127.0.0.1:PORT"),
    ],
    servers: &[("10.2.0.1:50051", "grpc/g1"), ("10.2.0.2:50051", "grpc/g2")],
    origin_protocol: OriginProtocol::Http2Of("grpc"),
    requests: &[
        RequestMatrix {
            front: 1,
            protocol: RequestProtocol::Http2,
            hosts: &[""],
            paths: &["/", "/shop.Cart/Add", "/x"],
            methods: &[("POST", ""), ("GET", "")],
            times: 20,
        },
        RequestMatrix {
            front: 0,
            protocol: RequestProtocol::Tls2,
            hosts: &["shop.example"],
            paths: &["/", "/shop.Cart/Add"],
            methods: &[("POST", ""), ("GET", "")],
            times: 10,
        },
        RequestMatrix {
            front: 2,
            protocol: RequestProtocol::Plain,
            hosts: &["shop.example", "other.example"],
            paths: &["/", "/rooms/12", "/rooms/x", "/login"],
            methods: &[
                // The first request is answered without a server.
                ("GET", "Cookie: session=1\r\n"),
                ("GET", ""),
                ("POST", "Cookie: session=1\r\n"),
            ],
            times: 6,
        },
    ],
    balance_checks: &[("grpc", BalanceComparison::RoundRobin)],
};

pub const HAPROXY: [&ConvertExample; 5] =
    [&HAPROXY_SHOP, &HAPROXY_SNI, &HAPROXY_DATABASE, &HAPROXY_LIMITS, &HAPROXY_GRPC];
