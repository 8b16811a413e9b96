//! Leads agents through one run: gives each its part, lets all begin, adds up what they count.
//!
//! An agent that vanishes leaves what it had told; the run goes on without it and says so.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::channel::{Channel, ChannelError, Token};
use super::follow::{End, Followed, State};
use super::talk::{PATIENCE, ToAgent, ToLeader, VERSION, split};
use crate::load::{CountsError, Plan, PlanError, Report};
use crate::result::{Note, Part, Weight};

/// Who makes the load.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// Where they listen.
    pub agents: Vec<SocketAddr>,
    /// What they know.
    pub token: Token,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Led {
    /// Everything that was counted, as one.
    pub report: Report,
    /// What each agent did.
    pub parts: Vec<Part>,
    /// What must be known of it: agents' limits, and agents that vanished.
    pub notes: Vec<Note>,
    /// Whether it was stopped from outside.
    pub stopped: bool,
}

/// Why a run could not begin.
#[derive(Debug, Error)]
pub enum LeadError {
    /// An agent cannot be reached or does not believe us.
    #[error("agent {agent}: {why}")]
    Agent {
        /// Which.
        agent: SocketAddr,
        /// Why.
        why: ChannelError,
    },
    /// An agent will not.
    #[error("agent {agent} refuses: {why}")]
    Refused {
        /// Which.
        agent: SocketAddr,
        /// Why.
        why: String,
    },
    /// A part of the load that no agent can make: there is too little of it.
    #[error("divided among {0} agents: {1}")]
    Part(usize, PlanError),
    /// An agent told counts that are none.
    #[error("an agent's counts: {0}")]
    Counts(#[from] CountsError),
}

/// One agent of the run.
struct Hand {
    agent: SocketAddr,
    channel: Channel,
    followed: Followed,
    notes: Vec<Note>,
    about: String,
}

/// Carries out a run. `told` hears of every second: all that was counted until then.
///
/// # Errors
/// An agent could not begin; none has.
pub fn lead(
    plan: &Plan,
    fleet: &Fleet,
    stop: &Arc<AtomicBool>,
    told: &mut dyn FnMut(&Report),
) -> Result<Led, LeadError> {
    let parts = split(plan, fleet.agents.len());
    for part in &parts {
        part.check().map_err(|error| LeadError::Part(fleet.agents.len(), error))?;
    }
    let pairs = fleet.agents.iter().zip(parts);
    let mut hands = pairs
        .map(|(agent, part)| made_ready(*agent, part, &fleet.token))
        .collect::<Result<Vec<Hand>, LeadError>>()?;
    for hand in &mut hands {
        let said = hand.channel.say(&ToAgent::Go);
        said.map_err(|why| LeadError::Agent { agent: hand.agent, why })?;
    }
    let began = Instant::now();
    let stopped = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut watched = Vec::new();
        for hand in &mut hands {
            let (followed, channel) = (&hand.followed, &mut hand.channel);
            watched.push(followed);
            scope.spawn(move || followed.follow(channel, stopped));
        }
        let mut next = began + SECOND;
        while watched.iter().any(|followed| followed.state().end.is_none()) {
            stopped.fetch_or(stop.load(Ordering::Relaxed), Ordering::Relaxed);
            if Instant::now() >= next {
                next += SECOND;
                let states: Vec<State> = watched.iter().map(|followed| followed.state()).collect();
                // Counts that are none are an error at the end.
                if let Ok(report) = sum(&states, began.elapsed()) {
                    told(&report);
                }
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
    });
    settled(&hands, began.elapsed(), stopped.load(Ordering::Relaxed))
}

fn made_ready(agent: SocketAddr, part: Plan, token: &Token) -> Result<Hand, LeadError> {
    let failed = |why| LeadError::Agent { agent, why };
    let mut channel = Channel::connect(agent, token).map_err(failed)?;
    let order = ToAgent::Order { version: VERSION, plan: Box::new(part) };
    channel.say(&order).map_err(failed)?;
    match channel.expect(PATIENCE).map_err(failed)? {
        ToLeader::Ready { notes, about } => {
            Ok(Hand { agent, channel, followed: Followed::default(), notes, about })
        }
        ToLeader::Refused(why) => Err(LeadError::Refused { agent, why }),
        ToLeader::Figures(_) | ToLeader::Done(_) => {
            Err(LeadError::Refused { agent, why: "it told figures before it began".to_owned() })
        }
    }
}

/// Everything that was told, as one report over `span`.
fn sum(states: &[State], span: Duration) -> Result<Report, CountsError> {
    let broken = states.iter().map(|state| match &state.end {
        Some(End::Done(done)) => done.broken_threads,
        _ => 0,
    });
    Report::of_all(states.iter().map(|state| &state.figures.counts), span, broken.sum())
}

fn settled(hands: &[Hand], elapsed: Duration, stopped: bool) -> Result<Led, LeadError> {
    let states: Vec<State> = hands.iter().map(|hand| hand.followed.state()).collect();
    let longest = states.iter().map(|state| state.figures.seconds).fold(0.0, f64::max);
    let longest = if longest > 0.0 { Duration::from_secs_f64(longest) } else { elapsed };
    let report = sum(&states, longest)?;
    let (mut parts, mut notes) = (Vec::new(), Vec::new());
    for (hand, state) in hands.iter().zip(states) {
        let agent = hand.agent;
        let mut about = |weight, text: &str| {
            notes.push(Note { weight, text: format!("agent {agent}: {text}") });
        };
        hand.notes.iter().for_each(|note| about(note.weight, &note.text));
        let mut part = Part {
            agent: agent.to_string(),
            about: hand.about.clone(),
            requests: state.figures.counts.requests(),
            answered: state.figures.counts.answered(),
            ..Part::default()
        };
        match state.end {
            Some(End::Done(done)) => {
                done.notes.iter().for_each(|note| about(note.weight, &note.text));
                part.complete = true;
                (part.processors, part.threads_busy) = (done.processors, done.threads_busy);
            }
            Some(End::Lost(why)) => about(
                Weight::Partial,
                &format!(
                    "lost after {:.1} s, its figures until then are in the result: {why}",
                    state.figures.seconds
                ),
            ),
            None => about(Weight::Partial, "it has not ended"),
        }
        parts.push(part);
    }
    Ok(Led { report, parts, notes, stopped })
}

const SECOND: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::agent::serve;
    use crate::load::Protocol;
    use crate::machine::read::facts;
    use crate::origin::{Kind, Options, Origin};
    use std::net::TcpListener;

