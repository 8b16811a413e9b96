//! Values of protobuf messages as JSON has them: texts, numbers, truth values, times, and the types of extensions.

use crate::duration::{TimeSetting, parse_seconds};
use crate::notes::ConversionNotes;
use crate::structured::node::{ConfigNode, NodeValue};

/// The name of a field as the tables know it: `statPrefix` is `stat_prefix`, as protobuf's JSON allows both. Other keys,
/// such as names of filters, stay.
pub fn field_name(key: &str) -> String {
    let is_camel = key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.bytes().all(|b| b.is_ascii_alphanumeric())
        && key.bytes().any(|b| b.is_ascii_uppercase());
    if !is_camel {
        return key.to_owned();
    }
    let mut out = String::new();
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// The text of a field, settled as converted.
pub fn take_text<'t>(
    node: &'t ConfigNode,
    key: &str,
    notes: &mut ConversionNotes,
) -> Option<&'t str> {
    let field = node.get(key)?;
    let text = field.text();
    match text {
        Some(_) => notes.converted(field.source),
        None => note_wrong(field, "a text", notes),
    }
    text
}

/// The texts of a list, settled as converted.
pub fn take_texts<'t>(
    node: &'t ConfigNode,
    key: &str,
    notes: &mut ConversionNotes,
) -> Vec<&'t str> {
    let Some(field) = node.get(key) else { return Vec::new() };
    if field.is_empty() {
        notes.converted(field.source);
    }
    // A single text stands for a list of one.
    if let Some(text) = field.text() {
        notes.converted(field.source);
        return vec![text];
    }
    let mut texts = Vec::new();
    for item in field.items() {
        match item.text() {
            Some(text) => {
                notes.converted(item.source);
                texts.push(text);
            }
            None => note_wrong(item, "a text", notes),
        }
    }
    texts
}

/// A truth value, settled as converted.
pub fn take_flag(node: &ConfigNode, key: &str, notes: &mut ConversionNotes) -> Option<bool> {
    let field = node.get(key)?;
    // Envoy's reader takes all words of YAML 1.1.
    let flag = match field.text().map(str::to_ascii_lowercase).as_deref() {
        Some("true" | "yes" | "on" | "y") => Some(true),
        Some("false" | "no" | "off" | "n") => Some(false),
        _ => None,
    };
    match flag {
        Some(_) => notes.converted(field.source),
        None if matches!(field.value(), NodeValue::Null) => notes.converted(field.source),
        None => {
            let reason = "it is not `true` or `false`: Envoy refuses the file";
            notes.unreadable(field.source.whole(), field.describe(), reason, "correct it");
        }
    }
    flag
}

/// A number, settled as converted. Numbers with a fraction are rounded down.
pub fn take_number(node: &ConfigNode, key: &str, notes: &mut ConversionNotes) -> Option<u64> {
    let field = node.get(key)?;
    let whole = |text: &str| text.split_once('.').map_or(text, |(whole, _)| whole).parse().ok();
    let number = field.text().and_then(whole);
    match number {
        Some(_) => notes.converted(field.source),
        None => note_wrong(field, "a number", notes),
    }
    number
}

/// A time such as `1.5s`, or `{seconds: 1, nanos: 500000000}`, settled as converted.
pub fn take_time(node: &ConfigNode, key: &str, notes: &mut ConversionNotes) -> Option<TimeSetting> {
    let field = node.get(key)?;
    if matches!(field.value(), NodeValue::Map(_)) && !field.is_empty() {
        let seconds = take_number(field, "seconds", notes).unwrap_or(0);
        let nanos = take_number(field, "nanos", notes).unwrap_or(0);
        let ms = seconds.checked_mul(1_000).and_then(|ms| ms.checked_add(nanos / 1_000_000))?;
        return Some(TimeSetting { ms, source: field.source });
    }
    let text = field.text().and_then(|text| text.strip_suffix('s'));
    let ms = text.and_then(|text| {
        // A time below a millisecond is one, because 0 means something else.
        parse_seconds(text)
            .map(|ms| if ms == 0 && text.contains(|c| c > '0' && c <= '9') { 1 } else { ms })
    });
    match ms {
        Some(_) => notes.converted(field.source),
        None => note_wrong(field, "a time such as `1.5s`", notes),
    }
    ms.map(|ms| TimeSetting { ms, source: field.source })
}

/// The last part of the type of an extension: `Router` of `type.googleapis.com/envoy…v3.Router`.
pub fn take_type<'t>(node: &'t ConfigNode, notes: &mut ConversionNotes) -> &'t str {
    let name = take_text(node, "@type", notes).unwrap_or_default();
    type_name(name)
}

/// The name of a type without its package. Types whose name says nothing have that of their package.
fn type_name(name: &str) -> &str {
    let mut parts = name.rsplit(['.', '/']);
    match parts.next().unwrap_or_default() {
        // Between the package and the name stands the version.
        "Config" | "FilterConfig" | "PerRouteConfig" | "PerRoute" => {
            parts.nth(1).unwrap_or_default()
        }
        known => known,
    }
}

/// Reports a value of another kind than its field has.
pub fn note_wrong(field: &ConfigNode, wanted: &str, notes: &mut ConversionNotes) {
    let reason = format!("it is not {wanted}");
    notes.left_out(field.source.whole(), field.describe(), &reason, "");
}

/// Reports a field and everything in it as left out.
pub fn leave_out(field: &ConfigNode, reason: &str, instead: &str, notes: &mut ConversionNotes) {
    notes.left_out(field.source.whole(), field.describe(), reason, instead);
}

/// Reports a field that has another meaning here. Its words are settled, and so are those of scalars in it.
pub fn note_changed(field: &ConfigNode, reason: &str, instead: &str, notes: &mut ConversionNotes) {
    field.mark_read();
    notes.changed(field.source.whole(), field.describe(), reason, instead);
    settle_inside(field, notes);
}

/// Settles everything inside a field that is converted as a whole.
pub fn settle_inside(field: &ConfigNode, notes: &mut ConversionNotes) {
    let inner: Vec<&ConfigNode> = field.items().iter().chain(field.entries()).collect();
    for node in inner {
        node.mark_read();
        notes.converted(node.source);
        settle_inside(node, notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_their_last_telling_part() {
        for (name, known) in [
            ("type.googleapis.com/envoy.extensions.filters.http.router.v3.Router", "Router"),
            ("type.googleapis.com/envoy.extensions.filters.http.golang.v3alpha.Config", "golang"),
            ("Config", ""),
            ("", ""),
        ] {
            assert_eq!(type_name(name), known, "{name}");
        }
    }

    #[test]
    fn names_of_fields_are_known_in_both_forms() {
        for (key, name) in [
            ("statPrefix", "stat_prefix"),
            ("stat_prefix", "stat_prefix"),
            (
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            ),
            ("@type", "@type"),
            ("X", "X"),
        ] {
            assert_eq!(field_name(key), name);
        }
    }
}
