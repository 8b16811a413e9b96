//! The transformations that servers apply to a path. Each returns `None` if it changes nothing.

use super::limit::{TooManyReadings, add_reading};
use super::text::{DOT, PathText, SLASH, byte_of, encoded, hex, is_encoded};

/// Plain characters of a path, without the mark of an encoded one.
const PERCENT: u16 = b'%' as u16;
const BACKSLASH: u16 = b'\\' as u16;
const SEMICOLON: u16 = b';' as u16;

/// Adds the results of a step to the texts.
pub(super) fn apply_to_each(
    read: &mut Vec<PathText>,
    step: fn(&PathText) -> Option<PathText>,
) -> Result<(), TooManyReadings> {
    for at in 0..read.len() {
        if let Some(text) = step(&read[at]) {
            add_reading(read, text)?;
        }
    }
    Ok(())
}

/// Decodes encoded characters; an encoded slash only if `slash` is set.
pub(super) fn decoded(text: &PathText, slash: bool) -> PathText {
    let keep = |character: u16| !slash && byte_of(character) == b'/';
    let decode = |&character: &u16| match is_encoded(character) && !keep(character) {
        true => u16::from(byte_of(character)),
        false => character,
    };
    PathText(text.0.iter().map(decode).collect())
}

/// Merges repeated slashes and resolves dot segments.
pub(super) fn normalize_segments(text: PathText) -> PathText {
    let text = without_empty(&text).unwrap_or(text);
    without_dots(&text).unwrap_or(text)
}

/// Resolves dot segments (RFC 3986 §5.2.4).
pub(super) fn without_dots(text: &PathText) -> Option<PathText> {
    if !text.has_dots() {
        return None;
    }
    let mut out: Vec<u16> = Vec::with_capacity(text.0.len());
    let mut segments = text.segments().peekable();
    while let Some(segment) = segments.next() {
        if segment == [DOT, DOT] {
            let up = out.iter().rposition(|character| *character == SLASH).unwrap_or(0);
            out.truncate(up);
        } else if segment != [DOT] {
            out.push(SLASH);
            out.extend_from_slice(segment);
            continue;
        }
        // A path that ends with a dot segment is a directory.
        if segments.peek().is_none() {
            out.push(SLASH);
        }
    }
    Some(PathText(out))
}

pub(super) fn without_empty(text: &PathText) -> Option<PathText> {
    let mut out = text.0.clone();
    out.dedup_by(|later, before| *later == SLASH && *before == SLASH);
    (out.len() < text.0.len()).then_some(PathText(out))
}

/// `\` is `/` (URL Standard, special schemes).
pub(super) fn without_backslashes(text: &PathText) -> Option<PathText> {
    let has = text.0.contains(&BACKSLASH);
    let replace = |&character: &u16| if character == BACKSLASH { SLASH } else { character };
    has.then(|| PathText(text.0.iter().map(replace).collect()))
}

/// Each segment ends at its `;` (path parameters, RFC 3986 §3.3).
pub(super) fn without_parameters(text: &PathText) -> Option<PathText> {
    if !text.0.contains(&SEMICOLON) {
        return None;
    }
    let mut out = Vec::with_capacity(text.0.len());
    for segment in text.segments() {
        out.push(SLASH);
        out.extend(segment.iter().take_while(|character| **character != SEMICOLON));
    }
    Some(PathText(out))
}

/// The path ends at its first `;`.
pub(super) fn cut_at_parameters(text: &PathText) -> Option<PathText> {
    cut_before(text, |character| character == SEMICOLON)
}

/// The path ends at its first zero byte.
pub(super) fn cut_at_zero(text: &PathText) -> Option<PathText> {
    cut_before(text, |character| character == 0)
}

/// The path was decoded before the query was split off.
pub(super) fn cut_at_query(text: &PathText) -> Option<PathText> {
    cut_before(text, |character| character == u16::from(b'?') || character == u16::from(b'#'))
}

