//! `if` and `set`: rules under a condition, and values that depend on one.

use crate::condition::RuleCondition;

use super::branching::BranchedTexts;
use super::comparison::{if_condition, if_words, requested_file};
use super::content::{ContentWriter, note_unsupported};
use super::defined::both;
use super::rewrite_kind::{RewritePhase, answers, changes_content, is_redirect};
use super::rewrite_phase::texts_of;
use super::rule::{NginxRule, bad_gateway};
use super::scope::DirectiveScope;
use super::tree::Directive;
use super::value_branch::ValueBranch;

const INSTEAD: &str = "a rule with `when`";

/// The most values of a variable that `set` gives.
const ASSIGNED: usize = 64;

impl ContentWriter<'_, '_> {
    /// `if (…) { return …; }`.
    pub(super) fn condition(
        &mut self,
        directive: &Directive,
        phase: RewritePhase,
    ) -> Vec<NginxRule> {
        let words: Vec<String> =
            if_words(directive.args()).into_iter().map(str::to_owned).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let inner = directive.inner();
        if requested_file(&words).is_some() {
            let reason = "files are not served, so that none is there";
            self.notes.changed(directive.source, &directive.text(), reason, "");
        }
        if inner.iter().any(|one| one.name == "include") {
            let when = if_condition(&words, self.defined, self.variable_place()).at_least();
            let text = directive.text();
            return vec![NginxRule::single_key(when, "deny", "true", directive.source, &text)];
        }
        if !answers(directive) {
            return self.conditional_values(directive, &words, phase);
        }
        note_unsupported(inner, self.notes);
        let mut texts = BranchedTexts {
            source: directive.source,
            text: directive.text(),
            ..BranchedTexts::default()
        };
        let acts = |one: &&Directive| matches!(one.name.as_str(), "return" | "rewrite");
        texts.choosing.extend(inner.iter().filter(acts).flat_map(|one| texts_of(one).choosing));
        self.for_each_value(&texts, &mut |writer| writer.conditional_rules(directive, &words))
    }

    fn conditional_rules(&mut self, directive: &Directive, words: &[&str]) -> Vec<NginxRule> {
        let inner = directive.inner();
        let when = if_condition(words, self.defined, self.variable_place());
        let mut out = Vec::new();
        let when = match when.unknown().cloned() {
            None => when.simplify(self.tls),
            Some(why) if self.refuses_clients(directive) => {
                let reason = format!(
                    "{}; so that nothing is open that was closed, all that could meet the condition is refused",
                    why.reason
                );
                self.notes.left_out(directive.source, &directive.text(), &reason, INSTEAD);
                when.at_least().simplify(self.tls)
            }
            Some(why) if tests_file(directive) => {
                self.notes.left_out(directive.source, &directive.text(), &why.reason, INSTEAD);
                when.at_most().simplify(self.tls)
            }
            Some(why) if self.sends_elsewhere(directive, &when) => {
                self.notes.changed(directive.source, &directive.text(), &why.reason, INSTEAD);
                when.at_least().simplify(self.tls)
            }
            Some(why) => {
                let reason = format!(
                    "{}; so that no server gets what it was not to get, all that could meet the condition get 502",
                    why.reason
                );
                self.notes.left_out(directive.source, &directive.text(), &reason, INSTEAD);
                let wide = when.clone().at_least().simplify(self.tls);
                out.push(bad_gateway(directive).with_condition(&wide));
                when.at_most().simplify(self.tls)
            }
        };
        directive.mark_converted();
        let before = self.assigned.clone();
        let scope = DirectiveScope::default().nested(inner);
        let rules = self.phase_rules(inner, RewritePhase::Block);
        self.assigned = before;
        if when == RuleCondition::Is(false) {
            // Nothing becomes of it, as in nginx.
            inner.iter().for_each(Directive::mark_converted);
            return out;
        }
        let rules = self.with_added_fields(rules, &scope);
        out.splice(0..0, rules.into_iter().map(|rule| rule.with_condition(&when)));
        out
    }

    /// Whether the block answers itself, and others than all requests: then it answers all that may meet its condition.
    fn sends_elsewhere(&self, directive: &Directive, when: &RuleCondition) -> bool {
        let answers = |one: &Directive| match one.name.as_str() {
            "return" => true,
            "rewrite" => is_redirect(one),
            _ => false,
        };
        let wide = when.clone().at_least().simplify(self.tls);
        directive.inner().iter().any(answers) && wide != RuleCondition::Is(true)
    }

    /// Whether the block protects something. A page for maintenance, by a file that is there, does not.
    fn refuses_clients(&self, directive: &Directive) -> bool {
        let tests_file = tests_file(directive);
        directive.inner().iter().any(|one| {
            let status = one.peek(0).parse::<u16>().ok().filter(|_| one.name == "return");
            status.is_some_and(|status| status >= 400 && (status < 500 || !tests_file))
        })
    }

    /// `if (…) { set …; }`: the values count where the condition holds.
    fn conditional_values(
        &mut self,
        directive: &Directive,
        words: &[&str],
        phase: RewritePhase,
    ) -> Vec<NginxRule> {
        let when = if_condition(words, self.defined, self.variable_place());
        for one in directive.inner() {
            match one.name.as_str() {
                "set" => self.assign(one, &when),
                // What a location does under a condition has rules of its own.
                _ if phase == RewritePhase::Location => {}
                "rewrite" | "break" => {}
                _ => {
                    let reason =
                        "only `return`, `rewrite` and `set` stand in a rule with a condition";
                    self.notes.left_out(one.source, &one.text(), reason, "`rewrite.response-add`");
                }
            }
        }
        let is_left = phase == RewritePhase::Location && changes_content(directive);
        if !is_left {
            directive.mark_converted();
        }
        match phase {
            RewritePhase::Server if directive.inner().iter().any(|one| one.name == "rewrite") => {
                self.conditional_rules(directive, words)
            }
            _ => Vec::new(),
        }
    }

    /// `set $NAME VALUE;`, where a condition holds.
    pub(super) fn assign(&mut self, directive: &Directive, when: &RuleCondition) {
        let source = directive.source;
        let text = directive.text();
        let Some(name) = directive.word(0).strip_prefix('$').map(str::to_owned) else {
            return self.notes.left_out(source, &text, "not a variable", "");
        };
        let values = self.defined.expand(directive.word(1), self.variable_place());
        let Some(values) = values else {
            self.assigned.remove(&name);
            return self.notes.left_out(
                source,
                &text,
                "it has too many values",
                "rules with `when`",
            );
        };
        let mut branches: Vec<ValueBranch> = values
            .into_iter()
            .map(|one| ValueBranch { when: both(when, &one.when), value: one.value })
            .collect();
        if *when != RuleCondition::Is(true) {
            let before = self.assigned.remove(&name);
            branches.extend(before.unwrap_or_else(|| vec![ValueBranch::always("")]));
        }
        if branches.len() > ASSIGNED {
            return self.notes.left_out(
                source,
                &text,
                "it has too many values",
                "rules with `when`",
            );
        }
        self.assigned.insert(name, branches);
        directive.mark_converted();
    }
}

/// Whether an `if` asks for a file.
fn tests_file(directive: &Directive) -> bool {
    directive.peek_all().iter().any(|word| {
        let word = word.trim_start_matches('(').trim_start_matches('!');
        matches!(word, "-f" | "-d" | "-e" | "-x")
    })
}
