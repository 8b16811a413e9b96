//! Agent checks: which server's agent is queried when, and what its answer means: load for the weight controller, a
//! state for the control actor.
//!
//! Pure but for the counters and the cells that hold reports. A lost agent ages out: load becomes unknown and its state
//! ends; it never means idle, and never down.

use std::collections::HashMap;
use std::sync::Arc;

use ::probe::agent::{AgentCommand, AgentHealth, AgentReply, parse};
use ::probe::probe_plan::ProbePlan;
use model::config::{AgentConfig, AgentKind, SocketOptions};
use model::id::ServerId;
use model::load_report::orca::{self, OrcaReport};
use model::load_report::{ClampedReport, LoadSource, UtilizationReport};
use model::monotonic_time::MonotonicTime;
use model::snapshot::{PoolView, ServerState, ServerView};
use model::stats::ServerStats;

use super::counts::{ProbeCounts, increment};
use super::schedule::DeadlineSchedule;
use super::target::{ProbeOutcome, ProbeTarget, SharedProbePlan, with_port};
use crate::state::{AgentRequestedState, ServerAgentReport, StateSnapshot};

pub(super) struct AgentPoller {
    servers: HashMap<ServerId, PolledAgent>,
    schedule: DeadlineSchedule<ServerId>,
    queries: u64,
    counts: Arc<ProbeCounts>,
}

struct PolledAgent {
    agent: AgentConfig,
    name: Arc<str>,
    /// The address and the query of the agent. `None`: the agent is not queried, because reports arrive in the server's
    /// responses.
    target: Option<ProbeTarget>,
    live: Arc<ServerStats>,
    /// The question under way.
    in_flight: Option<u64>,
    /// When it last answered.
    last_answer_at: Option<MonotonicTime>,
    last_report: Option<AgentRequestedState>,
    /// The loss or the malformed report has been logged.
    failure_reported: bool,
}

/// Which question an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AgentQueryId {
    server: ServerId,
    number: u64,
}

/// A warning about an agent, for the event log.
#[derive(Debug)]
pub(super) struct AgentWarning {
    pub(super) kind: &'static str,
    pub(super) text: String,
}

/// A query that is to be sent now.
pub(super) struct DueAgentQuery {
    pub(super) id: AgentQueryId,
    pub(super) target: ProbeTarget,
}

/// What is due for one agent.
pub(super) struct DueAgent {
    /// `None`: a query is unanswered, or the agent is not queried.
    pub(super) query: Option<DueAgentQuery>,
    pub(super) update: AgentUpdate,
}

/// The result of a change in an agent.
#[derive(Debug, Default)]
pub(super) struct AgentUpdate {
    pub(super) report: Option<ServerAgentReport>,
    pub(super) warning: Option<AgentWarning>,
}

impl AgentPoller {
    pub(super) fn new(counts: Arc<ProbeCounts>) -> AgentPoller {
        AgentPoller {
            servers: HashMap::new(),
            schedule: DeadlineSchedule::default(),
            queries: 0,
            counts,
        }
    }

    /// Follows the active configuration. Returns reports that end with their agents.
    pub(super) fn update_servers(
        &mut self,
        snapshot: &StateSnapshot,
        now: MonotonicTime,
    ) -> Vec<ServerAgentReport> {
        let mut gone: HashMap<ServerId, PolledAgent> = std::mem::take(&mut self.servers);
        for pool in snapshot.snapshot.pools.values() {
            let Some(agent) = &pool.config.agent else { continue };
            let socket = Arc::new(pool.config.socket.clone());
            let prepared = ProbePlan::for_agent(&agent.kind)
                .map(|plan| Arc::new(SharedProbePlan { plan, tls: None }));
            for server in &pool.servers {
                let target = prepared.as_ref().and_then(|prepared_probe| {
                    target(prepared_probe, agent, pool, server, &socket)
                });
                let known = gone.remove(&server.id).filter(|known| known.agent == *agent);
                let fresh = known.is_none();
                let polled = match known {
                    Some(known) => PolledAgent { target, ..known },
                    None => polled_agent(agent, pool, server, target),
                };
                self.servers.insert(server.id, polled);
                if fresh {
                    self.schedule.set(server.id, now);
                }
            }
        }
        let mut ended = Vec::new();
        for (server, polled) in gone {
            if !self.servers.contains_key(&server) {
                self.schedule.remove(&server);
            }
            if polled.last_report.is_some() {
                ended.push(ServerAgentReport { server, wanted: None });
            }
        }
        ended
    }

