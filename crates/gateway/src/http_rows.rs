//! Rules of HTTPRoutes and GRPCRoutes at one listener, as rules of its service with their precedence.

use crate::backends::ResolvedBackend;
use crate::host_names::{HostSpecificity, rank_host};
use crate::listeners::RouteKind;
use crate::objects::metadata::ObjectAge;
use crate::objects::routes::RedirectFilter;
use crate::path_change::path_variants;
use crate::pools::{BranchRefusal, PoolBook};
use crate::route_plan::{
    BranchPlan, ForwardPlan, NumberedMatch, PlannedAction, RoutePlan, RuleIdentity, RulePlan,
};
use crate::rule_filters::FilterPlan;
use crate::rule_match::{MatchRank, PathPlan};
use crate::toml_text::{ConfigEntry, inline_table, list};

/// The port and scheme of a listener, which redirects look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenerScheme {
    pub port: u16,
    pub is_tls: bool,
}

/// One rule of a service.
#[derive(Clone, Debug)]
pub struct RankedRule {
    pub rank: RowRank,
    pub identity: RuleIdentity,
    /// The number of the match in its rule, from 0.
    pub match_number: usize,
    /// The parts of its name.
    pub name_parts: Vec<String>,
    /// `None` stands for every host.
    pub hosts: Vec<Option<String>>,
    pub path: PathPlan,
    pub criteria: Vec<ConfigEntry>,
    pub action: Vec<ConfigEntry>,
    /// Changes of what goes to one pool alone.
    pub edits: Vec<PoolEdit>,
    /// The pools that the action names.
    pub pools: Vec<String>,
}

/// An edit for one pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolEdit {
    pub pool: String,
    pub rewrite: Vec<ConfigEntry>,
}

/// The precedence of a rule of a listener. Smaller comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowRank {
    host: HostSpecificity,
    matched: MatchRank,
    age: ObjectAge,
    rule: usize,
    match_number: usize,
    variant: usize,
}

impl RowRank {
    pub fn age(&self) -> &ObjectAge {
        &self.age
    }
}

/// A route at a listener.
#[derive(Clone, Copy, Debug)]
pub struct RouteAtListener<'a> {
    pub plan: &'a RoutePlan,
    pub age: &'a ObjectAge,
    pub hosts: &'a [Option<String>],
    pub scheme: ListenerScheme,
}

/// Writes the rules of a route at a listener, in no order.
pub fn write_route(route: &RouteAtListener<'_>, pools: &mut PoolBook) -> Vec<RankedRule> {
    let mut rows = Vec::new();
    for rule in &route.plan.rules {
        let forward = match &rule.outcome {
            Ok(PlannedAction::Forward(forward)) => Some(write_forward(rule, forward, pools)),
            _ => None,
        };
        for matched in &rule.matches {
            rows.extend(write_match(route, rule, matched, forward.as_ref()));
        }
    }
    rows
}

