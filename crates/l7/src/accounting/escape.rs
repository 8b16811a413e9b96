//! Escapes bytes from outside so that they cannot break out of their field or their line.
//!
//! All forms are ASCII in, UTF-8 out. Percent-encoding is not decoded: the log shows the bytes as sent.

use std::io::Write;

/// Marks a truncated text.
const CUT: &str = "…";

/// Appends at most `limit` bytes as the content of a JSON string. UTF-8 passes unchanged; a byte that is not UTF-8 is
/// written as `\xNN`.
pub(super) fn json(bytes: &[u8], limit: usize, out: &mut Vec<u8>) {
    let ClippedText { bytes, cut } = clip(bytes, limit);
    // Fast path: most texts need no escaping.
    if bytes.iter().all(|byte| (b' '..0x7f).contains(byte) && *byte != b'"' && *byte != b'\\') {
        out.extend_from_slice(bytes);
    } else {
        for chunk in bytes.utf8_chunks() {
            for char in chunk.valid().chars() {
                json_char(char, out);
            }
            for byte in chunk.invalid() {
                // Writing to a `Vec` cannot fail, here and below.
                let _ = write!(out, "\\\\x{byte:02x}");
            }
        }
    }
    if cut {
        out.extend_from_slice(CUT.as_bytes());
    }
}

/// Appends at most `limit` bytes as the content of a quoted field in the common log format. Every byte that is not
/// printable ASCII is written as `\xNN`.
pub(super) fn common(bytes: &[u8], limit: usize, out: &mut Vec<u8>) {
    let ClippedText { bytes, cut } = clip(bytes, limit);
    for byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b' '..0x7f => out.push(*byte),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    if cut {
        out.extend_from_slice(b"...");
    }
}

/// Appends at most `limit` bytes as the value of an extension of CEF. UTF-8 passes but for what breaks a line or controls
/// a terminal; such a character, and a byte that is not UTF-8, reads as `\xNN`.
pub(super) fn cef(bytes: &[u8], limit: usize, out: &mut Vec<u8>) {
    let ClippedText { bytes, cut } = clip(bytes, limit);
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' | '=' => out.extend_from_slice(&[b'\\', char as u8]),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\0'..' ' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                    for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                        let _ = write!(out, "\\\\x{byte:02x}");
                    }
                }
                _ => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\\\x{byte:02x}");
        }
    }
    if cut {
        out.extend_from_slice(CUT.as_bytes());
    }
}

fn json_char(char: char, out: &mut Vec<u8>) {
    match char {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        // C0, DEL and C1 can control terminals; some readers treat U+2028 and U+2029 as line ends.
        '\0'..' ' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
            let _ = write!(out, "\\u{:04x}", u32::from(char));
        }
        _ => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// The beginning of a text.
struct ClippedText<'t> {
    bytes: &'t [u8],
    /// Whether anything was cut.
    cut: bool,
}

/// The first `limit` bytes, without a character that the limit would cut.
fn clip(bytes: &[u8], limit: usize) -> ClippedText<'_> {
    if bytes.len() <= limit {
        return ClippedText { bytes, cut: false };
    }
    let mut end = limit;
    while end > 0 && limit - end < 3 && bytes[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    ClippedText { bytes: &bytes[..end], cut: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let rows: [(&[u8], &str, &str); 8] = [
            (b"/plain?a=b", "/plain?a=b", "/plain?a=b"),
            (b"a\"b\\c", "a\\\"b\\\\c", "a\\\"b\\\\c"),
            (b"a\r\nb\0", "a\\u000d\\u000ab\\u0000", "a\\x0d\\x0ab\\x00"),
            (b"\x1b[31m\x7f", "\\u001b[31m\\u007f", "\\x1b[31m\\x7f"),
            ("grün".as_bytes(), "grün", "gr\\xc3\\xbcn"),
            (b"a\xff\xfeb", "a\\\\xff\\\\xfeb", "a\\xff\\xfeb"),
            ("a\u{2028}\u{85}".as_bytes(), "a\\u2028\\u0085", "a\\xe2\\x80\\xa8\\xc2\\x85"),
            (b"", "", ""),
        ];
        for (bytes, in_json, in_common) in rows {
            let mut out = Vec::new();
            json(bytes, 100, &mut out);
            assert_eq!(str::from_utf8(&out).unwrap(), in_json);
            out.clear();
            common(bytes, 100, &mut out);
            assert_eq!(str::from_utf8(&out).unwrap(), in_common);
        }
    }

    #[test]
    fn rows_of_cef() {
        let rows: [(&[u8], &str); 6] = [
            (b"/plain", "/plain"),
            (b"/a?b=c|d e", "/a?b\\=c|d e"),
            (b"a\\b\r\nCEF:0|", "a\\\\b\\r\\nCEF:0|"),
            (b"\x1b[31m\0", "\\\\x1b[31m\\\\x00"),
            ("grün\u{2028}".as_bytes(), "grün\\\\xe2\\\\x80\\\\xa8"),
            (b"a\xff", "a\\\\xff"),
        ];
        for (bytes, want) in rows {
            let mut out = Vec::new();
            cef(bytes, 100, &mut out);
            assert_eq!(str::from_utf8(&out).unwrap(), want);
        }
    }

    #[test]
    fn cuts_between_characters() {
        for (limit, want) in [(4, "grün"), (3, "gr…"), (2, "gr…"), (1, "g…"), (0, "…")] {
            let mut out = Vec::new();
            json(
                &"grün".as_bytes()[..4 + usize::from(limit == 4)],
                limit + usize::from(limit == 4),
                &mut out,
            );
            assert_eq!(str::from_utf8(&out).unwrap(), want, "{limit}");
        }
        let mut out = Vec::new();
        json(&[0x80; 10], 5, &mut out);
        assert!(out.starts_with(b"\\\\x80\\\\x80"), "bytes that are no UTF-8 are cut anywhere");
        out.clear();
        common(b"abcdef", 3, &mut out);
        assert_eq!(out, b"abc...");
    }
}
