//! Servers of one backend that differ: what is written of each, and what is reported.

use convert::dialect::Dialect;
use convert::notes::{ConversionNote, NoteKind};
use convert::run::convert;

#[path = "haproxy_server_ways.rs"]
mod haproxy_server_ways;

/// The server lines of a backend, and what its pool has.
struct PoolCase {
    servers: &'static str,
    /// Texts that the pool has.
    written: &'static [&'static str],
    /// Texts that the pool has not.
    absent: &'static [&'static str],
    /// A part of a note, with its kind.
    note: Option<(NoteKind, &'static str)>,
}

const TLS_OFF: &str = "ssl verify none";

fn pool_of(servers: &str, case: &PoolCase) {
    let text = format!(
        "defaults\n mode http\n timeout check 500ms\nfrontend f\n bind 127.0.0.1:80\n default_backend b\n\
         backend b\n option httpchk GET /up\n {servers}\n"
    );
    let result = convert(&text, "x", Dialect::Haproxy);
    assert_eq!(result.unsettled, 0, "{text}: {:?}", result.notes);
    let toml = result.text.clone().unwrap_or_default();
    model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{text}: {findings}\n{toml}"));
    for part in case.written {
        assert!(toml.contains(part), "{text}: no {part} in\n{toml}");
    }
    for part in case.absent {
        assert!(!toml.contains(part), "{text}: {part} in\n{toml}");
    }
    let (kind, part) = match case.note {
        Some((kind, part)) => (kind, part),
        None => {
            let reported = |note: &&ConversionNote| {
                matches!(note.kind, NoteKind::LeftOut | NoteKind::Changed) && note.line > 8
            };
            let found = result.notes.iter().find(reported);
            return assert!(found.is_none(), "{text}: {found:?}");
        }
    };
    let found = |note: &&ConversionNote| note.kind == kind && note.reason.contains(part);
    assert!(result.notes.iter().any(|note| found(&note)), "{text}: {:?}", result.notes);
}

const LEFT: NoteKind = NoteKind::LeftOut;
const CHANGED: NoteKind = NoteKind::Changed;

