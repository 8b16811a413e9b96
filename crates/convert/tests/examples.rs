//! Whole configurations of each dialect: the output passes `check`, and equals the expected file beside the example.
//!
//! `UPDATE_EXPECT=1` overwrites the expected files. Review the changes afterwards.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use std::path::{Path, PathBuf};

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::{ConversionResult, convert};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn examples(dialect: Dialect) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with(dialect.name()) && !name.ends_with(".expected") {
            found.push((name, std::fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    found
}

fn written_and_reported(converted: &ConversionResult) -> String {
    let mut text = converted.text.clone().unwrap_or_default();
    text.push_str("\n# What was said:\n");
    for note in &converted.notes {
        let kind = match note.kind {
            NoteKind::LeftOut => "left out",
            NoteKind::Changed => "changed",
            NoteKind::NotNeeded => "not needed",
            // Converted directives are visible in the configuration itself.
            NoteKind::Converted => continue,
        };
        text.push_str(&format!(
            "# {} {kind}: {}\n#   {}\n",
            note.line, note.directive, note.reason
        ));
        if !note.instead.is_empty() {
            text.push_str(&format!("#   instead: {}\n", note.instead));
        }
    }
    text
}

fn expected(name: &str, text: &str) {
    let file = data().join(format!("{name}.expected"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        text == expected,
        "{} differs; look, then run again with UPDATE_EXPECT=1",
        file.display()
    );
}

fn all_of(dialect: Dialect) {
    let examples = examples(dialect);
    let least = match dialect {
        Dialect::Haproxy | Dialect::Nginx => 30,
        Dialect::Keepalived | Dialect::Dispatcher => 8,
        _ => 5,
    };
    assert!(examples.len() >= least, "{dialect:?} has {} examples", examples.len());
    for (name, text) in examples {
        assert_eq!(Dialect::recognise(&text), Some(dialect), "{name} is recognised");
        let converted = convert(&text, &name, dialect);
        let written = converted.text.as_ref().unwrap_or_else(|| panic!("{name}: {converted:?}"));
        if let Err(findings) = model::config::load(written, &name) {
            panic!("{name}: what was written is refused:\n{findings}");
        }
        // A note has a location and a reason.
        for note in &converted.notes {
            assert!(!note.reason.is_empty() && note.file == name, "{note:?}");
            assert!(note.line as usize <= text.lines().count(), "{note:?}");
        }
        expected(&name, &written_and_reported(&converted));
    }
}

#[test]
fn haproxy() {
    all_of(Dialect::Haproxy);
}

#[test]
fn nginx() {
    all_of(Dialect::Nginx);
}

#[test]
fn keepalived() {
    all_of(Dialect::Keepalived);
}

#[test]
fn dispatcher() {
    all_of(Dialect::Dispatcher);
}

#[test]
fn envoy() {
    all_of(Dialect::Envoy);
}

#[test]
fn traefik() {
    all_of(Dialect::Traefik);
}

#[test]
fn caddy() {
    all_of(Dialect::Caddy);
}

#[test]
fn apache() {
    all_of(Dialect::Apache);
}

#[test]
fn no_example_loses_a_directive_without_a_word() {
    // Every directive is in the output or in a note.
    for dialect in [Dialect::Haproxy, Dialect::Keepalived] {
        for (name, text) in examples(dialect) {
            let converted = convert(&text, &name, dialect);
            let unread =
                |note: &&convert::notes::ConversionNote| note.reason.contains("does not know");
            let unknown: Vec<_> = converted.notes.iter().filter(unread).collect();
            assert!(unknown.is_empty(), "{name}: {unknown:?}");
        }
    }
}
