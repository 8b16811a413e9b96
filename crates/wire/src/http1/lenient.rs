//! Repairs response heads of lenient servers before they are parsed, as far as the pool's configuration allows.
//!
//! Only a fault with a single interpretation is repaired. An ambiguous fault, such as two different lengths, is left
//! unchanged, and the parser rejects it. Bodies are not touched.

use super::head::HeadLimits;
use super::token::trim;

/// The faults that are repaired in the responses of a pool's servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LenientParsing {
    /// Several Content-Length values that are equal.
    pub repeated_length: bool,
    /// Lines that end with a bare LF.
    pub bare_lf: bool,
    /// Spaces between a field's name and its colon.
    pub space_before_colon: bool,
}

impl LenientParsing {
    pub fn is_any(self) -> bool {
        self != LenientParsing::default()
    }
}

/// The result of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadRepair {
    /// Nothing was repaired: the head is valid, or the parser names its defect.
    Unchanged,
    /// The head is not complete yet.
    NeedMore,
    /// The length of the original head, which was rewritten, and the faults that were repaired.
    Repaired(usize, LenientParsing),
}

/// Repairs the head at the start of `bytes` and writes the result to `out`, which is cleared first.
#[cold]
pub fn repair_response_head(
    bytes: &[u8],
    limits: &HeadLimits,
    lenient: LenientParsing,
    out: &mut Vec<u8>,
) -> HeadRepair {
    out.clear();
    let window = bytes.get(..limits.head_bytes).unwrap_or(bytes);
    let Some(end) = head_end(window) else {
        return if bytes.len() < limits.head_bytes {
            HeadRepair::NeedMore
        } else {
            HeadRepair::Unchanged
        };
    };
    let mut mender =
        HeadRepairer { lenient, repaired: LenientParsing::default(), length: None, out };
    for (at, line) in window[..end].split_inclusive(|byte| *byte == b'\n').enumerate() {
        mender.line(line, at == 0);
    }
    match mender.repaired {
        mended if mended.is_any() => HeadRepair::Repaired(end, mended),
        _ => HeadRepair::Unchanged,
    }
}

/// The length of the head, with the empty line that ends it.
fn head_end(window: &[u8]) -> Option<usize> {
    let mut end = 0;
    for line in window.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        if matches!(line, b"\n" | b"\r\n") {
            return Some(end);
        }
    }
    None
}

struct HeadRepairer<'b, 'o> {
    lenient: LenientParsing,
    repaired: LenientParsing,
    length: Option<&'b [u8]>,
    out: &'o mut Vec<u8>,
}

