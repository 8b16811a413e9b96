//! Where requests to a server of HAProxy go, by which name, and what keeps clients there.

use super::{CHANGED, LEFT, PoolCase, pool_of};

const WAYS: &[PoolCase] = &[
    // A name that is asked for and another one that is verified.
    PoolCase {
        servers: "server s 10.0.0.1:80 ssl ca-file /x sni str(m) verifyhost n\n server t 10.0.0.2:80",
        written: &["10.0.0.2:80"],
        absent: &["10.0.0.1:80"],
        note: Some((LEFT, "`verifyhost` names another one")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 ssl verify none verifyhost n sni str(m)",
        written: &["10.0.0.1:80", "name = \"m\""],
        absent: &["\"n\""],
        note: None,
    },
    // Requests that go elsewhere.
    PoolCase {
        servers: "server s 10.0.0.1:80 redir http://o.example\n server t 10.0.0.2:80",
        written: &["10.0.0.2:80"],
        absent: &["10.0.0.1:80"],
        note: Some((LEFT, "clients are not sent to the server")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 socks4 10.0.0.9:1080\n server t 10.0.0.2:80",
        written: &["10.0.0.2:80"],
        absent: &["10.0.0.1:80"],
        note: Some((LEFT, "no proxy leads to a server")),
    },
    // HAProxy keeps nobody by a cookie that names no server.
    PoolCase {
        servers: "cookie S insert\n server s 10.0.0.1:80",
        written: &["10.0.0.1:80"],
        absent: &["sticky"],
        note: None,
    },
    PoolCase {
        servers: "http-check connect port 81\n http-check connect port 82\n server s 10.0.0.1:80 check",
        written: &["port = 81"],
        absent: &["82"],
        note: Some((LEFT, "one request on one connection")),
    },
    PoolCase {
        servers: "balance uri depth 2\n server s 10.0.0.1:80",
        written: &["hash-on = \"path\""],
        absent: &[],
        note: Some((CHANGED, "`depth`")),
    },
    PoolCase {
        servers: "retry-on empty-response\n server s 10.0.0.1:80",
        written: &["10.0.0.1:80"],
        absent: &[],
        note: Some((CHANGED, "only if its method allows it")),
    },
];

#[test]
fn ways_to_servers_are_exact_or_reported() {
    for case in WAYS {
        pool_of(case.servers, case);
    }
}
