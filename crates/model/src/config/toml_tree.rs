//! A configuration's text as a tree of plain values: compares two trees, and merges the changes of one into another. It
//! knows no key: `load` checks texts.

use serde_json::{Map, Value};

use super::syntax_message::locate_syntax_error;

/// A difference between two trees.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeDifference {
    /// Keys from the root, separated by dots.
    pub path: String,
    /// The value in the first; `None`: absent.
    pub from: Option<Value>,
    /// The value in the second; `None`: absent.
    pub to: Option<Value>,
}

/// The result of merging changes into a text that was changed independently.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreeWayMerge {
    /// The changes as a merge patch (RFC 7396) for that text.
    pub patch: Value,
    /// Paths that both changed; the text's own values are kept.
    pub conflicts: Vec<String>,
}

/// Parses a text to a tree.
///
/// # Errors
/// The text is not TOML: place and mistake in one line.
pub fn parse_tree(text: &str) -> Result<Value, String> {
    toml::from_str::<Value>(text).map_err(|error| locate_syntax_error(&error, text))
}

/// Whether a text has only blanks and comments. Such a configuration would serve nothing, and an unset variable or an
/// unfinished file looks like it. `[global]` alone states the same intentionally.
pub fn is_blank(text: &str) -> bool {
    text.lines().map(str::trim_start).all(|line| line.is_empty() || line.starts_with('#'))
}

/// All differences between two trees. A value that only one tree has is one difference, however large.
pub fn diff_trees(old: &Value, new: &Value) -> Vec<TreeDifference> {
    let mut out = Vec::new();
    compare(old, new, "", &mut out);
    out
}

