//! The shape of a rule: what the configuration's parser decides by, where names and paths differ in plain letters alone.
//!
//! A file with ten thousand sites has as many rules of one shape, of which the parser sees one.

use crate::value::KeyValue;

/// What a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterLayer {
    Http,
    Tcp,
}

/// Keys of conditions whose values may be of a shape.
const PLAIN_KEYS: [&str; 6] = ["host", "path", "any", "all", "not", "sni"];

/// The shape of a rule. `None`: its names and paths are not plain, or it has other conditions.
pub fn shape_of(layer: RouterLayer, keys: &[KeyValue]) -> Option<String> {
    let mut shape = format!("{layer:?}");
    for KeyValue { key, value } in keys {
        shape.push_str(key);
        match *key {
            "when" => push_shape(value, &PLAIN_KEYS, &mut shape)?,
            "pool" | "name" => push_name(value, &mut shape)?,
            "rewrite" => push_edits(value, &mut shape),
            // What is not of a shape counts as it is written.
            _ => shape.push_str(value),
        }
        shape.push('\n');
    }
    Some(shape)
}

/// Adds the shape of a value, whose texts are its only parts in quotes.
fn push_shape(value: &str, names: &[&str], shape: &mut String) -> Option<()> {
    for (at, part) in value.split('"').enumerate() {
        if at % 2 == 1 {
            push_text(part, shape)?;
            continue;
        }
        let words = part.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
        if words.filter(|word| !word.is_empty()).any(|word| !names.contains(&word)) {
            return None;
        }
        shape.push_str(part);
    }
    Some(())
}

/// Adds a value in which only the plain values of fields are of a shape, such as `v1` in `set = "X-Version: v1"`.
fn push_edits(value: &str, shape: &mut String) {
    // Quotes within texts would shift the parts.
    if value.contains('\\') {
        return shape.push_str(value);
    }
    for (at, part) in value.split('"').enumerate() {
        let field = part.split_once(": ").filter(|_| at % 2 == 1);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_/ ".contains(c);
        match field.filter(|(_, value)| value.chars().all(is_plain)) {
            Some((name, value)) => {
                shape.push_str(name);
                shape.push_str(": ");
                shape.extend(value.chars().map(one_of_kind));
            }
            None => shape.push_str(part),
        }
        shape.push('"');
    }
}

/// Adds the shape of a quoted name.
fn push_name(value: &str, shape: &mut String) -> Option<()> {
    push_plain(value.strip_prefix('"')?.strip_suffix('"')?, shape)
}

/// Adds a text with one letter in place of all small ones, and one digit in place of all digits.
fn push_text(text: &str, shape: &mut String) -> Option<()> {
    // A text without letters may be an address or a number, and one with `xn--` a name in another script.
    let has_letter = text.contains(|c: char| c.is_ascii_lowercase());
    if !has_letter || text.contains("xn--") {
        return None;
    }
    push_plain(text, shape)
}

fn push_plain(text: &str, shape: &mut String) -> Option<()> {
    shape.push('"');
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_' | '/' | '*') {
            return None;
        }
        shape.push(one_of_kind(c));
    }
    shape.push('"');
    Some(())
}

/// One letter in place of all small ones or all capitals, and one digit in place of all digits.
fn one_of_kind(c: char) -> char {
    match c {
        'a'..='z' => 'a',
        'A'..='Z' => 'A',
        '0'..='9' => '0',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_differ_in_plain_letters_alone_have_one_shape() {
        let shape = |when: &str| shape_of(RouterLayer::Http, &[KeyValue::new("when", when)]);
        let first = shape("{ host = \"h1.example\", path = \"/a*\" }");
        assert!(first.is_some());
        assert_eq!(first, shape("{ host = \"b9.another\", path = \"/z*\" }"));
        assert_ne!(first, shape("{ path = \"h1.example\", host = \"/a*\" }"), "keys count");
        assert_ne!(first, shape("{ host = \"h1.example\", path = \"/a\" }"), "signs count");
        for other in [
            "{ host = \"10.0.0.1\" }",
            "{ host = \"xn--a\" }",
            "{ path = \"/a%2f\" }",
            "{ path = \"/[a-z]\" }",
            "{ path-regex = \"/a\" }",
            "{ header = \"x: a\" }",
        ] {
            assert_eq!(shape(other), None, "{other}");
        }
    }

    #[test]
    fn edits_that_differ_in_plain_values_of_fields_alone_have_one_shape() {
        let shape = |edits: &str| shape_of(RouterLayer::Http, &[KeyValue::new("rewrite", edits)]);
        let first = shape("{ set = [\"X-A: v1\", \"X-B: {client}\"] }");
        assert_eq!(first, shape("{ set = [\"X-A: z9\", \"X-B: {client}\"] }"));
        for other in [
            "{ set = [\"X-C: v1\", \"X-B: {client}\"] }",
            "{ set = [\"X-A: {client}\", \"X-B: {client}\"] }",
            "{ set = [\"X-A: v1\", \"X-B: {scheme}\"] }",
            "{ set = [\"X-A: v1\"], response-set = [\"X-B: {client}\"] }",
            "{ set = [\"X-A: \\t1\", \"X-B: {client}\"] }",
        ] {
            assert_ne!(first, shape(other), "{other}");
        }
    }
}
