//! Paths and expressions that nginx compares with decoded paths, in the percent-encoded form that rules compare.

use super::constant::percent_encode;

/// The percent-encoded form of a decoded path.
pub fn encode_path(path: &str) -> String {
    let mut out = String::new();
    for c in path.chars() {
        match c {
            '%' => out.push_str("%25"),
            '?' => out.push_str("%3F"),
            '#' => out.push_str("%23"),
            c => out.push_str(&percent_encode(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out
}

/// The path, or its beginning with `*`, that is all that an expression means. A file may have few expressions, and many
/// paths. `None`: the expression means something else.
pub fn plain_path(expression: &str) -> Option<String> {
    let text = expression.strip_prefix('^')?;
    let (text, end) = text.strip_suffix('$').map_or((text, "*"), |text| (text, ""));
    let text = text.replace("\\.", "\u{0}");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '\u{0}');
    let is_readable = text.starts_with('/') && !text.contains("//") && !text.contains("/\u{0}");
    (is_readable && text.chars().all(is_plain)).then(|| text.replace('\u{0}', ".") + end)
}

/// A decoded path in the form that expressions see: only what is not visible, and `%`, `?` and `#`, is encoded.
pub fn compared_form(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte.is_ascii_graphic() && !b"%?#".contains(&byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_without_signs_are_paths() {
        for (expression, path) in [
            ("^/old$", Some("/old")),
            ("^/old-1/a_b\\.html$", Some("/old-1/a_b.html")),
            ("^/old", Some("/old*")),
            ("^/$", Some("/")),
            ("^/old/?$", None),
            ("^/a.b$", None),
            ("^/a$|b$", None),
            ("/old$", None),
            ("^/a//b$", None),
            ("^/\\.well-known$", None),
            ("^/(.*)$", None),
            ("^$", None),
        ] {
            assert_eq!(plain_path(expression).as_deref(), path, "{expression}");
        }
    }
}
