//! The compiled rules of one service. It finds the matching rule and its pool; the plane acts on the result.

use std::borrow::Cow;

use super::action::{MirrorTarget, RuleAction, SplitPool};
use super::condition::{CompiledCondition, ConditionInput};
use super::context::{RuleContext, RuleMatch, RuleState};
use super::index::{RuleIndex, RuleKeys, lookup_form};
use super::path_captures::PathCaptures;
use super::path_reading_policy::PathReadingPolicy;
use super::pool_numbers::PoolNumbers;
use super::response_rewrite::ResponseRewrite;
use super::rewrite::RequestRewrite;
use crate::config::template::Template;
use crate::config::{
    Condition, ForwardingMode, NoServersAction, PathCase, RuleActionConfig, RuleConfig,
    ServiceConfig, WeightedPool,
};
use crate::path::{PathReadings, normal_form};
use crate::request_head::ParsedHead;

#[derive(Debug)]
pub struct RuleTable {
    rules: Vec<CompiledRule>,
    pools: Vec<String>,
    index: RuleIndex,
    /// Some condition reads the TLS server name.
    wants_sni: bool,
    /// Some rule writes what clients sent as X-Forwarded-For.
    wants_forwarded_for: bool,
    /// Some condition reads the time of day.
    wants_time: bool,
    paths: PathReadingPolicy,
}

#[derive(Debug)]
pub struct CompiledRule {
    /// The name, or `rule-N`.
    pub name: String,
    pub action: RuleAction,
    pub mirror: Option<MirrorTarget>,
    pub request_rewrite: Option<RequestRewrite>,
    pub response_rewrite: ResponseRewrite,
    condition: CompiledCondition,
    without_servers: NoServersAction,
    /// The rule rejects: `deny`, or a fixed response that is an error.
    refuses: bool,
}

impl RuleTable {
    /// The table of a service's rules; `None`: it has none.
    pub fn new(service: &ServiceConfig) -> Option<RuleTable> {
        if service.rules.is_empty() {
            return None;
        }
        let mut pools = PoolNumbers::new(&service.pool);
        let case = service.path_case;
        let key = |rule: &RuleConfig| match service.forward {
            ForwardingMode::Http => RuleKeys::from_condition(&rule.when, case),
            _ => RuleKeys::from_connection_condition(&rule.when),
        };
        let keys: Vec<RuleKeys> = service.rules.iter().map(key).collect();
        let rules: Vec<CompiledRule> = service
            .rules
            .iter()
            .enumerate()
            .map(|(at, rule)| CompiledRule::new(at, rule, case, &mut pools))
            .collect();
        let conditions = || service.rules.iter().map(|rule| &rule.when);
        let uses = |kind: &dyn Fn(&Condition) -> bool| conditions().any(|when| when.contains(kind));
        Some(RuleTable {
            wants_sni: uses(&|condition| matches!(condition, Condition::Sni(_))),
            wants_time: uses(&|condition| matches!(condition, Condition::Time(..))),
            wants_forwarded_for: rules.iter().any(CompiledRule::wants_forwarded_for),
            rules,
            pools: pools.into_names(),
            index: RuleIndex::new(&keys),
            paths: PathReadingPolicy::new(service, conditions()),
        })
    }

    /// Names of the pools that rules name; the first one is the service's.
    pub fn pools(&self) -> &[String] {
        &self.pools
    }

    pub fn rules(&self) -> &[CompiledRule] {
        &self.rules
    }

    /// Whether a condition reads the TLS server name.
    pub fn wants_sni(&self) -> bool {
        self.wants_sni
    }

    /// Whether a rule writes what clients sent as X-Forwarded-For.
    pub fn wants_forwarded_for(&self) -> bool {
        self.wants_forwarded_for
    }

    /// Whether a condition reads the time of day.
    pub fn wants_time(&self) -> bool {
        self.wants_time
    }

    /// Whether letter case counts in paths.
    pub fn case(&self) -> PathCase {
        self.paths.case()
    }

    /// The possible readings of a request's path, as far as rules read it.
    pub fn readings(&self, head: &ParsedHead<'_>) -> PathReadings {
        self.paths.readings(head)
    }

