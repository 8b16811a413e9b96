//! Determines which rule a head violates that httparse rejected.
//!
//! The scan stops at the first violation and decides on that one byte, never on the bytes behind it. So the result is
//! the same whether the head arrived at once or byte by byte. This is the cold path; it accepts nothing.

use super::defect::Defect;
use super::token::{is_token_byte, is_value_byte};
use httparse::Error;

/// The violation in a request head without its leading empty lines.
#[cold]
pub(crate) fn request(head: &[u8], error: Error) -> Defect {
    // The size is the violation: httparse did not read beyond the last field that fits.
    if error == Error::TooManyHeaders {
        return Defect::TooManyFields;
    }
    locate_defect(head).map_or(Defect::Malformed, |found| found.defect)
}

/// The first violation in a request head without its leading empty lines.
#[cold]
pub(crate) fn locate_defect(head: &[u8]) -> Option<DefectLocation<'_>> {
    match request_line(head) {
        Err(broken) => Some(broken),
        Ok(rest) => fields(rest),
    }
}

#[cold]
pub(crate) fn response(head: &[u8], error: Error) -> Defect {
    if error == Error::TooManyHeaders {
        return Defect::TooManyFields;
    }
    let broken = match status_line(head) {
        Err(broken) => Some(broken),
        Ok(rest) => fields(rest),
    };
    broken.map_or(Defect::Malformed, |broken| broken.defect)
}

/// Which part is too large in a head that reached its limit incomplete.
#[cold]
pub(crate) fn request_too_large(head: &[u8]) -> Defect {
    let ends_line = memchr::memchr(b'\n', head).is_some();
    let has_target = memchr::memchr(b' ', head).is_some();
    match (ends_line, has_target) {
        (true, _) => Defect::HeadTooLarge,
        (false, true) => Defect::TargetTooLong,
        (false, false) => Defect::MethodTooLong,
    }
}

/// A violation, and the bytes from there on.
pub(crate) struct DefectLocation<'h> {
    pub(crate) defect: Defect,
    pub(crate) rest: &'h [u8],
}

type ScanResult<'h> = Result<&'h [u8], DefectLocation<'h>>;

fn defect_at(defect: Defect, rest: &[u8]) -> ScanResult<'_> {
    Err(DefectLocation { defect, rest })
}

fn request_line(head: &[u8]) -> ScanResult<'_> {
    if head.first() == Some(&0x16) {
        return defect_at(Defect::TlsHello, head);
    }
    let (method, rest) = split(head, is_token_byte);
    let target = match rest {
        [b' ', target @ ..] if !method.is_empty() => target,
        [b' ' | b'\t' | b'\r' | b'\n', ..] => return defect_at(Defect::RequestLine, rest),
        _ => return defect_at(Defect::BadMethod, rest),
    };
    let (target, rest) = split(target, |byte| byte > b' ' && byte < 0x7f && byte != b'#');
    let rest = match rest {
        [b' ', rest @ ..] if !target.is_empty() => rest,
        [b' ' | b'\t', ..] => return defect_at(Defect::RequestLine, rest),
        [b'\r' | b'\n', ..] => return defect_at(Defect::Http09, rest),
        [b'#', ..] => return defect_at(Defect::TargetFragment, rest),
        _ => return defect_at(Defect::TargetByte, rest),
    };
    let rest = version(rest, Defect::BadVersion).map_err(|it| {
        let is_preface =
            it.defect == Defect::VersionUnsupported && method == b"PRI" && target == b"*";
        if is_preface { DefectLocation { defect: Defect::Http2Preface, ..it } } else { it }
    })?;
    line_end(rest, Defect::RequestLine)
}

fn status_line(head: &[u8]) -> ScanResult<'_> {
    let rest = version(head, Defect::BadStatusLine)?;
    let is_digit = |at: usize| rest.get(at).is_none_or(u8::is_ascii_digit);
    if rest.first().is_some_and(|&byte| byte != b' ') || !(1..4).all(is_digit) {
        return defect_at(Defect::BadStatusLine, rest);
    }
    let rest = rest.get(4..).unwrap_or_default();
    let Some((b' ', reason)) = rest.split_first() else {
        return line_end(rest, Defect::BadStatusLine);
    };
    line_end(split(reason, is_value_byte).1, Defect::BadStatusLine)
}

/// Matches `HTTP/1.0` or `HTTP/1.1`; the first byte that differs determines the defect.
fn version(text: &[u8], otherwise: Defect) -> ScanResult<'_> {
    for (at, wanted) in b"HTTP/1.1".iter().enumerate() {
        let rest = text.get(at..).unwrap_or_default();
        match rest.first() {
            None => return Ok(&[]),
            Some(byte) if byte == wanted || (at == 7 && *byte == b'0') => {}
            Some(byte) if at != 6 && at >= 5 && byte.is_ascii_digit() => {
                return defect_at(Defect::VersionUnsupported, rest);
            }
            Some(_) => return defect_at(otherwise, rest),
        }
    }
    Ok(text.get(8..).unwrap_or_default())
}

fn line_end(text: &[u8], otherwise: Defect) -> ScanResult<'_> {
    match text {
        [] | [b'\r'] => Ok(&[]),
        [b'\r', b'\n', rest @ ..] => Ok(rest),
        [b'\r', ..] => defect_at(Defect::BareCr, text),
        [b'\n', ..] => defect_at(Defect::BareLf, text),
        _ => defect_at(otherwise, text),
    }
}

fn fields(mut rest: &[u8]) -> Option<DefectLocation<'_>> {
    while !rest.is_empty() {
        match field(rest) {
            Ok(next) => rest = next,
            Err(broken) => return Some(broken),
        }
    }
    None
}

/// Checks one field line. The empty line ends the head: nothing after it can be a violation.
fn field(line: &[u8]) -> ScanResult<'_> {
    if let Some(b'\r' | b'\n') = line.first() {
        return line_end(line, Defect::Malformed).map(|_| &[][..]);
    }
    if let Some(b' ' | b'\t') = line.first() {
        return defect_at(Defect::ObsFold, line);
    }
    let (name, rest) = split(line, is_token_byte);
    let value = match rest {
        [] => return Ok(&[]),
        [b':', value @ ..] if !name.is_empty() => value,
        [b' ' | b'\t', ..] => return defect_at(Defect::SpaceBeforeColon, rest),
        [b'\r' | b'\n', ..] => return defect_at(Defect::NoColon, rest),
        _ => return defect_at(Defect::BadName, rest),
    };
    line_end(split(value, is_value_byte).1, Defect::BadValue)
}

/// Splits before the first byte that is not `good`.
fn split(text: &[u8], good: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| !good(byte)).unwrap_or(text.len());
    text.split_at(end)
}
