//! Every directive of the server's manual, in every place that allows it.

use std::fmt::Write as _;

use convert::dialect::Dialect;
use proptest::prelude::*;

use super::generated::{ChosenLine, cases, lines, seed, words};
use super::names::{DirectiveName, DirectiveNames};
use super::{forgotten, outcome};

/// Words that directives read: addresses, a time, a path, a pattern, a flag, a word.
const ARGUMENTS: [&str; 14] = [
    "on",
    "/x",
    "http://10.0.0.2:80/y",
    "set",
    "X-A",
    "all",
    "^/z",
    "[R=301,L]",
    "10.0.0.0/8",
    "30",
    "%{HTTP_HOST}",
    "valid-user",
    "!",
    "granted",
];

/// The directive on lines of its own.
fn directive(row: &DirectiveName, words: &str) -> String {
    let name = &row.columns[0];
    match row.rest[0].as_str() {
        "block" => format!("<{name} {words}>\n</{name}>"),
        _ => format!("{name} {words}"),
    }
}

/// A file with these lines in each place. Those in the virtual host begin on the third line.
fn file(host: &str, location: &str, proxy: &str, main: &str) -> String {
    format!(
        "Listen 80\n<VirtualHost *:80>\n{host}\nServerName a.example\nProxyPass / balancer://u/\n<Location /a>\n\
         {location}\n</Location>\n</VirtualHost>\n<Proxy balancer://u>\nBalancerMember http://10.0.0.1:80\n{proxy}\n</Proxy>\n{main}\n"
    )
}

fn file_with(context: &str, lines: &str) -> String {
    match context {
        "host" => file(lines, "", "", ""),
        "location" => file("", lines, "", ""),
        "proxy" => file("", "", lines, ""),
        _ => file("", "", "", lines),
    }
}

#[test]
fn no_directive_of_apache_is_forgotten() {
    let names = DirectiveNames::read("apache.tsv", 2);
    assert!(names.rows.len() > 500);
    let mut found = Vec::new();
    for row in &names.rows {
        for context in row.contexts() {
            for arity in row.arities() {
                for rotate in [0, 1, 3, 6] {
                    let words: Vec<&str> =
                        (0..arity).map(|at| ARGUMENTS[(at + rotate) % ARGUMENTS.len()]).collect();
                    let text = file_with(context, &directive(row, &words.join(" ")));
                    let left = forgotten(&text, Dialect::Apache);
                    found.extend(left.into_iter().map(|what| format!("{context}: {what}")));
                }
            }
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} forgotten:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_directive_of_apache_becomes_what_is_expected() {
    DirectiveNames::read("apache.tsv", 2).check_outcomes(|row| {
        let context = row.contexts().first().copied().unwrap_or_default();
        let words: Vec<&str> = (0..row.least).map(|at| ARGUMENTS[at % ARGUMENTS.len()]).collect();
        let own = directive(row, &words.join(" "));
        let text = file_with(context, &own);
        let first = own.lines().next().unwrap_or_default();
        let line = text.lines().position(|line| line == first).unwrap_or(0) as u32 + 1;
        outcome(&text, line, Dialect::Apache)
    });
}

fn generated_file(chosen: &[ChosenLine]) -> String {
    let names = DirectiveNames::read("apache.tsv", 2);
    let mut places = vec![String::new(); 4];
    for (name, arguments, place) in chosen {
        let row = &names.rows[name.index(names.rows.len())];
        let words = words(arguments, &ARGUMENTS);
        let place = &mut places[place.index(4)];
        writeln!(place, "{}", directive(row, &words)).unwrap();
    }
    file(&places[0], &places[1], &places[2], &places[3])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), rng_seed: seed(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_word_of_a_generated_apache_file_is_forgotten(chosen in lines()) {
        let text = generated_file(&chosen);
        let left = forgotten(&text, Dialect::Apache);
        prop_assert!(left.is_empty(), "{left:?} of\n{text}");
    }
}