    /// The path that rules compare if there is one reading.
    fn comparison_path<'v>(&self, view: &RuleContext<'v>) -> Cow<'v, [u8]> {
        view.head.map_or(Cow::Borrowed(b""), |head| self.paths.comparison_path(head))
    }

    fn host_name<'v>(view: &RuleContext<'v>) -> &'v [u8] {
        match view.head {
            Some(head) => head.host(),
            None => view.sni.unwrap_or_default().as_bytes(),
        }
    }

    /// The first rule that matches.
    pub fn find_rule(&self, view: &RuleContext<'_>, facts: &dyn RuleState) -> RuleMatch {
        match view.head.map_or(PathReadings::One, |head| self.readings(head)) {
            PathReadings::One => {
                let path = self.comparison_path(view);
                let mut candidates = self.index.candidates(RuleTable::host_name(view), &path);
                candidates
                    .find_map(|at| self.evaluate_rule(at as usize, &[&path], view, facts))
                    .unwrap_or(RuleMatch::DefaultPool)
            }
            PathReadings::Several(paths) => self.find_rule_among_readings(paths, view, facts),
            PathReadings::TooMany => RuleMatch::AmbiguousPath(None),
        }
    }

    /// The first rule that matches a path with several readings.
    #[cold]
    fn find_rule_among_readings(
        &self,
        paths: Vec<Vec<u8>>,
        view: &RuleContext<'_>,
        facts: &dyn RuleState,
    ) -> RuleMatch {
        let paths: Vec<Vec<u8>> =
            paths.into_iter().map(|path| lookup_form(path, self.case())).collect();
        let paths: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
        let name = RuleTable::host_name(view);
        let mut all: Vec<u32> =
            paths.iter().flat_map(|path| self.index.candidates(name, path)).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter()
            .find_map(|at| self.evaluate_rule(at as usize, &paths, view, facts))
            .unwrap_or(RuleMatch::DefaultPool)
    }

    /// The same, rule after rule: the reference that `find_rule` must equal.
    pub fn find_rule_linear(&self, view: &RuleContext<'_>, facts: &dyn RuleState) -> RuleMatch {
        let mut all = 0..self.rules.len();
        let matched = match view.head.map_or(PathReadings::One, |head| self.readings(head)) {
            PathReadings::One => {
                let path = self.comparison_path(view);
                all.find_map(|at| self.evaluate_rule(at, &[&path], view, facts))
            }
            PathReadings::Several(paths) => {
                let each = paths.into_iter().map(|path| lookup_form(path, self.case()));
                let paths: Vec<Vec<u8>> = each.collect();
                let paths: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
                all.find_map(|at| self.evaluate_rule(at, &paths, view, facts))
            }
            PathReadings::TooMany => Some(RuleMatch::AmbiguousPath(None)),
        };
        matched.unwrap_or(RuleMatch::DefaultPool)
    }

    /// A refusing rule matches if one reading does, every other rule only if all do.
    fn evaluate_rule(
        &self,
        at: usize,
        paths: &[&[u8]],
        view: &RuleContext<'_>,
        facts: &dyn RuleState,
    ) -> Option<RuleMatch> {
        let rule = self.rules.get(at)?;
        let refuses = rule.refuses;
        let input = ConditionInput {
            rule: at,
            pool: rule.main_pool(),
            refuses,
            context: view,
            state: facts,
        };
        let fit = rule.condition.match_readings(&input, paths);
        if fit.possible.is_empty() {
            return None;
        }
        if refuses || fit.certain.is_complete(paths.len()) {
            return rule.resolve_match(at, facts);
        }
        Some(match fit.possible.is_complete(paths.len()) {
            true => RuleMatch::AmbiguousRequest(at),
            false => RuleMatch::AmbiguousPath(Some(at)),
        })
    }
}

impl CompiledRule {
    fn new(at: usize, rule: &RuleConfig, case: PathCase, pools: &mut PoolNumbers) -> CompiledRule {
        let mut pool = |name: &str| pools.number(name);
        let todo = match &rule.action {
            RuleActionConfig::Pool(None) => RuleAction::Pool(0),
            RuleActionConfig::Pool(Some(name)) => RuleAction::Pool(pool(name)),
            RuleActionConfig::Split(parts) => {
                let mut part =
                    |part: &WeightedPool| SplitPool { pool: pool(&part.pool), weight: part.weight };
                let parts: Vec<SplitPool> = parts.iter().map(&mut part).collect();
                let sum = parts.iter().map(|part| u64::from(part.weight)).sum();
                RuleAction::Split { parts, sum }
            }
            RuleActionConfig::Redirect { to, status, .. } => match Template::parse(to) {
                Some(to) => RuleAction::Redirect(to, *status),
                None => RuleAction::Deny,
            },
            RuleActionConfig::Answer(_) => RuleAction::Answer,
            RuleActionConfig::Deny => RuleAction::Deny,
        };
        let mirror = rule.mirror.as_ref().map(|mirror| MirrorTarget {
            pool: pool(&mirror.pool),
            percent: mirror.percent,
            at_once: mirror.at_once,
        });
        let check = CompiledCondition::new(&rule.when, case, &mut pool);
        CompiledRule {
            name: rule.name.clone().unwrap_or_else(|| format!("rule-{}", at + 1)),
            request_rewrite: rule
                .rewrite
                .as_ref()
                .map(|rewrite| RequestRewrite::new(rewrite, case)),
            response_rewrite: rule.rewrite.as_ref().map(ResponseRewrite::new).unwrap_or_default(),
            without_servers: rule.without_servers,
            refuses: match &rule.action {
                RuleActionConfig::Deny => true,
                RuleActionConfig::Answer(answer) => answer.status >= 400,
                RuleActionConfig::Pool(_)
                | RuleActionConfig::Split(_)
                | RuleActionConfig::Redirect { .. } => false,
            },
            action: todo,
            mirror,
            condition: check,
        }
    }

