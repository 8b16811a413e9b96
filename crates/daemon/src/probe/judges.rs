//! Which server is probed when and how, and one `model::health` machine for each. Pure but for the counters.
//!
//! It opens no socket: `check` does.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::config::{Pool, ProbeTls, SocketOptions};
use model::health::{Basis, Carried, Failed, Health, Judged, Seen};
use model::id::{PoolId, ServerId};
use model::moment::Moment;
use model::pick::Rng;

use super::board::{Board, Note};
use super::counts::{ProbeCounts, one};
use super::ready::{Known, Ready, target};
use super::schedule::Schedule;
use super::target::{Outcome, Target};
use crate::control::{Judgement, Picture, ServerFacts, Verdict};

/// A probe that begins later than this after its moment is counted as late.
const LATE: Duration = Duration::from_millis(100);

/// Every judge.
pub(super) struct Judges {
    servers: HashMap<ServerId, Watched>,
    pools: HashMap<PoolId, Watch>,
    schedule: Schedule<ServerId>,
    rng: Rng,
    tickets: u64,
    prepared: Known,
    counts: Arc<ProbeCounts>,
    board: Arc<Board>,
}

/// One pool.
struct Watch {
    config: Arc<Pool>,
    socket: Arc<SocketOptions>,
    servers: Vec<ServerId>,
    up: usize,
}

/// One server.
struct Watched {
    facts: Arc<ServerFacts>,
    health: Health,
    /// It is one of its pool's servers that are up.
    counted_up: bool,
    /// What is done, ready to be done; with the words for it.
    ready: Ready,
    /// The probe under way.
    ticket: Option<Ticket>,
    /// What was reported last.
    told: Option<(Judged, String)>,
}

/// Which probe a result belongs to; a result that comes after its server changed belongs to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    server: ServerId,
    number: u64,
}

/// What workers saw of a server.
#[derive(Debug)]
pub(super) enum Observed {
    /// A connection could not be made: why.
    Failed(ServerId, String),
    /// A connection was made after one had failed.
    Succeeded(ServerId),
}

impl Judges {
    pub(super) fn new(seed: u64, counts: Arc<ProbeCounts>, board: Arc<Board>) -> Judges {
        Judges {
            servers: HashMap::new(),
            pools: HashMap::new(),
            schedule: Schedule::default(),
            rng: Rng::new(seed),
            tickets: 0,
            prepared: Known::default(),
            counts,
            board,
        }
    }

    /// Follows what is in force.
    pub(super) fn adopt(&mut self, picture: &Picture, now: Moment, at: SystemTime) {
        let (mut changed, mut present) = (Vec::new(), 0);
        for (id, facts) in &picture.servers {
            let Some(pool) = picture.snapshot.pools.get(&facts.pool) else { continue };
            present += 1;
            let probe = facts.config.probe.as_ref();
            let trial = pool.config.tls.as_ref().map(ProbeTls::of_pool);
            match self.servers.get_mut(id) {
                Some(watched) => {
                    let tried_otherwise = watched.health.try_over(trial);
                    if Arc::ptr_eq(&watched.facts, facts) && !tried_otherwise {
                        continue;
                    }
                    watched.health.carry(probe, now);
                    watched.ready = Ready::of(&mut self.prepared, facts, &watched.health);
                    let moved = watched.facts.resolved != facts.resolved
                        || watched.facts.config.probe != facts.config.probe;
                    watched.ticket = watched.ticket.filter(|_| !moved);
                    watched.facts = Arc::clone(facts);
                    changed.push(*id);
                }
                None => {
                    let mut health = first_health(facts, &pool.config, now, at);
                    health.try_over(trial);
                    self.servers.insert(
                        *id,
                        Watched {
                            facts: Arc::clone(facts),
                            ready: Ready::of(&mut self.prepared, facts, &health),
                            health,
                            counted_up: false,
                            ticket: None,
                            told: None,
                        },
                    );
                    changed.push(*id);
                }
            }
        }
        if self.servers.len() > present {
            self.servers.retain(|id, _| {
                let stays = picture.servers.contains_key(id);
                if !stays {
                    self.schedule.remove(id);
                    self.board.forget(*id);
                }
                stays
            });
        }
        self.prepared.forget();
        changed.extend(self.adopt_pools(picture));
        for id in changed {
            self.plan(id, now);
        }
    }

