//! The cookies of a request on its way to a server: removes affinity data that only the balancer needs.
//!
//! Other cookies are copied as they are. A line without any cookie left is removed.

use model::affinity::server_prefix;

/// The change of a request's cookies of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestCookieEdit {
    /// The server is removed from the front of the value.
    StripServer,
    /// The cookie is removed.
    Remove,
}

/// Writes `message`, which begins with a request head, with its cookies of this name changed.
pub fn write_cookies(message: &[u8], name: &[u8], edit: RequestCookieEdit, out: &mut Vec<u8>) {
    let mut at = line_end(message, 0);
    out.extend_from_slice(message.get(..at).unwrap_or_default());
    while let Some(line) = message.get(at..line_end(message, at)).filter(|line| line.len() > 2) {
        at += line.len();
        match line.split_at_checked(b"cookie:".len()) {
            Some((field, value)) if field.eq_ignore_ascii_case(b"cookie:") => {
                write_line(line, value, name, edit, out);
            }
            _ => out.extend_from_slice(line),
        }
    }
    out.extend_from_slice(message.get(at..).unwrap_or_default());
}

/// Writes one Cookie header line with the change.
fn write_line(line: &[u8], value: &[u8], name: &[u8], edit: RequestCookieEdit, out: &mut Vec<u8>) {
    let pairs = || value.trim_ascii().split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    if !pairs().any(|pair| value_of(pair, name).is_some()) {
        return out.extend_from_slice(line);
    }
    let begin = out.len();
    for pair in pairs() {
        let own = value_of(pair, name);
        if pair.is_empty() || own.is_some() && edit == RequestCookieEdit::Remove {
            continue;
        }
        out.extend_from_slice(if out.len() == begin { b"Cookie: " } else { b"; " });
        match own {
            Some(value) => {
                out.extend_from_slice(name);
                out.push(b'=');
                server_prefix::write_without_prefix(value, out);
            }
            None => out.extend_from_slice(pair),
        }
    }
    if out.len() > begin {
        out.extend_from_slice(b"\r\n");
    }
}

/// The value of a cookie, if it has this name.
fn value_of<'p>(pair: &'p [u8], name: &[u8]) -> Option<&'p [u8]> {
    let at = pair.iter().position(|byte| *byte == b'=')?;
    (pair[..at].trim_ascii() == name).then(|| pair[at + 1..].trim_ascii())
}

/// Where the line that begins at `at` ends.
fn line_end(message: &[u8], at: usize) -> usize {
    let rest = message.get(at..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(message.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: &str, edit: RequestCookieEdit) -> String {
        let message = format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\nCookie: S=body~x\r\n");
        let mut out = Vec::new();
        write_cookies(message.as_bytes(), b"S", edit, &mut out);
        let text = String::from_utf8(out).unwrap_or_default();
        let lines = text.strip_prefix("GET / HTTP/1.1\r\nHost: a\r\n").unwrap_or_default();
        lines.strip_suffix("\r\nCookie: S=body~x\r\n").unwrap_or_default().to_owned()
    }

    #[test]
    fn each_cookie_of_the_name_is_changed_and_nothing_else() {
        use RequestCookieEdit::{Remove, StripServer};
        for (lines, stripped, removed) in [
            ("", "", ""),
            ("Cookie: S=a~v\r\n", "Cookie: S=v\r\n", ""),
            ("COOKIE:S=a~v\r\n", "Cookie: S=v\r\n", ""),
            ("Cookie: b=1;  c=2~3 \r\n", "Cookie: b=1;  c=2~3 \r\n", "Cookie: b=1;  c=2~3 \r\n"),
            ("Cookie: b=1; S=a~v; c=2\r\n", "Cookie: b=1; S=v; c=2\r\n", "Cookie: b=1; c=2\r\n"),
            ("Cookie: S=a~v; S=b~w;S=x\r\n", "Cookie: S=v; S=w; S=x\r\n", ""),
            // Several Cookie lines, as HTTP/2 allows (RFC 9113 §8.2.3).
            (
                "Cookie: b=1\r\nX: S=a~v\r\nCookie: S=a~v\r\ncookie: S=c~\r\n",
                "Cookie: b=1\r\nX: S=a~v\r\nCookie: S=v\r\nCookie: S=\r\n",
                "Cookie: b=1\r\nX: S=a~v\r\n",
            ),
            ("Cookie: S=\"a~v\"; s=a~v\r\n", "Cookie: S=\"v\"; s=a~v\r\n", "Cookie: s=a~v\r\n"),
            (
                "Cookie: S =a~v; SS=a~v; =a~v\r\n",
                "Cookie: S=v; SS=a~v; =a~v\r\n",
                "Cookie: SS=a~v; =a~v\r\n",
            ),
            ("Cookie: ;;S=a~;\r\n", "Cookie: S=\r\n", ""),
            (
                "Cookie:\r\nCookies: S=a~v\r\n",
                "Cookie:\r\nCookies: S=a~v\r\n",
                "Cookie:\r\nCookies: S=a~v\r\n",
            ),
        ] {
            assert_eq!(written(lines, StripServer), stripped, "{lines:?}");
            assert_eq!(written(lines, Remove), removed, "{lines:?}");
        }
    }
}
