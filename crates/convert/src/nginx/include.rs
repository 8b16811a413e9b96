//! Puts the files in the output of `nginx -T` in place of the `include` directives that name them.

use std::collections::HashMap;

use crate::inclusion_chain::InclusionChain;
use crate::notes::ConversionNotes;

use super::tree::{Directive, MOST, parse};

/// The limit of nested includes, which bounds the recursion.
const INCLUDED: usize = 64;

/// All directives. An `include` is replaced by its files, as far as the text contains them. One that is missing stays in
/// blocks that it could close.
pub fn read(text: &str, notes: &mut ConversionNotes) -> Vec<Directive> {
    let parts = files(text);
    let mut read = IncludedFiles::default();
    let mut main = notes.file().to_owned();
    let mut first_lines = vec![0];
    let mut directives = Vec::new();
    for (at, DumpFile { name, first_line, text }) in parts.into_iter().enumerate() {
        let parsed = parse(text, first_line, notes);
        if at > 0 {
            read.by_name.insert(name, ParsedFile { first_line, directives: parsed });
            continue;
        }
        directives = parsed;
        if !name.is_empty() {
            read.directory = name.rsplit_once('/').map(|(directory, _)| directory.to_owned());
            main = name;
            first_lines = vec![first_line];
        }
    }
    let mut chain = InclusionChain::default();
    chain.enter(&main, 0);
    let missing = Vec::new();
    let mut walk = IncludeWalk { files: &read, chain, first_lines, missing, left: MOST, notes };
    let mut directives = walk.include(directives);
    let missing = std::mem::take(&mut walk.missing);
    close_servers(&mut directives, &missing);
    directives
}

/// Puts includes of the level around servers whose files are not here into the servers: they may refuse clients.
fn close_servers(level: &mut [Directive], missing: &[Directive]) {
    let may_refuse = |one: &&Directive| !holds_servers(one.peek(0));
    let missing: Vec<&Directive> = missing.iter().filter(may_refuse).collect();
    for server in level.iter_mut().filter(|one| one.name == "server") {
        // In an upstream, a `server` has no block.
        if let Some(block) = &mut server.block {
            block.extend(missing.iter().map(|one| (*one).clone()));
        }
    }
}

/// Whether by custom the files of a pattern hold whole servers, which change nothing of others.
fn holds_servers(pattern: &str) -> bool {
    let usual =
        ["conf.d/", "sites-enabled/", "sites/", "vhosts", "http.d/", "servers/", "upstream"];
    pattern.contains('*') && usual.iter().any(|one| pattern.contains(one))
}

/// The files of a dump.
#[derive(Default)]
struct IncludedFiles {
    by_name: HashMap<String, ParsedFile>,
    /// Where relative names start. `None`: the text is a file alone.
    directory: Option<String>,
}

impl IncludedFiles {
    /// A pattern with the directory where relative names start.
    fn whole(&self, pattern: &str) -> String {
        match &self.directory {
            Some(directory) if !pattern.starts_with('/') => format!("{directory}/{pattern}"),
            _ => pattern.to_owned(),
        }
    }

    /// The names of the files that an include means, in nginx's order.
    fn named(&self, pattern: &str) -> Vec<&String> {
        let whole = self.whole(pattern);
        if !whole.contains('*') {
            return self.by_name.get_key_value(&whole).into_iter().map(|entry| entry.0).collect();
        }
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

/// A file of a dump after parsing.
struct ParsedFile {
    /// The line of the output where the file is named, from 1.
    first_line: u32,
    directives: Vec<Directive>,
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

/// The walk through a file and all that it includes.
struct IncludeWalk<'w> {
    files: &'w IncludedFiles,
    /// The files that lead to the directives at hand, the main file first.
    chain: InclusionChain,
    /// For each of them, the line of the text before its first one.
    first_lines: Vec<u32>,
    /// Includes at this level, and in the files that are read for it, whose files are not here.
    missing: Vec<Directive>,
    /// How many more directives may be read.
    left: usize,
    notes: &'w mut ConversionNotes,
}

impl IncludeWalk<'_> {
    fn include(&mut self, list: Vec<Directive>) -> Vec<Directive> {
        let mut out = Vec::new();
        for mut directive in list {
            if self.left == 0 {
                let reason = format!("the file with its includes has more than {MOST} directives");
                let text = directive.text();
                self.notes.unreadable(directive.source, &text, &reason, "split the file");
                return out;
            }
            self.left -= 1;
            if directive.name == "include" {
                self.follow(&directive, &mut out);
                continue;
            }
            if let Some(block) = directive.block.take() {
                directive.block = Some(self.block(&directive.name, block));
            }
            out.push(directive);
        }
        out
    }

    /// A block with its includes. One that is missing stays in a block that it could close.
    fn block(&mut self, name: &str, block: Vec<Directive>) -> Vec<Directive> {
        let around = std::mem::take(&mut self.missing);
        let mut block = self.include(block);
        let missing = std::mem::replace(&mut self.missing, around);
        match name {
            "http" | "stream" => close_servers(&mut block, &missing),
            name if CLOSED.contains(&name) => block.extend(missing),
            _ => {}
        }
        block
    }

    /// Puts the files that an include means behind `out`, or reports why there are none.
    fn follow(&mut self, directive: &Directive, out: &mut Vec<Directive>) {
        let files = self.files;
        let pattern = directive.word(0);
        let found = files.named(pattern);
        let first_line = self.first_lines.last().copied().unwrap_or(0);
        let line = directive.source.line().saturating_sub(first_line);
        let whole = files.whole(pattern);
        // The main file is not among the files that can be included.
        let is_again = |name: &str| matches_include(&whole, name);
        if let Some(reason) = self.chain.circle(line, is_again) {
            let instead = "take one of these includes out";
            self.notes.unreadable(directive.source, &directive.text(), &reason, instead);
            return;
        }
        if self.chain.depth() > INCLUDED {
            let reason = format!("files include each other more than {INCLUDED} deep");
            self.notes.unreadable(directive.source, &directive.text(), &reason, "the text itself");
            return;
        }
        if !found.is_empty() {
            directive.mark_converted();
        } else if let Some(reason) = usual_file(pattern) {
            self.notes.not_needed(directive.source, &directive.text(), reason);
        } else if !files.is_missing(pattern) {
            self.notes.not_needed(directive.source, &directive.text(), "no file has such a name");
        } else {
            self.notes.left_out(
                directive.source,
                &directive.text(),
                "the included file is not here; so that nothing is open that it closes, what stands around it is refused within a server",
                "convert what `nginx -T` prints",
            );
            self.missing.push(directive.clone());
        }
        for name in found {
            let Some(file) = files.by_name.get(name) else { continue };
            self.chain.enter(name, line);
            self.first_lines.push(file.first_line);
            out.extend(self.include(file.directives.clone()));
            self.first_lines.pop();
            self.chain.leave();
        }
    }
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
        let mut notes = ConversionNotes::new("main");
        let read = read(text, &mut notes);
        read.iter().map(|one| format!("{} {}", one.name, one.inner().len())).collect()
    }

