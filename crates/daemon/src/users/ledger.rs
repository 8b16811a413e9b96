//! One service's users: what they met over time and within the last hour, and which alarms stand. Pure but for the counters
//! that it reads; the moment comes in.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use api::types::{UsersCause, UsersNetwork, UsersPromise, UsersService};
use model::cause::Cause;
use model::config::Objective;
use model::snapshot::ServiceView;
use model::users::burn::{Alarm, Measure, RULES, Turn};
use model::users::ended::{self, Outcome};
use model::users::series::{Series, Sums};
use model::users::table::{self, Network, Reader};
use model::users::tally::Tally;

use super::hour::{Hour, Networks, Slice};
use super::said::{Said, Scene};
use super::shown::Service;
use super::what::What;
use crate::report::users;

/// What servers answer themselves stands behind the causes.
const OWN_ANSWER: &str = "status-5xx";

/// A service's users.
#[derive(Debug)]
pub(super) struct Ledger {
    name: String,
    counted: Arc<table::Users>,
    reader: Reader,
    window: Duration,
    series: Series,
    hour: Hour,
    /// Since the start, for readers that make rates of them.
    ever: Networks,
    /// Causes of failures as they were counted last.
    causes: Vec<u64>,
    /// Of each promise, by rule.
    alarms: [[Standing; RULES.len()]; What::ALL.len()],
}

#[derive(Clone, Debug, Default)]
struct Standing {
    alarm: Alarm,
    /// Why it was raised.
    reason: Option<String>,
}

impl Ledger {
    /// Begins with what was before, by time; `None`: the service promises nothing.
    pub(super) fn new(view: &ServiceView, before: &[(u64, Sums)]) -> Option<Ledger> {
        let objective = view.config.objective.as_ref()?;
        let mut series = Series::new(objective.window);
        before.iter().for_each(|(at, sums)| series.add(*at, *sums));
        Some(Ledger {
            name: view.config.name.clone(),
            counted: Arc::clone(view.users.as_ref()?),
            reader: Reader::default(),
            window: objective.window,
            series,
            hour: Hour::default(),
            ever: Networks::default(),
            causes: causes(view),
            alarms: Default::default(),
        })
    }

    /// Takes what was counted since the last look; what is to be told of alarms.
    pub(super) fn look(&mut self, view: &ServiceView, now: u64) -> Vec<Said> {
        let (Some(users), Some(objective)) = (&view.users, &view.config.objective) else {
            return Vec::new();
        };
        if self.window != objective.window {
            self.window = objective.window;
            self.series.stretch(objective.window);
        }
        self.take(now);
        if !Arc::ptr_eq(&self.counted, users) {
            (self.counted, self.reader) = (Arc::clone(users), Reader::default());
            self.take(now);
        }
        let now_are = causes(view);
        let grown = now_are.iter().zip(&self.causes).map(|(is, was)| is.saturating_sub(*was));
        let slice = self.hour.now(now).0;
        slice.causes.resize(now_are.len(), 0);
        slice.causes.iter_mut().zip(grown).for_each(|(sum, more)| *sum += more);
        self.causes = now_are;
        self.judge(objective, now)
    }

    fn take(&mut self, now: u64) {
        let most = self.counted.shape().networks;
        let (slice, new) = self.hour.now(now);
        let ever = &mut self.ever;
        let total = self.reader.read(&self.counted, |network, tally| {
            slice.networks.add(network, tally, most);
            ever.add(network, tally, most);
        });
        slice.tally += &total;
        self.series.add(now, Sums::of(&total));
        if new {
            // What is on the page that is left will be read the next time; what is on the other one was.
            self.counted.turn();
            let hour = &self.hour;
            self.ever.known.retain(|network, _| hour.has(network));
        }
    }

    fn judge(&mut self, objective: &Objective, now: u64) -> Vec<Said> {
        let mut told = Vec::new();
        for what in What::ALL {
            let Some(goal) = what.goal(objective) else {
                told.extend(self.end(what, "it is not promised any more"));
                continue;
            };
            let over = |span| what.measure(&self.series.within(now, span));
            let left = goal.left(over(objective.window));
            let mut turned = Vec::new();
            for (at, rule) in RULES.iter().enumerate() {
                let spans = (over(rule.long), over(rule.short));
                let standing = &mut self.alarms[what as usize][at];
                let least = u64::from(objective.at_least);
                let Some(turn) = standing.alarm.look((rule, goal), spans, least, now) else {
                    continue;
                };
                turned.push((at, rule, spans, turn));
            }
            for (at, rule, spans, turn) in turned {
                let hour = self.hour.sum(now);
                let scene = Scene {
                    service: &self.name,
                    what,
                    goal,
                    window: objective.window,
                    rule,
                    spans,
                    left,
                    cause: (what == What::Available).then(|| worst_cause(&hour)).flatten(),
                    network: worst_network(&hour, what),
                };
                let said = match turn {
                    Turn::Raised => scene.raised(),
                    Turn::Ended => scene.ended(),
                };
                let reason = (turn == Turn::Raised).then(|| said.reason.clone());
                self.alarms[what as usize][at].reason = reason;
                told.push(said);
            }
        }
        told
    }

