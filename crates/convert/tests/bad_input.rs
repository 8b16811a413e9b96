//! Damaged and unfinished files of every dialect: nothing is written of them, and the line is named. Line ends and marks
//! of other systems change nothing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use convert::dialect::Dialect;
use convert::run::{ConversionResult, convert};

/// An example file of a dialect.
struct ExampleFile {
    name: String,
    text: String,
    dialect: Dialect,
}

fn examples() -> Vec<ExampleFile> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        // Long examples say no more about their ends than short ones.
        if name.ends_with(".expected") || text.len() > 20_000 {
            continue;
        }
        let dialect = name.split('-').next().and_then(Dialect::from_name).unwrap();
        found.push(ExampleFile { name, text, dialect });
    }
    assert!(Dialect::ALL.iter().all(|one| found.iter().any(|file| file.dialect == *one)));
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn assert_refused(result: &ConversionResult, line: usize, what: &str) {
    assert!(result.text.is_none(), "{what} was written:\n{}", result.text.as_ref().unwrap());
    let is_named = result.notes.iter().any(|note| note.line as usize == line);
    assert!(is_named, "{what}: line {line} is not named: {:?}", result.notes);
}

/// The text with another line in front of a line, from 1.
fn with_line(text: &str, line: usize, added: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(line - 1, added);
    lines.join("\n")
}

#[test]
fn line_ends_and_marks_of_other_systems_change_nothing() {
    for ExampleFile { name, text, dialect } in examples() {
        let plain = convert(&text, &name, dialect);
        for (what, other) in [
            ("CRLF", text.replace('\n', "\r\n")),
            ("a byte order mark", format!("\u{feff}{text}")),
            ("no last line end", text.trim_end().to_owned()),
        ] {
            let result = convert(&other, &name, dialect);
            assert_eq!(result.text, plain.text, "{name} with {what}");
            assert_eq!(result.left_out, plain.left_out, "{name} with {what}");
            assert_eq!(Dialect::recognise(&other), Some(dialect), "{name} with {what}");
        }
    }
}

#[test]
fn templates_and_texts_with_zero_bytes_are_refused_with_their_line() {
    for ExampleFile { name, text, dialect } in examples() {
        let middle = text.lines().count() / 2 + 1;
        for added in [
            "{{ ansible_managed }}",
            "  {% if tls %}",
            "<%= @ports.join(' ') %>",
            "{{- range .Servers }}",
            "a\0b",
        ] {
            let result = convert(&with_line(&text, middle, added), &name, dialect);
            assert_refused(&result, middle, &format!("{name} with {added:?}"));
        }
        let wide: String = text.chars().flat_map(|c| [c, '\0']).collect();
        assert_refused(&convert(&wide, &name, dialect), 1, &format!("{name} in UTF-16"));
    }
}

/// How many blocks are open behind each line; `None`: the dialect has no blocks that a file has to close.
fn open_blocks(file: &ExampleFile) -> Option<Vec<usize>> {
    let mut depth = 0_usize;
    let mut out = Vec::new();
    for line in file.text.lines() {
        let line = line.trim();
        match file.dialect {
            _ if line.starts_with('#') => {}
            Dialect::Nginx | Dialect::Caddy | Dialect::Keepalived => {
                let marks = line.chars().filter(|c| matches!(c, '{' | '}'));
                for mark in marks {
                    depth = if mark == '{' { depth + 1 } else { depth.checked_sub(1)? };
                }
            }
            Dialect::Apache if line.starts_with("</") => depth = depth.checked_sub(1)?,
            Dialect::Apache if line.starts_with('<') => depth += 1,
            Dialect::Envoy if file.name.ends_with(".json") => {
                let marks = line.chars().filter(|c| "{}[]".contains(*c));
                for mark in marks {
                    depth = if "{[".contains(mark) { depth + 1 } else { depth.checked_sub(1)? };
                }
            }
            Dialect::Apache => {}
            _ => return None,
        }
        out.push(depth);
    }
    Some(out)
}

#[test]
fn nothing_is_written_of_a_file_that_ends_within_a_block() {
    let mut cuts = 0;
    for file in examples() {
        let Some(open) = open_blocks(&file) else { continue };
        let lines: Vec<&str> = file.text.lines().collect();
        for at in (1..lines.len()).filter(|at| open[at - 1] > 0) {
            let cut = lines[..at].join("\n");
            let result = convert(&cut, &file.name, file.dialect);
            assert!(
                result.text.is_none(),
                "{} was written of its first {at} lines:\n{}",
                file.name,
                result.text.unwrap()
            );
            assert!(result.notes.iter().any(|note| note.line > 0), "{}: {at}", file.name);
            cuts += 1;
        }
    }
    assert!(cuts > 1_000, "{cuts}");
}

/// Ends that no block shows: whatever is written passes `check`.
#[test]
fn a_file_that_ends_anywhere_is_written_soundly_or_not_at_all() {
    for ExampleFile { name, text, dialect } in examples() {
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for end in ends.iter().step_by(1 + ends.len() / 40) {
            let result = convert(&text[..*end], &name, dialect);
            if let Some(written) = &result.text {
                let loaded = model::config::load(written, "written");
                assert!(loaded.is_ok(), "{name} to byte {end}: {loaded:?}");
            }
        }
    }
}

#[test]
fn what_includes_itself_is_refused_with_its_lines() {
    let dump = "# configuration file /n.conf:\nhttp {\ninclude /a;\n}\n\
                # configuration file /a:\ninclude /b;\n# configuration file /b:\n\ninclude /a;\n";
    let snippets =
        "(a) {\nimport b\n}\n(b) {\nimport a\n}\n:80 {\nimport a\nreverse_proxy x:80\n}\n";
    let macros = "<Macro A>\nUse B\n</Macro>\n<Macro B>\nUse A\n</Macro>\n<VirtualHost *:80>\nUse A\n</VirtualHost>\n";
    for (text, dialect, line, chain) in [
        (dump, Dialect::Nginx, 9, "/a, line 1, includes /b, line 2, includes /a"),
        (snippets, Dialect::Caddy, 5, "a, line 2, includes b, line 5, includes a"),
        (macros, Dialect::Apache, 5, "a, line 2, includes b, line 5, includes a"),
        ("static_resources: &a\n  listeners: *a\n", Dialect::Envoy, 2, "contains it"),
    ] {
        let result = convert(text, "x", dialect);
        assert_refused(&result, line, text);
        let told = result.notes.iter().any(|note| note.reason.ends_with(chain));
        assert!(told, "{:?}", result.notes);
    }
}

#[test]
fn variables_of_the_environment_are_refused_with_their_line() {
    for (text, dialect, line) in [
        ("http {\nserver {\nlisten ${PORT};\n}\n}\n", Dialect::Nginx, 3),
        ("frontend f\n bind :${PORT}\n", Dialect::Haproxy, 2),
        (":80 {\nreverse_proxy {$BACKEND}\n}\n", Dialect::Caddy, 2),
        ("Listen 80\nProxyPass / http://${BACKEND}/\n", Dialect::Apache, 2),
        ("static_resources:\n  listeners: ${LISTENERS}\n", Dialect::Envoy, 2),
        (
            "services:\n  a:\n    labels:\n      - traefik.http.routers.a.rule=Host(`${NAME}`)\n",
            Dialect::Traefik,
            4,
        ),
    ] {
        assert_refused(&convert(text, "x", dialect), line, text);
    }
}