const CASES: &[PoolCase] = &[
    // A server without a header of the PROXY protocol never gets one, and one that wants it does.
    PoolCase {
        servers: "server s 10.0.0.1:80\n server t 10.0.0.2:80 send-proxy",
        written: &["10.0.0.1:80"],
        absent: &["10.0.0.2:80", "send-proxy"],
        note: Some((LEFT, "differs in the PROXY protocol: it gets no requests")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80\n server t 10.0.0.2:80 send-proxy\n server u 10.0.0.3:80 send-proxy",
        written: &["10.0.0.2:80", "10.0.0.3:80", "send-proxy = \"v1\""],
        absent: &["10.0.0.1:80"],
        note: Some((LEFT, "differs in the PROXY protocol")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 send-proxy\n server t 10.0.0.2:80 send-proxy-v2",
        written: &["send-proxy = \"v1\""],
        absent: &["10.0.0.2:80"],
        note: Some((LEFT, "differs in the PROXY protocol")),
    },
    // Backups do not decide.
    PoolCase {
        servers: "server s 10.0.0.1:80\n server t 10.0.0.2:80 send-proxy backup\n server u 10.0.0.3:80 send-proxy backup",
        written: &["10.0.0.1:80"],
        absent: &["10.0.0.2:80", "10.0.0.3:80", "send-proxy"],
        note: Some((LEFT, "differs in the PROXY protocol")),
    },
    PoolCase {
        servers: "default-server send-proxy\n server s 10.0.0.1:80\n server t 10.0.0.2:80 no-send-proxy\n server u 10.0.0.3:80",
        written: &["10.0.0.1:80", "10.0.0.3:80"],
        absent: &["10.0.0.2:80"],
        note: Some((LEFT, "differs in the PROXY protocol")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 send-proxy-v2-ssl-cn",
        written: &["send-proxy = \"v2\""],
        absent: &[],
        note: Some((LEFT, "does not learn of its TLS or certificate")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:443 ssl verify none\n server t 10.0.0.2:80",
        written: &["tls = { verify = \"off\" }"],
        absent: &["10.0.0.2:80"],
        note: Some((LEFT, "differs in TLS: it gets no requests")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:443 ssl verify none\n server t 10.0.0.2:443 ssl verify required ca-file /ca.pem verifyhost t.example",
        written: &["tls = { verify = \"off\" }"],
        absent: &["10.0.0.2:443"],
        note: Some((LEFT, "differs in TLS")),
    },
    // The order of keywords is no difference, and neither is the name that a server has anyway.
    PoolCase {
        servers: "server s a.example:443 ssl verify required ca-file /ca.pem sni str(a.example)\n server t b.example:443 ssl sni str(b.example) ca-file /ca.pem verify required",
        written: &["tls = { verify = \"on\", ca = \"/ca.pem\" }", "a.example:443", "b.example:443"],
        absent: &["name = \"a.example\""],
        note: None,
    },
    // What `default-server` says of TLS holds for a server with `ssl`.
    PoolCase {
        servers: "default-server verify none\n server s 10.0.0.1:443 ssl",
        written: &["tls = { verify = \"off\" }"],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "default-server ssl verify none\n server s 10.0.0.1:443 no-ssl",
        written: &["10.0.0.1:443"],
        absent: &["tls ="],
        note: None,
    },
    PoolCase {
        servers: "server s 10.0.0.1:443 ssl verify required ca-file @system-ca",
        written: &["ca = \"system\""],
        absent: &[],
        note: Some((CHANGED, "which HAProxy does not verify")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 proto h2\n server t 10.0.0.2:80",
        written: &["http2 = \"only\""],
        absent: &["10.0.0.2:80"],
        note: Some((LEFT, "differs in HTTP/2")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:443 ssl verify none alpn h2,http/1.1",
        written: &["http2 = \"prefer\""],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 slowstart 10s\n server t 10.0.0.2:80 slowstart 30s",
        written: &["slow-start = \"30s\""],
        absent: &[],
        note: Some((CHANGED, "the same time for their start: \"30s\"")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 slowstart 10s\n server t 10.0.0.2:80 slowstart 10s",
        written: &["slow-start = \"10s\""],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 agent-check agent-port 99\n server t 10.0.0.2:80",
        written: &["10.0.0.2:80"],
        absent: &["agent ="],
        note: Some((LEFT, "agents of a pool are asked alike")),
    },
    PoolCase {
        servers: "default-server agent-check agent-port 99 agent-send hi agent-inter 3s\n server s 10.0.0.1:80\n server t 10.0.0.2:80",
        written: &["agent = { kind = \"text\", port = 99, send = \"hi\", interval = \"3s\" }"],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 agent-check agent-port 99 agent-addr 10.0.0.9",
        written: &["10.0.0.1:80"],
        absent: &["agent ="],
        note: Some((LEFT, "at its server's own address")),
    },
    // A server inherits nothing of the checks of another one.
    PoolCase {
        servers: "server s 10.0.0.1:80 check port 81 rise 4 fall 5 on-marked-down shutdown-sessions\n server t 10.0.0.2:80 check",
        written: &["rise = 2, fall = 3, port = \"server\", on-down = \"keep\""],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 check fastinter 100ms\n server t 10.0.0.2:80 check inter 5s",
        written: &["interval = \"5s\", timeout = \"500ms\", fast-interval = \"5s\""],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 check\n server t 10.0.0.2:80",
        written: &["address = \"10.0.0.2:80\", probe = \"off\""],
        absent: &[],
        note: None,
    },
    // The certificate that a check gets is verified as that of other connections.
    PoolCase {
        servers: "server s a.example:443 ssl verify required ca-file /ca.pem verifyhost a.example check port 8443 check-ssl",
        written: &["port = 8443, tls = { verify = true, ca = \"/ca.pem\" }"],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "server s 10.0.0.1:443 ssl verify none check no-check-ssl",
        written: &["tls = \"off\""],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "server s 10.0.0.1:443 ssl verify none check check-sni s.example",
        written: &["tls = { verify = false, name = \"s.example\" }"],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "server s 10.0.0.1:443 ssl verify none check no-check-ssl\n server t 10.0.0.2:443 ssl verify none check",
        written: &["tls = { verify = false } } }, # line 10"],
        absent: &[],
        note: None,
    },
    // Servers of a name.
    PoolCase {
        servers: "server-template w 3 web.example:80 check inter 5s maxconn 10\n",
        written: &["probe = { http = \"/up\", interval = \"5s\"", "connections = 10"],
        absent: &[],
        note: Some((CHANGED, "only IPv4 addresses")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 check inter 1s\n server-template w 3 web.example:80 check inter 5s",
        written: &[
            "probe = { http = \"/up\", interval = \"5s\"",
            "probe = { http = \"/up\", interval = \"1s\"",
        ],
        absent: &[],
        note: Some((CHANGED, "only IPv4 addresses")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 check\n server-template w 3 web.example:80",
        written: &["address = \"10.0.0.1:80\", probe = { http = \"/up\""],
        absent: &["\nprobe ="],
        note: Some((CHANGED, "only IPv4 addresses")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80\n server-template w 3 web.example:80 maxconn 10",
        written: &["10.0.0.1:80"],
        absent: &["servers-from"],
        note: Some((LEFT, "no `connections` of their own: they get no requests")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80\n server-template w 3 web.example:80 backup",
        written: &["10.0.0.1:80"],
        absent: &["servers-from"],
        note: Some((LEFT, "are no backups: they get no requests")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80\n server-template w 3 web.example:443 ssl verify none",
        written: &["10.0.0.1:80"],
        absent: &["servers-from", "tls ="],
        note: Some((LEFT, "differs in TLS")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80\n server-template w 3 web.example:80 disabled",
        written: &["10.0.0.1:80"],
        absent: &["servers-from"],
        note: Some((LEFT, "no `state` of their own")),
    },
    PoolCase {
        servers: "server-template w 3 web.example:80\n server-template v 3 other.example:80",
        written: &["web.example"],
        absent: &["other.example"],
        note: Some((LEFT, "have one name")),
    },
    // Words of servers with an outcome of their own.
    PoolCase {
        servers: "server s 10.0.0.1:80 disabled\n server t 10.0.0.2:80 disabled enabled",
        written: &["state = \"disabled\" }, # line 9", "address = \"10.0.0.2:80\" }"],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "default-server backup\n server s 10.0.0.1:80 no-backup\n server t 10.0.0.2:80",
        written: &["address = \"10.0.0.1:80\" }", "address = \"10.0.0.2:80\", backup = true"],
        absent: &[],
        note: None,
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 namespace backup",
        written: &["address = \"10.0.0.1:80\" }"],
        absent: &["backup = true"],
        note: Some((LEFT, "the server sees the address that the kernel chooses")),
    },
    PoolCase {
        servers: "server s 10.0.0.1:80 track c/x",
        written: &["10.0.0.1:80"],
        absent: &[],
        note: Some((LEFT, "it counts as up")),
    },
];

#[test]
fn servers_that_differ_are_exact_or_reported() {
    for case in CASES {
        pool_of(case.servers, case);
    }
}

/// Random servers: each written server has the settings of its own line.
#[test]
fn every_written_server_is_spoken_to_as_its_line_says() {
    let settings =
        ["", "send-proxy", "send-proxy-v2", TLS_OFF, "proto h2", "ssl verify none send-proxy"];
    for first in settings {
        for second in settings {
            for third in settings {
                let lines = [first, second, third];
                let servers: String = (1..)
                    .zip(lines)
                    .map(|(at, words)| format!(" server s{at} 10.0.0.{at}:80 {words}\n"))
                    .collect();
                let text = format!(
                    "frontend f\n mode http\n bind 127.0.0.1:80\n default_backend b\nbackend b\n mode http\n{servers}"
                );
                let toml = convert(&text, "x", Dialect::Haproxy).text.unwrap();
                for (at, words) in (1..).zip(lines) {
                    if !toml.contains(&format!("10.0.0.{at}:80")) {
                        continue;
                    }
                    let version = if words.contains("v2") {
                        "send-proxy = \"v2\""
                    } else {
                        "send-proxy = \"v1\""
                    };
                    for (wanted, part) in [
                        (words.contains("send-proxy"), "send-proxy ="),
                        (words.contains("send-proxy"), version),
                        (words.contains("ssl"), "tls ="),
                        (words.contains("h2"), "http2 ="),
                    ] {
                        assert_eq!(toml.contains(part), wanted, "{text}\n{toml}");
                    }
                }
            }
        }
    }
}

/// A backend without a server that can be written refuses, and the other backends of its service are served.
#[test]
fn a_backend_that_loses_all_servers_takes_no_other_with_it() {
    let text = "frontend f\n mode http\n bind 127.0.0.1:80\n use_backend c if { path /c }\n default_backend b\n\
                backend b\n mode http\n server s 10.0.0.1:9000 proto fcgi\n\
                backend c\n mode http\n server t 10.0.0.2:80\n";
    let result = convert(text, "x", Dialect::Haproxy);
    assert_eq!(result.unsettled, 0, "{:?}", result.notes);
    let toml = result.text.unwrap();
    model::config::load(&toml, "x").unwrap();
    assert!(toml.contains("10.0.0.2:80") && !toml.contains("10.0.0.1"), "{toml}");
    assert!(toml.contains("pool = \"b\"") && toml.contains("state = \"disabled\""), "{toml}");
    assert!(result.notes.iter().any(|note| note.kind == LEFT && note.reason.contains("get 503")));
}

/// HTTP/2 is a matter of requests: a pool of bytes has no such key, and the note says so.
#[test]
fn servers_of_bytes_are_offered_no_protocol() {
    let text = "frontend f\n mode tcp\n bind 127.0.0.1:80\n default_backend b\n\
                backend b\n mode tcp\n server s 10.0.0.1:443 ssl verify none alpn h2\n";
    let result = convert(text, "x", Dialect::Haproxy);
    assert_eq!(result.unsettled, 0, "{:?}", result.notes);
    let toml = result.text.unwrap();
    model::config::load(&toml, "x").unwrap();
    assert!(toml.contains("10.0.0.1:443") && !toml.contains("http2"), "{toml}");
    assert!(result.notes.iter().any(|note| note.kind == LEFT && note.reason.contains("ALPN")));
}
