//! What a bootstrap of Envoy names, as YAML or JSON: hosts, paths, servers and files.
//!
//! Pure. Keys and values are read as one sequence of words, whatever their nesting is: a wrong find costs one request.

use super::inventory::{
    FileContent, NamedEndpoint, NamedFile, PlainHttp2, SourceInventory, add, plain,
};
use super::pattern_sample::{sample_expression, sample_hosts};

impl SourceInventory {
    pub(super) fn read_envoy(&mut self, text: &str) {
        let mut key = String::new();
        let mut holder = String::new();
        let mut address: Option<String> = None;
        let mut section = String::new();
        for word in document_words(text) {
            if let Some(name) = word.strip_suffix(':') {
                if name != "filename" {
                    holder = name.to_owned();
                }
                if matches!(name, "admin" | "listeners" | "clusters") {
                    section = name.to_owned();
                }
                key = name.to_owned();
                continue;
            }
            match key.as_str() {
                "domains" | "server_names" if word.contains('.') => {
                    let bare = word.split(':').next().unwrap_or("");
                    for host in sample_hosts(bare) {
                        add(&mut self.hosts, host);
                    }
                }
                "prefix" | "path" | "path_separated_prefix" | "exact"
                    if word.starts_with('/') && plain(&word) =>
                {
                    // `path` of an access log is a file.
                    if holder == "path" && word.ends_with(".log") {
                        self.add_file(Some(NamedFile { path: word, content: FileContent::Parent }));
                    } else {
                        add(&mut self.paths, word);
                    }
                }
                "codec_type" if word == "HTTP2" => self.plain_http2 = PlainHttp2::Alone,
                "regex" if word.contains('/') => add(&mut self.paths, sample_expression(&word)),
                "address" => address = Some(word),
                "port_value" => {
                    let port = word.parse().ok().filter(|port| *port != 0);
                    // Listeners have addresses too.
                    if let (Some(host), Some(port), "clusters") =
                        (address.take(), port, section.as_str())
                    {
                        add(&mut self.servers, NamedEndpoint { host, port });
                    }
                }
                "filename" => {
                    let content = match holder.as_str() {
                        "certificate_chain" => FileContent::Certificate,
                        "private_key" => FileContent::Key,
                        "crl" => FileContent::RevocationList,
                        "trusted_ca" => FileContent::Authority,
                        _ => FileContent::Empty,
                    };
                    self.add_file(Some(NamedFile { path: word, content }));
                }
                _ => {}
            }
        }
    }
}

/// Keys, with a colon at their end, and values, without quotes, brackets and comments.
fn document_words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut word = String::new();
        let mut quoted = false;
        let mut quote = None;
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let ends_key = |next: Option<&char>| next.is_none_or(|next| next.is_whitespace());
            match quote {
                Some(open) if c == open => {
                    quote = None;
                    quoted = true;
                }
                Some(_) => word.push(c),
                None if matches!(c, '"' | '\'') && word.is_empty() => quote = Some(c),
                None if c == '#' && word.is_empty() => break,
                None if c == ':' && (quoted || ends_key(chars.peek())) => {
                    out.push(format!("{}:", std::mem::take(&mut word)));
                    quoted = false;
                }
                None if c.is_whitespace() || matches!(c, '{' | '}' | '[' | ']' | ',') => {
                    if !word.is_empty() && word != "-" {
                        out.push(std::mem::take(&mut word));
                    }
                    word.clear();
                    quoted = false;
                }
                None => word.push(c),
            }
        }
        if !word.is_empty() && word != "-" {
            out.push(word);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use convert::dialect::Dialect;

    use super::*;

    #[test]
    fn hosts_paths_servers_and_files_of_envoy_are_found_in_yaml_and_json() {
        let yaml = "domains: [\"shop.example\", \"*.shop.example:443\"]\nroutes:\n- match: { prefix: /api } # no\n\
             - match:\n    safe_regex: { regex: ^/rooms/[0-9]+$ }\nclusters:\nsocket_address: { address: 10.0.0.1, port_value: 80 }\n\
             tls:\n- certificate_chain: { filename: /etc/a.pem }\n  private_key:\n    filename: /etc/a.key\n";
        let json = "{\"domains\":[\"shop.example\",\"*.shop.example:443\"],\"match\":{\"prefix\":\"/api\"},\"safe_regex\":{\"regex\":\"^/rooms/[0-9]+$\"},\n\
             \"clusters\":[],\"socket_address\":{\"address\":\"10.0.0.1\",\"port_value\":80},\"certificate_chain\":{\"filename\":\"/etc/a.pem\"},\n\"private_key\":{\"filename\":\"/etc/a.key\"}}";
        for text in [yaml, json] {
            let found = SourceInventory::read(text, Dialect::Envoy);
            assert_eq!(found.hosts, ["shop.example", "below.shop.example"], "{text}");
            assert_eq!(found.servers, [NamedEndpoint { host: "10.0.0.1".into(), port: 80 }]);
            let contents: Vec<FileContent> = found.files.iter().map(|file| file.content).collect();
            assert_eq!(contents, [FileContent::Certificate, FileContent::Key], "{text}");
            assert!(found.paths.contains(&"/api".to_owned()), "{:?}", found.paths);
        }
    }
}