fn cut_before(text: &PathText, at: impl Fn(u16) -> bool) -> Option<PathText> {
    let end = text.0.iter().position(|character| at(*character))?;
    Some(PathText(text.0[..end].to_vec()))
}

/// Removes a host at the beginning, however many slashes precede it (URL Standard).
pub(super) fn without_authority(text: &PathText) -> Option<PathText> {
    if !text.has_authority() {
        return None;
    }
    let host = text.0.iter().position(|character| *character != SLASH).unwrap_or(text.0.len());
    let rest = text.0[host..].iter().position(|character| *character == SLASH);
    Some(rest.map_or(PathText(vec![SLASH]), |at| PathText(text.0[host + at..].to_vec())))
}

/// Drops control characters, bytes that are no UTF-8 and `%` without its digits.
pub(super) fn without_strange(text: &PathText) -> Option<PathText> {
    let mut out = Vec::with_capacity(text.0.len());
    let mut rest = &text.0[..];
    while let Some((&first, after)) = rest.split_first() {
        let length = match byte_of(first) {
            _ if is_encoded(first) => 1,
            b'%' if !matches!(after, [high, low, ..] if hex(*high).and(hex(*low)).is_some()) => 0,
            byte if byte.is_ascii_control() => 0,
            byte if byte.is_ascii() => 1,
            _ => utf8_length(rest),
        };
        out.extend_from_slice(&rest[..length]);
        rest = &rest[length.max(1)..];
    }
    (out.len() < text.0.len()).then_some(PathText(out))
}

/// How many bytes the first character has in UTF-8; 0: invalid.
fn utf8_length(rest: &[u16]) -> usize {
    let bytes: Vec<u8> = rest.iter().take(4).map_while(|byte| u8::try_from(*byte).ok()).collect();
    let valid =
        |length: &usize| bytes.get(..*length).is_some_and(|prefix| str::from_utf8(prefix).is_ok());
    (2..=4).find(valid).unwrap_or(0)
}

/// ASCII in too many bytes of UTF-8 (forbidden by RFC 3629 §3) and `%uXXXX`: both as the intended character.
pub(super) fn leniently_decoded(text: &PathText) -> Option<PathText> {
    let mut out = Vec::with_capacity(text.0.len());
    let mut rest = &text.0[..];
    let mut changed = false;
    while let Some((&first, after)) = rest.split_first() {
        match overlong(rest).or_else(|| unicode(rest)) {
            Some((byte, length)) => {
                out.push(encoded(byte));
                rest = &rest[length..];
                changed = true;
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    // Characters that need no encoding are decoded at once, as elsewhere.
    changed.then(|| PathText::from_bytes(&PathText(out).sendable_form()))
}

fn overlong(rest: &[u16]) -> Option<(u8, usize)> {
    let lead = rest.first().filter(|first| is_encoded(**first)).map(|first| byte_of(*first))?;
    let (length, top) = match lead {
        0xc0 | 0xc1 => (2, u32::from(lead & 0x1f)),
        0xe0 => (3, 0),
        0xf0 => (4, 0),
        // RFC 2279 had forms of five and six bytes.
        0xf8 => (5, 0),
        0xfc => (6, 0),
        _ => return None,
    };
    let mut value = top;
    for next in rest.get(1..length)? {
        let byte = byte_of(*next);
        if !is_encoded(*next) || byte & 0xc0 != 0x80 {
            return None;
        }
        value = value << 6 | u32::from(byte & 0x3f);
    }
    u8::try_from(value).ok().filter(u8::is_ascii).map(|byte| (byte, length))
}

fn unicode(rest: &[u16]) -> Option<(u8, usize)> {
    let [PERCENT, u, digits @ ..] = rest.get(..6)? else { return None };
    if !byte_of(*u).eq_ignore_ascii_case(&b'u') {
        return None;
    }
    let mut value = 0_u32;
    for digit in digits {
        value = value << 4 | u32::from(hex(*digit)?);
    }
    u8::try_from(value).ok().filter(u8::is_ascii).map(|byte| (byte, 6))
}
