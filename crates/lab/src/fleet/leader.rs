//! Leads agents through one run: sends each its part, starts all, and sums their counts.
//!
//! When an agent is lost, its last report counts. The run continues without it and adds a note.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::agent_monitor::{AgentEnd, AgentMonitor, AgentState};
use super::channel::{ChannelError, FleetChannel, FleetToken};
use super::protocol::{AgentMessage, LeaderMessage, MESSAGE_TIMEOUT, VERSION, split_plan};
use crate::load::{LoadPlan, LoadPlanError, LoadReport, TallyRecordError};
use crate::result::AgentPart;
use crate::result_note::{NoteSeverity, ResultNote};

/// The machines that make the load.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub agents: Vec<SocketAddr>,
    pub token: FleetToken,
}

#[derive(Clone, Debug)]
pub struct FleetOutcome {
    /// The sum of all counts.
    pub report: LoadReport,
    /// The part of each agent.
    pub parts: Vec<AgentPart>,
    /// Limits of agents, and lost agents.
    pub notes: Vec<ResultNote>,
    /// Whether the run was stopped early from outside.
    pub stopped: bool,
}

/// Why a run could not start.
#[derive(Debug, Error)]
pub enum FleetError {
    /// An agent cannot be reached or rejects the token.
    #[error("agent {agent}: {why}")]
    Agent { agent: SocketAddr, why: ChannelError },
    /// An agent refuses its part.
    #[error("agent {agent} refuses: {why}")]
    Refused { agent: SocketAddr, why: String },
    /// The load is too small to be divided among the agents.
    #[error("divided among {0} agents: {1}")]
    Part(usize, LoadPlanError),
    /// An agent reported invalid counts.
    #[error("an agent's counts: {0}")]
    Counts(#[from] TallyRecordError),
}

/// One agent of the run.
struct FleetAgent {
    agent: SocketAddr,
    channel: FleetChannel,
    monitor: AgentMonitor,
    notes: Vec<ResultNote>,
    about: String,
}

/// Runs a load. `on_report` is called every second with all counts until then.
///
/// # Errors
/// An agent could not start; then none has.
pub fn run_fleet(
    plan: &LoadPlan,
    fleet: &Fleet,
    stop: &Arc<AtomicBool>,
    on_report: &mut dyn FnMut(&LoadReport),
) -> Result<FleetOutcome, FleetError> {
    let parts = split_plan(plan, fleet.agents.len());
    for part in &parts {
        part.check().map_err(|error| FleetError::Part(fleet.agents.len(), error))?;
    }
    let pairs = fleet.agents.iter().zip(parts);
    let mut hands = pairs
        .map(|(agent, part)| prepare_agent(*agent, part, &fleet.token))
        .collect::<Result<Vec<FleetAgent>, FleetError>>()?;
    for hand in &mut hands {
        let sent = hand.channel.send_message(&LeaderMessage::Go);
        sent.map_err(|why| FleetError::Agent { agent: hand.agent, why })?;
    }
    let began = Instant::now();
    let stopped = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut watched = Vec::new();
        for hand in &mut hands {
            let followed = &hand.monitor;
            let channel = &mut hand.channel;
            watched.push(followed);
            scope.spawn(move || followed.follow_agent(channel, stopped));
        }
        let mut next = began + SECOND;
        while watched.iter().any(|followed| followed.state().end.is_none()) {
            stopped.fetch_or(stop.load(Ordering::Relaxed), Ordering::Relaxed);
            if Instant::now() >= next {
                next += SECOND;
                let states: Vec<AgentState> =
                    watched.iter().map(|followed| followed.state()).collect();
                // Invalid counts are an error at the end of the run.
                if let Ok(report) = sum_progress(&states, began.elapsed()) {
                    on_report(&report);
                }
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
    });
    collect_outcome(&hands, began.elapsed(), stopped.load(Ordering::Relaxed))
}

fn prepare_agent(
    agent: SocketAddr,
    part: LoadPlan,
    token: &FleetToken,
) -> Result<FleetAgent, FleetError> {
    let failed = |why| FleetError::Agent { agent, why };
    let mut channel = FleetChannel::connect(agent, token).map_err(failed)?;
    let order = LeaderMessage::Order { version: VERSION, plan: Box::new(part) };
    channel.send_message(&order).map_err(failed)?;
    match channel.expect_message(MESSAGE_TIMEOUT).map_err(failed)? {
        AgentMessage::Ready { notes, about } => {
            Ok(FleetAgent { agent, channel, monitor: AgentMonitor::default(), notes, about })
        }
        AgentMessage::Refused(why) => Err(FleetError::Refused { agent, why }),
        AgentMessage::Figures(_) | AgentMessage::Done(_) => {
            Err(FleetError::Refused { agent, why: "it told figures before it began".to_owned() })
        }
    }
}

/// All reported counts as one report over `span`.
fn sum_progress(states: &[AgentState], span: Duration) -> Result<LoadReport, TallyRecordError> {
    let broken = states.iter().map(|state| match &state.end {
        Some(AgentEnd::Done(done)) => done.broken_threads,
        _ => 0,
    });
    LoadReport::merge_counts(states.iter().map(|state| &state.figures.counts), span, broken.sum())
}

fn collect_outcome(
    hands: &[FleetAgent],
    elapsed: Duration,
    stopped: bool,
) -> Result<FleetOutcome, FleetError> {
    let states: Vec<AgentState> = hands.iter().map(|hand| hand.monitor.state()).collect();
    let longest = states.iter().map(|state| state.figures.seconds).fold(0.0, f64::max);
    let longest = if longest > 0.0 { Duration::from_secs_f64(longest) } else { elapsed };
    let report = sum_progress(&states, longest)?;
    let mut parts = Vec::new();
    let mut notes = Vec::new();
    for (hand, state) in hands.iter().zip(states) {
        let agent = hand.agent;
        let mut about = |weight, text: &str| {
            notes.push(ResultNote { weight, text: format!("agent {agent}: {text}") });
        };
        hand.notes.iter().for_each(|note| about(note.weight, &note.text));
        let mut part = AgentPart {
            agent: agent.to_string(),
            about: hand.about.clone(),
            requests: state.figures.counts.requests(),
            answered: state.figures.counts.answered(),
            ..AgentPart::default()
        };
        match state.end {
            Some(AgentEnd::Done(done)) => {
                done.notes.iter().for_each(|note| about(note.weight, &note.text));
                part.complete = true;
                part.processors = done.processors;
                part.threads_busy = done.threads_busy;
            }
            Some(AgentEnd::Lost(why)) => about(
                NoteSeverity::Partial,
                &format!(
                    "lost after {:.1} s, its figures until then are in the result: {why}",
                    state.figures.seconds
                ),
            ),
            None => about(NoteSeverity::Partial, "it has not ended"),
        }
        parts.push(part);
    }
    Ok(FleetOutcome { report, parts, notes, stopped })
}

/// Agents report once a second.
const SECOND: Duration = Duration::from_secs(1);
/// Short compared with the interval of reports.
const LOOK_EVERY: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::agent::serve_leaders;
    use crate::load::LoadProtocol;
    use crate::machine::procfs::machine_facts;
    use crate::origin::{OriginKind, OriginOptions, TestOrigin};
    use std::net::TcpListener;

