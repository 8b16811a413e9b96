//! Middlewares that change the path. A change that cannot be written closes the router.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::chain_effect::{ChainEffect, PathVariant, empty_path};
use super::matchers::encode_path;
use super::option_tree::OptionNode;

/// Closes a router whose path cannot be changed as it was.
fn close(node: &OptionNode, reason: &str, effect: &mut ChainEffect, notes: &mut ConversionNotes) {
    node.left_out(notes, reason, "`rewrite` with `strip`, `prefix` or `path` in a rule");
    effect.close(503, node.place(), &node.text);
}

/// Whether no middleware before this one has changed the path.
fn is_first(node: &OptionNode, effect: &mut ChainEffect, notes: &mut ConversionNotes) -> bool {
    let free = effect.variants.is_empty() && effect.prefix.is_none();
    if !free {
        let reason = "a rule changes a path once: its requests are refused with 503";
        close(node, reason, effect, notes);
    }
    free
}

pub fn add_prefix(node: &OptionNode, effect: &mut ChainEffect, notes: &mut ConversionNotes) {
    let prefix = node.text_of("prefix").unwrap_or_default();
    // Traefik puts the slash between by itself.
    let prefix = format!("/{}", prefix.trim_matches('/'));
    if effect.prefix.is_some() || prefix.contains(['{', '}']) {
        return close(node, "a rule changes a path once", effect, notes);
    }
    node.converted(notes);
    if prefix != "/" {
        effect.prefix = Some(encode_path(&prefix));
    }
}

pub fn strip_prefix(node: &OptionNode, effect: &mut ChainEffect, notes: &mut ConversionNotes) {
    if !is_first(node, effect, notes) {
        return;
    }
    let mut variants = Vec::new();
    for prefix in node.texts_of("prefixes") {
        let text = encode_path(&prefix.text);
        if !text.starts_with('/') || text.contains(['*', '?', '{', '}']) {
            return close(node, "a prefix begins with a slash and has no wildcards", effect, notes);
        }
        // A slash at the end is put back, because every path begins with one.
        let strip = text.strip_suffix('/').unwrap_or(&text);
        let mut keys = Vec::new();
        if !strip.is_empty() {
            keys.push(KeyValue::new("strip", value::quote(strip)));
        }
        let set = vec![format!("X-Forwarded-Prefix: {text}")];
        // What is left of the prefix itself is empty, and what is put before it ends without a slash.
        if strip == text && !node.is_on("forceSlash") {
            let when = RuleCondition::texts("path", &[strip]);
            variants.push(PathVariant { when, keys: vec![empty_path()], set: set.clone() });
        }
        let when = RuleCondition::texts("path", &[format!("{text}*")]);
        variants.push(PathVariant { when, keys, set });
    }
    node.convert_key("prefixes", notes);
    if let Some(slash) = node.get("forceSlash") {
        slash.changed(notes, "a path always begins with a slash", "");
    }
    effect.variants = variants;
}

pub fn strip_expression(node: &OptionNode, effect: &mut ChainEffect, notes: &mut ConversionNotes) {
    if !is_first(node, effect, notes) {
        return;
    }
    let mut variants = Vec::new();
    for expression in node.texts_of("regex") {
        let text = expression.text.strip_prefix('^').unwrap_or(&expression.text);
        if groups(text) != Some(0) || text.contains(['|', '$']) {
            return close(node, "the prefix of a path is an expression with groups", effect, notes);
        }
        // A path begins with a slash, whether or not the expression took it.
        let slash = if text.ends_with('/') { "" } else { "/?" };
        let when = RuleCondition::texts("path-regex", &[format!("{text}{slash}(.*)")]);
        let keys = vec![KeyValue::new("path", value::quote("/{1}"))];
        variants.push(PathVariant { when, keys, set: Vec::new() });
    }
    effect.fields.remove_request("X-Forwarded-Prefix");
    let reason = "X-Forwarded-Prefix does not tell what an expression took off: it is removed";
    node.changed(notes, reason, "`stripPrefix` with the prefixes themselves");
    effect.variants = variants;
}

