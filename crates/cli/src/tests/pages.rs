//! What the pages tell people to type: every command line of this program in a block of a page is one that it takes.
//!
//! Nothing is run here. What is to be replaced, such as `[--json]` or `…`, makes a line that is not looked at.

use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind;

use crate::Program;

/// Pages below this folder, and the README.
fn pages() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut out = vec![top.join("README.md")];
    let mut folders = vec![top.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                out.push(path);
            }
        }
    }
    out
}

/// The command lines in blocks of a page: those that are indented or fenced without a language, or as a shell's.
fn lines(page: &str) -> Vec<String> {
    let (mut fence, mut out) = (None, Vec::new());
    let mut begun = String::new();
    for line in page.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = fence.is_none().then(|| language.trim().to_owned());
            continue;
        }
        let shown = fence.as_deref().is_some_and(|it| ["", "sh", "console", "shell"].contains(&it));
        if !shown && !line.starts_with("    ") {
            continue;
        }
        let line = line.trim_start().trim_start_matches("$ ").trim_start_matches("sudo ");
        if begun.is_empty() && !line.starts_with("steelyard ") {
            continue;
        }
        match line.strip_suffix('\\') {
            Some(more) => begun.push_str(more),
            None => out.push(std::mem::take(&mut begun) + line),
        }
    }
    out
}

/// The words of a line as a shell would see them, up to a comment, a description, a pipe or a second command.
fn words(line: &str) -> Vec<String> {
    let (mut out, mut word, mut quote) = (Vec::new(), None::<String>, None);
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
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in lines(&text) {
            let words = words(&line);
            if words.iter().any(|word| word.contains(['[', ']', '…', '<']) || word == "VERB") {
                continue;
            }
            seen += 1;
            let helps = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion];
            if let Err(error) = Program::try_parse_from(&words)
                && !helps.contains(&error.kind())
            {
                let page = page.file_name().unwrap_or_default().display();
                wrong.push(format!("{page}: {line}: {}", error.kind()));
            }
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
    let page = "```\nsteelyard status\n```\n```toml\nsteelyard no\n```\n    steelyard lab up \\\n        wan.toml\n";
    assert_eq!(lines(page), ["steelyard status", "steelyard lab up wan.toml"]);
}
