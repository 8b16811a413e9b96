//! Puts the files in the output of `nginx -T` in place of the `include` directives that name them.

use std::collections::HashMap;

use crate::notes::ConversionNotes;

use super::tree::{Directive, MOST, parse};

/// The limit of nested includes. The limit also ends files that include each other.
const INCLUDED: usize = 8;

/// All directives. An `include` is replaced by its files, as far as the text contains them.
pub fn read(text: &str, notes: &mut ConversionNotes) -> Vec<Directive> {
    let parts = files(text);
    let mut read: HashMap<String, Vec<Directive>> = HashMap::new();
    let mut main = Vec::new();
    for (at, DumpFile { name, first_line, text }) in parts.into_iter().enumerate() {
        let directives = parse(text, first_line, notes);
        if at == 0 {
            main = directives;
        } else {
            read.insert(name, directives);
        }
    }
    let mut left = MOST;
    include(main, &read, 0, &mut left, notes)
}

/// A file in the output of `nginx -T`.
struct DumpFile {
    name: String,
    /// The line of the output where the text begins, from 1.
    first_line: u32,
    /// The file's lines. The line that names the file stands before them as an empty one.
    text: String,
}

/// The files in the text.
fn files(text: &str) -> Vec<DumpFile> {
    let mut out = vec![DumpFile { name: String::new(), first_line: 1, text: String::new() }];
    for (line, number) in text.lines().zip(1u32..) {
        let name =
            line.strip_prefix("# configuration file ").and_then(|rest| rest.strip_suffix(':'));
        match name {
            Some(name) => {
                if out.len() == 1 && out[0].text.trim().is_empty() {
                    out.clear();
                }
                let text = String::from("\n");
                out.push(DumpFile { name: name.to_owned(), first_line: number, text });
            }
            None => {
                let Some(file) = out.last_mut() else { continue };
                file.text.push_str(line);
                file.text.push('\n');
            }
        }
    }
    out
}

fn include(
    list: Vec<Directive>,
    files: &HashMap<String, Vec<Directive>>,
    depth: usize,
    left: &mut usize,
    notes: &mut ConversionNotes,
) -> Vec<Directive> {
    let mut out = Vec::new();
    for mut directive in list {
        if *left == 0 {
            notes.left_out(
                directive.source,
                &directive.text(),
                "the file with its includes has too many directives",
                "split it",
            );
            return out;
        }
        *left -= 1;
        if directive.name == "include" && depth >= INCLUDED {
            let reason = "files include each other, or more deeply than eight times";
            notes.unreadable(directive.source, &directive.text(), reason, "the text itself");
            continue;
        }
        if directive.name == "include" {
            let mut found: Vec<&String> =
                files.keys().filter(|name| matches_include(directive.word(0), name)).collect();
            found.sort();
            // File types, modules, and parameters of protocols that Steelyard does not support.
            let usual = ["mime.types", "modules-enabled", "fastcgi", "uwsgi_params", "scgi_params"];
            let is_usual = usual.iter().any(|one| directive.word(0).contains(one));
            if !found.is_empty() {
                directive.mark_converted();
            } else if is_usual {
                let reason = "types of files, modules and other protocols are not needed here";
                notes.not_needed(directive.source, &directive.text(), reason);
            } else {
                notes.left_out(
                    directive.source,
                    &directive.text(),
                    "the included file is not here, and what it sets is missing: fields, access, TLS",
                    "convert what `nginx -T` prints",
                );
            }
            for name in found {
                let inner = files.get(name).cloned().unwrap_or_default();
                out.extend(include(inner, files, depth + 1, left, notes));
            }
            continue;
        }
        let missing = missing_values(&directive, files);
        directive.block = directive.block.map(|block| include(block, files, depth, left, notes));
        directive.block.iter_mut().for_each(|block| block.extend(missing.iter().cloned()));
        out.push(directive);
    }
    out
}

/// The includes of a `map` or `geo` whose files are not here. They stay, since values may depend on them.
fn missing_values(block: &Directive, files: &HashMap<String, Vec<Directive>>) -> Vec<Directive> {
    if !matches!(block.name.as_str(), "map" | "geo") {
        return Vec::new();
    }
    let is_missing = |one: &&Directive| {
        one.name == "include" && !files.keys().any(|name| matches_include(one.peek(0), name))
    };
    block.inner().iter().filter(is_missing).cloned().collect()
}

/// Whether an include refers to a path: `*` within its last part, or a path relative to nginx's folder.
fn matches_include(pattern: &str, name: &str) -> bool {
    let name =
        if pattern.starts_with('/') { name } else { name.rsplit("/nginx/").next().unwrap_or(name) };
    match pattern.split_once('*') {
        Some((before, after)) => {
            name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
                && !name[before.len()..name.len() - after.len()].contains('/')
        }
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let mut notes = ConversionNotes::new("x");
        let read = read(text, &mut notes);
        read.iter().map(|one| format!("{} {}", one.name, one.inner().len())).collect()
    }

    #[test]
    fn includes_are_followed_in_a_dump() {
        let dump = "# configuration file /etc/nginx/nginx.conf:\nhttp { include /etc/nginx/s/*; }\n\
                    # configuration file /etc/nginx/s/a:\nserver { listen 80; }\n";
        assert_eq!(names(dump), ["http 1"]);
        assert!(names(&"include x; ".repeat(3)).is_empty());
    }

    #[test]
    fn files_that_include_each_other_are_not_converted() {
        let dump = "# configuration file /a:\ninclude /b;\n# configuration file /b:\ninclude /b;\n";
        let mut notes = ConversionNotes::new("x");
        read(dump, &mut notes);
        assert!(notes.is_unreadable());
    }
}
