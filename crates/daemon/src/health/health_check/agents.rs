//! Agent checks: which server's agent is queried when, and what its answer means: load for the weight controller, a
//! state for the control actor.
//!
//! Pure but for the counters and the cells that hold reports. A lost agent ages out: load becomes unknown and its state
//! ends; it never means idle, and never down.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use ::probe::agent::{AgentCommand, AgentHealth, AgentReply, parse};
use ::probe::probe_plan::ProbePlan;
use model::config::{AgentConfig, AgentKind, SocketOptions};
use model::id::ServerId;
use model::load_report::orca::{self, OrcaReport};
use model::load_report::{LoadSource, UtilizationReport};
use model::monotonic_time::MonotonicTime;
use model::snapshot::{PoolView, ServerState, ServerView};
use model::stats::ServerStats;

use super::counts::{ProbeCounts, increment};
use super::schedule::DeadlineSchedule;
use super::target::{ProbeOutcome, ProbeTarget, SharedProbePlan};
use crate::state::{ServerAgentReport, StateSnapshot};

pub(super) struct AgentPoller {
    servers: HashMap<ServerId, PolledAgent>,
    schedule: DeadlineSchedule<ServerId>,
    queries: u64,
    counts: Arc<ProbeCounts>,
}

struct PolledAgent {
    agent: AgentConfig,
    name: Arc<str>,
    /// Who is asked and how; `None`: nobody, answers bring reports.
    target: Option<ProbeTarget>,
    live: Arc<ServerStats>,
    /// The question under way.
    in_flight: Option<u64>,
    /// When it last answered.
    last_answer_at: Option<MonotonicTime>,
    /// What was passed on last.
    last_report: Option<(ServerState, String)>,
    /// Its loss, or its nonsense, was told.
    failure_reported: bool,
}

/// Which question an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AgentQueryId {
    server: ServerId,
    number: u64,
}

