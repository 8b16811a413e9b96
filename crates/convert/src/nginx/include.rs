//! Puts the files in the output of `nginx -T` in place of the `include` directives that name them.

use std::collections::HashMap;

use crate::notes::ConversionNotes;

use super::tree::{Directive, MOST, parse};

/// The limit of nested includes. The limit also ends files that include each other.
const INCLUDED: usize = 8;

/// All directives. An `include` is replaced by its files, as far as the text contains them. One that is missing stays in
/// blocks that it could close.
pub fn read(text: &str, notes: &mut ConversionNotes) -> Vec<Directive> {
    let parts = files(text);
    let mut read = IncludedFiles::default();
    let mut main = Vec::new();
    for (at, DumpFile { name, first_line, text }) in parts.into_iter().enumerate() {
        let directives = parse(text, first_line, notes);
        if at == 0 {
            main = directives;
            read.directory = name.rsplit_once('/').map(|(directory, _)| directory.to_owned());
        } else {
            read.by_name.insert(name, directives);
        }
    }
    let mut left = MOST;
    include(main, &read, 0, &mut left, notes)
}

/// The files of a dump.
#[derive(Default)]
struct IncludedFiles {
    by_name: HashMap<String, Vec<Directive>>,
    /// Where relative names start. `None`: the text is a file alone.
    directory: Option<String>,
}

impl IncludedFiles {
    /// The names of the files that an include means, in nginx's order.
    fn named(&self, pattern: &str) -> Vec<&String> {
        let whole = match &self.directory {
            Some(directory) if !pattern.starts_with('/') => format!("{directory}/{pattern}"),
            _ => pattern.to_owned(),
        };
        let names = self.by_name.keys();
        let mut found: Vec<&String> = names.filter(|name| matches_include(&whole, name)).collect();
        found.sort();
        found
    }

    /// Whether files of this include exist that are not in the text. nginx prints all that its patterns mean.
    fn is_missing(&self, pattern: &str) -> bool {
        let is_read_here = pattern.matches('*').count() == 1 && !pattern.contains(['?', '[']);
        self.named(pattern).is_empty()
            && !(self.directory.is_some() && is_read_here)
            && usual_file(pattern).is_none()
    }
}

/// Why a file of many installations is not missed.
fn usual_file(pattern: &str) -> Option<&'static str> {
    let usual = ["mime.types", "modules-enabled", "fastcgi", "uwsgi_params", "scgi_params"];
    if usual.iter().any(|one| pattern.contains(one)) {
        return Some("types of files, modules and other protocols are not needed here");
    }
    let is_certbot = pattern.ends_with("/options-ssl-nginx.conf");
    is_certbot
        .then_some("Certbot's file has versions and ciphers of TLS, which `tls.policy` chooses")
}

/// Blocks that may be more open without a file.
const CLOSED: [&str; 6] = ["map", "geo", "server", "location", "if", "limit_except"];

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
    files: &IncludedFiles,
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
            let found = files.named(directive.word(0));
            if !found.is_empty() {
                directive.mark_converted();
            } else if let Some(reason) = usual_file(directive.word(0)) {
                notes.not_needed(directive.source, &directive.text(), reason);
            } else if !files.is_missing(directive.word(0)) {
                notes.not_needed(directive.source, &directive.text(), "no file has such a name");
            } else {
                notes.left_out(
                    directive.source,
                    &directive.text(),
                    "the included file is not here; so that nothing is open that it closes, what stands around it is refused within a server",
                    "convert what `nginx -T` prints",
                );
            }
            for name in found {
                let inner = files.by_name.get(name).cloned().unwrap_or_default();
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

/// The includes of a block whose files are not here. They stay, since access and values may depend on them.
fn missing_values(block: &Directive, files: &IncludedFiles) -> Vec<Directive> {
    if !CLOSED.contains(&block.name.as_str()) {
        return Vec::new();
    }
    let is_missing = |one: &&Directive| one.name == "include" && files.is_missing(one.peek(0));
    block.inner().iter().filter(is_missing).cloned().collect()
}

/// Whether an include refers to a path: `*` within its last part.
fn matches_include(pattern: &str, name: &str) -> bool {
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
    fn names_of_files_start_where_the_main_file_stands() {
        let main = "# configuration file /opt/conf/n.conf:\nhttp { include s/*.c; include /x; }\n";
        let file = "# configuration file /opt/conf/s/a.c:\nserver { }\n";
        assert_eq!(names(&format!("{main}{file}")), ["http 1"]);
        assert_eq!(names(&format!("{main}{}", file.replace("/opt", "/etc"))), ["http 0"]);
    }

    #[test]
    fn what_may_be_closed_by_a_missing_file_keeps_it() {
        let dump = |text: &str| format!("# configuration file /n.conf:\n{text}\n");
        for (text, kept) in [
            ("server { include x; }", "server 1"),
            ("location / { include x; }", "location 1"),
            ("http { include x; }", "http 0"),
            ("server { include mime.types; }", "server 0"),
            ("server { include /etc/letsencrypt/options-ssl-nginx.conf; }", "server 0"),
            ("server { include x/*; }", "server 1"),
            ("server { include x/[ab]*; }", "server 1"),
        ] {
            assert_eq!(names(text), [kept], "{text}");
        }
        // nginx prints what its patterns mean.
        assert_eq!(names(&dump("server { include x/*; }")), ["server 0"]);
        assert_eq!(names(&dump("server { include x/[ab]*; }")), ["server 1"]);
        assert_eq!(names(&dump("server { include x; }")), ["server 1"]);
    }

    #[test]
    fn files_that_include_each_other_are_not_converted() {
        let dump = "# configuration file /a:\ninclude /b;\n# configuration file /b:\ninclude /b;\n";
        let mut notes = ConversionNotes::new("x");
        read(dump, &mut notes);
        assert!(notes.is_unreadable());
    }
}
