//! Expressions that nginx, Apache and others search in decoded paths, as expressions of whole paths in the form that rules compare.
//!
//! There, what is not visible has two digits behind a `%`. So each part of an expression that may match such a byte is
//! written with its encoded form, and no part may begin within one.

mod byte_set;
mod expression_parts;

use crate::condition::{escape_regex, whole_path};
use crate::expression_search;

use byte_set::ByteSet;
use expression_parts::{ExpressionPart, group_ends, read_parts};

/// Whether rules compare a byte as itself.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"%?#".contains(&byte)
}

/// The expression of the whole path. One whose meaning depends on what is encoded stays as it is: `path_sight` refuses
/// the paths on which that matters.
pub fn path_expression(expression: &str, ignore_case: bool) -> String {
    let exact = whole_path_expression(expression, ignore_case);
    exact.unwrap_or_else(|| whole_path(expression, ignore_case))
}

/// How a written expression of the whole path reads encoded characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodedSight {
    All,
    /// All but a line feed, which ends what `$` and `.` look at.
    NoLineFeed,
    None,
}

/// How an expression that `path_expression` wrote reads encoded characters.
pub fn encoded_sight(whole: &str) -> EncodedSight {
    let text = whole.strip_prefix("(?i)").unwrap_or(whole);
    if read_parts(text, false).is_none_or(|parts| group_ends(&parts).is_none()) {
        // What our expressions cannot read becomes no rule.
        let is_readable = expression_search::search(whole, false, "").is_some();
        return if is_readable { EncodedSight::None } else { EncodedSight::All };
    }
    let Some(text) = text.strip_suffix(".*") else { return EncodedSight::NoLineFeed };
    let text = text.strip_prefix(".*").or(text.strip_prefix(ANY)).unwrap_or(text);
    let is_dot = |part: &ExpressionPart| {
        matches!(part, ExpressionPart::Byte { text, .. } if text == ".")
            || matches!(part, ExpressionPart::End)
    };
    let has_dot = read_parts(text, false).is_some_and(|parts| parts.iter().any(is_dot));
    match has_dot || text.contains(ANY) {
        true => EncodedSight::NoLineFeed,
        false => EncodedSight::All,
    }
}

/// The expression of the whole path. `None`: it has a part whose meaning depends on what is encoded.
pub fn whole_path_expression(expression: &str, ignore_case: bool) -> Option<String> {
    let (text, is_flagged) =
        expression.strip_prefix("(?i)").map_or((expression, false), |rest| (rest, true));
    let ignore_case = ignore_case || is_flagged;
    let parts = read_parts(text, ignore_case)?;
    let expression = PathExpression { groups: group_ends(&parts)?, parts };
    let flag = if ignore_case { "(?i)" } else { "" };
    Some(format!("{flag}{}", expression.whole()))
}

/// Any character, encoded or not.
const ANY: &str = "(?:[^%]|%[0-9A-F]{2})";

struct PathExpression {
    parts: Vec<ExpressionPart>,
    groups: Vec<usize>,
}

impl PathExpression {
    /// A search becomes an expression of the whole path.
    fn whole(&self) -> String {
        let end = self.parts.len();
        let is_bar =
            |at: &usize| matches!(self.parts[*at], ExpressionPart::Bar) && self.groups[*at] == end;
        let bars: Vec<usize> = (0..end).filter(is_bar).collect();
        let has_bar = !bars.is_empty();
        let mut inner = 0..self.parts.len();
        let is_begun = !has_bar && matches!(self.parts.first(), Some(ExpressionPart::Begin));
        inner.start += usize::from(is_begun);
        let is_ended =
            !has_bar && !inner.is_empty() && matches!(self.parts.last(), Some(ExpressionPart::End));
        inner.end -= usize::from(is_ended);
        let body: String = inner.map(|at| self.written(at)).collect();
        let mut visited = vec![false; self.parts.len()];
        let before = match is_begun {
            true => String::new(),
            false
                if std::iter::once(0)
                    .chain(bars.iter().map(|bar| bar + 1))
                    .any(|begin| self.may_begin_within(begin, &mut visited)) =>
            {
                format!("{ANY}*")
            }
            false => ".*".to_owned(),
        };
        let behind = if is_ended { "" } else { ".*" };
        if has_bar {
            format!("{before}(?:{body}){behind}")
        } else {
            format!("{before}{body}{behind}")
        }
    }

    fn written(&self, at: usize) -> String {
        match &self.parts[at] {
            ExpressionPart::Byte { set, text } => self.written_byte(at, set, text),
            ExpressionPart::Repeat { text, .. } | ExpressionPart::Open(text) => text.clone(),
            ExpressionPart::Bar => "|".to_owned(),
            ExpressionPart::Close => ")".to_owned(),
            ExpressionPart::Begin => "^".to_owned(),
            ExpressionPart::End => "$".to_owned(),
        }
    }