    /// The earliest moment at which something is to be done.
    pub(super) fn next_due(&mut self) -> Option<MonotonicTime> {
        self.schedule.next_due()
    }

    /// Queries that are due, and agents that are lost.
    pub(super) fn take_due(&mut self, now: MonotonicTime) -> Option<DueAgent> {
        let server = self.schedule.pop(now)?.key;
        let polled = self.servers.get_mut(&server)?;
        let update = expire_report(polled, server, now, &self.counts);
        self.schedule.set(server, now + polled.agent.every);
        // While a query is unanswered no other one is sent.
        let target = polled.target.clone().filter(|_| polled.in_flight.is_none());
        let query = target.map(|target| {
            self.queries += 1;
            polled.in_flight = Some(self.queries);
            DueAgentQuery { id: AgentQueryId { server, number: self.queries }, target }
        });
        Some(DueAgent { query, update })
    }

    pub(super) fn handle_answer(
        &mut self,
        question: AgentQueryId,
        outcome: ProbeOutcome,
        now: MonotonicTime,
    ) -> AgentUpdate {
        let Some(polled) = self.servers.get_mut(&question.server) else {
            return AgentUpdate::default();
        };
        if polled.in_flight != Some(question.number) {
            return AgentUpdate::default();
        }
        polled.in_flight = None;
        let text = match outcome {
            ProbeOutcome::Passed(answer_text) => answer_text,
            // A silent agent is reported once its last report has expired.
            ProbeOutcome::Failed(_) | ProbeOutcome::NotMade(_) => {
                increment(&self.counts.agents_silent);
                return AgentUpdate::default();
            }
        };
        match polled.agent.kind {
            AgentKind::Orca { .. } => match orca::parse(text.as_bytes()) {
                Ok(report) => apply_orca_report(polled, &report, now, &self.counts),
                Err(error) => describe_garbage(polled, &error.to_string(), &self.counts),
            },
            AgentKind::Text { .. } => match parse(text.as_bytes()) {
                Some(says) => apply_text_report(polled, question.server, &says, now, &self.counts),
                None => describe_garbage(polled, "its line says nothing", &self.counts),
            },
            AgentKind::Answers => AgentUpdate::default(),
        }
    }
}

fn polled_agent(
    agent: &AgentConfig,
    pool: &PoolView,
    server: &ServerView,
    target: Option<ProbeTarget>,
) -> PolledAgent {
    PolledAgent {
        agent: agent.clone(),
        name: format!("{}/{}", pool.config.name, server.config.name).into(),
        target,
        live: Arc::clone(&server.stats),
        in_flight: None,
        last_answer_at: None,
        last_report: None,
        failure_reported: false,
    }
}

fn target(
    prepared: &Arc<SharedProbePlan>,
    agent: &AgentConfig,
    pool: &PoolView,
    server: &ServerView,
    socket: &Arc<SocketOptions>,
) -> Option<ProbeTarget> {
    let address = with_port(server.address.as_ref()?, agent.port);
    let host: Arc<str> = match address.socket_address() {
        Some(at) => at.to_string().into(),
        None => server.config.address.host.authority_host().into(),
    };
    let sources = pool.config.source.iter().copied();
    let source = address
        .socket_address()
        .and_then(|at| sources.clone().find(|source| source.is_ipv4() == at.is_ipv4()));
    Some(ProbeTarget {
        address,
        source,
        proxy_header: None,
        socket: Arc::clone(socket),
        plan: Arc::clone(prepared),
        server_name: Arc::clone(&host),
        host,
        name: format!("{}/{}", pool.config.name, server.config.name).into(),
        timeout: agent.timeout,
    })
}

/// Removes an expired report.
fn expire_report(
    polled: &mut PolledAgent,
    server: ServerId,
    now: MonotonicTime,
    counts: &ProbeCounts,
) -> AgentUpdate {
    let age = polled.agent.age;
    let expired = polled.live.load.expire_older_than(now, age);
    let quiet = polled.last_answer_at.is_some_and(|heard| now.since(heard) > age);
    if quiet {
        polled.last_answer_at = None;
    }
    if !expired && !quiet {
        return AgentUpdate::default();
    }
    increment(&counts.agents_lost);
    polled.failure_reported = true;
    let lost_report = polled.last_report.take().map(|_| ServerAgentReport { server, wanted: None });
    let text = format!(
        "{}: no report for {}: its load is not known any more",
        polled.name,
        crate::util::duration_text::format_duration(age)
    );
    AgentUpdate { report: lost_report, warning: Some(AgentWarning { kind: "agent-lost", text }) }
}