    fn wants_forwarded_for(&self) -> bool {
        self.request_rewrite.as_ref().is_some_and(RequestRewrite::wants_forwarded_for)
            || self.response_rewrite.wants_forwarded_for()
    }

    /// The pools of the action, without the mirror's.
    pub fn pools(&self) -> impl Iterator<Item = usize> + '_ {
        let (single, parts) = match &self.action {
            RuleAction::Pool(pool) => (Some(*pool), &[][..]),
            RuleAction::Split { parts, .. } => (None, parts.as_slice()),
            RuleAction::Redirect(..) | RuleAction::Answer | RuleAction::Deny => (None, &[][..]),
        };
        let parts = parts.iter().filter(|part| part.weight > 0);
        single.into_iter().chain(parts.map(|part| part.pool))
    }

    /// The pool of a match. Of a split: chosen by a draw below the sum of weights, preferring pools that have a server.
    pub fn choose_pool(
        &self,
        draw: impl FnOnce(u64) -> u64,
        facts: &dyn RuleState,
    ) -> Option<usize> {
        let (parts, sum) = match &self.action {
            RuleAction::Pool(pool) => return Some(*pool),
            RuleAction::Split { parts, sum } => (parts, *sum),
            RuleAction::Redirect(..) | RuleAction::Answer | RuleAction::Deny => return None,
        };
        let able: u64 = parts
            .iter()
            .filter(|part| facts.has_server(part.pool))
            .map(|part| u64::from(part.weight))
            .sum();
        let all = able == 0;
        let mut left = draw(if all { sum } else { able }.max(1));
        for part in parts {
            if !all && !facts.has_server(part.pool) {
                continue;
            }
            let weight = u64::from(part.weight);
            if left < weight {
                return Some(part.pool);
            }
            left -= weight;
        }
        self.pools().next()
    }

    /// The pool that conditions on a pool refer to when they name none.
    fn main_pool(&self) -> usize {
        self.pools().next().unwrap_or(0)
    }

    /// The result of a match; `None`: continue with the next rule.
    fn resolve_match(&self, at: usize, facts: &dyn RuleState) -> Option<RuleMatch> {
        if self.without_servers == NoServersAction::Pool
            || self.pools().any(|pool| facts.has_server(pool))
        {
            return Some(RuleMatch::Rule(at));
        }
        match (self.without_servers, &self.action) {
            (NoServersAction::Next, RuleAction::Pool(_) | RuleAction::Split { .. }) => {
                facts.record_passed_over(at);
                None
            }
            (NoServersAction::Answer, RuleAction::Pool(_) | RuleAction::Split { .. }) => {
                Some(RuleMatch::NoServer(at))
            }
            _ => Some(RuleMatch::Rule(at)),
        }
    }

    /// The spelling of a request's path that rewrites start from: as written if the rule matches that, else the normal
    /// form.
    pub fn rewrite_base<'h>(&self, head: &ParsedHead<'h>) -> Cow<'h, [u8]> {
        let raw = head.raw_path();
        if head.path_is_plain() || (!has_dots(raw) && self.condition.matches_path(raw)) {
            return Cow::Borrowed(raw);
        }
        Cow::Owned(normal_form(raw))
    }

    /// The text that the last `*` of its path matched, and the groups of its expression: the values of templates.
    pub fn path_captures<'p>(&self, path: &'p [u8]) -> PathCaptures<'p> {
        self.condition.path_captures(path)
    }
}

fn has_dots(path: &[u8]) -> bool {
    path.split(|b| *b == b'/').any(|segment| segment == b"." || segment == b"..")
}