    fn written_byte(&self, at: usize, set: &ByteSet, text: &str) -> String {
        let encoded = ByteSet::of(|byte| set.has(byte) && !is_plain(byte));
        let Some(first) = encoded.bytes().next() else { return text.to_owned() };
        let repeat = self.parts.get(at + 1);
        if encoded.bytes().count() == 1 && set.bytes().count() == 1 {
            let is_repeated = matches!(repeat, Some(ExpressionPart::Repeat { .. }));
            return if is_repeated { format!("(?:%{first:02X})") } else { format!("%{first:02X}") };
        }
        // A line feed is nothing that a rule sees: paths with one are refused before.
        let is_wide = (0..=u8::MAX).all(|b| set.has(b) || is_plain(b) || b == b'\n')
            && HEX.iter().all(|digit| set.has(*digit));
        let is_endless = matches!(repeat, Some(ExpressionPart::Repeat { is_repeated: true, text, .. }) if !text.starts_with('{'));
        let mut visited = vec![false; self.parts.len()];
        if is_wide && is_endless && !self.may_begin_within(at + 2, &mut visited) {
            return text.to_owned();
        }
        let encoded = if is_wide { "[0-9A-F]{2}".to_owned() } else { digits(&encoded) };
        match plain_class(set) {
            Some(plain) => format!("(?:{plain}|%{encoded})"),
            None => format!("(?:%{encoded})"),
        }
    }

    /// Whether what stands from here on may begin with a digit of an encoded form.
    fn may_begin_within(&self, mut at: usize, visited: &mut [bool]) -> bool {
        while let Some(part) = self.parts.get(at) {
            if std::mem::replace(&mut visited[at], true) {
                return false;
            }
            match part {
                ExpressionPart::Byte { set, .. } => {
                    if HEX.iter().any(|digit| set.has(*digit)) {
                        return true;
                    }
                    if !self.is_optional(at + 1) {
                        return false;
                    }
                    at += 2;
                }
                ExpressionPart::Open(_) => {
                    let end = self.groups[at];
                    let bars = (at + 1..end).filter(|bar| {
                        matches!(self.parts[*bar], ExpressionPart::Bar) && self.groups[*bar] == end
                    });
                    let begins: Vec<usize> =
                        std::iter::once(at + 1).chain(bars.map(|bar| bar + 1)).collect();
                    if begins.into_iter().any(|begin| self.may_begin_within(begin, visited)) {
                        return true;
                    }
                    if !self.is_optional(end + 1) {
                        return false;
                    }
                    at = end + 2;
                }
                ExpressionPart::Bar | ExpressionPart::Close => {
                    let end = self.groups[at];
                    match self.parts.get(end + 1) {
                        Some(ExpressionPart::Repeat { is_repeated: true, .. }) => return true,
                        Some(ExpressionPart::Repeat { .. }) => at = end + 2,
                        _ => at = end + 1,
                    }
                }
                ExpressionPart::Begin | ExpressionPart::End => return false,
                ExpressionPart::Repeat { .. } => at += 1,
            }
        }
        false
    }

    fn is_optional(&self, at: usize) -> bool {
        matches!(self.parts.get(at), Some(ExpressionPart::Repeat { is_optional: true, .. }))
    }
}

const HEX: &[u8] = b"0123456789ABCDEF";

/// The class of the bytes that stand for themselves. `None`: there are none.
fn plain_class(set: &ByteSet) -> Option<String> {
    let own = ranges(&(33..127).filter(|b| is_plain(*b) && set.has(*b)).collect::<Vec<_>>());
    // No other byte than a `%` stands in a path without being plain.
    let others = ranges(
        &(33..127).filter(|b| *b == b'%' || is_plain(*b) && !set.has(*b)).collect::<Vec<_>>(),
    );
    if own.is_empty() {
        return None;
    }
    Some(if own.len() <= others.len() { format!("[{own}]") } else { format!("[^{others}]") })
}

/// The bytes as the inside of a class.
fn ranges(bytes: &[u8]) -> String {
    let written = |byte: u8| escape_regex(&char::from(byte).to_string());
    let mut out = String::new();
    for run in bytes.chunk_by(|one, next| one + 1 == *next) {
        match run {
            [first, _, .., last] => {
                out.push_str(&format!("{}-{}", written(*first), written(*last)))
            }
            run => out.extend(run.iter().map(|byte| written(*byte))),
        }
    }
    out
}

/// The two digits of encoded bytes: `0[9AD]|7F`.
fn digits(encoded: &ByteSet) -> String {
    let low = |high: u8| -> Vec<u8> {
        (0..16)
            .filter(|low| encoded.has(high << 4 | low))
            .map(|low| HEX[usize::from(low)])
            .collect()
    };
    let mut out: Vec<String> = Vec::new();
    let mut known: Vec<Vec<u8>> = Vec::new();
    for high in 0..16 {
        let own = low(high);
        if own.is_empty() || known.contains(&own) {
            continue;
        }
        let same: Vec<u8> =
            (high..16).filter(|one| low(*one) == own).map(|one| HEX[usize::from(one)]).collect();
        out.push(format!("{}{}", one_of(&same), one_of(&own)));
        known.push(own);
    }
    if out.len() == 1 { out.concat() } else { format!("(?:{})", out.join("|")) }
}