fn write_match(
    route: &RouteAtListener<'_>,
    rule: &RulePlan,
    matched: &NumberedMatch,
    forward: Option<&ForwardText>,
) -> Vec<RankedRule> {
    let filters = match &rule.outcome {
        Ok(PlannedAction::Redirect(filters)) => Some(filters),
        Ok(PlannedAction::Forward(forward)) => Some(&forward.filters),
        Err(_) => None,
    };
    let redirect = filters.and_then(|filters| filters.redirect.as_ref());
    let of_redirect = redirect.and_then(|redirect| redirect.path.as_ref());
    let of_rewrite = filters.and_then(|filters| filters.rewrite.as_ref()?.path.as_ref());
    // A modifier that does not fit was refused when the rule was planned.
    let variants =
        path_variants(&matched.plan.path, of_redirect.or(of_rewrite)).unwrap_or_default();
    let mut rows = Vec::new();
    for (at, variant) in variants.into_iter().enumerate() {
        let new_path = variant.new_path.as_deref();
        let action = match (forward, filters, redirect) {
            (_, Some(filters), Some(redirect)) => {
                vec![write_redirect(redirect, filters, new_path, route.scheme)]
            }
            (Some(forward), _, _) => forward.action_with_path(new_path),
            _ => vec![refusal_status(rule.identity.kind)],
        };
        for host in route.hosts {
            rows.push(RankedRule {
                rank: RowRank {
                    host: rank_host(host.as_deref()),
                    matched: matched.plan.rank,
                    age: route.age.clone(),
                    rule: rule.identity.number,
                    match_number: matched.number,
                    variant: at,
                },
                identity: rule.identity.clone(),
                match_number: matched.number,
                name_parts: name_parts(rule, matched.number, at),
                hosts: vec![host.clone()],
                path: variant.path.clone(),
                criteria: matched.plan.criteria.clone(),
                action: action.clone(),
                edits: forward.map(|forward| forward.edits.clone()).unwrap_or_default(),
                pools: forward.map(|forward| forward.pools.clone()).unwrap_or_default(),
            });
        }
    }
    rows
}

fn name_parts(rule: &RulePlan, match_number: usize, variant: usize) -> Vec<String> {
    let route = &rule.identity.route;
    let mut parts = vec![route.namespace.clone(), route.name.clone(), rule.label.clone()];
    if rule.matches.len() > 1 || variant > 0 {
        parts.push((match_number + 1).to_string());
    }
    if variant > 0 {
        parts.push((variant + 1).to_string());
    }
    parts
}

/// What a rule answers that cannot be carried out. A status of HTTP, which gRPC's clients translate.
fn refusal_status(kind: RouteKind) -> ConfigEntry {
    let unavailable = matches!(kind, RouteKind::Grpc | RouteKind::Ingress);
    let status = if unavailable { "503" } else { "500" };
    ConfigEntry::new("answer", status)
}

/// The keys of a rule that forwards.
#[derive(Default)]
struct ForwardText {
    action: Vec<ConfigEntry>,
    /// The keys of its `rewrite`, without a new path.
    rewrite: Vec<ConfigEntry>,
    forwards: bool,
    edits: Vec<PoolEdit>,
    pools: Vec<String>,
}

impl ForwardText {
    fn action_with_path(&self, new_path: Option<&str>) -> Vec<ConfigEntry> {
        let mut action = self.action.clone();
        let mut rewrite = self.rewrite.clone();
        rewrite.extend(new_path.map(|path| ConfigEntry::text("path", path)));
        if !rewrite.is_empty() && self.forwards {
            action.push(ConfigEntry::new("rewrite", inline_table(&rewrite)));
        }
        action
    }
}

fn write_forward(rule: &RulePlan, forward: &ForwardPlan, pools: &mut PoolBook) -> ForwardText {
    let kind = rule.identity.kind;
    let refusals: Vec<Option<BranchRefusal>> =
        forward.branches.iter().map(|branch| branch_refusal(branch, kind)).collect();
    let mut text = ForwardText { forwards: true, ..ForwardText::default() };
    let first = refusals.first().copied().unwrap_or(Some(BranchRefusal::Invalid));
    if let Some(refusal) = first.filter(|_| refusals.iter().all(|one| *one == first)) {
        text.forwards = false;
        text.action.push(match refusal {
            BranchRefusal::Unavailable => ConfigEntry::new("answer", "503"),
            BranchRefusal::Invalid | BranchRefusal::Reset => refusal_status(kind),
        });
        return text;
    }
    let mut branches = Vec::new();
    for (at, branch) in forward.branches.iter().enumerate() {
        let pool = match (&branch.target, refusals[at]) {
            (Ok(backend), None) => branch_pool(rule, at, branch, backend, pools, &mut text.edits),
            (_, refusal) => pools.refusal_pool(refusal.unwrap_or(BranchRefusal::Invalid)),
        };
        text.pools.push(pool.clone());
        branches.push(BranchWeight { pool, weight: branch.weight });
    }
    text.action.push(pool_entry(branches));
    if let Some(mirror) = &forward.mirror {
        let pool = pools.pool_of(&mirror.backend, &[]);
        let entries = [
            ConfigEntry::text("pool", &pool),
            ConfigEntry::new("percent", mirror.percent.to_string()),
        ];
        text.action.push(ConfigEntry::new("mirror", inline_table(&entries)));
        text.pools.push(pool);
    }
    text.action.extend(forward.timing.iter().cloned());
    text.rewrite = forward.filters.header_entries();
    let host = forward.filters.rewrite.as_ref().and_then(|rewrite| rewrite.hostname.as_deref());
    text.rewrite.extend(host.map(|host| ConfigEntry::text("host", host)));
    text
}

