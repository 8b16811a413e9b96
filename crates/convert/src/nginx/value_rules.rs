//! What a location forwards, by the values of the variables in it: targets, fields and limits.

use crate::value::{self, KeyValue};

use super::branching::BranchedTexts;
use super::content::ContentWriter;
use super::fields::added_fields;
use super::forwarding::directive_prefix;
use super::location_content::LocationContent;
use super::more_headers;
use super::rate_limit;
use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::tree::Directive;

impl ContentWriter<'_, '_> {
    /// Rules that answer by themselves, with the fields that nginx adds to all answers.
    pub fn with_added_fields(
        &mut self,
        rules: Vec<NginxRule>,
        scope: &DirectiveScope<'_>,
    ) -> Vec<NginxRule> {
        let fields = scope.all("add_header");
        let others = [&["expires"][..], &more_headers::READ].concat();
        if rules.is_empty() || fields.is_empty() && scope.every(&others).is_empty() {
            return rules;
        }
        let believed = fields.iter().map(|one| one.peek(1).to_owned()).collect();
        let texts = BranchedTexts { believed, ..BranchedTexts::default() };
        self.for_each_value(&texts, &mut |writer| writer.rules_with_fields(&rules, scope))
    }

    fn rules_with_fields(
        &mut self,
        rules: &[NginxRule],
        scope: &DirectiveScope<'_>,
    ) -> Vec<NginxRule> {
        let values = self.fixed.clone();
        let added = added_fields(scope, self.field_place(&values), self.notes);
        let mut rules = rules.to_vec();
        if !added.is_empty() {
            let rewrite = value::table(&[KeyValue::new("response-add", value::list(added))]);
            let own = |rule: &&mut NginxRule| {
                !rule.keys.iter().any(|one| matches!(one.key, "pool" | "split" | "rewrite"))
            };
            rules.iter_mut().filter(own).for_each(|rule| {
                rule.keys.push(KeyValue::new("rewrite", rewrite.clone()));
            });
        }
        rules
    }

    /// The rules of what a location does with requests that nothing refused.
    pub(super) fn content_rules(&mut self, content: &LocationContent<'_, '_>) -> Vec<NginxRule> {
        let mut out = self.conditional_contents(content);
        out.extend(self.one_content(content));
        out
    }

    /// The rules without regard to the `if` blocks within.
    pub(super) fn one_content(&mut self, content: &LocationContent<'_, '_>) -> Vec<NginxRule> {
        let texts = self.forwarding_texts(content);
        self.for_each_value(&texts, &mut |writer| writer.forwarding_rules(content))
    }

    /// The texts with variables that decide how a location forwards.
    fn forwarding_texts(&self, content: &LocationContent<'_, '_>) -> BranchedTexts {
        let LocationContent { pass, scope, .. } = content;
        let scheme = pass.map_or("", |pass| pass.name.as_str());
        let fields = scope.all(&format!("{}_set_header", directive_prefix(scheme)));
        // Upgrades need no field.
        let fields = fields.iter().filter(|one| {
            !matches!(one.peek(0).to_ascii_lowercase().as_str(), "upgrade" | "connection")
        });
        let mut believed: Vec<String> = fields.map(|one| one.peek(1).to_owned()).collect();
        believed.extend(scope.all("add_header").iter().map(|one| one.peek(1).to_owned()));
        let limits = scope.all("limit_req");
        believed.extend(
            limits
                .iter()
                .filter_map(|limit| rate_limit::zone_of(self.zones, limit))
                .map(|zone| zone.peek(0).to_owned()),
        );
        BranchedTexts {
            believed,
            choosing: pass.iter().map(|pass| pass.peek(0).to_owned()).collect(),
            source: pass.map(|pass| pass.source).unwrap_or_default(),
            text: pass.map(Directive::text).unwrap_or_default(),
        }
    }

    /// The rules of a location that forward, with their limits.
    fn forwarding_rules(&mut self, content: &LocationContent<'_, '_>) -> Vec<NginxRule> {
        let values = self.fixed.clone();
        let real_ip = self.real_ip;
        let mut limit = None;
        for directive in content.scope.all("limit_req") {
            if limit.is_some() {
                let reason = "a rule has one limit: the first that is written";
                let instead = "`limit` in a rule";
                self.notes.left_out(directive.source, &directive.text(), reason, instead);
                continue;
            }
            limit = rate_limit::rule_limit(self.zones, self.notes, directive, &values, real_ip);
        }
        let mut out = self.proxy_rules(content);
        for rule in &mut out {
            if rule.keys.iter().any(|one| matches!(one.key, "pool" | "split")) {
                rule.keys.extend(limit.clone().map(|limit| KeyValue::new("limit", limit)));
            }
        }
        out
    }
}
