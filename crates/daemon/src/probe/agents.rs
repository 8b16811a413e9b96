//! Which server's agent is asked when, and what its words come to: load for the judge, wishes for `Control`.
//!
//! Pure but for the counters and the cells that hold reports. A lost agent ages out: load becomes unknown and wishes
//! end; it never means idle, and never down.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use ::probe::agent::{Health, Says, Wish, parse};
use ::probe::plan::Plan;
use model::config::{Agent, AgentKind, SocketOptions};
use model::id::ServerId;
use model::live::ServerLive;
use model::load::orca::{self, Orca};
use model::load::{Report, Source};
use model::moment::Moment;
use model::snapshot::{PoolView, ServerState, ServerView};

use super::counts::{ProbeCounts, one};
use super::schedule::Schedule;
use super::target::{Outcome, Prepared, Target};
use crate::control::{AgentWord, Picture};

/// Every agent.
pub(super) struct Agents {
    servers: HashMap<ServerId, Asked>,
    schedule: Schedule<ServerId>,
    questions: u64,
    counts: Arc<ProbeCounts>,
}

/// One server's agent.
struct Asked {
    agent: Agent,
    name: Arc<str>,
    /// Who is asked and how; `None`: nobody, answers bring reports.
    target: Option<Target>,
    live: Arc<ServerLive>,
    /// The question under way.
    under_way: Option<u64>,
    /// When it last answered.
    heard: Option<Moment>,
    /// What was passed on last.
    told: Option<(ServerState, String)>,
    /// Its loss, or its nonsense, was told.
    complained: bool,
}

/// Which question an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    server: ServerId,
    number: u64,
}

/// What is to be passed on.
#[derive(Debug, Default)]
pub(super) struct News {
    /// To `Control`.
    pub(super) word: Option<AgentWord>,
    /// To the events: what happened, in a sentence.
    pub(super) event: Option<(&'static str, String)>,
}

impl Agents {
    pub(super) fn new(counts: Arc<ProbeCounts>) -> Agents {
        Agents { servers: HashMap::new(), schedule: Schedule::default(), questions: 0, counts }
    }

