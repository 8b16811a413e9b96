//! Error budgets, burn rates and their alarms. Pure.
//!
//! As in the SRE workbook, chapter 5: the budget is the share that may be bad. A burn rate of 1 uses it up exactly
//! within its window. An alarm is raised when the burn rate is too high over a long span and also over a short one. The
//! long span filters accidents; the short one ends the alarm soon after the failures end.

use std::time::Duration;

/// Parts of a whole.
const PARTS_PER_MILLION: f64 = 1e6;
/// An alarm ends when the burn rate is below this share of the threshold, so that it does not flap around an edge.
const ALARM_END_SHARE: f64 = 0.9;

/// The objective: operations that must be good, parts per million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SloTarget(pub u32);

/// Operations of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurnMeasurement {
    pub operations: u64,
    pub bad: u64,
}

impl BurnMeasurement {
    /// The share that is good, 0 to 1; `None`: no operations.
    pub fn good_share(&self) -> Option<f64> {
        (self.operations > 0).then(|| 1.0 - self.bad as f64 / self.operations as f64)
    }
}

impl SloTarget {
    /// The share that may be bad, 0 to 1.
    pub fn error_budget(self) -> f64 {
        (PARTS_PER_MILLION - f64::from(self.0)).max(0.0) / PARTS_PER_MILLION
    }

    /// How many times more operations are bad than allowed; `None`: no operations.
    pub fn burn_rate(self, measure: BurnMeasurement) -> Option<f64> {
        Some((1.0 - measure.good_share()?) / self.error_budget().max(1.0 / PARTS_PER_MILLION))
    }

    /// The share of the budget that is left, 1 at most; below 0 it is overdrawn. All of it without operations.
    pub fn budget_left(self, measure: BurnMeasurement) -> f64 {
        1.0 - self.burn_rate(measure).unwrap_or(0.0)
    }
}

/// A threshold for an alarm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurnRule {
    /// The name in metrics and the API.
    pub name: &'static str,
    pub long: Duration,
    pub short: Duration,
    /// The burn rate that raises the alarm.
    pub factor: f64,
}

/// The alarms of each SLO. With a window of 30 days the first is raised for 2 % of the budget within an hour, the
/// second for 5 % within six (SRE workbook, table 5-8).
pub const BURN_RULES: [BurnRule; 2] = [
    BurnRule {
        name: "1h",
        long: Duration::from_secs(3_600),
        short: Duration::from_secs(300),
        factor: 14.4,
    },
    BurnRule {
        name: "6h",
        long: Duration::from_secs(6 * 3_600),
        short: Duration::from_secs(1_800),
        factor: 6.0,
    },
];

impl BurnRule {
    /// Whether any burn rate reaches the factor: the highest one, if everything is bad, is one divided by the budget.
    pub fn can_be_raised(&self, goal: SloTarget) -> bool {
        self.factor * goal.error_budget() < 1.0
    }
}

/// Whether an alarm is raised, and since when (seconds since 1970).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurnRateAlarm {
    /// `None`: the alarm is not raised.
    pub since: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmTransition {
    Raised,
    Ended,
}

/// What a rule compares: the same operations over its long and its short span.
#[derive(Clone, Copy, Debug)]
pub struct BurnSpans {
    pub long: BurnMeasurement,
    pub short: BurnMeasurement,
}

impl BurnRateAlarm {
    /// Compares with the present measurement. `at_least`: fewer bad operations in the long span raise no alarm.
    pub fn update(
        &mut self,
        rule: &BurnRule,
        goal: SloTarget,
        spans: BurnSpans,
        at_least: u64,
        now: u64,
    ) -> Option<AlarmTransition> {
        let least = goal
            .burn_rate(spans.long)
            .unwrap_or(0.0)
            .min(goal.burn_rate(spans.short).unwrap_or(0.0));
        match self.since {
            None if least > rule.factor && spans.long.bad >= at_least => {
                self.since = Some(now);
                Some(AlarmTransition::Raised)
            }
            Some(_) if least < rule.factor * ALARM_END_SHARE => {
                self.since = None;
                Some(AlarmTransition::Ended)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
