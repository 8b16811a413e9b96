//! Which rule a head broke that httparse refused.
//!
//! The walk stops at the first offence by position and decides on that one byte, never on what follows it. So the name
//! is the same whether the head came in one piece or byte by byte. This is the cold path; it accepts nothing.

use super::defect::Defect;
use super::token::{is_token_byte, is_value_byte};
use httparse::Error;

/// Names the offence in a request head, whose leading empty lines are cut off.
#[cold]
pub(crate) fn request(head: &[u8], error: Error) -> Defect {
    // The offence is the size; what comes after the last field that fits was not looked at.
    if error == Error::TooManyHeaders {
        return Defect::TooManyFields;
    }
    match request_line(head) {
        Err(defect) => defect,
        Ok(rest) => fields(rest),
    }
}

/// Names the offence in an answer head.
#[cold]
pub(crate) fn response(head: &[u8], error: Error) -> Defect {
    if error == Error::TooManyHeaders {
        return Defect::TooManyFields;
    }
    match status_line(head) {
        Err(defect) => defect,
        Ok(rest) => fields(rest),
    }
}

/// Names what is too large in a head that is not complete at its limit.
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

fn request_line(head: &[u8]) -> Result<&[u8], Defect> {
    if head.first() == Some(&0x16) {
        return Err(Defect::TlsHello);
    }
    let (method, rest) = split(head, is_token_byte);
    let target = match rest {
        [b' ', target @ ..] if !method.is_empty() => target,
        [b' ' | b'\t' | b'\r' | b'\n', ..] => return Err(Defect::RequestLine),
        _ => return Err(Defect::BadMethod),
    };
    let (target, rest) = split(target, |byte| byte > b' ' && byte < 0x7f && byte != b'#');
    let rest = match rest {
        [b' ', rest @ ..] if !target.is_empty() => rest,
        [b' ' | b'\t', ..] => return Err(Defect::RequestLine),
        [b'\r' | b'\n', ..] => return Err(Defect::Http09),
        [b'#', ..] => return Err(Defect::TargetFragment),
        _ => return Err(Defect::TargetByte),
    };
    let rest = version(rest, Defect::BadVersion).map_err(|defect| {
        let is_preface = defect == Defect::VersionUnsupported && method == b"PRI" && target == b"*";
        if is_preface { Defect::Http2Preface } else { defect }
    })?;
    line_end(rest, Defect::RequestLine)
}

fn status_line(head: &[u8]) -> Result<&[u8], Defect> {
    let rest = version(head, Defect::BadStatusLine)?;
    let is_digit = |at: usize| rest.get(at).is_none_or(u8::is_ascii_digit);
    if rest.first().is_some_and(|&byte| byte != b' ') || !(1..4).all(is_digit) {
        return Err(Defect::BadStatusLine);
    }
    let rest = rest.get(4..).unwrap_or_default();
    let Some((b' ', reason)) = rest.split_first() else {
        return line_end(rest, Defect::BadStatusLine);
    };
    line_end(split(reason, is_value_byte).1, Defect::BadStatusLine)
}

/// Walks over `HTTP/1.0` or `HTTP/1.1`; the first byte that differs decides.
fn version(text: &[u8], broken: Defect) -> Result<&[u8], Defect> {
    for (at, wanted) in b"HTTP/1.1".iter().enumerate() {
        match text.get(at) {
            None => return Ok(&[]),
            Some(byte) if byte == wanted || (at == 7 && *byte == b'0') => {}
            Some(byte) if at != 6 && at >= 5 && byte.is_ascii_digit() => {
                return Err(Defect::VersionUnsupported);
            }
            Some(_) => return Err(broken),
        }
    }
    Ok(text.get(8..).unwrap_or_default())
}

fn line_end(text: &[u8], broken: Defect) -> Result<&[u8], Defect> {
    match text {
        [] | [b'\r'] => Ok(&[]),
        [b'\r', b'\n', rest @ ..] => Ok(rest),
        [b'\r', ..] => Err(Defect::BareCr),
        [b'\n', ..] => Err(Defect::BareLf),
        _ => Err(broken),
    }
}

fn fields(mut rest: &[u8]) -> Defect {
    while !rest.is_empty() {
        match field(rest) {
            Ok(next) => rest = next,
            Err(defect) => return defect,
        }
    }
    Defect::Malformed
}

/// One field line, or the empty line, after which nothing is wrong.
fn field(line: &[u8]) -> Result<&[u8], Defect> {
    if let Some(b'\r' | b'\n') = line.first() {
        return line_end(line, Defect::Malformed).map(|_| &[][..]);
    }
    if let Some(b' ' | b'\t') = line.first() {
        return Err(Defect::ObsFold);
    }
    let (name, rest) = split(line, is_token_byte);
    let value = match rest {
        [] => return Ok(&[]),
        [b':', value @ ..] if !name.is_empty() => value,
        [b' ' | b'\t', ..] => return Err(Defect::SpaceBeforeColon),
        [b'\r' | b'\n', ..] => return Err(Defect::NoColon),
        _ => return Err(Defect::BadName),
    };
    line_end(split(value, is_value_byte).1, Defect::BadValue)
}

/// Splits before the first byte that is not `good`.
fn split(text: &[u8], good: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| !good(byte)).unwrap_or(text.len());
    text.split_at(end)
}
