//! Which server is probed when and how, and one `model::health` machine for each. Pure but for the counters.
//!
//! It opens no socket: `check` does.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use files::plain_error::plain_error_text;
use model::config::{PoolConfig, ProbeTls, SocketOptions};
use model::health_check::{
    EvidenceSource, HealthSnapshot, HealthVerdict, ProbeFailure, ProbeSuccess, ServerHealth,
};
use model::id::{PoolId, ServerId};
use model::load_balancing::Rng;
use model::monotonic_time::MonotonicTime;

use super::counts::{ProbeCounts, increment};
use super::evidence_board::EvidenceBoard;
use super::prepared_probe::{ProbePlanCache, ProbeTemplate, probe_target};
use super::schedule::{DeadlineSchedule, ScheduledEntry};
use super::target::{ConnectObservation, DueServerProbe, ProbeOutcome, ProbeTicket};
use crate::state::evidence::EvidenceEntry;
use crate::state::{HealthReport, HealthState, ServerFacts, StateSnapshot};

/// A probe that begins later than this after its moment is counted as late.
/// Well below `fast-interval`, 250 ms by default: probes that are later mean that the engine is overloaded.
const LATE_THRESHOLD: Duration = Duration::from_millis(100);

pub(super) struct HealthCheckers {
    servers: HashMap<ServerId, CheckedServer>,
    pools: HashMap<PoolId, CheckedPool>,
    schedule: DeadlineSchedule<ServerId>,
    rng: Rng,
    next_ticket: u64,
    plans: ProbePlanCache,
    counts: Arc<ProbeCounts>,
    evidence: Arc<EvidenceBoard>,
}

struct CheckedPool {
    config: Arc<PoolConfig>,
    socket: Arc<SocketOptions>,
    servers: Vec<ServerId>,
    up_count: usize,
}

struct CheckedServer {
    facts: Arc<ServerFacts>,
    health: ServerHealth,
    /// It is one of its pool's servers that are up.
    counted_up: bool,
    /// The prepared probe, with its description.
    template: ProbeTemplate,
    /// The probe under way.
    ticket: Option<ProbeTicket>,
    last_report: Option<ReportedVerdict>,
}

/// The last verdict on a server that was reported.
struct ReportedVerdict {
    verdict: HealthVerdict,
    /// The evidence for it, in a sentence.
    evidence: String,
}

impl HealthCheckers {
    pub(super) fn new(
        seed: u64,
        counts: Arc<ProbeCounts>,
        board: Arc<EvidenceBoard>,
    ) -> HealthCheckers {
        HealthCheckers {
            servers: HashMap::new(),
            pools: HashMap::new(),
            schedule: DeadlineSchedule::default(),
            rng: Rng::new(seed),
            next_ticket: 0,
            plans: ProbePlanCache::default(),
            counts,
            evidence: board,
        }
    }

    /// Follows the active configuration.
    pub(super) fn update_servers(
        &mut self,
        snapshot: &StateSnapshot,
        now: MonotonicTime,
        at: SystemTime,
    ) {
        let mut changed = Vec::new();
        let mut present = 0;
        for (id, facts) in &snapshot.servers {
            let Some(pool) = snapshot.snapshot.pools.get(&facts.pool) else { continue };
            present += 1;
            let probe = facts.config.probe.as_ref();
            let trial = pool.config.tls.as_ref().map(ProbeTls::from_pool);
            match self.servers.get_mut(id) {
                Some(watched) => {
                    let tried_otherwise = watched.health.set_trial_tls(trial);
                    if Arc::ptr_eq(&watched.facts, facts) && !tried_otherwise {
                        continue;
                    }
                    watched.health.update_settings(probe, now);
                    watched.template = ProbeTemplate::new(&mut self.plans, facts, &watched.health);
                    let moved = watched.facts.resolved != facts.resolved
                        || watched.facts.config.probe != facts.config.probe;
                    watched.ticket = watched.ticket.filter(|_| !moved);
                    watched.facts = Arc::clone(facts);
                    changed.push(*id);
                }
                None => {
                    let mut health = initial_health(facts, &pool.config, now, at);
                    health.set_trial_tls(trial);
                    self.servers.insert(
                        *id,
                        CheckedServer {
                            facts: Arc::clone(facts),
                            template: ProbeTemplate::new(&mut self.plans, facts, &health),
                            health,
                            counted_up: false,
                            ticket: None,
                            last_report: None,
                        },
                    );
                    changed.push(*id);
                }
            }
        }
        if self.servers.len() > present {
            self.servers.retain(|id, _| {
                let stays = snapshot.servers.contains_key(id);
                if !stays {
                    self.schedule.remove(id);
                    self.evidence.forget(*id);
                }
                stays
            });
        }
        self.plans.remove_unused();
        changed.extend(self.update_pools(snapshot));
        for id in changed {
            self.plan(id, now);
        }
    }

