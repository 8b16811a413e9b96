//! Follows the directives of a site in the order in which they run, and makes rules of every way through them.

use crate::condition::RuleCondition;
use crate::draft_check::{DraftChecker, RouterLayer};
use crate::field_sight::hide_fields;
use crate::notes::ConversionNotes;
use crate::site_rule::SiteRule;
use crate::size::format_size;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::answers;
use super::body_limit;
use super::fields;
use super::order::{DirectiveOrder, RouteStep};
use super::pools::ProxyPools;
use super::prefix_strip::PrefixStrip;
use super::rewrites;
use super::route_state::RouteState;

/// The most rules of one site. Each conditional change doubles the rules behind it.
const RULES: usize = 2_000;
/// The most blocks and conditional changes that one request goes through: bounds the recursion.
const DEEP: usize = 64;

/// The steps that a request has before it, and those behind the block that they stand in.
#[derive(Clone, Copy)]
struct RestSteps<'a, 't> {
    steps: &'a [RouteStep<'t>],
    taken: TakenKinds,
    next: Option<&'a RestSteps<'a, 't>>,
}

/// Of these kinds only the first directive of a block whose matcher fits is followed, wherever the others stand. True: a
/// request has had its one.
#[derive(Clone, Copy, Default)]
struct TakenKinds {
    handle: bool,
    rewrite: bool,
}

impl TakenKinds {
    fn has(self, kind: &str) -> bool {
        match kind {
            "handle" => self.handle,
            "rewrite" => self.rewrite,
            _ => false,
        }
    }

    fn with(self, kind: &str) -> TakenKinds {
        TakenKinds {
            handle: self.handle || kind == "handle",
            rewrite: self.rewrite || kind == "rewrite",
        }
    }
}

/// Writes the rules of one site.
pub struct RouteWriter<'w> {
    pub order: &'w DirectiveOrder,
    pub pools: &'w mut ProxyPools,
    pub checker: &'w mut DraftChecker,
    pub notes: &'w mut ConversionNotes,
    pub tls: bool,
    /// Proxies in front are trusted.
    pub trusts_proxies: bool,
    pub rules: Vec<SiteRule>,
    /// The site has more rules than can be written.
    pub is_too_large: bool,
    /// Blocks and conditional changes around the step that is followed.
    pub depth: usize,
}

