//! Parts of a request head, located in place: fields, cookies, parameters, the host and the path as rules compare them.
//!
//! The codec has parsed and written the head, so its form is valid. This module only locates its parts, and never
//! panics on other bytes.

use std::borrow::Cow;
use std::ops::Range;

use crate::path;

/// The longest host that is compared; a longer one counts as absent. Bounds the buffer of a parsed head.
/// The longest name of DNS has 253 characters (RFC 1035 §2.3.4).
const HOST: usize = 256;

/// Fields whose values are secrets: credentials, and tokens against forged requests. No log and no capture has them.
pub const SECRET_FIELDS: [&str; 8] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "x-auth-token",
    "x-csrf-token",
    "x-xsrf-token",
];

/// A head with the parts that rules read repeatedly.
#[derive(Clone, Debug)]
pub struct ParsedHead<'h> {
    bytes: &'h [u8],
    method: &'h [u8],
    target: &'h [u8],
    raw: &'h [u8],
    path: Cow<'h, [u8]>,
    host: [u8; HOST],
    host_len: usize,
    host_is_too_long: bool,
}

impl<'h> ParsedHead<'h> {
    /// A head whose request line starts with a method of this length, and whose target has this range.
    pub fn new(bytes: &'h [u8], method: usize, target: Range<usize>) -> ParsedHead<'h> {
        let target = bytes.get(target).unwrap_or_default();
        let raw = target.split(|b| *b == b'?').next().unwrap_or_default();
        let plain = path::is_plain(raw);
        let mut head = ParsedHead {
            bytes,
            method: bytes.get(..method).unwrap_or_default(),
            target,
            raw,
            path: if plain { Cow::Borrowed(raw) } else { Cow::Owned(path::usual_form(raw)) },
            host: [0; HOST],
            host_len: 0,
            host_is_too_long: false,
        };
        let authority = fields(bytes, b"host").next().unwrap_or_default();
        let name = without_port(authority);
        if name.len() <= HOST {
            for (to, from) in head.host.iter_mut().zip(name) {
                *to = from.to_ascii_lowercase();
            }
            head.host_len = name.len();
        }
        head.host_is_too_long = name.len() > HOST;
        head
    }

    pub fn method(&self) -> &'h [u8] {
        self.method
    }

    /// The target as written.
    pub fn target(&self) -> &'h [u8] {
        self.target
    }

    /// The path in its usual reading: see `path::usual_form`.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// The path as written.
    pub fn raw_path(&self) -> &'h [u8] {
        self.raw
    }

    /// Whether every server reads the path as written.
    pub fn path_is_plain(&self) -> bool {
        matches!(self.path, Cow::Borrowed(_))
    }

    /// The query with its `?`, or nothing.
    pub fn query(&self) -> &'h [u8] {
        let at = self.target.iter().position(|b| *b == b'?').unwrap_or(self.target.len());
        self.target.get(at..).unwrap_or_default()
    }

    /// The requested host, lower case, without its port.
    pub fn host(&self) -> &[u8] {
        self.host.get(..self.host_len).unwrap_or_default()
    }

    /// The requested host without its port, in the letter case of the client.
    pub fn host_as_written(&self) -> &'h [u8] {
        without_port(self.authority())
    }

    /// Whether the host has more bytes than are compared.
    pub fn host_is_too_long(&self) -> bool {
        self.host_is_too_long
    }

    /// The host as written.
    pub fn authority(&self) -> &'h [u8] {
        self.field(b"host").next().unwrap_or_default()
    }

    /// The values of the fields of this name.
    pub fn field<'n>(&self, name: &'n [u8]) -> impl Iterator<Item = &'h [u8]> + use<'h, 'n> {
        fields(self.bytes, name)
    }

    /// The values of the fields of this name, and of fields whose name some servers treat as the same. Gateways (CGI,
    /// WSGI, FastCGI) replace `-` by `_`, and some of them every symbol.
    pub fn field_spellings<'n>(
        &self,
        name: &'n [u8],
    ) -> impl Iterator<Item = FieldSpelling<'h>> + use<'h, 'n> {
        field_lines(self.bytes).filter_map(move |line| {
            if line.get(name.len()) != Some(&b':') {
                return None;
            }
            let (field, value) = line.split_at(name.len());
            let exact = field.eq_ignore_ascii_case(name);
            let spelled = FieldSpelling { exact, value: value[1..].trim_ascii() };
            (exact || same_name(field, name)).then_some(spelled)
        })
    }

    /// The values of the cookies of this name.
    pub fn cookie<'n>(&self, name: &'n [u8]) -> impl Iterator<Item = &'h [u8]> + use<'h, 'n> {
        fields(self.bytes, b"cookie").flat_map(move |all| cookies(all, name))
    }

    /// The values of the parameters of this name.
    pub fn parameter<'n>(&self, name: &'n [u8]) -> impl Iterator<Item = &'h [u8]> + use<'h, 'n> {
        parameters(self.target, name)
    }
}

