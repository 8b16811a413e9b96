//! The rules of HTTPRoutes and GRPCRoutes, planned: what each does, or why it cannot be carried out.

use std::collections::{BTreeMap, BTreeSet};

use crate::backends::{
    BackendProtocol, BackendUser, ConditionFailure, ResolvedBackend, resolve_backend,
};
use crate::durations::parse_milliseconds;
use crate::listeners::RouteKind;
use crate::object_set::ObjectSet;
use crate::objects::metadata::ObjectKey;
use crate::objects::routes::{
    GrpcRoute, HttpBackendReference, HttpRoute, HttpRouteMatch, HttpRouteRule, RouteFilter,
    RouteRetry, RouteTimeouts,
};
use crate::path_change::path_variants;
use crate::rule_filters::{FilterPlace, FilterPlan, mirror_percent, plan_filters};
use crate::rule_match::{MatchPlan, plan_grpc_match, plan_http_match};
use crate::toml_text::{ConfigEntry, inline_table, list};

/// The longest time that the configuration takes, for a timeout that is switched off.
const LONGEST_MS: u64 = 7 * 24 * 3_600 * 1_000;

/// Rules that the configuration's own check refused.
pub type RejectedRules = BTreeMap<RuleIdentity, RuleRejection>;

/// Why a rule was refused, and which of its matches cannot even be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleRejection {
    pub reason: String,
    /// By number, from 0.
    pub matches: BTreeSet<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleIdentity {
    pub kind: RouteKind,
    pub route: ObjectKey,
    /// From 1.
    pub number: usize,
}

/// A route, planned.
#[derive(Clone, Debug)]
pub struct RoutePlan {
    pub rules: Vec<RulePlan>,
    /// Why references lead nowhere.
    pub unresolved: Vec<ConditionFailure>,
}

#[derive(Clone, Debug)]
pub struct RulePlan {
    pub identity: RuleIdentity,
    /// The name or the number, for names and comments.
    pub label: String,
    /// The matches that can be compared.
    pub matches: Vec<NumberedMatch>,
    pub outcome: Result<PlannedAction, ConditionFailure>,
}

/// A match and its number in the rule, from 0.
#[derive(Clone, Debug)]
pub struct NumberedMatch {
    pub number: usize,
    pub plan: MatchPlan,
}

/// What a rule does.
#[derive(Clone, Debug)]
pub enum PlannedAction {
    Redirect(FilterPlan),
    Forward(ForwardPlan),
}

#[derive(Clone, Debug)]
pub struct ForwardPlan {
    /// Back ends with a weight above nothing.
    pub branches: Vec<BranchPlan>,
    pub filters: FilterPlan,
    pub mirror: Option<MirrorPlan>,
    /// Times and retries, as keys of a rule.
    pub timing: Vec<ConfigEntry>,
}

#[derive(Clone, Debug)]
pub struct BranchPlan {
    pub weight: u32,
    pub target: Result<ResolvedBackend, ConditionFailure>,
    pub filters: FilterPlan,
}

#[derive(Clone, Debug)]
pub struct MirrorPlan {
    pub backend: ResolvedBackend,
    pub percent: u32,
}

impl RoutePlan {
    /// The rules that cannot be carried out, each with its reason.
    pub fn failures(&self) -> impl Iterator<Item = &ConditionFailure> {
        self.rules.iter().filter_map(|rule| rule.outcome.as_ref().err())
    }

    /// Whether some rule can be carried out.
    pub fn is_usable(&self) -> bool {
        self.rules.iter().any(|rule| rule.outcome.is_ok())
    }
}

/// A rule of either kind of route.
struct RuleSource<'a> {
    name: Option<&'a str>,
    matches: Vec<Result<MatchPlan, ConditionFailure>>,
    filters: &'a [RouteFilter],
    backends: &'a [HttpBackendReference],
    timeouts: Option<&'a RouteTimeouts>,
    retry: Option<&'a RouteRetry>,
    has_persistence: bool,
}