    /// The earliest moment at which a probe is due.
    pub(super) fn next_due(&mut self) -> Option<MonotonicTime> {
        self.schedule.next_due()
    }

    /// The next health check that is due. Its result is sent to `finished`.
    pub(super) fn take_due(&mut self, now: MonotonicTime) -> Option<DueServerProbe> {
        loop {
            let ScheduledEntry { at, key: id } = self.schedule.pop(now)?;
            let Some(watched) = self.servers.get_mut(&id) else { continue };
            let Some(pool) = self.pools.get(&watched.facts.pool) else { continue };
            let facts = &watched.facts;
            let ready = &watched.template;
            let Some(target) =
                probe_target(facts, ready, &watched.health, &pool.config, &pool.socket)
            else {
                continue;
            };
            let late = now.since(at);
            if late > LATE_THRESHOLD {
                increment(&self.counts.late);
            }
            self.counts.record_late(late);
            self.next_ticket += 1;
            let ticket = ProbeTicket { server: id, number: self.next_ticket };
            watched.ticket = Some(ticket);
            return Some(DueServerProbe { ticket, target });
        }
    }

    /// Takes the result of a probe that began at `began`.
    pub(super) fn handle_outcome(
        &mut self,
        ticket: ProbeTicket,
        outcome: ProbeOutcome,
        began: MonotonicTime,
        now: MonotonicTime,
        at: SystemTime,
    ) -> Option<HealthReport> {
        let watched = self.servers.get_mut(&ticket.server)?;
        if watched.ticket != Some(ticket) {
            return None;
        }
        watched.ticket = None;
        let result = match outcome {
            ProbeOutcome::Passed(text) => {
                increment(&self.counts.passed);
                Ok(ProbeSuccess { text })
            }
            ProbeOutcome::Failed(text) => {
                increment(&self.counts.failed);
                Err(ProbeFailure { text: plain_error_text(text) })
            }
            // The probe gave no evidence: it is repeated at the usual time, and the verdict stays.
            ProbeOutcome::NotMade(_) => {
                increment(&self.counts.not_made);
                let next_probe = now
                    + watched
                        .facts
                        .config
                        .probe
                        .as_ref()
                        // The second applies only when the configuration has just removed the probe.
                        .map_or(Duration::from_secs(1), |probe| probe.every);
                self.schedule.set(ticket.server, next_probe);
                return None;
            }
        };
        watched.health.probe_result(now, result);
        self.apply_evidence(ticket.server, Some(now.since(began)), now, at)
    }

    /// Takes a worker's report.
    pub(super) fn handle_observation(
        &mut self,
        observed: ConnectObservation,
        now: MonotonicTime,
        at: SystemTime,
    ) -> Option<HealthReport> {
        let id = match observed {
            ConnectObservation::Failed(id, reason) => {
                self.servers.get_mut(&id)?.health.connect_failed(now, &reason);
                id
            }
            ConnectObservation::Succeeded(id) => {
                self.servers.get_mut(&id)?.health.connect_succeeded(now);
                id
            }
        };
        self.apply_evidence(id, None, now, at)
    }

    /// Applies new evidence, with its duration if known. Schedules the next health check. Returns a report of news.
    fn apply_evidence(
        &mut self,
        id: ServerId,
        took: Option<Duration>,
        now: MonotonicTime,
        at: SystemTime,
    ) -> Option<HealthReport> {
        let watched = self.servers.get_mut(&id)?;
        let state = watched.health.verdict();
        let evidence = watched.health.evidence();
        // While a server is up, a single failure changes no verdict, and durations vary with every check. Neither is
        // reported.
        let news = match &watched.last_report {
            None => true,
            Some(last) if last.verdict != state => true,
            Some(last) => state != HealthVerdict::Up && last.evidence != evidence.text,
        };
        let probed = evidence.basis == EvidenceSource::Probe;
        let note = (evidence.basis != EvidenceSource::Assumed).then(|| EvidenceEntry {
            probe: probed.then(|| watched.template.description().to_owned()),
            saw: evidence.text.clone(),
            took: took.filter(|_| probed),
            good: evidence.good,
            in_a_row: evidence.streak,
            at: at.checked_sub(now.since(evidence.at)).unwrap_or(at),
        });
        let verdict = news.then(|| {
            watched.last_report =
                Some(ReportedVerdict { verdict: state, evidence: evidence.text.clone() });
            let reason =
                note.as_ref().map_or_else(|| evidence.text.clone(), EvidenceEntry::describe);
            HealthReport { server: id, health: health_state(state), reason, note: note.clone() }
        });
        if let Some(note) = note {
            self.evidence.replace(id, note);
        }
        self.update_up_count(id, now);
        self.plan(id, now);
        verdict
    }