impl<'b> HeadRepairer<'b, '_> {
    fn line(&mut self, line: &'b [u8], first: bool) {
        let (text, end) = self.split_end(line);
        let colon = text.iter().position(|byte| *byte == b':');
        let folded = matches!(text.first(), Some(b' ' | b'\t'));
        let Some(colon) = colon.filter(|_| !first && !folded) else {
            return self.write(&[text, end]);
        };
        let name = self.name(&text[..colon]);
        let value = &text[colon + 1..];
        if self.lenient.repeated_length && name.eq_ignore_ascii_case(b"content-length") {
            return self.length(name, value, end);
        }
        self.write(&[name, b":", value, end]);
    }

    /// The line without its line end, and the line end to write.
    fn split_end(&mut self, line: &'b [u8]) -> (&'b [u8], &'static [u8]) {
        if let Some(text) = line.strip_suffix(b"\r\n") {
            return (text, b"\r\n");
        }
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        self.repaired.bare_lf |= self.lenient.bare_lf;
        (text, if self.lenient.bare_lf { b"\r\n" } else { b"\n" })
    }

    fn name(&mut self, name: &'b [u8]) -> &'b [u8] {
        let bare = name.trim_ascii_end();
        if !self.lenient.space_before_colon || bare.len() == name.len() || bare.is_empty() {
            return name;
        }
        self.repaired.space_before_colon = true;
        bare
    }

    /// Writes Content-Length once if all of its values are equal.
    fn length(&mut self, name: &'b [u8], value: &'b [u8], end: &'static [u8]) {
        let mut values = value.split(|byte| *byte == b',').map(trim);
        let one = self.length.or_else(|| values.clone().next()).unwrap_or_default();
        if one.is_empty() || values.clone().any(|value| value != one) {
            return self.write(&[name, b":", value, end]);
        }
        self.repaired.repeated_length |= self.length.is_some() || values.nth(1).is_some();
        if self.length.is_none() {
            self.write(&[name, b": ", one, end]);
        }
        self.length = Some(one);
    }

    fn write(&mut self, parts: &[&[u8]]) {
        parts.iter().for_each(|part| self.out.extend_from_slice(part));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{HeaderSlots, ResponseBody, ResponseContext, parse_response};
    use super::*;

    const ALL: LenientParsing =
        LenientParsing { repeated_length: true, bare_lf: true, space_before_colon: true };

    fn length(head: &str, lenient: LenientParsing) -> Result<u64, String> {
        let mut out = Vec::new();
        let limits = HeadLimits::default();
        let mending = repair_response_head(head.as_bytes(), &limits, lenient, &mut out);
        let source = if let HeadRepair::Repaired(..) = mending { &out } else { head.as_bytes() };
        let mut slots = HeaderSlots::new();
        match parse_response(source, &limits, &mut slots, ResponseContext::Other) {
            Ok(Some(answer)) => match answer.body {
                ResponseBody::Length(length) => Ok(length),
                other => Err(format!("{other:?}")),
            },
            Ok(None) => Err("more".into()),
            Err(defect) => Err(defect.name().into()),
        }
    }

    #[test]
    fn each_fault_is_mended_where_it_is_allowed_alone() {
        let only = |at: usize| LenientParsing {
            repeated_length: at == 0,
            bare_lf: at == 1,
            space_before_colon: at == 2,
        };
        let rows: [(&str, usize, &str); 5] = [
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
                0,
                "length-repeated",
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nX: a\r\n\r\n", 0, "length-repeated"),
            ("HTTP/1.1 200 OK\nContent-Length: 5\n\n", 1, "bare-lf"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\nX: a\r\n\r\n", 1, "bare-lf"),
            ("HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n", 2, "space-before-colon"),
        ];
        for (head, kind, defect) in rows {
            assert_eq!(length(head, LenientParsing::default()), Err(defect.into()), "{head:?}");
            for at in 0..3 {
                let wanted = if at == kind { Ok(5) } else { Err(defect.to_owned()) };
                assert_eq!(length(head, only(at)), wanted, "{head:?} {at}");
            }
            let mut out = Vec::new();
            let mending =
                repair_response_head(head.as_bytes(), &HeadLimits::default(), ALL, &mut out);
            assert_eq!(mending, HeadRepair::Repaired(head.len(), only(kind)), "{head:?}");
            for cut in 0..head.len() {
                let part = &head.as_bytes()[..cut];
                assert_eq!(
                    repair_response_head(part, &HeadLimits::default(), ALL, &mut out),
                    HeadRepair::NeedMore
                );
            }
        }
    }

    #[test]
    fn what_has_two_readings_is_refused_all_the_same() {
        for (head, defect) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                "length-repeated",
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n", "length-repeated"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n", "length-repeated"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length : 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                "length-and-coding",
            ),
            ("HTTP/1.1 200 OK\r\nX: a\r\n b\n\r\n", "obs-fold"),
            ("HTTP/1.1 200 OK\r\n : a\n\r\n", "obs-fold"),
            ("HTTP/1.1 200 OK\r\nX: a\rb\n\r\n", "bare-cr"),
        ] {
            assert_eq!(length(head, ALL), Err(defect.into()), "{head:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_mended_is_accepted_or_refused_and_needs_no_more_mending(
            bytes in prop::collection::vec(prop::sample::select(b"HTTP/1.1 200\r\n:,Content-Length 5a\t".to_vec()), 0..80),
        ) {
            let head = [b"HTTP/1.1 200 OK\n".as_slice(), &bytes, b"\n\n"].concat();
            let (mut out, mut again, limits) = (Vec::new(), Vec::new(), HeadLimits::default());
            if let HeadRepair::Repaired(len, _) = repair_response_head(&head, &limits, ALL, &mut out) {
                prop_assert!(len <= head.len());
                prop_assert_eq!(repair_response_head(&out, &limits, ALL, &mut again), HeadRepair::Unchanged);
            }
        }
    }
}
