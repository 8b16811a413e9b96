//! One service's users: what they met over time and within the last hour, and which alarms stand. Pure but for the counters
//! that it reads; the moment comes in.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use api::types::{FailedOperations, NetworkOperations, ObjectiveStatus, ServiceObjectives};
use model::cause::Cause;
use model::config::ServiceObjective;
use model::slo::burn_rate::{AlarmTransition, BURN_RULES, BurnRateAlarm, BurnSpans};
use model::slo::network_table::{self, SloNetwork, SloReader};
use model::slo::outcome::{self, SloOutcome};
use model::slo::outcome_counts::SloOutcomeCounts;
use model::slo::series::{SloCounts, SloSeries};
use model::snapshot::ServiceView;

use super::alarm_event::{AlarmContext, NetworkBurn, SloEvent};
use super::hour_window::{CurrentSlice, HourWindow, NetworkTallies, TallySlice};
use super::objective::SloKind;
use super::objective_report::{alarm_report, objective_report, outcome_counts};
use super::past_outcomes::PastOutcomes;
use super::summary::{NetworkOutcomes, ServiceSlo};

/// Errors that servers return themselves are listed after the other causes.
const OWN_ANSWER: &str = "status-5xx";

#[derive(Debug)]
pub(super) struct SloLedger {
    name: String,
    table: Arc<network_table::SloTable>,
    reader: SloReader,
    window: Duration,
    series: SloSeries,
    hour: HourWindow,
    /// Since the start, for readers that make rates of them.
    totals: NetworkTallies,
    /// Causes of failures as they were counted last.
    causes: Vec<u64>,
    /// Of each promise, by rule.
    alarms: [[AlarmState; BURN_RULES.len()]; SloKind::ALL.len()],
}

#[derive(Clone, Debug, Default)]
struct AlarmState {
    alarm: BurnRateAlarm,
    /// Why it was raised.
    reason: Option<String>,
}

impl SloLedger {
    /// A ledger with earlier counts, by time; `None`: the service has no objective.
    pub(super) fn new(view: &ServiceView, before: &[PastOutcomes]) -> Option<SloLedger> {
        let objective = view.config.objective.as_ref()?;
        let mut series = SloSeries::new(objective.window);
        before.iter().for_each(|past| series.add(past.at, past.counts));
        Some(SloLedger {
            name: view.config.name.clone(),
            table: Arc::clone(view.slo.as_ref()?),
            reader: SloReader::default(),
            window: objective.window,
            series,
            hour: HourWindow::default(),
            totals: NetworkTallies::default(),
            causes: causes(view),
            alarms: Default::default(),
        })
    }

    /// Reads the counts since the last time; returns alarm events.
    pub(super) fn update(&mut self, view: &ServiceView, now: u64) -> Vec<SloEvent> {
        let (Some(users), Some(objective)) = (&view.slo, &view.config.objective) else {
            return Vec::new();
        };
        if self.window != objective.window {
            self.window = objective.window;
            self.series.resize_window(objective.window);
        }
        self.take_counts(now);
        if !Arc::ptr_eq(&self.table, users) {
            self.table = Arc::clone(users);
            self.reader = SloReader::default();
            self.take_counts(now);
        }
        let now_are = causes(view);
        let grown = now_are.iter().zip(&self.causes).map(|(is, was)| is.saturating_sub(*was));
        let slice = self.hour.current_slice(now).slice;
        slice.causes.resize(now_are.len(), 0);
        slice.causes.iter_mut().zip(grown).for_each(|(sum, more)| *sum += more);
        self.causes = now_are;
        self.update_alarms(objective, now)
    }