/// The merge patch (RFC 7396) that converts `old` to `new`.
pub fn merge_patch_between(old: &Value, new: &Value) -> Value {
    let (Value::Object(was), Value::Object(is)) = (old, new) else { return new.clone() };
    let mut patch = Map::new();
    for key in was.keys().filter(|key| !is.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in is {
        match was.get(key) {
            Some(before) if before == value => {}
            Some(before) => drop(patch.insert(key.clone(), merge_patch_between(before, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(patch)
}

/// Merges the changes from `base` to `ours` into `theirs`, which was changed from `base` independently.
pub fn merge_three_way(base: &Value, ours: &Value, theirs: &Value) -> ThreeWayMerge {
    let mut given_up = Vec::new();
    let empty = Map::new();
    let map = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let patch = if base.is_object() && ours.is_object() && theirs.is_object() {
        merge_objects((&map(base), &map(ours), &map(theirs)), "", &mut given_up)
    } else {
        empty
    };
    ThreeWayMerge { patch: Value::Object(patch), conflicts: given_up }
}

/// Base, ours and theirs.
type MergeInputs<'t> = (&'t JsonObject, &'t JsonObject, &'t JsonObject);
type JsonObject = Map<String, Value>;

fn merge_objects(
    (base, ours, theirs): MergeInputs<'_>,
    at: &str,
    given_up: &mut Vec<String>,
) -> Map<String, Value> {
    let mut patch = Map::new();
    let gone = base.keys().filter(|key| !ours.contains_key(*key));
    for key in ours.keys().chain(gone) {
        let was = base.get(key);
        let is = ours.get(key);
        let there = theirs.get(key);
        if is == was || is == there {
            continue;
        }
        let path = join_path(at, key);
        let nothing = Map::new();
        let tables = (was.map_or(Some(&nothing), Value::as_object), is, there);
        if there == was {
            let change = match (there, is) {
                (_, None) => Value::Null,
                (None, Some(is)) => is.clone(),
                (Some(there), Some(is)) => merge_patch_between(there, is),
            };
            patch.insert(key.clone(), change);
        } else if let (Some(was), Some(Value::Object(is)), Some(Value::Object(there))) = tables {
            let inner = merge_objects((was, is, there), &path, given_up);
            if !inner.is_empty() {
                patch.insert(key.clone(), Value::Object(inner));
            }
        } else {
            given_up.push(path);
        }
    }
    patch
}

fn compare(old: &Value, new: &Value, at: &str, out: &mut Vec<TreeDifference>) {
    let (Value::Object(was), Value::Object(is)) = (old, new) else {
        if old != new {
            let from = Some(old.clone());
            let to = Some(new.clone());
            out.push(TreeDifference { path: at.to_owned(), from, to });
        }
        return;
    };
    for (key, from) in was {
        match is.get(key) {
            Some(to) => compare(from, to, &join_path(at, key), out),
            None => out.push(TreeDifference {
                path: join_path(at, key),
                from: Some(from.clone()),
                to: None,
            }),
        }
    }
    for (key, to) in is.iter().filter(|(key, _)| !was.contains_key(*key)) {
        out.push(TreeDifference { path: join_path(at, key), from: None, to: Some(to.clone()) });
    }
}

fn join_path(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_says_nothing() {
        for (text, expected) in [
            ("", true),
            (" \r\n\t\n", true),
            ("# a shop\n  # [global]\n", true),
            ("[global]", false),
            ("# a shop\n[global]\n", false),
            ("x", false),
        ] {
            assert_eq!(is_blank(text), expected, "{text:?}");
        }
    }

    #[test]
    fn places_that_differ_are_named_from_the_root() {
        let old =
            parse_tree("[pool.a]\nservers = [\"x:1\"]\nbalance = \"random\"\n[pool.b]\n").unwrap();
        let new = parse_tree("pool.a.servers = [\"y:1\"]\npool.a.balance = \"random\"\n").unwrap();
        let found = diff_trees(&old, &new);
        let paths: Vec<&str> = found.iter().map(|place| place.path.as_str()).collect();
        assert_eq!(paths, ["pool.a.servers", "pool.b"]);
        assert_eq!((&found[0].from, &found[1].to), (&Some(json!(["x:1"])), &None));
        assert!(parse_tree("[a").is_err());
    }

    #[test]
    fn changes_go_along_until_the_text_says_something_else_of_the_same() {
        let base = json!({ "pool": { "a": { "weight": 1, "drain": "1s" }, "b": {} }, "x": 1 });
        let ours = json!({ "pool": { "a": { "weight": 2, "drain": "2s" }, "c": { "n": 1 } } });
        let theirs = json!({ "pool": { "a": { "weight": 1, "drain": "9s", "new": true }, "b": {} }, "x": 1 });
        let got = merge_three_way(&base, &ours, &theirs);
        assert_eq!(
            got.patch,
            json!({ "pool": { "a": { "weight": 2 }, "b": null, "c": { "n": 1 } }, "x": null })
        );
        assert_eq!(got.conflicts, ["pool.a.drain"]);
        assert_eq!(
            merge_three_way(&base, &base, &theirs),
            ThreeWayMerge { patch: json!({}), conflicts: vec![] }
        );
    }

    fn trees() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![(0..3_i64).prop_map(Value::from), "[ab]".prop_map(Value::from)];
        let inner = leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[abc]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        proptest::collection::btree_map("[abc]", inner, 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    /// RFC 7396 §2, literally.
    fn merged(target: &Value, patch: &Value) -> Value {
        let Value::Object(patch) = patch else { return patch.clone() };
        let mut out = target.as_object().cloned().unwrap_or_default();
        for (key, value) in patch {
            if value.is_null() {
                out.remove(key);
            } else {
                let before = out.get(key).cloned().unwrap_or(Value::Null);
                out.insert(key.clone(), merged(&before, value));
            }
        }
        Value::Object(out)
    }

    proptest! {
        #[test]
        fn a_patch_between_two_makes_one_of_the_other(old in trees(), new in trees()) {
            prop_assert_eq!(merged(&old, &merge_patch_between(&old, &new)), new.clone());
            prop_assert_eq!(diff_trees(&old, &new).is_empty(), old == new);
        }

        #[test]
        fn what_only_one_side_changed_is_what_that_side_says(base in trees(), other in trees()) {
            let all = merge_three_way(&base, &other, &base);
            prop_assert_eq!(merged(&base, &all.patch), other.clone());
            prop_assert!(all.conflicts.is_empty());
            let none = merge_three_way(&base, &base, &other);
            prop_assert_eq!(merged(&other, &none.patch), other);
        }
    }
}
