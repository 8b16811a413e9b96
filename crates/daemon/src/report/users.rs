//! What users met, as it is shown: counts, promises with what is left of them, alarms. Pure: numbers get names.

use api::types::{BurnAlarm, BurnSpan, UsersCounts, UsersPromise, UsersReport};
use model::users::burn::{Alarm, Goal, Measure, Rule};
use model::users::ended::TcpError;
use model::users::tally::Tally;

use super::counts::rate;

/// What a service's users met since the start; `None`: nothing is promised to them.
pub fn report(before: Option<&Tally>, now: Option<&Tally>, seconds: f64) -> Option<UsersReport> {
    let now = now?;
    let before = before.copied().unwrap_or_default();
    let count = |of: fn(&Tally) -> u64| rate(of(&before), of(now), seconds);
    let errors = TcpError::ALL.into_iter().filter(|kind| now.error(*kind) > 0);
    Some(UsersReport {
        fast: count(Tally::fast),
        slow: count(Tally::slow),
        failed: count(Tally::failed),
        left: count(Tally::left),
        declined: count(Tally::declined),
        tcp_errors: errors
            .map(|kind| {
                let count = rate(before.error(kind), now.error(kind), seconds);
                (kind.name().to_owned(), count)
            })
            .collect(),
    })
}

/// A tally by names. `speed`: it is said what is fast.
pub fn counts(tally: &Tally, speed: bool) -> UsersCounts {
    let all = tally.operations();
    let percent = |good: u64| (all > 0).then(|| good as f64 * 100.0 / all as f64);
    let errors = TcpError::ALL.map(|kind| (kind.name().to_owned(), tally.error(kind)));
    UsersCounts {
        fast: tally.fast(),
        slow: tally.slow(),
        failed: tally.failed(),
        left: tally.left(),
        left_late: tally.left_late(),
        declined: tally.declined(),
        available_percent: percent(all - tally.failed().min(all)),
        fast_percent: percent(tally.fast()).filter(|_| speed),
        tcp_errors: errors.into_iter().filter(|(_, count)| *count > 0).collect(),
    }
}

/// A promise over its window, without its alarms.
pub fn promise(
    what: &str,
    goal: Goal,
    window: std::time::Duration,
    since: Option<u64>,
    measure: Measure,
) -> UsersPromise {
    UsersPromise {
        what: what.to_owned(),
        target_percent: f64::from(goal.0) / 1e4,
        window_ms: millis(window),
        since_unix_ms: since.map(|at| at.saturating_mul(1000)),
        operations: measure.operations,
        bad: measure.bad,
        percent: measure.good().map(|good| good * 100.0),
        budget_left_percent: goal.left(measure) * 100.0,
        alarms: Vec::new(),
    }
}

/// An alarm as it stands.
pub fn alarm(
    (rule, goal): (&Rule, Goal),
    (long, short): (Measure, Measure),
    alarm: Alarm,
    reason: Option<&str>,
) -> BurnAlarm {
    let span = |length, measure: Measure| BurnSpan {
        span_ms: millis(length),
        operations: measure.operations,
        bad: measure.bad,
        burn: goal.burn(measure),
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

    #[test]
    fn failures_are_not_fast_and_what_clients_left_counts_nowhere() {
        let mut tally = Tally::default();
        tally.0[..6].copy_from_slice(&[90, 6, 4, 50, 7, 9]);
        tally.0[6 + TcpError::SilentServer as usize] = 3;
        let found = counts(&tally, true);
        assert_eq!((found.available_percent, found.fast_percent), (Some(96.0), Some(90.0)));
        assert_eq!(found.tcp_errors, [("silent-server".to_owned(), 3)].into());
        assert_eq!(counts(&tally, false).fast_percent, None);
        assert_eq!(counts(&Tally::default(), true).available_percent, None);
        let report = report(None, Some(&tally), 2.0).unwrap();
        assert_eq!((report.failed.total, report.failed.rate, report.tcp_errors.len()), (4, 2.0, 1));
    }
}
