//! Cookies of a request in each of the ways in which servers parse them: as written, unquoted, decoded, and with other
//! separators than `;`. It knows no rule.

use std::borrow::Cow;

use crate::query::{PlusMeaning, decoded};

/// A way in which servers parse the Cookie field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieSyntax {
    /// As written (RFC 6265 §4.2.1).
    AsItStands,
    /// Quotes around a value are removed (Go, Tomcat).
    Unquoted,
    /// Quotes are removed, and `\` escapes the next character (Python).
    Unescaped,
    /// Percent-encodings are decoded, and `+` is a blank (PHP, Rack).
    Decoded,
    /// Quotes are removed, then percent-encodings are decoded (Node).
    UnquotedAndDecoded,
    /// Commas and blanks separate cookies too, except within quotes (RFC 2109).
    Listed,
}

impl CookieSyntax {
    pub const ALL: [CookieSyntax; 6] = [
        CookieSyntax::AsItStands,
        CookieSyntax::Unquoted,
        CookieSyntax::Unescaped,
        CookieSyntax::Decoded,
        CookieSyntax::UnquotedAndDecoded,
        CookieSyntax::Listed,
    ];
}

/// Whether all syntaxes give the same cookies for this field.
pub fn is_plain(all: &[u8]) -> bool {
    let mut before = b';';
    all.iter().all(|&byte| {
        let blank = matches!(byte, b' ' | b'\t') && before != b';';
        before = byte;
        !blank && !matches!(byte, b'"' | b'%' | b'+' | b',' | b'\\')
    })
}

/// Visits the values of the cookies of this name in one syntax of a field.
pub fn visit_values(all: &[u8], syntax: CookieSyntax, name: &[u8], visit: &mut dyn FnMut(&[u8])) {
    let mut rest = all;
    while !rest.is_empty() {
        let end = cookie_end(rest, syntax);
        let pair = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        let Some(equals) = pair.iter().position(|b| *b == b'=') else { continue };
        let cookie_name = pair[..equals].trim_ascii();
        let value = pair[equals + 1..].trim_ascii();
        match syntax {
            CookieSyntax::AsItStands if cookie_name == name => visit(value),
            CookieSyntax::Unquoted if cookie_name == name => visit(unquoted(value)),
            CookieSyntax::Unescaped | CookieSyntax::Listed if cookie_name == name => {
                visit(&unescaped(value))
            }
            CookieSyntax::Decoded if *decoded(cookie_name, PlusMeaning::Blank) == *name => {
                visit(&decoded(value, PlusMeaning::Blank));
            }
            CookieSyntax::UnquotedAndDecoded
                if *decoded(cookie_name, PlusMeaning::Itself) == *name =>
            {
                visit(&decoded(unquoted(value), PlusMeaning::Itself));
            }
            _ => {}
        }
    }
}

/// The end of the first cookie.
fn cookie_end(rest: &[u8], syntax: CookieSyntax) -> usize {
    let listed = syntax == CookieSyntax::Listed;
    let mut quoted = false;
    let mut escaped = false;
    let ends = |byte: u8| match byte {
        _ if escaped => {
            escaped = false;
            false
        }
        b'"' if listed => {
            quoted = !quoted;
            false
        }
        b'\\' if listed && quoted => {
            escaped = true;
            false
        }
        b';' => !quoted,
        b',' | b' ' | b'\t' => listed && !quoted,
        _ => false,
    };
    rest.iter().copied().position(ends).unwrap_or(rest.len())
}

fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] => inner,
        _ => value,
    }
}

/// The value without its quotes and without the `\` of escapes; `\101` is the character of that octal number.
fn unescaped(value: &[u8]) -> Cow<'_, [u8]> {
    let inner = unquoted(value);
    if inner.len() == value.len() || !inner.contains(&b'\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', then @ ..]) => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = then;
            }
            (b'\\', [meant, then @ ..]) => {
                out.push(*meant);
                rest = then;
            }
            _ => out.push(first),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(all: &str, syntax: CookieSyntax) -> Vec<String> {
        let mut values = Vec::new();
        visit_values(all.as_bytes(), syntax, b"role", &mut |value| {
            values.push(String::from_utf8_lossy(value).into_owned());
        });
        values
    }

    #[test]
    fn each_reading_is_that_of_some_server() {
        use CookieSyntax::{AsItStands, Decoded, Listed, Unescaped, Unquoted, UnquotedAndDecoded};
        for (all, syntax, want) in [
            ("a=1; role=x; role = y", AsItStands, &["x", "y"][..]),
            ("role=\"x\"", AsItStands, &["\"x\""]),
            ("role=\"x\"", Unquoted, &["x"]),
            ("role=\"x", Unquoted, &["\"x"]),
            ("role=\"\\170\\\"\"", Unquoted, &["\\170\\\""]),
            ("role=\"\\170\\\"\"", Unescaped, &["x\""]),
            ("role=\\170", Unescaped, &["\\170"]),
            ("%72ole=%78+y", Decoded, &["x y"]),
            ("role=\"%78+y\"", UnquotedAndDecoded, &["x+y"]),
            ("a=1,role=x", AsItStands, &[]),
            ("a=1,role=x", Listed, &["x"]),
            ("a=1 role=x", Listed, &["x"]),
            ("a=\"; role=y\\\"; \"; role=x", Listed, &["x"]),
            ("a=\"; role=y", Listed, &[]),
            (";;role;=;role=", AsItStands, &[""]),
            ("", Listed, &[]),
        ] {
            assert_eq!(read(all, syntax), want, "{all} {syntax:?}");
        }
    }

    #[test]
    fn a_plain_field_has_one_reading() {
        for all in ["a=1; role=x;b=2", "role=x-y_z.1", "role", ""] {
            assert!(is_plain(all.as_bytes()), "{all}");
            for syntax in CookieSyntax::ALL {
                assert_eq!(read(all, syntax), read(all, CookieSyntax::AsItStands), "{all}");
            }
        }
        for all in ["role=\"x\"", "role=%78", "role=a+b", "a=1,role=x", "a=1 role=x", "a=\\1"] {
            assert!(!is_plain(all.as_bytes()), "{all}");
        }
    }
}
