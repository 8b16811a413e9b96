//! When each change of a field is made: before the rules, with the rule that chooses the pool, or after it.
//!
//! HAProxy makes changes and evaluates rules in the order of its file. A change that later rules look at comes before all
//! rules here, if no earlier rule looks at the same field.

use std::collections::BTreeSet;

use super::field_edit::{ChangedMessage, EditAction, FieldEdit};

/// In the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EditTime {
    BeforeRules,
    /// In the `rewrite` of the rule.
    WithRule,
    AfterRules,
}

/// A change and its time.
#[derive(Clone, Debug)]
pub struct TimedEdit {
    pub edit: FieldEdit,
    pub time: EditTime,
    key: String,
    reads: BTreeSet<String>,
    value_reads: BTreeSet<String>,
}

/// The fields that the condition of a rule looks at.
#[derive(Clone, Debug)]
pub struct RuleReads {
    pub fields: BTreeSet<String>,
    /// How many changes of the proxy stand before the rule.
    pub edits_before: usize,
}

impl TimedEdit {
    /// At the least time that its kind allows.
    pub fn new(edit: FieldEdit) -> TimedEdit {
        let in_rewrite = edit.is_always() && edit.message != ChangedMessage::EveryAnswer;
        let time = if in_rewrite { EditTime::WithRule } else { EditTime::AfterRules };
        let key = edit.key();
        let reads = edit.reads();
        let value_reads = edit.value_reads();
        TimedEdit { edit, time, key, reads, value_reads }
    }

    /// Whether it matters which of both is made first.
    pub fn depends_on(&self, other: &TimedEdit) -> bool {
        self.edit.is_of_request() == other.edit.is_of_request()
            && (self.key == other.key
                || self.reads.contains(&other.key)
                || other.reads.contains(&self.key))
    }

    /// Whether one `rewrite` makes it after `earlier`, as the file has them.
    fn follows_in_rewrite(&self, earlier: &TimedEdit) -> bool {
        let action = self.edit.action;
        let in_order = earlier.edit.action < action
            || earlier.edit.action == action && action != EditAction::Set;
        let same = self.edit.is_of_request() == earlier.edit.is_of_request();
        !same || !self.value_reads.contains(&earlier.key) && (self.key != earlier.key || in_order)
    }

    /// Whether it comes too early for one that stands before it in the file.
    fn must_wait_for(&self, earlier: &TimedEdit) -> bool {
        let with_rule = |one: &TimedEdit| one.time == EditTime::WithRule;
        self.time < earlier.time && self.depends_on(earlier)
            || with_rule(self) && with_rule(earlier) && !self.follows_in_rewrite(earlier)
    }
}

/// Takes out the changes that nothing looks at before a later one replaces them, and removals in place of changes that
/// cannot be written, where nothing is left to be removed. `before`: changes that are made first.
pub fn drop_ineffective(before: &[TimedEdit], edits: &mut Vec<TimedEdit>, rules: &[RuleReads]) {
    let is_read = |key: &str, from: usize, to: usize| {
        let between = |rule: &&RuleReads| rule.edits_before > from && rule.edits_before <= to;
        rules.iter().filter(between).any(|rule| rule.fields.contains(key))
    };
    let is_replaced = |at: usize, edits: &[TimedEdit]| {
        let one = &edits[at];
        for later in &edits[at + 1..] {
            let replaces = later.key == one.key && later.edit.replaces();
            if replaces && !later.edit.is_closing && !later.value_reads.contains(&one.key) {
                return !is_read(&one.key, one.edit.position, later.edit.position);
            }
            if later.reads.contains(&one.key) {
                return false;
            }
        }
        false
    };
    let is_settled = |at: usize, edits: &[TimedEdit]| {
        let of_field = |one: &&TimedEdit| one.key == edits[at].key;
        let last = before.iter().chain(&edits[..at]).rfind(of_field);
        let is_gone =
            |one: &TimedEdit| one.edit.replaces() && one.edit.action == EditAction::Remove;
        edits[at].edit.is_closing && last.is_some_and(is_gone)
    };
    for at in (0..edits.len()).rev() {
        if is_replaced(at, edits) || is_settled(at, edits) {
            edits.remove(at);
        }
    }
}

/// The times of the changes of requests in a frontend.
pub fn request_times(mut timed: Vec<TimedEdit>, rules: &[RuleReads]) -> Vec<TimedEdit> {
    let reads = |one: &TimedEdit, later: bool| {
        let stands = |rule: &&RuleReads| (rule.edits_before > one.edit.position) == later;
        rules.iter().filter(stands).any(|rule| rule.fields.contains(&one.key))
    };
    let mut blocked: Vec<bool> = timed.iter().map(|one| reads(one, false)).collect();
    let wanted: Vec<bool> = timed.iter().map(|one| reads(one, true)).collect();
    let least: Vec<EditTime> = timed.iter().map(|one| one.time).collect();
    loop {
        for (at, one) in timed.iter_mut().enumerate() {
            let first = wanted[at] && !blocked[at];
            one.time = if first { EditTime::BeforeRules } else { least[at] };
        }
        match order_times(&mut timed, &blocked) {
            Some(late) => blocked[late] = true,
            None => return timed,
        }
    }
}

