//! Listeners of one frontend: which of them share a service.

use convert::dialect::Dialect;
use convert::run::convert;

#[path = "haproxy_spellings.rs"]
mod haproxy_spellings;

/// The `bind` lines of a frontend, and what each of its services has of them.
struct ListenerCase {
    binds: &'static [&'static str],
    services: &'static [&'static [&'static str]],
}

const CASES: &[ListenerCase] = &[
    ListenerCase {
        binds: &["10.0.0.1:80", "10.0.0.1:81"],
        services: &[&["10.0.0.1:80", "10.0.0.1:81"]],
    },
    // A certificate that one listener demands is demanded at no other.
    ListenerCase {
        binds: &[
            "10.0.0.1:443 ssl crt /a.pem ca-file /ca.pem verify required",
            "10.0.0.1:444 ssl crt /a.pem ca-file /ca.pem verify optional",
            "10.0.0.1:445 ssl crt /a.pem",
        ],
        services: &[
            &["10.0.0.1:443", "verify = \"required\""],
            &["10.0.0.1:444", "verify = \"optional\""],
            &["10.0.0.1:445", "certificates = \"/a.pem\""],
        ],
    },
    ListenerCase {
        binds: &["10.0.0.1:443 ssl crt /a.pem strict-sni", "10.0.0.1:444 ssl crt /b.pem"],
        services: &[
            &["10.0.0.1:443", "certificates = \"/a.pem\"", "unknown-sni = \"require\""],
            &["10.0.0.1:444", "certificates = \"/b.pem\""],
        ],
    },
    ListenerCase {
        binds: &["10.0.0.1:443 ssl crt /a.pem ssl-min-ver TLSv1.3", "10.0.0.1:444 ssl crt /a.pem"],
        services: &[&["10.0.0.1:443", "minimum = \"1.3\""], &["10.0.0.1:444"]],
    },
    ListenerCase {
        binds: &["10.0.0.1:80 interface eth0", "10.0.0.2:80", "10.0.0.3:80 interface eth0"],
        services: &[&["10.0.0.1:80", "10.0.0.3:80", "interface = \"eth0\""], &["10.0.0.2:80"]],
    },
    ListenerCase {
        binds: &["10.0.0.1:80 backlog 10", "10.0.0.2:80 backlog 20 backlog 21", "10.0.0.3:80"],
        services: &[
            &["10.0.0.1:80", "backlog = 10"],
            &["10.0.0.2:80", "backlog = 21"],
            &["10.0.0.3:80", "backlog = 30"],
        ],
    },
    ListenerCase {
        binds: &["10.0.0.1:443 ssl crt /a.pem", "quic4@10.0.0.1:443 ssl crt /a.pem alpn h3"],
        services: &[&["10.0.0.1:443", "http3 = \"on\"", "certificates = \"/a.pem\""]],
    },
];

/// The texts of the services, with their TLS, in their order.
fn services(toml: &str) -> Vec<String> {
    let begin = |text: &&str| text.starts_with("service.") && !text.contains(".timeout]\n");
    let tables = toml.split("\n[").filter(begin);
    let mut found: Vec<String> = Vec::new();
    for table in tables {
        match found.last_mut() {
            Some(last) if table.split(']').next().unwrap().ends_with(".tls") => {
                last.push_str(table)
            }
            _ => found.push(table.to_owned()),
        }
    }
    found
}

#[test]
fn listeners_that_differ_are_services_of_their_own() {
    for ListenerCase { binds, services: expected } in CASES {
        let lines: String = binds.iter().map(|bind| format!(" bind {bind}\n")).collect();
        let text = format!(
            "frontend f\n mode http\n backlog 30\n{lines} default_backend b\nbackend b\n mode http\n \
             server s 10.9.0.1:80\n"
        );
        let result = convert(&text, "x", Dialect::Haproxy);
        assert_eq!(result.unsettled, 0, "{text}: {:?}", result.notes);
        let toml = result.text.unwrap();
        model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{findings}\n{toml}"));
        let found = services(&toml);
        assert_eq!(found.len(), expected.len(), "{toml}");
        for (service, parts) in found.iter().zip(*expected) {
            assert!(parts.iter().all(|part| service.contains(part)), "{parts:?} in\n{service}");
        }
        let own = ["verify = ", "unknown-sni", "minimum", "interface"];
        for word in own {
            let written = toml.matches(word).count();
            let named = expected.iter().filter(|parts| parts.iter().any(|one| one.contains(word)));
            assert_eq!(written, named.count(), "{word} in\n{toml}");
        }
    }
}
