//! Follows the directives of a site in the order in which they run, and makes rules of every way through them.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::site_rule::SiteRule;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::answers;
use super::fields;
use super::order::{DirectiveOrder, RouteStep};
use super::pools::ProxyPools;
use super::rewrites;
use super::route_state::RouteState;

/// The most rules of one site. Each conditional change doubles the rules behind it.
const RULES: usize = 2_000;

/// The steps behind a block.
#[derive(Clone, Copy)]
struct RestSteps<'a, 't> {
    steps: &'a [RouteStep<'t>],
    next: Option<&'a RestSteps<'a, 't>>,
}

/// Writes the rules of one site.
pub struct RouteWriter<'w> {
    pub order: &'w DirectiveOrder,
    pub pools: &'w mut ProxyPools,
    pub notes: &'w mut ConversionNotes,
    pub tls: bool,
    /// Proxies in front are trusted.
    pub trusts_proxies: bool,
    pub rules: Vec<SiteRule>,
    /// The site has more rules than can be written.
    pub is_too_large: bool,
}

impl<'t> RouteWriter<'_> {
    /// Follows all steps of a site.
    pub fn follow(&mut self, site: &ConfigStatement, steps: &[RouteStep<'t>], state: RouteState) {
        self.run(steps, None, state, site.source);
    }

    fn run(
        &mut self,
        steps: &[RouteStep<'t>],
        next: Option<&RestSteps<'_, 't>>,
        state: RouteState,
        end: SourcePlace,
    ) {
        if self.rules.len() >= RULES {
            self.is_too_large = true;
            return;
        }
        if state.when.clone().simplify(self.tls) == RuleCondition::Is(false) {
            return;
        }
        let Some(first) = steps.first() else {
            match next {
                Some(rest) => self.run(rest.steps, rest.next, state, end),
                // Caddy answers 200 without a body where no directive does.
                None => self.push_answer(&state, state.closed.unwrap_or(200), end, ""),
            }
            return;
        };
        // Of these directives the first one whose matcher fits excludes the others.
        let exclusive = matches!(first.kind(), "handle" | "rewrite");
        let length = match exclusive {
            true => steps.iter().take_while(|step| step.kind() == first.kind()).count(),
            false => 1,
        };
        let after = RestSteps { steps: &steps[length..], next };
        let mut state = state;
        for step in &steps[..length] {
            let own = step.matchers.condition(step.token, &state.path, self.notes);
            let always = own.clone().simplify(self.tls) == RuleCondition::Is(true);
            let inner = RouteState { when: state.when.clone().and(own.clone()), ..state.clone() };
            if let Some(why) = own.unknown().filter(|_| fields::is_request_edit(step.kind())) {
                self.notes.left_out_because(step.statement.source, &step.statement.text(), why);
                fields::distrust(step, &mut state);
                continue;
            }
            self.apply(step, after, inner, end);
            if always {
                return;
            }
        }
        self.run(after.steps, after.next, state, end);
    }

    /// One step, and everything behind it for the requests that it fits.
    fn apply(
        &mut self,
        step: &RouteStep<'t>,
        after: RestSteps<'_, 't>,
        mut state: RouteState,
        end: SourcePlace,
    ) {
        let statement = step.statement;
        match step.kind() {
            "handle" | "route" => {
                statement.settle_converted(self.notes);
                if statement.name == "handle_path" {
                    rewrites::strip_handled(step, &mut state);
                }
                let written = statement.name == "route";
                let inner = self.order.steps(statement.inner(), &step.matchers, written);
                return self.run(&inner, Some(&after), state, end);
            }
            "reverse_proxy" => return self.proxy(step, state),
            "redir" | "respond" | "error" | "abort" | "basic_auth" | "forward_auth"
            | "file_server" | "php_fastcgi" | "metrics" | "acme_server" => {
                let answer = answers::answer(step, self.tls, self.notes);
                let status = state.closed.filter(|_| answer.is_permission);
                return match status {
                    Some(status) => self.push_answer(&state, status, statement.source, ""),
                    None => self.push_rule(&state, answer.keys, statement),
                };
            }
            "header" | "request_header" => fields::edit(step, &mut state, self.notes),
            "rewrite" | "uri" | "try_files" | "method" => {
                rewrites::rewrite(step, &mut state, self.notes);
            }
            "encode" => {}
            kind => {
                if !answers::note_other(kind, step, self.notes) {
                    let keys = vec![KeyValue::new("deny", "true")];
                    return self.push_rule(&state, keys, statement);
                }
            }
        }
        self.run(after.steps, after.next, state, end);
    }

    fn proxy(&mut self, step: &RouteStep<'t>, mut state: RouteState) {
        let statement = step.statement;
        statement.settle_converted(self.notes);
        let target = self.pools.target(step, self.notes);
        fields::edit_proxied(step, &target, self.trusts_proxies, &mut state, self.notes);
        rewrites::rewrite_proxied(step, &mut state, self.notes);
        match target.pool.filter(|_| state.closed.is_none()) {
            Some(pool) => {
                let keys = vec![KeyValue::new("pool", value::quote(&pool))];
                self.push_rule(&state, keys, statement);
            }
            None => {
                let status = state.closed.unwrap_or(502);
                self.push_answer(&state, status, statement.source, &statement.text());
            }
        }
    }

    fn push_answer(&mut self, state: &RouteState, status: u16, source: SourcePlace, text: &str) {
        let mut rule = SiteRule::answer(state.when.clone(), status, source, text);
        let rewrite = state.edits.to_toml(false);
        rule.keys.extend(rewrite.map(|rewrite| KeyValue::new("rewrite", rewrite)));
        self.rules.push(rule);
    }

    fn push_rule(&mut self, state: &RouteState, keys: Vec<KeyValue>, from: &ConfigStatement) {
        let has_pool = keys.iter().any(|one| one.key == "pool");
        let mut keys = keys;
        let rewrite = state.edits.to_toml(has_pool);
        keys.extend(rewrite.map(|rewrite| KeyValue::new("rewrite", rewrite)));
        let when = state.when.clone();
        self.rules.push(SiteRule { when, keys, source: from.source, text: from.text() });
    }
}
