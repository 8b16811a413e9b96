//! Every keyword of HAProxy's manual, in every section that allows it, with few and with many arguments.

use convert::dialect::Dialect;

use super::names::{DirectiveName, DirectiveNames};
use super::{forgotten, outcome};

/// A section beside proxies, and the first words of its lines.
pub struct SideSection {
    pub title: &'static str,
    pub words: &'static [&'static str],
}

pub const SIDE_SECTIONS: [SideSection; 16] = [
    SideSection {
        title: "peers p",
        words: &[
            "bind",
            "default-bind",
            "default-server",
            "disabled",
            "enabled",
            "log",
            "peer",
            "server",
            "shards",
            "table",
        ],
    },
    SideSection {
        title: "ring r",
        words: &[
            "backing-file",
            "description",
            "format",
            "maxlen",
            "server",
            "size",
            "timeout connect",
            "timeout server",
        ],
    },
    SideSection { title: "userlist u", words: &["group", "user"] },
    SideSection {
        title: "resolvers r",
        words: &[
            "accepted_payload_size",
            "nameserver",
            "parse-resolv-conf",
            "hold valid",
            "hold nx",
            "resolve_retries",
            "timeout resolve",
            "timeout retry",
        ],
    },
    SideSection { title: "mailers m", words: &["mailer", "timeout mail"] },
    SideSection {
        title: "program p",
        words: &["command", "user", "group", "option start-on-reload", "no option start-on-reload"],
    },
    SideSection {
        title: "fcgi-app a",
        words: &[
            "acl",
            "docroot",
            "index",
            "log-stderr",
            "pass-header",
            "path-info",
            "option get-values",
            "no option keep-conn",
            "option max-reqs",
            "option mpxs-conns",
            "set-param",
        ],
    },
    SideSection { title: "http-errors e", words: &["errorfile", "errorfile 404"] },
    SideSection {
        title: "cache c",
        words: &[
            "early-hints",
            "max-age",
            "max-object-size",
            "max-secondary-entries",
            "process-vary",
            "total-max-size",
        ],
    },
    SideSection {
        title: "log-forward l",
        words: &[
            "backlog",
            "bind",
            "dgram-bind",
            "log",
            "maxconn",
            "timeout client",
            "option assume-rfc6587-ntf",
            "option dont-parse-log",
            "option host",
        ],
    },
    SideSection { title: "log-profile l", words: &["log-tag", "on"] },
    SideSection {
        title: "crt-store w",
        words: &[
            "crt-base",
            "key-base",
            "load",
            "load crt",
            "load crt a alias",
            "load crt a key",
            "load crt a ocsp",
            "load crt a issuer",
            "load crt a sctl",
            "load crt a ocsp-update",
            "load crt a acme",
            "load crt a domains",
            "load crt a ips",
            "load crt a jwt",
            "load crt a generate-dummy",
            "load crt a keytype",
            "load crt a bits",
            "load crt a curves",
        ],
    },
    SideSection { title: "crt-store", words: &["load crt", "load crt a alias"] },
    SideSection { title: "traces", words: &["trace"] },
    SideSection {
        title: "acme a",
        words: &[
            "account-key",
            "acme-vars",
            "bits",
            "challenge",
            "challenge-ready",
            "contact",
            "curves",
            "directory",
            "dns-delay",
            "dns-timeout",
            "eab-key-id",
            "eab-mac-alg",
            "eab-mac-key",
            "keytype",
            "map",
            "profile",
            "provider-name",
            "reuse-key",
        ],
    },
    SideSection {
        title: "healthcheck h",
        words: &[
            "type",
            "http-check send",
            "http-check expect",
            "tcp-check connect",
            "tcp-check expect",
        ],
    },
];

/// Lines of servers that may refer to the section.
const REFERRING: [&str; 3] = [
    " server t 10.0.0.2:80\n",
    " server t name.example:80 resolvers r resolve-prefer ipv4\n",
    " server-template t 3 name.example:80 resolvers r ssl verify none crt @w/a\n",
];

/// Each line of these sections has a note of its own, and none of its words is forgotten.
#[test]
fn no_line_of_a_section_beside_proxies_is_forgotten() {
    for SideSection { title, words } in &SIDE_SECTIONS {
        for word in *words {
            for arity in 0..5 {
                for server in REFERRING {
                    let line = format!("{word} {}", self::words(arity, arity));
                    let text = format!(
                        "{title}\n {line}\nfrontend f\n mode http\n bind 127.0.0.1:80\n default_backend b\n\
                         backend b\n mode http\n server s 10.0.0.1:80\n{server}"
                    );
                    let left = forgotten(&text, Dialect::Haproxy);
                    assert!(left.is_empty(), "{left:?} of\n{text}");
                    for line in 1..=2 {
                        assert_ne!(outcome(&text, line, Dialect::Haproxy), "nothing", "{text}");
                    }
                }
            }
        }
    }
}

