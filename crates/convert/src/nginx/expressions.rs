//! Parses the argument of `proxy_pass`.

use std::collections::BTreeMap;

use crate::notes::UnsupportedReason;

#[derive(Debug)]
pub struct PassTarget<'t> {
    pub scheme: &'t str,
    /// The host, with its port if it has one; or `unix:` and a path.
    pub host: &'t str,
    /// The path that replaces the location's prefix.
    pub uri: Option<&'t str>,
}

impl PassTarget<'_> {
    /// The Host that servers get where no other is set: `$proxy_host`. A Unix socket is `localhost`.
    pub fn authority(&self) -> &str {
        let usual = match self.scheme {
            "http" => ":80",
            "https" => ":443",
            _ => "",
        };
        match self.host {
            socket if socket.starts_with("unix:") => "localhost",
            host if usual.is_empty() => host,
            host => host.strip_suffix(usual).unwrap_or(host),
        }
    }

    /// The port of the servers: `$proxy_port`.
    fn port(&self) -> &str {
        let port = self.host.rsplit_once(':').map(|(_, port)| port);
        let port = port.filter(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
        port.unwrap_or(if self.scheme.ends_with('s') { "443" } else { "80" })
    }

    /// Adds the variables that stand for the target.
    pub fn add_variables(&self, values: &mut BTreeMap<String, String>) {
        values.insert("proxy_host".to_owned(), self.authority().to_owned());
        values.insert("proxy_port".to_owned(), self.port().to_owned());
    }
}

/// The argument without variables that stand for the whole path and query of the request, where nothing precedes them.
fn without_same_path(text: &str) -> &str {
    let same = [
        "$request_uri",
        "$uri$is_args$args",
        "$uri$is_args$query_string",
        "$document_uri$is_args$args",
        "$document_uri$is_args$query_string",
    ];
    let server = same.iter().find_map(|end| text.strip_suffix(end));
    let is_alone =
        |server: &&str| server.split_once("://").is_none_or(|(_, host)| !host.contains('/'));
    server.filter(is_alone).unwrap_or(text)
}

/// `text`: the argument, with the values of variables that are known.
pub fn pass_target(text: &str) -> Result<PassTarget<'_>, UnsupportedReason> {
    let text = without_same_path(text);
    let host = text.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(""));
    let is_socket = host.starts_with("unix:") && text.contains('$');
    if host.contains('$') || text.starts_with('$') || is_socket {
        return Err(UnsupportedReason::new(
            "which server is meant depends on variables",
            "one rule for each pool",
        ));
    }
    let (scheme, rest) =
        text.split_once("://").ok_or_else(|| UnsupportedReason::new("it has no scheme", ""))?;
    if rest.is_empty() {
        return Err(UnsupportedReason::new("no server is named", "an address, and a port"));
    }
    if let Some(path) = rest.strip_prefix("unix:") {
        let length = path.find(':').unwrap_or(path.len());
        let (host, uri) = rest.split_at("unix:".len() + length);
        let uri = uri.strip_prefix(':').filter(|uri| !uri.is_empty());
        return Ok(PassTarget { scheme, host, uri });
    }
    let (host, uri) = match rest.find('/') {
        Some(at) => (&rest[..at], Some(&rest[at..])),
        None => (rest, None),
    };
    Ok(PassTarget { scheme, host, uri })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_get_the_host_that_nginx_sends() {
        for (text, authority, port) in [
            ("http://b", "b", "80"),
            ("http://b:80/x", "b", "80"),
            ("https://b:80", "b:80", "80"),
            ("https://b:443", "b", "443"),
            ("grpcs://b:443", "b:443", "443"),
            ("http://[2001:db8::1]", "[2001:db8::1]", "80"),
            ("http://[2001:db8::1]:81", "[2001:db8::1]:81", "81"),
            ("http://unix:/run/x:/y", "localhost", "80"),
        ] {
            let target = pass_target(text).unwrap();
            let found = format!("{} {}", target.authority(), target.port());
            assert_eq!(found, format!("{authority} {port}"), "{text}");
        }
    }
}
