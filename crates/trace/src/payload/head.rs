//! Reads an HTTP/1 head to find the end of its message; it does not check whether the head is well-formed.
//!
//! The request plane's own parser rejects ambiguous heads. In a capture both ends have already accepted the message, so
//! the most likely reading counts (RFC 9112, 6.3).

/// How the end of a message is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// By its length in bytes.
    Bytes(i64),
    Chunks,
    /// By the connection's end, because the head declares no length.
    UntilClose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHead<'a> {
    /// Its length with the empty line.
    pub length: usize,
    pub line: &'a [u8],
    /// How the body ends.
    pub body: BodyLength,
    /// Whether `Upgrade` is among its fields.
    pub upgrade: bool,
}

/// The longest accepted body length in bytes.
const MAX_BODY: i64 = 1 << 50;

const METHODS: [&[u8]; 12] = [
    b"GET ",
    b"POST ",
    b"PUT ",
    b"HEAD ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"CONNECT ",
    b"TRACE ",
    b"PROPFIND ",
    b"REPORT ",
    b"MKCOL ",
];

/// Whether bytes begin a request.
pub fn is_request(bytes: &[u8]) -> bool {
    METHODS.iter().any(|method| bytes.starts_with(method))
}

/// The head at the start of `bytes`. `None` if it is incomplete.
pub fn parse_head(bytes: &[u8]) -> Option<MessageHead<'_>> {
    let mut head =
        MessageHead { length: 0, line: &[], body: BodyLength::UntilClose, upgrade: false };
    let mut at = 0;
    loop {
        let end = at + bytes.get(at..)?.iter().position(|byte| *byte == b'\n')?;
        let line = bytes[at..end].strip_suffix(b"\r").unwrap_or(&bytes[at..end]);
        at = end + 1;
        if line.is_empty() {
            // An empty line before a request is skipped (RFC 9112, 2.2).
            if head.line.is_empty() {
                continue;
            }
            head.length = at;
            return Some(head);
        }
        if head.line.is_empty() {
            head.line = line;
        } else {
            parse_field(&mut head, line);
        }
    }
}

fn parse_field(head: &mut MessageHead<'_>, line: &[u8]) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
    let name = &line[..colon];
    let value = line[colon + 1..].trim_ascii();
    if name.eq_ignore_ascii_case(b"content-length") {
        let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<i64>().ok());
        let number = number.filter(|number| (0..=MAX_BODY).contains(number));
        if let (Some(number), BodyLength::UntilClose) = (number, head.body) {
            head.body = BodyLength::Bytes(number);
        }
    } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
        let last = value.len().saturating_sub(7);
        if value[last..].eq_ignore_ascii_case(b"chunked") {
            head.body = BodyLength::Chunks;
        }
    } else if name.eq_ignore_ascii_case(b"upgrade") {
        head.upgrade = true;
    }
}

/// The status of a status line. `None` if the line is not a status line.
pub fn parse_status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(2..5)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_determine_the_end_of_their_message() {
        let head =
            parse_head(b"POST /a HTTP/1.1\r\nHost: x\r\ncontent-LENGTH: 12\r\n\r\nabc").unwrap();
        assert_eq!((head.length, head.body), (49, BodyLength::Bytes(12)));
        let head = parse_head(b"HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n\n").unwrap();
        assert_eq!((head.body, parse_status(head.line)), (BodyLength::Chunks, Some(200)));
        assert_eq!(parse_head(b"GET / HTTP/1.1\r\nHost: x\r\n"), None);
        assert_eq!(parse_status(b"HTTP/1.1 2"), None);
    }
}
