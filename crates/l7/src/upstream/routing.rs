//! Routes a request or connection once, at its start, by the rules of its service.
//!
//! The rule table is in `model::rules`; this module applies it to a worker's view of pools and time.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use model::cause::Cause;
use model::config::{RateLimitKey, RuleActionConfig};
use model::request_head::ParsedHead;
use model::rules::{CompiledRule, RuleAction, RuleContext, RuleMatch, RuleStats, ServiceRules};
use model::snapshot::ServiceView;
use model::snapshot::rule_state::LiveRuleState;
use model::table_key;

use crate::rt::NetDriver;
use crate::servers::worker_state::{LocalPool, LocalService};
use crate::worker::Worker;

/// A matched rule, which counts the request as in flight until this is dropped.
pub struct MatchedRule {
    /// The rules of the service.
    pub ruling: Arc<ServiceRules>,
    pub at: usize,
}

/// The routing decision.
pub enum RoutingDecision<N: NetDriver> {
    /// Use this pool; `None`: the service's default pool.
    Pool(Option<Rc<LocalPool<N>>>, Option<MatchedRule>),
    /// Reject with this cause.
    Refused(Cause, Option<MatchedRule>),
    /// Send the rule's response.
    Answer(MatchedRule),
}

impl MatchedRule {
    fn new(ruling: &Arc<ServiceRules>, at: usize) -> MatchedRule {
        if let Some(live) = ruling.stats.get(at) {
            live.in_flight.increment();
        }
        MatchedRule { ruling: ruling.clone(), at }
    }

    pub fn rule(&self) -> Option<&CompiledRule> {
        self.ruling.table.rules().get(self.at)
    }

    pub fn live(&self) -> Option<&Arc<RuleStats>> {
        self.ruling.stats.get(self.at)
    }
}

impl Drop for MatchedRule {
    fn drop(&mut self) {
        if let Some(live) = self.live() {
            live.in_flight.decrement();
        }
    }
}

/// Finds the rule for a request or connection. `sni` and `head` are given if known.
pub fn route<N: NetDriver>(
    worker: &Worker<N>,
    service: &LocalService<N>,
    view: &ServiceView,
    ruling: &Arc<ServiceRules>,
    peer: SocketAddr,
    sni: Option<&str>,
    head: Option<&ParsedHead<'_>>,
) -> RoutingDecision<N> {
    let unix_ms = worker.unix_ms();
    let unix_seconds = local_seconds(worker, ruling.table.wants_time());
    let request = RuleContext { client: peer, sni, tos: None, head, unix_seconds };
    let pools = service.rule_pools.borrow();
    let pool = |at: usize| pools.get(at).map(|pool| pool.view.borrow().clone());
    let live_state = LiveRuleState {
        rules: ruling,
        service: view,
        pool: &pool,
        now: worker.rt.now(),
        worker: Some(worker.index),
    };
    let at = match ruling.table.find_rule(&request, &live_state) {
        RuleMatch::DefaultPool => return RoutingDecision::Pool(None, None),
        RuleMatch::NoServer(at) => {
            return RoutingDecision::Refused(
                Cause::NoServer,
                Some(count_hit(worker, ruling, at, unix_ms)),
            );
        }
        RuleMatch::AmbiguousPath(_) => return RoutingDecision::Refused(Cause::AmbiguousPath, None),
        RuleMatch::AmbiguousRequest(_) => {
            return RoutingDecision::Refused(Cause::AmbiguousRequest, None);
        }
        RuleMatch::Rule(at) => at,
    };
    let matched = count_hit(worker, ruling, at, unix_ms);
    if !is_within_rate_limit(worker, view, &matched, peer, head) {
        return RoutingDecision::Refused(Cause::RateLimited, Some(matched));
    }
    let Some(rule) = matched.rule() else { return RoutingDecision::Pool(None, None) };
    match &rule.action {
        RuleAction::Deny => RoutingDecision::Refused(Cause::RuleDenied, Some(matched)),
        RuleAction::Redirect(..) | RuleAction::Answer => RoutingDecision::Answer(matched),
        RuleAction::Pool(_) | RuleAction::Split { .. } => {
            let draw = |sum: u64| worker.rng.borrow_mut().below(sum);
            let chosen = rule.choose_pool(draw, &live_state).and_then(|at| pools.get(at).cloned());
            RoutingDecision::Pool(chosen, Some(matched))
        }
    }
}

