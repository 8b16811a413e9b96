//! Determines a body's length from Content-Length and Transfer-Encoding (RFC 9112 §6). Messages that never have a body,
//! whatever these fields say, are handled in `response`.

use super::defect::Defect;
use super::head::HttpVersion;
use super::token::{elements, is_token};

/// The framing that all framing fields together define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageFraming {
    None,
    Length(u64),
    Chunked,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FramingFields {
    length: Option<u64>,
    has_transfer_encoding: bool,
    chunked: bool,
    unknown: bool,
}

impl FramingFields {
    pub(crate) fn add_content_length(&mut self, value: &[u8]) -> Result<(), Defect> {
        if self.length.is_some() || memchr::memchr(b',', value).is_some() {
            return Err(Defect::LengthRepeated);
        }
        self.length = Some(decimal(value)?);
        Ok(())
    }

    pub(crate) fn add_transfer_encoding(&mut self, value: &[u8]) -> Result<(), Defect> {
        self.has_transfer_encoding = true;
        for coding in elements(value) {
            if !is_token(coding) {
                return Err(Defect::BadCoding);
            }
            match (coding.eq_ignore_ascii_case(b"chunked"), self.chunked) {
                (true, true) => return Err(Defect::CodingRepeated),
                (false, true) => return Err(Defect::CodingNotFinal),
                (true, false) => self.chunked = true,
                (false, false) => self.unknown = true,
            }
        }
        Ok(())
    }

    /// Whether the framing fields announce a body.
    pub(crate) fn announces_bytes(&self) -> bool {
        self.has_transfer_encoding || self.length.is_some_and(|length| length > 0)
    }

    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// The framing, after all fields were added.
    #[inline]
    pub(crate) fn resolve(&self, version: HttpVersion) -> Result<MessageFraming, Defect> {
        match (self.length, self.has_transfer_encoding) {
            (None, false) => Ok(MessageFraming::None),
            (Some(length), false) => Ok(MessageFraming::Length(length)),
            (Some(_), true) => Err(Defect::LengthAndCoding),
            (None, true) if version == HttpVersion::Http10 => Err(Defect::CodingInOldVersion),
            (None, true) if !self.chunked => Err(Defect::CodingNotFinal),
            (None, true) if self.unknown => Err(Defect::CodingUnknown),
            (None, true) => Ok(MessageFraming::Chunked),
        }
    }
}

/// A plain decimal number up to 2^63 − 1, which every receiver can hold in a signed 64-bit integer.
fn decimal(digits: &[u8]) -> Result<u64, Defect> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Defect::BadLength);
    }
    if digits.len() > 19 {
        return Err(Defect::LengthOverflow);
    }
    let value = digits.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    if value > i64::MAX as u64 { Err(Defect::LengthOverflow) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        assert_eq!(decimal(b"0"), Ok(0));
        assert_eq!(decimal(b"0042"), Ok(42));
        assert_eq!(decimal(b"9223372036854775807"), Ok(i64::MAX as u64));
        assert_eq!(decimal(b"9223372036854775808"), Err(Defect::LengthOverflow));
        assert_eq!(decimal(b"00000000000000000001"), Err(Defect::LengthOverflow));
        for bad in ["", "+1", "-1", "1 1", "0x10", "1.0"] {
            assert_eq!(decimal(bad.as_bytes()), Err(Defect::BadLength), "{bad}");
        }
    }
}
