//! The workbook's figures as rows; alarms over virtual days of failures.

use proptest::prelude::*;

use super::*;
use crate::slo::series::{SloCounts, SloSeries};

const THREE_NINES: SloTarget = SloTarget(999_000);
const DAY: u64 = 86_400;

fn measure(operations: u64, bad: u64) -> BurnMeasurement {
    BurnMeasurement { operations, bad }
}

#[test]
fn budgets_and_burns_are_the_workbooks() {
    for (goal, operations, bad, burn, left) in [
        // Table 5-2: 99.9 % over 30 days; the whole budget in 30 days, 3 days, 72 hours, 43 minutes.
        (999_000, 1_000_000, 1_000, 1.0, 0.0),
        (999_000, 1_000_000, 2_000, 2.0, -1.0),
        (999_000, 1_000_000, 10_000, 10.0, -9.0),
        (999_000, 1_000_000, 1_000_000, 1_000.0, -999.0),
        (999_000, 1_000_000, 250, 0.25, 0.75),
        (990_000, 200, 1, 0.5, 0.5),
        (500_000, 10, 5, 1.0, 0.0),
    ] {
        let goal = SloTarget(goal);
        let measure = measure(operations, bad);
        let rate = goal.burn_rate(measure).unwrap();
        assert!((rate - burn).abs() < 1e-9 * burn, "{goal:?} {measure:?}: {rate}");
        assert!((goal.budget_left(measure) - left).abs() < 1e-6, "{goal:?} {measure:?}");
    }
    assert_eq!(
        (THREE_NINES.burn_rate(measure(0, 0)), THREE_NINES.budget_left(measure(0, 0))),
        (None, 1.0)
    );
    assert_eq!(measure(4, 1).good_share(), Some(0.75));
    // Table 5-8: 2 % of 30 days' budget within an hour, 5 % within six.
    for (rule, share) in BURN_RULES.iter().zip([0.02, 0.05]) {
        let used = rule.factor * rule.long.as_secs_f64() / (30.0 * DAY as f64);
        assert!((used - share).abs() < 1e-9, "{}", rule.name);
    }
}

#[test]
fn an_alarm_that_no_failure_could_raise_is_known() {
    for (goal, want) in
        [(999_000, [true, true]), (930_000, [false, true]), (830_000, [false, false])]
    {
        assert_eq!(BURN_RULES.map(|rule| rule.can_be_raised(SloTarget(goal))), want, "{goal}");
        for rule in BURN_RULES {
            let raised = BurnRateAlarm::default().update(
                &rule,
                SloTarget(goal),
                BurnSpans { long: measure(50, 50), short: measure(50, 50) },
                1,
                1,
            );
            assert_eq!(raised.is_some(), rule.can_be_raised(SloTarget(goal)), "{goal}");
        }
    }
}

#[test]
fn both_spans_raise_and_either_ends() {
    let rule = &BURN_RULES[0];
    let rows = [
        ("both above", (1_000, 15), (100, 2), 10, Some(AlarmTransition::Raised)),
        ("still", (1_000, 15), (100, 2), 10, None),
        ("short one just below", (1_000, 15), (1_000, 14), 10, None),
        ("short one well below", (1_000, 15), (1_000, 12), 10, Some(AlarmTransition::Ended)),
        ("still good", (1_000, 15), (1_000, 12), 10, None),
        ("too few", (500, 9), (100, 9), 10, None),
        ("long one below", (1_000, 14), (100, 9), 10, None),
        ("enough", (1_000, 15), (100, 9), 10, Some(AlarmTransition::Raised)),
        ("nobody asks any more", (1_000, 15), (0, 0), 10, Some(AlarmTransition::Ended)),
    ];
    let mut alarm = BurnRateAlarm::default();
    for (at, (case, long, short, least, want)) in rows.into_iter().enumerate() {
        let spans = BurnSpans { long: measure(long.0, long.1), short: measure(short.0, short.1) };
        let turn = alarm.update(rule, THREE_NINES, spans, least, at as u64);
        assert_eq!(turn, want, "{case}");
    }
}

