//! The parts of an expression: bytes, groups and quantifiers.

use crate::condition::escape_regex;

use super::byte_set::{ByteSet, escaped_byte, escaped_class, read_class};

/// A part of an expression.
#[derive(Clone, Debug)]
pub enum ExpressionPart {
    /// One byte, and the text that it was written with.
    Byte {
        set: ByteSet,
        text: String,
    },
    Repeat {
        text: String,
        is_optional: bool,
        is_repeated: bool,
    },
    Open(String),
    Bar,
    Close,
    Begin,
    End,
}

/// The parts of an expression. `None`: there is one that is more than bytes, groups and quantifiers.
pub fn read_parts(text: &str, ignore_case: bool) -> Option<Vec<ExpressionPart>> {
    let mut out = Vec::new();
    let mut rest = text.chars().peekable();
    loop {
        let before = rest.clone();
        let Some(c) = rest.next() else { return Some(out) };
        let set = match c {
            '\\' => {
                let letter = rest.next()?;
                match escaped_class(letter) {
                    Some(set) => set,
                    None => ByteSet::single(escaped_byte(letter, &mut rest)?),
                }
            }
            '[' => read_class(&mut rest, ignore_case)?,
            '.' => ByteSet::single(b'\n').negate(),
            '*' | '+' | '?' | '{' if repeat(c, &mut rest.clone()).is_some() => {
                out.push(repeat(c, &mut rest)?);
                continue;
            }
            '(' => {
                out.push(ExpressionPart::Open(group_begin(&mut rest)?));
                continue;
            }
            ')' | '|' | '^' | '$' => {
                out.push(match c {
                    ')' => ExpressionPart::Close,
                    '|' => ExpressionPart::Bar,
                    '^' => ExpressionPart::Begin,
                    _ => ExpressionPart::End,
                });
                continue;
            }
            c if c.is_ascii() => ByteSet::single(u8::try_from(c).ok()?),
            c => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let set = ByteSet::single(byte);
                    out.push(ExpressionPart::Byte { set, text: String::new() });
                }
                continue;
            }
        };
        let length = before.clone().count() - rest.clone().count();
        let written: String = before.take(length).collect();
        let set = if ignore_case && c != '[' { set.any_case() } else { set };
        let text = match written.as_str() {
            // What our expressions read otherwise.
            "{" | "\\<" | "\\>" => escape_regex(written.trim_start_matches('\\')),
            "\\N" => ".".to_owned(),
            _ => written,
        };
        out.push(ExpressionPart::Byte { set, text });
    }
}

/// A quantifier. `None`: a brace that is none.
fn repeat(
    first: char,
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
) -> Option<ExpressionPart> {
    let mut text = first.to_string();
    let mut is_optional = first != '+';
    let mut is_repeated = first != '?';
    if first == '{' {
        let body: String = rest.by_ref().take_while(|c| *c != '}').collect();
        let is_count = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let (least, most) = body.split_once(',').unwrap_or((&body, &body));
        if !is_count(least) || !(most.is_empty() || is_count(most)) {
            return None;
        }
        is_optional = least.bytes().all(|b| b == b'0');
        is_repeated = most != "1";
        text = format!("{{{body}}}");
    }
    text.extend(rest.next_if(|c| matches!(c, '?' | '+')));
    Some(ExpressionPart::Repeat { text, is_optional, is_repeated })
}

/// The beginning of a group behind its parenthesis. `None`: it is more than a group.
fn group_begin(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    if rest.peek() == Some(&'*') {
        return None;
    }
    if rest.next_if_eq(&'?').is_none() {
        return Some("(".to_owned());
    }
    match rest.next()? {
        ':' => Some("(?:".to_owned()),
        'P' if rest.peek() == Some(&'<') => {
            rest.next();
            Some(format!("(?<{}>", rest.by_ref().take_while(|c| *c != '>').collect::<String>()))
        }
        '<' if !matches!(rest.peek(), Some('=' | '!')) => {
            Some(format!("(?<{}>", rest.by_ref().take_while(|c| *c != '>').collect::<String>()))
        }
        _ => None,
    }
}

/// For each part the place where the group ends that it is in, or that it opens.
pub fn group_ends(parts: &[ExpressionPart]) -> Option<Vec<usize>> {
    let mut ends = vec![parts.len(); parts.len()];
    let mut around = vec![parts.len()];
    for (at, part) in parts.iter().enumerate().rev() {
        match part {
            ExpressionPart::Close => around.push(at),
            ExpressionPart::Open(_) => {
                ends[at] = around.pop().filter(|_| !around.is_empty())?;
                continue;
            }
            _ => {}
        }
        ends[at] = *around.last()?;
    }
    (around.len() == 1).then_some(ends)
}