pub fn replace_path(node: &OptionNode, effect: &mut ChainEffect, notes: &mut ConversionNotes) {
    if !is_first(node, effect, notes) {
        return;
    }
    let path = encode_path(node.text_of("path").unwrap_or_default());
    if !path.starts_with('/') || path.contains(['{', '}', '?', '#']) {
        return close(node, "the new path is a path without query", effect, notes);
    }
    let keys = vec![KeyValue::new("path", value::quote(&path))];
    effect.variants = vec![PathVariant { when: RuleCondition::Is(true), keys, set: Vec::new() }];
    effect.fields.remove_request("X-Replaced-Path");
    node.changed(notes, "X-Replaced-Path does not tell the old path: it is removed", "");
}

pub fn replace_expression(
    node: &OptionNode,
    effect: &mut ChainEffect,
    notes: &mut ConversionNotes,
) {
    if !is_first(node, effect, notes) {
        return;
    }
    let regex = node.text_of("regex").unwrap_or_default().trim();
    let replacement = node.text_of("replacement").unwrap_or_default().trim();
    let Some(variant) = replacement_variant(regex, replacement) else {
        let reason = "the new path is not that of an expression from the path's beginning";
        return close(node, reason, effect, notes);
    };
    effect.variants = vec![variant];
    effect.fields.remove_request("X-Replaced-Path");
    node.changed(notes, "X-Replaced-Path does not tell the old path: it is removed", "");
}

/// An expression that is bound to the beginning of the path. What it leaves at the end stays.
fn replacement_variant(regex: &str, replacement: &str) -> Option<PathVariant> {
    let body = regex.strip_prefix('^')?;
    if body.contains('|') {
        return None;
    }
    let groups = groups(body)?;
    let is_whole = body.ends_with('$') || body.ends_with("(.*)") || body.ends_with("(.+)");
    let body = body.strip_suffix('$').unwrap_or(body);
    let mut to = template(replacement, groups)?;
    let mut expression = body.to_owned();
    if !is_whole {
        if groups >= 9 {
            return None;
        }
        expression.push_str("(.*)");
        to.push_str(&format!("{{{}}}", groups + 1));
    }
    let when = RuleCondition::texts("path-regex", &[expression]);
    let keys = vec![KeyValue::new("path", value::quote(&to))];
    Some(PathVariant { when, keys, set: Vec::new() })
}

/// The number of groups of an expression. `None` if its groups have names or its brackets hide parentheses.
fn groups(expression: &str) -> Option<usize> {
    let mut count = 0;
    let mut chars = expression.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if in_class => return None,
            '(' if chars.peek() == Some(&'?') => {
                chars.next();
                if chars.peek() != Some(&':') {
                    return None;
                }
            }
            '(' => count += 1,
            _ => {}
        }
    }
    (count <= 9).then_some(count)
}

/// A replacement with `$1` and `${1}` as a template with `{1}`.
fn template(replacement: &str, groups: usize) -> Option<String> {
    let mut out = String::new();
    let mut rest = replacement;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(&plain_part(before)?);
        let (digits, after) = match after.strip_prefix('{') {
            Some(inner) => inner.split_once('}')?,
            None => {
                after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len()))
            }
        };
        // Go reads `$1x` as a group of the name `1x`.
        if after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !rest.contains("${")
        {
            return None;
        }
        let group: usize = digits.parse().ok()?;
        if group == 0 || group > groups {
            return None;
        }
        out.push_str(&format!("{{{group}}}"));
        rest = after;
    }
    out.push_str(&plain_part(rest)?);
    out.starts_with('/').then_some(out)
}

fn plain_part(text: &str) -> Option<String> {
    (!text.contains(['{', '}', '?', '#'])).then(|| encode_path(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_become_templates_of_groups() {
        for (regex, replacement, expected) in [
            ("^/foo/(.*)", "/bar/$1", Some("/bar/{1}")),
            ("^/foo/([a-z]+)/x", "/bar/${1}", Some("/bar/{1}{2}")),
            ("^/foo$", "/bar", Some("/bar")),
            ("/foo/(.*)", "/bar/$1", None),
            ("^/a|^/b", "/bar", None),
            ("^/(?P<x>a)", "/$1", None),
            ("^/(a)", "/$2", None),
            ("^/[(](a)", "/$1", None),
            ("^/(a)", "x", None),
        ] {
            let found = replacement_variant(regex, replacement);
            let found = found.and_then(|one| one.keys.first().map(|key| key.value.clone()));
            assert_eq!(found, expected.map(value::quote), "{regex}");
        }
    }
}
