//! Changes of state in words, for events and `status`. Pure.

use ha::machine::{State, Why};

use crate::event::Level;

/// The kind of the event, and how grave it is.
pub fn kind(to: State, why: Why) -> (Level, &'static str) {
    let planned = matches!(why, Why::Begun | Why::Ended | Why::Ordered | Why::Owner | Why::Resumed);
    let level = if planned { Level::Info } else { Level::Warning };
    match to {
        State::Active => (level, "member-active"),
        State::Standby => (level, "member-standby"),
        State::Idle => (level, "member-idle"),
    }
}

/// Why, in a sentence. `problem`: what is at fault.
pub fn reason(why: Why, problem: Option<&str>) -> String {
    match why {
        Why::Begun => "it began, and listens".to_owned(),
        Why::Resumed => "it held the address just now: the process before it did".to_owned(),
        Why::Owner => "priority 255: the address is its own".to_owned(),
        Why::Silence => "nobody was heard to be active".to_owned(),
        Why::Resigned => "the active member gave up".to_owned(),
        Why::Better(source, priority) => {
            format!("{source} is active with priority {priority}")
        }
        Why::Stalled => "it advertised nothing for the dead man's time".to_owned(),
        Why::Ordered => "it was ordered to".to_owned(),
        Why::Fault => problem.unwrap_or("it is at fault").to_owned(),
        Why::Ended => "it ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_planned_is_a_warning() {
        assert_eq!(kind(State::Active, Why::Silence), (Level::Warning, "member-active"));
        assert_eq!(kind(State::Active, Why::Ordered), (Level::Info, "member-active"));
        assert_eq!(
            reason(Why::Fault, Some("the link of eth0 is down")),
            "the link of eth0 is down"
        );
    }
}