/// Seconds since 1970 for conditions: of local time if some condition reads the time of day.
pub fn local_seconds<N: NetDriver>(worker: &Worker<N>, wants_time: bool) -> i64 {
    let unix_seconds = (worker.unix_ms() / 1000) as i64;
    match wants_time {
        true => unix_seconds + (worker.options.utc_offset)(unix_seconds),
        false => unix_seconds,
    }
}

/// Takes a token from the rule's rate limit, if it has one. False: the limit is reached, which is counted.
fn is_within_rate_limit<N: NetDriver>(
    worker: &Worker<N>,
    view: &ServiceView,
    matched: &MatchedRule,
    peer: SocketAddr,
    head: Option<&ParsedHead<'_>>,
) -> bool {
    let Some(limiter) = matched.live().and_then(|live| live.limiter.as_ref()) else { return true };
    let key =
        view.config.rules.get(matched.at).and_then(|rule| rule.limit.as_ref()).and_then(|limit| {
            match &limit.by {
                RateLimitKey::Rule => None,
                RateLimitKey::Address(mask4, mask6) => {
                    Some(table_key::hash_network(peer.ip(), *mask4, *mask6))
                }
                RateLimitKey::Header(name) => {
                    let value = head.and_then(|head| head.field(name.as_bytes()).next());
                    Some(table_key::hash_part(value.unwrap_or_default()))
                }
            }
        });
    let is_within = limiter.try_take(key, worker.rt.now());
    if !is_within && let Some(slot) = matched.live().and_then(|live| live.workers.get(worker.index))
    {
        slot.counters.limited.add(1);
    }
    is_within
}

fn count_hit<N: NetDriver>(
    worker: &Worker<N>,
    ruling: &Arc<ServiceRules>,
    at: usize,
    unix_ms: u64,
) -> MatchedRule {
    let matched = MatchedRule::new(ruling, at);
    if let Some(slot) = matched.live().and_then(|live| live.workers.get(worker.index)) {
        slot.record_hit(unix_ms);
    }
    matched
}

/// A response that the balancer composes itself.
pub struct ComposedReply {
    pub status: u16,
    /// Complete field lines.
    pub lines: Vec<u8>,
    pub body: Vec<u8>,
}

/// The response that a rule configures.
pub fn rule_answer(
    matched: &MatchedRule,
    view: &ServiceView,
    head: &ParsedHead<'_>,
) -> ComposedReply {
    let mut lines = Vec::new();
    let Some(rule) = matched.rule() else {
        return ComposedReply { status: 500, lines, body: Vec::new() };
    };
    let action = view.config.rules.get(matched.at).map(|rule| &rule.action);
    if let RuleAction::Redirect(to, status) = &rule.action {
        let path = rule.rewrite_base(head);
        let captures = rule.path_captures(&path);
        let with = model::config::template::TemplateValues {
            host: head.authority(),
            path: &path,
            query: head.query(),
            rest: captures.rest,
            groups: captures.groups,
        };
        lines.extend_from_slice(b"Location: ");
        to.fill_location(&with, &mut lines);
        lines.extend_from_slice(b"\r\n");
        if let Some(RuleActionConfig::Redirect { headers, .. }) = action {
            write_fields(headers, &mut lines);
        }
        return ComposedReply { status: *status, lines, body: Vec::new() };
    }
    let Some(RuleActionConfig::Answer(answer)) = action else {
        return ComposedReply { status: 500, lines, body: Vec::new() };
    };
    if !answer.body.is_empty() {
        for part in ["Content-Type: ", &answer.content_type, "\r\n"] {
            lines.extend_from_slice(part.as_bytes());
        }
    }
    write_fields(&answer.headers, &mut lines);
    ComposedReply { status: answer.status, lines, body: answer.body.clone().into_bytes() }
}

/// Fields of the configuration as lines.
fn write_fields(fields: &[String], lines: &mut Vec<u8>) {
    for field in fields {
        let (name, value) = field.split_once(':').unwrap_or((field, ""));
        for part in [name, ": ", value.trim(), "\r\n"] {
            lines.extend_from_slice(part.as_bytes());
        }
    }
}
