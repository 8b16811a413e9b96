//! What a shadow run needs to know of the original's file: hosts, paths, servers and files that it names.
//!
//! Pure. `statement` has the words; `inventory_caddy`, `inventory_envoy` and `inventory_traefik` read their dialects.

use std::net::{IpAddr, SocketAddr};

use convert::dialect::Dialect;

use super::pattern_sample::{sample_expression, sample_hosts};
use super::statement::{SourceStatement, split_statements};

/// The most of each kind that is used.
const LISTED: usize = 400;

/// What a file in the original's configuration must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileContent {
    /// Certificate, chain and key.
    Certificate,
    /// Certificate and key, as what shows itself to servers must have them.
    CertificateWithKey,
    Key,
    Authority,
    RevocationList,
    /// A whole answer of HTTP, as HAProxy's `errorfile` names it.
    ErrorAnswer,
    Empty,
    /// Only the directory that holds it.
    Parent,
    /// A directory with one certificate.
    CertificateDirectory,
}

/// A file that the configuration names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedFile {
    pub path: String,
    pub content: FileContent,
}

/// A server's name or address, and its port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedEndpoint {
    pub host: String,
    pub port: u16,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceInventory {
    pub hosts: Vec<String>,
    pub paths: Vec<String>,
    pub files: Vec<NamedFile>,
    pub servers: Vec<NamedEndpoint>,
    /// Resolvers that are asked for names.
    pub resolvers: Vec<SocketAddr>,
    pub plain_http2: PlainHttp2,
}

/// How listeners without TLS come to HTTP/2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainHttp2 {
    /// In a way that is not compared.
    #[default]
    Unknown,
    /// They see from the first bytes whether HTTP/1 or HTTP/2 is spoken.
    Detected,
    /// They speak nothing else.
    Alone,
}

impl SourceInventory {
    pub fn read(text: &str, dialect: Dialect) -> SourceInventory {
        let mut found = SourceInventory::default();
        if dialect == Dialect::Envoy {
            found.read_envoy(text);
            if found.plain_http2 == PlainHttp2::Unknown {
                found.plain_http2 = PlainHttp2::Detected;
            }
            return found;
        }
        if dialect == Dialect::Traefik {
            found.read_traefik(text);
            found.plain_http2 = PlainHttp2::Detected;
            return found;
        }
        let statements = split_statements(text, dialect);
        let base = |name: &str| {
            let named = statements.iter().find(|one| one.word(0) == name);
            named.map_or(String::new(), |one| format!("{}/", one.word(1).trim_end_matches('/')))
        };
        let bases =
            FileDirectories { certificates: base("crt-base"), authorities: base("ca-base") };
        for statement in &statements {
            if dialect == Dialect::Caddy {
                found.read_caddy(statement);
                continue;
            }
            found.read_hosts(statement, dialect);
            found.read_paths(statement, dialect);
            found.read_servers(statement, dialect);
            found.read_resolvers(statement);
            match dialect {
                Dialect::Haproxy => found.read_haproxy_files(statement, &bases),
                _ => found.read_directive_files(statement),
            }
        }
        found
    }

    fn read_hosts(&mut self, statement: &SourceStatement, dialect: Dialect) {
        let directive = statement.directive();
        let from = match dialect {
            Dialect::Haproxy => {
                let by_host = |word: &String| word.contains("(host") || word.contains("sni");
                statement.words.iter().position(by_host).map(|at| at + 1)
            }
            _ if matches!(directive.as_str(), "server_name" | "servername" | "serveralias") => {
                Some(1)
            }
            // Keys of a map of names.
            _ if statement.word(0).contains('.') && !statement.word(0).contains('/') => Some(0),
            _ => None,
        };
        let words = from.and_then(|from| statement.words.get(from..)).unwrap_or(&[]);
        let named = |word: &&String| word.contains('.') && !word.starts_with('-');
        for host in words.iter().filter(named).flat_map(|word| sample_hosts(word)) {
            add(&mut self.hosts, host);
        }
    }

    fn read_paths(&mut self, statement: &SourceStatement, dialect: Dialect) {
        let words = &statement.words;
        let sampled = |expression: &str| {
            let sample = sample_expression(expression);
            if sample.starts_with('/') { sample } else { format!("/any{sample}") }
        };
        let directive = statement.directive();
        if dialect == Dialect::Haproxy {
            let mut form = "";
            for word in words {
                let criterion = ["path", "url", "base", "uri", "monitor-uri", "capture.req.uri"]
                    .iter()
                    .any(|name| word.starts_with(name));
                if criterion && !word.starts_with('/') {
                    form = word;
                } else if form.ends_with("_end") && word.starts_with(['.', '/']) {
                    add(&mut self.paths, format!("/any{word}"));
                } else if form.contains("reg") && word.contains(['/', '^', '\\', '$']) {
                    add(&mut self.paths, sampled(word));
                } else if !form.is_empty() && word.starts_with('/') && plain(word) {
                    add(&mut self.paths, word.clone());
                }
            }
            return;
        }
        match (directive.as_str(), words.len()) {
            ("location", 3) if statement.word(1).starts_with('~') => {
                add(&mut self.paths, sampled(statement.word(2)));
            }
            (
                "rewrite" | "locationmatch" | "proxypassmatch" | "redirectmatch" | "rewriterule",
                _,
            ) => {
                add(&mut self.paths, sampled(statement.word(1)));
            }
            ("location" | "proxypass" | "redirect" | "alias", _) => {
                let named = words.iter().find(|word| word.starts_with('/') && plain(word));
                if let Some(path) = named {
                    add(&mut self.paths, path.clone());
                }
            }
            _ => {}
        }
    }

