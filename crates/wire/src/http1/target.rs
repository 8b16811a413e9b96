//! The request target (RFC 9112 §3.2): its form, and the part that is sent to the server.
//!
//! Stricter than the RFC for the bytes of a host, more tolerant for those of a path. In a path any visible ASCII but
//! `#` passes unchanged, since browsers send `|`, `"` and the like. Paths are not normalised here.

use super::defect::Defect;
use super::host::is_host;

/// A parsed request target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestTarget<'b> {
    /// The authority of the absolute-form; it replaces Host.
    pub authority: Option<&'b str>,
    /// Path and query, or `*`. In absolute-form it may be empty or start with `?`.
    pub rest: &'b str,
}

/// Parses a target whose bytes are visible or non-ASCII.
#[inline]
pub(crate) fn parse_target<'b>(method: &str, target: &'b str) -> Result<RequestTarget<'b>, Defect> {
    if !target.is_ascii() {
        return Err(Defect::TargetByte);
    }
    if memchr::memchr(b'#', target.as_bytes()).is_some() {
        return Err(Defect::TargetFragment);
    }
    if target.starts_with('/') && method != "CONNECT" {
        return Ok(RequestTarget { authority: None, rest: target });
    }
    other_forms(method, target)
}

#[cold]
fn other_forms<'b>(method: &str, target: &'b str) -> Result<RequestTarget<'b>, Defect> {
    if method == "CONNECT" {
        return Err(Defect::ConnectRefused);
    }
    if target == "*" {
        let asterisk = RequestTarget { authority: None, rest: target };
        return if method == "OPTIONS" { Ok(asterisk) } else { Err(Defect::TargetForm) };
    }
    let Some((scheme, after)) = target.split_once("://") else { return Err(Defect::TargetForm) };
    let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if scheme.is_empty() || !scheme.bytes().all(is_scheme_byte) {
        return Err(Defect::TargetForm);
    }
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(Defect::TargetScheme);
    }
    let end = after.bytes().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(after.len());
    let (authority, rest) = after.split_at(end);
    if authority.contains('@') {
        return Err(Defect::TargetUserinfo);
    }
    if !is_host(authority.as_bytes()) {
        return Err(Defect::TargetAuthority);
    }
    // RFC 9112 §3.2.4: the absolute-form of OPTIONS without a path means `*`.
    let rest = if method == "OPTIONS" && rest.is_empty() { "*" } else { rest };
    Ok(RequestTarget { authority: Some(authority), rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let rows = [
            ("GET", "/a?b|c", Ok((None, "/a?b|c"))),
            ("GET", "//evil/x", Ok((None, "//evil/x"))),
            ("GET", "http://h:80/a", Ok((Some("h:80"), "/a"))),
            ("GET", "HTTPS://h?q", Ok((Some("h"), "?q"))),
            ("GET", "http://h", Ok((Some("h"), ""))),
            ("OPTIONS", "http://h", Ok((Some("h"), "*"))),
            ("OPTIONS", "*", Ok((None, "*"))),
            ("GET", "*", Err(Defect::TargetForm)),
            ("GET", "a", Err(Defect::TargetForm)),
            ("GET", "://h/", Err(Defect::TargetForm)),
            ("GET", "/a#b", Err(Defect::TargetFragment)),
            ("GET", "/ä", Err(Defect::TargetByte)),
            ("GET", "ftp://h/", Err(Defect::TargetScheme)),
            ("GET", "http://u@h/", Err(Defect::TargetUserinfo)),
            ("GET", "http:///a", Err(Defect::TargetAuthority)),
            ("GET", "http://h\\x/", Err(Defect::TargetAuthority)),
            ("CONNECT", "h:443", Err(Defect::ConnectRefused)),
            ("CONNECT", "/a", Err(Defect::ConnectRefused)),
        ];
        for (method, target, wanted) in rows {
            let found = parse_target(method, target).map(|target| (target.authority, target.rest));
            assert_eq!(found, wanted, "{method} {target}");
        }
    }
}