fn branch_refusal(branch: &BranchPlan, kind: RouteKind) -> Option<BranchRefusal> {
    match &branch.target {
        Err(_) if matches!(kind, RouteKind::Grpc | RouteKind::Ingress) => {
            Some(BranchRefusal::Unavailable)
        }
        Err(_) => Some(BranchRefusal::Invalid),
        Ok(backend) if backend.servers.is_empty() => Some(BranchRefusal::Unavailable),
        Ok(_) => None,
    }
}

fn branch_pool(
    rule: &RulePlan,
    at: usize,
    branch: &BranchPlan,
    backend: &ResolvedBackend,
    pools: &mut PoolBook,
    edits: &mut Vec<PoolEdit>,
) -> String {
    if branch.filters.is_empty() {
        return pools.pool_of(backend, &[]);
    }
    let route = &rule.identity.route;
    let number = (at + 1).to_string();
    let kind = rule.identity.kind.name();
    let owner = [kind, &route.namespace, &route.name, &rule.label, &number];
    let pool = pools.pool_of(backend, &owner);
    edits.push(PoolEdit { pool: pool.clone(), rewrite: branch.filters.header_entries() });
    pool
}

/// A pool and its share of a split.
pub struct BranchWeight {
    pub pool: String,
    pub weight: u32,
}

/// The key `pool` or `split`. Pools that come several times share their weights.
pub fn pool_entry(branches: Vec<BranchWeight>) -> ConfigEntry {
    let mut merged: Vec<BranchWeight> = Vec::new();
    for branch in branches {
        match merged.iter_mut().find(|known| known.pool == branch.pool) {
            Some(known) => known.weight = known.weight.saturating_add(branch.weight),
            None => merged.push(branch),
        }
    }
    if let [only] = merged.as_slice() {
        return ConfigEntry::text("pool", &only.pool);
    }
    let tables = merged.iter().map(|branch| {
        let weight = ConfigEntry::new("weight", branch.weight.to_string());
        inline_table(&[ConfigEntry::text("pool", &branch.pool), weight])
    });
    ConfigEntry::new("split", list(tables))
}

fn write_redirect(
    redirect: &RedirectFilter,
    filters: &FilterPlan,
    new_path: Option<&str>,
    listener: ListenerScheme,
) -> ConfigEntry {
    let own = if listener.is_tls { "https" } else { "http" };
    let scheme = redirect.scheme.as_deref().unwrap_or(own);
    let usual = if scheme == "https" { 443 } else { 80 };
    let implied = if redirect.scheme.is_some() { usual } else { listener.port };
    let port = redirect.port.unwrap_or(implied);
    let port = if port == usual { String::new() } else { format!(":{port}") };
    let host = redirect.hostname.as_deref().unwrap_or("{host-name}");
    let path = new_path.unwrap_or("{path}");
    let status = redirect.status_code.unwrap_or(302);
    let mut entries = vec![
        ConfigEntry::text("to", &format!("{scheme}://{host}{port}{path}{{query}}")),
        ConfigEntry::new("status", status.to_string()),
    ];
    entries.extend(filters.answer_headers());
    ConfigEntry::new("redirect", inline_table(&entries))
}
