//! From a server's facts to what a probe of it needs, prepared once for all that are probed alike.

use std::collections::HashMap;
use std::sync::Arc;

use ::probe::probe_plan::ProbePlan;
use model::config::{PoolConfig, ProbeKind, ProbeTls, ServerAddress, ServerHost, SocketOptions};
use model::health_check::ServerHealth;

use super::target::{ProbeTarget, SharedProbePlan, with_port};
use crate::state::ServerFacts;

/// The settings that a prepared health check depends on.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ProbePlanKey {
    kind: ProbeKind,
    tls: Option<ProbeTls>,
}

/// Prepared health checks, by the settings that they depend on.
#[derive(Debug, Default)]
pub(super) struct ProbePlanCache(HashMap<ProbePlanKey, Arc<SharedProbePlan>>);

impl ProbePlanCache {
    /// Removes entries that no server uses.
    pub(super) fn remove_unused(&mut self) {
        self.0.retain(|_, prepared| Arc::strong_count(prepared) > 1);
    }
}

/// A probe of one server, prepared once for all servers with equal settings.
pub(super) struct ProbeTemplate {
    plan: Arc<SharedProbePlan>,
    host: Arc<str>,
    server_name: Arc<str>,
    name: Arc<str>,
    description: String,
}

impl ProbeTemplate {
    pub(super) fn new(
        known: &mut ProbePlanCache,
        facts: &ServerFacts,
        health: &ServerHealth,
    ) -> ProbeTemplate {
        let due = health.due_probe();
        let key = ProbePlanKey { kind: due.kind.clone(), tls: due.tls.cloned() };
        let prepared = known.0.entry(key).or_insert_with_key(|ProbePlanKey { kind, tls }| {
            Arc::new(SharedProbePlan {
                plan: ProbePlan::new(kind, tls.is_some()),
                tls: tls.clone(),
            })
        });
        let bare = match &facts.config.address.host {
            ServerHost::Ip(ip) => ip.to_string(),
            other => other.authority_host(),
        };
        let port = due.port.unwrap_or(facts.config.address.port);
        ProbeTemplate {
            plan: Arc::clone(prepared),
            host: host(&facts.config.address.host, port).into(),
            server_name: bare.into(),
            name: format!("{}/{}", facts.pool_name, facts.config.name).into(),
            description: question(facts, health),
        }
    }

    /// The probe as evidence names it.
    pub(super) fn description(&self) -> &str {
        &self.description
    }
}

/// Describes a probe: `http GET /healthz over tls at 10.0.0.11:8080`.
fn question(facts: &ServerFacts, health: &ServerHealth) -> String {
    let due = health.due_probe();
    let tls = if due.tls.is_some() { " over tls" } else { "" };
    let port = due.port.unwrap_or(facts.config.address.port);
    let at = ServerAddress { port, ..facts.config.address.clone() };
    format!("{}{tls} at {at}", due.kind.describe())
}

/// The next probe of a server, where its address is known.
pub(super) fn probe_target(
    facts: &ServerFacts,
    ready: &ProbeTemplate,
    health: &ServerHealth,
    pool: &PoolConfig,
    socket: &Arc<SocketOptions>,
) -> Option<ProbeTarget> {
    let due = health.due_probe();
    let at = facts.resolved.endpoint()?;
    let address = with_port(at, due.port);
    let source = address.socket_address().and_then(|address| {
        pool.source.iter().copied().find(|source| source.is_ipv4() == address.is_ipv4())
    });
    Some(ProbeTarget {
        source,
        // A separate health-check port expects no PROXY header; only the traffic port does.
        proxy_header: pool.send_proxy.filter(|_| address == *at),
        address,
        socket: Arc::clone(socket),
        plan: Arc::clone(&ready.plan),
        host: Arc::clone(&ready.host),
        server_name: Arc::clone(&ready.server_name),
        name: Arc::clone(&ready.name),
        timeout: due.timeout,
    })
}

/// The server's own name or address, with the port unless it is HTTP's.
fn host(host: &ServerHost, port: u16) -> String {
    let name = host.authority_host();
    if port == 80 || host.is_unix() { name } else { format!("{name}:{port}") }
}