    fn read_servers(&mut self, statement: &SourceStatement, dialect: Dialect) {
        let directive = statement.directive();
        let named = match (dialect, directive.as_str()) {
            (Dialect::Haproxy, "server") => statement.word(2),
            (Dialect::Haproxy, "server-template") => statement.word(3),
            (Dialect::Nginx, "server") => statement.word(1),
            (
                _,
                "proxy_pass" | "grpc_pass" | "fastcgi_pass" | "uwsgi_pass" | "scgi_pass"
                | "balancermember",
            ) => statement.word(1),
            (Dialect::Apache, "proxypass") => statement.word(2),
            _ => return,
        };
        let scheme = named.split_once("://").map(|parts| parts.0);
        let rest = named.split_once("://").map_or(named, |parts| parts.1);
        let authority = rest.split('/').next().unwrap_or("");
        let default = if matches!(scheme, Some("https" | "grpcs")) { 443 } else { 80 };
        if let Some(endpoint) = parse_endpoint(authority, default) {
            add(&mut self.servers, endpoint);
        }
    }

    fn read_resolvers(&mut self, statement: &SourceStatement) {
        let words = match statement.word(0) {
            "resolver" => statement.words.get(1..),
            "nameserver" => statement.words.get(2..3),
            _ => None,
        };
        for word in words.unwrap_or(&[]) {
            let bare = |word: &str| word.trim_matches(['[', ']']).parse::<IpAddr>().ok();
            let address = word.parse().ok().or_else(|| Some(SocketAddr::new(bare(word)?, 53)));
            if let Some(address) = address {
                add(&mut self.resolvers, address);
            }
        }
    }

    fn read_haproxy_files(&mut self, statement: &SourceStatement, bases: &FileDirectories) {
        let rooted = |base: &str, path: &str| match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("{base}{path}"),
        };
        let words = &statement.words;
        for (name, value) in words.iter().zip(words.iter().skip(1)) {
            let file = |content, path: String| Some(NamedFile { path, content });
            let found = match name.as_str() {
                "crt" => {
                    let path = rooted(&bases.certificates, value);
                    let single = path.rsplit('/').next().is_some_and(|last| last.contains('.'));
                    let content = match single {
                        true => FileContent::Certificate,
                        false => FileContent::CertificateDirectory,
                    };
                    file(content, path)
                }
                "ca-file" | "ca-verify-file" if !value.starts_with('@') => {
                    file(FileContent::Authority, rooted(&bases.authorities, value))
                }
                "crl-file" => file(FileContent::RevocationList, rooted(&bases.authorities, value)),
                "-f" | "lua-load" | "lua-load-per-thread" => {
                    file(FileContent::Empty, value.clone())
                }
                "socket" | "pidfile" => file(FileContent::Parent, value.clone()),
                "chroot" => file(FileContent::Parent, format!("{value}/x")),
                _ => None,
            };
            self.add_file(found);
        }
        if statement.word(0) == "errorfile" {
            let path = statement.word(2).to_owned();
            self.add_file(Some(NamedFile { path, content: FileContent::ErrorAnswer }));
        }
        for word in words {
            let inner = word.split_once("map").and_then(|parts| parts.1.split_once('('));
            if let Some(path) = inner.and_then(|parts| parts.1.split([',', ')']).next()) {
                let path = path.to_owned();
                self.add_file(Some(NamedFile { path, content: FileContent::Empty }));
            }
        }
    }

    fn read_directive_files(&mut self, statement: &SourceStatement) {
        let directive = statement.directive();
        let content = match directive.as_str() {
            "ssl_certificate"
            | "proxy_ssl_certificate"
            | "grpc_ssl_certificate"
            | "sslcertificatefile" => FileContent::Certificate,
            "sslproxymachinecertificatefile" => FileContent::CertificateWithKey,
            "ssl_certificate_key"
            | "proxy_ssl_certificate_key"
            | "grpc_ssl_certificate_key"
            | "sslcertificatekeyfile" => FileContent::Key,
            "ssl_client_certificate"
            | "ssl_trusted_certificate"
            | "proxy_ssl_trusted_certificate"
            | "grpc_ssl_trusted_certificate"
            | "sslcacertificatefile"
            | "sslproxycacertificatefile"
            | "sslcertificatechainfile" => FileContent::Authority,
            "ssl_crl" | "proxy_ssl_crl" | "grpc_ssl_crl" | "sslcarevocationfile" => {
                FileContent::RevocationList
            }
            "auth_basic_user_file" | "authuserfile" | "include" => FileContent::Empty,
            "access_log"
            | "error_log"
            | "pid"
            | "proxy_cache_path"
            | "proxy_temp_path"
            | "client_body_temp_path"
            | "customlog"
            | "errorlog" => FileContent::Parent,
            _ => return,
        };
        let path = statement.word(1).to_owned();
        if !path.contains('*') && !path.contains('$') {
            self.add_file(Some(NamedFile { path, content }));
        }
    }

    pub(super) fn add_file(&mut self, file: Option<NamedFile>) {
        let safe = |file: &NamedFile| file.path.starts_with('/') && !file.path.contains("/../");
        let Some(file) = file.filter(safe) else { return };
        // One file may hold a certificate with its key: the last one written would take it from the other.
        let pair = |one: &NamedFile| {
            one.path == file.path
                && matches!(one.content, FileContent::Certificate | FileContent::Key)
        };
        if matches!(file.content, FileContent::Certificate | FileContent::Key)
            && let Some(known) = self.files.iter_mut().find(|one| pair(one))
        {
            if known.content != file.content {
                known.content = FileContent::Certificate;
            }
            return;
        }
        add(&mut self.files, file);
    }
}

