//! Every command of the dispatcher's reference, with its keywords, with few and with many values.

use std::fmt::Write as _;

use convert::dialect::Dialect;
use proptest::prelude::*;

use super::generated::{ChosenLine, cases, lines, seed, words};
use super::names::{DirectiveName, DirectiveNames};
use super::{forgotten, outcome};

const ARGUMENTS: [&str; 10] =
    ["3", "10.0.0.9", "yes", "nat", "60", "a", "tcp", "80", "10.0.0.1:80", "primary"];

/// Commands that make what others are about.
const BASE: &str = "dscontrol executor start\ndscontrol cluster add 10.0.0.1\ndscontrol port add 10.0.0.1:80\n\
     dscontrol server add 10.0.0.1:80:10.0.0.2\ndscontrol rule add 10.0.0.1:80:r type ip beginrange 10.1.0.0 endrange 10.1.0.255\n\
     dscontrol rule useserver 10.0.0.1:80:r 10.0.0.2\ndscontrol manager start\ndscontrol advisor start http 80\n";

/// What a command is about: the words between its action and its keywords.
fn target(command: &str) -> &'static str {
    match command.split(' ').next().unwrap_or_default() {
        "cluster" => "10.0.0.1",
        "port" => "10.0.0.1:80",
        "server" => "10.0.0.1:80:10.0.0.2",
        "rule" => "10.0.0.1:80:r",
        "advisor" => "http 80",
        _ => "",
    }
}

fn line(row: &DirectiveName, values: &str) -> String {
    let command = row.columns[0].as_str();
    let name = row.columns[1].as_str();
    let target = target(command);
    // An action stands before the target, and a keyword behind it.
    match (command.contains(' '), name) {
        (true, _) => format!("dscontrol {command} {target} {name} {values}"),
        (false, "-") => format!("dscontrol {command} {values}"),
        (false, _) if target.is_empty() || row.most == 0 => {
            format!("dscontrol {command} {name} {values}")
        }
        (false, _) => {
            let rest = values.split_once(' ').map_or("", |pair| pair.1);
            format!("dscontrol {command} {name} {target} {rest}")
        }
    }
}

fn values(arity: usize, rotate: usize) -> String {
    let words: Vec<&str> =
        (0..arity).map(|at| ARGUMENTS[(at + rotate) % ARGUMENTS.len()]).collect();
    words.join(" ")
}

#[test]
fn no_command_of_the_dispatcher_is_forgotten() {
    let names = DirectiveNames::read("dispatcher.tsv", 2);
    assert!(names.rows.len() > 200);
    let mut found = Vec::new();
    for row in &names.rows {
        for arity in row.arities() {
            for rotate in [0, 1, 2, 5] {
                let text = format!("{BASE}{}\n", line(row, &values(arity, rotate)));
                let left = forgotten(&text, Dialect::Dispatcher);
                found.extend(left.into_iter().map(|what| format!("{:?}: {what}", row.columns)));
            }
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} forgotten:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_command_of_the_dispatcher_becomes_what_is_expected() {
    DirectiveNames::read("dispatcher.tsv", 2).check_outcomes(|row| {
        let text = format!("{BASE}{}\n", line(row, &values(row.least, 0)));
        let last = u32::try_from(text.lines().count()).unwrap();
        outcome(&text, last, Dialect::Dispatcher)
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), rng_seed: seed(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_word_of_a_generated_dispatcher_file_is_forgotten(chosen in lines()) {
        let names = DirectiveNames::read("dispatcher.tsv", 2);
        let mut text = BASE.to_owned();
        for (name, arguments, _) in &chosen as &[ChosenLine] {
            let row = &names.rows[name.index(names.rows.len())];
            writeln!(text, "{}", line(row, &words(arguments, &ARGUMENTS))).unwrap();
        }
        let left = forgotten(&text, Dialect::Dispatcher);
        prop_assert!(left.is_empty(), "{left:?} of\n{text}");
    }
}