struct HaproxyFile {
    text: String,
    line: u32,
}

pub const ARGUMENTS: [&str; 10] =
    ["a", "10.0.0.1:80", "30s", "200", "/x", "if", "src", "on", "hdr(host)", "TLSv1.2"];

fn words(arity: usize, rotate: usize) -> String {
    let words: Vec<&str> =
        (0..arity).map(|at| ARGUMENTS[(at + rotate) % ARGUMENTS.len()]).collect();
    words.join(" ")
}

/// A file with this line in a section. Everything else in the file can be carried over.
fn file(section: &str, line: &str, bind: &str, server: &str) -> HaproxyFile {
    let mut text = String::new();
    let mut at = 0;
    for (name, lines) in [
        ("global", ""),
        ("defaults", " mode http\n timeout client 1m\n timeout server 1m\n timeout connect 5s\n"),
        ("frontend", " default_backend b\n"),
        ("backend", ""),
        ("listen", ""),
    ] {
        let listens = |port: u16| format!(" bind 127.0.0.1:{port}{bind}\n");
        let serves = format!(" server s 10.0.0.1:80{server}\n");
        let (title, lines) = match name {
            "frontend" => ("frontend f", format!("{}{lines}", listens(80))),
            "backend" => ("backend b", serves),
            "listen" => ("listen l", listens(81) + &serves),
            other => (other, lines.to_owned()),
        };
        text.push_str(&format!("{title}\n"));
        if name == section {
            text.push_str(&format!(" {line}\n"));
            at = text.lines().count();
        }
        text.push_str(&lines);
    }
    HaproxyFile { text, line: u32::try_from(at).unwrap() }
}

/// The files that test a name with this number of arguments.
fn files(row: &DirectiveName, arity: usize, rotate: usize) -> Vec<HaproxyFile> {
    let name = row.columns[1].as_str();
    let line = format!("{name} {}", words(arity, rotate));
    let own_line = |mut file: HaproxyFile, begin: &str| {
        let at = file.text.lines().position(|line| line.starts_with(begin)).unwrap();
        file.line = u32::try_from(at).unwrap() + 1;
        file
    };
    match row.columns[0].as_str() {
        "proxy" => row.contexts().iter().map(|section| file(section, &line, "", "")).collect(),
        "global" => vec![file("global", &line, "", "")],
        "bind" => vec![own_line(file("", "", &format!(" {line}"), ""), " bind")],
        "server" => vec![own_line(file("", "", "", &format!(" {line}")), " server")],
        "action" => {
            let contexts = row.contexts();
            let steps = [
                ("RqCon", "tcp-request connection"),
                ("RqSes", "tcp-request session"),
                ("RqCnt", "tcp-request content"),
                ("RsCnt", "tcp-response content"),
                ("Req", "http-request"),
                ("Res", "http-response"),
                ("Aft", "http-after-response"),
            ];
            let of = steps.iter().filter(|(context, _)| contexts.contains(context));
            of.map(|(_, step)| {
                let section = if step.starts_with("tcp") { "frontend" } else { "backend" };
                file(section, &format!("{step} {line} if {{ src 10.0.0.0/8 }}"), "", "")
            })
            .collect()
        }
        _ => {
            let argument = if row.most > 0 { "(x)" } else { "" };
            let line = format!("http-request deny if {{ {name}{argument} -m str a b }}");
            vec![file("frontend", &line, "", "")]
        }
    }
}

#[test]
fn no_keyword_of_haproxy_is_forgotten() {
    let names = DirectiveNames::read("haproxy.tsv", 3);
    assert!(names.rows.len() > 1_200);
    let mut found = Vec::new();
    for row in &names.rows {
        for arity in row.arities() {
            for rotate in [0, 1, 3] {
                for file in files(row, arity, rotate) {
                    let left = forgotten(&file.text, Dialect::Haproxy);
                    found.extend(left.into_iter().map(|what| format!("{:?}: {what}", row.columns)));
                }
            }
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} forgotten:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_keyword_of_haproxy_becomes_what_is_expected() {
    DirectiveNames::read("haproxy.tsv", 3).check_outcomes(|row| {
        let files = files(row, row.least, 0);
        let first = files.first();
        first.map_or("elsewhere", |file| outcome(&file.text, file.line, Dialect::Haproxy))
    });
}
