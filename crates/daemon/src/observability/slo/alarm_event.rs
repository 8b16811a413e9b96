//! The event when a burn-rate alarm is raised or ends: a sentence, and the same for programs. Pure.

use std::time::Duration;

use api::types::FailedOperations;
use model::config::EventLevel;
use model::config::unit::Time;
use model::slo::burn_rate::{BurnMeasurement, BurnRule, BurnSpans, SloTarget};

use super::objective::SloKind;
use crate::util::event::{EventFields, EventLog};

/// Raised: a promise's budget burns too quickly.
const RAISED: &str = "budget-burning";
const ENDED: &str = "budget-burn-ended";

/// An event to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SloEvent {
    /// Why, in a sentence.
    pub(super) reason: String,
    kind: &'static str,
    text: String,
    fields: EventFields,
}

/// The measurements behind an alarm event.
pub(super) struct AlarmContext<'a> {
    pub(super) service: &'a str,
    pub(super) objective: SloKind,
    /// How much is promised.
    pub(super) goal: SloTarget,
    pub(super) window: Duration,
    pub(super) rule: &'a BurnRule,
    /// Its long and its short span.
    pub(super) windows: BurnSpans,
    /// The remaining error budget, 1 at most.
    pub(super) budget_left: f64,
    /// Why most operations failed within the hour.
    pub(super) main_cause: Option<FailedOperations>,
    /// The network with the highest share of failures, if others fare better.
    pub(super) network: Option<NetworkBurn>,
}

/// How the budget burns for the clients of one network.
pub(super) struct NetworkBurn {
    pub(super) network: String,
    pub(super) measured: BurnMeasurement,
}

impl SloEvent {
    pub(super) fn emit(self, events: &EventLog) {
        let level = if self.kind == RAISED { EventLevel::Warning } else { EventLevel::Info };
        events.emit(level, self.kind, self.text, self.fields);
    }

    /// The event of an alarm that ends because its objective changed, not because of a measurement.
    pub(super) fn ended_early(
        service: &str,
        what: SloKind,
        rule: &BurnRule,
        why: &str,
    ) -> SloEvent {
        SloEvent {
            reason: why.to_owned(),
            kind: ENDED,
            text: format!(
                "service.{service}.objective: the alarm of `{}` over {} ends: {why}",
                what.name(),
                rule.name
            ),
            fields: EventFields::from([
                ("service", service.to_owned()),
                ("objective", what.name().to_owned()),
                ("alarm", rule.name.to_owned()),
                ("reason", why.to_owned()),
            ]),
        }
    }
}

impl AlarmContext<'_> {
    pub(super) fn raised_event(&self) -> SloEvent {
        let BurnSpans { long, short } = self.windows;
        let mut reason = format!(
            "{} of {} requests missed it in the last {}, {} of {} in the last {}: burn rate {} and {} (alarm at {}); {}",
            long.bad,
            long.operations,
            Time(self.rule.long),
            short.bad,
            short.operations,
            Time(self.rule.short),
            self.burn_text(long),
            self.burn_text(short),
            self.rule.factor,
            self.budget_text(),
        );
        if let Some(FailedOperations { cause, count }) = &self.main_cause {
            reason.push_str(&format!("; mostly {cause} ({count} within the hour)"));
        }
        if let Some(NetworkBurn { network, measured: it }) = &self.network {
            reason.push_str(&format!("; worst for {network} ({} of {})", it.bad, it.operations));
        }
        self.build_event(RAISED, reason)
    }

    pub(super) fn ended_event(&self) -> SloEvent {
        let BurnSpans { long, short } = self.windows;
        let reason = format!(
            "burn rate {} over {} and {} over {} (alarm at {}); {}",
            self.burn_text(long),
            Time(self.rule.long),
            self.burn_text(short),
            Time(self.rule.short),
            self.rule.factor,
            self.budget_text(),
        );
        self.build_event(ENDED, reason)
    }

    fn build_event(&self, kind: &'static str, reason: String) -> SloEvent {
        let promised = percent(f64::from(self.goal.0) / 1e6);
        let BurnSpans { long, short } = self.windows;
        SloEvent {
            kind,
            text: format!(
                "service.{}.objective: `{}`, target {promised}: {reason}",
                self.service,
                self.objective.name()
            ),
            fields: EventFields::from([
                ("service", self.service.to_owned()),
                ("objective", self.objective.name().to_owned()),
                ("alarm", self.rule.name.to_owned()),
                ("burn-long", self.burn_text(long)),
                ("burn-short", self.burn_text(short)),
                ("factor", self.rule.factor.to_string()),
                ("left", percent(self.budget_left)),
                ("reason", reason.clone()),
            ]),
            reason,
        }
    }

    /// What is left of the error budget. How far it is overspent helps nobody.
    fn budget_text(&self) -> String {
        let window = Time(self.window);
        if self.budget_left < 0.0 {
            return format!("the error budget of {window} is overspent");
        }
        format!("{} of the error budget of {window} is left", percent(self.budget_left))
    }

    fn burn_text(&self, measure: BurnMeasurement) -> String {
        format!("{:.1}", self.goal.burn_rate(measure).unwrap_or(0.0))
    }
}

/// A share in percent, never rounded up to all of it.
fn percent(share: f64) -> String {
    let text = format!("{:.3}", (share * 1e5 + 1e-6).floor() / 1e3);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use model::slo::burn_rate::BURN_RULES;

    use super::*;

    #[test]
    fn an_alarm_says_why() {
        let network = NetworkBurn {
            network: "192.0.2.0/24".to_owned(),
            measured: BurnMeasurement { operations: 40, bad: 18 },
        };
        let scene = AlarmContext {
            service: "shop",
            objective: SloKind::Available,
            goal: SloTarget(999_000),
            window: Duration::from_secs(30 * 86_400),
            rule: &BURN_RULES[0],
            windows: BurnSpans {
                long: BurnMeasurement { operations: 1_000, bad: 20 },
                short: BurnMeasurement { operations: 100, bad: 20 },
            },
            budget_left: 0.625,
            main_cause: Some(FailedOperations { cause: "server-refused".to_owned(), count: 19 }),
            network: Some(network),
        };
        let said = scene.raised_event();
        let want = "20 of 1000 requests missed it in the last 1h, 20 of 100 in the last 5m: burn rate 20.0 and 200.0 \
                    (alarm at 14.4); 62.5 % of the error budget of 30d is left; mostly server-refused (19 within the \
                    hour); worst for 192.0.2.0/24 (18 of 40)";
        assert_eq!(said.reason, want);
        assert_eq!((said.kind, said.fields["service"].as_str()), (RAISED, "shop"));
        assert_eq!(
            said.text,
            format!("service.shop.objective: `availability`, target 99.9 %: {want}")
        );
        assert!(scene.ended_event().text.contains("burn rate 20.0 over 1h and 200.0 over 5m"));
        let over = SloEvent::ended_early("shop", SloKind::Fast, &BURN_RULES[1], "gone");
        assert_eq!(over.text, "service.shop.objective: the alarm of `latency` over 6h ends: gone");
    }

    #[test]
    fn shares_are_not_rounded_up() {
        for (share, text) in [
            (1.0, "100 %"),
            (0.999, "99.9 %"),
            (0.999_999, "99.999 %"),
            (0.0, "0 %"),
            (-0.5, "-50 %"),
        ] {
            assert_eq!(percent(share), text);
        }
    }
}
