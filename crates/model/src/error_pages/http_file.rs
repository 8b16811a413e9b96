//! Parses a file that holds a whole answer: a status line, fields, an empty line and a body, as HAProxy's `errorfile`.
//!
//! Lines may end with LF alone, since such files are written by hand.

use crate::config::is_writable_field;

/// Most bytes of a head, and most of its fields.
/// More than any head that is written by hand.
const MAX_HEAD_BYTES: usize = 8 * 1024;
const MAX_FIELDS: usize = 32;

/// Fields of the connection and of the body's length, which are written for each answer (RFC 9110 §7.6.1).
const DROPPED: [&str; 9] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "date",
];

/// The parts of a file with `format = "http"`.
#[derive(Debug)]
pub struct HttpFile<'f> {
    /// 200 to 599.
    pub status: u16,
    /// The fields, each with its end.
    pub lines: Vec<u8>,
    pub body: &'f [u8],
}

/// Why the head of a file cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {found}; expected {expected}")]
pub struct HttpFileError {
    /// From 1.
    pub line: usize,
    pub found: String,
    pub expected: &'static str,
}

impl<'f> HttpFile<'f> {
    /// # Errors
    /// The line of the head that is malformed.
    pub fn parse(file: &'f [u8]) -> Result<HttpFile<'f>, HttpFileError> {
        let mut rest = file;
        let mut status = None;
        let mut lines = Vec::new();
        for line in 1..=MAX_FIELDS + 2 {
            let fail =
                |found: String, expected: &'static str| HttpFileError { line, found, expected };
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                let expected = "an empty line between the fields and the page";
                return Err(fail("the file ends".to_owned(), expected));
            };
            let text = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            rest = &rest[end + 1..];
            if file.len() - rest.len() > MAX_HEAD_BYTES {
                return Err(HttpFileError::too_long(line));
            }
            let Some(status) = status else {
                let expected =
                    "a status line such as `HTTP/1.1 503 Service Unavailable`, 200 to 599";
                status = Some(read_status(text).ok_or_else(|| fail(quote(text), expected))?);
                continue;
            };
            if text.is_empty() {
                return Ok(HttpFile { status, lines, body: rest });
            }
            let field = std::str::from_utf8(text).ok();
            let name = field.and_then(|field| field.split_once(':')).map(|(name, _)| name);
            if name.is_some_and(|name| DROPPED.iter().any(|it| name.eq_ignore_ascii_case(it))) {
                continue;
            }
            let field = field.filter(|field| is_writable_field(field));
            let Some((name, value)) = field.and_then(|field| field.split_once(':')) else {
                let expected =
                    "a field `name: value` of an answer, or an empty line before the page";
                return Err(fail(quote(text), expected));
            };
            for part in [name, ": ", value.trim(), "\r\n"] {
                lines.extend_from_slice(part.as_bytes());
            }
        }
        Err(HttpFileError::too_long(MAX_FIELDS + 3))
    }
}

impl HttpFileError {
    fn too_long(line: usize) -> HttpFileError {
        let expected = "at most 32 fields and 8 KiB before the empty line";
        HttpFileError { line, found: "the head goes on".to_owned(), expected }
    }
}

/// The status of a status line (RFC 9112 §4).
fn read_status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/")?;
    let mut words = rest.split(|byte| *byte == b' ');
    words.next().filter(|version| matches!(*version, b"1.0" | b"1.1" | b"2" | b"2.0" | b"3"))?;
    let digits = words.next().filter(|digits| digits.len() == 3)?;
    let status: u16 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (200..=599).contains(&status).then_some(status)
}

/// The beginning of a line, for a message.
fn quote(line: &[u8]) -> String {
    format!("`{}`", line.get(..40).unwrap_or(line).escape_ascii())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_head_is_read_with_either_line_end() {
        let text = "HTTP/1.0 503 Service Unavailable\nCache-Control: no-cache\nConnection: close\n\
                    content-length: 7\nDate: x\nContent-Type:text/html\n\n<p>\r\n\n</p>";
        for file in [text.to_owned(), text.replacen('\n', "\r\n", 7)] {
            let parsed = HttpFile::parse(file.as_bytes()).unwrap();
            let lines = String::from_utf8(parsed.lines).unwrap();
            assert_eq!(lines, "Cache-Control: no-cache\r\nContent-Type: text/html\r\n");
            assert_eq!((parsed.status, parsed.body), (503, &b"<p>\r\n\n</p>"[..]));
        }
    }

    #[test]
    fn a_malformed_head_is_refused_with_its_line() {
        for (file, line, found) in [
            ("", 1, "the file ends"),
            ("<html>\n\n", 1, "`<html>`"),
            ("HTTP/1.0 100 Continue\n\n", 1, "`HTTP/1.0 100 Continue`"),
            ("HTTP/1.0 2000 x\n\n", 1, "`HTTP/1.0 2000 x`"),
            ("HTTP/0.9 200 x\n\n", 1, "`HTTP/0.9 200 x`"),
            ("HTTP/1.0 503 x\n", 2, "the file ends"),
            ("HTTP/1.0 503 x\nA: b\n<html>\n\n", 3, "`<html>`"),
            ("HTTP/1.0 503 x\nA: b\n c\n\n", 3, "` c`"),
            ("HTTP/1.0 503 x\nHost: b\n\n", 2, "`Host: b`"),
            ("HTTP/1.0 503 x\nA: b\rc\n\n", 2, "`A: b\\rc`"),
        ] {
            let error = HttpFile::parse(file.as_bytes()).unwrap_err();
            assert_eq!((error.line, error.found.as_str()), (line, found), "{file:?}");
        }
        let long = format!("HTTP/1.1 503 x\n{}\n", "A: b\n".repeat(MAX_FIELDS + 1));
        assert_eq!(HttpFile::parse(long.as_bytes()).unwrap_err().found, "the head goes on");
        let most = format!("HTTP/1.1 503 x\n{}\n", "A: b\n".repeat(MAX_FIELDS));
        assert!(HttpFile::parse(most.as_bytes()).is_ok());
    }

    proptest! {
        #[test]
        fn no_file_writes_a_line_that_ends_the_head(file in "HTTP/1\\.1 503\n[a-c:\r\n -]{0,60}") {
            if let Ok(parsed) = HttpFile::parse(file.as_bytes()) {
                let lines = String::from_utf8(parsed.lines).unwrap();
                prop_assert!(!lines.contains("\r\n\r\n") && !lines.starts_with('\r'));
                for line in lines.split_terminator("\r\n") {
                    prop_assert!(line.contains(": ") && !line.contains(['\r', '\n']));
                }
            }
        }
    }
}
