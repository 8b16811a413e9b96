//! State snapshot → why servers have their weights. Pure: it shows what the weight controller computed, and computes
//! nothing.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use api::types::{
    ControllerExplained, EjectionExplained, OperatorWeight, ServerExplained, ServerStatus,
    ServersExplained, WeightExplained,
};
use model::config::Priority;
use model::id::ServerId;
use model::load_balancing::eligible_servers::{EligibleServers, EligibleTier};
use model::snapshot::{PoolView, ServerView};

use super::server_status::server_status;
use crate::health::adaptive_balancing::decisions::{BalancingDecisions, EjectionDecision};
use crate::health::health_check::evidence_board::EvidenceBoard;
use crate::planes::draining_clients::counts::RemainingClients;
use crate::state::{ServerFacts, StateSnapshot};
use crate::util::wall_clock::unix_ms;

/// One server of a pool, or all with `*`; `None`: there is no such pool, or no such server in it.
pub fn explain_weights(
    snapshot: &StateSnapshot,
    board: &EvidenceBoard,
    weighed: &BalancingDecisions,
    kept: &HashMap<ServerId, RemainingClients>,
    pool: &str,
    name: &str,
    now: SystemTime,
) -> Option<ServersExplained> {
    let view = snapshot.snapshot.pools.values().find(|view| view.config.name == pool)?;
    let eligible = EligibleServers::from_view(view);
    let chosen = view.servers.iter().enumerate();
    let chosen = chosen.filter(|(_, server)| name == "*" || server.config.name == name);
    let servers: Vec<ServerExplained> = chosen
        .filter_map(|(at, server)| {
            let facts = snapshot.servers.get(&server.id)?;
            let weight = explain_weight(view, server, facts, weighed);
            let ejection = ejection(view, server.id, facts, weighed);
            let left = kept.get(&server.id).copied();
            let status = server_status(server, facts, board.latest(server.id), left, unix_ms(now));
            Some(ServerExplained {
                ejection,
                ..explain_one(&eligible, at, server, status, board, weight)
            })
        })
        .collect();
    (!servers.is_empty()).then(|| ServersExplained {
        pool: pool.to_owned(),
        balance: view.config.balance.name().to_owned(),
        selection: turn(view, &eligible),
        now_unix_ms: unix_ms(now),
        servers,
    })
}

fn explain_one(
    eligible: &EligibleServers,
    at: usize,
    server: &ServerView,
    status: ServerStatus,
    board: &EvidenceBoard,
    weight: WeightExplained,
) -> ServerExplained {
    let all: u64 = eligible.servers.iter().map(|slot| u64::from(slot.weight)).sum();
    let own = eligible.servers.iter().find(|slot| slot.index == at).map(|slot| slot.weight);
    let load = server.stats.load.load();
    ServerExplained {
        server: status,
        rank: server.config.priority.describe(),
        available: own.is_some(),
        share_percent: own.map_or(0.0, |own| f64::from(own) * 100.0 / all.max(1) as f64),
        weight,
        ejection: None,
        probe_ms: board.probe_time(server.id).map(|time| time.as_secs_f64() * 1e3),
        first_byte_ms: server.stats.latency.mean().map(|mean| f64::from(mean.micros) / 1e3),
        load: load.map(|report| report.value),
        load_source: load.map(|report| report.source.name().to_owned()),
    }
}

fn explain_weight(
    view: &PoolView,
    server: &ServerView,
    facts: &ServerFacts,
    weighed: &BalancingDecisions,
) -> WeightExplained {
    let controller = view.config.judge.as_ref().and_then(|judge| {
        let sum = weighed.weight_decision(server.id)?;
        Some(ControllerExplained {
            calculation: sum.calculation,
            proportions: [judge.active, judge.new, judge.latency, judge.agent],
            change_percent: sum.change,
            sensitivity_percent: judge.sensitivity,
            at_unix_ms: unix_ms(sum.at),
        })
    });
    WeightExplained {
        configured: facts.config.weight.get(),
        operator: facts.overrides.weight.as_ref().map(|word| OperatorWeight {
            weight: word.value.get(),
            by: word.by.to_string(),
            at_unix_ms: unix_ms(word.at),
        }),
        controller,
        controller_weight: facts.share.and_then(|share| share.controller),
        slow_start_percent: facts.share.map_or(100, |share| share.slow_start_percent),
        active: server.weight.get(),
    }
}

fn ejection(
    view: &PoolView,
    id: ServerId,
    facts: &ServerFacts,
    weighed: &BalancingDecisions,
) -> Option<EjectionExplained> {
    let terms = view.config.eject.as_ref()?;
    let EjectionDecision { evaluation, at } = weighed.ejection_decision(id)?;
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    Some(EjectionExplained {
        text: evaluation.to_string(),
        evaluation,
        failures: terms.failures,
        rate_percent: terms.rate,
        truncation_rate_percent: terms.cut_rate,
        min_requests: terms.volume,
        interval_ms: millis(terms.interval),
        max_percent: terms.share,
        until_unix_ms: facts.ejection.as_ref().map(|out| unix_ms(out.until)),
        at_unix_ms: unix_ms(at),
    })
}

fn turn(view: &PoolView, eligible: &EligibleServers) -> String {
    let several = eligible.servers.len();
    let servers =
        if several == 1 { "1 server is".to_owned() } else { format!("{several} servers are") };
    let to = |priority: Priority| match view.servers.iter().map(|it| it.config.priority).min() {
        Some(first) if first < priority => format!("down to {}", priority.describe()),
        _ => format!("of {}", priority.describe()),
    };
    match eligible.tier {
        EligibleTier::Empty => "no server is available".to_owned(),
        EligibleTier::Up(priority) => {
            format!("{servers} available: those that are up, {}", to(priority))
        }
        EligibleTier::Unknown(priority) => {
            format!(
                "{servers} available: no server is up, so those without a health check result, {}",
                to(priority)
            )
        }
        EligibleTier::LastResort => format!("{servers} available: no other is, so the last resort"),
        EligibleTier::AllDown => {
            format!("{servers} available: no server is up, and all-down is spread")
        }
    }
}
