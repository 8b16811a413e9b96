//! Every directive and option of a Caddyfile that the documentation lists, in every place that allows it.

use std::fmt::Write as _;

use convert::dialect::Dialect;
use proptest::prelude::*;

use super::generated::{ChosenLine, cases, lines, seed, words};
use super::names::{DirectiveName, DirectiveNames};
use super::{forgotten, outcome};

/// Words that directives read: an address, a time, a path, a matcher, a word.
pub const ARGUMENTS: [&str; 12] = [
    "10.0.0.1:80",
    "/x",
    "30s",
    "a",
    "@m",
    "X-A",
    "http",
    "file",
    "2",
    "{remote_host}",
    "internal",
    "/y*",
];

/// A file with the tested line, and the number of that line. `None` for an unknown place.
fn file(row: &DirectiveName, context: &str, arity: usize, rotate: usize) -> Option<String> {
    let words: Vec<&str> =
        (0..arity).map(|at| ARGUMENTS[(at + rotate) % ARGUMENTS.len()]).collect();
    let end = if row.rest[0] == "block" { " {\n}" } else { "" };
    let line = format!("{} {}{end}", row.columns[0], words.join(" "));
    let proxy = "reverse_proxy 10.0.0.9:80";
    let places = match context {
        "global" => ["{", "", "}", "http://a.example {", proxy, "}"],
        "servers" => ["{\nservers {", "", "}\n}", "http://a.example {", proxy, "}"],
        "site" => ["http://a.example {\n@m method GET", "", "", proxy, "}", ""],
        "handle" => ["http://a.example {\n@m method GET\nhandle @m {", "", proxy, "}", "}", ""],
        "proxy" => ["http://a.example {\nreverse_proxy 10.0.0.9:80 {", "", "}", "}", "", ""],
        "transport" => [
            "http://a.example {\nreverse_proxy 10.0.0.9:80 {\ntransport http {",
            "",
            "}",
            "}",
            "}",
            "",
        ],
        "tls" => ["a.example {\ntls {", "", "}", proxy, "}", ""],
        "matcher" => {
            ["http://a.example {\n@x {", "", "}", "reverse_proxy @x 10.0.0.8:80", proxy, "}"]
        }
        _ => return None,
    };
    let [before, _, rest @ ..] = places;
    Some(format!("{before}\n{line}\n{}\n", rest.join("\n")))
}

/// The number of the tested line.
fn line_number(text: &str, row: &DirectiveName) -> u32 {
    let is_tested = |line: &str| line.split(' ').next() == Some(&row.columns[0]);
    let found: Vec<usize> =
        text.lines().enumerate().filter(|(_, line)| is_tested(line)).map(|(at, _)| at).collect();
    let own = match (row.columns[0].as_str(), found.as_slice()) {
        ("tls", [_, second]) => *second,
        (_, [first, ..]) => *first,
        (_, []) => 0,
    };
    own as u32 + 1
}

#[test]
fn no_directive_of_caddy_is_forgotten() {
    let names = DirectiveNames::read("caddy.tsv", 2);
    assert!(names.rows.len() > 180);
    let mut found = Vec::new();
    for row in &names.rows {
        for context in row.contexts() {
            for arity in row.arities() {
                for rotate in [0, 1, 4, 6, 7] {
                    let Some(text) = file(row, context, arity, rotate) else { continue };
                    let left = forgotten(&text, Dialect::Caddy);
                    found.extend(left.into_iter().map(|what| format!("{context}: {what}")));
                }
            }
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} forgotten:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_directive_of_caddy_becomes_what_is_expected() {
    DirectiveNames::read("caddy.tsv", 2).check_outcomes(|row| {
        let context = row.contexts().first().copied().unwrap_or_default();
        let text = file(row, context, row.least, 0);
        text.map_or("elsewhere", |text| outcome(&text, line_number(&text, row), Dialect::Caddy))
    });
}

fn generated_file(chosen: &[ChosenLine]) -> String {
    let names = DirectiveNames::read("caddy.tsv", 2);
    let mut places = vec![String::new(); 7];
    for (name, arguments, place) in chosen {
        let row = &names.rows[name.index(names.rows.len())];
        let end = if row.rest[0] == "block" { " {\n}" } else { "" };
        let words = words(arguments, &ARGUMENTS);
        let place = &mut places[place.index(7)];
        writeln!(place, "{} {words}{end}", row.columns[0]).unwrap();
    }
    let [global, site, handle, proxy, transport, matcher, tls] = &places[..] else {
        unreachable!()
    };
    format!(
        "{{\n{global}}}\nhttp://a.example {{\n@m {{\n{matcher}}}\n{site}handle @m {{\n{handle}}}\n\
         reverse_proxy 10.0.0.9:80 {{\n{proxy}transport http {{\n{transport}}}\n}}\n}}\n\
         b.example {{\ntls {{\n{tls}}}\nreverse_proxy @m 10.0.0.8:80\n}}\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), rng_seed: seed(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_word_of_a_generated_caddyfile_is_forgotten(chosen in lines()) {
        let text = generated_file(&chosen);
        let left = forgotten(&text, Dialect::Caddy);
        prop_assert!(left.is_empty(), "{left:?} of\n{text}");
    }
}
