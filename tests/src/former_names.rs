//! Former public names are not in the documentation, the examples, the rules and the dashboard: they use the new ones.
//!
//! It does not look for former names that have another meaning too, such as `share`.

use model::config::renamed_keys::{RenamedKey, renamed_keys, renamed_words};
use model::renamed_metrics::RENAMED_METRICS;
use model::renamed_names::RENAMED_VALUES;

use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// Files that name former names on purpose: their list, history, and the contract, which has both names of fields.
const EXEMPT: [&str; 5] = [
    "docs/reference/renamed.md",
    "docs/reference/openapi.json",
    "CHANGELOG.md",
    "tests/compat/",
    "crates/convert/tests/data/",
];

/// Former names of one word that pages have in backticks with another meaning.
const OTHERWISE: [&str; 29] = [
    "age",
    "answer",
    "answers",
    "available",
    "bound",
    "busy",
    "cause",
    "count",
    "cuts",
    "fast",
    "full",
    "gone",
    "keep",
    "kept",
    "left",
    "most",
    "pins",
    "return",
    "rule",
    "send",
    "share",
    "take",
    "text",
    "time",
    "us",
    "volume",
    "what",
    "whole",
    "promise",
];

/// A text that must not occur, and what to write.
struct FormerText {
    text: String,
    now: String,
}

/// Former names in the pages, examples, rules and dashboard.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let metrics = metric_names();
    let in_backticks = names_in_backticks();
    let events = event_names();
    let mut out = Vec::new();
    for file in tree.files.iter().filter(|file| is_read_by_users(file)) {
        let is_page = file.path.ends_with(".md");
        let names = if is_page { &in_backticks[..] } else { &[] };
        let events = if is_page { &[] } else { &events[..] };
        for (at, line) in file.text.lines().enumerate() {
            let found = metrics.iter().filter(|name| has_word(line, &name.text));
            let found = found.chain(events.iter().filter(|name| has_word(line, &name.text)));
            let found = found.chain(names.iter().filter(|name| line.contains(&name.text)));
            for FormerText { text, now } in found {
                let text = format!("{text} is a former name; write `{now}`");
                out.push(RuleBreach::new(&file.path, at + 1, text));
            }
        }
    }
    out
}

fn is_read_by_users(file: &SourceFile) -> bool {
    let kinds = [".md", ".toml", ".yml", ".json"];
    kinds.iter().any(|kind| file.path.ends_with(kind))
        && !EXEMPT.iter().any(|exempt| file.path.starts_with(exempt))
}

fn metric_names() -> Vec<FormerText> {
    let names = RENAMED_METRICS.iter();
    names
        .map(|metric| FormerText {
            text: metric.former_name.to_owned(),
            now: metric.name.to_owned(),
        })
        .collect()
}

/// Kinds of events, which alert rules and the dashboard have in values of labels.
fn event_names() -> Vec<FormerText> {
    let words = renamed_words();
    let events = words.iter().filter(|word| word.path.ends_with("hook.on"));
    let names = events.flat_map(|word| {
        word.former_names
            .iter()
            .map(|former| FormerText { text: (*former).to_owned(), now: word.name.to_owned() })
    });
    names.collect()
}

fn names_in_backticks() -> Vec<FormerText> {
    let mut out = Vec::new();
    for RenamedKey { path, name, former_names } in renamed_keys() {
        let table = path.rsplit('.').next().unwrap_or_default();
        for former in former_names {
            push_name(&mut out, former, name);
            out.push(FormerText {
                text: format!("`{table}.{former}`"),
                now: format!("{table}.{name}"),
            });
        }
    }
    for word in renamed_words() {
        word.former_names.iter().for_each(|former| push_name(&mut out, former, word.name));
    }
    for value in RENAMED_VALUES {
        push_name(&mut out, value.former_name, value.name);
    }
    out
}

/// Adds a name alone, unless it has another meaning too.
fn push_name(out: &mut Vec<FormerText>, former: &str, now: &str) {
    // The event of this name is that of the command `cut`.
    if !OTHERWISE.contains(&former) && former != "server-cut" {
        out.push(FormerText { text: format!("`{former}`"), now: now.to_owned() });
    }
}

/// Whether `line` has the metric, also with the suffix of its type.
fn has_word(line: &str, name: &str) -> bool {
    let suffixes = ["_total", "_bucket", "_sum", "_count", ""];
    let joins = |c: char| c == '_' || c.is_ascii_alphanumeric();
    line.match_indices(name).any(|(at, _)| {
        let rest = &line[at + name.len()..];
        let ends =
            |suffix: &str| rest.strip_prefix(suffix).is_some_and(|rest| !rest.starts_with(joins));
        suffixes.iter().any(|suffix| ends(suffix))
    })
}
