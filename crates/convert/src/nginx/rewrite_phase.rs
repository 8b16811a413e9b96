//! `return`, `rewrite` and `if`, which nginx runs before its access and content phases.

use crate::condition::{RuleCondition, whole_path};
use crate::value::{self, KeyValue};

use super::branching::BranchedTexts;
use super::content::ContentWriter;
use super::rule::{InternalRewrite, NginxRule};
use super::tree::Directive;
use super::variables::template;

impl ContentWriter<'_, '_> {
    /// The `return`, `rewrite` and `if` rules of a server, which precede its locations.
    pub(super) fn server_rules(&mut self, level: &[Directive]) -> Vec<NginxRule> {
        let mut out = Vec::new();
        for directive in level {
            let source = directive.source;
            let text = directive.text();
            let answers = matches!(directive.name.as_str(), "return" | "if" | "rewrite");
            let is_decided =
                |rule: &NginxRule| rule.when.clone().simplify(self.tls) == RuleCondition::Is(true);
            if answers && out.iter().any(is_decided) {
                let reason = "an earlier line answers every request";
                self.notes.changed(source, &text, reason, "");
                directive.inner().iter().for_each(Directive::mark_converted);
                continue;
            }
            match directive.name.as_str() {
                "set" => self.assign(directive, &RuleCondition::Is(true)),
                "return" => {
                    out.extend(self.for_each_value(&texts_of(directive), &mut |writer| {
                        let action = writer.return_action(directive);
                        let rule = action.map(|KeyValue { key, value }| {
                            let when = RuleCondition::Is(true);
                            NginxRule::single_key(when, key, value, source, &text)
                        });
                        rule.into_iter().collect()
                    }));
                }
                "if" => out.extend(self.condition(directive)),
                "rewrite" => match self.redirect_rules(directive) {
                    Some(rules) => out.extend(rules),
                    None => self.notes.left_out(
                        source,
                        &text,
                        "paths are changed by the rule that chooses the pool",
                        "`rewrite` in a rule with `path-regex`",
                    ),
                },
                _ => {}
            }
        }
        out
    }

    pub(super) fn is_redirect(&self, directive: &Directive) -> bool {
        matches!(directive.word(2), "permanent" | "redirect")
            || directive.word(1).starts_with("http")
    }

    /// `rewrite … break`.
    pub(super) fn internal_rewrite(&mut self, level: &[Directive]) -> Option<InternalRewrite> {
        let rewrite = level.iter().find(|one| one.name == "rewrite" && one.word(2) == "break")?;
        let to = template(&self.fill(rewrite.word(1)), self.tls, self.name).ok();
        // A query in the new path would come before the request's own query.
        let Some(to) = to.filter(|to| !to.contains("{query}") && !to.contains('?')) else {
            self.notes.left_out(
                rewrite.source,
                &rewrite.text(),
                "the new path depends on variables, or has a query",
                "`rewrite.path`",
            );
            return None;
        };
        rewrite.mark_converted();
        let when = RuleCondition::texts("path-regex", &[whole_path(rewrite.word(0), false)]);
        Some(InternalRewrite { when, to })
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
    fn redirect_rules(&mut self, directive: &Directive) -> Option<Vec<NginxRule>> {
        self.is_redirect(directive).then_some(())?;
        let mut is_left = false;
        let rules = self.for_each_value(&texts_of(directive), &mut |writer| {
            let rule = writer.redirect_rule(directive);
            is_left |= rule.is_none();
            rule.into_iter().collect()
        });
        (!is_left).then_some(rules)
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
            None if to.contains('?') || to.contains("{query}") => to,
            None => format!("{to}{{query}}"),
        };
        let pairs =
            [KeyValue::new("to", value::quote(&to)), KeyValue::new("status", status.to_owned())];
        let when = RuleCondition::texts("path-regex", &[whole_path(directive.word(0), false)]);
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