fn apply_orca_report(
    polled: &mut PolledAgent,
    orca: &OrcaReport,
    now: MonotonicTime,
    counts: &ProbeCounts,
) -> AgentUpdate {
    let back = apply_report(polled, now);
    match orca.utilization() {
        Some(value) => merge_updates(back, put(polled, value, LoadSource::Orca, now, counts)),
        None => back,
    }
}

/// A weight in percent of capacity leaves the rest as load.
fn apply_text_report(
    polled: &mut PolledAgent,
    server: ServerId,
    says: &AgentReply,
    now: MonotonicTime,
    counts: &ProbeCounts,
) -> AgentUpdate {
    let mut news = apply_report(polled, now);
    if let Some(share) = says.weight_share {
        news = merge_updates(news, put(polled, 1.0 - share, LoadSource::Agent, now, counts));
    }
    if says.unknown > 0 {
        increment(&counts.agents_unknown);
    }
    let wish = |state, default: &str| {
        let reason = match says.reason.as_str() {
            "" => format!("its agent says {default}"),
            reason => format!("its agent says {default}: {reason}"),
        };
        Some(AgentRequestedState { state, reason })
    };
    // Parts that a report leaves out stay unchanged, as the agent protocol specifies.
    let wanted = match (says.health, says.command) {
        (Some(AgentHealth::Down), _) => wish(ServerState::Down, "down"),
        (_, Some(AgentCommand::Drain)) => wish(ServerState::Drain, "drain"),
        (_, Some(AgentCommand::Maintenance)) => wish(ServerState::Disabled, "maint"),
        (Some(AgentHealth::Up), _) | (_, Some(AgentCommand::Ready)) => None,
        (None, None) => return news,
    };
    if wanted != polled.last_report {
        polled.last_report.clone_from(&wanted);
        news.report = Some(ServerAgentReport { server, wanted });
    }
    news
}

fn apply_report(polled: &mut PolledAgent, now: MonotonicTime) -> AgentUpdate {
    polled.last_answer_at = Some(now);
    let warning = std::mem::take(&mut polled.failure_reported).then(|| AgentWarning {
        kind: "agent-back",
        text: format!("{}: its agent reports again", polled.name),
    });
    AgentUpdate { report: None, warning }
}

fn put(
    polled: &PolledAgent,
    value: f64,
    source: LoadSource,
    now: MonotonicTime,
    counts: &ProbeCounts,
) -> AgentUpdate {
    let ClampedReport { report, clamped } = UtilizationReport::new_clamped(value, now, source);
    polled.live.load.store(report);
    if !clamped {
        return AgentUpdate::default();
    }
    let before = counts.agents_clamped.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let text = format!(
        "{}: its agent reports a load of {}, taken as {}",
        polled.name,
        percent(value),
        percent(report.value)
    );
    // Only the failures 1, 2, 4, 8 and so on are logged; all are counted.
    let logged = (before + 1).is_power_of_two();
    let warning = logged.then_some(AgentWarning { kind: "agent-out-of-range", text });
    AgentUpdate { report: None, warning }
}

/// Formats a load briefly, regardless of the value that the agent sent.
fn percent(load: f64) -> String {
    /// The digits of more than a million percent have no use, and an f64 may have 300 of them.
    const MOST: f64 = 1e6;
    match load * 100.0 {
        percent if percent.abs() <= MOST => format!("{percent:.0} %"),
        percent if percent < 0.0 => format!("less than -{MOST:.0} %"),
        percent if percent > 0.0 => format!("more than {MOST:.0} %"),
        _ => "no number".to_owned(),
    }
}

fn describe_garbage(polled: &mut PolledAgent, why: &str, counts: &ProbeCounts) -> AgentUpdate {
    increment(&counts.agents_unknown);
    let already_logged = std::mem::replace(&mut polled.failure_reported, true);
    let text = format!("{}: its agent is not understood: {why}", polled.name);
    let warning = (!already_logged).then_some(AgentWarning { kind: "agent-nonsense", text });
    AgentUpdate { report: None, warning }
}

fn merge_updates(first: AgentUpdate, second: AgentUpdate) -> AgentUpdate {
    AgentUpdate {
        report: first.report.or(second.report),
        warning: second.warning.or(first.warning),
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_load_is_written_in_few_characters_whatever_it_is() {
        for (load, text) in [(0.5, "50 %"), (-0.25, "-25 %"), (2.0, "200 %")] {
            assert_eq!(percent(load), text);
        }
        for hostile in [1e300, -1e300, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(percent(hostile).len() <= 24, "{}", percent(hostile));
        }
    }
}
