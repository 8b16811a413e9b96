//! `if` blocks of a location that change how it forwards: other servers, another path, further fields.
//!
//! nginx takes the settings of the last block whose condition holds, and `break` ends the blocks.

use crate::condition::RuleCondition;

use super::access;
use super::comparison::{if_condition, if_words};
use super::content::{ContentWriter, note_unsupported};
use super::location_content::LocationContent;
use super::rewrite_kind::{answers, changes_content, changes_target};
use super::rule::{NginxRule, bad_gateway};
use super::tree::Directive;

/// An `if` block that sends no answer itself.
struct ContentBlock<'t> {
    directive: &'t Directive,
    when: RuleCondition,
    /// No later block is asked.
    stops: bool,
}

impl ContentWriter<'_, '_> {
    /// The rules of the blocks, the last one first.
    pub(super) fn conditional_contents(
        &mut self,
        content: &LocationContent<'_, '_>,
    ) -> Vec<NginxRule> {
        let blocks = content.level.iter().filter(|one| one.name == "if" && !answers(one));
        let mut known = Vec::new();
        for directive in blocks.skip_while(|one| !changes_content(one)) {
            let words: Vec<String> =
                if_words(directive.args()).into_iter().map(str::to_owned).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let when = if_condition(&words, self.defined, self.variable_place());
            let stops = directive.inner().iter().any(|one| one.name == "break");
            known.push(ContentBlock { directive, when, stops });
        }
        let mut out = Vec::new();
        while let Some(ContentBlock { directive, when, .. }) = known.pop() {
            let stopping = known.iter().filter(|one| one.stops);
            let mut all = vec![when];
            all.extend(stopping.map(|one| one.when.clone().negate()));
            out.extend(self.content_block(content, directive, RuleCondition::All(all)));
        }
        out
    }

    fn content_block<'t>(
        &mut self,
        content: &LocationContent<'_, 't>,
        block: &'t Directive,
        when: RuleCondition,
    ) -> Vec<NginxRule> {
        let source = block.source;
        let text = block.text();
        let reason = when.unknown().map(|why| why.reason.clone());
        if let Some(reason) = reason {
            if !changes_target(block) {
                self.notes.left_out(source, &text, &reason, "a rule with `when`");
                return Vec::new();
            }
            let reason = format!(
                "{reason}; so that no server gets what another one was to get, clients get 502"
            );
            self.notes.left_out(source, &text, &reason, "a rule with `when`");
            return vec![bad_gateway(block).with_condition(&when.at_least())];
        }
        let when = when.simplify(self.tls);
        block.mark_converted();
        let within = content.within(block);
        note_unsupported(block.inner(), self.notes);
        let mut rules = access::block_rules(block, self.notes);
        rules.extend(self.one_content(&within));
        rules.into_iter().map(|rule| rule.with_condition(&when)).collect()
    }
}
