//! Command lines in the docs: this program accepts each of them.
//!
//! Nothing is run here: `tests/tests/documented` does that. Lines with placeholders, such as `[--json]` or `…`, are
//! skipped.

use clap::Parser;
use clap::error::ErrorKind;
use tests::documented_commands::commands;
use tests::tree::SourceTree;

use crate::Cli;

/// The words of a line as a shell splits it, up to a comment, a description, a pipe or a second command.
fn words(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => {
                out.extend(word.take());
                if matches!(rest.peek(), Some(' ' | '#' | '|' | '>' | '&' | '<') | None) {
                    return out;
                }
            }
            (None, ';' | '|') => break,
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

#[test]
fn every_command_on_the_pages_is_one_that_the_program_takes() {
    let mut seen = 0;
    let mut wrong = Vec::new();
    let tree = SourceTree::read_repository().unwrap();
    for shown in commands(&tree).iter().filter(|shown| shown.text.starts_with("steelyard ")) {
        let words = words(&shown.text);
        if words.iter().any(|word| word.contains(['[', ']', '…', '<']) || word == "VERB") {
            continue;
        }
        seen += 1;
        let helps = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion];
        if let Err(error) = Cli::try_parse_from(&words)
            && !helps.contains(&error.kind())
        {
            wrong.push(format!("{}:{}: {}: {}", shown.page, shown.line, shown.text, error.kind()));
        }
    }
    assert!(seen > 60, "{seen}");
    assert!(wrong.is_empty(), "of {seen}:\n{}", wrong.join("\n"));
}

#[test]
fn a_line_is_split_as_a_shell_splits_it() {
    for (line, expected) in [
        ("steelyard status", "steelyard|status"),
        ("steelyard server drain 'web/*'   all", "steelyard|server|drain|web/*"),
        ("steelyard report --json | jq .total", "steelyard|report|--json"),
        ("steelyard check x.toml # every mistake", "steelyard|check|x.toml"),
        (
            "steelyard server maintain web/a --reason 'new disks'",
            "steelyard|server|maintain|web/a|--reason|new disks",
        ),
    ] {
        assert_eq!(words(line).join("|"), expected);
    }
}
