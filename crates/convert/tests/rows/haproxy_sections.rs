//! Sections of HAProxy beside its proxies: each of their lines has an outcome of its own.

use convert::dialect::Dialect;
use convert::notes::{ConversionNote, NoteKind};
use convert::run::{ConversionResult, convert};

/// A file with a section before a service with one server.
fn file(section: &str, bind: &str, server: &str) -> String {
    format!(
        "{section}\nfrontend f\n mode http\n bind 127.0.0.1:80{bind}\n default_backend b\n\
         backend b\n mode http\n {server}\n"
    )
}

/// The conversion, with a valid configuration and an account without a gap.
fn converted(text: &str) -> ConversionResult {
    let result = convert(text, "x", Dialect::Haproxy);
    assert_eq!(result.unsettled, 0, "{text}: {:?}", result.notes);
    if let Some(toml) = &result.text {
        model::config::load(toml, "x").unwrap_or_else(|findings| panic!("{text}: {findings}"));
    }
    result
}

/// The worst note of a line. `None`: there is no note.
fn worst(result: &ConversionResult, line: u32) -> Option<&ConversionNote> {
    result.notes.iter().filter(|note| note.line == line).min_by_key(|note| note.kind)
}

const SERVER: &str = "server s 10.0.0.1:80";

/// A section, and the outcome of each of its lines.
struct SectionCase {
    section: &'static str,
    outcomes: &'static [NoteKind],
}

use NoteKind::{Changed, LeftOut, NotNeeded};

const SECTIONS: &[SectionCase] = &[
    SectionCase {
        section: "userlist staff\n group admins users anna\n user anna password $5$abc groups admins\n user ben insecure-password secret",
        outcomes: &[LeftOut, LeftOut, LeftOut, LeftOut],
    },
    SectionCase {
        section: "peers mates\n peer a 10.0.0.8:1024\n bind :1024 ssl crt /c.pem\n server b 10.0.0.9:1024\n table t type ip size 1m store gpc0\n shards 2\n log global\n default-server ssl verify none\n disabled",
        outcomes: &[
            LeftOut, LeftOut, LeftOut, LeftOut, LeftOut, NotNeeded, Changed, LeftOut, NotNeeded,
        ],
    },
    SectionCase {
        section: "cache c\n total-max-size 4\n max-age 60\n process-vary on\n early-hints on",
        outcomes: &[LeftOut, NotNeeded, NotNeeded, NotNeeded, LeftOut],
    },
    SectionCase {
        section: "mailers m\n mailer a 10.0.0.9:25\n timeout mail 10s",
        outcomes: &[LeftOut, LeftOut, NotNeeded],
    },
    SectionCase {
        section: "program p\n command /usr/bin/x -a\n user nobody\n no option start-on-reload",
        outcomes: &[LeftOut, LeftOut, NotNeeded, NotNeeded],
    },
    SectionCase {
        section: "ring r\n description a\n format rfc3164\n maxlen 1200\n size 32764\n timeout connect 5s\n server l 10.0.0.9:514 log-proto octet-count",
        outcomes: &[LeftOut, NotNeeded, Changed, NotNeeded, NotNeeded, NotNeeded, LeftOut],
    },
    SectionCase {
        section: "fcgi-app php\n docroot /srv\n index index.php\n set-param REMOTE_USER %[var(txn.u)]\n option keep-conn\n log-stderr global",
        outcomes: &[LeftOut, LeftOut, LeftOut, LeftOut, NotNeeded, NotNeeded],
    },
    SectionCase {
        section: "log-forward l\n bind 10.0.0.1:514\n dgram-bind 10.0.0.1:514\n log 10.0.0.9:514 local0\n maxconn 10\n option dont-parse-log",
        outcomes: &[LeftOut, LeftOut, LeftOut, LeftOut, NotNeeded, NotNeeded],
    },
    SectionCase {
        section: "log-profile p\n log-tag x\n on any format \"$HAPROXY_HTTP_LOG_FMT\"",
        outcomes: &[Changed, Changed, LeftOut],
    },
    SectionCase { section: "traces\n trace h1 sink stderr", outcomes: &[NotNeeded, NotNeeded] },
    SectionCase {
        section: "acme le\n directory https://acme.example/dir\n contact a@b.example\n challenge http-01\n keytype ECDSA",
        outcomes: &[LeftOut; 5],
    },
    SectionCase {
        section: "healthcheck h\n type httpchk\n http-check send uri /",
        outcomes: &[LeftOut; 3],
    },
    SectionCase { section: "ruleset r\n x y", outcomes: &[LeftOut, LeftOut] },
    // Nobody refers to them.
    SectionCase {
        section: "http-errors e\n errorfile 404 /404.http",
        outcomes: &[NotNeeded, NotNeeded],
    },
    SectionCase {
        section: "resolvers d\n nameserver a 10.0.0.53:53\n hold valid 10s\n resolve_retries 3\n timeout retry 1s\n whatever",
        outcomes: &[NotNeeded, NotNeeded, Changed, NotNeeded, NotNeeded, LeftOut],
    },
    SectionCase {
        section: "crt-store w\n load crt /a.pem issuer /i.pem\n load crt /b.pem sctl /b.sctl\n load crt /c.pem ocsp-update on\n load crt /d.pem acme le domains d.example\n whatever",
        outcomes: &[NoteKind::Converted, Changed, LeftOut, LeftOut, LeftOut, LeftOut],
    },
];