    fn take_counts(&mut self, now: u64) {
        let most = self.table.shape().networks;
        let CurrentSlice { slice, is_new } = self.hour.current_slice(now);
        let ever = &mut self.totals;
        let total = self.reader.read(&self.table, |network, tally| {
            slice.networks.add(network, tally, most);
            ever.add(network, tally, most);
        });
        slice.tally += &total;
        self.series.add(now, SloCounts::from_counts(&total));
        if is_new {
            // Counts on the page that workers leave are read next time; the other page has been read.
            self.table.flip_pages();
            let hour = &self.hour;
            self.totals.known.retain(|network, _| hour.has_network(network));
        }
    }

    fn update_alarms(&mut self, objective: &ServiceObjective, now: u64) -> Vec<SloEvent> {
        let mut told = Vec::new();
        for what in SloKind::ALL {
            let Some(goal) = what.goal(objective) else {
                told.extend(self.end_alarm(what, "the objective was removed"));
                continue;
            };
            let over = |span| what.measure_bad(&self.series.sums_within(now, span));
            let left = goal.budget_left(over(objective.window));
            let mut turned = Vec::new();
            for (at, rule) in BURN_RULES.iter().enumerate() {
                let spans = BurnSpans { long: over(rule.long), short: over(rule.short) };
                let standing = &mut self.alarms[what as usize][at];
                let least = u64::from(objective.at_least);
                let Some(turn) = standing.alarm.update(rule, goal, spans, least, now) else {
                    continue;
                };
                turned.push((at, rule, spans, turn));
            }
            for (at, rule, spans, turn) in turned {
                let hour = self.hour.sum(now);
                let scene = AlarmContext {
                    service: &self.name,
                    objective: what,
                    goal,
                    window: objective.window,
                    rule,
                    windows: spans,
                    budget_left: left,
                    main_cause: (what == SloKind::Available).then(|| worst_cause(&hour)).flatten(),
                    network: worst_network(&hour, what),
                };
                let said = match turn {
                    AlarmTransition::Raised => scene.raised_event(),
                    AlarmTransition::Ended => scene.ended_event(),
                };
                let reason = (turn == AlarmTransition::Raised).then(|| said.reason.clone());
                self.alarms[what as usize][at].reason = reason;
                told.push(said);
            }
        }
        told
    }

    /// The objective was removed: returns the ends of its alarms.
    pub(super) fn close(mut self) -> Vec<SloEvent> {
        SloKind::ALL
            .into_iter()
            .flat_map(|what| self.end_alarm(what, "the objective was removed"))
            .collect()
    }

    fn end_alarm(&mut self, what: SloKind, why: &str) -> Vec<SloEvent> {
        let standing = BURN_RULES.iter().zip(&mut self.alarms[what as usize]);
        let stood = standing.filter(|(_, standing)| standing.alarm.since.is_some());
        let name = &self.name;
        stood
            .map(|(rule, standing)| {
                *standing = AlarmState::default();
                SloEvent::ended_early(name, what, rule, why)
            })
            .collect()
    }

    fn objective_reports(&self, objective: &ServiceObjective, now: u64) -> Vec<ObjectiveStatus> {
        let each = SloKind::ALL.into_iter().filter_map(|what| Some((what, what.goal(objective)?)));
        each.map(|(what, goal)| {
            let over = |span| what.measure_bad(&self.series.sums_within(now, span));
            let window = objective.window;
            let begun = now.saturating_sub(window.as_secs());
            let since = self.series.first_seen().map(|first| first.max(begun));
            let alarms =
                BURN_RULES.iter().zip(&self.alarms[what as usize]).map(|(rule, standing)| {
                    alarm_report(
                        rule,
                        goal,
                        over(rule.long),
                        over(rule.short),
                        standing.alarm,
                        standing.reason.as_deref(),
                    )
                });
            let alarms = alarms.collect();
            ObjectiveStatus {
                alarms,
                ..objective_report(what.name(), goal, window, since, over(window))
            }
        })
        .collect()
    }