    /// Nothing is promised any more: what is to be told of alarms that stood.
    pub(super) fn ended(mut self) -> Vec<Said> {
        What::ALL
            .into_iter()
            .flat_map(|what| self.end(what, "it is not promised any more"))
            .collect()
    }

    fn end(&mut self, what: What, why: &str) -> Vec<Said> {
        let standing = RULES.iter().zip(&mut self.alarms[what as usize]);
        let stood = standing.filter(|(_, standing)| standing.alarm.since.is_some());
        let name = &self.name;
        stood
            .map(|(rule, standing)| {
                *standing = Standing::default();
                Said::over(name, what, rule, why)
            })
            .collect()
    }

    fn promises(&self, objective: &Objective, now: u64) -> Vec<UsersPromise> {
        let each = What::ALL.into_iter().filter_map(|what| Some((what, what.goal(objective)?)));
        each.map(|(what, goal)| {
            let over = |span| what.measure(&self.series.within(now, span));
            let window = objective.window;
            let begun = now.saturating_sub(window.as_secs());
            let since = self.series.first().map(|first| first.max(begun));
            let alarms = RULES.iter().zip(&self.alarms[what as usize]).map(|(rule, standing)| {
                let spans = (over(rule.long), over(rule.short));
                users::alarm((rule, goal), spans, standing.alarm, standing.reason.as_deref())
            });
            let alarms = alarms.collect();
            UsersPromise {
                alarms,
                ..users::promise(what.name(), goal, window, since, over(window))
            }
        })
        .collect()
    }

    /// For status and metrics.
    pub(super) fn shown(&self, view: &ServiceView, now: u64) -> Service {
        let Some(objective) = &view.config.objective else { return Service::default() };
        let networks = self.ever.known.iter().map(|(network, it)| (network.to_string(), *it));
        let mut networks: Vec<_> = networks.collect();
        networks.sort_by(|a, b| a.0.cmp(&b.0));
        Service { promises: self.promises(objective, now), networks, others: self.ever.others }
    }

    /// For whoever asks.
    pub(super) fn explain(&self, view: &ServiceView, now: u64) -> Option<UsersService> {
        let objective = view.config.objective.as_ref()?;
        let (hour, speed) = (self.hour.sum(now), objective.fast.is_some());
        let mut rows: Vec<(&Network, &Tally)> = hour.networks.known.iter().collect();
        let bad = |tally: &Tally| tally.failed() + if speed { tally.slow() } else { 0 };
        let most = |tally: &Tally| std::cmp::Reverse((bad(tally), tally.ended()));
        rows.sort_by(|a, b| (most(a.1), a.0).cmp(&(most(b.1), b.0)));
        let mut others = hour.networks.others;
        let room = objective.networks as usize;
        rows.iter().skip(room).for_each(|(_, tally)| others += tally);
        let networks = rows.iter().take(room).map(|(network, tally)| UsersNetwork {
            network: network.to_string(),
            counts: users::counts(tally, speed),
        });
        let mut causes = named(&hour);
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let causes = causes.into_iter().map(|(cause, count)| (cause.to_owned(), count));
        Some(UsersService {
            name: self.name.clone(),
            fast_ms: objective.fast.map(|fast| fast.as_secs_f64() * 1e3),
            promises: self.promises(objective, now),
            hour: users::counts(&hour.tally, speed),
            causes: causes.map(|(cause, count)| UsersCause { cause, count }).collect(),
            networks: networks.collect(),
            others: users::counts(&others, speed),
            networks_most: objective.networks,
        })
    }
}

/// Failures so far: by cause, and behind them servers' own answers.
fn causes(view: &ServiceView) -> Vec<u64> {
    let slots = &view.live.slots;
    let sum = |cause: &Cause| slots.iter().map(|slot| slot.causes[*cause as usize].get()).sum();
    let own = slots.iter().map(|slot| slot.counters.status_5xx.get()).sum();
    Cause::ALL.iter().map(sum).chain([own]).collect()
}

/// Causes that count against a promise, and how often each came.
fn named(hour: &Slice) -> Vec<(&'static str, u64)> {
    let fails = |cause: &Cause| ended::of(*cause).0 == Outcome::Failed;
    let names = Cause::ALL.iter().map(|cause| fails(cause).then(|| cause.name()));
    let named = names.chain([Some(OWN_ANSWER)]).zip(&hour.causes);
    named.filter_map(|(name, count)| name.zip((*count > 0).then_some(*count))).collect()
}

/// What most failures of the hour were.
fn worst_cause(hour: &Slice) -> Option<(String, u64)> {
    let found = named(hour).into_iter().max_by_key(|(_, count)| *count);
    found.map(|(name, count)| (name.to_owned(), count))
}

/// The network with the most bad operations of the hour, where others fare better.
fn worst_network(hour: &Slice, what: What) -> Option<(String, Measure)> {
    let measure = |tally: &Tally| what.measure(&Sums::of(tally));
    let all: HashMap<_, _> =
        hour.networks.known.iter().map(|(network, tally)| (network, measure(tally))).collect();
    let (network, worst) = all.iter().max_by_key(|(network, it)| (it.bad, **network))?;
    let whole = measure(&hour.tally);
    let (mine, theirs) = (worst.good()?, whole.good()?);
    (worst.operations < whole.operations && mine < theirs).then(|| (network.to_string(), *worst))
}
