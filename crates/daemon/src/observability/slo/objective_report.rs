//! What users met, as the API shows it: counts, objectives with what is left of their budgets, alarms. Pure: numbers get
//! names.

use api::types::{BurnAlarm, BurnSpan, ObjectiveStatus, OperationCounts};
use model::slo::burn_rate::{BurnMeasurement, BurnRateAlarm, BurnRule, SloTarget};
use model::slo::outcome::TcpError;
use model::slo::outcome_counts::SloOutcomeCounts;

/// Counts by name. `speed`: the objective has a latency target.
pub fn outcome_counts(tally: &SloOutcomeCounts, speed: bool) -> OperationCounts {
    let all = tally.operations();
    let percent = |good: u64| (all > 0).then(|| good as f64 * 100.0 / all as f64);
    let errors = TcpError::ALL.map(|kind| (kind.name().to_owned(), tally.error(kind)));
    OperationCounts {
        fast: tally.fast(),
        slow: tally.slow(),
        failed: tally.failed(),
        aborted: tally.client_aborted(),
        aborted_late: tally.client_aborted_late(),
        declined: tally.declined(),
        availability_percent: percent(all - tally.failed().min(all)),
        fast_percent: percent(tally.fast()).filter(|_| speed),
        tcp_errors: errors.into_iter().filter(|(_, count)| *count > 0).collect(),
    }
}

/// A promise over its window, without its alarms.
pub fn objective_report(
    what: &str,
    goal: SloTarget,
    window: std::time::Duration,
    since: Option<u64>,
    measure: BurnMeasurement,
) -> ObjectiveStatus {
    ObjectiveStatus {
        kind: what.to_owned(),
        target_percent: f64::from(goal.0) / 1e4,
        window_ms: millis(window),
        since_unix_ms: since.map(|at| at.saturating_mul(1000)),
        operations: measure.operations,
        bad: measure.bad,
        good_percent: measure.good_share().map(|good| good * 100.0),
        budget_remaining_percent: goal.budget_left(measure) * 100.0,
        alarms: Vec::new(),
    }
}

/// The state of an alarm.
pub fn alarm_report(
    rule: &BurnRule,
    goal: SloTarget,
    long: BurnMeasurement,
    short: BurnMeasurement,
    alarm: BurnRateAlarm,
    reason: Option<&str>,
) -> BurnAlarm {
    let span = |length, measure: BurnMeasurement| BurnSpan {
        span_ms: millis(length),
        operations: measure.operations,
        bad: measure.bad,
        burn_rate: goal.burn_rate(measure),
    };
    BurnAlarm {
        name: rule.name.to_owned(),
        factor: rule.factor,
        long: span(rule.long, long),
        short: span(rule.short, short),
        since_unix_ms: alarm.since.map(|at| at.saturating_mul(1000)),
        reason: reason.map(str::to_owned),
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: D10
    #[test]
    fn failures_are_not_fast_and_what_clients_left_counts_nowhere() {
        let mut tally = SloOutcomeCounts::default();
        tally.0[..6].copy_from_slice(&[90, 6, 4, 50, 7, 9]);
        tally.0[6 + TcpError::SilentServer as usize] = 3;
        let found = outcome_counts(&tally, true);
        assert_eq!((found.availability_percent, found.fast_percent), (Some(96.0), Some(90.0)));
        assert_eq!(found.tcp_errors, [("silent-server".to_owned(), 3)].into());
        assert_eq!(outcome_counts(&tally, false).fast_percent, None);
        assert_eq!(outcome_counts(&SloOutcomeCounts::default(), true).availability_percent, None);
    }
}
