//! Every option of Traefik's reference, dynamic and static, at its place in a file and as a label, with several values.

use std::fmt::Write as _;

use convert::dialect::Dialect;

use super::names::{DirectiveName, DirectiveNames};
use super::{forgotten, outcome};

/// An option by its whole name, with its value in YAML.
#[derive(Clone)]
pub struct OptionLine {
    name: String,
    value: String,
}

/// A file with the tested option on a line of its own, and the number of that line.
struct OptionFile {
    text: String,
    line: u32,
}

/// A whole configuration around the tested option.
const BASE: [[&str; 2]; 26] = [
    ["entryPoints.web.address", "':80'"],
    ["entryPoints.websecure.address", "':443'"],
    ["entryPoints.mqtt.address", "':8883'"],
    ["http.routers.r.rule", "Host(`a.example`)"],
    ["http.routers.r.service", "s"],
    ["http.routers.r.entryPoints", "websecure"],
    ["http.routers.r.middlewares", "m"],
    ["http.routers.r.tls.options", "o"],
    ["http.middlewares.m.addPrefix.prefix", "/a"],
    ["http.services.s.loadBalancer.servers[0].url", "https://10.0.0.1:8443"],
    ["http.services.s.loadBalancer.serversTransport", "x"],
    ["http.services.other.loadBalancer.servers[0].url", "http://10.0.0.2:80"],
    ["http.serversTransports.x.serverName", "s.example"],
    ["tcp.routers.t.rule", "HostSNI(`*`)"],
    ["tcp.routers.t.entryPoints", "mqtt"],
    ["tcp.routers.t.service", "ts"],
    ["tcp.routers.t.middlewares", "tm"],
    ["tcp.middlewares.tm.ipAllowList.sourceRange", "[10.0.0.0/8]"],
    ["tcp.services.ts.loadBalancer.servers[0].address", "10.0.0.3:1883"],
    ["tcp.services.ts.loadBalancer.servers[0].tls", "true"],
    ["tcp.services.ts.loadBalancer.serversTransport", "tx"],
    ["tcp.serversTransports.tx.dialTimeout", "5s"],
    ["tls.certificates[0].certFile", "/etc/a.pem"],
    ["tls.options.o.minVersion", "VersionTLS12"],
    ["certificatesResolvers.c.acme.email", "a@a.example"],
    ["udp.routers.u.service", "us"],
];

const SECTIONS: [&str; 6] = ["providers", "metrics", "tracing", "accessLog", "log", "experimental"];

/// Values of a form. The first one is usual.
pub fn values(form: &str) -> &'static [&'static str] {
    match form {
        "time" => &["5s", "0", "x", "{}"],
        "flag" => &["true", "false", "5"],
        "number" => &["5", "0", "-1", "99999999999999999999"],
        "texts" => &["[a, b]", "[]", "10.0.0.0/8", "[{ name: other }]", "[{}]"],
        "map" => &["{ a: b }", "{}", "x", "[c]"],
        _ => &["a", "/a", "''", "10.0.0.1", "['x']", "s"],
    }
}

