//! A service for the TLS or TCP listeners of one port, with the routes of connections: TLSRoute and TCPRoute.

use crate::backends::{
    BackendProtocol, BackendUser, ConditionFailure, ResolvedBackend, resolve_backend,
};
use crate::document::{RuleText, ServiceText};
use crate::host_names::{HostSpecificity, rank_host};
use crate::http_rows::{BranchWeight, pool_entry};
use crate::listeners::RouteKind;
use crate::names::NameRegistry;
use crate::object_set::ObjectSet;
use crate::objects::metadata::{ObjectAge, ObjectKey};
use crate::objects::routes::StreamRoute;
use crate::pools::{BranchRefusal, PoolBook};
use crate::rule_match::condition_table;
use crate::toml_text::ConfigEntry;

/// A TLSRoute or a TCPRoute, planned. Of several rules of a TCPRoute the first counts, because nothing tells them apart.
#[derive(Clone, Debug)]
pub struct StreamPlan {
    pub kind: RouteKind,
    pub key: ObjectKey,
    branches: Vec<StreamBranch>,
    pub unresolved: Vec<ConditionFailure>,
    /// Why some of its rules have no effect.
    pub surplus: Option<ConditionFailure>,
}

#[derive(Clone, Debug)]
struct StreamBranch {
    weight: u32,
    /// `None`: it leads nowhere.
    backend: Option<ResolvedBackend>,
}

/// A route at a listener of connections.
#[derive(Clone, Debug)]
pub struct StreamRow {
    pub host: Option<String>,
    pub age: ObjectAge,
    pub plan: StreamPlan,
}

/// The routes of one listener.
#[derive(Clone, Debug)]
pub struct StreamListener {
    pub listener: String,
    pub hostname: Option<String>,
    pub rows: Vec<StreamRow>,
}

pub fn plan_stream_route(set: &ObjectSet, route: &StreamRoute, kind: RouteKind) -> StreamPlan {
    let user = BackendUser {
        kind: kind.name(),
        namespace: route.metadata.namespace(),
        protocol: BackendProtocol::Stream,
    };
    let mut unresolved = Vec::new();
    let mut branches = Vec::new();
    for (at, rule) in route.spec.rules.iter().enumerate() {
        for reference in &rule.backend_refs {
            let target = resolve_backend(set, &user, &reference.target());
            unresolved.extend(target.as_ref().err().cloned());
            if at == 0 && reference.weight > 0 {
                let backend = target.ok().filter(|backend| !backend.servers.is_empty());
                branches.push(StreamBranch { weight: reference.weight, backend });
            }
        }
    }
    unresolved.sort();
    unresolved.dedup();
    let surplus = (route.spec.rules.len() > 1).then(|| {
        let message = "Dropped Rule, all but the first: nothing tells the others apart from it";
        ConditionFailure::new("UnsupportedValue", message)
    });
    StreamPlan { kind, key: route.metadata.key(), branches, unresolved, surplus }
}

/// Adds the rules of the listeners of one port to their service. What no route takes is refused.
pub fn write_stream_rules(
    mut listeners: Vec<StreamListener>,
    service: &mut ServiceText,
    pools: &mut PoolBook,
) {
    let rank = |host: &Option<String>| -> HostSpecificity { rank_host(host.as_deref()) };
    listeners.sort_by(|a, b| {
        rank(&a.hostname).cmp(&rank(&b.hostname)).then_with(|| a.listener.cmp(&b.listener))
    });
    let mut names = NameRegistry::default();
    for mut listener in listeners {
        listener
            .rows
            .sort_by(|a, b| rank(&a.host).cmp(&rank(&b.host)).then_with(|| a.age.cmp(&b.age)));
        for row in &listener.rows {
            let key = &row.plan.key;
            let name = names.fresh_name(&[&key.namespace, &key.name]);
            let mut entries = named_condition(&name, row.host.as_deref());
            entries.push(action_entry(&row.plan, pools));
            let comment = format!("{} {key}", row.plan.kind.name());
            service.rules.push(RuleText { comment, entries });
        }
        let name = names.fresh_name(&[&listener.listener, "no-route"]);
        let mut entries = named_condition(&name, listener.hostname.as_deref());
        entries.push(ConfigEntry::new("deny", "true"));
        let comment = format!("listener {}: no route has the connection", listener.listener);
        service.rules.push(RuleText { comment, entries });
    }
    let name = names.fresh_name(&["no-listener"]);
    let mut entries = named_condition(&name, None);
    entries.push(ConfigEntry::new("deny", "true"));
    let comment = "no listener has the name".to_owned();
    service.rules.push(RuleText { comment, entries });
    service.end_at_first_open_rule();
}

fn named_condition(name: &str, host: Option<&str>) -> Vec<ConfigEntry> {
    let mut entries = vec![ConfigEntry::text("name", name)];
    let condition = host.map(|host| ConfigEntry::text("sni", host));
    entries.extend(condition_table(condition.as_slice()));
    entries
}

fn action_entry(plan: &StreamPlan, pools: &mut PoolBook) -> ConfigEntry {
    if plan.branches.iter().all(|branch| branch.backend.is_none()) {
        return ConfigEntry::new("deny", "true");
    }
    let branches = plan.branches.iter().map(|branch| {
        let pool = match &branch.backend {
            Some(backend) => pools.pool_of(backend, &[]),
            None => pools.refusal_pool(BranchRefusal::Reset),
        };
        BranchWeight { pool, weight: branch.weight }
    });
    pool_entry(branches.collect())
}
