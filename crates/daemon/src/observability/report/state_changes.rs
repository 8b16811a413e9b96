//! Changes of servers' states within the last seconds, counted from events. Pure; what they mean is decided elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::util::event::DaemonEvent;

/// The span of time in which changes are counted.
/// Two checks a second show a flapping server within it, and one that has settled is forgotten soon.
pub const FLAPPING_TIME: Duration = Duration::from_secs(30);

/// Changes of servers' states, by `pool/server`.
pub type StateChanges = BTreeMap<String, u32>;

/// Counts the changes of states by health within the last seconds.
pub fn count_state_changes(events: &[DaemonEvent], now_unix_ms: u64) -> StateChanges {
    let span = u64::try_from(FLAPPING_TIME.as_millis()).unwrap_or(u64::MAX);
    let begin = now_unix_ms.saturating_sub(span);
    let mut changes = StateChanges::new();
    let recent = events.iter().filter(|event| event.at_ms >= begin);
    for event in recent.filter(|event| matches!(event.kind, "server-up" | "server-down")) {
        if let (Some(pool), Some(server)) = (event.about.get("pool"), event.about.get("server")) {
            *changes.entry(format!("{pool}/{server}")).or_default() += 1;
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_by_health_of_the_last_seconds_make_a_server_flap() {
        let event = |at_ms, what| DaemonEvent {
            at_ms,
            level: model::config::EventLevel::Info,
            kind: what,
            text: String::new(),
            about: [("pool", "web".to_owned()), ("server", "a".to_owned())].into(),
        };
        let events = [
            event(10_000, "server-down"),
            event(70_000, "server-up"),
            event(99_000, "server-down"),
            event(99_500, "server-drain"),
        ];
        assert_eq!(count_state_changes(&events, 100_000), [("web/a".to_owned(), 2)].into());
    }
}