/// The base with an option in the place of those that it excludes.
fn with(base: &[OptionLine], name: &str, value: &str) -> Vec<OptionLine> {
    let parts: Vec<&str> = name.split('.').collect();
    // A service and a middleware have one kind.
    let kinds =
        ["http.services.s.", "http.middlewares.m.", "tcp.services.ts.", "tcp.middlewares.tm."];
    let kind = kinds.iter().find(|kind| name.starts_with(**kind));
    let stays = |line: &&OptionLine| {
        let inner = |outer: &str, name: &str| {
            name.strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let other_kind = kind.is_some_and(|kind| {
            line.name.starts_with(*kind) && line.name.split('.').nth(3) != parts.get(3).copied()
        });
        !other_kind && !inner(name, &line.name) && !inner(&line.name, name)
    };
    let mut out: Vec<OptionLine> = base.iter().filter(stays).cloned().collect();
    out.push(OptionLine { name: name.to_owned(), value: value.to_owned() });
    out
}

fn base() -> Vec<OptionLine> {
    let line =
        |[name, value]: [&str; 2]| OptionLine { name: name.to_owned(), value: value.to_owned() };
    BASE.into_iter().map(line).collect()
}

fn whole_name(row: &DirectiveName) -> String {
    match row.columns[0].as_str() {
        "-" => row.columns[1].clone(),
        place => format!("{place}.{}", row.columns[1]),
    }
}

/// Writes the options as YAML. Those of one table have to stand together.
fn yaml(lines: &[OptionLine], depth: usize, out: &mut String, marked: &str, at: &mut usize) {
    let mut done: Vec<&str> = Vec::new();
    for line in lines {
        let part = line.name.split('.').nth(depth).unwrap_or_default();
        if done.contains(&part) {
            continue;
        }
        done.push(part);
        let key = part.split('[').next().unwrap();
        let item = if part.contains('[') { "- " } else { "" };
        let indent = "    ".repeat(depth);
        let inner: Vec<OptionLine> = lines
            .iter()
            .filter(|one| one.name.split('.').nth(depth) == Some(part))
            .cloned()
            .collect();
        if line.name.split('.').count() == depth + 1 {
            writeln!(out, "{indent}{key}: {item}{}", line.value).unwrap();
            if line.name == marked {
                *at = out.lines().count();
            }
            continue;
        }
        writeln!(out, "{indent}{key}:").unwrap();
        let start = out.len();
        yaml(&inner, depth + 1, out, marked, at);
        if !item.is_empty() {
            // The first line of the element gets its mark.
            let mark = start + indent.len() + 2;
            out.replace_range(mark..mark + 2, "- ");
        }
    }
}

fn file(lines: &[OptionLine], marked: &str) -> OptionFile {
    let mut text = String::new();
    let mut at = 0;
    yaml(lines, 0, &mut text, marked, &mut at);
    OptionFile { text, line: u32::try_from(at).unwrap() }
}

/// The same options as labels and arguments of containers.
fn compose(lines: &[OptionLine]) -> String {
    let mut arguments = String::new();
    let mut labels = String::new();
    for OptionLine { name, value } in lines {
        let value = value.trim_matches(['[', ']', '\'']);
        let is_label = ["http.", "tcp.", "udp."].iter().any(|start| name.starts_with(start));
        let (out, mark) = if is_label { (&mut labels, "traefik.") } else { (&mut arguments, "--") };
        writeln!(out, "      - '{mark}{}={value}'", name.to_ascii_lowercase()).unwrap();
    }
    format!(
        "services:\n  edge:\n    image: traefik\n    command:\n{arguments}  app:\n    image: app\n    labels:\n{labels}"
    )
}

/// A file with all of these options.
pub fn file_with(options: &[(&DirectiveName, &str)], as_labels: bool) -> String {
    let mut lines = base();
    for (row, value) in options {
        lines = with(&lines, &whole_name(row), value);
    }
    if as_labels { compose(&lines) } else { file(&lines, "").text }
}

#[test]
fn no_option_of_traefik_is_forgotten() {
    let names = DirectiveNames::read("traefik.tsv", 2);
    assert!(names.rows.len() > 900);
    let mut found = Vec::new();
    for row in &names.rows {
        for value in values(&row.rest[0]) {
            let name = whole_name(row);
            let lines = with(&base(), &name, value);
            let mut texts = vec![file(&lines, &name).text];
            // Sections about Traefik itself are reported as a whole, whatever they say.
            let is_section = SECTIONS.iter().any(|section| name.starts_with(section));
            let is_first = *value == values(&row.rest[0])[0];
            if is_section && !is_first {
                continue;
            }
            if is_first {
                texts.push(compose(&lines));
            }
            for text in texts {
                let left = forgotten(&text, Dialect::Traefik);
                found.extend(left.into_iter().map(|what| format!("{name} {value}: {what}")));
            }
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} forgotten:\n{}", found.len(), found.join("\n"));
}

/// The outcome of a line, or of the innermost block around it that has one.
fn block_outcome(file: &OptionFile) -> &'static str {
    let lines: Vec<&str> = file.text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut at = file.line as usize;
    loop {
        let found = outcome(&file.text, u32::try_from(at).unwrap(), Dialect::Traefik);
        let depth = indent(lines[at - 1]);
        if found != "nothing" || depth == 0 {
            return found;
        }
        at = lines[..at].iter().rposition(|line| indent(line) < depth).unwrap() + 1;
    }
}

#[test]
fn every_option_of_traefik_becomes_what_is_expected() {
    DirectiveNames::read("traefik.tsv", 2).check_outcomes(|row| {
        let name = whole_name(row);
        let file = file(&with(&base(), &name, values(&row.rest[0])[0]), &name);
        block_outcome(&file)
    });
}
