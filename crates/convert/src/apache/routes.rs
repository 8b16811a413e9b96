//! The rules of a virtual host: rewriting, access, forwarding, redirects, and 404 for files.

use crate::condition::RuleCondition;
use crate::site_rule::SiteRule;
use crate::statement::ConfigStatement;
use crate::value::KeyValue;

use super::access;
use super::client_networks::ProxyTrust;
use super::fields::{self, FieldEdits};
use super::host::{ForwardRule, HostWriter, LocationSection};
use super::host_limits::{CARRIED, RULES};
use super::redirect;
use super::rewrite::{self, RewriteAction};
use super::scope::SectionPath;
use super::section_refusals::{LaterSection, refusal, replacing};

impl<'t> HostWriter<'_, 't> {
    /// All rules, in order. The last one takes every request that is left.
    pub fn rules(&mut self, statement: &ConfigStatement) -> Vec<SiteRule> {
        // Each directive is put beside others, so too many are not even read.
        if self.makes_too_many_rules() {
            return self.too_large(statement);
        }
        let sections: Vec<LocationSection<'t>> = self
            .scope
            .all(&["location", "locationmatch"])
            .into_iter()
            .map(|one| LocationSection { statement: one, path: SectionPath::of_section(one) })
            .collect();
        sections.iter().for_each(|one| {
            one.statement.words_from(0);
            one.statement.settle_converted(self.notes);
        });
        let mut out = Vec::new();
        let mut later = Vec::new();
        out.push(self.encoded_rule(statement));
        out.extend(self.trace_rule());
        self.rewrite_rules(&mut out, &mut later);
        let refused = out.len();
        self.access_rules(&sections, &mut out);
        let own = self.own_fields();
        out.iter_mut().skip(refused).for_each(|rule| rule.keys.extend(own.clone()));
        out.extend(self.section_redirects(&sections));
        if self.is_too_large || self.carries_too_many_fields(sections.len()) {
            return self.too_large(statement);
        }
        let forwards = self.forward_rules(&sections, later);
        let redirects = self.redirects();
        // A redirect of the server comes before access is looked at, if nothing is forwarded before.
        let is_guarded = self.scope.own.iter().chain(self.scope.main).any(access::is_guard);
        if is_guarded || forwards.iter().any(|one| one.is_forwarded) {
            for forward in forwards {
                out.extend(self.with_sections(forward, &sections));
            }
            out.extend(redirects);
        } else {
            out.splice(refused..refused, redirects);
            for forward in forwards {
                out.extend(self.with_sections(forward, &sections));
            }
        }
        let mut last = SiteRule::answer(RuleCondition::Is(true), 404, statement.source, "");
        last.keys.extend(self.own_fields());
        out.push(last);
        if self.is_too_large || out.len() > RULES {
            return self.too_large(statement);
        }
        let encoded = out.remove(0);
        let mut out = self.close_hidden(out, statement);
        out.insert(0, encoded);
        out
    }

    /// Apache finds no path with an encoded null byte, and by itself none with an encoded slash.
    fn encoded_rule(&mut self, host: &ConfigStatement) -> SiteRule {
        let word = self.scope.word("allowencodedslashes", self.notes);
        let is_slash_read = matches!(word.as_deref(), Some("on" | "nodecode"));
        let encoded = if is_slash_read { ".*%00.*" } else { ".*%(2F|00).*" };
        let when = RuleCondition::texts("path-regex", &[encoded]);
        let place = self.scope.get("allowencodedslashes").unwrap_or(host).source;
        let mut rule = SiteRule::answer(when, 404, place, "AllowEncodedSlashes");
        rule.keys.extend(self.own_fields());
        rule
    }

    /// `TraceEnable off` refuses a method.
    fn trace_rule(&mut self) -> Option<SiteRule> {
        let word = self.scope.word("traceenable", self.notes)?;
        let source = self.scope.get("traceenable")?.source;
        let when = RuleCondition::texts("method", &["TRACE"]);
        (word == "off").then(|| SiteRule::answer(when, 405, source, "TraceEnable off"))
    }

    /// Fields of answers that are no server's.
    fn own_fields(&mut self) -> Option<KeyValue> {
        let mut fields = FieldEdits::default();
        fields::apply(&self.scope.all(&["header"]), &mut fields, self.notes);
        fields.own.to_toml(false).map(|rewrite| KeyValue::new("rewrite", rewrite))
    }

    /// Rules of mod_rewrite. Those from the first one on that forwards come behind the rules of access.
    fn rewrite_rules(&mut self, out: &mut Vec<SiteRule>, later: &mut Vec<ForwardRule>) {
        let engine = self.scope.own.iter().rev().find(|one| one.name == "rewriteengine");
        let on = engine.is_some_and(|one| one.word(0).eq_ignore_ascii_case("on"));
        engine.into_iter().for_each(|one| one.settle_converted(self.notes));
        if !on {
            return;
        }
        let mut own: Vec<&ConfigStatement> = self.scope.own.iter().collect();
        let options = self.scope.all(&["rewriteoptions"]);
        let words = options.iter().flat_map(|one| one.words_from(0));
        let words: Vec<String> = words.map(|word| word.to_ascii_lowercase()).collect();
        let is_before =
            |word: &String| matches!(word.as_str(), "inheritbefore" | "inheritdownbefore");
        if words.iter().any(is_before) {
            own.splice(0..0, self.scope.main.iter());
        } else if words.iter().any(|word| word.starts_with("inherit")) {
            own.extend(self.scope.main.iter());
        }
        let mut going = RuleCondition::Is(true);
        let mut stops = 0;
        let mut carried = 0;
        let fields = self.own_fields();
        let trust = ProxyTrust::read(&self.scope);
        for step in rewrite::steps(&own, self.port, &trust, self.notes) {
            carried += stops;
            if carried > CARRIED {
                self.is_too_large = true;
                return;
            }
            // Groups of a target are those of the first expression, which is the rule's own.
            let when = RuleCondition::All(vec![step.when.clone(), going.clone()]);
            let statement = step.statement;
            let text = statement.text();
            let source = statement.source;
            match step.action {
                RewriteAction::Nothing => {}
                RewriteAction::Stop => {
                    going = going.and(step.when.negate());
                    stops += 1;
                }
                RewriteAction::Answer(keys) => {
                    let mut rule = SiteRule { when, keys, source, text };
                    rule.keys.extend(fields.clone());
                    let path = SectionPath {
                        when: RuleCondition::Is(true),
                        prefix: None,
                        is_folder: false,
                    };
                    match later.is_empty() {
                        true => out.push(rule),
                        false => later.push(ForwardRule {
                            path,
                            rule,
                            fields: FieldEdits::default(),
                            is_forwarded: false,
                        }),
                    }
                }
                RewriteAction::Proxy(url) => {
                    later.push(self.rewritten_proxy(&url, when, statement))
                }
            }
        }
    }

    /// Who may have what. A later section with rules of access replaces an earlier one.
    fn access_rules(&mut self, sections: &[LocationSection<'t>], out: &mut Vec<SiteRule>) {
        let trust = ProxyTrust::read(&self.scope);
        let merges =
            self.scope.own.iter().chain(self.scope.main).any(|one| one.name == "authmerging");
        let mut later: Vec<LaterSection> = Vec::new();
        let mut carried = 0;
        for section in sections.iter().rev() {
            let inner = section.statement.inner();
            let merged = merges || inner.iter().any(|one| one.name == "authmerging");
            let conditional = inner
                .iter()
                .filter(|one| one.name == "if" || one.name == "elseif" || one.name == "else");
            for one in conditional {
                out.extend(self.conditional_rule(one, &section.path.when, &trust));
            }
            let Some(access) = access::read(inner, &trust, self.notes) else { continue };
            let elsewhere = if merged { Vec::new() } else { replacing(&later, access.kinds) };
            carried += elsewhere.len();
            if carried > CARRIED {
                self.is_too_large = true;
                return;
            }
            out.push(refusal(&section.path.when, &elsewhere, &access, section.statement));
            if !merged {
                later.push(LaterSection { when: section.path.when.clone(), kinds: access.kinds });
            }
        }
        for one in self.scope.all(&["if", "elseif", "else"]) {
            out.extend(self.conditional_rule(one, &RuleCondition::Is(true), &trust));
        }
        // `<Proxy>` is about every request that is forwarded; sections of paths replace it.
        for one in self.scope.all(&["proxy", "proxymatch"]) {
            one.words_from(0);
            one.settle_converted(self.notes);
            if let Some(access) = access::read(one.inner(), &trust, self.notes) {
                let applied = self.scope.all(&["proxypass", "proxypassmatch", "rewriterule"]);
                let is_used = !applied.is_empty() || !sections.is_empty();
                if is_used {
                    let elsewhere = replacing(&later, access.kinds);
                    out.push(refusal(&RuleCondition::Is(true), &elsewhere, &access, one));
                }
            }
        }
        self.close_host(out);
    }

    /// Refuses everything where a directive outside of a section may guard the virtual host.
    fn close_host(&mut self, out: &mut Vec<SiteRule>) {
        let scope = self.scope;
        let outer = scope.main.iter().filter(|one| !access::is_usual_file(one));
        let is_closed = |one: &&ConfigStatement| access::is_guard(one) || access::is_misplaced(one);
        for one in outer.chain(scope.own).filter(is_closed) {
            let reason = match access::is_misplaced(one) {
                true => "Apache reads it in a section alone: the virtual host is closed",
                false => "nothing is known of what it asks for: the virtual host is closed",
            };
            one.leave_out(reason, "", self.notes);
            let keys = vec![KeyValue::new("deny", "true")];
            out.push(SiteRule {
                when: RuleCondition::Is(true),
                keys,
                source: one.source,
                text: one.text(),
            });
        }
    }

    /// `ProxyPass` of sections, the last one first, and then those of the main server and of the virtual host in order.
    fn forward_rules(
        &mut self,
        sections: &[LocationSection<'t>],
        rewritten: Vec<ForwardRule>,
    ) -> Vec<ForwardRule> {
        let mut out = rewritten;
        // A handler takes only what nothing forwards.
        let mut handled = Vec::new();
        for section in sections.iter().rev() {
            for one in section.statement.inner() {
                match one.name.as_str() {
                    "proxypass" | "proxypassmatch" => {
                        let words = one.words_from(0).to_vec();
                        self.section = Some(section.statement);
                        out.extend(self.proxy_pass(one, section.path.clone(), &words));
                        self.section = None;
                    }
                    "sethandler" if one.word(0) != "none" => {
                        let status = if one.word(0).starts_with("proxy:") { 502 } else { 404 };
                        let reason = "pages of the server itself are not served, and its handlers not spoken to";
                        one.leave_out(reason, "`[global] metrics`, or a pool", self.notes);
                        let rule = SiteRule::answer(
                            section.path.when.clone(),
                            status,
                            one.source,
                            &one.text(),
                        );
                        let path = section.path.clone();
                        handled.push(ForwardRule {
                            path,
                            rule,
                            fields: FieldEdits::default(),
                            is_forwarded: false,
                        });
                    }
                    _ => {}
                }
            }
        }
        for one in self.scope.all(&["proxypass", "proxypassmatch"]) {
            let words = one.words_from(1).to_vec();
            let path = match one.name.as_str() {
                "proxypassmatch" => SectionPath::found_by(one.word(0)),
                _ => SectionPath::below(one.word(0)),
            };
            out.extend(self.proxy_pass(one, path, &words));
        }
        out.extend(handled);
        out
    }

    /// A rule, once more for the paths of each section that changes fields.
    fn with_sections(
        &mut self,
        forward: ForwardRule,
        sections: &[LocationSection<'t>],
    ) -> Vec<SiteRule> {
        let mut variants =
            vec![RuleVariant { rule: forward.rule.clone(), fields: forward.fields.clone() }];
        if forward.is_forwarded {
            for section in sections {
                let inner: Vec<&ConfigStatement> = section
                    .statement
                    .inner()
                    .iter()
                    .filter(|one| matches!(one.name.as_str(), "header" | "requestheader"))
                    .collect();
                if inner.is_empty() || section.path.is_apart_from(&forward.path) {
                    continue;
                }
                if variants.len() > 256 {
                    self.is_too_large = true;
                    break;
                }
                let covers = section.path.covers(&forward.path);
                let mut next = Vec::new();
                for RuleVariant { rule, fields } in variants {
                    let mut changed = fields.clone();
                    fields::apply(&inner, &mut changed, self.notes);
                    // The rule's own expression stays the first one, whose groups its target takes.
                    let mut narrowed = rule.clone();
                    narrowed.when = narrowed.when.and(section.path.when.clone());
                    let inner_rule = if covers { rule.clone() } else { narrowed };
                    next.push(RuleVariant { rule: inner_rule, fields: changed });
                    if !covers {
                        next.push(RuleVariant { rule, fields });
                    }
                }
                variants = next;
            }
        }
        variants.into_iter().map(RuleVariant::finish).collect()
    }

    /// `Redirect` of sections, which comes before everything that is forwarded.
    fn section_redirects(&mut self, sections: &[LocationSection<'t>]) -> Vec<SiteRule> {
        let mut out = Vec::new();
        for section in sections.iter().rev() {
            let inner = section.statement.inner().iter();
            for one in inner.filter(|one| redirect::NAMES.contains(&one.name.as_str())) {
                out.extend(redirect::section_rules(one, &section.path.when, self.notes));
            }
            for one in section.statement.inner() {
                out.extend(self.conditional_redirects(one, &section.path.when));
            }
        }
        let scope = self.scope;
        for one in scope.own.iter().chain(scope.main) {
            out.extend(self.conditional_redirects(one, &RuleCondition::Is(true)));
        }
        let own = self.own_fields();
        out.iter_mut().for_each(|rule| rule.keys.extend(own.clone()));
        out
    }

    fn redirects(&mut self) -> Vec<SiteRule> {
        let mut out = Vec::new();
        for one in self.scope.own_first(&redirect::NAMES) {
            out.extend(redirect::rules(one, self.notes));
        }
        let own = self.own_fields();
        out.iter_mut().for_each(|rule| rule.keys.extend(own.clone()));
        out
    }
}

/// A rule with the fields that it changes.
struct RuleVariant {
    rule: SiteRule,
    fields: FieldEdits,
}

impl RuleVariant {
    /// The rule with its fields written out.
    fn finish(self) -> SiteRule {
        let mut rule = self.rule;
        let has_pool = rule.keys.iter().any(|one| one.key == "pool");
        let edits = if has_pool { &self.fields.edits } else { &self.fields.own };
        let known = rule.keys.iter().any(|one| one.key == "rewrite");
        let rewrite = edits.to_toml(has_pool).filter(|_| !known);
        rule.keys.extend(rewrite.map(|rewrite| KeyValue::new("rewrite", rewrite)));
        rule
    }
}