/// Directories of relative names, with a `/` at the end, or empty.
#[derive(Debug)]
struct FileDirectories {
    certificates: String,
    authorities: String,
}

/// A host with a port. A name without dots and port is that of an upstream, and a variable is none.
pub(super) fn parse_endpoint(text: &str, default: u16) -> Option<NamedEndpoint> {
    let written = text.rsplit_once(':').filter(|parts| !parts.1.ends_with(']'));
    let port = written.map_or(Some(default), |parts| parts.1.parse().ok())?;
    let host = written.map_or(text, |parts| parts.0).trim_matches(['[', ']']).to_owned();
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    let named = written.is_some() || host.contains(['.', ':']);
    (named && !host.is_empty() && host.chars().all(good)).then_some(NamedEndpoint { host, port })
}

/// Whether a path can be sent as it is written.
pub(super) fn plain(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '{' | '}' | '$' | '\\' | '^'))
}

pub(super) fn add<T: PartialEq>(list: &mut Vec<T>, one: T) {
    if list.len() < LISTED && !list.contains(&one) {
        list.push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_paths_servers_and_files_of_haproxy_are_found() {
        let text = "global\n crt-base /etc/certs\nfrontend a\n bind :443 ssl crt shop.pem ca-file /etc/ca.pem\n \
             acl api hdr(host) -i api.shop.example\n acl s path_end .css\n acl r path_reg ^/rooms/[0-9]+$\n \
             http-request deny if { path_beg /admin } !{ src 10.0.0.0/8 }\n errorfile 503 /etc/e.http\n \
             use_backend %[req.hdr(host),map(/etc/hosts.map,web)]\nbackend b\n server s1 web1.internal:8080 check\n server s2 [::1]:81";
        let found = SourceInventory::read(text, Dialect::Haproxy);
        assert_eq!(found.hosts, ["api.shop.example"]);
        assert_eq!(found.paths, ["/any.css", "/rooms/0", "/admin"]);
        let servers: Vec<String> =
            found.servers.iter().map(|one| format!("{} {}", one.host, one.port)).collect();
        assert_eq!(servers, ["web1.internal 8080", "::1 81"]);
        let files: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files, ["/etc/certs/shop.pem", "/etc/ca.pem", "/etc/e.http", "/etc/hosts.map"]);
    }

    #[test]
    fn hosts_paths_servers_and_files_of_nginx_are_found() {
        let text = "server { listen 443 ssl; server_name shop.example *.wiki.example _;\n ssl_certificate /etc/a.pem;\n \
             location ~* \\.(css|js)$ { proxy_pass https://10.0.0.1/x; }\n location ^~ /api/ { proxy_pass http://app; }\n \
             rewrite ^/feed/(.*)$ /rss/$1 permanent; }\nmap $n $m { .apps.example apps; }";
        let found = SourceInventory::read(text, Dialect::Nginx);
        assert_eq!(
            found.hosts,
            ["shop.example", "below.wiki.example", "apps.example", "below.apps.example"]
        );
        assert_eq!(found.paths, ["/any.css", "/api/", "/feed/x"]);
        assert_eq!(found.servers, [NamedEndpoint { host: "10.0.0.1".into(), port: 443 }]);
        assert_eq!(found.files[0].content, FileContent::Certificate);
    }
}
