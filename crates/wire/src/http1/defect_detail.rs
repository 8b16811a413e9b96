//! Locates the violation in a rejected request, for logs and reports. This is the cold path.
//!
//! Possible secrets are left out. A field's value is shown only where the rule is about that field; otherwise only its
//! name and the forbidden byte are shown. Nothing is escaped or truncated here.

use super::defect::Defect;
use super::head::leading_lines;
use super::header_name::{HeaderField, classify_header};
use super::locate_defect;
use super::reserved::is_usual_name;
use super::token::is_token_byte;

/// Most bytes shown of a broken request line, from the violation on.
/// Enough to recognise another protocol, such as TLS or SSH, by its first bytes.
const MAX_SHOWN: usize = 16;

/// What can be reported about the violation in a rejected request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefectDetail<'h> {
    /// The value of the first Host field, unchanged; empty if there is none.
    pub host: &'h [u8],
    /// The name of the field that violated the rule; empty if no field did, or if its line has no name.
    pub field: &'h [u8],
    /// Offset of the violation in the received bytes.
    pub field_offset: Option<usize>,
    pub found_bytes: &'h [u8],
}

impl<'h> DefectDetail<'h> {
    /// Locates the violation in the bytes of a head that was rejected with `defect`. The bytes may be truncated
    /// anywhere.
    #[cold]
    pub fn locate(defect: Defect, bytes: &'h [u8]) -> DefectDetail<'h> {
        let host = host(bytes);
        let start = leading_lines(bytes).ok().flatten().unwrap_or_default();
        let head = bytes.get(start..).unwrap_or_default();
        if let Some(found) = locate_defect::locate_defect(head)
            && found.defect == defect
        {
            let at = bytes.len() - found.rest.len();
            return DefectDetail {
                host,
                field_offset: Some(at),
                ..detail_at_byte(bytes, start, at)
            };
        }
        match line_of(defect, head) {
            Some(line) => DefectDetail {
                host,
                field: line.name,
                field_offset: Some(start + line.at),
                found_bytes: if line.is_loggable { line.value } else { b"" },
            },
            None => DefectDetail { host, ..DefectDetail::default() },
        }
    }
}

/// The detail for a byte that the grammar does not allow.
fn detail_at_byte(bytes: &[u8], start: usize, at: usize) -> DefectDetail<'_> {
    let before = bytes.get(start..at).unwrap_or_default();
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(line) = before.iter().rposition(|byte| *byte == b'\n') else {
        let shown = rest.get(..MAX_SHOWN).unwrap_or(rest);
        let end =
            shown.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(shown.len());
        // A misplaced line end is itself the detail: at least one byte is shown.
        return DefectDetail {
            found_bytes: &shown[..end.max(1).min(shown.len())],
            ..DefectDetail::default()
        };
    };
    let line = &before[line + 1..];
    let name = line.iter().position(|byte| !is_token_byte(*byte)).unwrap_or(line.len());
    // A line without a colon may hold anything, also a secret.
    let named =
        line.get(name) == Some(&b':') || rest.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
    let field = if named { &line[..name] } else { b"" };
    DefectDetail {
        field,
        found_bytes: rest.get(..1).unwrap_or_default(),
        ..DefectDetail::default()
    }
}

struct FieldLine<'h> {
    name: &'h [u8],
    value: &'h [u8],
    /// Offset of the value in the head.
    at: usize,
    is_loggable: bool,
}

/// The field line that a rule is about: the last field with that name, since earlier ones were valid or the name is
/// repeated.
fn line_of(defect: Defect, head: &[u8]) -> Option<FieldLine<'_>> {
    use HeaderField::{Alias, Connection, ContentLength, Expect, Host, TransferEncoding, Upgrade};
    if defect == Defect::UnusualName {
        let unusual = lines(head).find(|line| !is_usual_name(line.name));
        return unusual.map(|line| FieldLine { is_loggable: false, ..line });
    }
    if defect == Defect::BadValue {
        // Any other bad value is a byte that the scan already located.
        return lines(head).filter(|it| it.name.eq_ignore_ascii_case(b"max-forwards")).last();
    }
    let about: &[HeaderField] = match defect {
        Defect::HostRepeated | Defect::BadHost | Defect::AuthorityMismatch => &[Host],
        Defect::LengthRepeated
        | Defect::BadLength
        | Defect::LengthOverflow
        | Defect::LengthMismatch => &[ContentLength],
        Defect::LengthAndCoding
        | Defect::BadCoding
        | Defect::CodingUnknown
        | Defect::CodingNotFinal
        | Defect::CodingRepeated
        | Defect::CodingInOldVersion => &[TransferEncoding],
        Defect::TraceWithBody => &[ContentLength, TransferEncoding],
        Defect::BadConnection | Defect::ConnectionProtected => &[Connection],
        Defect::ExpectUnknown => &[Expect],
        Defect::BadUpgrade | Defect::UpgradeWithBody => &[Upgrade],
        Defect::AliasField => &[Alias],
        _ => return None,
    };
    let found = lines(head).filter(|line| about.contains(&classify_header(line.name)));
    found.last().map(|line| FieldLine { is_loggable: defect != Defect::AliasField, ..line })
}

