//! Every word of a source file is carried over or reported: no word is read and then lost. The tests use the example
//! files, every directive in the manuals of the other balancers, and generated files.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "the whole program is a test, which the lints cannot see"
)]

#[path = "accounting/apache.rs"]
mod apache;
#[path = "accounting/caddy.rs"]
mod caddy;
#[path = "accounting/dispatcher.rs"]
mod dispatcher;
#[path = "accounting/envoy.rs"]
mod envoy;
#[path = "accounting/generated.rs"]
mod generated;
#[path = "accounting/haproxy.rs"]
mod haproxy;
#[path = "accounting/keepalived.rs"]
mod keepalived;
#[path = "accounting/names.rs"]
mod names;
#[path = "accounting/nginx.rs"]
mod nginx;
#[path = "accounting/traefik.rs"]
mod traefik;

use convert::dialect::Dialect;
use convert::notes::{ConversionNote, NoteKind};
use convert::run::convert;

/// The start of the reason in a note about words without an outcome.
const FORGOTTEN: &str = "the converter made nothing of it";

/// The words of a text that have no outcome, with their lines.
fn forgotten(text: &str, from: Dialect) -> Vec<String> {
    let result = convert(text, "x", from);
    let notes = result.notes.iter().filter(|note| note.reason.starts_with(FORGOTTEN));
    let listed: Vec<String> =
        notes.map(|note| format!("{}: {}", note.line, note.directive)).collect();
    assert_eq!(result.unsettled == 0, listed.is_empty(), "{} words", result.unsettled);
    listed
}

/// The worst outcome on a line.
fn outcome(text: &str, line: u32, from: Dialect) -> &'static str {
    let result = convert(text, "x", from);
    let on_line = |note: &&ConversionNote| note.line == line;
    match result.notes.iter().filter(on_line).map(|note| note.kind).min() {
        Some(NoteKind::LeftOut) => "left-out",
        Some(NoteKind::Changed) => "changed",
        Some(NoteKind::Converted) => "converted",
        Some(NoteKind::NotNeeded) => "not-needed",
        None => "nothing",
    }
}

#[test]
fn nothing_of_the_example_files_is_forgotten() {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let Some(dialect) = Dialect::recognise(&text).filter(|_| !name.ends_with(".expected"))
        else {
            continue;
        };
        found.extend(forgotten(&text, dialect).into_iter().map(|what| format!("{name}:{what}")));
    }
    assert!(found.is_empty(), "{} forgotten:\n{}", found.len(), found.join("\n"));
}
