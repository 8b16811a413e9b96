//! What is told when an alarm of a promise is raised or ends: a sentence, and the same for programs. Pure.

use std::time::Duration;

use model::config::unit::Time;
use model::users::burn::{Goal, Measure, Rule};

use super::what::What;
use crate::event::{Events, Level};

/// Raised: a promise's budget burns too quickly.
const RAISED: &str = "budget-burning";
/// Over.
const ENDED: &str = "budget-calm";

/// An event to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Why, in a sentence.
    pub(super) reason: String,
    kind: &'static str,
    text: String,
    about: Vec<(&'static str, String)>,
}

/// What an alarm sees when it turns.
pub(super) struct Scene<'a> {
    /// The service.
    pub(super) service: &'a str,
    /// Its promise.
    pub(super) what: What,
    /// How much is promised.
    pub(super) goal: Goal,
    /// Over how long.
    pub(super) window: Duration,
    /// The alarm.
    pub(super) rule: &'a Rule,
    /// Its long and its short span.
    pub(super) spans: (Measure, Measure),
    /// What is left of the budget, 1 at most.
    pub(super) left: f64,
    /// Why most operations failed within the hour.
    pub(super) cause: Option<(String, u64)>,
    /// Whose clients met the most that is bad, where others fare better.
    pub(super) network: Option<(String, Measure)>,
}

impl Said {
    /// Tells it.
    pub(super) fn tell(self, events: &Events) {
        let level = if self.kind == RAISED { Level::Warning } else { Level::Info };
        events.tell(level, self.kind, self.text, &self.about);
    }

    /// An alarm that ends for another reason than what was measured.
    pub(super) fn over(service: &str, what: What, rule: &Rule, why: &str) -> Said {
        Said {
            reason: why.to_owned(),
            kind: ENDED,
            text: format!(
                "service.{service}.objective: the alarm of `{}` over {} ends: {why}",
                what.name(),
                rule.name
            ),
            about: vec![
                ("service", service.to_owned()),
                ("promise", what.name().to_owned()),
                ("alarm", rule.name.to_owned()),
                ("reason", why.to_owned()),
            ],
        }
    }
}

impl Scene<'_> {
    /// It was raised.
    pub(super) fn raised(&self) -> Said {
        let (long, short) = self.spans;
        let mut reason = format!(
            "{} of {} operations in the last {} were bad, {} of {} in the last {}: the budget burns {} and {} times as \
             fast as it may (alarm at {}); {} of it is left for {}",
            long.bad,
            long.operations,
            Time(self.rule.long),
            short.bad,
            short.operations,
            Time(self.rule.short),
            self.burn(long),
            self.burn(short),
            self.rule.factor,
            percent(self.left),
            Time(self.window),
        );
        if let Some((cause, count)) = &self.cause {
            reason.push_str(&format!("; mostly {cause} ({count} within the hour)"));
        }
        if let Some((network, it)) = &self.network {
            reason.push_str(&format!("; worst for {network} ({} of {})", it.bad, it.operations));
        }
        self.said(RAISED, reason)
    }

    /// It is over.
    pub(super) fn ended(&self) -> Said {
        let (long, short) = self.spans;
        let reason = format!(
            "the budget burns {} times as fast as it may over {} and {} over {} (alarm at {}); {} of it is left for {}",
            self.burn(long),
            Time(self.rule.long),
            self.burn(short),
            Time(self.rule.short),
            self.rule.factor,
            percent(self.left),
            Time(self.window),
        );
        self.said(ENDED, reason)
    }

    fn said(&self, kind: &'static str, reason: String) -> Said {
        let promised = percent(f64::from(self.goal.0) / 1e6);
        let (long, short) = self.spans;
        Said {
            kind,
            text: format!(
                "service.{}.objective: `{}`, {promised} promised: {reason}",
                self.service,
                self.what.name()
            ),
            about: vec![
                ("service", self.service.to_owned()),
                ("promise", self.what.name().to_owned()),
                ("alarm", self.rule.name.to_owned()),
                ("burn-long", self.burn(long)),
                ("burn-short", self.burn(short)),
                ("factor", self.rule.factor.to_string()),
                ("left", percent(self.left)),
                ("reason", reason.clone()),
            ],
            reason,
        }
    }

    fn burn(&self, measure: Measure) -> String {
        format!("{:.1}", self.goal.burn(measure).unwrap_or(0.0))
    }
}

/// A share in percent, never rounded up to all of it.
fn percent(share: f64) -> String {
    let text = format!("{:.3}", (share * 1e5 + 1e-6).floor() / 1e3);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use model::users::burn::RULES;

    use super::*;

    #[test]
    fn an_alarm_says_why() {
        let network = Some(("192.0.2.0/24".to_owned(), Measure { operations: 40, bad: 18 }));
        let scene = Scene {
            service: "shop",
            what: What::Available,
            goal: Goal(999_000),
            window: Duration::from_secs(30 * 86_400),
            rule: &RULES[0],
            spans: (Measure { operations: 1_000, bad: 20 }, Measure { operations: 100, bad: 20 }),
            left: 0.625,
            cause: Some(("server-refused".to_owned(), 19)),
            network,
        };
        let said = scene.raised();
        let want = "20 of 1000 operations in the last 1h were bad, 20 of 100 in the last 5m: the budget burns 20.0 and \
                    200.0 times as fast as it may (alarm at 14.4); 62.5 % of it is left for 30d; mostly server-refused \
                    (19 within the hour); worst for 192.0.2.0/24 (18 of 40)";
        assert_eq!(said.reason, want);
        assert_eq!((said.kind, said.about[0].1.as_str()), (RAISED, "shop"));
        assert_eq!(
            said.text,
            format!("service.shop.objective: `available`, 99.9 % promised: {want}")
        );
        assert!(
            scene.ended().text.contains("20.0 times as fast as it may over 1h and 200.0 over 5m")
        );
        let over = Said::over("shop", What::Fast, &RULES[1], "gone");
        assert_eq!(over.text, "service.shop.objective: the alarm of `fast` over 6h ends: gone");
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