pub fn plan_http_route(set: &ObjectSet, route: &HttpRoute, rejected: &RejectedRules) -> RoutePlan {
    let user = BackendUser {
        kind: RouteKind::Http.name(),
        namespace: route.metadata.namespace(),
        protocol: BackendProtocol::Http1,
    };
    let planner = RoutePlanner { set, user, kind: RouteKind::Http, key: route.metadata.key() };
    let default = [HttpRouteRule::default()];
    let rules = route.spec.rules.as_deref().unwrap_or(&default);
    let sources = rules.iter().map(|rule| {
        let every = [HttpRouteMatch::default()];
        let matches = if rule.matches.is_empty() { &every[..] } else { &rule.matches };
        RuleSource {
            name: rule.name.as_deref(),
            matches: matches.iter().map(plan_http_match).collect(),
            filters: &rule.filters,
            backends: &rule.backend_refs,
            timeouts: rule.timeouts.as_ref(),
            retry: rule.retry.as_ref(),
            has_persistence: rule.session_persistence.is_some(),
        }
    });
    planner.plan(sources.collect(), rejected)
}

pub fn plan_grpc_route(set: &ObjectSet, route: &GrpcRoute, rejected: &RejectedRules) -> RoutePlan {
    let user = BackendUser {
        kind: RouteKind::Grpc.name(),
        namespace: route.metadata.namespace(),
        protocol: BackendProtocol::Http2,
    };
    let planner = RoutePlanner { set, user, kind: RouteKind::Grpc, key: route.metadata.key() };
    let sources = route.spec.rules.iter().map(|rule| {
        let every = [crate::objects::routes::GrpcRouteMatch::default()];
        let matches = if rule.matches.is_empty() { &every[..] } else { &rule.matches };
        RuleSource {
            name: rule.name.as_deref(),
            matches: matches.iter().map(plan_grpc_match).collect(),
            filters: &rule.filters,
            backends: &rule.backend_refs,
            timeouts: None,
            retry: None,
            has_persistence: rule.session_persistence.is_some(),
        }
    });
    planner.plan(sources.collect(), rejected)
}

struct RoutePlanner<'a> {
    set: &'a ObjectSet,
    user: BackendUser<'a>,
    kind: RouteKind,
    key: ObjectKey,
}

impl RoutePlanner<'_> {
    fn plan(&self, sources: Vec<RuleSource<'_>>, rejected: &RejectedRules) -> RoutePlan {
        let mut plan = RoutePlan { rules: Vec::new(), unresolved: Vec::new() };
        for (at, source) in sources.into_iter().enumerate() {
            let number = at + 1;
            let identity = RuleIdentity { kind: self.kind, route: self.key.clone(), number };
            let label = source.name.map_or_else(|| number.to_string(), str::to_owned);
            let mut outcome = self.plan_action(&source, &mut plan.unresolved);
            let rejection = rejected.get(&identity);
            let mut matches = Vec::new();
            for (at, one) in source.matches.into_iter().enumerate() {
                match one {
                    Ok(_) if rejection.is_some_and(|found| found.matches.contains(&at)) => {}
                    Ok(plan) => matches.push(NumberedMatch { number: at, plan }),
                    Err(failure) => outcome = Err(failure),
                }
            }
            if let Some(rejection) = rejection {
                outcome = Err(ConditionFailure::new("UnsupportedValue", &rejection.reason));
            }
            let failure = outcome.map_err(|failure| ConditionFailure {
                message: format!("rule {label}: {}", failure.message),
                ..failure
            });
            plan.rules.push(RulePlan { identity, label, matches, outcome: failure });
        }
        plan.unresolved.sort();
        plan.unresolved.dedup();
        plan
    }

    fn plan_action(
        &self,
        source: &RuleSource<'_>,
        unresolved: &mut Vec<ConditionFailure>,
    ) -> Result<PlannedAction, ConditionFailure> {
        if source.has_persistence {
            let message = "`sessionPersistence` is not supported";
            return Err(ConditionFailure::new("UnsupportedValue", message));
        }
        let place = match self.kind {
            RouteKind::Grpc => FilterPlace::GrpcRule,
            _ => FilterPlace::HttpRule,
        };
        // References are looked at whatever else is wrong: their condition is another one.
        let branches = self.plan_branches(source.backends, unresolved);
        let filters = plan_filters(source.filters, place)?;
        let mirror = self.plan_mirror(&filters, unresolved)?;
        let branches = branches?;
        check_paths(source, &filters)?;
        if let Some(redirect) = &filters.redirect {
            let scheme = redirect.scheme.as_deref();
            if !matches!(scheme, None | Some("http" | "https")) {
                let message = format!("the scheme {} is not supported", scheme.unwrap_or_default());
                return Err(ConditionFailure::new("UnsupportedValue", message));
            }
            if !branches.is_empty() {
                let message = "a rule with RequestRedirect has back ends";
                return Err(ConditionFailure::new("IncompatibleFilters", message));
            }
            return Ok(PlannedAction::Redirect(filters));
        }
        let timing = plan_timing(source.timeouts, source.retry)?;
        Ok(PlannedAction::Forward(ForwardPlan { branches, filters, mirror, timing }))
    }

    fn plan_branches(
        &self,
        backends: &[HttpBackendReference],
        unresolved: &mut Vec<ConditionFailure>,
    ) -> Result<Vec<BranchPlan>, ConditionFailure> {
        let mut branches = Vec::new();
        let mut fault = None;
        for backend in backends {
            let target = resolve_backend(self.set, &self.user, &backend.target());
            unresolved.extend(target.as_ref().err().cloned());
            match plan_filters(&backend.filters, FilterPlace::Backend) {
                Ok(filters) if backend.weight > 0 => {
                    branches.push(BranchPlan { weight: backend.weight, target, filters });
                }
                Ok(_) => {}
                Err(failure) => fault = Some(failure),
            }
        }
        fault.map_or(Ok(branches), Err)
    }

    fn plan_mirror(
        &self,
        filters: &FilterPlan,
        unresolved: &mut Vec<ConditionFailure>,
    ) -> Result<Option<MirrorPlan>, ConditionFailure> {
        let Some(mirror) = &filters.mirror else { return Ok(None) };
        let backend = match resolve_backend(self.set, &self.user, &mirror.backend_ref) {
            Ok(backend) => backend,
            Err(failure) => {
                // Nothing is copied, and the rule does the rest of its work.
                unresolved.push(failure);
                return Ok(None);
            }
        };
        if backend.protocol == BackendProtocol::Http2 {
            let message = "a mirror to servers that speak HTTP/2 alone is not supported";
            return Err(ConditionFailure::new("UnsupportedValue", message));
        }
        let percent = mirror_percent(mirror)?;
        let has_servers = !backend.servers.is_empty();
        Ok(percent.filter(|_| has_servers).map(|percent| MirrorPlan { backend, percent }))
    }
}

