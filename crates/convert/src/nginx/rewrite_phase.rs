//! `return`, `rewrite` and `if`, which nginx runs before its access and content phases.

use crate::condition::RuleCondition;
use crate::path_expression::path_expression;
use crate::value::{self, KeyValue};

use super::branching::BranchedTexts;
use super::comparison::{if_condition, if_words};
use super::content::ContentWriter;
use super::new_path::{NewPath, certain_condition, is_readable, rewrite_condition};
use super::path_text::plain_path;
use super::referers;
use super::rewrite_kind::{RewritePhase, answers, is_break, is_redirect};
use super::rule::{InternalRewrite, NginxRule};
use super::tree::Directive;
use super::variables::template;

impl ContentWriter<'_, '_> {
    /// The rules of `return`, `rewrite` and `if` of a level, which precede what it does else.
    pub(super) fn phase_rules(
        &mut self,
        level: &[Directive],
        phase: RewritePhase,
    ) -> Vec<NginxRule> {
        let mut out: Vec<NginxRule> = Vec::new();
        // Requests for which nginx has ended the phase before.
        let mut ended: Vec<RuleCondition> = Vec::new();
        let always =
            |when: &RuleCondition, tls| when.clone().simplify(tls) == RuleCondition::Is(true);
        let mut is_over = false;
        if let Some(values) = referers::branches(level) {
            self.assigned.insert(referers::VARIABLE.to_owned(), values);
        }
        for (at, directive) in level.iter().enumerate() {
            let acts = matches!(directive.name.as_str(), "return" | "if" | "rewrite");
            if acts && is_over {
                let reason = "an earlier line answers every request, or ends what is run";
                self.notes.changed(directive.source, &directive.text(), reason, "");
                directive.inner().iter().for_each(Directive::mark_converted);
                continue;
            }
            let later = level.get(at + 1..).unwrap_or_default();
            let mut rules = match directive.name.as_str() {
                "set" => {
                    self.assign(directive, &RuleCondition::Is(true));
                    Vec::new()
                }
                "return" => self.return_rules(directive),
                "if" => self.condition(directive, phase),
                "rewrite" => self.rewrite_rules(directive, later, phase),
                _ => Vec::new(),
            };
            for end in &ended {
                let open = end.clone().negate();
                rules = rules.into_iter().map(|rule| rule.with_condition(&open)).collect();
            }
            is_over = is_over || rules.iter().any(|rule| always(&rule.when, self.tls));
            out.extend(rules);
            let end = self.phase_end(directive, phase);
            is_over = is_over || end.as_ref().is_some_and(|end| always(end, self.tls));
            ended.extend(end);
        }
        out
    }

    /// The requests for which nginx ends the phase at this directive without an answer.
    fn phase_end(&mut self, directive: &Directive, phase: RewritePhase) -> Option<RuleCondition> {
        match directive.name.as_str() {
            "break" => {
                directive.mark_converted();
                Some(RuleCondition::Is(true))
            }
            "rewrite" if is_break(directive) && phase != RewritePhase::Server => {
                Some(certain_condition(directive))
            }
            "if" if !answers(directive) => self.block_end(directive),
            _ => None,
        }
    }

    /// The requests for which an `if` block without an answer ends the phase.
    fn block_end(&mut self, block: &Directive) -> Option<RuleCondition> {
        let end = block.inner().iter().find(|one| one.name == "break" || is_break(one))?;
        let words: Vec<String> = if_words(block.args()).into_iter().map(str::to_owned).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // What refuses later goes on to refuse whom the block may not mean.
        let when = if_condition(&words, self.defined, self.variable_place()).at_most();
        if end.name == "break" {
            end.mark_converted();
            return Some(when);
        }
        Some(when.and(certain_condition(end)))
    }

    fn return_rules(&mut self, directive: &Directive) -> Vec<NginxRule> {
        self.for_each_value(&texts_of(directive), &mut |writer| {
            let action = writer.return_action(directive);
            let rule = action.map(|KeyValue { key, value }| {
                let when = RuleCondition::Is(true);
                NginxRule::single_key(when, key, value, directive.source, &directive.text())
            });
            rule.into_iter().collect()
        })
    }

    fn rewrite_rules(
        &mut self,
        directive: &Directive,
        later: &[Directive],
        phase: RewritePhase,
    ) -> Vec<NginxRule> {
        if is_redirect(directive) {
            return self.redirect_rules(directive);
        }
        match (directive.peek(2), phase) {
            // What a location sends on has the new path.
            ("break", RewritePhase::Location) => Vec::new(),
            ("last" | "break", _) => self.relocated_rules(directive, Some(&[])),
            (_, RewritePhase::Block) => self.relocated_rules(directive, None),
            _ => self.relocated_rules(directive, Some(later)),
        }
    }

    /// `rewrite … break`, each with its new path.
    pub(super) fn internal_rewrites(&mut self, level: &[Directive]) -> Vec<InternalRewrite> {
        let mut out = Vec::new();
        for rewrite in level.iter().filter(|one| is_break(one)) {
            let to = self.fill(rewrite.word(1));
            let to = NewPath::read(&to, self.tls, self.name).map(|path| path.template);
            let to = to.filter(|_| self.new_path.is_none() && is_readable(rewrite));
            match to {
                Some(_) => rewrite.mark_converted(),
                None => {
                    let reason = "the new path or its expression cannot be written; so that no server gets another one, clients get 502";
                    let instead = "`rewrite.path`";
                    self.notes.left_out(rewrite.source, &rewrite.text(), reason, instead);
                }
            }
            out.push(InternalRewrite { when: rewrite_condition(rewrite), to });
        }
        out
    }

