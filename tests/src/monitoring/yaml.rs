//! A strict parser of the YAML in rules files: block mappings and sequences, plain and double-quoted scalars, literal
//! blocks, comments. Everything else is rejected, so that no two parsers read a file differently.
//!
//! Scalars are always strings.

use serde_json::{Map, Value};

/// The parsed document, or the first line that is not understood.
///
/// # Errors
///
/// The line's number and the mistake on that line.
pub fn read(text: &str) -> Result<Value, String> {
    let lines = text.lines().map(str::to_owned).collect();
    let mut reader = YamlReader { lines, at: 0 };
    reader.skip()?;
    let value = reader.node(0)?;
    if reader.at < reader.lines.len() {
        reader.wrong("is not indented as what it is in")
    } else {
        Ok(value)
    }
}

struct YamlReader {
    lines: Vec<String>,
    at: usize,
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

impl YamlReader {
    fn wrong<T>(&self, why: &str) -> Result<T, String> {
        let line = self.lines.get(self.at).map_or("the end", String::as_str);
        Err(format!("line {}: {why}: {line}", self.at + 1))
    }

    /// Skips blank lines and comments.
    fn skip(&mut self) -> Result<(), String> {
        while let Some(line) = self.lines.get(self.at) {
            let text = line.trim_start_matches(' ');
            if text.starts_with('\t') {
                return self.wrong("a tab");
            }
            if !text.is_empty() && !text.starts_with('#') {
                break;
            }
            self.at += 1;
        }
        Ok(())
    }

    /// The next line and its indentation.
    fn peek(&self) -> Option<(usize, &str)> {
        self.lines.get(self.at).map(|line| (indent(line), line.trim_start_matches(' ')))
    }

    fn node(&mut self, at: usize) -> Result<Value, String> {
        match self.peek() {
            Some((depth, text)) if depth == at && text.starts_with("- ") => self.sequence(at),
            Some((depth, _)) if depth == at => self.mapping(at),
            _ => self.wrong("a value is missing, or indented otherwise"),
        }
    }

    fn sequence(&mut self, at: usize) -> Result<Value, String> {
        let mut out = Vec::new();
        while let Some((depth, text)) = self.peek() {
            if depth != at || !text.starts_with("- ") {
                break;
            }
            // The text after the dash is treated as a line of its own, indented by two more.
            let rest = text[2..].to_owned();
            if rest.starts_with(' ') || key(&rest).is_none() {
                return self.wrong("an item that is no mapping");
            }
            self.lines[self.at] = format!("{}{rest}", " ".repeat(at + 2));
            out.push(self.mapping(at + 2)?);
        }
        Ok(Value::Array(out))
    }

    fn mapping(&mut self, at: usize) -> Result<Value, String> {
        let mut out = Map::new();
        while let Some((depth, text)) = self.peek() {
            if depth < at || text.starts_with("- ") {
                break;
            }
            let text = text.to_owned();
            let Some((name, rest)) = key(&text).filter(|_| depth == at) else {
                return self.wrong("no key, or indented otherwise than the ones beside it");
            };
            if out.contains_key(name) {
                return self.wrong("a key twice");
            }
            let value = if rest == "|" {
                self.at += 1;
                self.literal(at)?
            } else if rest.is_empty() {
                self.at += 1;
                self.skip()?;
                let inner = self.peek().map_or(0, |(depth, _)| depth);
                if inner <= at {
                    return self.wrong("a key without a value before it");
                }
                self.node(inner)?
            } else {
                let Some(value) = scalar(rest) else {
                    return self.wrong("no plain or quoted scalar");
                };
                self.at += 1;
                Value::String(value)
            };
            out.insert(name.to_owned(), value);
            self.skip()?;
        }
        Ok(Value::Object(out))
    }

    /// The lines that are indented further than `at`, unchanged.
    fn literal(&mut self, at: usize) -> Result<Value, String> {
        let first = self.lines.get(self.at).map_or(0, |line| indent(line));
        if first <= at {
            return self.wrong("an empty block before it");
        }
        let mut out = String::new();
        while let Some(line) = self.lines.get(self.at) {
            if !line.is_empty() && indent(line) < first {
                break;
            }
            out += line.get(first..).unwrap_or_default();
            out.push('\n');
            self.at += 1;
        }
        Ok(Value::String(out.trim_end().to_owned()))
    }
}

/// A key and the text after its colon.
fn key(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let word = !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_lowercase());
    let apart = rest.is_empty() || (rest.starts_with(' ') && !rest.starts_with("  "));
    (word && apart).then(|| (name, rest.trim_start()))
}

fn scalar(text: &str) -> Option<String> {
    if text.starts_with('"') {
        // A JSON string is also a YAML string.
        return serde_json::from_str(text).ok();
    }
    let special = text.starts_with(|c: char| "&*!|>%@`{}[]'#,?-:".contains(c));
    let open = text.contains(": ") || text.contains(" #") || text.ends_with([':', ' ']);
    (!special && !open).then(|| text.to_owned())
}

#[test]
fn what_it_reads_is_what_is_written_and_the_rest_is_refused() {
    let good = "# Of rules.\ngroups:\n  - name: a\n    rules:\n      - alert: B\n        expr: |\n          up\n            == 0\n\
                \n        # Why.\n        labels:\n          one: \"x: y\\\"\"\n      - alert: C\n  - name: d\n";
    let read_it = read(good).unwrap();
    let rules = &read_it["groups"][0]["rules"];
    assert_eq!(
        (&rules[0]["expr"], &rules[0]["labels"]["one"]),
        (&"up\n  == 0".into(), &"x: y\"".into())
    );
    assert_eq!((&rules[1]["alert"], &read_it["groups"][1]["name"]), (&"C".into(), &"d".into()));
    for (from, to) in [
        ("name: a", "name: {a}"),
        ("name: a", "name: a: b"),
        ("name: a", "name:"),
        ("name: a", "name:a"),
        ("name: a", "name: &a a"),
        ("name: a", "name: 'a'"),
        ("name: a", "name: \"a"),
        ("    rules:", "    name:"),
        ("    rules:", "     rules:"),
        ("    rules:", "\t rules:"),
        ("  - name: d", " - name: d"),
        ("  - name: d", "  - d"),
        ("          one", "        one"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert!(bad != good && read(&bad).is_err(), "{from} -> {to}: {:?}", read(&bad));
    }
}
