//! Detects requests with both Transfer-Encoding and Content-Length. The HTTP library drops the second field unseen, and
//! a proxy in front may have used that field (RFC 9112 §6.3).
//!
//! It follows heads and bodies as far as it has to and judges nothing else: what breaks the grammar never becomes a request.

/// Bytes of a line that are looked at: a name and a length are shorter.
const LINE_BYTES: usize = 128;

/// Where a connection is.
#[derive(Debug)]
pub(crate) enum FramingTracker {
    Head(PartialHead),
    /// Within a body, with this many bytes left.
    Body(u64),
    /// No longer parsed: the connection ends after a chunked body.
    Untracked,
}

/// The received part of a head.
#[derive(Debug, Default)]
pub(crate) struct PartialHead {
    /// The beginning of the line that is not whole yet.
    line: Vec<u8>,
    /// The line of the request has come.
    has_request_line: bool,
    has_transfer_encoding: bool,
    /// Its Content-Length; one that is no number is 0, and never becomes a request.
    content_length: Option<u64>,
}

impl Default for FramingTracker {
    fn default() -> FramingTracker {
        FramingTracker::Head(PartialHead::default())
    }
}

impl FramingTracker {
    /// Reads received bytes; returns whether a head in them had both Content-Length and Transfer-Encoding.
    pub(crate) fn consume(&mut self, mut bytes: &[u8]) -> bool {
        let mut both = false;
        while !bytes.is_empty() {
            match self {
                FramingTracker::Untracked => return both,
                FramingTracker::Body(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= taken as u64;
                    bytes = bytes.get(taken..).unwrap_or_default();
                    if *left == 0 {
                        *self = FramingTracker::default();
                    }
                }
                FramingTracker::Head(head) => {
                    let end = bytes.iter().position(|b| *b == b'\n');
                    let (line, rest) = bytes.split_at(end.map_or(bytes.len(), |at| at + 1));
                    bytes = rest;
                    if head.consume_line(line, end.is_some()) {
                        both |= head.has_transfer_encoding && head.content_length.is_some();
                        *self = match (head.has_transfer_encoding, head.content_length) {
                            (true, _) => FramingTracker::Untracked,
                            (false, None | Some(0)) => FramingTracker::default(),
                            (false, Some(length)) => FramingTracker::Body(length),
                        };
                    }
                }
            }
        }
        both
    }
}

impl PartialHead {
    /// Takes a part of a line, with its end or without; whether the head ends with it.
    fn consume_line(&mut self, part: &[u8], ends: bool) -> bool {
        let room = LINE_BYTES.saturating_sub(self.line.len()).min(part.len());
        self.line.extend_from_slice(part.get(..room).unwrap_or_default());
        if !ends {
            return false;
        }
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii_end();
        // Blank lines before a request are skipped (RFC 9112 §2.2).
        if line.is_empty() {
            return self.has_request_line;
        }
        let mut parts = line.splitn(2, |b| *b == b':').filter(|_| self.has_request_line);
        let name = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.has_transfer_encoding = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            let text = std::str::from_utf8(value.trim_ascii()).unwrap_or_default();
            self.content_length = Some(text.parse().unwrap_or(0));
        }
        self.has_request_line = true;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_with_both_is_found_wherever_it_stands_and_however_it_is_cut() {
        let plain = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let sent = "POST / HTTP/1.1\r\nContent-Length: 40\r\n\r\nTransfer-Encoding: x\r\nContent-Length: 5\r\n";
        let body = sent.split_once("\r\n\r\n").unwrap().1.len();
        let sent = sent.replace("40", &body.to_string());
        let both =
            "POST / HTTP/1.1\r\ncontent-length: 5\r\nTRANSFER-ENCODING: chunked\r\n\r\n0\r\n\r\n";
        let other = "POST / HTTP/1.1\nTransfer-Encoding: chunked\nContent-Length: 5\n\n0\r\n\r\n";
        let coded = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        for (text, found) in [
            (plain.to_owned(), false),
            (format!("{sent}{plain}"), false),
            (coded.to_owned(), false),
            (both.to_owned(), true),
            (other.to_owned(), true),
            (format!("\r\n\n{plain}{sent}\r\n{both}"), true),
            (format!("{sent}{other}"), true),
            // Behind it the connection ends.
            (format!("{coded}{both}"), false),
        ] {
            for size in [1, 2, 3, 7, text.len()] {
                let mut lengths = FramingTracker::default();
                let seen = text.as_bytes().chunks(size).any(|part| lengths.consume(part));
                assert_eq!(seen, found, "{size}: {text}");
            }
        }
    }
}