    #[test]
    fn includes_are_followed_in_a_dump() {
        let dump = "# configuration file /etc/nginx/nginx.conf:\nhttp { include /etc/nginx/s/*; }\n\
                    # configuration file /etc/nginx/s/a:\nserver { listen 80; }\n";
        assert_eq!(names(dump), ["http 1"]);
        assert!(names(&"include y; ".repeat(3)).is_empty());
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
            ("http { include x; server { } }", "http 1"),
            ("server { include mime.types; }", "server 0"),
            ("server { include /etc/letsencrypt/options-ssl-nginx.conf; }", "server 0"),
            ("server { include x/*; }", "server 1"),
            ("server { include x/[ab]*; }", "server 1"),
        ] {
            assert_eq!(names(text), [kept], "{text}");
        }
        let servers = |text: &str| {
            let mut notes = ConversionNotes::new("n");
            let read = read(text, &mut notes);
            let http = read.iter().flat_map(|one| one.inner());
            http.filter(|one| one.name == "server").map(|one| one.inner().len()).collect::<Vec<_>>()
        };
        assert_eq!(servers("http { server { } include x; server { } }"), [1, 1]);
        assert_eq!(
            servers("http { server { } include /n/conf.d/*.conf; include mime.types; }"),
            [0]
        );
        assert_eq!(servers("http { server { } include /n/snippets/*; }"), [1]);
        let nested =
            "http { include a; server { include b; } }\n# configuration file /a:\ninclude x;\n";
        assert_eq!(
            servers(&format!("{}# configuration file /b:\ninclude y;\n", dump(nested))),
            [2]
        );
        // nginx prints what its patterns mean.
        assert_eq!(names(&dump("server { include x/*; }")), ["server 0"]);
        assert_eq!(names(&dump("server { include x/[ab]*; }")), ["server 1"]);
        assert_eq!(names(&dump("server { include x; }")), ["server 1"]);
    }

    #[test]
    fn files_that_include_each_other_are_not_converted() {
        let a = "# configuration file /etc/a:\nhttp {\ninclude b*;\n}\n";
        let b = "# configuration file /etc/b1:\n\ninclude c;\n";
        for (text, chain) in [
            (
                format!("{a}{b}# configuration file /etc/c:\nserver {{\ninclude /etc/b1;\n}}\n"),
                "/etc/b1, line 2, includes /etc/c, line 2, includes /etc/b1",
            ),
            (
                format!("{a}{b}# configuration file /etc/c:\ninclude a;\n"),
                "/etc/a, line 2, includes /etc/b1, line 2, includes /etc/c, line 1, includes /etc/a",
            ),
            ("\nhttp { include x; }".to_owned(), "x, line 2, includes x"),
        ] {
            let mut notes = ConversionNotes::new("x");
            read(&text, &mut notes);
            assert!(notes.is_unreadable(), "{text}");
            let told = notes.finish().list;
            assert!(told.iter().any(|one| one.reason.ends_with(&format!(": {chain}"))), "{told:?}");
        }
    }

    #[test]
    fn a_file_that_many_others_include_is_no_circle() {
        let include = |name: &str| format!("include {name};\n");
        let mut dump = format!("# configuration file /n:\n{}", include("/s/*").repeat(2));
        for at in 0..70 {
            let next = if at < 40 { include(&format!("/deep{at}")) } else { include("/end") };
            let name =
                if at < 40 && at > 0 { format!("/deep{}", at - 1) } else { format!("/s/{at}") };
            dump.push_str(&format!("# configuration file {name}:\n{next}"));
        }
        dump.push_str("# configuration file /deep39:\na;\n# configuration file /end:\na;\n");
        let mut notes = ConversionNotes::new("x");
        let read = read(&dump, &mut notes);
        assert!(
            !notes.is_unreadable() && read.len() == 62,
            "{} {:?}",
            read.len(),
            notes.finish().list
        );
    }
}
