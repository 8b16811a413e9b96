//! Which servers of a pool are put out for what they answer, and when they come back: a pure machine for one pool.
//!
//! It is told every tenth of a second or so what the counters say of each server, and answers with orders. A server is put
//! out for
//!
//! - failures in a row (`failures`),
//! - its rate of failures over the last interval (`rate`, of at least `volume` answers),
//! - its rate of answers cut in the middle (`cut-rate`, at least three of them): no further attempt can mend those.
//!
//! What all servers suffer is no fault of one: it stays while the others together fail at more than half of its rate. And a
//! pool is never emptied: at most `share` of the servers that are to take work may be out, those that are down counted, and
//! when nothing else is up all of them come back. The time out doubles with each ejection up to `most`; a minute without
//! one takes one doubling back.
//!
//! It counts nothing, reads no clock and knows nothing of probes: a server that comes back is what its probe says of it.

pub mod evaluation;

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use crate::cause::{Cause, Side};
use crate::config::OutlierDetectionConfig;
use crate::id::ServerId;
use crate::monotonic_time::MonotonicTime;
pub use evaluation::{EjectionReason, OutlierCounts, OutlierDecision, OutlierEvaluation};

/// In for so long without another ejection, one doubling is taken back.
const FORGIVENESS_INTERVAL: Duration = Duration::from_secs(60);

/// Random share of a time out, percent: what went out together does not come back together.
const JITTER: u128 = 10;

/// What a server is apart from ejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEligibility {
    /// It is to take work and may.
    Available,
    /// It is to take work, and is judged to be down.
    Down,
    /// It is not to take work: drained, disabled, of no weight or without an address.
    Excluded,
}

/// What is known of a server at a look.
#[derive(Clone, Copy, Debug)]
pub struct OutlierObservation {
    pub id: ServerId,
    pub eligibility: ServerEligibility,
    /// What was counted of it since the process began.
    pub counts: OutlierCounts,
    /// Failures since its last good answer.
    pub consecutive_failures: u64,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum OutlierAction {
    Eject {
        id: ServerId,
        time: Duration,
        /// Why, with its arithmetic.
        sum: OutlierEvaluation,
    },
    /// Let it come back; its failures in a row are forgotten.
    Readmit {
        id: ServerId,
        /// After which time out it comes back.
        after: Duration,
        /// Nothing else was up.
        needed: bool,
    },
}

impl OutlierAction {
    /// Whom it is about.
    pub fn server(&self) -> ServerId {
        match self {
            OutlierAction::Eject { id, .. } | OutlierAction::Readmit { id, .. } => *id,
        }
    }
}

/// What a failed attempt says of its server; `None`: nothing.
pub fn classify_failure(cause: Cause) -> Option<OutlierFailure> {
    match cause {
        Cause::ServerCut | Cause::ServerBodyTimeout => Some(OutlierFailure::Truncated),
        // It was taken away for a judgement that stands already.
        Cause::ServerMarkedDown => None,
        cause => match cause.side() {
            Side::Server | Side::Network => Some(OutlierFailure::Failed),
            Side::Client | Side::Us => None,
        },
    }
}

/// How a failed attempt counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlierFailure {
    Failed,
    /// As a failure, and as an answer cut in the middle.
    Truncated,
}

#[derive(Debug, Default)]
pub struct OutlierDetector {
    servers: HashMap<ServerId, OutlierServer>,
}

#[derive(Debug, Default)]
struct OutlierServer {
    /// What was counted at each look of the last interval, and one before it.
    samples: VecDeque<(MonotonicTime, OutlierCounts)>,
    /// It is out: since when, until when.
    ejected: Option<(MonotonicTime, MonotonicTime)>,
    /// Ejections that are not forgiven.
    ejections: u32,
    /// In since then, or when a doubling was taken back last.
    good_since: Option<MonotonicTime>,
    evaluation: Option<OutlierEvaluation>,
}

impl OutlierDetector {
    /// Looks at the whole pool once. `draw` gives 64 random bits.
    pub fn evaluate_pool(
        &mut self,
        terms: &OutlierDetectionConfig,
        now: MonotonicTime,
        seen: &[OutlierObservation],
        mut draw: impl FnMut() -> u64,
    ) -> Vec<OutlierAction> {
        let here: HashSet<ServerId> = seen.iter().map(|one| one.id).collect();
        self.servers.retain(|id, _| here.contains(id));
        for one in seen {
            self.servers.entry(one.id).or_default().record_sample(terms, now, one.counts);
        }
        let mut orders = self.readmit_due(now, seen);
        let back: HashSet<ServerId> = orders.iter().map(OutlierAction::server).collect();
        // What failed before a server went out says nothing of what it is now.
        let mut seen = seen.to_vec();
        seen.iter_mut()
            .filter(|one| back.contains(&one.id))
            .for_each(|one| one.consecutive_failures = 0);
        let mut whole = self.pool_totals(&seen);
        for one in &seen {
            let Some(seat) = self.servers.get_mut(&one.id) else { continue };
            let sum = whole.evaluate_server(terms, one, seat);
            if let OutlierDecision::Ejected(_) = sum.verdict {
                let time = seat.eject(terms, now, draw());
                whole.remove_ejected(sum.own);
                orders.push(OutlierAction::Eject { id: one.id, time, sum: sum.clone() });
            }
            seat.store_evaluation(now, sum);
        }
        orders
    }