#[test]
fn each_line_of_a_section_has_an_outcome_of_its_own() {
    for SectionCase { section, outcomes } in SECTIONS {
        let result = converted(&file(section, "", SERVER));
        assert_eq!(section.lines().count(), outcomes.len(), "{section}");
        for (line, outcome) in (1..).zip(*outcomes) {
            let note = worst(&result, line).unwrap_or_else(|| panic!("{section}: {line}"));
            assert_eq!(note.kind, *outcome, "{section}: {note:?}");
            assert!(!note.reason.contains("made nothing of it"), "{section}: {note:?}");
        }
    }
}

/// The last of several lines counts, and the others are told.
#[test]
fn repeated_lines_of_global_have_an_outcome() {
    for line in ["maxconn 5", "nbthread 2", "hard-stop-after 5s", "maxconn"] {
        let text = file(&format!("global\n {line}\n {line}"), "", SERVER);
        let result = converted(&text);
        assert_eq!(worst(&result, 2).map(|note| note.kind), Some(NotNeeded), "{text}");
    }
}

/// Of `defaults` for sections that are not written no line is forgotten.
#[test]
fn listeners_of_defaults_have_an_outcome_where_no_section_opens_them() {
    for line in ["disabled", "mode health"] {
        let text = format!(
            "defaults\n bind 127.0.0.1:81\n {line}\nfrontend f\n bind 127.0.0.1:80\n default_backend b\n\
             backend b\n {SERVER}\nlisten l\n server t 10.0.0.2:80\n"
        );
        let result = converted(&text);
        assert_eq!(worst(&result, 2).map(|note| note.kind), Some(LeftOut), "{text}");
    }
}

/// The servers of `defaults` are none of a frontend's.
#[test]
fn checks_of_a_frontend_have_an_outcome_beside_servers_of_defaults() {
    for line in
        ["option httpchk", "option tcp-check", "http-check expect status 200", "tcp-check connect"]
    {
        let text = format!(
            "defaults\n server t 10.0.0.2:80 check\nfrontend f\n mode http\n bind 127.0.0.1:80\n \
             default_backend b\n {line}\nbackend b\n mode http\n {SERVER}\n"
        );
        let result = converted(&text);
        assert_eq!(worst(&result, 7).map(|note| note.kind), Some(NotNeeded), "{text}");
    }
}

/// Passwords are in no note and in no line of the output.
#[test]
fn passwords_are_not_repeated() {
    let result = converted(&file(SECTIONS[0].section, "", SERVER));
    let all = format!("{:?}{:?}", result.notes, result.text);
    assert!(!all.contains("$5$abc") && !all.contains("secret"), "{all}");
}

/// A section, a `bind` suffix, a server line, and what is written of them; whether anything is left out.
struct ReferenceCase {
    section: &'static str,
    bind: &'static str,
    server: &'static str,
    written: &'static str,
    has_left_out: bool,
}

