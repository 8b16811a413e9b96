//! Rules for each value that a variable may have.

use std::collections::BTreeSet;

use crate::condition::RuleCondition;
use crate::source::SourcePlace;

use super::content::ContentWriter;
use super::defined::{VALUES, VariablePlace};
use super::rule::NginxRule;
use super::value_branch::{ValueBranch, are_disjoint, merge_any};
use super::variables::{fill, variable_names};

/// The most earlier values that a condition excludes one by one.
const EXCLUDED: usize = 256;

/// Texts whose variables have several values, and where they stand.
#[derive(Clone, Debug, Default)]
pub struct BranchedTexts {
    /// Texts that servers and clients believe: each of their values has to be known.
    pub believed: Vec<String>,
    /// Texts that choose where a request goes: values that are not known are left out.
    pub choosing: Vec<String>,
    pub source: SourcePlace,
    pub text: String,
}

/// A variable whose value is still to be chosen.
struct OpenVariable {
    name: String,
    /// All of its values have to be known.
    believed: bool,
}

/// The conditions of the values that are chosen while rules are written.
#[derive(Default)]
struct ChosenValues {
    holding: Vec<RuleCondition>,
    /// Whoever meets one of these was taken by an earlier rule.
    taken: Vec<RuleCondition>,
    /// The number of combinations so far.
    count: usize,
}