    /// Updates the number of servers up. While a pool has none, its other servers are probed more often.
    fn update_up_count(&mut self, id: ServerId, now: MonotonicTime) {
        let Some(watched) = self.servers.get_mut(&id) else { return };
        let Some(pool) = self.pools.get_mut(&watched.facts.pool) else { return };
        let up = watched.health.verdict() == HealthVerdict::Up;
        if watched.counted_up == up {
            return;
        }
        watched.counted_up = up;
        pool.up_count = if up { pool.up_count + 1 } else { pool.up_count.saturating_sub(1) };
        let turned = pool.up_count == usize::from(up);
        if turned {
            for server in pool.servers.clone() {
                self.plan(server, now);
            }
        }
    }

    /// Returns the servers whose pool has just lost its last server that is up, or got its first.
    fn update_pools(&mut self, snapshot: &StateSnapshot) -> Vec<ServerId> {
        let mut replan = Vec::new();
        self.pools.retain(|id, _| snapshot.snapshot.pools.contains_key(id));
        for (id, view) in &snapshot.snapshot.pools {
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
            let servers = ids.collect::<Vec<_>>();
            let mut up = 0;
            for server in &servers {
                if let Some(watched) = self.servers.get_mut(server) {
                    watched.counted_up = watched.health.verdict() == HealthVerdict::Up;
                    up += usize::from(watched.counted_up);
                }
            }
            if known.as_ref().is_some_and(|known| (known.up_count == 0) != (up == 0)) {
                replan.extend(&servers);
            }
            let socket = match known {
                Some(known) if known.socket.as_ref() == &view.config.socket => known.socket,
                _ => Arc::new(view.config.socket.clone()),
            };
            self.pools.insert(
                *id,
                CheckedPool { config: Arc::clone(&view.config), socket, servers, up_count: up },
            );
        }
        replan
    }

    /// Schedules the server's next probe at the time that its health checker requests, unless one is running.
    fn plan(&mut self, id: ServerId, now: MonotonicTime) {
        let Some(watched) = self.servers.get(&id) else { return };
        let nothing_up = self.pools.get(&watched.facts.pool).is_some_and(|pool| pool.up_count == 0);
        let at = watched.health.next_probe(now, self.rng.next(), nothing_up);
        if watched.ticket.is_some()
            || at == MonotonicTime::NEVER
            || watched.facts.resolved.endpoint().is_none()
        {
            self.schedule.remove(&id);
        } else {
            self.schedule.set(id, at);
        }
    }
}

/// Restores the verdict of the previous process, or of the same server under another id.
fn initial_health(
    facts: &ServerFacts,
    pool: &PoolConfig,
    now: MonotonicTime,
    at: SystemTime,
) -> ServerHealth {
    let probe = facts.config.probe.as_ref();
    let health_status = &facts.health_status;
    if !health_status.evidence {
        return ServerHealth::new(pool.initial, probe, now);
    }
    let held = at.duration_since(health_status.since).unwrap_or_default();
    let state = match health_status.health {
        HealthState::Up => HealthVerdict::Up,
        HealthState::Down => HealthVerdict::Down,
        HealthState::Unknown => HealthVerdict::Unknown,
    };
    let good = state == HealthVerdict::Up;
    let carried = HealthSnapshot {
        state,
        held,
        basis: EvidenceSource::Probe,
        good,
        text: health_status.note.as_ref().map_or(&health_status.reason, |note| &note.saw).clone(),
        age: held,
        streak: 1,
    };
    ServerHealth::from_snapshot(&carried, probe, now)
}

fn health_state(state: HealthVerdict) -> HealthState {
    match state {
        HealthVerdict::Up => HealthState::Up,
        HealthVerdict::Down => HealthState::Down,
        HealthVerdict::Unknown => HealthState::Unknown,
    }
}
