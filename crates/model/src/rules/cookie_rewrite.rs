//! Set-Cookie fields whose Domain and Path are those that the client sees (RFC 6265 §4.1.2).

use crate::config::{PrefixRewrite, RewriteConfig};

#[derive(Clone, Debug, Default)]
pub struct CookieRewrite {
    domains: Vec<PrefixRewrite>,
    paths: Vec<PrefixRewrite>,
}

impl CookieRewrite {
    pub fn new(rewrite: &RewriteConfig) -> CookieRewrite {
        CookieRewrite { domains: rewrite.cookie_domain.clone(), paths: rewrite.cookie_path.clone() }
    }

    pub fn is_empty(&self) -> bool {
        self.domains.is_empty() && self.paths.is_empty()
    }

    /// Appends the attributes of a cookie, from their first `;` on, with the changes.
    pub fn write_attributes(&self, attributes: &[u8], out: &mut Vec<u8>) {
        for attribute in attributes.split(|byte| *byte == b';').skip(1) {
            let (name, value) = match attribute.iter().position(|byte| *byte == b'=') {
                Some(at) => (attribute[..at].trim_ascii(), attribute[at + 1..].trim_ascii()),
                None => (attribute.trim_ascii(), &b""[..]),
            };
            let new = if name.eq_ignore_ascii_case(b"domain") {
                self.domains.iter().find_map(|pair| new_domain(pair, value))
            } else if name.eq_ignore_ascii_case(b"path") {
                self.paths.iter().find_map(|pair| new_path(pair, value))
            } else {
                None
            };
            match new {
                None => [&b";"[..], attribute].iter().for_each(|part| out.extend_from_slice(part)),
                Some(new) if new.is_empty() => {}
                Some(new) => {
                    for part in [&b"; "[..], name, b"=", &new] {
                        out.extend_from_slice(part);
                    }
                }
            }
        }
    }

    /// Appends the value of a Set-Cookie field with the changes.
    pub fn write_cookie(&self, value: &[u8], out: &mut Vec<u8>) {
        let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
        out.extend_from_slice(&value[..end]);
        self.write_attributes(&value[end..], out);
    }
}

/// The new domain, empty where the attribute is dropped. A dot at its beginning means nothing (RFC 6265 §5.2.3).
fn new_domain(pair: &PrefixRewrite, value: &[u8]) -> Option<Vec<u8>> {
    fn bare(name: &[u8]) -> &[u8] {
        name.strip_prefix(b".").unwrap_or(name)
    }
    let fits = pair.from == "*" || bare(pair.from.as_bytes()).eq_ignore_ascii_case(bare(value));
    fits.then(|| pair.to.clone().into_bytes())
}

/// The new path, empty where the attribute is dropped.
fn new_path(pair: &PrefixRewrite, value: &[u8]) -> Option<Vec<u8>> {
    let to = pair.to.as_bytes();
    if pair.from == "*" {
        return Some(to.to_vec());
    }
    let rest = value.strip_prefix(pair.from.as_bytes())?;
    if !rest.is_empty() && !pair.from.ends_with('/') && !rest.starts_with(b"/") {
        return None;
    }
    if to.is_empty() {
        return Some(Vec::new());
    }
    let rest = if to.ends_with(b"/") { rest.strip_prefix(b"/").unwrap_or(rest) } else { rest };
    Some([to, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_and_path_become_those_of_the_client() {
        let pair = |from: &str, to: &str| PrefixRewrite { from: from.into(), to: to.into() };
        let rewrite = CookieRewrite::new(&RewriteConfig {
            cookie_domain: vec![pair("inner.example", "shop.example"), pair("*", "")],
            cookie_path: vec![pair("/app", "/"), pair("/two/", "/x/"), pair("/gone", "")],
            ..RewriteConfig::default()
        });
        for (cookie, want) in [
            ("a=1", "a=1"),
            ("a=1;Domain=.Inner.Example; Secure", "a=1; Domain=shop.example; Secure"),
            ("a=1; domain=x.inner.example; HttpOnly", "a=1; HttpOnly"),
            ("a=1; Path=/app", "a=1; Path=/"),
            ("a=1; Path=/app/b; Max-Age=5", "a=1; Path=/b; Max-Age=5"),
            ("a=1; Path=/apple", "a=1; Path=/apple"),
            ("a=1; path = /two/b", "a=1; path=/x/b"),
            ("a=1; Path=/gone/b", "a=1"),
            ("Path=/app; Path=/app; Path=/app", "Path=/app; Path=/; Path=/"),
            ("domain=inner.example", "domain=inner.example"),
            ("a=1; Path; Domain", "a=1; Path"),
            ("a=1;; Path=/app;", "a=1;; Path=/;"),
            ("", ""),
        ] {
            let mut out = Vec::new();
            rewrite.write_cookie(cookie.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), want, "{cookie}");
        }
    }
}
