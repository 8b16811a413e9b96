//! Outlier detection: ejects servers of a pool for their failures, and readmits them. A pure state machine for one
//! pool.
//!
//! Its owner passes every server's counters about every tenth of a second and gets commands. A server is ejected for:
//!
//! - consecutive failures (`failures`),
//! - its rate of failures over the last interval (`rate`, of at least `volume` responses),
//! - its rate of truncated responses (`truncation-rate`, at least three of them), which no retry can fix.
//!
//! A failure that all servers have is not caused by one of them: a server stays while the others together fail at more
//! than half of its rate. Ejections never empty a pool. At most `share` of the servers that should get work may be out,
//! including those that are down. If no other server is up, all ejected servers are readmitted. The ejection time
//! doubles with each ejection up to `most`; a minute without an ejection undoes one doubling.
//!
//! It counts nothing, reads no clock and ignores health checks: a readmitted server has the state of its health check.

pub mod evaluation;

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use crate::cause::{Cause, Side};
use crate::config::OutlierDetectionConfig;
use crate::id::ServerId;
use crate::monotonic_time::MonotonicTime;
pub use evaluation::{EjectionReason, OutlierCounts, OutlierDecision, OutlierEvaluation};

/// Time without an ejection after which one doubling is undone.
/// A minute without an ejection shows that the server recovered.
const FORGIVENESS_INTERVAL: Duration = Duration::from_secs(60);

/// Jitter of the ejection time, percent: servers that were ejected together are not readmitted together.
const JITTER: u128 = 10;

/// Whether a server may get work, apart from ejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEligibility {
    /// The server should get work and may.
    Available,
    /// The server should get work, but its health verdict is down.
    Down,
    /// The server should get no work: drained, disabled, of weight 0 or without an address.
    Excluded,
}

/// The observed state of a server at one evaluation.
#[derive(Clone, Copy, Debug)]
pub struct OutlierObservation {
    pub id: ServerId,
    pub eligibility: ServerEligibility,
    /// Counts since the process began.
    pub counts: OutlierCounts,
    /// Failures since its last successful response.
    pub consecutive_failures: u64,
}

/// A command of outlier detection.
#[derive(Clone, Debug, PartialEq)]
pub enum OutlierAction {
    Eject {
        id: ServerId,
        time: Duration,
        /// The evaluation with the reason.
        sum: OutlierEvaluation,
    },
    /// Readmit the server; its consecutive failures are forgotten.
    Readmit {
        id: ServerId,
        /// The ejection time that ends.
        after: Duration,
        /// No other server was up.
        needed: bool,
    },
}

impl OutlierAction {
    pub fn server(&self) -> ServerId {
        match self {
            OutlierAction::Eject { id, .. } | OutlierAction::Readmit { id, .. } => *id,
        }
    }
}