    /// For status and metrics.
    pub(super) fn summary(&self, view: &ServiceView, now: u64) -> ServiceSlo {
        let Some(objective) = &view.config.objective else { return ServiceSlo::default() };
        let known = self.totals.known.iter();
        let mut networks: Vec<NetworkOutcomes> = known
            .map(|(network, it)| NetworkOutcomes { network: network.to_string(), counts: *it })
            .collect();
        networks.sort_by(|a, b| a.network.cmp(&b.network));
        ServiceSlo {
            objectives: self.objective_reports(objective, now),
            networks,
            others: self.totals.others,
        }
    }

    pub(super) fn explain(&self, view: &ServiceView, now: u64) -> Option<ServiceObjectives> {
        let objective = view.config.objective.as_ref()?;
        let hour = self.hour.sum(now);
        let speed = objective.fast.is_some();
        let mut rows: Vec<(&SloNetwork, &SloOutcomeCounts)> = hour.networks.known.iter().collect();
        let bad = |tally: &SloOutcomeCounts| tally.failed() + if speed { tally.slow() } else { 0 };
        let most = |tally: &SloOutcomeCounts| std::cmp::Reverse((bad(tally), tally.total()));
        rows.sort_by_key(|(network, tally)| (most(tally), **network));
        let mut others = hour.networks.others;
        let room = objective.networks as usize;
        rows.iter().skip(room).for_each(|(_, tally)| others += tally);
        let networks = rows.iter().take(room).map(|(network, tally)| NetworkOperations {
            network: network.to_string(),
            counts: outcome_counts(tally, speed),
        });
        let mut causes = named_causes(&hour);
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.count));
        Some(ServiceObjectives {
            name: self.name.clone(),
            latency_ms: objective.fast.map(|fast| fast.as_secs_f64() * 1e3),
            objectives: self.objective_reports(objective, now),
            hour: outcome_counts(&hour.tally, speed),
            causes,
            networks: networks.collect(),
            others: outcome_counts(&others, speed),
            max_networks: objective.networks,
        })
    }
}

/// Failures so far: by cause, and behind them servers' own answers.
fn causes(view: &ServiceView) -> Vec<u64> {
    let slots = &view.stats.slots;
    let sum = |cause: &Cause| slots.iter().map(|slot| slot.causes[*cause as usize].get()).sum();
    let own = slots.iter().map(|slot| slot.counters.complete_5xx.get()).sum();
    Cause::ALL.iter().map(sum).chain([own]).collect()
}

/// Causes that count against an objective, with their counts.
fn named_causes(hour: &TallySlice) -> Vec<FailedOperations> {
    let fails = |cause: &Cause| outcome::classify_cause(*cause).outcome == SloOutcome::Failed;
    let names = Cause::ALL.iter().map(|cause| fails(cause).then(|| cause.name()));
    let named = names.chain([Some(OWN_ANSWER)]).zip(&hour.causes);
    let counted = named.filter(|(_, count)| **count > 0);
    counted
        .filter_map(|(name, count)| {
            Some(FailedOperations { cause: name?.to_owned(), count: *count })
        })
        .collect()
}

/// The most frequent cause of the hour.
fn worst_cause(hour: &TallySlice) -> Option<FailedOperations> {
    named_causes(hour).into_iter().max_by_key(|cause| cause.count)
}

/// The network with the most bad operations of the hour, where others fare better.
fn worst_network(hour: &TallySlice, what: SloKind) -> Option<NetworkBurn> {
    let measure = |tally: &SloOutcomeCounts| what.measure_bad(&SloCounts::from_counts(tally));
    let all: HashMap<_, _> =
        hour.networks.known.iter().map(|(network, tally)| (network, measure(tally))).collect();
    let (network, worst) = all.iter().max_by_key(|(network, it)| (it.bad, **network))?;
    let whole = measure(&hour.tally);
    let mine = worst.good_share()?;
    let theirs = whole.good_share()?;
    (worst.operations < whole.operations && mine < theirs)
        .then(|| NetworkBurn { network: network.to_string(), measured: *worst })
}
