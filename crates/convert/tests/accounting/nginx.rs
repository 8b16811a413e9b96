//! Every directive of nginx's index, in every context that allows it, with few and with many arguments.

use convert::dialect::Dialect;

use super::names::{DirectiveName, DirectiveNames};
use super::{forgotten, outcome};

/// A file with the tested directive on a line of its own, and the number of that line.
struct NginxFile {
    text: String,
    line: u32,
}

/// Arguments that directives read: an address, a time, a name, a word.
pub const ARGUMENTS: [&str; 10] =
    ["on", "10.0.0.1", "30s", "$host", "/x", "a", "zone=one:1m", "200", "~x", "default"];

/// A file with the directive in this context. `None` for an unknown context.
fn file(row: &DirectiveName, context: &str, arity: usize, rotate: usize) -> Option<NginxFile> {
    let name = &row.columns[0];
    let words: Vec<&str> =
        (0..arity).map(|at| ARGUMENTS[(at + rotate) % ARGUMENTS.len()]).collect();
    let end = if row.rest[0] == "block" { " { }" } else { ";" };
    let directive = format!("{name} {}{end}", words.join(" "));
    let server = "listen 127.0.0.1:80; server_name a.example;";
    let location = "location / { proxy_pass http://u; }";
    let upstream = "upstream u { server 10.0.0.1:80; }";
    let stream = "server { listen 127.0.0.1:90; proxy_pass 10.0.0.2:80; }";
    let http = format!("{upstream} server {{ {server} {location} }}");
    let (before, after) = match context {
        "main" => (String::new(), format!("http {{ {http} }}")),
        "events" => ("events {".to_owned(), format!("}} http {{ {http} }}")),
        "http" => ("http {".to_owned(), format!("{http} }}")),
        "server" => (format!("http {{ {upstream} server {{ {server}"), format!("{location} }} }}")),
        "location" => (
            format!("http {{ {upstream} server {{ {server} location / {{ "),
            "proxy_pass http://u; } } }".to_owned(),
        ),
        "if-in-location" | "if" => (
            format!("http {{ {upstream} server {{ {server} location / {{ if ($host = b) {{ "),
            "} proxy_pass http://u; } } }".to_owned(),
        ),
        "limit_except" => (
            format!("http {{ {upstream} server {{ {server} location / {{ limit_except GET {{ "),
            "} proxy_pass http://u; } } }".to_owned(),
        ),
        "upstream" => (
            "http { upstream u { server 10.0.0.1:80; ".to_owned(),
            format!("}} server {{ {server} {location} }} }}"),
        ),
        "stream" => ("stream {".to_owned(), format!("{stream} }}")),
        "stream-server" => (
            "stream { server { listen 127.0.0.1:90; ".to_owned(),
            "proxy_pass 10.0.0.2:80; } }".to_owned(),
        ),
        _ => return None,
    };
    Some(NginxFile { text: format!("{before}\n{directive}\n{after}\n"), line: 2 })
}

/// The contexts that allow the directive.
fn contexts(row: &DirectiveName) -> Vec<&str> {
    let mut contexts = row.contexts();
    if contexts.contains(&"stream") {
        contexts.push("stream-server");
    }
    contexts
}

#[test]
fn no_directive_of_nginx_is_forgotten() {
    let names = DirectiveNames::read("nginx.tsv", 2);
    assert!(names.rows.len() > 750);
    let mut found = Vec::new();
    for row in &names.rows {
        for context in contexts(row) {
            for arity in row.arities() {
                for rotate in [0, 1, 6] {
                    let Some(file) = file(row, context, arity, rotate) else { continue };
                    let left = forgotten(&file.text, Dialect::Nginx);
                    found.extend(left.into_iter().map(|what| format!("{context}: {what}")));
                }
            }
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} forgotten:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_directive_of_nginx_becomes_what_is_expected() {
    DirectiveNames::read("nginx.tsv", 2).check_outcomes(|row| {
        let contexts = contexts(row);
        let known = ["server", "location", "upstream", "http", "stream-server", "main", "events"];
        let context = known.iter().find(|known| contexts.contains(known));
        let file = context.and_then(|context| file(row, context, row.least, 0));
        file.map_or("elsewhere", |file| outcome(&file.text, file.line, Dialect::Nginx))
    });
}
