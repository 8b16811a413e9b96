//! Looks at what comes on a connection for a head with both Transfer-Encoding and Content-Length: the library that reads
//! heads drops the second one unseen, and another reader in front may have gone by it (RFC 9112 §6.3).
//!
//! It follows heads and bodies as far as it has to and judges nothing else: what breaks the grammar never becomes a request.

/// Bytes of a line that are looked at: a name and a length are shorter.
const LINE_BYTES: usize = 128;

/// Where a connection is.
#[derive(Debug)]
pub(super) enum Lengths {
    /// Within a head.
    Head(Head),
    /// Within a body, of which so many bytes are to come.
    Body(u64),
    /// Behind what is followed: a chunked body ends its connection.
    Over,
}

/// What has come of a head.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// The beginning of the line that is not whole yet.
    line: Vec<u8>,
    /// The line of the request has come.
    begun: bool,
    /// It has Transfer-Encoding.
    coded: bool,
    /// Its Content-Length; one that is no number is 0, and never becomes a request.
    length: Option<u64>,
}

impl Default for Lengths {
    fn default() -> Lengths {
        Lengths::Head(Head::default())
    }
}

impl Lengths {
    /// Takes what has come; whether a head was in it that has both.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> bool {
        let mut both = false;
        while !bytes.is_empty() {
            match self {
                Lengths::Over => return both,
                Lengths::Body(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= taken as u64;
                    bytes = bytes.get(taken..).unwrap_or_default();
                    if *left == 0 {
                        *self = Lengths::default();
                    }
                }
                Lengths::Head(head) => {
                    let end = bytes.iter().position(|b| *b == b'\n');
                    let line = bytes.split_at(end.map_or(bytes.len(), |at| at + 1));
                    bytes = line.1;
                    if head.is_whole(line.0, end.is_some()) {
                        both |= head.coded && head.length.is_some();
                        *self = match (head.coded, head.length) {
                            (true, _) => Lengths::Over,
                            (false, None | Some(0)) => Lengths::default(),
                            (false, Some(length)) => Lengths::Body(length),
                        };
                    }
                }
            }
        }
        both
    }
}

impl Head {
    /// Takes a part of a line, with its end or without; whether the head ends with it.
    fn is_whole(&mut self, part: &[u8], ends: bool) -> bool {
        let room = LINE_BYTES.saturating_sub(self.line.len()).min(part.len());
        self.line.extend_from_slice(part.get(..room).unwrap_or_default());
        if !ends {
            return false;
        }
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii_end();
        // Blank lines before a request are skipped (RFC 9112 §2.2).
        if line.is_empty() {
            return self.begun;
        }
        let mut parts = line.splitn(2, |b| *b == b':').filter(|_| self.begun);
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.coded = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            let text = std::str::from_utf8(value.trim_ascii()).unwrap_or_default();
            self.length = Some(text.parse().unwrap_or(0));
        }
        self.begun = true;
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
                let mut lengths = Lengths::default();
                let seen = text.as_bytes().chunks(size).any(|part| lengths.feed(part));
                assert_eq!(seen, found, "{size}: {text}");
            }
        }
    }
}