/// The field lines of a head, however malformed. Lines without a name and a colon are skipped.
fn lines(head: &[u8]) -> impl Iterator<Item = FieldLine<'_>> {
    let mut at = 0;
    let all = head.split_inclusive(|byte| *byte == b'\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    });
    all.skip(1).take_while(|(_, line)| !line.trim_ascii().is_empty()).filter_map(|(at, line)| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = &line[..colon];
        let value = line[colon + 1..].trim_ascii();
        let begins = line[colon + 1..].iter().position(|byte| !byte.is_ascii_whitespace());
        let named = !name.is_empty() && name.iter().all(|byte| is_token_byte(*byte));
        let at = at + colon + 1 + begins.unwrap_or_default();
        named.then_some(FieldLine { name, value, at, is_loggable: true })
    })
}

fn host(bytes: &[u8]) -> &[u8] {
    lines(bytes)
        .find(|line| classify_header(line.name) == HeaderField::Host)
        .map_or(b"", |line| line.value)
}

#[cfg(test)]
mod tests {
    use super::super::{HeadLimits, HeaderSlots, parse_request};
    use super::*;

    /// Head, field, offset, shown bytes. The defect is the parser's.
    type DefectCase = (&'static str, &'static str, Option<usize>, &'static str);

    fn found(rows: &[DefectCase]) {
        for (head, field, at, found) in rows {
            let bytes = head.as_bytes();
            let mut slots = HeaderSlots::new();
            let defect = parse_request(bytes, &HeadLimits::default(), &mut slots).unwrap_err();
            let offence = DefectDetail::locate(defect, bytes);
            let wanted = (field.as_bytes(), *at, found.as_bytes());
            assert_eq!(
                (offence.field, offence.field_offset, offence.found_bytes),
                wanted,
                "{head:?}: {defect}"
            );
            let host: &[u8] = if head.contains("Host: a b") { b"a b" } else { b"a" };
            let host = if head.contains("Host") { host } else { b"" };
            assert_eq!(offence.host, host, "{head:?}");
            assert!(!found.contains("secret"));
        }
    }

    #[test]
    fn the_offence_is_found_where_the_rule_was_broken() {
        found(&[
            ("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", "", Some(5), "\0 HTTP/1.1"),
            ("GET / HTTP/1.9\r\nHost: a\r\n\r\n", "", Some(13), "9"),
            ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "", Some(7), "b HTTP/1.1"),
            ("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "", Some(1), "@T / HTTP/1.1"),
            ("GET /\r\nHost: a\r\n\r\n", "", Some(5), "\r"),
            ("GET / HTTP/1.1\nHost: a\r\n\r\n", "", Some(14), "\n"),
            ("\r\nGET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", "X", Some(31), "\0"),
            ("GET / HTTP/1.1\r\nHost: a\r\nCookie: secret\x01\r\n\r\n", "Cookie", Some(39), "\x01"),
            ("GET / HTTP/1.1\r\nHost: a\r\nX : a\r\n\r\n", "X", Some(26), " "),
            ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", "", Some(25), " "),
            ("GET / HTTP/1.1\r\nHost: a\r\nsecret\r\n\r\n", "", Some(31), "\r"),
            ("GET / HTTP/1.1\r\nHost: a\r\nX@Y: a\r\n\r\n", "", Some(26), "@"),
        ]);
    }

    #[test]
    fn a_value_is_shown_where_the_rule_is_about_its_field() {
        found(&[
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "Host", Some(31), "b"),
            ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "Host", Some(22), "a b"),
            ("GET / HTTP/1.1\r\nX: y\r\n\r\n", "", None, ""),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
                "Content-Length",
                Some(42),
                "+1",
            ),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                "Content-Length",
                Some(61),
                "2",
            ),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "Transfer-Encoding",
                Some(64),
                "chunked",
            ),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n",
                "Transfer-Encoding",
                Some(45),
                "x",
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nContent_Length: 1\r\n\r\n",
                "Content_Length",
                Some(41),
                "",
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: host\r\n\r\n",
                "Connection",
                Some(37),
                "host",
            ),
            ("GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", "Expect", Some(33), "x"),
            ("GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n", "", None, ""),
            (
                "TRACE / HTTP/1.1\r\nHost: a\r\nMax-Forwards: -1\r\n\r\n",
                "Max-Forwards",
                Some(41),
                "-1",
            ),
            ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "", None, ""),
        ]);
    }

    proptest::proptest! {
        #[test]
        fn whatever_came_is_looked_at(
            bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
            which in 0..Defect::COUNT,
        ) {
            let offence = DefectDetail::locate(Defect::ALL[which], &bytes);
            assert!(offence.field_offset.is_none_or(|at| at <= bytes.len()));
        }

        #[test]
        fn values_of_fields_that_no_rule_is_about_are_never_shown(
            broken in 0..6usize, name in "(Cookie|Authorization|X-Key)",
        ) {
            let line = [
                format!("{name}: s3cret\u{1}s3cret"), format!("{name} : s3cret"),
                format!("{name}: x\r\n s3cret"), format!("{name}@: s3cret"),
                "s3cret".to_owned(), format!("{name}: s3cret\ns3cret"),
            ][broken].clone();
            let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n");
            let mut slots = HeaderSlots::new();
            let defect = parse_request(head.as_bytes(), &HeadLimits::default(), &mut slots).unwrap_err();
            let offence = DefectDetail::locate(defect, head.as_bytes());
            for shown in [offence.host, offence.field, offence.found_bytes] {
                assert!(!shown.windows(6).any(|six| six == b"s3cret"), "{defect}: {offence:?}");
            }
        }
    }
}