/// How a failed attempt counts for its server; `None`: not at all.
pub fn classify_failure(cause: Cause) -> Option<OutlierFailure> {
    match cause {
        Cause::ServerCut | Cause::ServerBodyTimeout => Some(OutlierFailure::Truncated),
        // The health checker has already marked the server down.
        Cause::ServerMarkedDown => None,
        cause => match cause.side() {
            Side::Server | Side::Network => Some(OutlierFailure::Failed),
            Side::Client | Side::Balancer => None,
        },
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlierFailure {
    Failed,
    /// As a failure, and as a truncated response.
    Truncated,
}

#[derive(Debug, Default)]
pub struct OutlierDetector {
    servers: HashMap<ServerId, OutlierServer>,
}

#[derive(Debug, Default)]
struct OutlierServer {
    /// Counts at each evaluation of the last interval, and at one before it.
    samples: VecDeque<OutlierSample>,
    /// The present ejection.
    ejected: Option<EjectionPeriod>,
    /// Ejections that are not forgiven.
    ejections: u32,
    /// Time since which it is not ejected, or when a doubling was last undone.
    good_since: Option<MonotonicTime>,
    evaluation: Option<OutlierEvaluation>,
}

/// Counts of a server as they were at one evaluation.
#[derive(Clone, Copy, Debug)]
struct OutlierSample {
    at: MonotonicTime,
    counts: OutlierCounts,
}

/// The time for which a server gets no work.
#[derive(Clone, Copy, Debug)]
struct EjectionPeriod {
    since: MonotonicTime,
    until: MonotonicTime,
}

impl OutlierDetector {
    /// Evaluates the whole pool once. `draw` gives 64 random bits.
    pub fn evaluate_pool(
        &mut self,
        terms: &OutlierDetectionConfig,
        now: MonotonicTime,
        seen: &[OutlierObservation],
        mut draw: impl FnMut() -> u64,
    ) -> Vec<OutlierAction> {
        let here: HashSet<ServerId> = seen.iter().map(|observation| observation.id).collect();
        self.servers.retain(|id, _| here.contains(id));
        for observation in seen {
            self.servers.entry(observation.id).or_default().record_sample(
                terms,
                now,
                observation.counts,
            );
        }
        let mut orders = self.readmit_due(now, seen);
        let back: HashSet<ServerId> = orders.iter().map(OutlierAction::server).collect();
        // Failures before an ejection do not apply after it.
        let mut seen = seen.to_vec();
        seen.iter_mut()
            .filter(|observation| back.contains(&observation.id))
            .for_each(|observation| observation.consecutive_failures = 0);
        let mut whole = self.pool_totals(&seen);
        for observation in &seen {
            let Some(state) = self.servers.get_mut(&observation.id) else { continue };
            let sum = whole.evaluate_server(terms, observation, state);
            if let OutlierDecision::Ejected(_) = sum.decision {
                let time = state.eject(terms, now, draw());
                whole.remove_ejected(sum.own);
                orders.push(OutlierAction::Eject { id: observation.id, time, sum: sum.clone() });
            }
            state.store_evaluation(now, sum);
        }
        orders
    }

    /// The last evaluation; while a server is ejected, that of its ejection.
    pub fn evaluation(&self, id: ServerId) -> Option<&OutlierEvaluation> {
        self.servers.get(&id)?.evaluation.as_ref()
    }

    pub fn ejected_servers(&self) -> impl Iterator<Item = ServerId> {
        self.servers.iter().filter(|(_, state)| state.ejected.is_some()).map(|(id, _)| *id)
    }

    fn readmit_due(
        &mut self,
        now: MonotonicTime,
        seen: &[OutlierObservation],
    ) -> Vec<OutlierAction> {
        let is_out = |seats: &HashMap<ServerId, OutlierServer>, id| {
            seats.get(&id).is_some_and(|seat| seat.ejected.is_some())
        };
        let takes = |observation: &&OutlierObservation| {
            observation.eligibility == ServerEligibility::Available
                && !is_out(&self.servers, observation.id)
        };
        let empty = !seen.iter().any(|observation| takes(&observation));
        let mut orders = Vec::new();
        for observation in seen {
            let Some(state) = self.servers.get_mut(&observation.id) else { continue };
            let Some(EjectionPeriod { since, until }) = state.ejected else { continue };
            let needed =
                empty && observation.eligibility == ServerEligibility::Available && now < until;
            if now >= until || needed || observation.eligibility == ServerEligibility::Excluded {
                state.ejected = None;
                state.good_since = Some(now);
                state.samples.clear();
                state.samples.push_back(OutlierSample { at: now, counts: observation.counts });
                orders.push(OutlierAction::Readmit {
                    id: observation.id,
                    after: now.since(since),
                    needed,
                });
            }
        }
        orders
    }

    /// The totals of all servers, before any server is evaluated.
    fn pool_totals(&self, seen: &[OutlierObservation]) -> OutlierPoolTotals {
        let mut whole = OutlierPoolTotals::default();
        for observation in seen {
            whole.failing += u32::from(observation.consecutive_failures > 0);
            if observation.eligibility == ServerEligibility::Excluded {
                continue;
            }
            let state = self.servers.get(&observation.id);
            let is_out = state.is_some_and(|state| state.ejected.is_some());
            whole.servers += 1;
            whole.out += u32::from(observation.eligibility == ServerEligibility::Down || is_out);
            if !is_out {
                whole.counts = whole
                    .counts
                    .plus(state.map(OutlierServer::interval_counts).unwrap_or_default());
            }
        }
        whole
    }
}

/// Totals over a pool's servers, so that the evaluation of one does not iterate over all of them.
#[derive(Debug, Default)]
struct OutlierPoolTotals {
    /// Counts of the interval, of servers that should get work and are not ejected.
    counts: OutlierCounts,
    /// Servers whose last result was a failure.
    failing: u32,
    /// Servers that should get work.
    servers: u32,
    /// Those of them that are ejected or down.
    out: u32,
}

impl OutlierPoolTotals {
    /// Evaluates one server.
    fn evaluate_server(
        &self,
        terms: &OutlierDetectionConfig,
        observation: &OutlierObservation,
        state: &OutlierServer,
    ) -> OutlierEvaluation {
        let own = state.interval_counts();
        let counted =
            observation.eligibility != ServerEligibility::Excluded && state.ejected.is_none();
        let mut sum = OutlierEvaluation {
            own,
            consecutive_failures: observation.consecutive_failures,
            others: if counted { self.counts.minus(own) } else { self.counts },
            others_failing: self.failing - u32::from(observation.consecutive_failures > 0),
            unavailable: self.out,
            servers: self.servers,
            max_unavailable: self.servers * u32::from(terms.share) / 100,
            ejections: state.ejections,
            decision: OutlierDecision::Good,
        };
        let may =
            observation.eligibility == ServerEligibility::Available && state.ejected.is_none();
        sum.decision = if may { sum.decide(terms) } else { OutlierDecision::NotEvaluated };
        sum
    }

    /// Removes the counts of a server that was ejected.
    fn remove_ejected(&mut self, own: OutlierCounts) {
        self.counts = self.counts.minus(own);
        self.out += 1;
    }
}

impl OutlierServer {
    fn record_sample(
        &mut self,
        terms: &OutlierDetectionConfig,
        now: MonotonicTime,
        tally: OutlierCounts,
    ) {
        // Counters that decreased belong to another server with the same number.
        if self.samples.back().is_some_and(|last| {
            tally.successes + tally.failures < last.counts.successes + last.counts.failures
        }) {
            self.samples.clear();
        }
        self.samples.push_back(OutlierSample { at: now, counts: tally });
        while self.samples.get(1).is_some_and(|sample| now.since(sample.at) >= terms.interval) {
            self.samples.pop_front();
        }
    }

    /// Counts within the interval.
    fn interval_counts(&self) -> OutlierCounts {
        match (self.samples.front(), self.samples.back()) {
            (Some(first), Some(last)) => last.counts.minus(first.counts),
            _ => OutlierCounts::default(),
        }
    }

    fn eject(&mut self, terms: &OutlierDetectionConfig, now: MonotonicTime, draw: u64) -> Duration {
        // Twenty doublings of the shortest `time` (100 ms) exceed the longest `most` (a day), and the shift cannot
        // overflow.
        let whole = terms.time.saturating_mul(1 << self.ejections.min(20)).min(terms.most);
        let share = (whole.as_nanos() * JITTER / 100 * u128::from(draw)) >> 64;
        let time = whole - Duration::from_nanos(u64::try_from(share).unwrap_or(0));
        self.ejections = self.ejections.saturating_add(1);
        self.ejected = Some(EjectionPeriod { since: now, until: now + time });
        self.good_since = None;
        time
    }

    fn store_evaluation(&mut self, now: MonotonicTime, sum: OutlierEvaluation) {
        if self.ejected.is_some() {
            // The evaluation of its ejection stays visible.
            if matches!(sum.decision, OutlierDecision::Ejected(_)) {
                self.evaluation = Some(sum);
            }
            return;
        }
        self.evaluation = Some(sum);
        if let Some(since) = self.good_since
            && now.since(since) >= FORGIVENESS_INTERVAL
        {
            self.ejections = self.ejections.saturating_sub(1);
            self.good_since = (self.ejections > 0).then_some(now);
        }
    }
}

#[cfg(test)]
mod tests;
