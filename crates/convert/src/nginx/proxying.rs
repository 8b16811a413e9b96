//! `proxy_pass` and `grpc_pass`: the rules that forward, and the path that servers get.

use crate::condition::RuleCondition;
use crate::value::{self, KeyValue};

use super::content::ContentWriter;
use super::expressions::pass_target;
use super::fields::fields;
use super::forwarding::ClientTerms;
use super::location::{LocationBlock, LocationMatch, last_try};
use super::location_content::LocationContent;
use super::pools::{PoolReference, PoolUse};
use super::redirects::location_rewrites;
use super::rule::{InternalRewrite, NginxRule, bad_gateway, forwarding_keys};
use super::scope::DirectiveScope;
use super::tree::Directive;

/// The parts of the rules of one `proxy_pass`.
struct PassRule<'d> {
    pass: &'d Directive,
    pool: String,
    fields: Vec<KeyValue>,
    terms: Vec<KeyValue>,
}

/// The path that servers get under a condition; `None`: that of the client.
struct ReplacedPath {
    when: RuleCondition,
    to: Option<String>,
}

impl PassRule<'_> {
    /// A rule that forwards with this path, or with that of the client.
    fn rule(&self, when: RuleCondition, path: Option<&str>) -> NginxRule {
        let path = path.map(|path| KeyValue::new("path", value::quote(path)));
        let fields: Vec<KeyValue> = path.into_iter().chain(self.fields.iter().cloned()).collect();
        NginxRule {
            when,
            keys: [forwarding_keys(&self.pool, &fields), self.terms.clone()].concat(),
            source: self.pass.source,
            text: self.pass.text(),
        }
    }
}

impl ContentWriter<'_, '_> {
    /// The rules that forward to a pool. Without a usable target, the rule answers with 404 or 502.
    pub(super) fn proxy_rules(&mut self, content: &LocationContent<'_, '_>) -> Vec<NginxRule> {
        let LocationContent { place, pass, level, scope } = content;
        let Some(pass) = *pass else { return self.rules_without_server(content) };
        if let Some(rule) = self.file_fallback(level, pass) {
            return vec![rule];
        }
        if is_sent_otherwise(scope) && pass.name == "proxy_pass" {
            let reason = "servers would get more of a request than from nginx, or another one; clients get 502";
            self.notes.left_out(pass.source, &pass.text(), reason, "`rewrite.remove` in a rule");
            return vec![bad_gateway(pass)];
        }
        let filled = self.variable_place().fill_constants(&self.fill(pass.word(0)));
        let filled = with_scheme(pass, filled);
        if let Some(rules) = self.share_rules(pass, &filled, scope) {
            return rules;
        }
        let target = match pass_target(&filled) {
            Ok(target) => target,
            Err(why) => {
                self.notes.left_out_because(pass.source, &pass.text(), &why);
                return vec![bad_gateway(pass)];
            }
        };
        pass.mark_converted();
        let used = PoolUse { scheme: target.scheme, target: target.host, source: pass.source };
        let PoolReference { name: pool, terms } =
            self.pools.reference(used, self.upstreams, scope, self.notes);
        let client = ClientTerms::read(target.scheme, scope);
        let terms = terms.with_client(&client, &self.client_terms).into_keys();
        let mut values = self.fixed.clone();
        target.add_variables(&mut values);
        let own = self.field_place(&values);
        let host = Some(target.authority());
        let mut fields = fields(scope, target.scheme, host, own, self.notes);
        if !target.scheme.starts_with("grpc") {
            let path = place.prefix().or(place.exact());
            // nginx changes no Location by itself where variables name the servers.
            let named = (!pass.peek(0).contains('$')).then_some(&target);
            fields.extend(location_rewrites(scope, named, path, own, self.notes));
        }
        let mut terms = terms;
        if !target.scheme.starts_with("grpc") {
            terms.extend(self.mirror(scope));
        }
        let forward = PassRule { pass, pool, fields, terms };
        // A path of variables is sent as it is, whatever `rewrite` made of the client's.
        let has_own_path = pass.peek(0).contains('$')
            && (target.uri.is_some() || filled.ends_with("$request_uri"));
        let mut out = Vec::new();
        for InternalRewrite { when, to } in self.internal_rewrites(level) {
            out.push(match to.filter(|_| !has_own_path) {
                Some(to) => forward.rule(when, Some(&to)),
                None => bad_gateway(pass).with_condition(&when),
            });
        }
        if has_own_path && !out.is_empty() {
            let reason = "its path does not follow `rewrite`; so that no server gets another one, clients get 502";
            self.notes.left_out(pass.source, &pass.text(), reason, "`rewrite.path`");
        }
        // A path that no expression matches is forwarded as it is.
        out.push(match self.replaced_path(place, pass, target.uri) {
            Some(ReplacedPath { when, to }) => forward.rule(when, to.as_deref()),
            None => bad_gateway(pass),
        });
        out
    }

