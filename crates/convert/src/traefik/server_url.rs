//! The URL of a server: scheme, host, port and path.

/// A server's URL in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    pub scheme: ServerScheme,
    /// The host; an address of IPv6 has brackets.
    pub host: String,
    pub port: u16,
    /// The path without a slash at its end; empty for none.
    pub path: String,
    /// The port is written.
    pub has_port: bool,
}

/// What is spoken to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerScheme {
    Http,
    Https,
    /// HTTP/2 without TLS.
    H2c,
}

impl ServerUrl {
    /// `None` if it is no URL of a server.
    pub fn parse(text: &str) -> Option<ServerUrl> {
        let (scheme, rest) = text.trim().split_once("://")?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" | "ws" => ServerScheme::Http,
            "https" | "wss" => ServerScheme::Https,
            "h2c" => ServerScheme::H2c,
            _ => return None,
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') || path.contains(['?', '#']) {
            return None;
        }
        let (host, port) = split_port(authority);
        let usual = if scheme == ServerScheme::Https { 443 } else { 80 };
        let port_number = match port {
            None => usual,
            Some(port) => port.parse().ok()?,
        };
        let path = path.trim_end_matches('/');
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        let good = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
        let is_host = !host.is_empty() && host.chars().all(good);
        is_host.then(|| ServerUrl {
            scheme,
            host: host.to_owned(),
            port: port_number,
            path,
            has_port: port.is_some(),
        })
    }

    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The Host that the server is asked for where it is that of the URL.
    pub fn authority(&self) -> String {
        if self.has_port { self.address() } else { self.host.clone() }
    }
}

/// Splits a port from a host, which may be an address of IPv6 in brackets.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        for (text, expected) in [
            ("http://10.0.0.1:8080", Some("10.0.0.1:8080")),
            ("https://app.example/", Some("app.example:443")),
            ("h2c://[::1]:50051", Some("[::1]:50051")),
            ("http://[::1]", Some("[::1]:80")),
            ("http://a/x/", Some("a:80/x")),
            ("ftp://a", None),
            ("http://u@a", None),
            ("http://a:x", None),
            ("a:80", None),
            ("http://", None),
        ] {
            let found = ServerUrl::parse(text).map(|url| url.address() + &url.path);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
