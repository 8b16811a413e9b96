//! Parses the argument of `proxy_pass`.

use crate::notes::UnsupportedReason;

pub struct PassTarget<'t> {
    pub scheme: &'t str,
    /// The host, with its port if it has one; or `unix:` and a path.
    pub host: &'t str,
    /// `host` as nginx names it to the server: a Unix socket is `localhost`.
    pub authority: &'t str,
    /// The path that replaces the location's prefix.
    pub uri: Option<&'t str>,
}

/// `text`: the argument, with the values of variables that are known.
pub fn pass_target(text: &str) -> Result<PassTarget<'_>, UnsupportedReason> {
    let same = ["$request_uri", "$uri$is_args$args", "$uri$is_args$query_string"];
    let text = same.iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
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
        return Ok(PassTarget { scheme, host, authority: "localhost", uri });
    }
    let (host, uri) = match rest.find('/') {
        Some(at) => (&rest[..at], Some(&rest[at..])),
        None => (rest, None),
    };
    Ok(PassTarget { scheme, host, authority: host, uri })
}
