//! How the original balancer is started: its program, its arguments, and what must change in its file.
//!
//! Pure. Changed is only what makes a program leave the foreground, limits that depend on the time, and what a part of a
//! file lacks to be a whole one.

use std::path::Path;

use convert::dialect::Dialect;

use super::limit_relief::{relieve_haproxy, relieve_nginx};
use super::statement::split_statements;

/// A file with its text, at an absolute path in the private root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFile {
    pub path: String,
    pub text: String,
}

/// The original's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginalProgram {
    pub name: &'static str,
    /// The package of Debian that has it.
    pub package: &'static str,
}

/// The start of the original.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginalStart {
    /// The program's arguments.
    pub arguments: Vec<String>,
    pub files: Vec<PlacedFile>,
}

/// The program that runs configurations of a dialect beside ours; `None`: there is none that can.
pub fn find_program(dialect: Dialect) -> Option<OriginalProgram> {
    let name = match dialect {
        Dialect::Haproxy => "haproxy",
        Dialect::Nginx => "nginx",
        _ => return None,
    };
    Some(OriginalProgram { name, package: name })
}

/// Why a dialect has no such program.
pub fn missing_reason(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Keepalived => {
            "keepalived only writes IPVS's tables, and has no listener to compare"
        }
        Dialect::Dispatcher => "its program cannot be had",
        _ => "only haproxy and nginx can be run beside the conversion",
    }
}

/// Debian's file of nginx's `stream` module. Other builds include the module.
const STREAM: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";
/// nginx's main file, so that relative names of files start in its directory.
const NGINX: &str = "/etc/nginx/nginx.conf";
const HAPROXY: &str = "/etc/haproxy/haproxy.cfg";

/// The start of the original with this text.
pub fn plan_start(dialect: Dialect, text: &str) -> OriginalStart {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match dialect {
        Dialect::Haproxy => OriginalStart {
            arguments: words(&["-db", "-f", HAPROXY]),
            files: vec![PlacedFile { path: HAPROXY.to_owned(), text: relieve_haproxy(text) }],
        },
        _ => {
            let mut files = split_dump(&relieve_nginx(text));
            if let Some(main) = files.first_mut() {
                main.text = whole_nginx(&main.text, Path::new(STREAM).exists());
                main.path = NGINX.to_owned();
            }
            let arguments = words(&["-e", "stderr", "-c", NGINX, "-g", "daemon off;"]);
            OriginalStart { arguments, files }
        }
    }
}

/// The parts of what `nginx -T` prints; any other text is one part.
fn split_dump(text: &str) -> Vec<PlacedFile> {
    const MARK: &str = "# configuration file ";
    let mut files = Vec::new();
    for part in text.split(MARK).skip(1) {
        if let Some((path, text)) = part.split_once(":\n") {
            files.push(PlacedFile { path: path.to_owned(), text: text.to_owned() });
        }
    }
    if files.is_empty() {
        files.push(PlacedFile { path: NGINX.to_owned(), text: text.to_owned() });
    }
    files
}

/// A main file: without `daemon`, with `events` and `http` around what is only a part, and with the stream module.
fn whole_nginx(text: &str, has_stream_module: bool) -> String {
    let statements = split_statements(text, Dialect::Nginx);
    let has = |name: &str| statements.iter().any(|one| one.word(0) == name);
    let mut text = text.to_owned();
    for word in ["on", "off"] {
        text = text.replace(&format!("daemon {word};"), "");
    }
    let load = match has("stream") && has_stream_module && !has("load_module") {
        true => format!("load_module {STREAM}; "),
        false => String::new(),
    };
    let events = if has("events") { "" } else { "events { } " };
    match has("http") || has("stream") {
        true => format!("{load}{events}{text}"),
        false => format!("{load}{events}http {{ {text}\n}}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_nginx_become_whole_files_and_dumps_their_files() {
        assert_eq!(whole_nginx("server { }", false), "events { } http { server { }\n}\n");
        assert_eq!(whole_nginx("daemon on;\nevents { }\nhttp { }", true), "\nevents { }\nhttp { }");
        assert!(whole_nginx("stream { }", true).starts_with("load_module "));
        let dump = "# configuration file /etc/nginx/nginx.conf:\nhttp { include a; }\n\n# configuration file /etc/nginx/a:\nserver { }\n";
        let start = plan_start(Dialect::Nginx, dump);
        assert_eq!(start.files[1].path, "/etc/nginx/a");
        assert!(start.files[0].text.starts_with("events { } http {"));
        assert!(find_program(Dialect::Keepalived).is_none());
    }
}
