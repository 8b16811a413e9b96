//! `steelyard.toml(5)`: the configuration reference as a manual page, made from the reference's own text.
//!
//! It reads the Markdown that `model` writes from the schema (headings, paragraphs, tables of four columns, code spans), and
//! knows no key by name.

use std::fmt::Write;

/// The page's file name.
pub const FILE_NAME: &str = "steelyard.toml.5";

/// The page, from the reference's text; `date` is `2026-11-30`.
pub fn configuration_page(reference: &str, version: &str, date: &str) -> String {
    let mut out = format!(
        ".TH STEELYARD.TOML 5 \"{date}\" \"steelyard {version}\" \"File Formats\"\n\
         .SH NAME\nsteelyard.toml \\- configuration of the load balancer steelyard\n.SH DESCRIPTION\n"
    );
    let mut is_in_paragraph = false;
    let mut is_after_header = true;
    for line in reference.lines().filter(|line| !is_of_the_page(line)) {
        if line.is_empty() {
            is_in_paragraph = false;
        } else if let Some(header) = line.strip_prefix("## ") {
            let _ = writeln!(out, ".SH {}", inline(header));
            is_after_header = true;
        } else if line.starts_with('|') {
            out.push_str(&key_entry(line));
        } else {
            if !is_in_paragraph && !is_after_header {
                out.push_str(".PP\n");
            }
            is_in_paragraph = true;
            is_after_header = false;
            let _ = writeln!(out, "{}", inline(line));
        }
    }
    out + CLOSING
}

const CLOSING: &str = "\
.SH FILES\n.TP\n/etc/steelyard/steelyard.toml\nThe configuration of the packaged daemon.\n\
.SH SEE ALSO\n\\fBsteelyard\\fR(1), \\fBsteelyard\\-check\\fR(1), \\fBsteelyard\\-run\\fR(1)\n";

/// Lines about the Markdown page itself, and the heads of its tables.
fn is_of_the_page(line: &str) -> bool {
    line.starts_with("# ")
        || line.starts_with("Written from the schema")
        || line.starts_with("|---")
        || line == "| key | value | default | meaning |"
}

/// One row of a table: the key, its values, its default and its meaning.
fn key_entry(row: &str) -> String {
    let cells = cells(row);
    let cell = |at: usize| cells.get(at).map(String::as_str).unwrap_or_default();
    let default = match cell(2) {
        "required" => "Required.".to_owned(),
        default => format!("Default: {}.", inline(default)),
    };
    format!(
        ".TP\n{}\nValue: {}.\n{default}\n{}\n",
        inline(cell(0)),
        inline(cell(1)),
        inline(cell(3))
    )
}

/// The cells of a row, in which `\|` is a bar.
fn cells(row: &str) -> Vec<String> {
    let inner = row.trim().trim_start_matches('|');
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let bar = "\u{1}";
    inner.replace("\\|", bar).split('|').map(|cell| cell.trim().replace(bar, "|")).collect()
}

/// A piece of text with code spans in bold, and without marks of emphasis.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            let _ = write!(out, "\\fB{}\\fR", escape(part).replace('-', "\\-"));
        } else {
            out.push_str(&escape(&without_emphasis(part)));
        }
    }
    // A line that begins with one of these would be a request of the formatter.
    if out.starts_with(['.', '\'']) { format!("\\&{out}") } else { out }
}

/// Marks of emphasis: behind a blank and before a word or a code span, or behind a word or a full stop. Other stars stay.
fn without_emphasis(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_mark = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(at + 1);
        let opens = before.is_none_or(|c| *c == ' ') && after.is_none_or(|c| c.is_alphabetic());
        let closes = before.is_some_and(|c| c.is_alphabetic() || *c == '.')
            && after.is_none_or(|c| !c.is_alphanumeric());
        opens || closes
    };
    let kept = letters.iter().enumerate().filter(|(at, c)| **c != '*' || !is_mark(*at));
    kept.map(|(_, c)| c).collect()
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\e").replace('\u{2192}', "\\(->")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_becomes_sections_and_entries() {
        let reference = "# Title\n\nWritten from the schema that reads the file.\n\nThe file is `a-b`,\n.5 of it.\n\nMarked *so*; `*`.\n\n## `[global]`\n\nOf all.\n\n\
                         | key | value | default | meaning |\n|---|---|---|---|\n\
                         | `one` | `\\d` or \"a\\|b\" | `\"x-y\"` | X-Forwarded-* is. *Inherited.* *`http` only.* |\n\
                         | `two` | a path | required | Its. |\n";
        let expected = ".TH STEELYARD.TOML 5 \"2026-11-30\" \"steelyard 1.2\" \"File Formats\"\n\
                        .SH NAME\nsteelyard.toml \\- configuration of the load balancer steelyard\n\
                        .SH DESCRIPTION\nThe file is \\fBa\\-b\\fR,\n\\&.5 of it.\n.PP\nMarked so; \\fB*\\fR.\n\
                        .SH \\fB[global]\\fR\nOf all.\n\
                        .TP\n\\fBone\\fR\nValue: \\fB\\ed\\fR or \"a|b\".\nDefault: \\fB\"x\\-y\"\\fR.\n\
                        X-Forwarded-* is. Inherited. \\fBhttp\\fR only.\n\
                        .TP\n\\fBtwo\\fR\nValue: a path.\nRequired.\nIts.\n";
        let page = configuration_page(reference, "1.2", "2026-11-30");
        assert_eq!(page, expected.to_owned() + CLOSING);
    }
}
