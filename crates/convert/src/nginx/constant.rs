//! Texts and expressions that a conversion itself evaluates.

/// `^10\.1\.` as `10.1.0.0/16`.
pub fn searched_network(expression: &str) -> Option<String> {
    let body = expression.strip_prefix('^')?.strip_suffix("\\.")?;
    let parts: Vec<&str> = body.split("\\.").collect();
    let numbers: Option<Vec<u8>> = parts.iter().map(|part| part.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.len() < 4)?;
    let at = |which: usize| numbers.get(which).copied().unwrap_or(0);
    Some(format!("{}.{}.{}.0/{}", at(0), at(1), at(2), numbers.len() * 8))
}

/// `a(?!bc)` at the end of an expression as one without a look-ahead, which our expressions do not have.
pub fn without_lookahead(expression: &str) -> Option<String> {
    let (head, rest) = expression.split_once("(?!")?;
    let (text, tail) = rest.split_once(')')?;
    if !matches!(tail, "" | ".*" | ".*$" | "(.*)" | "(.*)$") || head.contains("(?") {
        return None;
    }
    let mut letters = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => letters.push(chars.next().filter(|c| c.is_ascii_punctuation())?),
            c if c.is_ascii_alphanumeric() || "-_/".contains(c) => letters.push(c),
            _ => return None,
        }
    }
    if letters.is_empty() || letters.len() > 24 {
        return None;
    }
    // Whatever follows ends, or differs from the text in one of its letters.
    let escaped = |c: &char| match c.is_ascii_alphanumeric() {
        true => c.to_string(),
        false => format!("\\{c}"),
    };
    let mut same = String::new();
    let mut ways = Vec::new();
    for letter in &letters {
        let letter = escaped(letter);
        ways.push(format!("{same}(?:$|[^{letter}])"));
        same.push_str(&letter);
    }
    Some(format!("{head}(?:{})", ways.join("|")))
}

/// A path as rules compare it: characters that no URL has are percent-encoded.
pub fn percent_encode(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b' '
            | b'"'
            | b'<'
            | b'>'
            | b'\\'
            | b'^'
            | b'`'
            | b'{'
            | b'|'
            | b'}'
            | 0..0x20
            | 0x7f.. => out.push_str(&format!("%{byte:02X}")),
            byte => out.push(char::from(byte)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression_search::search;

    #[test]
    fn a_beginning_of_an_address_is_a_network() {
        for (expression, network) in [
            ("^10\\.", Some("10.0.0.0/8")),
            ("^192\\.168\\.", Some("192.168.0.0/16")),
            ("^192\\.168\\.1\\.", Some("192.168.1.0/24")),
            ("^10", None),
            ("10\\.", None),
            ("^300\\.", None),
        ] {
            assert_eq!(searched_network(expression).as_deref(), network, "{expression}");
        }
        for (path, found) in [
            ("/.git/x", true),
            ("/.", true),
            ("/.well", true),
            ("/.well-known/x", false),
            ("/.well-known/.git", true),
            ("/a", false),
        ] {
            let plain = without_lookahead("/\\.(?!well-known).*").unwrap();
            assert_eq!(search(&plain, false, path), Some(found), "{path}");
        }
        assert_eq!(without_lookahead("(?!a|b)"), None);
        assert_eq!(without_lookahead("a(?!b)c"), None);
        assert_eq!(percent_encode("/ü b/%41"), "/%C3%BC%20b/%41");
    }
}
