//! Judges `objective`: that something is promised, that its alarms can be raised, and that it outlives a restart.

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::section::Section;
use super::super::unit::{Share, Time};
use crate::users::burn::{Goal, RULES};

/// Judge a service.
pub fn verify(service: &Section, global: &Section, sink: &mut Sink<'_, '_>) {
    let Some(objective) = service.table("objective") else { return };
    let path = format!("service.{}.objective", quoted(&service.name));
    let broken = ["fast", "available", "share"].iter().any(|key| objective.broken(key));
    if !broken && objective.time("fast").is_none() {
        if objective.unset("available") {
            let trouble = Trouble::new("nothing is promised")
                .expected("`fast`, a time, or `available`, a share such as \"99.9%\"");
            sink.error(objective.place_of("available"), &path, trouble);
        }
        if objective.wrote("share") {
            let trouble = Trouble::new("`share` says nothing: it is not said what is fast")
                .expected("`fast = \"300ms\"` beside it");
            sink.error(objective.place_of("share"), &format!("{path}.share"), trouble);
        }
    }
    for key in ["available", "share"] {
        if key == "share" && objective.time("fast").is_none() {
            continue;
        }
        let Some(share) = objective.count(key) else { continue };
        let never = RULES.iter().filter(|rule| !rule.can_be_raised(Goal(share)));
        for rule in never.filter(|_| objective.wrote(key)) {
            let message = format!(
                "of {}, no more than {:.1} times as many operations can be bad as may be: the alarm at {} times is \
                 never raised",
                Share(u64::from(share)),
                1.0 / Goal(share).budget(),
                rule.factor,
            );
            sink.warning(objective.place_of(key), &format!("{path}.{key}"), Trouble::new(message));
        }
    }
    kept(objective, global, &path, sink);
}

/// What the history does not hold is forgotten with the process.
fn kept(objective: &Section, global: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let Some(window) = objective.time("window") else { return };
    let why = match global.table("history").and_then(|history| history.time("keep")) {
        Some(keep) if keep < window => format!(
            "the window is {}, and the history keeps {}: after a restart what is older is not known",
            Time(window),
            Time(keep)
        ),
        None if global.unset("history") => {
            "there is no history: after a restart nothing is known of before".to_owned()
        }
        _ => return,
    };
    sink.warning(objective.place_of("window"), &format!("{path}.window"), Trouble::new(why));
}