    /// What clients get where `try_files` stands beside servers, which nginx asks for files that are there. Files are
    /// not served, so that none is.
    fn file_fallback(&mut self, level: &[Directive], pass: &Directive) -> Option<NginxRule> {
        let last = last_try(level)?;
        let reason = "its servers get requests for files that `try_files` finds, and files are not served; clients get what it says last, or 502";
        self.notes.left_out(pass.source, &pass.text(), reason, "`proxy_pass` without `try_files`");
        let code = last.strip_prefix('=').and_then(|code| code.parse::<u16>().ok());
        let code = code.filter(|code| (400..600).contains(code)).unwrap_or(502);
        let always = RuleCondition::Is(true);
        let text = pass.text();
        Some(NginxRule::single_key(always, "answer", code.to_string(), pass.source, &text))
    }

    /// The path that servers get. `None`: it cannot be written. `uri`: the path behind the servers in `proxy_pass`.
    fn replaced_path(
        &mut self,
        place: &LocationBlock<'_>,
        pass: &Directive,
        uri: Option<&str>,
    ) -> Option<ReplacedPath> {
        let always = |to: Option<String>| Some(ReplacedPath { when: RuleCondition::Is(true), to });
        if let Some(new) = self.new_path.clone() {
            let path = new.passed_on(place.path, pass, uri);
            if path.is_none() {
                let reason =
                    "a path that was changed before has no place in this one; clients get 502";
                self.notes.left_out(pass.source, &pass.text(), reason, "`rewrite.path`");
            }
            return path.and_then(|path| always(Some(path)));
        }
        let Some(uri) = uri else { return always(None) };
        // A path behind variables replaces the whole path.
        if pass.peek(0).contains('$') {
            return self.variable_path(pass, uri).and_then(|path| always(Some(path)));
        }
        match place.path.kind {
            _ if uri.contains(['{', '}', '?', '#']) => {}
            LocationMatch::Exact | LocationMatch::Prefix | LocationMatch::Final
                if place.path.text == uri =>
            {
                return always(None);
            }
            LocationMatch::Exact => return always(Some(uri.to_owned())),
            LocationMatch::Prefix | LocationMatch::Final => {
                if uri.ends_with('/') && !place.path.text.ends_with('/') {
                    let reason = "two slashes behind each other are sent as one";
                    self.notes.changed(
                        pass.source,
                        &pass.text(),
                        reason,
                        "a location that ends in `/`",
                    );
                }
                let to = Some(format!("{uri}{{rest}}"));
                return match place.path.text {
                    "/" => Some(ReplacedPath { when: RuleCondition::texts("path", &["/*"]), to }),
                    _ => always(to),
                };
            }
            LocationMatch::Regex { .. } | LocationMatch::Named => {}
        }
        let reason = "the path is replaced only where the location is a path, by one without a query; so that no server gets another one, clients get 502";
        self.notes.left_out(pass.source, &pass.text(), reason, "`rewrite.path`");
        None
    }
}

/// Whether nginx sends something else than the client's method, fields and body.
fn is_sent_otherwise(scope: &DirectiveScope<'_>) -> bool {
    let is =
        |name: &str, fits: fn(&str) -> bool| scope.get(name).is_some_and(|one| fits(one.peek(0)));
    is("proxy_pass_request_headers", |word| word == "off")
        || is("proxy_pass_request_body", |word| word == "off")
        || is("proxy_method", |word| word != "$request_method")
        || is("proxy_set_body", |_| true)
}

/// `grpc_pass` may name servers without a scheme.
fn with_scheme(pass: &Directive, text: String) -> String {
    let is_bare = pass.name == "grpc_pass" && !text.contains("://");
    if is_bare { format!("grpc://{text}") } else { text }
}
