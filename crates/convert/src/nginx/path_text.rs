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

/// An expression for decoded paths. Characters stay within brackets and where they mean something else than themselves.
pub fn encode_expression(expression: &str) -> String {
    let plain = |c: char| c.is_ascii() && !c.is_ascii_control() && !" \"%<>`#".contains(c);
    if expression.chars().all(plain) {
        return expression.to_owned();
    }
    let mut out = String::new();
    let mut chars = expression.chars().peekable();
    let mut is_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(chars.next());
            }
            '[' => {
                is_class = true;
                out.push(c);
                // A bracket that closes stands for itself at the beginning.
                out.extend(chars.next_if_eq(&'^'));
                out.extend(chars.next_if_eq(&']'));
            }
            ']' => {
                is_class = false;
                out.push(c);
            }
            // The name and the kind of a group are no text.
            '(' if !is_class && chars.peek() == Some(&'?') => {
                out.push(c);
                for c in chars.by_ref() {
                    out.push(c);
                    if ">:=!)".contains(c) {
                        break;
                    }
                }
            }
            c if is_class || plain(c) => out.push(c),
            c => {
                let encoded = encode_path(&c.to_string());
                match chars.peek() {
                    Some('*' | '+' | '?' | '{') => out.push_str(&format!("(?:{encoded})")),
                    _ => out.push_str(&encoded),
                }
            }
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

    #[test]
    fn expressions_see_encoded_paths() {
        for (expression, encoded) in [
            ("^/a(b|c)$", "^/a(b|c)$"),
            ("^/a b", "^/a%20b"),
            ("^/ü?$", "^/(?:%C3%BC)?$"),
            ("%20", "%2520"),
            ("^/(?<id>[0-9]+)<$", "^/(?<id>[0-9]+)%3C$"),
            ("(?P<a b>x)(?i: )", "(?P<a b>x)(?i:%20)"),
            ("[^ ]", "[^ ]"),
            ("[]ü]ü", "[]ü]%C3%BC"),
            ("\\ü ", "\\ü%20"),
            ("\\", "\\"),
        ] {
            assert_eq!(encode_expression(expression), encoded, "{expression}");
        }
    }
}