    fn token() -> FleetToken {
        FleetToken::new("sixteen letters!").unwrap()
    }

    /// Runs `what` with this many agents on loopback.
    fn with_agents<R>(many: usize, what: impl FnOnce(&Fleet) -> R) -> R {
        let listeners: Vec<TcpListener> =
            (0..many).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let agents = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        let over = AtomicBool::new(false);
        let facts = machine_facts();
        std::thread::scope(|scope| {
            for listener in &listeners {
                scope.spawn(|| {
                    serve_leaders(listener, &token(), &facts, &over, &|_, _| {}).unwrap()
                });
            }
            let came = what(&Fleet { agents, token: token() });
            over.store(true, Ordering::Relaxed);
            came
        })
    }

    #[test]
    fn agents_together_make_the_whole_load() {
        let origin = TestOrigin::start(OriginOptions::new("a", OriginKind::Echo)).unwrap();
        let mut plan = LoadPlan::new(origin.address(), LoadProtocol::Echo { bytes: 64 }, 6);
        plan.requests = Some(301);
        let led = with_agents(3, |fleet| {
            run_fleet(&plan, fleet, &Arc::new(AtomicBool::new(false)), &mut |_| {}).unwrap()
        });
        assert_eq!((led.report.answered, led.report.latency.count), (301, 301));
        assert_eq!(led.report.connects, 6);
        let each: Vec<u64> = led.parts.iter().map(|part| part.answered).collect();
        assert_eq!(each, [101, 100, 100]);
        assert!(led.parts.iter().all(|part| part.complete) && !led.stopped, "{led:?}");
    }

    #[test]
    fn stop_reaches_every_agent() {
        let origin = TestOrigin::start(OriginOptions::new("a", OriginKind::Echo)).unwrap();
        let mut plan = LoadPlan::new(origin.address(), LoadProtocol::Echo { bytes: 8 }, 2);
        plan.time = Some(Duration::from_secs(3_600));
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let led = with_agents(2, |fleet| {
            run_fleet(&plan, fleet, &stop, &mut |report| {
                if report.answered > 0 {
                    flag.store(true, Ordering::Relaxed);
                }
            })
            .unwrap()
        });
        assert!(led.stopped && led.report.in_flight == 0, "{:?}", led.report);
    }

    #[test]
    fn too_little_for_so_many_is_reported_before_anything_begins() {
        let nobody = SocketAddr::from(([127, 0, 0, 1], 9));
        let plan = LoadPlan::new(nobody, LoadProtocol::Echo { bytes: 8 }, 1);
        let fleet = Fleet { agents: vec![nobody; 2], token: token() };
        let error = run_fleet(&plan, &fleet, &Arc::default(), &mut |_| {}).unwrap_err();
        assert!(matches!(error, FleetError::Part(2, LoadPlanError::Connections)), "{error}");
    }
}
