//! Verifies `objective`: it needs an objective, alarms that can fire, and history that covers its window after a
//! restart.

use crate::config::decode::key_path::quote_key;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::unit::{Percentage, Time};
use crate::slo::burn_rate::{BURN_RULES, SloTarget};

pub fn verify_objective(
    service: &ConfigSection,
    global: &ConfigSection,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(objective) = service.table("objective") else { return };
    let path = format!("service.{}.objective", quote_key(&service.name));
    let broken =
        ["latency", "availability", "latency-target"].iter().any(|key| objective.is_invalid(key));
    if !broken && objective.time("latency").is_none() {
        if objective.is_unset("availability") {
            let trouble = FindingDetails::new("the objective has no target")
                .with_expected("`latency`, a time, or `availability`, a share such as \"99.9%\"");
            sink.error(objective.span_of("availability"), &path, trouble);
        }
        if objective.is_written("latency-target") {
            let trouble =
                FindingDetails::new("`latency-target` says nothing: it is not said what is fast")
                    .with_expected("`latency = \"300ms\"` beside it");
            sink.error(
                objective.span_of("latency-target"),
                &format!("{path}.latency-target"),
                trouble,
            );
        }
    }
    for key in ["availability", "latency-target"] {
        if key == "latency-target" && objective.time("latency").is_none() {
            continue;
        }
        let Some(share) = objective.count(key) else { continue };
        let never = BURN_RULES.iter().filter(|rule| !rule.can_be_raised(SloTarget(share)));
        for rule in never.filter(|_| objective.is_written(key)) {
            let message = format!(
                "of {}, no more than {:.1} times as many operations can be bad as may be: the alarm at {} times is \
                 never raised",
                Percentage(u64::from(share)),
                1.0 / SloTarget(share).error_budget(),
                rule.factor,
            );
            sink.warning(
                objective.span_of(key),
                &format!("{path}.{key}"),
                FindingDetails::new(message),
            );
        }
    }
    verify_history_covers_window(objective, global, &path, sink);
}

/// Data that the history does not cover is lost at a restart.
fn verify_history_covers_window(
    objective: &ConfigSection,
    global: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(window) = objective.time("window") else { return };
    let why = match global.table("history").and_then(|history| history.time("keep")) {
        Some(keep) if keep < window => format!(
            "the window is {}, and the history keeps {}: after a restart what is older is not known",
            Time(window),
            Time(keep)
        ),
        None if global.is_unset("history") => {
            "there is no history: after a restart nothing is known of before".to_owned()
        }
        _ => return,
    };
    sink.warning(objective.span_of("window"), &format!("{path}.window"), FindingDetails::new(why));
}