impl ContentWriter<'_, '_> {
    pub(super) fn variable_place(&self) -> VariablePlace<'_> {
        VariablePlace {
            tls: self.tls,
            server_name: self.name,
            port: self.usual_port.then_some(if self.tls { 443 } else { 80 }),
            real_ip: self.real_ip,
            assigned: &self.assigned,
            fixed: &self.fixed,
        }
    }

    /// A text with the values that variables have in the rules that are being written.
    pub(super) fn fill(&self, text: &str) -> String {
        fill(text, &self.fixed)
    }

    /// The rules that `write` makes for each combination of the variables' values.
    pub(super) fn for_each_value(
        &mut self,
        texts: &BranchedTexts,
        write: &mut dyn FnMut(&mut Self) -> Vec<NginxRule>,
    ) -> Vec<NginxRule> {
        let names = |of: &[String]| -> BTreeSet<String> {
            let all = of.iter().flat_map(|text| variable_names(text));
            let open = all.filter(|name| {
                !self.fixed.contains_key(*name)
                    && self.defined.has_branches(name, self.variable_place())
            });
            open.map(str::to_owned).collect()
        };
        let choosing = names(&texts.choosing);
        let believed = names(&texts.believed);
        let only_believed = believed.difference(&choosing).cloned();
        let mut open: Vec<OpenVariable> = only_believed
            .map(|name| OpenVariable { name, believed: true })
            .chain(choosing.iter().map(|name| OpenVariable { name: name.clone(), believed: false }))
            .collect();
        // Where one variable decides about another one, its value is chosen first.
        open.sort_by_cached_key(|one| self.defined.depth(&one.name));
        self.each_value(&open, texts, &mut ChosenValues::default(), write)
    }

    /// The branches that rules can express. `None`: not all are, or none is.
    fn known_branches(
        &mut self,
        name: &str,
        branches: Vec<ValueBranch>,
        believed: bool,
        texts: &BranchedTexts,
    ) -> Option<Vec<ValueBranch>> {
        let block = self.defined.block(name);
        let source = block.map_or(texts.source, |block| block.source);
        let text = block.map_or_else(|| texts.text.clone(), |block| block.text());
        let count = branches.len();
        let mut out = Vec::new();
        let mut reports = Vec::new();
        for ValueBranch { when, value } in branches {
            let why = when.unknown().cloned();
            if believed && (why.is_some() || value.is_none()) {
                return None;
            }
            let Some(why) = why else {
                out.extend(value.map(|value| ValueBranch::new(when, &value)));
                continue;
            };
            let tls = self.tls;
            let nearest = value.as_deref().and_then(|value| {
                let wide = when.clone().at_least().simplify(tls);
                let narrow = when.at_most().simplify(tls);
                let nearest = match (wide, narrow) {
                    (wide, _) if wide != RuleCondition::Is(true) => wide,
                    (_, narrow) if narrow != RuleCondition::Is(false) => narrow,
                    _ => return None,
                };
                Some(ValueBranch::new(nearest, value))
            });
            let reason = match (&nearest, value) {
                (None, Some(value)) => format!("for `{value}`: {}", why.reason),
                _ => why.reason,
            };
            reports.push((reason, nearest.is_some()));
            out.extend(nearest);
        }
        let has_choice = out.len() > 1 || count == out.len();
        if !has_choice || out.last().is_none_or(|last| last.when != RuleCondition::Is(true)) {
            return None;
        }
        for (reason, is_near) in reports {
            match is_near {
                true => self.notes.changed(source, &text, &reason, "rules with `when`"),
                false => self.notes.left_out(source, &text, &reason, "rules with `when`"),
            }
        }
        Some(out)
    }

    fn each_value(
        &mut self,
        open: &[OpenVariable],
        texts: &BranchedTexts,
        chosen: &mut ChosenValues,
        write: &mut dyn FnMut(&mut Self) -> Vec<NginxRule>,
    ) -> Vec<NginxRule> {
        let Some((first, others)) = open.split_first() else { return write(self) };
        let all = self.defined.expand(&format!("${}", first.name), self.variable_place());
        let known =
            all.and_then(|all| self.known_branches(&first.name, all, first.believed, texts));
        let branches = known.map(|branches| chosen.possible(branches));
        // Variables that would make too many rules have no values here, and what has them is left out.
        let fits = |branches: &Vec<ValueBranch>| {
            chosen.count.max(1).saturating_mul(branches.len()) <= VALUES
        };
        let Some(branches) = branches.filter(fits) else {
            return self.each_value(others, texts, chosen, write);
        };
        self.defined.mark_used(&first.name);
        let count = chosen.count;
        let taken = chosen.taken.len();
        chosen.count = count.max(1) * branches.len();
        let mut out = Vec::new();
        // Conditions of earlier values whose rules do not take every request that meets them.
        let mut passed: Vec<RuleCondition> = Vec::new();
        for branch in branches {
            let Some(value) = branch.value else { continue };
            self.fixed.insert(first.name.clone(), value);
            chosen.holding.push(branch.when.clone());
            let rules = self.each_value(others, texts, chosen, write);
            chosen.holding.pop();
            self.fixed.remove(&first.name);
            let excluded: Vec<RuleCondition> =
                passed.iter().filter(|one| !are_disjoint(one, &branch.when)).cloned().collect();
            if excluded.len() > EXCLUDED && !rules.is_empty() {
                let name = format!("${}", first.name);
                let source = self.defined.block(&first.name).map_or(texts.source, |one| one.source);
                let reason = "too many values come before one that is not told apart from them";
                self.notes.left_out(source, &name, reason, "rules with `when`");
                continue;
            }
            let takes_all = rules
                .iter()
                .any(|rule| rule.when.clone().simplify(self.tls) == RuleCondition::Is(true));
            match takes_all {
                true => chosen.taken.push(branch.when.clone()),
                false => passed.push(branch.when.clone()),
            }
            let when = match excluded.is_empty() {
                true => branch.when,
                false => branch.when.and(merge_any(excluded).negate()),
            };
            out.extend(rules.into_iter().map(|rule| rule.with_condition(&when)));
        }
        chosen.taken.truncate(taken);
        chosen.count = count;
        out
    }
}

impl ChosenValues {
    /// The branches that are possible beside the chosen values.
    fn possible(&self, branches: Vec<ValueBranch>) -> Vec<ValueBranch> {
        let mut out = Vec::new();
        for mut branch in branches {
            let is_taken = self.taken.len() <= EXCLUDED && self.taken.contains(&branch.when);
            if is_taken || self.holding.iter().any(|one| are_disjoint(one, &branch.when)) {
                continue;
            }
            let holds = self.holding.contains(&branch.when);
            if holds {
                branch.when = RuleCondition::Is(true);
            }
            out.push(branch);
            if holds {
                break;
            }
        }
        out
    }
}