    fn token() -> Token {
        Token::new("sixteen letters!").unwrap()
    }

    /// Runs `what` with so many agents on loopback.
    fn with_agents<R>(many: usize, what: impl FnOnce(&Fleet) -> R) -> R {
        let listeners: Vec<TcpListener> =
            (0..many).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let agents = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        let (over, facts) = (AtomicBool::new(false), facts());
        std::thread::scope(|scope| {
            for listener in &listeners {
                scope.spawn(|| serve(listener, &token(), &facts, &over, &|_, _| {}).unwrap());
            }
            let came = what(&Fleet { agents, token: token() });
            over.store(true, Ordering::Relaxed);
            came
        })
    }

    #[test]
    fn agents_together_make_the_whole_load() {
        let origin = Origin::start(Options::new("a", Kind::Echo)).unwrap();
        let mut plan = Plan::new(origin.address(), Protocol::Echo { bytes: 64 }, 6);
        plan.requests = Some(301);
        let led = with_agents(3, |fleet| {
            lead(&plan, fleet, &Arc::new(AtomicBool::new(false)), &mut |_| {}).unwrap()
        });
        assert_eq!((led.report.answered, led.report.latency.count), (301, 301));
        assert_eq!(led.report.connects, 6);
        let each: Vec<u64> = led.parts.iter().map(|part| part.answered).collect();
        assert_eq!(each, [101, 100, 100]);
        assert!(led.parts.iter().all(|part| part.complete) && !led.stopped, "{led:?}");
    }

    #[test]
    fn stop_reaches_every_agent() {
        let origin = Origin::start(Options::new("a", Kind::Echo)).unwrap();
        let mut plan = Plan::new(origin.address(), Protocol::Echo { bytes: 8 }, 2);
        plan.time = Some(Duration::from_secs(3_600));
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let led = with_agents(2, |fleet| {
            lead(&plan, fleet, &stop, &mut |report| {
                if report.answered > 0 {
                    flag.store(true, Ordering::Relaxed);
                }
            })
            .unwrap()
        });
        assert!(led.stopped && led.report.in_flight == 0, "{:?}", led.report);
    }

    #[test]
    fn too_little_for_so_many_is_said_before_anything_begins() {
        let nobody = SocketAddr::from(([127, 0, 0, 1], 9));
        let plan = Plan::new(nobody, Protocol::Echo { bytes: 8 }, 1);
        let fleet = Fleet { agents: vec![nobody; 2], token: token() };
        let error = lead(&plan, &fleet, &Arc::default(), &mut |_| {}).unwrap_err();
        assert!(matches!(error, LeadError::Part(2, PlanError::Connections)), "{error}");
    }
}
