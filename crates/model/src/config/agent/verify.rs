//! Verifies an agent: the keys of its kind and its times.

use super::keys::KEYS_BY_AGENT_KIND;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::probe::verify_within_interval;
use crate::config::section::ConfigSection;
use crate::config::unit::Time;

/// Verifies the effective settings of an agent.
pub fn verify_agent(
    agent: &ConfigSection,
    path: &str,
    http: bool,
    sink: &mut FindingCollector<'_, '_>,
) {
    let kind = agent.text("kind").unwrap_or_default();
    for (key, owners) in KEYS_BY_AGENT_KIND {
        if agent.is_written(key) && !owners.contains(&kind) && !agent.is_invalid("kind") {
            let trouble =
                FindingDetails::new(format!("`{key}` means nothing for an agent `{kind}`"))
                    .with_expected(format!("`kind` {}", owners.join(" or ")));
            sink.error(agent.span_of(key), &format!("{path}.{key}"), trouble);
        }
    }
    if kind == "responses" && !http {
        let message = "answers have a head only in `http` services, and none uses this pool";
        sink.error(agent.span_of("kind"), &format!("{path}.kind"), FindingDetails::new(message));
    }
    verify_within_interval(agent, &["timeout"], path, sink);
    let (Some(every), Some(age)) = (agent.time("interval"), agent.time("max-age")) else { return };
    if age < every {
        let culprit = if agent.is_written("max-age") { "max-age" } else { "interval" };
        let message = format!(
            "every report would be too old before the next one: `max-age` ({}) is shorter than `interval` ({})",
            Time(age),
            Time(every)
        );
        sink.error(
            agent.span_of(culprit),
            &format!("{path}.{culprit}"),
            FindingDetails::new(message),
        );
    }
}
