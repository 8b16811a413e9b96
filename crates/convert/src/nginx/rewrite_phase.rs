//! `return`, `rewrite` and `if`, which nginx runs before its access and content phases.

use crate::condition::{RuleCondition, whole_path};
use crate::value::{self, KeyValue};

use super::content::ContentWriter;
use super::expressions::{if_condition, if_words};
use super::rule::{InternalRewrite, NginxRule};
use super::scope::DirectiveScope;
use super::tree::Directive;
use super::variables::template;

impl ContentWriter<'_, '_> {
    /// The `return`, `rewrite` and `if` rules of a server, which precede its locations.
    pub(super) fn server_rules(&mut self, level: &[Directive]) -> Vec<NginxRule> {
        let mut out = Vec::new();
        for directive in level {
            let source = directive.source;
            let text = directive.text();
            match directive.name.as_str() {
                "return" => {
                    out.extend(self.return_action(directive).map(|KeyValue { key, value }| {
                        NginxRule::single_key(RuleCondition::Is(true), key, value, source, &text)
                    }))
                }
                "if" => out.extend(self.condition(directive)),
                "rewrite" => match self.redirect_rule(directive) {
                    Some(rule) => out.push(rule),
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
        let to = template(rewrite.word(1), self.tls, self.name).ok();
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

    fn return_action(&mut self, directive: &Directive) -> Option<KeyValue> {
        let first = directive.word(0);
        let second = directive.args().get(1);
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
            (_, Some(Ok(body))) if !body.contains('{') => {
                let mut pairs = vec![
                    KeyValue::new("status", status.to_string()),
                    KeyValue::new("body", value::quote(&body)),
                ];
                let kind = self.media_type.as_ref().filter(|kind| *kind != "text/plain");
                pairs.extend(kind.map(|kind| KeyValue::new("type", value::quote(kind))));
                Some(KeyValue::new("answer", value::table(&pairs)))
            }
            (_, None) => Some(KeyValue::new("answer", status.to_string())),
            (_, Some(Err(what))) => {
                self.notes.left_out(
                    directive.source,
                    &directive.text(),
                    &format!("`{what}` has no place in an answer"),
                    "{host}, {path}, {query}, {1}",
                );
                None
            }
            _ => {
                self.notes.left_out(
                    directive.source,
                    &directive.text(),
                    "a fixed body has no variables",
                    "answer at the servers",
                );
                None
            }
        }
    }

    /// `if (…) { return …; }`.
    fn condition(&mut self, directive: &Directive) -> Vec<NginxRule> {
        let words = if_words(directive.args());
        let only = directive
            .inner()
            .iter()
            .all(|one| matches!(one.name.as_str(), "return" | "rewrite" | "add_header"));
        match if_condition(&words).filter(|_| only) {
            Some(when) => {
                directive.mark_converted();
                let scope = DirectiveScope::default().nested(directive.inner());
                let rules = self.server_rules(directive.inner());
                let rules = self.with_added_fields(rules, &scope);
                rules.into_iter().map(|rule| rule.with_condition(&when)).collect()
            }
            None => self.unknown_condition(directive),
        }
    }

    /// The rules of an `if` that cannot be expressed. A denial applies to all requests, anything else is left out.
    fn unknown_condition(&mut self, directive: &Directive) -> Vec<NginxRule> {
        let source = directive.source;
        let text = directive.text();
        let instead = "a rule with `when`";
        let refuses = directive.inner().iter().find(|one| {
            one.name == "return" && one.word(0).parse::<u16>().is_ok_and(|status| status >= 400)
        });
        let Some(refuses) = refuses else {
            let reason = "only comparisons of host, method, scheme, cookies and parameters with `return` in them";
            self.notes.left_out(source, &text, reason, instead);
            return Vec::new();
        };
        let reason = "the condition is not known here; so that nothing is open that was closed, all that could meet it is refused";
        self.notes.left_out(source, &text, reason, instead);
        let KeyValue { key, value } =
            self.return_action(refuses).unwrap_or(KeyValue::new("deny", "true"));
        vec![NginxRule::single_key(RuleCondition::Is(true), key, value, source, &text)]
    }

    /// `rewrite FROM TO permanent`.
    fn redirect_rule(&mut self, directive: &Directive) -> Option<NginxRule> {
        let status = match directive.word(2) {
            "permanent" => "301",
            "redirect" => "302",
            _ if directive.word(1).starts_with("http") => "302",
            _ => return None,
        };
        let to = template(directive.word(1), self.tls, self.name).ok()?;
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