    /// The arithmetic of the last look; while a server is out, that of its ejection.
    pub fn evaluation(&self, id: ServerId) -> Option<&OutlierEvaluation> {
        self.servers.get(&id)?.evaluation.as_ref()
    }

    /// Everybody who is out.
    pub fn ejected_servers(&self) -> impl Iterator<Item = ServerId> {
        self.servers.iter().filter(|(_, seat)| seat.ejected.is_some()).map(|(id, _)| *id)
    }

    fn readmit_due(
        &mut self,
        now: MonotonicTime,
        seen: &[OutlierObservation],
    ) -> Vec<OutlierAction> {
        let is_out = |seats: &HashMap<ServerId, OutlierServer>, id| {
            seats.get(&id).is_some_and(|seat| seat.ejected.is_some())
        };
        let takes = |one: &&OutlierObservation| {
            one.eligibility == ServerEligibility::Available && !is_out(&self.servers, one.id)
        };
        let empty = !seen.iter().any(|one| takes(&one));
        let mut orders = Vec::new();
        for one in seen {
            let Some(seat) = self.servers.get_mut(&one.id) else { continue };
            let Some((since, until)) = seat.ejected else { continue };
            let needed = empty && one.eligibility == ServerEligibility::Available && now < until;
            if now >= until || needed || one.eligibility == ServerEligibility::Excluded {
                seat.ejected = None;
                seat.good_since = Some(now);
                seat.samples.clear();
                seat.samples.push_back((now, one.counts));
                orders.push(OutlierAction::Readmit { id: one.id, after: now.since(since), needed });
            }
        }
        orders
    }

    /// What all of them come to, before anybody of this look is judged.
    fn pool_totals(&self, seen: &[OutlierObservation]) -> OutlierPoolTotals {
        let mut whole = OutlierPoolTotals::default();
        for one in seen {
            whole.failing += u32::from(one.consecutive_failures > 0);
            if one.eligibility == ServerEligibility::Excluded {
                continue;
            }
            let seat = self.servers.get(&one.id);
            let is_out = seat.is_some_and(|seat| seat.ejected.is_some());
            whole.servers += 1;
            whole.out += u32::from(one.eligibility == ServerEligibility::Down || is_out);
            if !is_out {
                whole.counts =
                    whole.counts.plus(seat.map(OutlierServer::interval_counts).unwrap_or_default());
            }
        }
        whole
    }
}

/// A pool's servers taken together, so that judging one of very many does not look at all of them.
#[derive(Debug, Default)]
struct OutlierPoolTotals {
    /// What the interval counted of those that are not put out and are to take work.
    counts: OutlierCounts,
    /// How many failed last.
    failing: u32,
    /// How many are to take work.
    servers: u32,
    /// How many of these cannot.
    out: u32,
}

impl OutlierPoolTotals {
    /// The arithmetic for one server as things stand.
    fn evaluate_server(
        &self,
        terms: &OutlierDetectionConfig,
        one: &OutlierObservation,
        seat: &OutlierServer,
    ) -> OutlierEvaluation {
        let own = seat.interval_counts();
        let counted = one.eligibility != ServerEligibility::Excluded && seat.ejected.is_none();
        let mut sum = OutlierEvaluation {
            own,
            in_a_row: one.consecutive_failures,
            others: if counted { self.counts.minus(own) } else { self.counts },
            others_failing: self.failing - u32::from(one.consecutive_failures > 0),
            out: self.out,
            of: self.servers,
            allowed: self.servers * u32::from(terms.share) / 100,
            times: seat.ejections,
            verdict: OutlierDecision::Good,
        };
        let may = one.eligibility == ServerEligibility::Available && seat.ejected.is_none();
        sum.verdict = if may { sum.decide(terms) } else { OutlierDecision::NotJudged };
        sum
    }

    /// A server that could take work is put out.
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
        // Counters that went back belong to another server under the same number.
        if self
            .samples
            .back()
            .is_some_and(|(_, last)| tally.good + tally.bad < last.good + last.bad)
        {
            self.samples.clear();
        }
        self.samples.push_back((now, tally));
        while self.samples.get(1).is_some_and(|(at, _)| now.since(*at) >= terms.interval) {
            self.samples.pop_front();
        }
    }

    /// What the interval counted.
    fn interval_counts(&self) -> OutlierCounts {
        match (self.samples.front(), self.samples.back()) {
            (Some((_, first)), Some((_, last))) => last.minus(*first),
            _ => OutlierCounts::default(),
        }
    }

    fn eject(&mut self, terms: &OutlierDetectionConfig, now: MonotonicTime, draw: u64) -> Duration {
        let whole = terms.time.saturating_mul(1 << self.ejections.min(20)).min(terms.most);
        let share = (whole.as_nanos() * JITTER / 100 * u128::from(draw)) >> 64;
        let time = whole - Duration::from_nanos(u64::try_from(share).unwrap_or(0));
        self.ejections = self.ejections.saturating_add(1);
        self.ejected = Some((now, now + time));
        self.good_since = None;
        time
    }

    fn store_evaluation(&mut self, now: MonotonicTime, sum: OutlierEvaluation) {
        if self.ejected.is_some() {
            // That of its ejection stays to be looked at.
            if matches!(sum.verdict, OutlierDecision::Ejected(_)) {
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