fn one_of(digits: &[u8]) -> String {
    match digits {
        [one] => char::from(*one).to_string(),
        all if all == HEX => "[0-9A-F]".to_owned(),
        several => format!("[{}]", ranges(several)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_see_what_is_encoded() {
        for (expression, whole) in [
            ("^/a(b|c)$", "/a(b|c)"),
            ("^/a b", "/a%20b.*"),
            ("^/ü?$", "/%C3(?:%BC)?"),
            ("%20", ".*%2520.*"),
            ("\\.php$", ".*\\.php"),
            ("^/(.*)$", "/(.*)"),
            ("^/(.+)/x", "/(.+)/x.*"),
            ("^/([^/]+)/(\\d+)$", "/([^/]+)/(\\d+)"),
            ("^/(?<id>[0-9]+)<$", "/(?<id>[0-9]+)<"),
            ("\\s", ".*(?:%(?:0[9A-D]|20)).*"),
            ("[[:cntrl:]]", ".*(?:%(?:[01][0-9A-F]|7F)).*"),
            ("[^\\x20-\\x7e]", ".*(?:%(?:[0189A-F][0-9A-F]|7F)).*"),
            ("[ _]y", ".*(?:[_]|%20)y.*"),
            ("^/u/./s$", "/u/(?:[^%]|%[0-9A-F]{2})/s"),
            ("^/.{3}$", "/(?:[^%]|%[0-9A-F]{2}){3}"),
            ("(<|>)", ".*(<|>).*"),
            ("a|\"", ".*(?:a|\").*"),
            ("\\?", ".*%3F.*"),
            ("\\<", ".*<.*"),
            ("20$", "(?:[^%]|%[0-9A-F]{2})*20"),
            ("^/x.*20$", "/x(?:[^%]|%[0-9A-F]{2})*20"),
            ("a{2}{", ".*a{2}\\{.*"),
        ] {
            assert_eq!(
                whole_path_expression(expression, false).as_deref(),
                Some(whole),
                "{expression}"
            );
        }
        assert_eq!(
            whole_path_expression("admin", true).as_deref(),
            Some("(?i)(?:[^%]|%[0-9A-F]{2})*admin.*")
        );
        for expression in ["\\bx", "(?x)a", "a(?=b)", "(a", "a)", "\\1", "(*UTF8)x"] {
            assert_eq!(whole_path_expression(expression, false), None, "{expression}");
        }
    }

    /// The path as rules compare it.
    fn compared(path: &[u8]) -> Vec<u8> {
        let encoded = |byte: &u8| match is_plain(*byte) {
            true => vec![*byte],
            false => format!("%{byte:02X}").into_bytes(),
        };
        path.iter().flat_map(encoded).collect()
    }

    #[test]
    fn the_written_expression_holds_where_nginx_finds_the_searched_one() {
        use regex::bytes::RegexBuilder;
        let paths = [
            &b"/x y"[..],
            b"/x\r\ny",
            b"/\xc3\xa9",
            b"/u/?/s",
            b"/u/ /s",
            b"/u/a/s",
            b"/x<q",
            b"/x%41",
            b"/x#y",
            b"/a20",
            b"/ ",
            b"/\x20\x30",
            b"/xay",
            b"/x\x7fy",
            b"/Admin",
            b"/\x0admin",
            b"/x\"",
            b"/x`y",
            b"/20",
            b"/",
            b"/a/2/0",
        ];
        for expression in [
            "\\s",
            "[^a-z/]",
            "^/x.y$",
            "^/x..$",
            "^/.{1,3}$",
            "20",
            "0$",
            "x.*0",
            "[^/]+0$",
            "(a|.)y",
            "\\W$",
            "(x|\\s)+y",
            "^/[^x]",
            "(?i)admin",
            "(a?|b?)*0",
            "[^0-9]+$",
            "[\\x00-\\x1f]",
            "^/(?:.*/)?s",
            "\\xc3",
            "<|\"",
            "D",
            "A0?$",
            "y|20",
        ] {
            let searched = RegexBuilder::new(expression).unicode(false).build().unwrap();
            let whole = whole_path_expression(expression, false).unwrap();
            let written = RegexBuilder::new(&format!("^(?:{whole})$")).build().unwrap();
            for path in paths.iter().filter(|path| !path.contains(&b'\n')) {
                let is_found = searched.is_match(path);
                assert_eq!(
                    written.is_match(&compared(path)),
                    is_found,
                    "{expression} {whole} {path:?}"
                );
            }
        }
    }
}
