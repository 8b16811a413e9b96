//! `proxy_pass` to a share of clients, as a rule with `split`.

use crate::condition::RuleCondition;
use crate::value::{self, KeyValue};

use super::content::ContentWriter;
use super::expressions::pass_target;
use super::fields::fields;
use super::forwarding::{ClientTerms, RuleTerms, directive_prefix};
use super::pools::{PoolReference, PoolUse};
use super::redirects::location_rewrites;
use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::tree::Directive;
use super::variables::{replace_variable, template, variable_names};

impl ContentWriter<'_, '_> {
    /// The rules of a `proxy_pass` whose variable is a share. `filled`: its argument with all values that are known.
    pub(super) fn share_rules(
        &mut self,
        pass: &Directive,
        filled: &str,
        scope: &DirectiveScope<'_>,
    ) -> Option<Vec<NginxRule>> {
        let name = variable_names(filled).into_iter().find(|name| self.defined.is_share(name))?;
        let mut parts = Vec::new();
        let mut rule_terms = None;
        for share in self.defined.shares(name)? {
            let text = replace_variable(filled, name, &share.value);
            let target = pass_target(&text).ok().filter(|one| one.uri.is_none())?;
            let used = PoolUse { scheme: target.scheme, target: target.host, source: pass.source };
            let PoolReference { name: pool, terms } =
                self.pools.reference(used, self.upstreams, scope, self.notes);
            let client = ClientTerms::read(target.scheme, scope);
            // The levels are the same for all parts, and so is what the rule says otherwise than its pools.
            rule_terms.get_or_insert(terms.with_client(&client, &self.client_terms));
            parts.push(value::table(&[
                KeyValue::new("pool", value::quote(&pool)),
                KeyValue::new("weight", share.weight.to_string()),
            ]));
        }
        self.defined.mark_used(name);
        let values = self.fixed.clone();
        // Without `proxy_set_header Host` nginx names the chosen server.
        let set = scope.all(&format!("{}_set_header", directive_prefix(pass.peek(0))));
        let sets_host = set.iter().any(|one| one.peek(0).eq_ignore_ascii_case("host"));
        let reason = match sets_host {
            true => "each request is drawn anew, also one of the same client",
            false => {
                "each request is drawn anew, also one of the same client; servers get the client's Host"
            }
        };
        self.notes.changed(pass.source, &pass.text(), reason, "`split`; `sticky` in the service");
        let own = self.field_place(&values);
        let mut rewrite = fields(scope, pass.peek(0), None, own, self.notes);
        if !pass.name.starts_with("grpc") {
            rewrite.extend(location_rewrites(scope, None, None, own, self.notes));
        }
        let mut keys = vec![KeyValue::new("split", value::list(parts))];
        if !rewrite.is_empty() {
            keys.push(KeyValue::new("rewrite", value::table(&rewrite)));
        }
        keys.extend(rule_terms.map(RuleTerms::into_keys).unwrap_or_default());
        keys.extend(self.mirror(scope));
        let when = RuleCondition::Is(true);
        Some(vec![NginxRule { when, keys, source: pass.source, text: pass.text() }])
    }

    /// The path that `proxy_pass` with variables writes.
    pub(super) fn variable_path(&mut self, pass: &Directive, uri: &str) -> Option<String> {
        let text = pass.text();
        let path = template(uri, self.tls, self.name).ok();
        let path = path.filter(|path| !path.contains('?'));
        let Some(path) = path else {
            let reason = "the new path depends on variables, or has a query; clients get 502";
            self.notes.left_out(pass.source, &text, reason, "`rewrite.path`");
            return None;
        };
        // The request's own query is the only one that a new path can have, and it cannot be taken off.
        let Some(path) = path.strip_suffix("{query}") else {
            let reason = "a query of the client would go to servers, which get none from nginx; so that none does, clients get 502";
            let instead = "`$is_args$args` at its end";
            self.notes.left_out(pass.source, &text, reason, instead);
            return None;
        };
        if path.contains("/{path}") {
            let reason = "two slashes behind each other are sent as one";
            self.notes.changed(pass.source, &text, reason, "no `/` before the path");
        }
        Some(path.to_owned())
    }
}
