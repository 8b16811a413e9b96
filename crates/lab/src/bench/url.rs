//! Parses a benchmark's target: `http://host:port/path`. It resolves no names.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetUrl {
    /// Whether to use TLS.
    pub secure: bool,
    /// The host without brackets: a name or an address.
    pub host: String,
    pub port: u16,
    /// Path and query, at least `/`.
    pub path: String,
    /// The value of `Host`: host and port as written.
    pub authority: String,
}

/// Why a target is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetUrlError {
    /// A scheme other than http and https.
    #[error(
        "`{0}` has no scheme that can be asked; expected http://HOST[:PORT][/PATH] or https://…"
    )]
    Scheme(String),
    #[error("`{0}` names no host")]
    Host(String),
    /// An invalid port.
    #[error("`{0}` is no port; expected 1 to 65535")]
    Port(String),
    /// A name and a password, which are not sent.
    #[error("leave out what stands before `@`: credentials go into a field of a scenario")]
    Credentials,
}

impl std::str::FromStr for TargetUrl {
    type Err = TargetUrlError;

    fn from_str(text: &str) -> Result<TargetUrl, TargetUrlError> {
        let (secure, rest) = if let Some(rest) = text.strip_prefix("http://") {
            (false, rest)
        } else if let Some(rest) = text.strip_prefix("https://") {
            (true, rest)
        } else {
            return Err(TargetUrlError::Scheme(text.to_owned()));
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        if authority.contains('@') {
            return Err(TargetUrlError::Credentials);
        }
        let tail = tail.split('#').next().unwrap_or_default();
        let path = if tail.starts_with('/') { tail.to_owned() } else { format!("/{tail}") };
        let (host, port) = split_port(authority);
        if host.is_empty() {
            return Err(TargetUrlError::Host(text.to_owned()));
        }
        let port = match port {
            None => {
                if secure {
                    443
                } else {
                    80
                }
            }
            Some(digits) => match digits.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(TargetUrlError::Port(digits.to_owned())),
            },
        };
        let host = host.to_owned();
        let authority = authority.to_owned();
        Ok(TargetUrl { secure, host, port, path, authority })
    }
}

/// Splits host and port; the host loses its brackets.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, tail) = rest.split_once(']').unwrap_or((rest, ""));
        return (host, tail.strip_prefix(':'));
    }
    match authority.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let rows = [
            ("http://shop.example", (false, "shop.example", 80, "/")),
            ("https://[2001:db8::1]:8443/a?b#c", (true, "2001:db8::1", 8443, "/a?b")),
            ("http://127.0.0.1:8080?x=1", (false, "127.0.0.1", 8080, "/?x=1")),
        ];
        for (text, (secure, host, port, path)) in rows {
            let found: TargetUrl = text.parse().unwrap();
            assert_eq!(
                (found.secure, found.host.as_str(), found.port, found.path.as_str()),
                (secure, host, port, path)
            );
        }
        let wrong = |text: &str| text.parse::<TargetUrl>().unwrap_err();
        assert!(matches!(wrong("ftp://x"), TargetUrlError::Scheme(_)));
        assert!(matches!(wrong("x"), TargetUrlError::Scheme(_)));
        assert!(matches!(wrong("http:///x"), TargetUrlError::Host(_)));
        assert!(matches!(wrong("http://h:0"), TargetUrlError::Port(_)));
        assert!(matches!(wrong("http://h:99999"), TargetUrlError::Port(_)));
        assert_eq!(wrong("http://u:p@h"), TargetUrlError::Credentials);
    }
}