    /// Follows what is in force. Returns words that end with their agents.
    pub(super) fn adopt(&mut self, picture: &Picture, now: Moment) -> Vec<AgentWord> {
        let mut gone: HashMap<ServerId, Asked> = std::mem::take(&mut self.servers);
        for pool in picture.snapshot.pools.values() {
            let Some(agent) = &pool.config.agent else { continue };
            let socket = Arc::new(pool.config.socket.clone());
            let prepared =
                Plan::of_agent(&agent.kind).map(|plan| Arc::new(Prepared { plan, tls: None }));
            for server in &pool.servers {
                let target =
                    prepared.as_ref().and_then(|it| target(it, agent, pool, server, &socket));
                let known = gone.remove(&server.id).filter(|known| known.agent == *agent);
                let fresh = known.is_none();
                let asked = match known {
                    Some(known) => Asked { target, ..known },
                    None => asked(agent, pool, server, target),
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
            if asked.told.is_some() {
                ended.push(AgentWord { server, said: None });
            }
        }
        ended
    }

    /// The earliest moment at which something is to be done.
    pub(super) fn earliest(&mut self) -> Option<Moment> {
        self.schedule.earliest()
    }

    /// What is due: a question, or news that an agent is lost.
    pub(super) fn due(&mut self, now: Moment) -> Option<(Option<(Question, Target)>, News)> {
        let (_, server) = self.schedule.pop(now)?;
        let asked = self.servers.get_mut(&server)?;
        let news = silence(asked, server, now, &self.counts);
        self.schedule.set(server, now + asked.agent.every);
        // A question that has no answer yet is not asked again.
        let target = asked.target.clone().filter(|_| asked.under_way.is_none());
        let question = target.map(|target| {
            self.questions += 1;
            asked.under_way = Some(self.questions);
            (Question { server, number: self.questions }, target)
        });
        Some((question, news))
    }

    /// Takes an answer.
    pub(super) fn finished(&mut self, question: Question, outcome: Outcome, now: Moment) -> News {
        let Some(asked) = self.servers.get_mut(&question.server) else { return News::default() };
        if asked.under_way != Some(question.number) {
            return News::default();
        }
        asked.under_way = None;
        let text = match outcome {
            Outcome::Seen(what) => what,
            // Silence is told when the last report is too old.
            Outcome::Failed(_) | Outcome::Ours(_) => {
                one(&self.counts.agents_silent);
                return News::default();
            }
        };
        match asked.agent.kind {
            AgentKind::Orca { .. } => match orca::parse(text.as_bytes()) {
                Ok(report) => heard_orca(asked, &report, now, &self.counts),
                Err(error) => nonsense(asked, &error.to_string(), &self.counts),
            },
            AgentKind::Text { .. } => match parse(text.as_bytes()) {
                Some(says) => heard_text(asked, question.server, &says, now, &self.counts),
                None => nonsense(asked, "its line says nothing", &self.counts),
            },
            AgentKind::Answers => News::default(),
        }
    }
}

fn asked(agent: &Agent, pool: &PoolView, server: &ServerView, target: Option<Target>) -> Asked {
    Asked {
        agent: agent.clone(),
        name: format!("{}/{}", pool.config.name, server.config.name).into(),
        target,
        live: Arc::clone(&server.live),
        under_way: None,
        heard: None,
        told: None,
        complained: false,
    }
}

fn target(
    prepared: &Arc<Prepared>,
    agent: &Agent,
    pool: &PoolView,
    server: &ServerView,
    socket: &Arc<SocketOptions>,
) -> Option<Target> {
    let at = server.address?;
    let address = SocketAddr::new(at.ip(), agent.port.unwrap_or(at.port()));
    let host: Arc<str> = address.to_string().into();
    let sources = pool.config.source.iter().copied();
    Some(Target {
        address,
        source: sources.clone().find(|source| source.is_ipv4() == address.is_ipv4()),
        announce: None,
        socket: Arc::clone(socket),
        prepared: Arc::clone(prepared),
        bare: Arc::clone(&host),
        host,
        name: format!("{}/{}", pool.config.name, server.config.name).into(),
        timeout: agent.timeout,
    })
}

/// Takes away what is too old.
fn silence(asked: &mut Asked, server: ServerId, now: Moment, counts: &ProbeCounts) -> News {
    let age = asked.agent.age;
    let expired = asked.live.load.expire(now, age);
    let quiet = asked.heard.is_some_and(|heard| now.since(heard) > age);
    if quiet {
        asked.heard = None;
    }
    if !expired && !quiet {
        return News::default();
    }
    one(&counts.agents_lost);
    asked.complained = true;
    let word = asked.told.take().map(|_| AgentWord { server, said: None });
    let text = format!(
        "{}: no report for {}: its load is not known any more",
        asked.name,
        super::target::time(age)
    );
    News { word, event: Some(("agent-lost", text)) }
}

fn heard_orca(asked: &mut Asked, orca: &Orca, now: Moment, counts: &ProbeCounts) -> News {
    let back = heard(asked, now);
    match orca.utilization() {
        Some(value) => merged(back, put(asked, value, Source::Orca, now, counts)),
        None => back,
    }
}

/// A share of what it can take is the rest of its load.
fn heard_text(
    asked: &mut Asked,
    server: ServerId,
    says: &Says,
    now: Moment,
    counts: &ProbeCounts,
) -> News {
    let mut news = heard(asked, now);
    if let Some(share) = says.share {
        news = merged(news, put(asked, 1.0 - share, Source::Agent, now, counts));
    }
    if says.unknown > 0 {
        one(&counts.agents_unknown);
    }
    let why = |what: &str| match says.reason.as_str() {
        "" => format!("its agent says {what}"),
        reason => format!("its agent says {what}: {reason}"),
    };
    // What is not said stays as it was: the protocol's lines need not repeat themselves.
    let said = match (says.health, says.wish) {
        (Some(Health::Down), _) => Some((ServerState::Down, why("down"))),
        (_, Some(Wish::Drain)) => Some((ServerState::Drain, why("drain"))),
        (_, Some(Wish::Maintenance)) => Some((ServerState::Disabled, why("maint"))),
        (Some(Health::Up), _) | (_, Some(Wish::Ready)) => None,
        (None, None) => return news,
    };
    if said != asked.told {
        asked.told.clone_from(&said);
        news.word = Some(AgentWord { server, said });
    }
    news
}

fn heard(asked: &mut Asked, now: Moment) -> News {
    asked.heard = Some(now);
    let event = std::mem::take(&mut asked.complained)
        .then(|| ("agent-back", format!("{}: its agent reports again", asked.name)));
    News { word: None, event }
}

fn put(asked: &Asked, value: f64, source: Source, now: Moment, counts: &ProbeCounts) -> News {
    let (report, clamped) = Report::clamped(value, now, source);
    asked.live.load.put(report);
    if !clamped {
        return News::default();
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
    News { word: None, event: told.then_some(("agent-clamped", text)) }
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

fn nonsense(asked: &mut Asked, why: &str, counts: &ProbeCounts) -> News {
    one(&counts.agents_unknown);
    let told = std::mem::replace(&mut asked.complained, true);
    let text = format!("{}: its agent is not understood: {why}", asked.name);
    News { word: None, event: (!told).then_some(("agent-nonsense", text)) }
}

fn merged(first: News, second: News) -> News {
    News { word: first.word.or(second.word), event: second.event.or(first.event) }
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
