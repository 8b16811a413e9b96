//! The URL of a JWK Set: by TLS unless it is on this machine, because whoever can change the keys can come in as anybody.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use serde::Serialize;

/// Where a JWK Set is fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeySetUrl {
    /// Whether to use TLS.
    pub secure: bool,
    /// A name or an IP address.
    pub host: String,
    pub port: u16,
    /// Path and query.
    pub target: String,
}

/// Why a text is no URL of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetUrlError {
    #[error("it does not begin with `https://`")]
    Scheme,
    #[error("without TLS whoever is on the way could replace the keys")]
    PlainText,
    #[error("a name and a password in it have no effect")]
    Credentials,
    #[error("it has no host that can be")]
    Host,
    #[error("its port is none")]
    Port,
    #[error("its path has a fragment, a space or an invisible character")]
    Target,
}

impl KeySetUrl {
    /// Parses `https://HOST:PORT/PATH?QUERY`, or the same with `http` if the host is this machine.
    ///
    /// # Errors
    /// It is no such URL.
    pub fn parse(text: &str) -> Result<KeySetUrl, KeySetUrlError> {
        let (secure, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(KeySetUrlError::Scheme),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return Err(KeySetUrlError::Credentials);
        }
        let host_end = match authority.starts_with('[') {
            true => authority.find(']').ok_or(KeySetUrlError::Host)? + 1,
            false => authority.find(':').unwrap_or(authority.len()),
        };
        let (host, port) = authority.split_at(host_end);
        let host = parse_host(host).ok_or(KeySetUrlError::Host)?.to_owned();
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => default_port(secure),
            None => return Err(KeySetUrlError::Host),
            Some(port) => {
                let port = port.parse().ok().filter(|port| *port > 0);
                port.ok_or(KeySetUrlError::Port)?
            }
        };
        if !target.chars().all(|c| c.is_ascii_graphic() && c != '#') {
            return Err(KeySetUrlError::Target);
        }
        let slash = if target.starts_with('/') { "" } else { "/" };
        let url = KeySetUrl { secure, host, port, target: format!("{slash}{target}") };
        if !secure && !url.is_loopback() {
            return Err(KeySetUrlError::PlainText);
        }
        Ok(url)
    }

    fn is_loopback(&self) -> bool {
        let ip = self.host.parse::<IpAddr>();
        self.host.eq_ignore_ascii_case("localhost") || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

fn default_port(secure: bool) -> u16 {
    if secure { 443 } else { 80 }
}

/// A name, or an address, without its brackets.
fn parse_host(text: &str) -> Option<&str> {
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.strip_suffix(']')?;
        return inner.parse::<Ipv6Addr>().is_ok().then_some(inner);
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    (!text.is_empty() && text.chars().all(is_part)).then_some(text)
}

impl fmt::Display for KeySetUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeySetUrl { secure, host, port, target } = self;
        let scheme = if *secure { "https" } else { "http" };
        match host.contains(':') {
            true => write!(to, "{scheme}://[{host}]")?,
            false => write!(to, "{scheme}://{host}")?,
        }
        if *port != default_port(*secure) {
            write!(to, ":{port}")?;
        }
        to.write_str(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_and_what_is_asked_for() {
        for (text, host, port, target) in [
            ("https://a.example/keys", "a.example", 443, "/keys"),
            ("https://a.example", "a.example", 443, "/"),
            ("https://a.example:8443/v1/keys/?p=b", "a.example", 8443, "/v1/keys/?p=b"),
            ("https://a.example?p=b", "a.example", 443, "/?p=b"),
            ("https://[::1]:444/k", "::1", 444, "/k"),
            ("https://192.0.2.1/k", "192.0.2.1", 443, "/k"),
            ("http://localhost:8080/k", "localhost", 8080, "/k"),
            ("http://127.0.0.2/k", "127.0.0.2", 80, "/k"),
            ("http://[::1]/k", "::1", 80, "/k"),
        ] {
            let url = KeySetUrl::parse(text).unwrap();
            assert_eq!((url.host.as_str(), url.port, url.target.as_str()), (host, port, target));
            assert_eq!(KeySetUrl::parse(&url.to_string()), Ok(url));
        }
    }

    #[test]
    fn what_is_no_url_or_could_mislead_is_refused_with_its_reason() {
        for (text, error) in [
            ("", KeySetUrlError::Scheme),
            ("HTTPS://a.example/keys", KeySetUrlError::Scheme),
            ("file:///keys", KeySetUrlError::Scheme),
            ("http://a.example/keys", KeySetUrlError::PlainText),
            ("http://localhost.example/keys", KeySetUrlError::PlainText),
            ("http://10.0.0.1/keys", KeySetUrlError::PlainText),
            ("https://", KeySetUrlError::Host),
            ("https:///keys", KeySetUrlError::Host),
            ("https://[::1/", KeySetUrlError::Host),
            ("https://[a.example]/", KeySetUrlError::Host),
            ("https://[::1]x/", KeySetUrlError::Host),
            ("https://a.example\r\nX: y/", KeySetUrlError::Host),
            ("https://::1/", KeySetUrlError::Host),
            ("https://a.example:0/", KeySetUrlError::Port),
            ("https://a.example:/", KeySetUrlError::Port),
            ("https://a.example:65536/", KeySetUrlError::Port),
            ("https://me:secret@a.example/", KeySetUrlError::Credentials),
            ("http://localhost@a.example/", KeySetUrlError::Credentials),
            ("https://a.example/#x", KeySetUrlError::Target),
            ("https://a.example#x", KeySetUrlError::Target),
            ("https://a.example/ x", KeySetUrlError::Target),
        ] {
            assert_eq!(KeySetUrl::parse(text), Err(error), "{text}");
        }
    }
}
