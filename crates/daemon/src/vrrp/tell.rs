//! Changes of state in words, for events and `status`. Pure.

use ha::machine::{State, Why, Withheld};

use crate::event::Level;

/// The kind of the event, and how grave it is.
pub fn kind(to: State, why: Why) -> (Level, &'static str) {
    let planned = matches!(
        why,
        Why::Begun | Why::Ended | Why::Ordered | Why::HandedOver | Why::Owner | Why::Resumed
    );
    let level = if planned { Level::Info } else { Level::Warning };
    match to {
        State::Active => (level, "member-active"),
        State::Standby => (level, "member-standby"),
        State::Idle => (level, "member-idle"),
    }
}

/// Why, in a sentence. `detail`: what is at fault, or how members stand.
pub fn reason(why: Why, detail: Option<&str>) -> String {
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
        Why::HandedOver => "it was ordered to hand over".to_owned(),
        Why::Behind => detail.unwrap_or("the other member reaches more").to_owned(),
        Why::Alone => "neither the other member nor the witness agrees any more".to_owned(),
        Why::Fault => detail.unwrap_or("it is at fault").to_owned(),
        Why::Ended => "it ended".to_owned(),
    }
}

/// Why nothing is taken over although nobody advertises. `standing`: how both members stand.
pub fn withheld(why: Withheld, peer: &str, standing: &str) -> String {
    match why {
        Withheld::Active(source, priority) => format!(
            "no advertisement comes, but {peer} says by the heartbeat that it is active, as {source} with priority {priority}"
        ),
        Withheld::Ahead => format!("no advertisement comes, but {standing}"),
        Withheld::Alone => format!("it is to be active, and neither {peer} nor the witness agrees"),
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
        let why = Withheld::Active([192, 0, 2, 1].into(), 150);
        let text = withheld(why, "left", "");
        assert!(text.ends_with(
            "left says by the heartbeat that it is active, as 192.0.2.1 with priority 150"
        ));
    }
}