impl<'t> RouteWriter<'_> {
    /// Follows all steps of a site.
    pub fn follow(&mut self, site: &ConfigStatement, steps: &[RouteStep<'t>], state: RouteState) {
        let steps = RestSteps { steps, taken: TakenKinds::default(), next: None };
        self.run(steps, state, site.source);
    }

    fn run(&mut self, steps: RestSteps<'_, 't>, mut state: RouteState, end: SourcePlace) {
        let mut rest = steps;
        loop {
            if self.is_too_large || self.rules.len() >= RULES || self.depth > DEEP {
                self.is_too_large = true;
                return;
            }
            if state.when.clone().simplify(self.tls) == RuleCondition::Is(false) {
                return;
            }
            let Some(step) = rest.steps.first() else {
                match rest.next {
                    Some(next) => rest = *next,
                    // Caddy answers 200 without a body where no directive does.
                    None => {
                        return self.push_answer(&state, state.closed.unwrap_or(200), end, "");
                    }
                }
                continue;
            };
            let behind = RestSteps { steps: &rest.steps[1..], ..rest };
            let kind = step.kind();
            if rest.taken.has(kind) {
                rest = behind;
                continue;
            }
            let own = self.own_condition(step, &state);
            let always = own.clone().simplify(self.tls) == RuleCondition::Is(true);
            let after = RestSteps { taken: rest.taken.with(kind), ..behind };
            let known = own.unknown().is_none();
            if !known && fields::is_edit(kind) {
                if let Some(why) = own.unknown() {
                    let text = step.statement.text();
                    self.notes.left_out_because(step.statement.source, &text, why);
                }
                fields::distrust(step, &mut state);
            } else if answers::has_no_effect(kind) {
                answers::note_other(kind, step, self.notes);
            } else if always && rewrites::is_edit(step) {
                self.edit(step, &mut state);
                rest = after;
                continue;
            } else {
                let inner = RouteState { when: state.when.clone().and(own), ..state.clone() };
                self.depth += 1;
                self.take(step, after, inner, &state, end);
                self.depth -= 1;
                if always {
                    return;
                }
            }
            rest = behind;
        }
    }

    /// The condition of a step. Parts that rules cannot have are unknown.
    fn own_condition(&mut self, step: &RouteStep<'t>, state: &RouteState) -> RuleCondition {
        let own = match PrefixStrip::handled(step).filter(PrefixStrip::is_open) {
            // What goes on behind the prefix without a slash has an answer of its own.
            Some(strip) => strip.below(&state.path),
            None => step.matchers.condition(step.token, &state.path, self.notes),
        };
        let is_changed = |name: &str| state.edits.changes_field(name);
        let own = hide_fields(own, &is_changed, "`request_header` changes the field before");
        self.checker.check_condition(own, RouterLayer::Http)
    }

    /// One step, and everything behind it for the requests that it fits. `before`: what was known without its matcher.
    fn take(
        &mut self,
        step: &RouteStep<'t>,
        after: RestSteps<'_, 't>,
        mut state: RouteState,
        before: &RouteState,
        end: SourcePlace,
    ) {
        let statement = step.statement;
        match step.kind() {
            "handle" | "route" => self.block(step, after, state, before, end),
            "uri" if step.word(0) == "strip_prefix" => self.strip(step, after, state, end),
            "reverse_proxy" => self.proxy(step, state),
            "redir" | "respond" | "error" | "abort" | "basic_auth" | "forward_auth"
            | "file_server" | "php_fastcgi" | "metrics" | "acme_server" => {
                let answer = answers::answer(step, self.tls, self.notes);
                let status = state.closed.filter(|_| answer.is_permission);
                match status {
                    Some(status) => self.push_answer(&state, status, statement.source, ""),
                    None => self.push_rule(&state, answer.keys, statement),
                }
            }
            _ if rewrites::is_edit(step) => {
                self.edit(step, &mut state);
                self.run(after, state, end);
            }
            kind => {
                answers::note_other(kind, step, self.notes);
                self.push_rule(&state, vec![KeyValue::new("deny", "true")], statement);
            }
        }
    }

    fn edit(&mut self, step: &RouteStep<'t>, state: &mut RouteState) {
        match step.kind() {
            kind if fields::is_edit(kind) => fields::edit(step, state, self.notes),
            "request_body" => body_limit::read(step.statement, state, self.notes),
            _ => rewrites::rewrite(step, state, self.notes),
        }
    }

    fn block(
        &mut self,
        step: &RouteStep<'t>,
        after: RestSteps<'_, 't>,
        mut state: RouteState,
        before: &RouteState,
        end: SourcePlace,
    ) {
        let statement = step.statement;
        statement.settle_converted(self.notes);
        let written = statement.name == "route";
        let inner = self.order.steps(statement.inner(), &step.matchers, written);
        let inside = RestSteps { steps: &inner, taken: TakenKinds::default(), next: Some(&after) };
        if statement.name != "handle_path" {
            return self.run(inside, state, end);
        }
        let strip = PrefixStrip::handled(step);
        match &strip {
            Some(strip) => strip.apply(&mut state),
            None => rewrites::close(statement, &mut state, self.notes),
        }
        self.run(inside, state, end);
        if let Some(strip) = strip.filter(PrefixStrip::is_open) {
            self.refuse_open(&strip, before, statement);
        }
    }

    fn strip(
        &mut self,
        step: &RouteStep<'t>,
        after: RestSteps<'_, 't>,
        mut state: RouteState,
        end: SourcePlace,
    ) {
        let statement = step.statement;
        let Some(strip) = PrefixStrip::of_uri(step) else {
            rewrites::close(statement, &mut state, self.notes);
            return self.run(after, state, end);
        };
        statement.settle_converted(self.notes);
        let before = state.clone();
        if !strip.is_implied_by(step.token) {
            let begins = strip.below(&state.path);
            state.when = state.when.and(begins);
        }
        strip.apply(&mut state);
        self.run(after, state, end);
        if !strip.is_implied_by(step.token) {
            self.refuse_open(&strip, &before, statement);
            self.run(after, before, end);
        }
    }

    /// Refuses paths that go on behind a prefix without a slash: servers would get a path that begins with none.
    fn refuse_open(&mut self, strip: &PrefixStrip, before: &RouteState, from: &ConfigStatement) {
        let begins = strip.begins(&before.path);
        if begins.clone().simplify(self.tls) == RuleCondition::Is(false) {
            return;
        }
        let reason = "a path that goes on behind the prefix without a slash gets 404";
        from.note_changed(reason, "", self.notes);
        let state = RouteState { when: before.when.clone().and(begins), ..before.clone() };
        self.push_answer(&state, 404, from.source, &from.text());
    }

    fn proxy(&mut self, step: &RouteStep<'_>, mut state: RouteState) {
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
        let rewrite = state.edits.for_own_answer().to_toml(false);
        rule.keys.extend(rewrite.map(|rewrite| KeyValue::new("rewrite", rewrite)));
        self.rules.push(rule);
    }

    fn push_rule(&mut self, state: &RouteState, keys: Vec<KeyValue>, from: &ConfigStatement) {
        let has_pool = keys.iter().any(|one| one.key == "pool");
        let mut keys = keys;
        let rewrite = match has_pool {
            true => state.edits.to_toml(true),
            false => state.edits.for_own_answer().to_toml(false),
        };
        keys.extend(rewrite.map(|rewrite| KeyValue::new("rewrite", rewrite)));
        let limit = state.body_bytes.filter(|_| has_pool);
        keys.extend(limit.map(|limit| KeyValue::new("body-bytes", format_size(limit))));
        let when = state.when.clone();
        self.rules.push(SiteRule { when, keys, source: from.source, text: from.text() });
    }
}
