//! What a configuration of Traefik names, as YAML, TOML or labels: hosts, paths, servers and files.
//!
//! Pure. Matchers are found wherever they stand, and so are keys with their values: a wrong find costs one request.

use super::inventory::{FileContent, NamedFile, SourceInventory, add, parse_endpoint, plain};
use super::pattern_sample::{sample_expression, sample_hosts};

/// Keys of files, in small letters, and what these must hold.
const FILES: [KeyedFile; 6] = [
    KeyedFile { key: "certfile", content: FileContent::Certificate },
    KeyedFile { key: "keyfile", content: FileContent::Key },
    KeyedFile { key: "cafiles", content: FileContent::Authority },
    KeyedFile { key: "rootcas", content: FileContent::Authority },
    KeyedFile { key: "ca", content: FileContent::Authority },
    KeyedFile { key: "usersfile", content: FileContent::Empty },
];

struct KeyedFile {
    key: &'static str,
    content: FileContent,
}

impl SourceInventory {
    pub(super) fn read_traefik(&mut self, text: &str) {
        for found in matcher_values(text) {
            let samples = match found.name.as_str() {
                "Host" | "HostSNI" => sample_hosts(&found.value),
                "HostRegexp" | "HostSNIRegexp" => vec![sample_expression(&found.value)],
                "Path" | "PathPrefix" if plain(&found.value) => {
                    add(&mut self.paths, found.value);
                    continue;
                }
                "PathRegexp" => {
                    add(&mut self.paths, sample_expression(&found.value));
                    continue;
                }
                _ => continue,
            };
            for host in samples.into_iter().filter(|host| host.contains('.')) {
                add(&mut self.hosts, host);
            }
        }
        let mut key = String::new();
        for line in text.lines() {
            if line.trim_start().starts_with('[') {
                key.clear();
                continue;
            }
            if let Some(name) = key_of(line) {
                key = name.to_ascii_lowercase();
            }
            for value in values_of(line) {
                self.read_value(&key, value);
            }
        }
    }

    fn read_value(&mut self, key: &str, value: &str) {
        if let Some(file) = FILES.iter().find(|file| file.key == key) {
            let path = value.to_owned();
            self.add_file(Some(NamedFile { path, content: file.content }));
            return;
        }
        if key != "url" {
            return;
        }
        let scheme = value.split_once("://").map(|parts| parts.0);
        let rest = value.split_once("://").map_or(value, |parts| parts.1);
        let default = if scheme == Some("https") { 443 } else { 80 };
        let authority = rest.split('/').next().unwrap_or("");
        if let Some(endpoint) = parse_endpoint(authority, default) {
            add(&mut self.servers, endpoint);
        }
    }
}

/// A value of a matcher, such as `a.example` of ``Host(`a.example`)``.
struct MatcherValue {
    name: String,
    value: String,
}

/// The values between backticks, each with the matcher that it stands in.
fn matcher_values(text: &str) -> Vec<MatcherValue> {
    let mut found = Vec::new();
    let mut name = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            found.push(MatcherValue { name: name.clone(), value: part.to_owned() });
        } else if let Some(open) = part.rfind('(') {
            let letters = |c: char| c.is_ascii_alphanumeric();
            let before = &part[..open];
            let start = before.rfind(|c: char| !letters(c)).map_or(0, |at| at + 1);
            name = before[start..].to_owned();
        }
    }
    found
}

/// The key that a line begins with.
fn key_of(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("- ").trim_start();
    let end = line.find([':', '='])?;
    let name = line[..end].trim().trim_matches(['"', '\'']);
    (!name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric())).then_some(name)
}

/// The texts of a line that are no key.
fn values_of(line: &str) -> impl Iterator<Item = &str> {
    let values =
        key_of(line).map_or(line, |_| line.split_once([':', '=']).map_or("", |parts| parts.1));
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}' | '"' | '\'');
    values.split(ends).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use convert::dialect::Dialect;

    use super::super::inventory::NamedEndpoint;
    use super::*;

    #[test]
    fn hosts_paths_servers_and_files_of_traefik_are_found_in_yaml_and_toml() {
        let yaml = "http:\n  routers:\n    a:\n      rule: Host(`a.example`, `b.example`) && PathPrefix(`/api`)\n  services:\n    a:\n      loadBalancer:\n        servers:\n        - url: \"https://10.0.0.1/\"\ntls:\n  certificates:\n  - certFile: /etc/a.pem\n    keyFile: /etc/a.key\n  options:\n    o:\n      clientAuth:\n        caFiles:\n        - /etc/ca.pem\n";
        let toml = "[http.routers.a]\nrule = \"Host(`a.example`) || Host(`b.example`) && PathPrefix(`/api`)\"\n[[http.services.a.loadBalancer.servers]]\nurl = \"https://10.0.0.1/\"\n[[tls.certificates]]\ncertFile = \"/etc/a.pem\"\nkeyFile = \"/etc/a.key\"\n[tls.options.o.clientAuth]\ncaFiles = [\"/etc/ca.pem\"]\n";
        for text in [yaml, toml] {
            let found = SourceInventory::read(text, Dialect::Traefik);
            assert_eq!(found.hosts, ["a.example", "b.example"], "{text}");
            assert_eq!(found.paths, ["/api"]);
            assert_eq!(found.servers, [NamedEndpoint { host: "10.0.0.1".into(), port: 443 }]);
            let contents: Vec<FileContent> = found.files.iter().map(|file| file.content).collect();
            let expected = [FileContent::Certificate, FileContent::Key, FileContent::Authority];
            assert_eq!(contents, expected, "{text}");
        }
    }
}
