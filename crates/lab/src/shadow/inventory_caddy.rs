//! What a Caddyfile names: hosts, paths, servers and files.
//!
//! Pure. A block's directives and its matchers are read alike, since a wrong find costs one request.

use super::inventory::{FileContent, NamedFile, SourceInventory, add, parse_endpoint, plain};
use super::pattern_sample::{sample_expression, sample_hosts};
use super::statement::SourceStatement;

impl SourceInventory {
    pub(super) fn read_caddy(&mut self, statement: &SourceStatement) {
        let words = &statement.words;
        let named = if statement.word(0).starts_with('@') { &words[1..] } else { &words[..] };
        let directive = named.first().map_or("", String::as_str);
        match directive {
            "host" => self.add_hosts(&named[1..]),
            "reverse_proxy" | "to" | "forward_auth" | "php_fastcgi" => self.add_upstreams(named),
            "tls"
            | "trust_pool"
            | "tls_trust_pool"
            | "tls_client_auth"
            | "trusted_ca_cert_file"
            | "tls_trusted_ca_certs" => return self.add_certificates(named),
            "output" => {
                return self.add_named(named.get(2), FileContent::Parent);
            }
            "root" | "import" | "file" => return,
            _ if words.last().is_some_and(|last| last == "{") || words.len() == 1 => {
                self.add_hosts(words);
            }
            _ => {}
        }
        if matches!(directive, "path_regexp" | "vars_regexp") {
            if let Some(expression) = named.last() {
                let sample = sample_expression(expression);
                add(
                    &mut self.paths,
                    if sample.starts_with('/') { sample } else { format!("/any{sample}") },
                );
            }
            return;
        }
        for path in named.iter().filter(|word| word.starts_with('/') && plain(word)) {
            add(&mut self.paths, path.replace('*', ""));
        }
    }

    /// Addresses of sites: `https://a.example:443, *.b.example`.
    fn add_hosts(&mut self, words: &[String]) {
        for word in words {
            let word = word.trim_end_matches(',');
            let rest = word.split_once("://").map_or(word, |parts| parts.1);
            let host = rest.split(['/', ':']).next().unwrap_or("");
            if host.contains('.') && !host.contains(['{', '(']) {
                for sample in sample_hosts(host) {
                    add(&mut self.hosts, sample);
                }
            }
        }
    }

    fn add_upstreams(&mut self, words: &[String]) {
        for word in words.iter().skip(1).filter(|word| !word.starts_with(['/', '@', '*'])) {
            let scheme = word.split_once("://").map(|parts| parts.0);
            let rest = word.split_once("://").map_or(word.as_str(), |parts| parts.1);
            let default = if scheme == Some("https") { 443 } else { 80 };
            let authority = rest.split('/').next().unwrap_or("");
            if let Some(endpoint) = parse_endpoint(authority, default) {
                add(&mut self.servers, endpoint);
            }
        }
    }

    /// `tls CERTIFICATE KEY`, or authorities of clients and servers.
    fn add_certificates(&mut self, words: &[String]) {
        let files: Vec<&String> = words.iter().skip(1).filter(|one| one.starts_with('/')).collect();
        match (words[0].as_str(), files.as_slice()) {
            ("tls" | "tls_client_auth", [certificate, key]) => {
                self.add_named(Some(certificate), FileContent::Certificate);
                self.add_named(Some(key), FileContent::Key);
            }
            (_, authorities) => {
                for authority in authorities {
                    self.add_named(Some(authority), FileContent::Authority);
                }
            }
        }
    }

    fn add_named(&mut self, path: Option<&String>, content: FileContent) {
        self.add_file(path.map(|path| NamedFile { path: path.clone(), content }));
    }
}

#[cfg(test)]
mod tests {
    use convert::dialect::Dialect;

    use super::*;

    #[test]
    fn hosts_paths_servers_and_files_of_caddy_are_found() {
        let text = "shop.example, https://*.wiki.example:8443 {\n\ttls /etc/a.pem /etc/a.key\n\t@x host b.example\n\
             \thandle_path /api/* {\n\t\treverse_proxy 10.0.0.1:9000 https://c.internal\n\t}\n\
             \t@r path_regexp ^/rooms/[0-9]+$\n\tlog {\n\t\toutput file /var/log/x/a.log\n\t}\n}\n";
        let found = SourceInventory::read(text, Dialect::Caddy);
        assert_eq!(found.hosts, ["shop.example", "below.wiki.example", "b.example"]);
        assert_eq!(found.paths, ["/api/", "/rooms/0"]);
        let servers: Vec<String> =
            found.servers.iter().map(|one| format!("{} {}", one.host, one.port)).collect();
        assert_eq!(servers, ["10.0.0.1 9000", "c.internal 443"]);
        let files: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files, ["/etc/a.pem", "/etc/a.key", "/var/log/x/a.log"]);
    }
}