    /// The earliest moment at which a probe is due.
    pub(super) fn earliest(&mut self) -> Option<Moment> {
        self.schedule.earliest()
    }

    /// A probe that is due; its result goes to `finished`.
    pub(super) fn due(&mut self, now: Moment) -> Option<(Ticket, Target)> {
        loop {
            let (at, id) = self.schedule.pop(now)?;
            let Some(watched) = self.servers.get_mut(&id) else { continue };
            let Some(pool) = self.pools.get(&watched.facts.pool) else { continue };
            let (facts, ready) = (&watched.facts, &watched.ready);
            let Some(target) = target(facts, ready, &watched.health, &pool.config, &pool.socket)
            else {
                continue;
            };
            let late = now.since(at);
            if late > LATE {
                one(&self.counts.late);
            }
            self.counts.began_late(late);
            self.tickets += 1;
            let ticket = Ticket { server: id, number: self.tickets };
            watched.ticket = Some(ticket);
            return Some((ticket, target));
        }
    }

    /// Takes the result of a probe that began at `began`.
    pub(super) fn finished(
        &mut self,
        ticket: Ticket,
        outcome: Outcome,
        (began, now): (Moment, Moment),
        at: SystemTime,
    ) -> Option<Verdict> {
        let watched = self.servers.get_mut(&ticket.server)?;
        if watched.ticket != Some(ticket) {
            return None;
        }
        watched.ticket = None;
        let result = match outcome {
            Outcome::Seen(text) => {
                one(&self.counts.passed);
                Ok(Seen { text })
            }
            Outcome::Failed(text) => {
                one(&self.counts.failed);
                Err(Failed { text })
            }
            // No evidence: asked again after the usual time, and what was judged stays.
            Outcome::Ours(_) => {
                one(&self.counts.not_made);
                let again = now
                    + watched
                        .facts
                        .config
                        .probe
                        .as_ref()
                        .map_or(Duration::from_secs(1), |probe| probe.every);
                self.schedule.set(ticket.server, again);
                return None;
            }
        };
        watched.health.probe_result(now, result);
        self.conclude(ticket.server, Some(now.since(began)), now, at)
    }

    /// Takes a worker's report.
    pub(super) fn observed(
        &mut self,
        observed: Observed,
        now: Moment,
        at: SystemTime,
    ) -> Option<Verdict> {
        let id = match observed {
            Observed::Failed(id, reason) => {
                self.servers.get_mut(&id)?.health.connect_failed(now, &reason);
                id
            }
            Observed::Succeeded(id) => {
                self.servers.get_mut(&id)?.health.connect_succeeded(now);
                id
            }
        };
        self.conclude(id, None, now, at)
    }

    /// After new evidence, which took so long where that is known: plans the next probe and says what is worth
    /// reporting.
    fn conclude(
        &mut self,
        id: ServerId,
        took: Option<Duration>,
        now: Moment,
        at: SystemTime,
    ) -> Option<Verdict> {
        let watched = self.servers.get_mut(&id)?;
        let (state, evidence) = (watched.health.state(), watched.health.evidence());
        // While it is up a single failure is no reason yet, and each probe takes another time: neither is news.
        let news = match &watched.told {
            None => true,
            Some((told, _)) if *told != state => true,
            Some((_, why)) => state != Judged::Up && *why != evidence.text,
        };
        let probed = evidence.basis == Basis::Probe;
        let note = (evidence.basis != Basis::Assumed).then(|| Note {
            probe: probed.then(|| watched.ready.question().to_owned()),
            saw: evidence.text.clone(),
            took: took.filter(|_| probed),
            good: evidence.good,
            in_a_row: evidence.streak,
            at: at.checked_sub(now.since(evidence.at)).unwrap_or(at),
        });
        let verdict = news.then(|| {
            watched.told = Some((state, evidence.text.clone()));
            let reason = note.as_ref().map_or_else(|| evidence.text.clone(), Note::text);
            Verdict { server: id, health: judgement(state), reason, note: note.clone() }
        });
        if let Some(note) = note {
            self.board.put(id, note);
        }
        self.count_up(id, now);
        self.plan(id, now);
        verdict
    }

