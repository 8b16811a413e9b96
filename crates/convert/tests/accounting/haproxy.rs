//! Every keyword of HAProxy's manual, in every section that allows it, with few and with many arguments.

use convert::dialect::Dialect;

use super::names::{DirectiveName, DirectiveNames};
use super::{forgotten, outcome};

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
