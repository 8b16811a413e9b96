//! The text of transitions, for events and `status`. Pure.

use ha::state_machine::{ActivationBlocker, TransitionReason, VrrpState};

use model::config::EventLevel;

/// How a transition is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransitionEvent {
    pub level: EventLevel,
    pub kind: &'static str,
}

/// The kind of the event, and how grave it is.
pub fn event_kind(to: VrrpState, why: TransitionReason) -> TransitionEvent {
    let planned = matches!(
        why,
        TransitionReason::Started
            | TransitionReason::Stopped
            | TransitionReason::Ordered
            | TransitionReason::HandedOver
            | TransitionReason::Owner
            | TransitionReason::Resumed
    );
    let level = if planned { EventLevel::Info } else { EventLevel::Warning };
    let kind = match to {
        VrrpState::Active => "member-active",
        VrrpState::Standby => "member-standby",
        VrrpState::Idle => "member-idle",
    };
    TransitionEvent { level, kind }
}

/// The reason in a sentence. `detail`: the fault, or the state of members.
pub fn transition_reason(why: TransitionReason, detail: Option<&str>) -> String {
    match why {
        TransitionReason::Started => "it began, and listens".to_owned(),
        TransitionReason::Resumed => {
            "it held the address just now: the process before it did".to_owned()
        }
        TransitionReason::Owner => "priority 255: the address is its own".to_owned(),
        TransitionReason::Silence => "nobody was heard to be active".to_owned(),
        TransitionReason::Resigned => "the active member gave up".to_owned(),
        TransitionReason::HigherPriority(source, priority) => {
            format!("{source} is active with priority {priority}")
        }
        TransitionReason::Stalled => "it advertised nothing for its fencing-timeout".to_owned(),
        TransitionReason::Ordered => "it was ordered to".to_owned(),
        TransitionReason::HandedOver => "it was ordered to hand over".to_owned(),
        TransitionReason::PeerAhead => detail.unwrap_or("the other member reaches more").to_owned(),
        TransitionReason::NoQuorum => {
            "neither the other member nor the witness agrees any more".to_owned()
        }
        TransitionReason::Fault => detail.unwrap_or("it is at fault").to_owned(),
        TransitionReason::Stopped => "it ended".to_owned(),
    }
}

/// Why this member does not take over although no member advertises. `standing`: the state of both members.
pub fn blocker_text(why: ActivationBlocker, peer: &str, standing: &str) -> String {
    match why {
        ActivationBlocker::PeerActive(source, priority) => format!(
            "no advertisement comes, but {peer} says by the heartbeat that it is active, as {source} with priority {priority}"
        ),
        ActivationBlocker::PeerAhead => format!("no advertisement comes, but {standing}"),
        ActivationBlocker::NoQuorum => {
            format!("it is to be active, and neither {peer} nor the witness agrees")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_planned_is_a_warning() {
        assert_eq!(
            event_kind(VrrpState::Active, TransitionReason::Silence),
            TransitionEvent { level: EventLevel::Warning, kind: "member-active" }
        );
        assert_eq!(
            event_kind(VrrpState::Active, TransitionReason::Ordered),
            TransitionEvent { level: EventLevel::Info, kind: "member-active" }
        );
        assert_eq!(
            transition_reason(TransitionReason::Fault, Some("the link of eth0 is down")),
            "the link of eth0 is down"
        );
        let why = ActivationBlocker::PeerActive([192, 0, 2, 1].into(), 150);
        let text = blocker_text(why, "left", "");
        assert!(text.ends_with(
            "left says by the heartbeat that it is active, as 192.0.2.1 with priority 150"
        ));
    }
}