    /// Keeps the number of servers up; the others of a pool are asked more often while there is none.
    fn count_up(&mut self, id: ServerId, now: Moment) {
        let Some(watched) = self.servers.get_mut(&id) else { return };
        let Some(pool) = self.pools.get_mut(&watched.facts.pool) else { return };
        let up = watched.health.state() == Judged::Up;
        if watched.counted_up == up {
            return;
        }
        watched.counted_up = up;
        pool.up = if up { pool.up + 1 } else { pool.up.saturating_sub(1) };
        let turned = pool.up == usize::from(up);
        if turned {
            for server in pool.servers.clone() {
                self.plan(server, now);
            }
        }
    }

    /// Returns the servers whose pool has just lost its last server that is up, or got its first.
    fn adopt_pools(&mut self, picture: &Picture) -> Vec<ServerId> {
        let mut replan = Vec::new();
        self.pools.retain(|id, _| picture.snapshot.pools.contains_key(id));
        for (id, view) in &picture.snapshot.pools {
            let ids = view.servers.iter().map(|server| server.id);
            let known = self.pools.remove(id);
            let known = match known {
                Some(known)
                    if Arc::ptr_eq(&known.config, &view.config)
                        && known.servers.iter().copied().eq(ids.clone()) =>
                {
                    self.pools.insert(*id, known);
                    continue;
                }
                other => other,
            };
            let (servers, mut up) = (ids.collect::<Vec<_>>(), 0);
            for server in &servers {
                if let Some(watched) = self.servers.get_mut(server) {
                    watched.counted_up = watched.health.state() == Judged::Up;
                    up += usize::from(watched.counted_up);
                }
            }
            if known.as_ref().is_some_and(|known| (known.up == 0) != (up == 0)) {
                replan.extend(&servers);
            }
            let socket = match known {
                Some(known) if known.socket.as_ref() == &view.config.socket => known.socket,
                _ => Arc::new(view.config.socket.clone()),
            };
            self.pools.insert(*id, Watch { config: Arc::clone(&view.config), socket, servers, up });
        }
        replan
    }

    /// Puts the server's next probe where its judge wants it, unless one is under way.
    fn plan(&mut self, id: ServerId, now: Moment) {
        let Some(watched) = self.servers.get(&id) else { return };
        let nothing_up = self.pools.get(&watched.facts.pool).is_some_and(|pool| pool.up == 0);
        let at = watched.health.next_probe(now, self.rng.next(), nothing_up);
        if watched.ticket.is_some()
            || at == Moment::NEVER
            || watched.facts.resolved.address().is_none()
        {
            self.schedule.remove(&id);
        } else {
            self.schedule.set(id, at);
        }
    }
}

/// What another process, or this one under another id, had judged is kept.
fn first_health(facts: &ServerFacts, pool: &Pool, now: Moment, at: SystemTime) -> Health {
    let probe = facts.config.probe.as_ref();
    let judged = &facts.judged;
    if !judged.evidence {
        return Health::new(pool.initial, probe, now);
    }
    let held = at.duration_since(judged.since).unwrap_or_default();
    let state = match judged.health {
        Judgement::Up => Judged::Up,
        Judgement::Down => Judged::Down,
        Judgement::Unknown => Judged::Unknown,
    };
    let good = state == Judged::Up;
    let carried = Carried {
        state,
        held,
        basis: Basis::Probe,
        good,
        text: judged.note.as_ref().map_or(&judged.reason, |note| &note.saw).clone(),
        age: held,
        streak: 1,
    };
    Health::restore(&carried, probe, now)
}

fn judgement(state: Judged) -> Judgement {
    match state {
        Judged::Up => Judgement::Up,
        Judged::Down => Judgement::Down,
        Judged::Unknown => Judgement::Unknown,
    }
}