/// Moves changes until each comes after those before it that it depends on. Returns a change that must not come before
/// the rules, because one before it cannot.
fn order_times(edits: &mut [TimedEdit], blocked: &[bool]) -> Option<usize> {
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for later in 0..edits.len() {
            for earlier in 0..later {
                if !edits[later].must_wait_for(&edits[earlier]) {
                    continue;
                }
                is_changed = true;
                match edits[later].time {
                    EditTime::BeforeRules if blocked[earlier] => return Some(later),
                    EditTime::BeforeRules => edits[earlier].time = EditTime::BeforeRules,
                    _ => edits[later].time = EditTime::AfterRules,
                }
            }
        }
    }
    None
}

/// Moves changes behind those of `before` that they depend on, and behind each other.
pub fn wait_for(before: &[TimedEdit], edits: &mut [TimedEdit]) {
    for at in 0..edits.len() {
        let waits = before.iter().chain(&edits[..at]).any(|one| edits[at].must_wait_for(one));
        if waits {
            edits[at].time = EditTime::AfterRules;
        }
    }
}

/// Moves changes of every answer before the rules, whose refusals they change too, where the order allows it.
pub fn advance_answers(others: &[&[TimedEdit]], edits: &mut [TimedEdit]) {
    let is_late = |one: &&TimedEdit| one.time == EditTime::AfterRules;
    for at in 0..edits.len() {
        let mut late = others.iter().copied().flatten().chain(&edits[..at]).filter(is_late);
        let waits = late.any(|one| edits[at].depends_on(one));
        if !waits {
            edits[at].time = EditTime::BeforeRules;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::RuleCondition;
    use crate::source::SourcePlace;
    use EditTime::{AfterRules, BeforeRules, WithRule};

    fn edit(position: usize, action: EditAction, name: &str, reads: Option<&str>) -> FieldEdit {
        let when = reads.map(|name| RuleCondition::texts("header", &[name]));
        FieldEdit {
            message: ChangedMessage::Request,
            action,
            name: name.to_owned(),
            value: String::new(),
            when: when.unwrap_or(RuleCondition::Is(true)),
            is_closing: false,
            position,
            source: SourcePlace::NONE,
            text: String::new(),
        }
    }

    fn times(edits: Vec<FieldEdit>, rules: &[RuleReads]) -> Vec<EditTime> {
        let edits = edits.into_iter().map(TimedEdit::new).collect();
        request_times(edits, rules).into_iter().map(|one| one.time).collect()
    }

    fn rule(name: &str, edits_before: usize) -> RuleReads {
        RuleReads { fields: BTreeSet::from([name.to_owned()]), edits_before }
    }

    #[test]
    fn changes_keep_their_order_among_themselves_and_rules() {
        use EditAction::{Add, Remove, Set};
        let always = |at, action, name| edit(at, action, name, None);
        for (edits, rules, expected) in [
            (vec![always(0, Set, "A")], vec![], vec![WithRule]),
            (
                vec![always(0, Set, "A"), edit(1, Set, "A", Some("b"))],
                vec![],
                vec![WithRule, AfterRules],
            ),
            (
                vec![edit(0, Set, "A", Some("b")), always(1, Set, "A")],
                vec![],
                vec![AfterRules, AfterRules],
            ),
            (vec![always(0, Set, "A"), always(1, Remove, "A")], vec![], vec![WithRule, AfterRules]),
            (vec![always(0, Remove, "A"), always(1, Add, "A")], vec![], vec![WithRule, WithRule]),
            // A later rule looks at the field.
            (vec![always(0, Remove, "A")], vec![rule("a", 1)], vec![BeforeRules]),
            (vec![always(0, Remove, "A")], vec![rule("a", 0)], vec![WithRule]),
            (vec![always(0, Remove, "A")], vec![rule("a", 0), rule("a", 1)], vec![WithRule]),
            // What such a change looks at is changed before it.
            (
                vec![always(0, Remove, "B"), edit(1, Set, "A", Some("b"))],
                vec![rule("a", 2)],
                vec![BeforeRules, BeforeRules],
            ),
            (
                vec![always(0, Remove, "B"), edit(1, Set, "A", Some("b"))],
                vec![rule("b", 0), rule("a", 2)],
                vec![WithRule, AfterRules],
            ),
        ] {
            assert_eq!(times(edits.clone(), &rules), expected, "{edits:?} {rules:?}");
        }
    }
}