/// The value of a field whose name equals the wanted one for some server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSpelling<'h> {
    pub exact: bool,
    /// The value, without blanks around it.
    pub value: &'h [u8],
}

/// Whether a server may treat two names as one: for gateways all characters except letters and digits are the same.
pub fn same_name(a: &[u8], b: &[u8]) -> bool {
    let separator = |byte: u8| !byte.is_ascii_alphanumeric();
    let same = |(&a, &b): (&u8, &u8)| a.eq_ignore_ascii_case(&b) || separator(a) && separator(b);
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// The field lines of a head.
fn field_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = head.split(|b| *b == b'\n').skip(1);
    // The empty line ends the head; the body follows.
    lines.map(<[u8]>::trim_ascii_end).take_while(|line| !line.is_empty())
}

/// The values of the header fields of this name, without blanks around them.
pub fn fields<'h, 'n>(
    head: &'h [u8],
    name: &'n [u8],
) -> impl Iterator<Item = &'h [u8]> + use<'h, 'n> {
    field_lines(head).filter_map(move |line| {
        if line.get(name.len()) != Some(&b':') {
            return None;
        }
        let (field, value) = line.split_at(name.len());
        field.eq_ignore_ascii_case(name).then(|| value[1..].trim_ascii())
    })
}

/// The values of the cookies of this name in a `Cookie` header (RFC 6265 §4.2.1).
pub fn cookies<'h, 'n>(
    all: &'h [u8],
    name: &'n [u8],
) -> impl Iterator<Item = &'h [u8]> + use<'h, 'n> {
    all.split(|b| *b == b';').filter_map(move |pair| {
        let (cookie, value) = split(pair, b'=')?;
        (cookie.trim_ascii() == name).then(|| value.trim_ascii())
    })
}

/// The values of the parameters of this name in a target's query, not decoded.
pub fn parameters<'h, 'n>(
    target: &'h [u8],
    name: &'n [u8],
) -> impl Iterator<Item = &'h [u8]> + use<'h, 'n> {
    let query = split(target, b'?').map(|(_, query)| query).unwrap_or_default();
    query.split(|b| *b == b'&').filter_map(move |pair| {
        let (parameter, value) = split(pair, b'=').unwrap_or((pair, b""));
        (!pair.is_empty() && parameter == name).then_some(value)
    })
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let middle = text.iter().position(|b| *b == at)?;
    Some((&text[..middle], &text[middle + 1..]))
}

/// The name of an authority, without its port and the trailing dot.
fn without_port(authority: &[u8]) -> &[u8] {
    let name = match authority.iter().rposition(|b| *b == b':') {
        Some(at) if !authority[at..].contains(&b']') => &authority[..at],
        _ => authority,
    };
    name.strip_suffix(b".").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"GET /a/%62?user=7&x=&flag&user=8 HTTP/1.1\r\nHost: Shop.Example.:8080\r\n\
        X-Tenant:  blue \r\ncookie: id=42; SID=abc\r\nCookie: late=1\r\nx-tenant: red\r\n\r\nx-body: no\r\n";

    fn head() -> ParsedHead<'static> {
        ParsedHead::new(HEAD, 3, 4..32)
    }

    #[test]
    fn parts_are_found() {
        let head = head();
        assert_eq!(
            (head.method(), head.path(), head.host()),
            (&b"GET"[..], &b"/a/b"[..], &b"shop.example"[..])
        );
        assert_eq!(head.query(), b"?user=7&x=&flag&user=8");
        let all = |values: &mut dyn Iterator<Item = &'static [u8]>| values.collect::<Vec<_>>();
        assert_eq!(all(&mut head.field(b"x-tenant")), [b"blue" as &[u8], b"red"]);
        assert_eq!(all(&mut head.field(b"x-body")), [b"" as &[u8]; 0]);
        assert_eq!(all(&mut head.cookie(b"late")), [b"1" as &[u8]]);
        assert_eq!(all(&mut head.cookie(b"sid")), [b"" as &[u8]; 0]);
        assert_eq!(all(&mut head.parameter(b"user")), [b"7" as &[u8], b"8"]);
        assert_eq!(all(&mut head.parameter(b"flag")), [b"" as &[u8]]);
    }

    #[test]
    fn hosts_lose_their_port() {
        for (authority, want) in
            [("a:80", "a"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]"), ("a.", "a"), ("", "")]
        {
            assert_eq!(without_port(authority.as_bytes()), want.as_bytes(), "{authority}");
        }
    }

    #[test]
    fn no_bytes_are_too_strange() {
        for bytes in [&b""[..], b"\n", b":", b"\r\n\r\n", b"GET ? HTTP/1.1\r\n:\r\n=;=\r\nhost:"] {
            let head = ParsedHead::new(bytes, 90, 4..9000);
            let _ = (head.path(), head.host(), head.query(), head.cookie(b"").count());
        }
    }
}