/// Whether the new path of a redirect or a rewrite can be written for every match.
fn check_paths(source: &RuleSource<'_>, filters: &FilterPlan) -> Result<(), ConditionFailure> {
    let of_redirect = filters.redirect.as_ref().and_then(|redirect| redirect.path.as_ref());
    let of_rewrite = filters.rewrite.as_ref().and_then(|rewrite| rewrite.path.as_ref());
    let modifier = of_redirect.or(of_rewrite);
    for one in source.matches.iter().flatten() {
        path_variants(&one.path, modifier)?;
    }
    Ok(())
}

/// The times and retries of a rule, as its keys.
fn plan_timing(
    timeouts: Option<&RouteTimeouts>,
    retry: Option<&RouteRetry>,
) -> Result<Vec<ConfigEntry>, ConditionFailure> {
    let unsupported = |message: String| ConditionFailure::new("UnsupportedValue", message);
    let read = |text: Option<&String>| match text {
        None => Ok(None),
        Some(text) => match parse_milliseconds(text) {
            Some(0) => Ok(Some(LONGEST_MS)),
            Some(found) => Ok(Some(found.min(LONGEST_MS))),
            None => Err(unsupported(format!("`{text}` is no duration; expected one such as 10s"))),
        },
    };
    let request = read(timeouts.and_then(|one| one.request.as_ref()))?;
    let backend = read(timeouts.and_then(|one| one.backend_request.as_ref()))?;
    let mut entries = Vec::new();
    let first_byte = [request, backend].into_iter().flatten().min();
    if let Some(first_byte) = first_byte {
        let time = |key, span: u64| ConfigEntry::text(key, &format!("{span}ms"));
        let mut times = vec![time("first-byte", first_byte)];
        times.extend(request.map(|span| time("attempts", span)));
        entries.push(ConfigEntry::new("timeout", inline_table(&times)));
    }
    let Some(retry) = retry else { return Ok(entries) };
    if retry.backoff.is_some() {
        return Err(unsupported("`retry.backoff` is not supported".to_owned()));
    }
    if let Some(attempts) = retry.attempts {
        entries.push(ConfigEntry::new("retries", attempts.to_string()));
    }
    if !retry.codes.is_empty() {
        let codes = list(retry.codes.iter().map(ToString::to_string));
        entries.push(ConfigEntry::new("retry", inline_table(&[ConfigEntry::new("on", codes)])));
    }
    Ok(entries)
}
