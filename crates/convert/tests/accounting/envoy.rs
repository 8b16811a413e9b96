//! Every field of the messages of Envoy's API that the converter reads, at its place in a bootstrap, with several values.

use convert::dialect::Dialect;

use super::names::{DirectiveName, DirectiveNames};
use super::{forgotten, outcome};

/// A file with the tested field on a line of its own, and the number of that line.
pub struct EnvoyFile {
    pub text: String,
    line: u32,
}

const BASE: &str = include_str!("envoy-base.yaml");

/// Values of a form. The first one is filled.
pub fn values(form: &str) -> &'static [&'static str] {
    match form {
        "time" => &["5s", "0s", "{ seconds: 1, nanos: 5 }", "x", "~"],
        "flag" => &["true", "false", "5", "[]"],
        "number" => &["5", "0", "99999999999", "1.5", "{ a: 1 }"],
        "enum" => &["1", "NONE", "{}"],
        "text" => &["a", "/a", "10.0.0.1", "''", "[a]", "%REQ(X)%"],
        "texts" => &["[a]", "[]", "b", "[{ c: 1 }]", "['*', 'a*']"],
        "numbers" => &["[5]", "[]", "x"],
        "enums" => &["[A]", "[]"],
        "map" => {
            &["{ a: { b: 1 } }", "{}", "{ router: { '@type': x.RBACPerRoute, disabled: true } }"]
        }
        "messages" => &[
            "[{ a: 1 }]",
            "[]",
            "[{}]",
            "[{ name: a, cluster: b, string_match: { exact: c } }]",
            "[{ header: { key: x, value: y }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }]",
            "{ a: 1 }",
            "5",
        ],
        _ => &[
            "{ a: 1 }",
            "{}",
            "~",
            "{ name: known }",
            "{ filename: /x.pem }",
            "{ default_value: { numerator: 5, denominator: HUNDRED }, runtime_key: k }",
            "{ regex: ^/a, pattern: { regex: ^/b }, substitution: /c }",
            "[{ a: 1 }]",
            "x",
        ],
    }
}

/// The field of the base that excludes another one.
fn rival<'n>(message: &str, field: &'n str) -> &'n str {
    match (message, field) {
        (
            "route_match",
            "path"
            | "safe_regex"
            | "path_separated_prefix"
            | "connect_matcher"
            | "path_match_policy",
        ) => "prefix",
        ("route_action", "weighted_clusters" | "cluster_header" | "cluster_specifier_plugin") => {
            "cluster"
        }
        ("tcp_proxy", "weighted_clusters") => "cluster",
        ("health_check", "tcp_health_check" | "grpc_health_check" | "custom_health_check") => {
            "http_health_check"
        }
        _ => field,
    }
}

/// Puts a field into the file at the place of its message, in the place of one that is there. `None` without such a
/// place.
fn insert(text: &str, message: &str, field: &str, value: &str) -> Option<EnvoyFile> {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.trim() == format!("# {message}"))?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let depth = indent(lines[at]);
    let mut out: Vec<String> = lines[..=at].iter().map(|line| (*line).to_owned()).collect();
    out.push(format!("{}{field}: {value}", " ".repeat(depth)));
    let rival = rival(message, field);
    let mut inside = true;
    let mut dropped = false;
    for line in &lines[at + 1..] {
        inside &= indent(line) >= depth;
        if inside && indent(line) == depth {
            let key = line.trim_start().split(':').next().unwrap_or_default();
            dropped = key == field || key == rival;
        }
        if !(inside && dropped) {
            out.push((*line).to_owned());
        }
    }
    Some(EnvoyFile { text: out.join("\n") + "\n", line: u32::try_from(at).unwrap() + 2 })
}

/// The file that tests a field.
fn file(row: &DirectiveName, value: &str) -> Option<EnvoyFile> {
    insert(BASE, &row.columns[0], &row.columns[1], value)
}

/// A field and one of its values.
pub struct ChosenField<'n> {
    pub row: &'n DirectiveName,
    pub value: &'n str,
}

/// A file with all of these fields, as far as their places are still there.
pub fn file_with(fields: &[ChosenField<'_>]) -> String {
    let mut text = BASE.to_owned();
    for ChosenField { row, value } in fields {
        if let Some(file) = insert(&text, &row.columns[0], &row.columns[1], value) {
            text = file.text;
        }
    }
    text
}

#[test]
fn no_field_of_envoy_is_forgotten() {
    let names = DirectiveNames::read("envoy.tsv", 2);
    assert!(names.rows.len() > 500);
    let mut found = Vec::new();
    for row in &names.rows {
        for value in values(&row.rest[0]) {
            let file = file(row, value).unwrap_or_else(|| panic!("no place for {:?}", row.columns));
            let left = forgotten(&file.text, Dialect::Envoy);
            found.extend(left.into_iter().map(|what| format!("{:?} {value}: {what}", row.columns)));
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} forgotten:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_field_of_envoy_becomes_what_is_expected() {
    DirectiveNames::read("envoy.tsv", 2).check_outcomes(|row| {
        let file = file(row, values(&row.rest[0])[0]);
        file.map_or("elsewhere", |file| outcome(&file.text, file.line, Dialect::Envoy))
    });
}