    /// An answer whose body is the same for all requests.
    fn fixed_answer(&self, status: u16, body: &str) -> KeyValue {
        if body.is_empty() {
            return KeyValue::new("answer", status.to_string());
        }
        let mut pairs = vec![
            KeyValue::new("status", status.to_string()),
            KeyValue::new("body", value::quote(body)),
        ];
        let kind = self.media_type.as_ref().filter(|kind| *kind != "text/plain");
        pairs.extend(kind.map(|kind| KeyValue::new("type", value::quote(kind))));
        KeyValue::new("answer", value::table(&pairs))
    }

    pub(super) fn return_action(&mut self, directive: &Directive) -> Option<KeyValue> {
        let filled: Vec<String> = directive.args().iter().map(|arg| self.fill(arg)).collect();
        let first = filled.first().map_or("", String::as_str);
        let second = filled.get(1);
        let (status, text) = match first.parse::<u16>() {
            Ok(status) => (status, second.map(String::as_str)),
            Err(_) => (302, Some(first)),
        };
        if status == 444 {
            self.notes.changed(
                directive.source,
                &directive.text(),
                "the client is told 403, not nothing",
                "",
            );
            return Some(KeyValue::new("deny", "true"));
        }
        let is_redirect = matches!(status, 301 | 302 | 303 | 307 | 308);
        let constant = text.map(|text| self.variable_place().fill_constants(text));
        if let Some(body) = constant.filter(|body| !is_redirect && !body.contains('$')) {
            return Some(self.fixed_answer(status, &body));
        }
        let filled = text.map(|text| template(text, self.tls, self.name));
        let fixed = |filled: &Option<Result<String, String>>| match filled {
            Some(Ok(body)) => !body.contains('{'),
            Some(Err(_)) => false,
            None => true,
        };
        if status >= 400 && !fixed(&filled) {
            let reason = "a fixed body has no variables: the refusal has none";
            self.notes.changed(
                directive.source,
                &directive.text(),
                reason,
                "answer at the servers",
            );
            return Some(KeyValue::new("answer", status.to_string()));
        }
        match (status, filled) {
            (301 | 302 | 303 | 307 | 308, Some(Ok(to))) => {
                let pairs = [
                    KeyValue::new("to", value::quote(&to)),
                    KeyValue::new("status", status.to_string()),
                ];
                Some(KeyValue::new("redirect", value::table(&pairs)))
            }
            (_, Some(Ok(body))) if !body.contains('{') => Some(self.fixed_answer(status, &body)),
            (_, None) => Some(KeyValue::new("answer", status.to_string())),
            (_, Some(Err(what))) => {
                self.notes.left_out(
                    directive.source,
                    &directive.text(),
                    &format!("`{what}` has no place in an answer, so that clients get 502"),
                    "{host}, {path}, {query}, {1}",
                );
                Some(KeyValue::new("answer", "502"))
            }
            _ => {
                self.notes.left_out(
                    directive.source,
                    &directive.text(),
                    "a fixed body has no variables, so that clients get 502",
                    "answer at the servers",
                );
                Some(KeyValue::new("answer", "502"))
            }
        }
    }

    /// `rewrite FROM TO permanent`, for each value of the variables in it.
    fn redirect_rules(&mut self, directive: &Directive) -> Vec<NginxRule> {
        self.for_each_value(&texts_of(directive), &mut |writer| {
            vec![writer.redirect_rule(directive).unwrap_or_else(|| {
                let reason = "its URL has variables that are not known, so that clients get 502";
                let instead = "`redirect` with {host}, {path}, {query}, {1}";
                writer.notes.left_out(directive.source, &directive.text(), reason, instead);
                let when = rewrite_condition(directive);
                let text = directive.text();
                NginxRule::single_key(when, "answer", "502", directive.source, &text)
            })]
        })
    }

    /// `rewrite FROM TO permanent`.
    fn redirect_rule(&mut self, directive: &Directive) -> Option<NginxRule> {
        let status = match directive.word(2) {
            "permanent" => "301",
            "redirect" => "302",
            _ if directive.word(1).starts_with("http") => "302",
            _ => return None,
        };
        let to = template(&self.fill(directive.word(1)), self.tls, self.name).ok()?;
        // nginx appends the query unless the replacement ends in `?`.
        let to = match to.strip_suffix('?') {
            Some(without) => without.to_owned(),
            None if to.contains("{query}") || to.contains("{more-query}") => to,
            None if to.contains('?') => format!("{to}{{more-query}}"),
            None => format!("{to}{{query}}"),
        };
        let pairs =
            [KeyValue::new("to", value::quote(&to)), KeyValue::new("status", status.to_owned())];
        let expression = directive.word(0);
        let when = match plain_path(expression) {
            Some(path) => RuleCondition::texts("path", &[path]),
            None => RuleCondition::texts("path-regex", &[path_expression(expression, false)]),
        };
        Some(NginxRule::single_key(
            when,
            "redirect",
            value::table(&pairs),
            directive.source,
            &directive.text(),
        ))
    }
}

/// The words of a directive whose variables choose what it does.
pub fn texts_of(directive: &Directive) -> BranchedTexts {
    BranchedTexts {
        believed: Vec::new(),
        choosing: directive.peek_all().to_vec(),
        source: directive.source,
        text: directive.text(),
    }
}