/// Ten operations a second, a share of them bad from one second to another: when each rule is raised and ended.
fn live(
    share: f64,
    (from, to): (u64, u64),
    seconds: u64,
) -> Vec<(u64, &'static str, AlarmTransition)> {
    let start = 20_000 * DAY;
    let mut series = SloSeries::new(Duration::from_secs(30 * DAY));
    let mut alarms = [BurnRateAlarm::default(); 2];
    let mut transitions = Vec::new();
    let mut owed = 0.0;
    for second in (0..seconds).step_by(2) {
        let bad = (from..to).contains(&second);
        owed += if bad { 20.0 * share } else { 0.0 };
        let failed = owed as u64;
        owed -= failed as f64;
        let now = start + second;
        series.add(now, SloCounts { fast: 20 - failed, slow: 0, failed });
        for (rule, alarm) in BURN_RULES.iter().zip(&mut alarms) {
            let of = |span| {
                let sums = series.sums_within(now, span);
                measure(sums.operations(), sums.failed)
            };
            let turn = alarm.update(
                rule,
                THREE_NINES,
                BurnSpans { long: of(rule.long), short: of(rule.short) },
                10,
                now,
            );
            transitions.extend(turn.map(|turn| (second, rule.name, turn)));
        }
    }
    transitions
}

#[test]
fn an_outage_raises_and_ends_an_alarm_within_minutes() {
    // After a good day everything fails for ten minutes.
    let transitions = live(1.0, (DAY, DAY + 600), DAY + 3 * 3_600);
    let at = |name: &str, turn| {
        let mut matching =
            transitions.iter().filter(|transition| (transition.1, transition.2) == (name, turn));
        let (at, ..) =
            matching.next().unwrap_or_else(|| panic!("{name} {turn:?} in {transitions:?}"));
        assert_eq!(matching.next(), None, "once: {transitions:?}");
        *at
    };
    // 1.44 % of an hour is 52 s, 0.6 % of six hours 130 s, up to a step of two minutes less.
    assert!((DAY..=DAY + 60).contains(&at("1h", AlarmTransition::Raised)), "{transitions:?}");
    assert!((DAY..=DAY + 140).contains(&at("6h", AlarmTransition::Raised)), "{transitions:?}");
    assert!(
        (DAY + 600..=DAY + 600 + 310).contains(&at("1h", AlarmTransition::Ended)),
        "{transitions:?}"
    );
    assert!(
        (DAY + 600..=DAY + 600 + 1_810).contains(&at("6h", AlarmTransition::Ended)),
        "{transitions:?}"
    );
}

#[test]
fn a_slow_leak_raises_the_second_alarm_alone_and_a_met_objective_none() {
    let transitions = live(0.008, (DAY, 2 * DAY), 2 * DAY);
    assert!(
        transitions.iter().all(|transition| transition.1 == "6h") && transitions.len() == 1,
        "{transitions:?}"
    );
    assert_eq!(live(0.001, (0, 2 * DAY), 2 * DAY), []);
}

proptest! {
    #[test]
    fn more_that_is_bad_never_leaves_more(
        goal in 500_000u32..999_999,
        operations in 1u64..1_000_000,
        bad in 0u64..1_000_000,
        more in 0u64..1_000,
    ) {
        let bad = bad.min(operations);
        let worse = (bad + more).min(operations);
        let (goal, a, b) = (SloTarget(goal), measure(operations, bad), measure(operations, worse));
        prop_assert!(goal.budget_left(b) <= goal.budget_left(a) && goal.budget_left(a) <= 1.0);
        prop_assert!(goal.burn_rate(b) >= goal.burn_rate(a));
        let allowed = operations as f64 * goal.error_budget();
        prop_assert_eq!(goal.budget_left(a) < -1e-9, bad as f64 > allowed * (1.0 + 1e-9), "{:?}", goal.budget_left(a));
    }

    #[test]
    fn an_alarm_only_turns(
        looks in prop::collection::vec((0u64..2_000, 0u64..60, 0u64..200, 0u64..20), 1..100),
    ) {
        let (mut alarm, mut last) = (BurnRateAlarm::default(), AlarmTransition::Ended);
        for (at, (operations, bad, of_short, bad_short)) in looks.into_iter().enumerate() {
            let spans = BurnSpans {
                long: measure(operations, bad.min(operations)),
                short: measure(of_short, bad_short.min(of_short)),
            };
            let before = alarm;
            match alarm.update(&BURN_RULES[0], THREE_NINES, spans, 10, at as u64) {
                None => prop_assert_eq!(alarm, before),
                Some(turn) => {
                    prop_assert_ne!(turn, last);
                    prop_assert_eq!(alarm.since.is_some(), turn == AlarmTransition::Raised);
                    prop_assert!(turn == AlarmTransition::Ended || spans.long.bad >= 10);
                    last = turn;
                }
            }
        }
    }
}
