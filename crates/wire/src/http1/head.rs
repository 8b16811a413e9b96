//! What requests and responses share before any field is interpreted: limits, slots for fields, and where a head
//! begins.
//!
//! Fields are interpreted in `head_summary`, and violations are located in `locate_defect`.

use super::defect::Defect;
use std::mem::MaybeUninit;

/// Size limits of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes of the whole head, including the empty lines before and after it.
    pub head_bytes: usize,
    /// Number of field lines; [`HeaderSlots::COUNT`] is the upper bound for any setting.
    pub head_count: usize,
    /// Bytes of the request target.
    pub target_bytes: usize,
}

impl Default for HeadLimits {
    /// 32 KiB, 128 fields, 16 KiB of target.
    fn default() -> HeadLimits {
        HeadLimits { head_bytes: 32 << 10, head_count: 128, target_bytes: 16 << 10 }
    }
}

/// Slots for the fields of one head: 8 KiB on the caller's stack, left uninitialised so that creating them costs
/// nothing.
pub struct HeaderSlots<'b>(pub(crate) [MaybeUninit<httparse::Header<'b>>; HeaderSlots::COUNT]);

impl HeaderSlots<'_> {
    /// Bounds the memory of a head.
    pub const COUNT: usize = 256;

    #[inline]
    pub fn new() -> Self {
        HeaderSlots([const { MaybeUninit::uninit() }; HeaderSlots::COUNT])
    }
}

impl Default for HeaderSlots<'_> {
    fn default() -> Self {
        HeaderSlots::new()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpVersion {
    Http10,
    Http11,
}

impl HttpVersion {
    /// The form used in Via and in start lines: `1.0` or `1.1`.
    pub fn as_str(self) -> &'static str {
        match self {
            HttpVersion::Http10 => "1.0",
            HttpVersion::Http11 => "1.1",
        }
    }

    pub(crate) fn from_minor(minor: Option<u8>) -> HttpVersion {
        if minor == Some(0) { HttpVersion::Http10 } else { HttpVersion::Http11 }
    }
}

/// Whether parsing `bytes` can succeed, after the first `seen` bytes were an incomplete head.
///
/// A head ends with a line feed. A caller that checks this first parses at most once for each received line. So a
/// client that sends single bytes causes no more parses than it sends lines, and the number of lines is limited.
#[inline]
pub fn may_complete(bytes: &[u8], seen: usize, limits: &HeadLimits) -> bool {
    let new = bytes.get(seen..).unwrap_or_default();
    seen == 0 || bytes.len() >= limits.head_bytes || memchr::memchr(b'\n', new).is_some()
}

/// Bytes of empty lines before a request, at most two lines (RFC 9112 §2.2); `None`: more bytes are needed.
#[inline]
pub(crate) fn leading_lines(bytes: &[u8]) -> Result<Option<usize>, Defect> {
    let mut at = 0;
    loop {
        match bytes.get(at..).unwrap_or_default() {
            [] | [b'\r'] => return Ok(None),
            [b'\r', b'\n', ..] if at == 4 => return Err(Defect::LeadingLines),
            [b'\r', b'\n', ..] => at += 2,
            [b'\r', ..] => return Err(Defect::BareCr),
            [b'\n', ..] => return Err(Defect::BareLf),
            _ => return Ok(Some(at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_empty_lines_are_tolerated() {
        assert_eq!(leading_lines(b""), Ok(None));
        assert_eq!(leading_lines(b"\r\n\r"), Ok(None));
        assert_eq!(leading_lines(b"G"), Ok(Some(0)));
        assert_eq!(leading_lines(b"\r\n\r\nG"), Ok(Some(4)));
        assert_eq!(leading_lines(b"\r\n\r\n\r\n"), Err(Defect::LeadingLines));
        assert_eq!(leading_lines(b"\nG"), Err(Defect::BareLf));
        assert_eq!(leading_lines(b"\rG"), Err(Defect::BareCr));
    }

    #[test]
    fn only_a_line_feed_or_the_limit_is_worth_another_try() {
        let limits = HeadLimits { head_bytes: 10, ..HeadLimits::default() };
        assert!(may_complete(b"G", 0, &limits));
        assert!(!may_complete(b"GET", 1, &limits));
        assert!(may_complete(b"GET\n", 3, &limits));
        assert!(may_complete(b"GET / HTTP", 3, &limits));
    }
}
