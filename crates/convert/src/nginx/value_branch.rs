//! A text that depends on conditions: branches of which the first that holds counts.

use crate::condition::RuleCondition;

/// One value of a variable. It counts if its condition holds and none of the earlier branches does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueBranch {
    pub when: RuleCondition,
    /// `None`: the value is not known.
    pub value: Option<String>,
}

impl ValueBranch {
    pub fn new(when: RuleCondition, value: &str) -> ValueBranch {
        ValueBranch { when, value: Some(value.to_owned()) }
    }

    /// A value for everything that no earlier branch took.
    pub fn always(value: &str) -> ValueBranch {
        ValueBranch::new(RuleCondition::Is(true), value)
    }
}

/// The condition under which the value has a property. `holds`: the property of a known value.
pub fn fold_condition(
    branches: &[ValueBranch],
    unknown: &RuleCondition,
    holds: impl Fn(&str) -> RuleCondition,
) -> RuleCondition {
    let mut rest = RuleCondition::Is(false);
    let mut end = branches.len();
    while let Some(last) = end.checked_sub(1) {
        let outcome = |at: usize| branches[at].value.as_deref().map_or(unknown.clone(), &holds);
        let wanted = outcome(last);
        let mut begin = last;
        while begin > 0 && outcome(begin - 1) == wanted {
            begin -= 1;
        }
        let some = merge_any(branches[begin..end].iter().map(|one| one.when.clone()).collect());
        rest = match wanted {
            RuleCondition::Is(true) => RuleCondition::Any(vec![some, rest]),
            RuleCondition::Is(false) => RuleCondition::All(vec![some.negate(), rest]),
            wanted => RuleCondition::Any(vec![
                some.clone().and(wanted),
                RuleCondition::All(vec![some.negate(), rest]),
            ]),
        };
        rest = drop_constants(rest);
        end = begin;
    }
    rest
}

/// Removes constants, and leaves the question of TLS open.
fn drop_constants(condition: RuleCondition) -> RuleCondition {
    let constant = |parts: &[RuleCondition], all: bool| {
        parts.contains(&RuleCondition::Is(!all)).then_some(RuleCondition::Is(!all))
    };
    match condition {
        RuleCondition::All(parts) => match constant(&parts, true) {
            Some(decided) => decided,
            None => join_parts(parts, true),
        },
        RuleCondition::Any(parts) => match constant(&parts, false) {
            Some(decided) => decided,
            None => join_parts(parts, false),
        },
        other => other,
    }
}

fn join_parts(parts: Vec<RuleCondition>, all: bool) -> RuleCondition {
    let mut out: Vec<RuleCondition> =
        parts.into_iter().filter(|part| *part != RuleCondition::Is(all)).collect();
    match (out.len(), all) {
        (0, _) => RuleCondition::Is(all),
        (1, _) => out.remove(0),
        (_, true) => RuleCondition::All(out),
        (_, false) => RuleCondition::Any(out),
    }
}

/// One of these conditions holds. Values of the same key become one list.
pub fn merge_any(parts: Vec<RuleCondition>) -> RuleCondition {
    let mut out: Vec<RuleCondition> = Vec::new();
    for part in parts {
        if part == RuleCondition::Is(true) {
            return part;
        }
        let rest = match out.last_mut() {
            Some(last) => add_values(last, part),
            None => Some(part),
        };
        out.extend(rest.filter(|part| *part != RuleCondition::Is(false)));
    }
    join_parts(out, false)
}

/// Adds the values of a condition to one of the same key. Returns the condition where that is not possible.
fn add_values(known: &mut RuleCondition, more: RuleCondition) -> Option<RuleCondition> {
    match (known, more) {
        (RuleCondition::Key(key, values), RuleCondition::Key(same, more)) if *key == same => {
            values.extend(more);
            None
        }
        (RuleCondition::AnyCase(key, values), RuleCondition::AnyCase(same, more))
            if *key == same =>
        {
            values.extend(more);
            None
        }
        (_, more) => Some(more),
    }
}

/// Joins neighbours of the same value. Neighbours may be joined whatever they overlap.
pub fn join_neighbours(branches: Vec<ValueBranch>) -> Vec<ValueBranch> {
    let mut out: Vec<(Vec<RuleCondition>, Option<String>)> = Vec::new();
    for branch in branches {
        match out.last_mut() {
            Some((conditions, value)) if *value == branch.value => conditions.push(branch.when),
            _ => out.push((vec![branch.when], branch.value)),
        }
    }
    out.into_iter()
        .map(|(conditions, value)| ValueBranch { when: merge_any(conditions), value })
        .collect()
}

/// Whether no request meets both conditions, as far as their texts show it.
pub fn are_disjoint(one: &RuleCondition, other: &RuleCondition) -> bool {
    match (one, other) {
        (RuleCondition::Key(key, values), RuleCondition::Key(same, others)) => {
            key == same
                && matches!(*key, "host" | "path" | "method" | "sni")
                && values.iter().all(|value| !value.contains(['*', '?']) && !others.contains(value))
                && others.iter().all(|value| !value.contains(['*', '?']))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> RuleCondition {
        RuleCondition::texts("client", &[text])
    }

    #[test]
    fn the_first_branch_that_holds_decides() {
        let branches = [
            ValueBranch::new(client("10.1.0.0/16"), "0"),
            ValueBranch::new(client("10.0.0.0/8"), "1"),
            ValueBranch::new(client("192.0.2.0/24"), "1"),
            ValueBranch::always("0"),
        ];
        let written = |truth: &str| {
            let holds = |value: &str| RuleCondition::Is(value == truth);
            let folded = fold_condition(&branches, &RuleCondition::Is(true), holds);
            folded.simplify(false).to_when().unwrap_or_default()
        };
        assert_eq!(
            written("1"),
            "{ not = { client = \"10.1.0.0/16\" }, client = [\"10.0.0.0/8\", \"192.0.2.0/24\"] }"
        );
        assert_eq!(
            written("0"),
            "{ any = [{ client = \"10.1.0.0/16\" }, { not = { client = [\"10.0.0.0/8\", \"192.0.2.0/24\"] } }] }"
        );
        assert_eq!(
            fold_condition(&branches, &RuleCondition::Is(true), |_| RuleCondition::Is(true)),
            RuleCondition::Is(true)
        );
    }

    #[test]
    fn neighbours_of_one_value_are_one_branch() {
        let joined = join_neighbours(vec![
            ValueBranch::new(client("10.0.0.0/8"), "a"),
            ValueBranch::new(client("10.1.0.0/16"), "a"),
            ValueBranch::always("b"),
        ]);
        let both = RuleCondition::texts("client", &["10.0.0.0/8", "10.1.0.0/16"]);
        assert_eq!(joined, [ValueBranch::new(both, "a"), ValueBranch::always("b")]);
    }

    #[test]
    fn exact_texts_exclude_each_other_and_patterns_do_not() {
        let path = |text: &str| RuleCondition::texts("path", &[text]);
        assert!(are_disjoint(&path("/a"), &path("/b")));
        assert!(!are_disjoint(&path("/a"), &path("/a")));
        assert!(!are_disjoint(&path("/a*"), &path("/b")));
        assert!(!are_disjoint(&path("/a"), &client("10.0.0.1")));
    }
}
