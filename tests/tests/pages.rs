//! The examples on the pages work: the program accepts the configurations in Markdown, and the commands in the README
//! exist. The API's document and the page's types match the source.
//!
//! The test `tidy` checks links.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which may fail")]

use model::cause::Cause;
use model::config::load;
use model::slo::outcome::{self, SloOutcome};
use serde_json::Value;
use tests::contract::document::document;
use tests::contract::markdown::markdown;
use tests::contract::source::TypeIndex;
use tests::contract::typescript::typescript;
use tests::tree::{SourceFile, SourceTree, top};

/// The fenced blocks of a page in one language.
fn blocks<'t>(page: &'t str, language: &str) -> Vec<&'t str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

fn page<'t>(tree: &'t SourceTree, path: &str) -> &'t SourceFile {
    tree.file(path).unwrap()
}

#[test]
fn configurations_on_pages_are_valid() {
    let tree = SourceTree::read_repository().unwrap();
    let mut seen = 0;
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for block in blocks(&file.text, "toml").into_iter().filter(|b| b.contains("[service.")) {
            if let Err(findings) = load(block, &file.path) {
                panic!("{findings}");
            }
            seen += 1;
        }
    }
    assert!(seen > 0, "no page shows a configuration");
}

/// Names of parameters and fields of the contract without a description, with their places.
fn find_undescribed(value: &Value, place: &str, found: &mut Vec<String>) {
    let is_described =
        |one: &Value| one["description"].as_str().is_some_and(|text| !text.is_empty());
    for (name, field) in value["properties"].as_object().into_iter().flatten() {
        // A field with one possible value, or a variant that is described itself, says nothing of its own.
        if !(is_described(field) || field["const"].is_string() || is_described(value)) {
            found.push(format!("{place}.{name}"));
        }
    }
    for parameter in value["parameters"].as_array().into_iter().flatten() {
        if !is_described(parameter) {
            found.push(format!("{place}: {}", parameter["name"]));
        }
    }
    match value {
        Value::Object(inner) => inner
            .iter()
            .for_each(|(key, one)| find_undescribed(one, &format!("{place}/{key}"), found)),
        Value::Array(inner) => inner.iter().for_each(|one| find_undescribed(one, place, found)),
        _ => {}
    }
}

#[test]
fn every_parameter_and_field_of_the_api_is_described() {
    let tree = SourceTree::read_repository().unwrap();
    let contract = document(&TypeIndex::read(&tree).unwrap()).unwrap();
    let mut found = Vec::new();
    find_undescribed(&contract["paths"], "", &mut found);
    // A type says what it is for, and each of its fields what it holds.
    for (name, schema) in contract["components"]["schemas"].as_object().unwrap() {
        let mut fields = schema.clone();
        fields["description"] = Value::Null;
        find_undescribed(&fields, name, &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn what_counts_against_a_promise_is_reported_as_it_is_decided() {
    let tree = SourceTree::read_repository().unwrap();
    let text = &page(&tree, "docs/slo.md").text;
    let row = |first: &str, name: &str| {
        let start = format!("| `{first}` |");
        let mut rows = text.lines().filter(|line| line.starts_with(&start));
        assert!(rows.any(|line| line.contains(&format!("`{name}`"))), "{name} is not of {first}");
    };
    let once = |name: &str, most: usize| {
        let rows = text.lines().filter(|line| line.starts_with("| `"));
        let found = rows.filter(|line| line.contains(&format!("`{name}`"))).count();
        assert_eq!(found, most, "{name}");
    };
    for cause in Cause::ALL {
        let outcome::ClassifiedOutcome { outcome, error } = outcome::classify_cause(*cause);
        let end = match outcome {
            SloOutcome::Good => panic!("{} is no good end", cause.name()),
            SloOutcome::Failed => "failed",
            SloOutcome::ClientAborted => "aborted",
            SloOutcome::Declined => "declined",
        };
        row(end, cause.name());
        if let Some(error) = error {
            row(error.name(), cause.name());
        }
        once(cause.name(), 1 + usize::from(error.is_some()));
    }
}

#[test]
fn every_error_answer_has_a_row_among_the_symptoms() {
    let tree = SourceTree::read_repository().unwrap();
    let text = &page(&tree, "docs/guides/symptoms.md").text;
    for cause in Cause::ALL.iter().filter(|cause| cause.status() >= 500) {
        let begins = format!("| {} |", cause.status());
        let name = format!("`{}`", cause.name());
        let rows = text.lines().filter(|line| line.starts_with(&begins) && line.contains(&name));
        assert_eq!(rows.count(), 1, "rows for {} {}", cause.status(), cause.name());
    }
}

#[test]
fn targets_that_the_readme_names_exist() {
    let tree = SourceTree::read_repository().unwrap();
    let makefile = &page(&tree, "Makefile").text;
    let readme = &page(&tree, "README.md").text;
    let mut seen = 0;
    for rest in readme.split("make ").skip(1) {
        let target: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
        assert!(makefile.contains(&format!("\n{target}:\n")), "`make {target}` does not exist");
        seen += 1;
    }
    assert!(seen >= 2);
}

#[test]
fn the_contract_is_written_from_the_types() {
    let tree = SourceTree::read_repository().unwrap();
    let document = document(&TypeIndex::read(&tree).unwrap()).unwrap();
    let json = serde_json::to_string_pretty(&document).unwrap() + "\n";
    for (path, fresh) in [
        ("docs/reference/openapi.json", json),
        ("docs/reference/api.md", markdown(&document)),
        ("crates/api/web/src/contract.ts", typescript(&document)),
    ] {
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(top().join(path), &fresh).unwrap();
        }
        let found = std::fs::read_to_string(top().join(path)).unwrap_or_default();
        assert!(
            found == fresh,
            "{path} is not what the types say: UPDATE_EXPECT=1 cargo test -p tests --test pages"
        );
    }
}

#[test]
fn the_glossary_names_tables_and_commands_that_exist() {
    let tree = SourceTree::read_repository().unwrap();
    let tables = &page(&tree, "docs/reference/configuration.md").text;
    let commands = &page(&tree, "docs/reference/commands.md").text;
    let mut seen = 0;
    for term in page(&tree, "docs/glossary.md").text.lines() {
        for code in term.split('`').skip(1).step_by(2) {
            let exists = match code {
                table if table.starts_with('[') => tables.contains(&format!("\n## `{table}`\n")),
                command if command.starts_with("steelyard ") => {
                    commands.contains(&format!("\n## {command}\n"))
                        || commands.contains(&format!("\n## `{command}`\n"))
                }
                _ => continue,
            };
            assert!(exists, "{code} is in no reference: {term}");
            seen += 1;
        }
    }
    assert!(seen > 30, "only {seen} terms name a table or a command");
}