/// What is to be passed on.
#[derive(Debug, Default)]
pub(super) struct AgentUpdate {
    pub(super) report: Option<ServerAgentReport>,
    /// To the events: what happened, in a sentence.
    pub(super) event: Option<(&'static str, String)>,
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

    /// Follows what is in force. Returns words that end with their agents.
    pub(super) fn update_servers(
        &mut self,
        picture: &StateSnapshot,
        now: MonotonicTime,
    ) -> Vec<ServerAgentReport> {
        let mut gone: HashMap<ServerId, PolledAgent> = std::mem::take(&mut self.servers);
        for pool in picture.snapshot.pools.values() {
            let Some(agent) = &pool.config.agent else { continue };
            let socket = Arc::new(pool.config.socket.clone());
            let prepared = ProbePlan::for_agent(&agent.kind)
                .map(|plan| Arc::new(SharedProbePlan { plan, tls: None }));
            for server in &pool.servers {
                let target =
                    prepared.as_ref().and_then(|it| target(it, agent, pool, server, &socket));
                let known = gone.remove(&server.id).filter(|known| known.agent == *agent);
                let fresh = known.is_none();
                let asked = match known {
                    Some(known) => PolledAgent { target, ..known },
                    None => polled_agent(agent, pool, server, target),
                };
                self.servers.insert(server.id, asked);
                if fresh {
                    self.schedule.set(server.id, now);
                }
            }
        }
        let mut ended = Vec::new();
        for (server, asked) in gone {
            if !self.servers.contains_key(&server) {
                self.schedule.remove(&server);
            }
            if asked.last_report.is_some() {
                ended.push(ServerAgentReport { server, wanted: None });
            }
        }
        ended
    }

    /// The earliest moment at which something is to be done.
    pub(super) fn next_due(&mut self) -> Option<MonotonicTime> {
        self.schedule.next_due()
    }

    /// What is due: a question, or news that an agent is lost.
    pub(super) fn take_due(
        &mut self,
        now: MonotonicTime,
    ) -> Option<(Option<(AgentQueryId, ProbeTarget)>, AgentUpdate)> {
        let (_, server) = self.schedule.pop(now)?;
        let asked = self.servers.get_mut(&server)?;
        let news = expire_report(asked, server, now, &self.counts);
        self.schedule.set(server, now + asked.agent.every);
        // A question that has no answer yet is not asked again.
        let target = asked.target.clone().filter(|_| asked.in_flight.is_none());
        let question = target.map(|target| {
            self.queries += 1;
            asked.in_flight = Some(self.queries);
            (AgentQueryId { server, number: self.queries }, target)
        });
        Some((question, news))
    }

    pub(super) fn handle_answer(
        &mut self,
        question: AgentQueryId,
        outcome: ProbeOutcome,
        now: MonotonicTime,
    ) -> AgentUpdate {
        let Some(asked) = self.servers.get_mut(&question.server) else {
            return AgentUpdate::default();
        };
        if asked.in_flight != Some(question.number) {
            return AgentUpdate::default();
        }
        asked.in_flight = None;
        let text = match outcome {
            ProbeOutcome::Passed(what) => what,
            // Silence is told when the last report is too old.
            ProbeOutcome::Failed(_) | ProbeOutcome::NotMade(_) => {
                increment(&self.counts.agents_silent);
                return AgentUpdate::default();
            }
        };
        match asked.agent.kind {
            AgentKind::Orca { .. } => match orca::parse(text.as_bytes()) {
                Ok(report) => apply_orca_report(asked, &report, now, &self.counts),
                Err(error) => describe_garbage(asked, &error.to_string(), &self.counts),
            },
            AgentKind::Text { .. } => match parse(text.as_bytes()) {
                Some(says) => apply_text_report(asked, question.server, &says, now, &self.counts),
                None => describe_garbage(asked, "its line says nothing", &self.counts),
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
    let at = server.address?;
    let address = SocketAddr::new(at.ip(), agent.port.unwrap_or(at.port()));
    let host: Arc<str> = address.to_string().into();
    let sources = pool.config.source.iter().copied();
    Some(ProbeTarget {
        address,
        source: sources.clone().find(|source| source.is_ipv4() == address.is_ipv4()),
        proxy_header: None,
        socket: Arc::clone(socket),
        plan: Arc::clone(prepared),
        server_name: Arc::clone(&host),
        host,
        name: format!("{}/{}", pool.config.name, server.config.name).into(),
        timeout: agent.timeout,
    })
}

/// Takes away what is too old.
fn expire_report(
    asked: &mut PolledAgent,
    server: ServerId,
    now: MonotonicTime,
    counts: &ProbeCounts,
) -> AgentUpdate {
    let age = asked.agent.age;
    let expired = asked.live.load.expire_older_than(now, age);
    let quiet = asked.last_answer_at.is_some_and(|heard| now.since(heard) > age);
    if quiet {
        asked.last_answer_at = None;
    }
    if !expired && !quiet {
        return AgentUpdate::default();
    }
    increment(&counts.agents_lost);
    asked.failure_reported = true;
    let word = asked.last_report.take().map(|_| ServerAgentReport { server, wanted: None });
    let text = format!(
        "{}: no report for {}: its load is not known any more",
        asked.name,
        crate::util::duration_text::format_duration(age)
    );
    AgentUpdate { report: word, event: Some(("agent-lost", text)) }
}

fn apply_orca_report(
    asked: &mut PolledAgent,
    orca: &OrcaReport,
    now: MonotonicTime,
    counts: &ProbeCounts,
) -> AgentUpdate {
    let back = apply_report(asked, now);
    match orca.utilization() {
        Some(value) => merge_updates(back, put(asked, value, LoadSource::Orca, now, counts)),
        None => back,
    }
}

/// A share of what it can take is the rest of its load.
fn apply_text_report(
    asked: &mut PolledAgent,
    server: ServerId,
    says: &AgentReply,
    now: MonotonicTime,
    counts: &ProbeCounts,
) -> AgentUpdate {
    let mut news = apply_report(asked, now);
    if let Some(share) = says.weight_share {
        news = merge_updates(news, put(asked, 1.0 - share, LoadSource::Agent, now, counts));
    }
    if says.unknown > 0 {
        increment(&counts.agents_unknown);
    }
    let why = |what: &str| match says.reason.as_str() {
        "" => format!("its agent says {what}"),
        reason => format!("its agent says {what}: {reason}"),
    };
    // What is not said stays as it was: the protocol's lines need not repeat themselves.
    let said = match (says.health, says.command) {
        (Some(AgentHealth::Down), _) => Some((ServerState::Down, why("down"))),
        (_, Some(AgentCommand::Drain)) => Some((ServerState::Drain, why("drain"))),
        (_, Some(AgentCommand::Maintenance)) => Some((ServerState::Disabled, why("maint"))),
        (Some(AgentHealth::Up), _) | (_, Some(AgentCommand::Ready)) => None,
        (None, None) => return news,
    };
    if said != asked.last_report {
        asked.last_report.clone_from(&said);
        news.report = Some(ServerAgentReport { server, wanted: said });
    }
    news
}

fn apply_report(asked: &mut PolledAgent, now: MonotonicTime) -> AgentUpdate {
    asked.last_answer_at = Some(now);
    let event = std::mem::take(&mut asked.failure_reported)
        .then(|| ("agent-back", format!("{}: its agent reports again", asked.name)));
    AgentUpdate { report: None, event }
}

fn put(
    asked: &PolledAgent,
    value: f64,
    source: LoadSource,
    now: MonotonicTime,
    counts: &ProbeCounts,
) -> AgentUpdate {
    let (report, clamped) = UtilizationReport::new_clamped(value, now, source);
    asked.live.load.store(report);
    if !clamped {
        return AgentUpdate::default();
    }
    let before = counts.agents_clamped.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let text = format!(
        "{}: its agent reports a load of {}, taken as {}",
        asked.name,
        percent(value),
        percent(report.value)
    );
    // The first and then ever fewer are told; all are counted.
    let told = (before + 1).is_power_of_two();
    AgentUpdate { report: None, event: told.then_some(("agent-clamped", text)) }
}

/// A load in few characters, whatever an agent says.
fn percent(load: f64) -> String {
    const MOST: f64 = 1e6;
    match load * 100.0 {
        percent if percent.abs() <= MOST => format!("{percent:.0} %"),
        percent if percent < 0.0 => format!("less than -{MOST:.0} %"),
        percent if percent > 0.0 => format!("more than {MOST:.0} %"),
        _ => "no number".to_owned(),
    }
}

fn describe_garbage(asked: &mut PolledAgent, why: &str, counts: &ProbeCounts) -> AgentUpdate {
    increment(&counts.agents_unknown);
    let told = std::mem::replace(&mut asked.failure_reported, true);
    let text = format!("{}: its agent is not understood: {why}", asked.name);
    AgentUpdate { report: None, event: (!told).then_some(("agent-nonsense", text)) }
}

fn merge_updates(first: AgentUpdate, second: AgentUpdate) -> AgentUpdate {
    AgentUpdate { report: first.report.or(second.report), event: second.event.or(first.event) }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_load_is_told_in_few_characters_whatever_it_is() {
        for (load, told) in [(0.5, "50 %"), (-0.25, "-25 %"), (2.0, "200 %")] {
            assert_eq!(percent(load), told);
        }
        for hostile in [1e300, -1e300, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(percent(hostile).len() <= 24, "{}", percent(hostile));
        }
    }
}
