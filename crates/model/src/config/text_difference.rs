//! Leaves out of two texts what is the same lines in both, so that comparing them costs what differs.
//!
//! It parses no values. Comments and blank lines belong to the lines.

use std::collections::BTreeSet;
use std::ops::Range;

use super::text_block::TextBlocks;

/// Two texts without the objects, and the rules of services, that both have in the same lines.
///
/// What differs between the trees of the two differs between the trees of the whole texts, at the same paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReducedTexts {
    pub old: String,
    pub new: String,
}

/// Reduces two texts. Where the lines of objects cannot be told apart, both are left as they are.
pub fn reduce_to_differences(old: &str, new: &str) -> ReducedTexts {
    let (Some(before), Some(after)) = (TextBlocks::new(old), TextBlocks::new(new)) else {
        return ReducedTexts { old: old.to_owned(), new: new.to_owned() };
    };
    let mut old_same = Vec::new();
    let mut new_same = Vec::new();
    let mut new_objects = after.objects();
    // One object of each kind stays, so that both trees have its table.
    let mut kinds = BTreeSet::new();
    for (object, was) in before.objects() {
        let Some(is) = new_objects.remove(object) else { continue };
        if is_same(old, &was, new, &is) {
            if kinds.insert(object.split('.').next()) {
                continue;
            }
            old_same.push(was);
            new_same.push(is);
        } else if let Some(service) = object.strip_prefix("service.")
            && let (Some(was), Some(is)) = (before.rules(service), after.rules(service))
            && was.len() == is.len()
        {
            let same = was.into_iter().zip(is).filter(|(was, is)| is_same(old, was, new, is));
            for (was, is) in same.skip(1) {
                old_same.push(was);
                new_same.push(is);
            }
        }
    }
    ReducedTexts { old: without(old, old_same), new: without(new, new_same) }
}

fn is_same(old: &str, was: &Range<usize>, new: &str, is: &Range<usize>) -> bool {
    old.get(was.clone()).map(str::trim) == new.get(is.clone()).map(str::trim)
}

fn without(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let mut left = String::new();
    let mut at = 0;
    for range in ranges {
        left.push_str(text.get(at..range.start).unwrap_or_default());
        at = range.end;
    }
    left.push_str(text.get(at..).unwrap_or_default());
    left
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::config::toml_tree::{diff_trees, parse_tree};

    #[test]
    fn only_what_differs_is_left() {
        let rule = |name: &str| format!("[[service.a.rule]]\nname = \"{name}\"\n\n");
        let text = |last: &str, pool: &str| {
            let rules = [rule("r"), rule("s"), rule(last)].concat();
            let pools = format!("[pool.o]\n[pool.p]\nx = 1\n# Of q.\n[pool.q]\nx = {pool}\n");
            format!("# The file.\n[service.a]\nx = 1\n{rules}{pools}")
        };
        let reduced = reduce_to_differences(&text("t", "1"), &text("t", "2"));
        assert!(
            reduced.old.ends_with("\n\n[pool.o]\n# Of q.\n[pool.q]\nx = 1\n"),
            "{}",
            reduced.old
        );
        assert!(
            reduced.new.ends_with("\n\n[pool.o]\n# Of q.\n[pool.q]\nx = 2\n"),
            "{}",
            reduced.new
        );
        let reduced = reduce_to_differences(&text("t", "1"), &text("u", "1"));
        let left = ["# The file.\n[service.a]\nx = 1\n", &rule("r"), &rule("u"), "[pool.o]\n"];
        assert_eq!(reduced.new.replace('\n', ""), left.concat().replace('\n', ""));
    }

    fn blocks() -> impl Strategy<Value = Vec<String>> {
        let block = prop_oneof![
            (0..3_u8, 0..2_u8).prop_map(|(n, x)| format!("[service.s{n}]\nx = {x}\n")),
            (0..3_u8, 0..3_u8)
                .prop_map(|(n, m)| format!("[[service.s{n}.rule]]\nname = \"r{m}\"\n")),
            (0..3_u8, 0..2_u8).prop_map(|(n, x)| format!(
                "[[service.s{n}.rule]]\n[service.s{n}.rule.when]\nx = {x}\n"
            )),
            (0..3_u8, 0..2_u8).prop_map(|(n, x)| format!("[pool.p{n}]\nx = {x}\n")),
            (0..3_u8, 0..2_u8).prop_map(|(n, x)| format!("# Why.\n[pool.p{n}.probe]\nx = {x}\n")),
            (0..2_u8).prop_map(|x| format!("[global]\nx = {x}\n")),
        ];
        proptest::collection::vec(block, 0..12)
    }

    proptest! {
        #[test]
        fn the_same_paths_differ(
            mut old in blocks(),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), blocks()), 0..3),
        ) {
            let mut new = old.clone();
            for (at, blocks) in changes {
                let at = at.index(new.len() + 1);
                new.splice(at..(at + 1).min(new.len()), blocks);
            }
            let (old, new): (String, String) = (old.drain(..).collect(), new.into_iter().collect());
            let (Ok(was), Ok(is)) = (parse_tree(&old), parse_tree(&new)) else { return Ok(()) };
            let paths = |was, is| {
                let differences = diff_trees(was, is).into_iter();
                differences.map(|difference| difference.path).collect::<BTreeSet<_>>()
            };
            let reduced = reduce_to_differences(&old, &new);
            let left = parse_tree(&reduced.old).and_then(|old| Ok((old, parse_tree(&reduced.new)?)));
            let (old_left, new_left) = left.map_err(TestCaseError::fail)?;
            prop_assert_eq!(paths(&old_left, &new_left), paths(&was, &is), "{}\n---\n{}", old, new);
        }
    }
}