const REFERENCES: &[ReferenceCase] = &[
    ReferenceCase {
        section: "resolvers d\n nameserver a 10.0.0.53:8600",
        bind: "",
        server: "server-template w 3 web.example:80 resolvers d",
        written: "servers-from = { dns = \"web.example\", port = 80, resolver = \"10.0.0.53:8600\", max = 3 }",
        has_left_out: false,
    },
    ReferenceCase {
        section: "resolvers d\n nameserver a udp6@[::1]:53\n nameserver b 10.0.0.54:53",
        bind: "",
        server: "server-template w 2-4 web.example:80 resolvers d resolve-prefer ipv6",
        written: "{ dns = \"web.example\", type = \"aaaa\", port = 80, resolver = \"[::1]:53\", max = 3 }",
        has_left_out: true,
    },
    ReferenceCase {
        section: "resolvers d\n parse-resolv-conf",
        bind: "",
        server: "server-template w 3 _http._tcp.web.example resolvers d",
        written: "{ dns = \"_http._tcp.web.example\", type = \"srv\", max = 3 }",
        has_left_out: false,
    },
    // A name server that speaks TCP alone is not asked.
    ReferenceCase {
        section: "resolvers d\n nameserver a tcp@10.0.0.53:53",
        bind: "",
        server: "server-template w 3 web.example:80 resolvers d",
        written: "{ dns = \"web.example\", port = 80, max = 3 }",
        has_left_out: true,
    },
    // The name of a fixed server is looked up by the system's resolver.
    ReferenceCase {
        section: "resolvers d\n nameserver a 10.0.0.53:53",
        bind: "",
        server: "server s web.example:80 resolvers d",
        written: "address = \"web.example:80\"",
        has_left_out: true,
    },
    ReferenceCase {
        section: "resolvers d\n parse-resolv-conf",
        bind: "",
        server: "server s web.example:80 resolvers d resolve-prefer ipv4",
        written: "address = \"web.example:80\"",
        has_left_out: false,
    },
    ReferenceCase {
        section: "crt-store w\n crt-base /etc/tls\n key-base /etc/tls\n load crt a.crt key a.key ocsp a.ocsp alias site",
        bind: " ssl crt \"@w/site\"",
        server: SERVER,
        written: "certificates = \"/etc/tls/a.crt\"",
        has_left_out: false,
    },
    ReferenceCase {
        section: "global\n crt-base /etc/tls\ncrt-store\n load crt a.crt alias site",
        bind: " ssl crt @/site",
        server: SERVER,
        written: "certificates = \"/etc/tls/a.crt\"",
        has_left_out: false,
    },
    // The key is somewhere else.
    ReferenceCase {
        section: "crt-store w\n crt-base /etc/tls\n key-base /etc/keys\n load crt a.crt key a.key",
        bind: " ssl crt @w/a.crt",
        server: SERVER,
        written: "certificates = \"/etc/tls/a.crt\"",
        has_left_out: true,
    },
    // Nothing listens without its certificate.
    ReferenceCase {
        section: "crt-store w\n load crt /a.pem acme le domains a.example",
        bind: " ssl crt @w/a.pem",
        server: SERVER,
        written: "",
        has_left_out: true,
    },
    ReferenceCase {
        section: "global",
        bind: " ssl crt @w/a.pem",
        server: SERVER,
        written: "",
        has_left_out: true,
    },
    ReferenceCase {
        section: "global",
        bind: "",
        server: "server s 10.0.0.1:80\n server t 10.0.0.2:443 ssl verify none crt @w/a.pem",
        written: "servers = [   { name = \"s\", address = \"10.0.0.1:80\" }, # line 8 ]",
        has_left_out: true,
    },
    ReferenceCase {
        section: "fcgi-app php\n docroot /srv",
        bind: "",
        server: "server s 10.0.0.1:80\n server t 10.0.0.2:9000 proto fcgi",
        written: "servers = [   { name = \"s\", address = \"10.0.0.1:80\" }, # line 9 ]",
        has_left_out: true,
    },
];

#[test]
fn sections_are_written_where_lines_refer_to_them() {
    for case in REFERENCES {
        let text = file(case.section, case.bind, case.server);
        let result = converted(&text);
        let toml = result.text.clone().unwrap_or_default().replace('\n', " ");
        assert!(toml.contains(case.written), "{text}: no {} in\n{toml}", case.written);
        let left = result.notes.iter().any(|note| note.kind == LeftOut);
        assert_eq!(left, case.has_left_out, "{text}: {:?}", result.notes);
        if case.written.is_empty() {
            assert!(!toml.contains("listen ="), "{text}: {toml}");
        }
    }
}
