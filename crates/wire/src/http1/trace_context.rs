//! W3C Trace Context, level 1: parses and writes `traceparent`. `tracestate` is not parsed.
//!
//! A malformed field is ignored: a new trace starts, and `tracestate` is dropped (§3.2.2.5).

use httparse::Header;

/// The field that identifies the trace of a request.
pub const TRACEPARENT: &str = "traceparent";
/// The field for vendor-specific trace data.
pub const TRACESTATE: &str = "tracestate";
/// Length of a version 00 `traceparent` in bytes.
/// Version, trace id, parent id, flags and three hyphens: 2 + 32 + 16 + 2 + 3 (W3C Trace Context §3.2.2).
const LENGTH: usize = 55;
/// The `sampled` flag: the sender records the trace.
const SAMPLED: u8 = 1;

/// A position in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace id; never 0.
    pub trace: u128,
    /// The id of the parent span; never 0.
    pub parent: u64,
    /// Whether the sender records the trace.
    pub sampled: bool,
}

impl TraceContext {
    /// Parses the `traceparent` field. `None`: the field is absent, repeated or malformed.
    pub fn from_headers(headers: &[Header]) -> Option<TraceContext> {
        let mut found = headers.iter().filter(|it| it.name.eq_ignore_ascii_case(TRACEPARENT));
        let only = found.next()?;
        if found.next().is_some() { None } else { parse(only.value) }
    }

    pub fn to_header_value(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.parent, u8::from(self.sampled))
    }
}

/// §3.2.2: version, trace id, parent id and flags in lower-case hexadecimal. Later versions may add parts after a `-`.
fn parse(value: &[u8]) -> Option<TraceContext> {
    let fixed = value.get(..LENGTH)?;
    let version = hexadecimal(&fixed[..2])?;
    let more = &value[LENGTH..];
    let whole = if version == 0 { more.is_empty() } else { matches!(more, [] | [b'-', ..]) };
    if version == 0xff || !whole || [2, 35, 52].iter().any(|at| fixed[*at] != b'-') {
        return None;
    }
    let trace = hexadecimal(&fixed[3..35])?;
    let parent = u64::try_from(hexadecimal(&fixed[36..52])?).ok()?;
    let flags = u8::try_from(hexadecimal(&fixed[53..])?).ok()?;
    let sampled = flags & SAMPLED != 0;
    (trace != 0 && parent != 0).then_some(TraceContext { trace, parent, sampled })
}

fn hexadecimal(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0_u128, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_and_what_is_not() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let zeros = "00000000000000000000000000000000";
        let rows: &[(String, bool)] = &[
            (good.to_owned(), true),
            (good.replace("-01", "-00"), true),
            (good.replace("-01", "-ff"), true),
            (good.replacen("00-", "01-", 1), true),
            (good.replacen("00-", "cc-", 1) + "-what-comes-later", true),
            (good.to_owned() + "-more", false),
            (good.replacen("00-", "01-", 1) + "more", false),
            (good.replacen("00-", "ff-", 1), false),
            (good.to_uppercase(), false),
            (good.replace("4bf92f3577b34da6a3ce929d0e0e4736", zeros), false),
            (good.replace("00f067aa0ba902b7", &zeros[..16]), false),
            (good.replace('-', "_"), false),
            (good[..54].to_owned(), false),
            (String::new(), false),
            (good.replace("4bf9", "4bg9"), false),
        ];
        for (text, is) in rows {
            assert_eq!(parse(text.as_bytes()).is_some(), *is, "{text}");
        }
        let read = parse(good.as_bytes()).unwrap();
        assert!(read.sampled && read.to_header_value() == good);
        assert!(!parse(rows[1].0.as_bytes()).unwrap().sampled);
    }

    #[test]
    fn two_fields_are_none() {
        let one = Header {
            name: "TraceParent",
            value: b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        };
        assert!(TraceContext::from_headers(&[one]).is_some());
        assert!(TraceContext::from_headers(&[one, one]).is_none());
        assert!(TraceContext::from_headers(&[]).is_none());
    }
}
